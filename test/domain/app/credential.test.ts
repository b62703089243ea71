import { createPublicKey, sign, verify } from "node:crypto"
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import {
  type AppEvent,
  addAppKey,
  app,
  appKey,
  findClient,
  isSecret,
} from "../../../src/domain/app/index.ts"
import { appView } from "../../../src/domain/app/view.ts"
import { projectView } from "../../../src/domain/project/index.ts"
import { never } from "../../../src/kernel/crypto/signing-key.ts"
import { statement } from "../../../src/store/index.ts"
import { type Estate, openEstate, type Person } from "../../support/estate.ts"

let estate: Estate
let clientId = ""
let first = ""
beforeEach(async () => {
  estate = await openEstate()
  const own = { organizationId: "org1", projectId: "px", name: "Own" }
  await estate.as("manager", "createProject", own)
  const { applicationType } = await estate.as("manager", "createApplication", {
    ...named,
    name: "One",
    applicationType: { case: "oidc", value: {} },
  })
  clientId = applicationType.value.clientId
  first = applicationType.value.clientSecret
  await estate.as("manager", "createApplication", {
    ...api,
    name: "Two",
    applicationType: { case: "api", value: {} },
  })
})
afterEach(() => estate.close())

const named = { applicationId: "a1", projectId: "px" }
const api = { applicationId: "a2", projectId: "px" }
const older = { appId: "a1", projectId: "px" }
const minute = 60_000

/** Access is refused at once, as the pipeline wants it. */
const asking = async (person: Person, name: string, request: object) =>
  estate.as(person, name, request)

const fits = (secret: string, id = clientId) => {
  const client = findClient(estate.cx(), id)
  return client !== undefined && isSecret(estate.cx(), client.appId, { ...client, secret })
}

type Previous = { readonly case: "keepPrevious" | "keepPreviousFor"; readonly value: unknown }
const generate = (previous?: Previous) =>
  estate.as("manager", "generateClientSecret", { ...named, previous: previous ?? {} })

const keptFor = (ms: number): Previous => ({
  case: "keepPreviousFor",
  value: { seconds: BigInt(ms / 1000), nanos: 0 },
})
const kept: Previous = { case: "keepPrevious", value: true }

const listed = async () => (await estate.as("manager", "listClientSecrets", named)).secrets

const hashesKept = async () => {
  const events = await estate.store.log.read(0, 1000)
  return events.filter(({ id, private: secret }) => id === "a1" && secret !== null)
}

