import { createPublicKey, sign, verify } from "node:crypto"
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import {
  type AppEvent,
  addAppKey,
  app,
  findAppPublicKey,
  findClient,
  isValidSecret,
} from "../../../src/domain/app/index.ts"
import { appView } from "../../../src/domain/app/view.ts"
import { projectView } from "../../../src/domain/project/index.ts"
import { neverExpires } from "../../../src/kernel/crypto/signing-key.ts"
import { statement } from "../../../src/store/index.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
let clientId = ""
let first = ""
beforeEach(async () => {
  estate = await openTenant()
  const own = { organizationId: "org1", projectId: "px", name: "Own" }
  await estate.as("manager", "createProject", own)
  const { applicationType } = await estate.as("manager", "createApplication", {
    ...a1,
    name: "One",
    applicationType: { case: "oidc", value: {} },
  })
  clientId = applicationType.value.clientId
  first = applicationType.value.clientSecret
  await estate.as("manager", "createApplication", {
    ...a2,
    name: "Two",
    applicationType: { case: "api", value: {} },
  })
})
afterEach(() => estate.close())

const a1 = { applicationId: "a1", projectId: "px" }
const a2 = { applicationId: "a2", projectId: "px" }
const a1V1 = { appId: "a1", projectId: "px" }
const minute = 60_000

/** Rejects asynchronously, like the request pipeline. */
const callAsync = async (person: TenantUser, name: string, request: object) =>
  estate.as(person, name, request)

const isSecretValid = (secret: string, id = clientId) => {
  const client = findClient(estate.cx(), id)
  return client !== undefined && isValidSecret(estate.cx(), client.appId, { ...client, secret })
}

type Previous = { readonly case: "keepPrevious" | "keepPreviousFor"; readonly value: unknown }
const generate = (previous?: Previous) =>
  estate.as("manager", "generateClientSecret", { ...a1, previous: previous ?? {} })

const keepPreviousFor = (ms: number): Previous => ({
  case: "keepPreviousFor",
  value: { seconds: BigInt(ms / 1000), nanos: 0 },
})
const keepPrevious: Previous = { case: "keepPrevious", value: true }

const listSecrets = async () => (await estate.as("manager", "listClientSecrets", a1)).secrets

const storedHashes = async () => {
  const events = await estate.store.log.read(0, 1000)
  return events.filter(({ id, private: secret }) => id === "a1" && secret !== null)
}

