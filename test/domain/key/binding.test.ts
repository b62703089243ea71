import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { addDomain } from "../../../src/domain/instance/domain-change.ts"
import * as instances from "../../../src/domain/instance/index.ts"
import { shares } from "../../../src/domain/key/api.ts"
import { module, publicKeys } from "../../../src/domain/key/index.ts"
import { webKeyView } from "../../../src/domain/key/view.ts"
import { callOperation } from "../../support/call-operation.ts"
import { openTestEnvironment, type TestEnvironment } from "../../support/test-environment.ts"

const [v2, v3alpha] = shares

let world: TestEnvironment
beforeEach(() => {
  world = openTestEnvironment({
    aggregates: [...module.aggregates, instances.instance],
    views: [webKeyView],
  })
})
afterEach(() => world.close())

const keyMessage = (text: string, value: object) => ({ key: { case: text, value } })

test("v2 creates, lists, activates and deletes keys", async () => {
  const cx = world.cx()
  const made = await callOperation([v2], "createWebKey", cx, keyMessage("ecdsa", { curve: 2 }))
  expect(timestampMs(made.creationDate)).toBe(world.clock.now())

  world.clock.advance(1000)
  const { changeDate } = await callOperation([v2], "activateWebKey", cx, { id: made.id })
  expect(timestampMs(changeDate)).toBe(world.clock.now())
  const { webKeys } = await callOperation([v2], "listWebKeys", cx)
  expect(webKeys).toMatchObject([
    { id: made.id, state: 2, key: { case: "ecdsa", value: { curve: 2 } } },
  ])

  const spare = await callOperation([v2], "createWebKey", cx, keyMessage("ed25519", {}))
  expect(
    (await callOperation([v2], "deleteWebKey", cx, { id: spare.id })).deletionDate,
  ).toBeDefined()
  expect(
    (await callOperation([v2], "deleteWebKey", cx, { id: spare.id })).deletionDate,
  ).toBeUndefined()
})

test.each([
  ["rsa", { bits: 1, hasher: 1 }, { kty: "RSA", alg: "RS256" }],
  ["rsa", { bits: 2, hasher: 2 }, { kty: "RSA", alg: "RS384" }],
  ["rsa", { bits: 3, hasher: 3 }, { kty: "RSA", alg: "RS512" }],
  ["ecdsa", { curve: 1 }, { kty: "EC", crv: "P-256", alg: "ES256" }],
  ["ecdsa", { curve: 2 }, { kty: "EC", crv: "P-384", alg: "ES384" }],
  ["ecdsa", { curve: 3 }, { kty: "EC", crv: "P-521", alg: "ES512" }],
  ["ed25519", {}, { kty: "OKP", crv: "Ed25519", alg: "EdDSA" }],
])("creates, returns, and publishes a key of kind %s %j", async (displayed, config, published) => {
  const cx = world.cx()
  const { id } = await callOperation([v2], "createWebKey", cx, keyMessage(displayed, config))
  await callOperation([v2], "activateWebKey", cx, { id })
  const { webKeys } = await callOperation([v2], "listWebKeys", cx)
  expect(webKeys).toMatchObject([{ id, state: 2, key: { case: displayed, value: config } }])
  expect(publicKeys(cx)).toMatchObject([{ kid: id, use: "sig", ...published }])
})

test("the default key is RSA with 2048 bits and SHA-256", async () => {
  const cx = world.cx()
  await callOperation([v2], "createWebKey", cx)
  const { webKeys } = await callOperation([v2], "listWebKeys", cx)
  expect(webKeys).toMatchObject([{ state: 1, key: { case: "rsa", value: { bits: 1, hasher: 1 } } }])
})

test("an incomplete kind is rejected, and no key is created", async () => {
  const cx = world.cx()
  const half = [
    keyMessage("rsa", {}),
    keyMessage("rsa", { bits: 2 }),
    keyMessage("rsa", { hasher: 1 }),
    keyMessage("ecdsa", {}),
  ]
  for (const request of half) {
    await expect(callOperation([v2], "createWebKey", cx, request)).rejects.toMatchObject({
      code: "invalid_argument",
    })
  }
  expect((await callOperation([v2], "listWebKeys", cx)).webKeys).toEqual([])
})

test("v3alpha returns the same keys in its own format", async () => {
  const cx = world.cx()
  const { details } = await callOperation([v3alpha], "createWebKey", cx, {
    key: { config: { case: "rsa", value: { bits: 1, hasher: 2 } } },
  })
  expect(details.owner).toMatchObject({ type: 2, id: "i1" })
  const { webKeys } = await callOperation([v3alpha], "listWebKeys", cx)
  expect(webKeys).toMatchObject([
    {
      details: { id: details.id, created: details.created },
      config: { config: { case: "rsa", value: { bits: 1, hasher: 2 } } },
      state: 1,
    },
  ])
})

test("v3alpha serves only the called instance, at any of its domains", async () => {
  const cx = world.cx()
  await world.store.transact(cx, (tx) =>
    instances.addInstance(tx, { name: "Home", publicUrl: "https://id.example.com" }),
  )
  await addDomain(cx, "i1", { domain: "login.example.org", generated: false })
  const by = (value: string) => ({ instance: { property: { case: "domain", value } } })
  for (const own of [
    "id.example.com",
    "ID.Example.COM",
    "login.example.org",
    "Login.Example.org",
  ]) {
    expect(await callOperation([v3alpha], "listWebKeys", cx, by(own)), own).toBeDefined()
  }
  for (const name of ["createWebKey", "activateWebKey", "deleteWebKey", "listWebKeys"]) {
    for (const other of ["elsewhere.example.com", "example.com", ""]) {
      const asked = callOperation([v3alpha], name, cx, by(other))
      await expect(asked, `${name} ${other}`).rejects.toMatchObject({ id: "instance.missing" })
    }
  }
})