describe("a secret is rotated:", () => {
  test("without a word the older one is void at once", async () => {
    const { clientSecret, secretId } = await generate()
    expect([fits(first), fits(clientSecret)]).toEqual([false, true])
    expect(await listed()).toMatchObject([{ secretId }])
    expect((await generate({ case: "keepPrevious", value: false })).clientSecret).toHaveLength(64)
    expect(fits(clientSecret)).toBe(false)
    expect(await listed()).toHaveLength(1)
  })

  test("the older one lives on for as long as is said, to the millisecond", async () => {
    const { clientSecret } = await generate(keptFor(minute))
    estate.clock.advance(minute - 1)
    expect([fits(first), fits(clientSecret)]).toEqual([true, true])
    expect((await listed()).map(hasEnd)).toEqual([true, false])
    estate.clock.advance(1)
    expect([fits(first), fits(clientSecret)]).toEqual([false, true])
    expect(await listed()).toHaveLength(1)
  })

  test("a later rotation makes no older one live longer, nor come back", async () => {
    const { clientSecret: second } = await generate(keptFor(minute))
    const { clientSecret: third } = await generate(kept)
    estate.clock.advance(minute)
    expect([first, second, third].map((each) => fits(each))).toEqual([false, true, true])
    await generate(kept)
    expect(fits(first)).toBe(false)
    expect(await listed()).toHaveLength(3)
  })

  test("or until it is removed, each by its id", async () => {
    const { clientSecret, secretId } = await generate(kept)
    estate.clock.advance(1000 * 86_400_000)
    expect([fits(first), fits(clientSecret)]).toEqual([true, true])
    const [old] = (await listed()).map((each: { secretId: string }) => each.secretId)
    const remove = (secretId: string) =>
      estate.as("manager", "removeClientSecret", { ...named, secretId })
    expect(timestampMs((await remove(old)).deletionDate)).toBe(estate.clock.now())
    expect([fits(first), fits(clientSecret)]).toEqual([false, true])
    for (const id of [old, "0", "__proto__"]) {
      expect((await remove(id)).deletionDate, id).toBeUndefined()
    }
    await remove(secretId)
    expect(fits(clientSecret)).toBe(false)
    expect(await listed()).toEqual([])
  })

  test("ten at most live beside each other", async () => {
    for (let at = 0; at < 9; at++) await generate(kept)
    await expect(generate(kept)).rejects.toMatchObject({ code: "resource_exhausted" })
    await generate()
    expect(await listed()).toHaveLength(1)
  })

  test("a negative time is refused", async () => {
    await expect(generate(keptFor(-1000))).rejects.toMatchObject({ code: "invalid_argument" })
  })

  test("the log keeps the hashes that are good, in its newest event only", async () => {
    await generate(kept)
    await generate(kept)
    const [only, ...others] = await hashesKept()
    expect(others).toEqual([])
    expect(Object.keys(Reflect.get(only?.private ?? {}, "kept"))).toHaveLength(2)
    const [{ secretId }] = await listed()
    await estate.as("manager", "removeClientSecret", { ...named, secretId })
    expect(await hashesKept()).toHaveLength(1)
    expect(fits(first)).toBe(false)
    expect(await listed()).toHaveLength(2)
  })

  test("a method without a secret voids all of them", async () => {
    await generate(kept)
    const method = { case: "oidcConfiguration", value: { authMethodType: 3 } }
    await estate.as("manager", "updateApplication", { ...named, applicationType: method })
    expect(await listed()).toEqual([])
    expect(await hashesKept()).toEqual([])
  })

  test("replaying the log gives the same state", async () => {
    await generate(kept)
    await generate(keptFor(minute))
    const [{ secretId }] = await listed()
    await estate.as("manager", "removeClientSecret", { ...named, secretId })
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

test("a secret of the days when there was one is still read", () => {
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
    const { clientSecret } = await estate.as("manager", "regenerateOIDCClientSecret", older)
    expect([fits(first), fits(clientSecret)]).toEqual([false, true])
    const { clientSecret: other } = await estate.as("manager", "regenerateAPIClientSecret", {
      ...older,
      appId: "a2",
    })
    expect(other).toHaveLength(64)
  })

  test("and refuses the other kind", async () => {
    const wrong = estate.as("manager", "regenerateAPIClientSecret", older)
    await expect(wrong).rejects.toMatchObject({ id: "app.kind_differs" })
  })
})

describe.each([named, api])("a key of application $applicationId", (which) => {
  const v1 = { appId: which.applicationId, projectId: "px" }
  const create = (request: object = {}) =>
    estate.as("manager", "createApplicationKey", { ...which, ...request })

  test("comes in a file that says what a program needs, and is kept nowhere else", async () => {
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
    const known = appKey(estate.cx(), which.applicationId, keyId)
    const key = createPublicKey(known?.publicKey ?? "")
    expect(verify("sha256", Buffer.from("x"), key, signature)).toBe(true)
    expect(JSON.stringify(await estate.store.log.read(0, 1000))).not.toContain("PRIVATE")
  })

  test("ends when it is said, or never", async () => {
    const end = estate.clock.now() + minute
    const { keyId } = await create({ expirationDate: timestampFromMs(end) })
    const shown = await estate.as("manager", "getApplicationKey", { keyId })
    expect(shown).toMatchObject({ keyId })
    expect(timestampMs(shown.expirationDate)).toBe(end)
    const endless = await create()
    expect(appKey(estate.cx(), which.applicationId, endless.keyId)?.expires).toBe(never)
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

  test("goes with its application", async () => {
    const { keyId } = await create()
    await estate.as("manager", "deleteApplication", which)
    expect(appKey(estate.cx(), which.applicationId, keyId)).toBeUndefined()
    const shown = asking("manager", "getApplicationKey", { keyId })
    await expect(shown).rejects.toMatchObject({ code: "not_found" })
  })

  test("is nobody's but its application's", async () => {
    const { keyId } = await create()
    const other = which === named ? "a2" : "a1"
    expect(appKey(estate.cx(), other, keyId)).toBeUndefined()
    expect(appKey(estate.cx({ instance: "i2" }), which.applicationId, keyId)).toBeUndefined()
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
      const tried = asking("stranger", name, request)
      await expect(tried, name).rejects.toMatchObject({ code: "not_found" })
    }
    expect(appKey(estate.cx(), which.applicationId, keyId)).toBeDefined()
  })

  test("has a type in v1", async () => {
    const tried = estate.as("manager", "addAppKey", { ...v1, type: 0 })
    await expect(tried).rejects.toMatchObject({ code: "invalid_argument" })
  })
})

test("keys go with their project, and are found by it", async () => {
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
  await estate.as("manager", "createApplicationKey", named)
  const found = async (filter: object) =>
    (await estate.as("manager", "listApplicationKeys", { filters: [{ filter }] })).keys
  const ofProject = { case: "projectIdFilter", value: { projectId: "p1" } }
  expect(await found(ofProject)).toMatchObject([{ keyId }])
  const ofOrg = { case: "organizationIdFilter", value: { organizationId: "org1" } }
  expect(await found(ofOrg)).toHaveLength(2)
  await estate.as("manager", "deleteProject", { projectId: "p1" })
  expect(appKey(estate.cx(), "a3", keyId)).toBeUndefined()
})

test("replaying the log gives the keys that are there", async () => {
  const query = statement("SELECT * FROM app_keys WHERE instance = $instance ORDER BY id")
  const create = async (which: object) =>
    (await estate.as("manager", "createApplicationKey", which)).keyId
  const [keyId, kept] = [await create(named), await create(named)]
  await create(api)
  await estate.as("manager", "deleteApplicationKey", { ...named, keyId })
  await estate.as("manager", "deleteApplication", api)
  const live = estate.store.all(estate.cx(), query)
  expect(live).toMatchObject([{ id: kept, app: "a1", project: "px", org: "org1" }])
  const again = await estate.reopen([projectView, { ...appView, hash: "changed" }])
  expect(again.store.all(again.cx(), query)).toEqual(live)
  await again.close()
  estate = await openEstate()
  const own = { organizationId: "org1", projectId: "px", name: "Own" }
  await estate.as("manager", "createProject", own)
})

test("an application has a hundred keys at most", async () => {
  await estate.step((tx) => {
    for (let at = 0; at < 100; at++) {
      addAppKey.within(tx, "a1", { keyId: `k${at}`, publicKey: "-", expires: never })
    }
  })
  await expect(estate.as("manager", "createApplicationKey", named)).rejects.toMatchObject({
    code: "resource_exhausted",
  })
})