describe("a secret is rotated:", () => {
  test("by default the previous one is revoked immediately", async () => {
    const { clientSecret, secretId } = await generate()
    expect([isSecretValid(first), isSecretValid(clientSecret)]).toEqual([false, true])
    expect(await listSecrets()).toMatchObject([{ secretId }])
    expect((await generate({ case: "keepPrevious", value: false })).clientSecret).toHaveLength(64)
    expect(isSecretValid(clientSecret)).toBe(false)
    expect(await listSecrets()).toHaveLength(1)
  })

  test("the previous one stays valid for the given time, to the millisecond", async () => {
    const { clientSecret } = await generate(keepPreviousFor(minute))
    estate.clock.advance(minute - 1)
    expect([isSecretValid(first), isSecretValid(clientSecret)]).toEqual([true, true])
    expect((await listSecrets()).map(hasEnd)).toEqual([true, false])
    estate.clock.advance(1)
    expect([isSecretValid(first), isSecretValid(clientSecret)]).toEqual([false, true])
    expect(await listSecrets()).toHaveLength(1)
  })

  test("a later rotation neither extends nor restores an older one", async () => {
    const { clientSecret: second } = await generate(keepPreviousFor(minute))
    const { clientSecret: third } = await generate(keepPrevious)
    estate.clock.advance(minute)
    expect([first, second, third].map((each) => isSecretValid(each))).toEqual([false, true, true])
    await generate(keepPrevious)
    expect(isSecretValid(first)).toBe(false)
    expect(await listSecrets()).toHaveLength(3)
  })

  test("each can be removed by its ID", async () => {
    const { clientSecret, secretId } = await generate(keepPrevious)
    estate.clock.advance(1000 * 86_400_000)
    expect([isSecretValid(first), isSecretValid(clientSecret)]).toEqual([true, true])
    const [old] = (await listSecrets()).map((each: { secretId: string }) => each.secretId)
    const remove = (secretId: string) =>
      estate.as("manager", "removeClientSecret", { ...a1, secretId })
    expect(timestampMs((await remove(old)).deletionDate)).toBe(estate.clock.now())
    expect([isSecretValid(first), isSecretValid(clientSecret)]).toEqual([false, true])
    for (const id of [old, "0", "__proto__"]) {
      expect((await remove(id)).deletionDate, id).toBeUndefined()
    }
    await remove(secretId)
    expect(isSecretValid(clientSecret)).toBe(false)
    expect(await listSecrets()).toEqual([])
  })

  test("at most ten are valid at the same time", async () => {
    for (let at = 0; at < 9; at++) await generate(keepPrevious)
    await expect(generate(keepPrevious)).rejects.toMatchObject({ code: "resource_exhausted" })
    await generate()
    expect(await listSecrets()).toHaveLength(1)
  })

  test("rejects a negative time", async () => {
    await expect(generate(keepPreviousFor(-1000))).rejects.toMatchObject({
      code: "invalid_argument",
    })
  })

  test("the log contains the valid hashes in its newest event only", async () => {
    await generate(keepPrevious)
    await generate(keepPrevious)
    const [only, ...others] = await storedHashes()
    expect(others).toEqual([])
    expect(Object.keys(Reflect.get(only?.private ?? {}, "kept"))).toHaveLength(2)
    const [{ secretId }] = await listSecrets()
    await estate.as("manager", "removeClientSecret", { ...a1, secretId })
    expect(await storedHashes()).toHaveLength(1)
    expect(isSecretValid(first)).toBe(false)
    expect(await listSecrets()).toHaveLength(2)
  })

  test("a method without a secret revokes all of them", async () => {
    await generate(keepPrevious)
    const method = { case: "oidcConfiguration", value: { authMethodType: 3 } }
    await estate.as("manager", "updateApplication", { ...a1, applicationType: method })
    expect(await listSecrets()).toEqual([])
    expect(await storedHashes()).toEqual([])
  })

  test("replaying the log produces the same state", async () => {
    await generate(keepPrevious)
    await generate(keepPreviousFor(minute))
    const [{ secretId }] = await listSecrets()
    await estate.as("manager", "removeClientSecret", { ...a1, secretId })
    const events = await estate.store.log.read(0, 1000)
    const folded = events
      .filter(({ stream, id }) => stream === "app" && id === "a1")
      .reduce((state, event) => {
        const evolve = Reflect.get(app.evolve, event.type)
        return evolve(state, event)
      }, app.initial)
    expect(folded).toEqual(estate.store.state(estate.cx(), app, "a1"))
  })
})

const hasEnd = (secret: { expirationDate?: object }) => secret.expirationDate !== undefined

test("a secret from before multiple secrets is still read", () => {
  const [upcast] = app.upcasters?.["project.application.config.oidc.secret.changed"] ?? []
  const read = upcast?.({}, { hashedSecret: "h" })
  expect(read).toEqual({
    data: { secretId: "0", kept: {} },
    private: { hashedSecret: "h", kept: {} },
  })
  expect(upcast?.({}, null)?.private).toBeNull()
  const type: AppEvent["type"] = "project.application.config.api.secret.changed"
  expect(app.upcasters?.[type]).toHaveLength(1)
})

describe("v1 replaces the secret of an application", () => {
  test("by its kind", async () => {
    const { clientSecret } = await estate.as("manager", "regenerateOIDCClientSecret", a1V1)
    expect([isSecretValid(first), isSecretValid(clientSecret)]).toEqual([false, true])
    const { clientSecret: other } = await estate.as("manager", "regenerateAPIClientSecret", {
      ...a1V1,
      appId: "a2",
    })
    expect(other).toHaveLength(64)
  })

  test("and rejects the other kind", async () => {
    const wrong = estate.as("manager", "regenerateAPIClientSecret", a1V1)
    await expect(wrong).rejects.toMatchObject({ id: "app.kind_differs" })
  })
})

