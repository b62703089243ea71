import { createHmac } from "node:crypto"
import { createLocalJWKSet, jwtVerify, SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { activateWebKey, createWebKey, deleteWebKey } from "../../../src/domain/key/commands.ts"
import { getSigner, module, publicKeys, verifyJwt } from "../../../src/domain/key/index.ts"
import { algorithmOf, type KeyKind } from "../../../src/domain/key/model.ts"

import { openTestEnvironment, type TestEnvironment } from "../../support/test-environment.ts"

const kinds: readonly KeyKind[] = [
  { kind: "rsa", bits: 2048, hash: 256 },
  { kind: "rsa", bits: 2048, hash: 384 },
  { kind: "rsa", bits: 2048, hash: 512 },
  { kind: "ecdsa", curve: "P-256" },
  { kind: "ecdsa", curve: "P-384" },
  { kind: "ecdsa", curve: "P-521" },
  { kind: "ed25519" },
]

let world: TestEnvironment
beforeAll(async () => {
  world = openTestEnvironment({ ...module })
  for (const kind of kinds) await activateWebKey(world.cx(), (await createKey(kind)).id)
})
afterAll(() => world.close())

const createKey = (kind: KeyKind) => createWebKey(world.cx(), kind)
const inOneMinute = () => Math.floor(world.clock.now() / 1000) + 60
const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url")
const expected = { typ: "at+jwt", algorithms: ["ES256"] } as const

async function signToken(claims: object = {}, typ = "at+jwt") {
  return getSigner(world.cx(), "ES256").sign({ sub: "anna", exp: inOneMinute(), ...claims }, typ)
}

describe.each(kinds.map((kind) => [algorithmOf(kind)] as const))("%s", (alg) => {
  test("signed tokens are verified by Latchkey and by a standard library", async () => {
    const cx = world.cx()
    const jwt = await getSigner(cx, alg).sign({ sub: "anna", exp: inOneMinute() }, "JWT")
    expect(verifyJwt(cx, jwt, { typ: "JWT", algorithms: [alg] })).toMatchObject({ sub: "anna" })
    const keys = createLocalJWKSet({ keys: publicKeys(cx).map((key) => ({ ...key })) })
    const { payload } = await jwtVerify(jwt, keys, { currentDate: new Date(cx.clock.now()) })
    expect(payload.sub).toBe("anna")
  })
})

test("rejects a token of another type", async () => {
  expect(verifyJwt(world.cx(), await signToken({}, "JWT"), expected)).toBeUndefined()
})

test("rejects an algorithm that is not allowed", async () => {
  const only = { ...expected, algorithms: ["RS256"] } as const
  expect(verifyJwt(world.cx(), await signToken(), only)).toBeUndefined()
})

test("rejects an expired token, and one without expiry", async () => {
  const cx = world.cx()
  const now = Math.floor(cx.clock.now() / 1000)
  expect(verifyJwt(cx, await signToken({ exp: now }), expected)).toBeUndefined()
  expect(verifyJwt(cx, await signToken({ exp: undefined }), expected)).toBeUndefined()
  const hint = { ...expected, expired: "accepted" } as const
  expect(verifyJwt(cx, await signToken({ exp: now - 9 }), hint)).toMatchObject({ sub: "anna" })
})

test("rejects alg none and HMAC with the public key (RFC 8725 §2.1)", () => {
  const cx = world.cx()
  const key = publicKeys(cx).find((each) => each.alg === "ES256")
  const body = encode({ sub: "anna", exp: inOneMinute() })
  const none = `${encode({ alg: "none", kid: key?.kid, typ: "at+jwt" })}.${body}`
  expect(verifyJwt(cx, `${none}.`, expected)).toBeUndefined()
  expect(verifyJwt(cx, `${none}.AA`, expected)).toBeUndefined()
  const input = `${encode({ alg: "HS256", kid: key?.kid, typ: "at+jwt" })}.${body}`
  const mac = createHmac("sha256", JSON.stringify(key)).update(input).digest("base64url")
  expect(verifyJwt(cx, `${input}.${mac}`, expected)).toBeUndefined()
})

test("rejects a changed, truncated, extended, or re-encoded token", async () => {
  const cx = world.cx()
  const jwt = await signToken()
  const [head, body, signature] = jwt.split(".")
  const forged = encode({ sub: "mallory", exp: inOneMinute() })
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

test("rejects an unknown critical extension (RFC 7515 §4.1.11)", async () => {
  const cx = world.cx()
  const { kid } = getSigner(cx, "ES256")
  const head = encode({ alg: "ES256", kid, typ: "at+jwt", crit: ["exp"] })
  const [, body, signature] = (await signToken()).split(".")
  expect(verifyJwt(cx, `${head}.${body}.${signature}`, expected)).toBeUndefined()
})

test("rejects another key with a known kid", async () => {
  const cx = world.cx()
  const { generateKeyPair } = await import("jose")
  const { privateKey } = await generateKeyPair("ES256")
  const { kid } = getSigner(cx, "ES256")
  const jwt = await new SignJWT({ sub: "mallory", exp: inOneMinute() })
    .setProtectedHeader({ alg: "ES256", kid, typ: "at+jwt" })
    .sign(privateKey)
  expect(verifyJwt(cx, jwt, expected)).toBeUndefined()
})

test("a token of a retired key is valid until the key is deleted", async () => {
  const cx = world.cx()
  const jwt = await signToken({ exp: inOneMinute() + 600 })
  const { kid } = getSigner(cx, "ES256")
  const next = await createKey({ kind: "ecdsa", curve: "P-256" })
  world.clock.advance(300_000)
  await activateWebKey(cx, next.id)
  expect(verifyJwt(cx, jwt, expected)).toMatchObject({ sub: "anna" })
  await deleteWebKey(cx, kid)
  expect(verifyJwt(cx, jwt, expected)).toBeUndefined()
})
