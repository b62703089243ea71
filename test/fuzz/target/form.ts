import { readFormFile } from "../../../src/api/input/file.ts"
import { parseClaimsRequest } from "../../../src/oauth/authorize/request/claims-parameter.ts"
import { parseForm, parseParameters } from "../../../src/oauth/parameters.ts"
import { fuzzTarget, requireEqual, requireProperty } from "../engine/target.ts"

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
    return parseParameters(await parseForm(new Request(address, { method: "POST", headers, body })))
  },
  check: (parameters, input) => {
    requireProperty(parameters.size <= 500, "a form has at most 500 parameters")
    const all = new URLSearchParams(input.toString())
    for (const [name, value] of parameters) {
      requireProperty(value !== "", "an empty parameter was not sent")
      const given = all.getAll(name)
      const isList = name === "resource" || name === "audience"
      if (!isList) requireProperty(given.length === 1, "a parameter that is repeated is rejected")
      requireEqual(
        value,
        given.filter((each) => each !== "").join(" "),
        "the value is as it was sent",
      )
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
  parse: (input) => parseClaimsRequest(new Map([["claims", input.toString()]])),
  check: ({ idToken, userinfo, userId, acr, isFactorRequired }) => {
    for (const name of [...idToken, ...userinfo])
      requireProperty(/^[\w:]+$/.test(name), "a claim we know")
    requireProperty(userId === undefined || typeof userId === "string", "a user id is a text")
    requireProperty(typeof isFactorRequired === "boolean", "whether a factor is needed is clear")
    for (const value of acr ?? [])
      requireProperty(typeof value === "string", "values of acr are texts")
  },
})

const boundary = "----latchkey"
const formPart = (head: string, body: string) => `--${boundary}\r\n${head}\r\n\r\n${body}\r\n`
const file = 'Content-Disposition: form-data; name="file"; filename="a.png"'
const field = 'Content-Disposition: form-data; name="field"'
const type = `multipart/form-data; boundary=${boundary}`

/** RFC 7578 file uploads: the Content-Type in the first line, then the body. */
export const multipart = fuzzTarget({
  name: "multipart",
  seeds: () => [
    `${type}\n${formPart(`${file}\r\nContent-Type: image/png`, "\x89PNG")}--${boundary}--\r\n`,
    `${type}\n${formPart(field, "1")}${formPart(file, "a\r\n--b")}--${boundary}--`,
    `multipart/form-data; boundary="a b"\n--a b\r\n${file}\r\n\r\nx\r\n--a b--\r\n`,
    `multipart/form-data; x="; boundary=a;"; boundary=b\n--b\r\n${file}\r\n\r\nx\r\n--b--\r\n`,
    `multipart/form-data; xboundary="; boundary=b\n--b\r\n${file}\r\n\r\nx\r\n--b--\r\n`,
    `${type}\n${formPart(file, "a")}${formPart(file, "b")}--${boundary}--\r\n`,
    `${type}\n${formPart('Content-Disposition: form-data; name="file"', "no file")}--${boundary}--`,
  ],
  tokens: [`--${boundary}`, "--", "\r\n\r\n", 'name="file"', 'filename="', "boundary=", "\r\n"],
  parse: (input) => {
    const line = input.indexOf("\n")
    const contentType = input.subarray(0, Math.max(0, line)).toString("latin1")
    const body = new Uint8Array(input.subarray(line + 1))
    const headers = { get: (name: string) => (name === "content-type" ? contentType : null) }
    const request = { headers, body: chunksOf(body) }
    return readFormFile(request as unknown as Request, 65_536)
  },
  check: (bytes, input) => {
    requireProperty(bytes.length < input.length, "a file is smaller than its form")
    requireProperty(input.includes(bytes), "the file is a part of the form, byte for byte")
  },
})

/** In two chunks, as a network can deliver them. */
async function* chunksOf(bytes: Uint8Array) {
  const half = bytes.length >> 1
  yield bytes.subarray(0, half)
  yield bytes.subarray(half)
}
