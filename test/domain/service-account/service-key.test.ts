import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto"
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { findServiceKey } from "../../../src/domain/service-account/find.ts"
import { removeUser } from "../../../src/domain/user/index.ts"
import { callOperation } from "../../support/call-operation.ts"
import type { TestEnvironment } from "../../support/test-environment.ts"
import { shares } from "../../support/user-modules.ts"
import { createAnna, createRobot, openUserWorld } from "../user/household.ts"

let world: TestEnvironment
beforeEach(async () => {
  world = await openUserWorld()
  await createRobot(world.cx())
})
afterEach(() => world.close())

const day = 86_400_000
const add = (request: object = {}) =>
  callOperation(shares, "addKey", world.cx(), {
    userId: "m1",
    expirationDate: timestampFromMs(world.clock.now() + day),
    ...request,
  })

const pem = (type: "rsa" | "ec" | "ed25519" | "rsa-weak" | "ec-weak") => {
  const form = { publicKeyEncoding: { type: "spki", format: "pem" } } as const
  const made = {
    rsa: () => generateKeyPairSync("rsa", { modulusLength: 2048, ...form }),
    ec: () => generateKeyPairSync("ec", { namedCurve: "P-256", ...form }),
    ed25519: () => generateKeyPairSync("ed25519", form),
    "rsa-weak": () => generateKeyPairSync("rsa", { modulusLength: 1024, ...form }),
    "ec-weak": () => generateKeyPairSync("ec", { namedCurve: "secp224r1", ...form }),
  }[type]()
  return Buffer.from(made.publicKey)
}

test("the key file signs what the registered key verifies", async () => {
  const { keyId, keyContent } = await add()
  const file = JSON.parse(Buffer.from(keyContent).toString())
  expect(file).toEqual({
    type: "serviceaccount",
    keyId,
    userId: "m1",
    key: expect.stringContaining("-----BEGIN RSA PRIVATE KEY-----"),
  })
  const found = findServiceKey(world.cx(), "m1", keyId)
  const data = Buffer.from("assertion")
  const signature = sign("sha256", data, createPrivateKey(file.key))
  const key = createPublicKey(found?.publicKey ?? "")
  expect(verify("sha256", data, key, signature)).toBe(true)
  expect(found?.expires).toBe(world.clock.now() + day)
})

test("the private key is not stored", async () => {
  const { keyContent } = await add()
  const { key } = JSON.parse(Buffer.from(keyContent).toString())
  const kept = JSON.stringify(await world.store.log.read(0, 100))
  expect(kept).not.toContain("PRIVATE")
  expect(kept).not.toContain(key.split("\n")[3])
})

test.each(["rsa", "ec", "ed25519"] as const)("accepts a public key (%s)", async (type) => {
  const publicKey = pem(type)
  const { keyId, keyContent } = await add({ publicKey })
  expect(keyContent).toHaveLength(0)
  const found = createPublicKey(findServiceKey(world.cx(), "m1", keyId)?.publicKey ?? "")
  expect(found.equals(createPublicKey(publicKey))).toBe(true)
})

test("rejects a private key", async () => {
  const { privateKey } = generateKeyPairSync("ed25519", {
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  })
  await expect(add({ publicKey: Buffer.from(privateKey) })).rejects.toMatchObject({
    code: "invalid_argument",
    id: "user.key_private",
  })
})

test.each([
  ["a weak RSA key", pem("rsa-weak")],
  ["an odd curve", pem("ec-weak")],
  ["the browser created no key", Buffer.from("hello")],
])("rejects %s", async (_, publicKey) => {
  await expect(add({ publicKey })).rejects.toMatchObject({ id: "user.key_unsupported" })
})

test.each([
  ["without an end", undefined],
  ["with an end that has passed", timestampFromMs(0)],
])("rejects a key %s", async (_, expirationDate) => {
  await expect(add({ expirationDate })).rejects.toMatchObject({ code: "invalid_argument" })
})

test("human users have no keys", async () => {
  await createAnna(world.cx())
  await expect(add({ userId: "u1" })).rejects.toMatchObject({
    code: "failed_precondition",
    id: "user.not_machine",
  })
})

test("a removed key verifies nothing; removing it again succeeds without a date", async () => {
  const cx = world.cx()
  const { keyId } = await add({ publicKey: pem("ed25519") })
  const request = { userId: "m1", keyId }
  world.clock.advance(5)
  const { deletionDate } = await callOperation(shares, "removeKey", cx, request)
  expect(timestampMs(deletionDate)).toBe(world.clock.now())
  expect(findServiceKey(cx, "m1", keyId)).toBeUndefined()
  expect((await callOperation(shares, "removeKey", cx, request)).deletionDate).toBeUndefined()
  for (const name of ["constructor", "__proto__", "toString"]) {
    const answer = await callOperation(shares, "removeKey", cx, { userId: "m1", keyId: name })
    expect(answer.deletionDate, name).toBeUndefined()
  }
})

test("the key of one user is not another's", async () => {
  const cx = world.cx()
  await createRobot(cx, { userName: "drone" }, "m2")
  const { keyId } = await add({ publicKey: pem("ed25519") })
  expect(findServiceKey(cx, "m2", keyId)).toBeUndefined()
  expect(findServiceKey(world.cx({ instance: "i2" }), "m1", keyId)).toBeUndefined()
})

test("the keys of a deleted user are removed", async () => {
  const cx = world.cx()
  const { keyId } = await add({ publicKey: pem("ed25519") })
  await removeUser(cx, "m1")
  expect(findServiceKey(cx, "m1", keyId)).toBeUndefined()
})

test("a user has a hundred keys at most", async () => {
  const publicKey = pem("ed25519")
  for (let at = 0; at < 100; at++) await add({ publicKey })
  await expect(add({ publicKey })).rejects.toMatchObject({ code: "resource_exhausted" })
})

test("keys are listed by filter and scope, without key material", async () => {
  const cx = world.cx()
  const { keyId } = await add({ publicKey: pem("ed25519") })
  world.clock.advance(10)
  await add({ publicKey: pem("ed25519") })
  const { pagination, result } = await callOperation(shares, "listKeys", cx, {
    filters: [{ filter: { case: "keyIdFilter", value: { id: keyId } } }],
  })
  expect(pagination).toMatchObject({ totalResult: 1n, appliedLimit: 100n })
  expect(result).toMatchObject([{ id: keyId, userId: "m1", organizationId: "org1" }])
  const since = { timestamp: timestampFromMs(world.clock.now()), method: 2 }
  const young = { filters: [{ filter: { case: "createdDateFilter", value: since } }] }
  expect((await callOperation(shares, "listKeys", cx, young)).result).toHaveLength(1)
  const scope = { all: false, orgs: ["org2"], projects: [], grants: [] }
  expect((await callOperation(shares, "listKeys", world.cx({ scope }))).result).toEqual([])
  const self = { ...scope, self: "m1" }
  expect((await callOperation(shares, "listKeys", world.cx({ scope: self }))).result).toHaveLength(
    2,
  )
})
