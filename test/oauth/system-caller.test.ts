import { createPrivateKey } from "node:crypto"
import { type JWTPayload, SignJWT } from "jose"
import { beforeAll, expect, test } from "vitest"
import { createSigningPair } from "../../src/kernel/crypto/signing-key.ts"
import { parseSystemUsers } from "../../src/kernel/system-user.ts"
import { authenticateSystemUser } from "../../src/oauth/index.ts"

type Pair = Awaited<ReturnType<typeof createSigningPair>>

const now = 1_800_000_000_000
const seconds = now / 1000
const address = "https://id.example.com"
let ownKeys: Pair
let otherKeys: Pair

beforeAll(async () => {
  ownKeys = await createSigningPair()
  otherKeys = await createSigningPair()
})

const validClaims: JWTPayload = {
  iss: "ops",
  sub: "ops",
  aud: address,
  iat: seconds,
  exp: seconds + 3600,
}

const sign = (claims: JWTPayload, key = ownKeys, header: object = {}) =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: "RS256", ...header })
    .sign(createPrivateKey(key.privateKey))

const ask = (authorization: string, addresses = [address]) => {
  const users = parseSystemUsers([
    { name: "ops", public_key: ownKeys.publicKey },
    { name: "eyes", public_key: otherKeys.publicKey, roles: ["SYSTEM_OWNER_VIEWER"] },
  ])
  if (typeof users === "string") throw new Error(users)
  return authenticateSystemUser(authorization, { users, addresses, now })
}

const invalidToken = { code: "unauthenticated", id: "token.system" }

test("a system user authenticates by a token that they signed", async () => {
  expect(await ask(`Bearer ${await sign(validClaims)}`)).toEqual({
    kind: "system",
    name: "ops",
    roles: ["SYSTEM_OWNER"],
    publicUrl: address,
  })
  const eyes = await sign({ ...validClaims, iss: "eyes", sub: "eyes" }, otherKeys)
  expect(await ask(`bearer ${eyes}`)).toMatchObject({ roles: ["SYSTEM_OWNER_VIEWER"] })
})

test("FAPI 2.0 §5.3.2.1: its clock can be ten seconds ahead", async () => {
  const ahead = { iat: seconds + 10, nbf: seconds + 10, exp: seconds + 3610 }
  expect(await ask(`Bearer ${await sign({ ...validClaims, ...ahead })}`)).toMatchObject({
    name: "ops",
  })
})

test("it can have several audiences, including us", async () => {
  const token = await sign({ ...validClaims, aud: ["https://other.example.com", address] })
  expect(await ask(`Bearer ${token}`, ["https://id2.example.com", address])).toMatchObject({
    publicUrl: address,
  })
})

test.each<[string, Record<string, unknown>]>([
  ["ended a while ago", { exp: seconds - 2 }],
  ["lasts more than an hour", { exp: seconds + 3602 }],
  ["never ends", { exp: undefined }],
  ["begins later", { nbf: seconds + 61 }],
  ["was issued in the future", { iat: seconds + 61 }],
  ["is about another", { sub: "eyes" }],
  ["is about nobody", { sub: undefined }],
  ["is meant for another server", { aud: "https://evil.example.com" }],
  ["is meant for our address with a path", { aud: `${address}/` }],
  ["is meant for nobody", { aud: undefined }],
])("a token that %s is rejected", async (_, changes) => {
  await expect(ask(`Bearer ${await sign({ ...validClaims, ...changes })}`)).rejects.toMatchObject(
    invalidToken,
  )
})

test("a token is valid for one second after its expiry", async () => {
  expect(await ask(`Bearer ${await sign({ ...validClaims, exp: seconds })}`)).toBeDefined()
  const gone = ask(`Bearer ${await sign({ ...validClaims, exp: seconds - 1 })}`)
  await expect(gone).rejects.toMatchObject(invalidToken)
})

test("another user's key is rejected, whatever the header names", async () => {
  for (const header of [{}, { kid: "ops" }, { jku: "https://evil.example.com/keys" }]) {
    const token = sign(validClaims, otherKeys, header)
    await expect(ask(`Bearer ${await token}`)).rejects.toMatchObject(invalidToken)
  }
})

test("a signature with a public key as HMAC secret, or none, is rejected", async () => {
  const secret = new TextEncoder().encode(ownKeys.publicKey)
  const mac = await new SignJWT(validClaims).setProtectedHeader({ alg: "HS256" }).sign(secret)
  const [, body, signature] = (await sign(validClaims)).split(".")
  const none = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url")
  for (const token of [mac, `${none}.${body}.`, `${none}.${body}.${signature}`]) {
    await expect(ask(`Bearer ${token}`)).rejects.toMatchObject(invalidToken)
  }
})

test("an altered token is rejected", async () => {
  const [head, , signature] = (
    await sign({ ...validClaims, iss: "eyes", sub: "eyes" }, otherKeys)
  ).split(".")
  const body = Buffer.from(JSON.stringify(validClaims)).toString("base64url")
  const mixed = ask(`Bearer ${head}.${body}.${signature}`)
  await expect(mixed).rejects.toMatchObject(invalidToken)
})

test("without a known URL, no token has a valid audience", async () => {
  await expect(ask(`Bearer ${await sign(validClaims)}`, [])).rejects.toMatchObject(invalidToken)
})

test("tokens of other issuers are passed on", async () => {
  const stranger = await sign({ ...validClaims, iss: "https://id.example.com", sub: "1" })
  for (const text of [
    `Bearer ${stranger}`,
    "Bearer opaque",
    "Basic b3BzOm9wcw==",
    "Bearer a.b.c",
  ]) {
    expect(await ask(text)).toBeUndefined()
  }
})
