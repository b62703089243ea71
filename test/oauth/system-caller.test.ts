import { createPrivateKey } from "node:crypto"
import { type JWTPayload, SignJWT } from "jose"
import { beforeAll, expect, test } from "vitest"
import { createSigningPair } from "../../src/kernel/crypto/signing-key.ts"
import { systemUsersOf } from "../../src/kernel/system-user.ts"
import { systemCaller } from "../../src/oauth/index.ts"

type Pair = Awaited<ReturnType<typeof createSigningPair>>

const now = 1_800_000_000_000
const seconds = now / 1000
const address = "https://id.example.com"
let ours: Pair
let others: Pair

beforeAll(async () => {
  ours = await createSigningPair()
  others = await createSigningPair()
})

const good: JWTPayload = { iss: "ops", sub: "ops", aud: address, iat: seconds, exp: seconds + 3600 }

const sign = (claims: JWTPayload, key = ours, header: object = {}) =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: "RS256", ...header })
    .sign(createPrivateKey(key.privateKey))

const ask = (authorization: string, addresses = [address]) => {
  const users = systemUsersOf([
    { name: "ops", public_key: ours.publicKey },
    { name: "eyes", public_key: others.publicKey, roles: ["SYSTEM_OWNER_VIEWER"] },
  ])
  if (typeof users === "string") throw new Error(users)
  return systemCaller(authorization, { users, addresses, now })
}

const refused = { code: "unauthenticated", id: "token.system" }

test("a system user is known by a token that they signed", async () => {
  expect(await ask(`Bearer ${await sign(good)}`)).toEqual({
    kind: "system",
    name: "ops",
    roles: ["SYSTEM_OWNER"],
    publicUrl: address,
  })
  const eyes = await sign({ ...good, iss: "eyes", sub: "eyes" }, others)
  expect(await ask(`bearer ${eyes}`)).toMatchObject({ roles: ["SYSTEM_OWNER_VIEWER"] })
})

test("FAPI 2.0 §5.3.2.1: its clock may be ten seconds ahead", async () => {
  const ahead = { iat: seconds + 10, nbf: seconds + 10, exp: seconds + 3610 }
  expect(await ask(`Bearer ${await sign({ ...good, ...ahead })}`)).toMatchObject({ name: "ops" })
})

test("it may be meant for several, of which we are one", async () => {
  const token = await sign({ ...good, aud: ["https://other.example.com", address] })
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
])("a token that %s is refused", async (_, changes) => {
  await expect(ask(`Bearer ${await sign({ ...good, ...changes })}`)).rejects.toMatchObject(refused)
})

test("the last moment of a token is the first second after its end", async () => {
  expect(await ask(`Bearer ${await sign({ ...good, exp: seconds })}`)).toBeDefined()
  const gone = ask(`Bearer ${await sign({ ...good, exp: seconds - 1 })}`)
  await expect(gone).rejects.toMatchObject(refused)
})

test("another user's key is no key of theirs, whatever the header names", async () => {
  for (const header of [{}, { kid: "ops" }, { jku: "https://evil.example.com/keys" }]) {
    const token = sign(good, others, header)
    await expect(ask(`Bearer ${await token}`)).rejects.toMatchObject(refused)
  }
})

test("a signature by a public key as a secret, or none at all, is refused", async () => {
  const secret = new TextEncoder().encode(ours.publicKey)
  const mac = await new SignJWT(good).setProtectedHeader({ alg: "HS256" }).sign(secret)
  const [, body, signature] = (await sign(good)).split(".")
  const none = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url")
  for (const token of [mac, `${none}.${body}.`, `${none}.${body}.${signature}`]) {
    await expect(ask(`Bearer ${token}`)).rejects.toMatchObject(refused)
  }
})

test("an altered token is refused", async () => {
  const [head, , signature] = (await sign({ ...good, iss: "eyes", sub: "eyes" }, others)).split(".")
  const body = Buffer.from(JSON.stringify(good)).toString("base64url")
  const mixed = ask(`Bearer ${head}.${body}.${signature}`)
  await expect(mixed).rejects.toMatchObject(refused)
})

test("where no address is known, no token is meant for it", async () => {
  await expect(ask(`Bearer ${await sign(good)}`, [])).rejects.toMatchObject(refused)
})

test("whatever is nobody's of these is left to others", async () => {
  const stranger = await sign({ ...good, iss: "https://id.example.com", sub: "1" })
  for (const text of [
    `Bearer ${stranger}`,
    "Bearer opaque",
    "Basic b3BzOm9wcw==",
    "Bearer a.b.c",
  ]) {
    expect(await ask(text)).toBeUndefined()
  }
})
