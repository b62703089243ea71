import { createHmac } from "node:crypto"
import { createLocalJWKSet, jwtVerify, SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { activateWebKey, createWebKey, deleteWebKey } from "../../../src/domain/key/commands.ts"
import { module, publicKeys, signer, verifyJwt } from "../../../src/domain/key/index.ts"
import { algorithmOf, type KeyKind } from "../../../src/domain/key/model.ts"

import { openWorld, type World } from "../../support/world.ts"

const kinds: readonly KeyKind[] = [
  { kind: "rsa", bits: 2048, hash: 256 },
  { kind: "rsa", bits: 2048, hash: 384 },
  { kind: "rsa", bits: 2048, hash: 512 },
  { kind: "ecdsa", curve: "P-256" },
  { kind: "ecdsa", curve: "P-384" },
  { kind: "ecdsa", curve: "P-521" },
  { kind: "ed25519" },
]

let world: World
beforeAll(async () => {
  world = openWorld({ ...module })
  for (const kind of kinds) await activateWebKey(world.cx(), (await create(kind)).id)
})
afterAll(() => world.close())

const create = (kind: KeyKind) => createWebKey(world.cx(), kind)
const later = () => Math.floor(world.clock.now() / 1000) + 60
const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url")
const expected = { typ: "at+jwt", algorithms: ["ES256"] } as const

async function token(claims: object = {}, typ = "at+jwt") {
  return signer(world.cx(), "ES256").sign({ sub: "anna", exp: later(), ...claims }, typ)
}

describe.each(kinds.map((kind) => [algorithmOf(kind)] as const))("%s", (alg) => {
  test("what we sign, we and a standard library believe", async () => {
    const cx = world.cx()
    const jwt = await signer(cx, alg).sign({ sub: "anna", exp: later() }, "JWT")
    expect(verifyJwt(cx, jwt, { typ: "JWT", algorithms: [alg] })).toMatchObject({ sub: "anna" })
    const keys = createLocalJWKSet({ keys: publicKeys(cx).map((key) => ({ ...key })) })
    const { payload } = await jwtVerify(jwt, keys, { currentDate: new Date(cx.clock.now()) })
    expect(payload.sub).toBe("anna")
  })
})

test("a token of another type is refused", async () => {
  expect(verifyJwt(world.cx(), await token({}, "JWT"), expected)).toBeUndefined()
})

test("an algorithm that is not allowed here is refused", async () => {
  const only = { ...expected, algorithms: ["RS256"] } as const
  expect(verifyJwt(world.cx(), await token(), only)).toBeUndefined()
})

test("an expired token, or one that never expires, is refused", async () => {
  const cx = world.cx()
  const now = Math.floor(cx.clock.now() / 1000)
  expect(verifyJwt(cx, await token({ exp: now }), expected)).toBeUndefined()
  expect(verifyJwt(cx, await token({ exp: undefined }), expected)).toBeUndefined()
  const hint = { ...expected, expired: "accepted" } as const
  expect(verifyJwt(cx, await token({ exp: now - 9 }), hint)).toMatchObject({ sub: "anna" })
})

test("alg none and HMAC with the public key are refused (RFC 8725 §2.1)", () => {
  const cx = world.cx()
  const key = publicKeys(cx).find((each) => each.alg === "ES256")
  const body = encode({ sub: "anna", exp: later() })
  const none = `${encode({ alg: "none", kid: key?.kid, typ: "at+jwt" })}.${body}`
  expect(verifyJwt(cx, `${none}.`, expected)).toBeUndefined()
  expect(verifyJwt(cx, `${none}.AA`, expected)).toBeUndefined()
  const input = `${encode({ alg: "HS256", kid: key?.kid, typ: "at+jwt" })}.${body}`
  const mac = createHmac("sha256", JSON.stringify(key)).update(input).digest("base64url")
  expect(verifyJwt(cx, `${input}.${mac}`, expected)).toBeUndefined()
})

test("a changed, cut, lengthened or re-spelled token is refused", async () => {
  const cx = world.cx()
  const jwt = await token()
  const [head, body, signature] = jwt.split(".")
  const forged = encode({ sub: "mallory", exp: later() })
  const broken = [
    `${head}.${forged}.${signature}`,
    `${head}.${body}`,
    `${jwt}A`,
    `${jwt}=`,
    `${jwt}.`,
    jwt.slice(0, -1),
    ` ${jwt}`,
    "",
    "..",
    "a.b.c",
  ]
  expect(verifyJwt(cx, jwt, expected)).toBeDefined()
  for (const each of broken) expect(verifyJwt(cx, each, expected), each).toBeUndefined()
})

test("a critical extension that nobody here knows is refused (RFC 7515 §4.1.11)", async () => {
  const cx = world.cx()
  const { kid } = signer(cx, "ES256")
  const head = encode({ alg: "ES256", kid, typ: "at+jwt", crit: ["exp"] })
  const [, body, signature] = (await token()).split(".")
  expect(verifyJwt(cx, `${head}.${body}.${signature}`, expected)).toBeUndefined()
})

test("somebody else's key under our kid is refused", async () => {
  const cx = world.cx()
  const { generateKeyPair } = await import("jose")
  const { privateKey } = await generateKeyPair("ES256")
  const { kid } = signer(cx, "ES256")
  const jwt = await new SignJWT({ sub: "mallory", exp: later() })
    .setProtectedHeader({ alg: "ES256", kid, typ: "at+jwt" })
    .sign(privateKey)
  expect(verifyJwt(cx, jwt, expected)).toBeUndefined()
})

test("what a retired key signed is believed until the key is deleted, and not after", async () => {
  const cx = world.cx()
  const jwt = await token({ exp: later() + 600 })
  const { kid } = signer(cx, "ES256")
  const next = await create({ kind: "ecdsa", curve: "P-256" })
  world.clock.advance(300_000)
  await activateWebKey(cx, next.id)
  expect(verifyJwt(cx, jwt, expected)).toMatchObject({ sub: "anna" })
  await deleteWebKey(cx, kid)
  expect(verifyJwt(cx, jwt, expected)).toBeUndefined()
})
