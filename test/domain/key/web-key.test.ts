import { createLocalJWKSet, jwtVerify } from "jose"
import { afterEach, beforeEach, expect, test } from "vitest"
import * as instances from "../../../src/domain/instance/index.ts"
import { activateWebKey, createWebKey, deleteWebKey } from "../../../src/domain/key/commands.ts"
import {
  addKeys,
  getSigner,
  listWebKeys,
  module,
  prepareKeys,
  publicKeys,
} from "../../../src/domain/key/index.ts"
import type { KeyKind } from "../../../src/domain/key/model.ts"
import { webKeyView } from "../../../src/domain/key/view.ts"

import { openTestEnvironment, type TestEnvironment } from "../../support/test-environment.ts"

const es256: KeyKind = { kind: "ecdsa", curve: "P-256" }

let world: TestEnvironment
beforeEach(() => {
  world = openTestEnvironment({
    aggregates: [...module.aggregates, instances.instance],
    views: [webKeyView],
  })
})
afterEach(() => world.close())

/** Waits until all clients have loaded the current keys. */
const waitForPublication = () => world.clock.advance(300_000)

const statuses = () =>
  Object.fromEntries(listWebKeys(world.cx()).map((row) => [row.id, row.status]))

test("a new key is published at once and signs nothing", async () => {
  const cx = world.cx()
  const { id } = await createWebKey(cx, es256)
  expect(publicKeys(cx).map((key) => key.kid)).toEqual([id])
  expect(() => getSigner(cx, "ES256")).toThrow("no ES256 key is active")
})

test("activating a key retires the active key of the same algorithm only", async () => {
  const cx = world.cx()
  const [first, second] = [await createWebKey(cx, es256), await createWebKey(cx, es256)]
  const other = await createWebKey(cx, { kind: "ed25519" })
  waitForPublication()
  for (const { id } of [first, other, second]) await activateWebKey(cx, id)
  expect(statuses()).toEqual({
    [first.id]: "inactive",
    [second.id]: "active",
    [other.id]: "active",
  })
  expect(getSigner(cx, "ES256").kid).toBe(second.id)
  expect(publicKeys(cx)).toHaveLength(3)
})

test("activating the active key changes nothing", async () => {
  const cx = world.cx()
  const { id } = await createWebKey(cx, es256)
  const before = await activateWebKey(cx, id)
  expect(await activateWebKey(cx, id)).toEqual(before)
})

test("an inactive key can be activated again", async () => {
  const cx = world.cx()
  const [first, second] = [await createWebKey(cx, es256), await createWebKey(cx, es256)]
  waitForPublication()
  for (const { id } of [first, second, first]) await activateWebKey(cx, id)
  expect(statuses()).toEqual({ [first.id]: "active", [second.id]: "inactive" })
})

test("concurrent activations leave one active key", async () => {
  const cx = world.cx()
  const keys = await Promise.all(Array.from({ length: 8 }, () => createWebKey(cx, es256)))
  waitForPublication()
  await Promise.allSettled(keys.map(({ id }) => activateWebKey(cx, id)))
  expect(Object.values(statuses()).filter((status) => status === "active")).toHaveLength(1)
})

test("a key that clients may not have loaded can be activated only if it is the first of its kind", async () => {
  const cx = world.cx()
  const [first, second] = [await createWebKey(cx, es256), await createWebKey(cx, es256)]
  await activateWebKey(cx, first.id)
  world.clock.advance(299_001)
  await expect(activateWebKey(cx, second.id)).rejects.toMatchObject({
    code: "failed_precondition",
    id: "web_key.too_young",
    message: expect.stringContaining("activate it in 1 seconds"),
  })
  expect(getSigner(cx, "ES256").kid).toBe(first.id)
  world.clock.advance(999)
  await activateWebKey(cx, second.id)
  expect(getSigner(cx, "ES256").kid).toBe(second.id)
})

test("the active key can't be deleted", async () => {
  const cx = world.cx()
  const { id } = await createWebKey(cx, es256)
  await activateWebKey(cx, id)
  await expect(deleteWebKey(cx, id)).rejects.toMatchObject({
    code: "failed_precondition",
    id: "web_key.active",
  })
})

test("deleting an unknown key succeeds and changes nothing", async () => {
  const cx = world.cx()
  expect(await deleteWebKey(cx, "nobody")).toBeUndefined()
  const { id } = await createWebKey(cx, es256)
  expect(await deleteWebKey(cx, id)).toMatchObject({ id })
  expect(await deleteWebKey(cx, id)).toBeUndefined()
  await expect(activateWebKey(cx, id)).rejects.toMatchObject({ code: "not_found" })
})

test("a deleted key leaves no private half in the log", async () => {
  const cx = world.cx()
  const { id } = await createWebKey(cx, es256)
  const privates = async () =>
    (await world.store.log.read(0, 10)).map((event) => event.private !== null)
  expect(await privates()).toEqual([true])
  await deleteWebKey(cx, id)
  expect(await privates()).toEqual([false, false])
})

test("no private member is published or stored in plain text", async () => {
  const cx = world.cx()
  await createWebKey(cx, { kind: "rsa", bits: 2048, hash: 256 })
  await createWebKey(cx, { kind: "ed25519" })
  const hidden = ["d", "p", "q", "dp", "dq", "qi"]
  for (const key of publicKeys(cx)) {
    for (const member of hidden) expect(key).not.toHaveProperty(member)
    expect(key).toMatchObject({ use: "sig" })
  }
  const kept = JSON.stringify(await world.store.log.read(0, 10))
  for (const member of hidden) expect(kept).not.toContain(`"${member}":`)
})

test("the initial keys sign with RS256 and ES256, and clients can verify them", async () => {
  const cx = world.cx()
  const pairs = await prepareKeys(cx)
  await world.store.transact(cx, (tx) => addKeys(tx, pairs))
  const keys = createLocalJWKSet({ keys: publicKeys(cx).map((key) => ({ ...key })) })
  for (const alg of ["RS256", "ES256"] as const) {
    const jwt = await getSigner(cx, alg).sign({ sub: "anna" }, "JWT")
    const { payload, protectedHeader } = await jwtVerify(jwt, keys)
    expect(payload).toEqual({ sub: "anna" })
    expect(protectedHeader).toEqual({ alg, kid: getSigner(cx, alg).kid, typ: "JWT" })
  }
})

test("keys are separate by instance, even with equal IDs", async () => {
  const [here, there] = [world.cx(), world.cx({ instance: "i2" })]
  const pairs = await prepareKeys(here)
  await world.store.transact(here, (tx) => addKeys(tx, pairs))
  expect(publicKeys(there)).toEqual([])
  expect(() => getSigner(there, "ES256")).toThrow("no ES256 key is active")
  expect(await deleteWebKey(there, pairs[0]?.id ?? "")).toBeUndefined()
  expect(publicKeys(here)).toHaveLength(2)
})