describe.each([a1, a2])("a key of application $applicationId", (which) => {
  const v1 = { appId: which.applicationId, projectId: "px" }
  const create = (request: object = {}) =>
    estate.as("manager", "createApplicationKey", { ...which, ...request })

  test("is returned in a file with everything a program needs, and is not stored", async () => {
    const { keyId, keyDetails, creationDate } = await create()
    expect(timestampMs(creationDate)).toBe(estate.clock.now())
    const file = JSON.parse(Buffer.from(keyDetails).toString())
    const state = estate.store.state(estate.cx(), app, which.applicationId)
    expect(file).toEqual({
      type: "application",
      keyId,
      appId: which.applicationId,
      clientId: "clientId" in state ? state.clientId : "",
      key: expect.stringContaining("-----BEGIN RSA PRIVATE KEY-----"),
    })
    const signature = sign("sha256", Buffer.from("x"), file.key)
    const known = findAppPublicKey(estate.cx(), which.applicationId, keyId)
    const key = createPublicKey(known?.publicKey ?? "")
    expect(verify("sha256", Buffer.from("x"), key, signature)).toBe(true)
    expect(JSON.stringify(await estate.store.log.read(0, 1000))).not.toContain("PRIVATE")
  })

  test("expires at the given time, or never", async () => {
    const end = estate.clock.now() + minute
    const { keyId } = await create({ expirationDate: timestampFromMs(end) })
    const shown = await estate.as("manager", "getApplicationKey", { keyId })
    expect(shown).toMatchObject({ keyId })
    expect(timestampMs(shown.expirationDate)).toBe(end)
    const endless = await create()
    expect(findAppPublicKey(estate.cx(), which.applicationId, endless.keyId)?.expires).toBe(
      neverExpires,
    )
    const past = create({ expirationDate: timestampFromMs(estate.clock.now()) })
    await expect(past).rejects.toMatchObject({ id: "app.key_expired" })
  })

  test("is shown, listed and removed in both versions", async () => {
    const { keyId } = await create()
    const { id, keyDetails } = await estate.as("manager", "addAppKey", { ...v1, type: 1 })
    expect(JSON.parse(Buffer.from(keyDetails).toString())).toMatchObject({ keyId: id })
    const { keys, pagination } = await estate.as("manager", "listApplicationKeys", {
      filters: [
        { filter: { case: "applicationIdFilter", value: { applicationId: which.applicationId } } },
      ],
    })
    expect(pagination.totalResult).toBe(2n)
    expect(keys).toMatchObject([
      { applicationId: which.applicationId, projectId: "px", organizationId: "org1" },
      { applicationId: which.applicationId },
    ])
    const { result } = await estate.as("manager", "listAppKeys", v1)
    expect(result.map((key: { id: string }) => key.id).sort()).toEqual([keyId, id].sort())
    const { key } = await estate.as("manager", "getAppKey", { ...v1, keyId })
    expect(key).toMatchObject({ id: keyId, type: 1 })
    const gone = await estate.as("manager", "deleteApplicationKey", { ...which, keyId })
    expect(timestampMs(gone.deletionDate)).toBe(estate.clock.now())
    expect(
      (await estate.as("manager", "deleteApplicationKey", { ...which, keyId })).deletionDate,
    ).toBeUndefined()
    await estate.as("manager", "removeAppKey", { ...v1, keyId: id })
    for (const keyId of [id, "constructor"]) {
      const again = estate.as("manager", "removeAppKey", { ...v1, keyId })
      await expect(again).rejects.toMatchObject({ code: "not_found" })
    }
    expect((await estate.as("manager", "listAppKeys", v1)).result).toEqual([])
  })

  test("is removed with its application", async () => {
    const { keyId } = await create()
    await estate.as("manager", "deleteApplication", which)
    expect(findAppPublicKey(estate.cx(), which.applicationId, keyId)).toBeUndefined()
    const shown = callAsync("manager", "getApplicationKey", { keyId })
    await expect(shown).rejects.toMatchObject({ code: "not_found" })
  })

  test("is not accessible through another application", async () => {
    const { keyId } = await create()
    const other = which === a1 ? "a2" : "a1"
    expect(findAppPublicKey(estate.cx(), other, keyId)).toBeUndefined()
    expect(
      findAppPublicKey(estate.cx({ instance: "i2" }), which.applicationId, keyId),
    ).toBeUndefined()
    const elsewhere = { ...v1, appId: other, keyId }
    for (const name of ["getAppKey", "removeAppKey"]) {
      const tried = estate.as("manager", name, elsewhere)
      await expect(tried, name).rejects.toMatchObject({ code: "not_found", id: "app_key.missing" })
    }
    expect((await estate.as("stranger", "listApplicationKeys", {})).keys).toEqual([])
    const stranger: readonly (readonly [string, object])[] = [
      ["getApplicationKey", { keyId }],
      ["deleteApplicationKey", { ...which, keyId }],
      ["createApplicationKey", which],
      ["addAppKey", { ...v1, type: 1 }],
      ["getAppKey", { ...v1, keyId }],
      ["listAppKeys", v1],
      ["removeAppKey", { ...v1, keyId }],
      ["listClientSecrets", which],
      ["removeClientSecret", { ...which, secretId: "0" }],
      ["generateClientSecret", which],
      ["regenerateOIDCClientSecret", v1],
      ["regenerateAPIClientSecret", v1],
    ]
    for (const [name, request] of stranger) {
      const tried = callAsync("stranger", name, request)
      await expect(tried, name).rejects.toMatchObject({ code: "not_found" })
    }
    expect(findAppPublicKey(estate.cx(), which.applicationId, keyId)).toBeDefined()
  })

  test("has a type in v1", async () => {
    const tried = estate.as("manager", "addAppKey", { ...v1, type: 0 })
    await expect(tried).rejects.toMatchObject({ code: "invalid_argument" })
  })
})

