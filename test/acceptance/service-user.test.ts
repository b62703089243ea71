import { createPrivateKey, createPublicKey, generateKeyPairSync, randomUUID } from "node:crypto"
import { SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { assertionOf, type ServiceKey, serviceToken } from "../support/latchkey.ts"
import { addKey, addMachine, bearer, openService, reply, type Service } from "./service.ts"

let service: Service

beforeAll(async () => {
  service = await openService()
})
afterAll(() => service?.close())

const grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
const apiScope = (project: string) => `urn:core:iam:org:project:id:${project}:aud`

async function trade(assertion: string, scope = `openid ${apiScope("core")}`) {
  const body = new URLSearchParams({ grant_type: grantType, assertion, scope })
  return reply(await fetch(`${service.url}/oauth/v2/token`, { method: "POST", body }))
}

const listWith = (token: string) => service.call("ListUsers", {}, token)

describe("a token for the interface", () => {
  test("opens it when our project is in the audience, by id or by its alias", async () => {
    const { body } = await reply(
      await fetch(`${service.url}/iam`, { headers: bearer(service.token) }),
    )
    for (const project of [body.iamProjectId, "core"]) {
      const token = await serviceToken(service.url, service.key, `openid ${apiScope(project)}`)
      expect((await listWith(token)).status).toBe(200)
    }
  })

  test("does not open it otherwise, and says what is missing", async () => {
    for (const scope of ["openid", "openid profile", `openid ${apiScope("123456789012345678")}`]) {
      const token = await serviceToken(service.url, service.key, scope)
      const { status, body } = await listWith(token)
      expect([scope, status, body.code]).toEqual([scope, 401, "unauthenticated"])
      expect(body.message).toContain("urn:core:iam:org:project:id:core:aud")
    }
  })
})

type Claims = Readonly<Record<string, unknown>>

const seconds = () => Math.floor(Date.now() / 1000)

const claimsOf = (changed: Claims = {}): Claims => ({
  iss: service.key.userId,
  sub: service.key.userId,
  aud: service.url,
  iat: seconds(),
  exp: seconds() + 300,
  ...changed,
})

type Signing = { readonly key?: string; readonly alg?: string; readonly kid?: string }

const signed = (claims: Claims, { key, alg = "RS256", kid }: Signing = {}) =>
  new SignJWT({ ...claims })
    .setProtectedHeader({ alg, kid: kid ?? service.key.keyId })
    .sign(createPrivateKey(key ?? service.key.key))

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")

/** With the registered public key as the secret that both would know. */
function withHmac(): Promise<string> {
  const publicKey = createPublicKey(service.key.key).export({ type: "spki", format: "pem" })
  return new SignJWT({ ...claimsOf() })
    .setProtectedHeader({ alg: "HS256", kid: service.key.keyId })
    .sign(new TextEncoder().encode(publicKey.toString()))
}

const strangersKey = () =>
  generateKeyPairSync("rsa", { modulusLength: 2048 })
    .privateKey.export({ type: "pkcs8", format: "pem" })
    .toString()

const wrong: readonly (readonly [string, () => Promise<string> | string])[] = [
  ["has expired", () => signed(claimsOf({ iat: seconds() - 600, exp: seconds() - 60 }))],
  ["is older than an hour", () => signed(claimsOf({ iat: seconds() - 3700 }))],
  ["comes from the future", () => signed(claimsOf({ iat: seconds() + 600, exp: seconds() + 900 }))],
  ["never expires", () => signed(claimsOf({ exp: undefined }))],
  ["does not say when it was made", () => signed(claimsOf({ iat: undefined }))],
  ["is for somebody else", () => signed(claimsOf({ aud: "https://elsewhere.example.com" }))],
  ["is for an address that begins like ours", () => signed(claimsOf({ aud: `${service.url}0` }))],
  ["is for nobody", () => signed(claimsOf({ aud: undefined }))],
  ["is about another subject", () => signed(claimsOf({ sub: "100000000000000001" }))],
  ["is signed by a stranger's key", () => signed(claimsOf(), { key: strangersKey() })],
  ["names a key that is not there", () => signed(claimsOf(), { kid: "100000000000000001" })],
  ["is not signed", () => `${part({ alg: "none" })}.${part(claimsOf())}.`],
  ["is signed with the public key as a secret", withHmac],
  ["is no JWT", () => "aaa.bbb.ccc"],
]

describe("an assertion is refused that", () => {
  test.each(wrong)("%s", async (_, make) => {
    const { status, body } = await trade(await make())
    expect([status, body.error]).toEqual([400, "invalid_grant"])
    expect(body).not.toHaveProperty("access_token")
  })

  test("was used before, where it carries an id", async () => {
    const assertion = await signed(claimsOf({ jti: randomUUID() }))
    const replies = await Promise.all([1, 2, 3, 4].map(() => trade(assertion)))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
    expect((await trade(assertion)).body.error).toBe("invalid_grant")
  })

  test("another user's key signed", async () => {
    const orgId = (await service.get("ListOrganizations")).result[0].id
    const other = await addKey(service, await addMachine(service, orgId, "other"))
    const { key, keyId: kid } = other
    expect((await trade(await signed(claimsOf(), { key, kid }))).status).toBe(400)
    expect((await trade(await assertionOf(service.url, other))).status).toBe(200)
  })
})

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/** The same bytes in another spelling, if the last character has bits to spare. */
function withSpareBits(token: string): string {
  const last = alphabet.indexOf(token.at(-1) ?? "")
  return `${token.slice(0, -1)}${alphabet[last ^ 1]}`
}

const flipped = (token: string, at: number) => {
  const letter = token[at] ?? ""
  const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
  return `${token.slice(0, at)}${other === letter ? "A" : other}${token.slice(at + 1)}`
}

const spellings: readonly (readonly [string, (token: string) => string])[] = [
  ["shorter", (token) => token.slice(0, -1)],
  ["a lot shorter", (token) => token.slice(0, 20)],
  ["longer", (token) => `${token}A`],
  ["longer by what it may not contain", (token) => `${token}~`],
  ["padded", (token) => `${token}=`],
  ["padded twice", (token) => `${token}==`],
  ["in other spare bits", withSpareBits],
  ["in another case at the start", (token) => flipped(token, 1)],
  ["in another case in the middle", (token) => flipped(token, token.length >> 1)],
  ["all in lower case", (token) => token.toLowerCase()],
  ["with another alphabet", (token) => token.replaceAll("-", "+").replaceAll("_", "/")],
  ["with a dot more", (token) => `${token}.`],
  ["twice", (token) => `${token}${token}`],
]

describe("an access token is refused when it is written", () => {
  let key: ServiceKey

  beforeAll(async () => {
    const orgId = (await service.get("ListOrganizations")).result[0].id
    const machine = { name: "jwt", accessTokenType: "ACCESS_TOKEN_TYPE_JWT" }
    const made = { organizationId: orgId, username: "jwt", machine }
    key = await addKey(service, (await service.get("CreateUser", made)).id)
  })

  test.each(spellings)("%s", async (_, spell) => {
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
