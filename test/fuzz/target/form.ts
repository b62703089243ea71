import { fileIn } from "../../../src/api/input/file.ts"
import { claimsWantedOf } from "../../../src/oauth/authorize/request/claims-parameter.ts"
import { formOf, parametersOf } from "../../../src/oauth/request.ts"
import { fuzzTarget, must, mustEqual } from "../engine/target.ts"

const address = "https://id.example.com/"

/** A form of an OAuth endpoint: parameters by RFC 6749 §3.2. */
export const form = fuzzTarget({
  name: "form",
  seeds: () => [
    "grant_type=authorization_code&code=abc&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcb",
    "resource=https%3A%2F%2Fa&resource=https%3A%2F%2Fb&scope=openid+email",
    "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&audience=a&audience=b",
    "a=&a=1&b",
    "__proto__=1&%F0%9F%A6%8A=%ff%00",
  ],
  tokens: ["&", "=", "%", "+", "resource=", "audience=", "scope=", "%00", "__proto__"],
  parse: async (input) => {
    const headers = { "content-type": "application/x-www-form-urlencoded" }
    const body = new Uint8Array(input)
    return parametersOf(await formOf(new Request(address, { method: "POST", headers, body })))
  },
  check: (parameters, input) => {
    must(parameters.size <= 500, "a form has at most 500 parameters")
    const all = new URLSearchParams(input.toString())
    for (const [name, value] of parameters) {
      must(value !== "", "an empty parameter was not sent")
      const given = all.getAll(name)
      const isList = name === "resource" || name === "audience"
      if (!isList) must(given.length === 1, "a parameter that is repeated is rejected")
      mustEqual(value, given.filter((each) => each !== "").join(" "), "the value is as it was sent")
    }
  },
})

/** OpenID Connect Core §5.5: the `claims` parameter. */
export const claimsParameter = fuzzTarget({
  name: "claims-parameter",
  seeds: () => [
    '{"id_token":{"acr":{"essential":true,"values":["mfa"]},"sub":{"value":"1"}}}',
    '{"userinfo":{"email":null,"name":{"essential":false}},"id_token":{}}',
    '{"userinfo":{"__proto__":{"value":"1"}},"id_token":{"auth_time":{"essential":true}}}',
  ],
  tokens: ["id_token", "userinfo", "acr", "sub", "essential", "value", "values", "mfa", "1"],
  parse: (input) => claimsWantedOf(new Map([["claims", input.toString()]])),
  check: ({ idToken, userinfo, userId, acr, isFactorNeeded }) => {
    for (const name of [...idToken, ...userinfo]) must(/^[\w:]+$/.test(name), "a claim we know")
    must(userId === undefined || typeof userId === "string", "a user id is a text")
    must(typeof isFactorNeeded === "boolean", "whether a factor is needed is clear")
    for (const value of acr ?? []) must(typeof value === "string", "values of acr are texts")
  },
})

const boundary = "----latchkey"
const part = (head: string, body: string) => `--${boundary}\r\n${head}\r\n\r\n${body}\r\n`
const file = 'Content-Disposition: form-data; name="file"; filename="a.png"'
const field = 'Content-Disposition: form-data; name="field"'
const type = `multipart/form-data; boundary=${boundary}`

/** RFC 7578, as files are uploaded: the Content-Type in the first line, then the body. */
export const multipart = fuzzTarget({
  name: "multipart",
  seeds: () => [
    `${type}\n${part(`${file}\r\nContent-Type: image/png`, "\x89PNG")}--${boundary}--\r\n`,
    `${type}\n${part(field, "1")}${part(file, "a\r\n--b")}--${boundary}--`,
    `multipart/form-data; boundary="a b"\n--a b\r\n${file}\r\n\r\nx\r\n--a b--\r\n`,
    `multipart/form-data; x="; boundary=a;"; boundary=b\n--b\r\n${file}\r\n\r\nx\r\n--b--\r\n`,
    `multipart/form-data; xboundary="; boundary=b\n--b\r\n${file}\r\n\r\nx\r\n--b--\r\n`,
    `${type}\n${part(file, "a")}${part(file, "b")}--${boundary}--\r\n`,
    `${type}\n${part('Content-Disposition: form-data; name="file"', "no file")}--${boundary}--`,
  ],
  tokens: [`--${boundary}`, "--", "\r\n\r\n", 'name="file"', 'filename="', "boundary=", "\r\n"],
  parse: (input) => {
    const line = input.indexOf("\n")
    const contentType = input.subarray(0, Math.max(0, line)).toString("latin1")
    const body = new Uint8Array(input.subarray(line + 1))
    const headers = { get: (name: string) => (name === "content-type" ? contentType : null) }
    const request = { headers, body: chunksOf(body) }
    return fileIn(request as unknown as Request, 65_536)
  },
  check: (bytes, input) => {
    must(bytes.length < input.length, "a file is smaller than its form")
    must(input.includes(bytes), "the file is a part of the form, byte for byte")
  },
})

/** In two pieces, as a network may bring them. */
async function* chunksOf(bytes: Uint8Array) {
  const half = bytes.length >> 1
  yield bytes.subarray(0, half)
  yield bytes.subarray(half)
}