test("keys are removed with their project, and found by it", async () => {
  await estate.as("manager", "createProject", {
    organizationId: "org1",
    projectId: "p1",
    name: "One",
  })
  await estate.as("manager", "createApplication", {
    projectId: "p1",
    applicationId: "a3",
    name: "Three",
    applicationType: { case: "api", value: {} },
  })
  const { keyId } = await estate.as("manager", "createApplicationKey", {
    applicationId: "a3",
    projectId: "p1",
  })
  await estate.as("manager", "createApplicationKey", a1)
  const found = async (filter: object) =>
    (await estate.as("manager", "listApplicationKeys", { filters: [{ filter }] })).keys
  const ofProject = { case: "projectIdFilter", value: { projectId: "p1" } }
  expect(await found(ofProject)).toMatchObject([{ keyId }])
  const ofOrg = { case: "organizationIdFilter", value: { organizationId: "org1" } }
  expect(await found(ofOrg)).toHaveLength(2)
  await estate.as("manager", "deleteProject", { projectId: "p1" })
  expect(findAppPublicKey(estate.cx(), "a3", keyId)).toBeUndefined()
})

test("replaying the log produces the existing keys", async () => {
  const query = statement("SELECT * FROM app_keys WHERE instance = $instance ORDER BY id")
  const create = async (which: object) =>
    (await estate.as("manager", "createApplicationKey", which)).keyId
  const [keyId, kept] = [await create(a1), await create(a1)]
  await create(a2)
  await estate.as("manager", "deleteApplicationKey", { ...a1, keyId })
  await estate.as("manager", "deleteApplication", a2)
  const live = estate.store.all(estate.cx(), query)
  expect(live).toMatchObject([{ id: kept, app: "a1", project: "px", org: "org1" }])
  const again = await estate.reopen([projectView, { ...appView, hash: "changed" }])
  expect(again.store.all(again.cx(), query)).toEqual(live)
  await again.close()
  estate = await openTenant()
  const own = { organizationId: "org1", projectId: "px", name: "Own" }
  await estate.as("manager", "createProject", own)
})

test("an application has at most a hundred keys", async () => {
  await estate.step((tx) => {
    for (let at = 0; at < 100; at++) {
      addAppKey.within(tx, "a1", { keyId: `k${at}`, publicKey: "-", expires: neverExpires })
    }
  })
  await expect(estate.as("manager", "createApplicationKey", a1)).rejects.toMatchObject({
    code: "resource_exhausted",
  })
})
