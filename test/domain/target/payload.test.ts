// The payload as its receiver reads it: signed with the current key, as a JWT, and encrypted.
import { generateKeyPairSync, type KeyObject } from "node:crypto"
import { compactDecrypt, createLocalJWKSet, decodeProtectedHeader, jwtVerify } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { addKeys, prepareKeys, publicKeys } from "../../../src/domain/key/index.ts"
import { isSigned } from "./receiver.ts"
import { openStage, type Stage } from "./stage.ts"

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
  const cx = stage.house.within()
  if (publicKeys(cx).length > 0) return
  const keys = await prepareKeys(cx)
  await cx.store.transact(cx, (tx) => addKeys(tx, keys))
})
afterAll(() => stage.close())

const callTarget = async () => {
  stage.receiver.received.length = 0
  expect((await stage.ask("project/ListProjects")).status).toBe(200)
  const [told] = stage.receiver.received
  if (!told) throw new Error("no target was called")
  return told
}
const allRequests = { request: { all: true } }

/** Verified by jose with only the published keys. */
async function verifyJwt(jwt: string, audience: string) {
  const keys = createLocalJWKSet({ keys: [...publicKeys(stage.house.within())] })
  const issuer = "https://id.example.com"
  return (await jwtVerify(jwt, keys, { issuer, audience, typ: "target+jwt" })).payload
}

test("a new signing key signs next to the previous one for the given time", async () => {
  const { id, signingKey: first } = await stage.target("/rotated")
  await stage.on(allRequests, id)
  const { signingKey: second } = await stage.make("action/UpdateTarget", {
    id,
    expirationSigningKey: "60s",
  })
  const both = await callTarget()
  expect([isSigned(both, first), isSigned(both, second)]).toEqual([true, true])
  const { signingKey: third } = await stage.make("action/UpdateTarget", {
    id,
    expirationSigningKey: "0s",
  })
  const last = await callTarget()
  const told = [first, second, third].map((key) => isSigned(last, key))
  expect(told).toEqual([false, false, true])
  const { target } = await stage.make("action/GetTarget", { id })
  expect(target.signingKey ?? "").toBe("")
  expect(
    JSON.stringify(await stage.make("admin.v1.AdminService/ListEvents", { limit: 1000 })),
  ).not.toMatch(new RegExp([first, second, third].join("|")))
})

test("a JWT is verified with the published keys, and is not a token", async () => {
  const { id } = await stage.target("/jwt", {
    restWebhook: {},
    payloadType: "PAYLOAD_TYPE_JWT",
  })
  await stage.on(allRequests, id)
  const { headers, body } = await callTarget()
  expect(headers["content-type"]).toBe("application/jwt")
  const claims = await verifyJwt(body, id)
  expect(claims).toMatchObject({ fullMethod: "/core.project.v2.ProjectService/ListProjects" })
  expect(claims.sub).toBeUndefined()
})

describe.each([
  ["RSA", () => generateKeyPairSync("rsa", { modulusLength: 2048 }), "RSA-OAEP-256"],
  ["EC", () => generateKeyPairSync("ec", { namedCurve: "P-256" }), "ECDH-ES+A256KW"],
] as const)("a JWE for a key of %s", (_, pairOf, alg) => {
  const pem = (key: KeyObject) =>
    Buffer.from(key.export({ type: "spki", format: "pem" })).toString("base64")

  test("is decrypted with it to a JWT; without a key nothing is sent", async () => {
    const { publicKey, privateKey } = pairOf()
    const { id: targetId } = await stage.target("/jwe", {
      restWebhook: { interruptOnError: true },
      payloadType: "PAYLOAD_TYPE_JWE",
    })
    await stage.on(allRequests, targetId)
    const added = { targetId, publicKey: pem(publicKey) }
    const { keyId } = await stage.make("action/AddPublicKey", added)
    stage.receiver.received.length = 0
    expect((await stage.ask("project/ListProjects")).status).toBe(400)
    expect(stage.receiver.received).toEqual([])
    await stage.make("action/ActivatePublicKey", { targetId, keyId })
    const { body } = await callTarget()
    expect(decodeProtectedHeader(body)).toMatchObject({ alg, kid: keyId, cty: "JWT" })
    const { plaintext } = await compactDecrypt(body, privateKey)
    const claims = await verifyJwt(new TextDecoder().decode(plaintext), targetId)
    expect(claims).toMatchObject({ fullMethod: "/core.project.v2.ProjectService/ListProjects" })
  })
})

test.each([
  ["a private key", () => generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey, "pkcs8"],
  ["a short one", () => generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey, "spki"],
  ["one that only signs", () => generateKeyPairSync("ed25519").publicKey, "spki"],
] as const)("rejects %s", async (_, keyOf, type) => {
  const { id: targetId } = await stage.target("/keys")
  const publicKey = Buffer.from(keyOf().export({ type, format: "pem" } as never)).toString("base64")
  const refused = await stage.ask("action/AddPublicKey", { targetId, publicKey })
  expect([refused.status, refused.body.code]).toEqual([400, "invalid_argument"])
})

test.each(["constructor", "__proto__", "toString"])(
  "rejects a key that was not added: %s",
  async (keyId) => {
    const { id: targetId } = await stage.target("/keys")
    const asked = { targetId, keyId }
    const all = ["ActivatePublicKey", "DeactivatePublicKey"].map((name) =>
      stage.ask(`action/${name}`, asked),
    )
    expect((await Promise.all(all)).map(({ status }) => status)).toEqual([404, 404])
    await stage.make("action/RemovePublicKey", asked)
    const cx = stage.house.within()
    const types = ["activated", "deactivated", "removed"].map((name) => `target.public_key.${name}`)
    const { events } = await cx.store.log.find(0, 1000, types)
    expect(events.filter(({ id }) => id === targetId)).toEqual([])
  },
)
