import { createPrivateKey, createPublicKey, generateKeyPairSync, randomUUID } from "node:crypto"
import { SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { assertionOf, type ServiceKey, serviceToken } from "../support/latchkey.ts"
import { addKey, addMachine, bearer, openService, parseReply, type Service } from "./service.ts"

let service: Service

beforeAll(async () => {
  service = await openService()
})
afterAll(() => service?.close())

const grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
const apiScope = (project: string) => `urn:core:iam:org:project:id:${project}:aud`

async function requestToken(assertion: string, scope = `openid ${apiScope("core")}`) {
  const body = new URLSearchParams({ grant_type: grantType, assertion, scope })
  return parseReply(await fetch(`${service.url}/oauth/v2/token`, { method: "POST", body }))
}

const listWith = (token: string) => service.call("ListUsers", {}, token)

describe("an API token", () => {
  test("is accepted if the instance's project is in the audience, by ID or alias", async () => {
    const { body } = await parseReply(
      await fetch(`${service.url}/iam`, { headers: bearer(service.token) }),
    )
    for (const project of [body.iamProjectId, "core"]) {
      const token = await serviceToken(service.url, service.key, `openid ${apiScope(project)}`)
      expect((await listWith(token)).status).toBe(200)
    }
  })

  test("is rejected otherwise, with the missing audience", async () => {
    for (const scope of ["openid", "openid profile", `openid ${apiScope("123456789012345678")}`]) {
      const token = await serviceToken(service.url, service.key, scope)
      const { status, body } = await listWith(token)
      expect([scope, status, body.code]).toEqual([scope, 401, "unauthenticated"])
      expect(body.message).toContain("urn:core:iam:org:project:id:core:aud")
    }
  })
})

type JwtClaims = Readonly<Record<string, unknown>>

const seconds = () => Math.floor(Date.now() / 1000)

const claimsOf = (changed: JwtClaims = {}): JwtClaims => ({
  iss: service.key.userId,
  sub: service.key.userId,
  aud: service.url,
  iat: seconds(),
  exp: seconds() + 300,
  ...changed,
})

type Signing = { readonly key?: string; readonly alg?: string; readonly kid?: string }

const signAssertion = (claims: JwtClaims, { key, alg = "RS256", kid }: Signing = {}) =>
  new SignJWT({ ...claims })
    .setProtectedHeader({ alg, kid: kid ?? service.key.keyId })
    .sign(createPrivateKey(key ?? service.key.key))

const encodePart = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")

/** Signed with the registered public key as an HMAC secret. */
function signWithHmac(): Promise<string> {
  const publicKey = createPublicKey(service.key.key).export({ type: "spki", format: "pem" })
  return new SignJWT({ ...claimsOf() })
    .setProtectedHeader({ alg: "HS256", kid: service.key.keyId })
    .sign(new TextEncoder().encode(publicKey.toString()))
}

const createUnregisteredKey = () =>
  generateKeyPairSync("rsa", { modulusLength: 2048 })
    .privateKey.export({ type: "pkcs8", format: "pem" })
    .toString()

const wrong: readonly (readonly [string, () => Promise<string> | string])[] = [
  ["has expired", () => signAssertion(claimsOf({ iat: seconds() - 600, exp: seconds() - 60 }))],
  ["is older than an hour", () => signAssertion(claimsOf({ iat: seconds() - 3700 }))],
  [
    "comes from the future",
    () => signAssertion(claimsOf({ iat: seconds() + 600, exp: seconds() + 900 })),
  ],
  ["never expires", () => signAssertion(claimsOf({ exp: undefined }))],
  ["does not say when it was made", () => signAssertion(claimsOf({ iat: undefined }))],
  ["is for somebody else", () => signAssertion(claimsOf({ aud: "https://elsewhere.example.com" }))],
  [
    "is for an address that begins like ours",
    () => signAssertion(claimsOf({ aud: `${service.url}0` })),
  ],
  ["is for nobody", () => signAssertion(claimsOf({ aud: undefined }))],
  ["is about another subject", () => signAssertion(claimsOf({ sub: "100000000000000001" }))],
  [
    "is signed by a stranger's key",
    () => signAssertion(claimsOf(), { key: createUnregisteredKey() }),
  ],
  ["names a key that is not there", () => signAssertion(claimsOf(), { kid: "100000000000000001" })],
  ["is not signed", () => `${encodePart({ alg: "none" })}.${encodePart(claimsOf())}.`],
  ["is signed with the public key as a secret", signWithHmac],
  ["is no JWT", () => "aaa.bbb.ccc"],
]

describe("an assertion is rejected if it", () => {
  test.each(wrong)("%s", async (_, make) => {
    const { status, body } = await requestToken(await make())
    expect([status, body.error]).toEqual([400, "invalid_grant"])
    expect(body).not.toHaveProperty("access_token")
  })

  test("was used before and has an ID", async () => {
    const assertion = await signAssertion(claimsOf({ jti: randomUUID() }))
    const replies = await Promise.all([1, 2, 3, 4].map(() => requestToken(assertion)))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
    expect((await requestToken(assertion)).body.error).toBe("invalid_grant")
  })

  test("another user's key signed it", async () => {
    const orgId = (await service.get("ListOrganizations")).result[0].id
    const other = await addKey(service, await addMachine(service, orgId, "other"))
    const { key, keyId: kid } = other
    expect((await requestToken(await signAssertion(claimsOf(), { key, kid }))).status).toBe(400)
    expect((await requestToken(await assertionOf(service.url, other))).status).toBe(200)
  })
})

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/** The same bytes in another spelling, if the last character has unused bits. */
function withSpareBits(token: string): string {
  const last = alphabet.indexOf(token.at(-1) ?? "")
  return `${token.slice(0, -1)}${alphabet[last ^ 1]}`
}

const flipCharacter = (token: string, at: number) => {
  const letter = token[at] ?? ""
  const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
  return `${token.slice(0, at)}${other === letter ? "A" : other}${token.slice(at + 1)}`
}

const tamperedTokens: readonly (readonly [string, (token: string) => string])[] = [
  ["shorter", (token) => token.slice(0, -1)],
  ["a lot shorter", (token) => token.slice(0, 20)],
  ["longer", (token) => `${token}A`],
  ["longer by what it may not contain", (token) => `${token}~`],
  ["padded", (token) => `${token}=`],
  ["padded twice", (token) => `${token}==`],
  ["in other spare bits", withSpareBits],
  ["in another case at the start", (token) => flipCharacter(token, 1)],
  ["in another case in the middle", (token) => flipCharacter(token, token.length >> 1)],
  ["all in lower case", (token) => token.toLowerCase()],
  ["with another alphabet", (token) => token.replaceAll("-", "+").replaceAll("_", "/")],
  ["with a dot more", (token) => `${token}.`],
  ["twice", (token) => `${token}${token}`],
]

describe("an access token is rejected if it is", () => {
  let key: ServiceKey

  beforeAll(async () => {
    const orgId = (await service.get("ListOrganizations")).result[0].id
    const machine = { name: "jwt", accessTokenType: "ACCESS_TOKEN_TYPE_JWT" }
    const made = { organizationId: orgId, username: "jwt", machine }
    key = await addKey(service, (await service.get("CreateUser", made)).id)
  })

  test.each(tamperedTokens)("%s", async (_, spell) => {
    for (const each of [service.key, key]) {
      const token = await serviceToken(service.url, each)
      expect((await listWith(token)).status).toBe(200)
      const other = spell(token)
      if (other === token) continue
      expect((await listWith(other)).status).toBe(401)
    }
  })

  test("without its signature, or with that of another token", async () => {
    const [head, body] = (await serviceToken(service.url, key)).split(".")
    const [, , foreign] = (await serviceToken(service.url, key)).split(".")
    for (const token of [`${head}.${body}.`, `${head}.${body}.${foreign}`]) {
      expect((await listWith(token)).status).toBe(401)
    }
  })
})
