import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { settings as admin } from "../../../src/domain/app/binding/v1-settings.ts"
import * as instances from "../../../src/domain/instance/index.ts"
import { activateWebKey, createWebKey } from "../../../src/domain/key/commands.ts"
import { addKeys, module, prepareKeys } from "../../../src/domain/key/index.ts"
import { webKeyView } from "../../../src/domain/key/view.ts"

import { project } from "../../../src/domain/project/index.ts"
import { callOperation } from "../../support/call-operation.ts"
import { openTestEnvironment, type TestEnvironment } from "../../support/test-environment.ts"

const hour = 3600
const day = 24 * hour

let world: TestEnvironment
beforeEach(async () => {
  world = openTestEnvironment({
    aggregates: [...module.aggregates, instances.instance, project],
    views: [webKeyView],
  })
  const pairs = await prepareKeys(world.cx())
  await world.store.transact(world.cx(), (tx) => {
    instances.addInstance(tx, { name: "Home", publicUrl: "https://id.example.com" })
    addKeys(tx, pairs)
  })
})
afterEach(() => world.close())

const duration = (seconds: number) => durationFromMs(seconds * 1000)

const lifetimes = (changes: Readonly<Record<string, number | undefined>> = {}) => {
  const all = {
    accessTokenLifetime: hour,
    idTokenLifetime: 2 * hour,
    refreshTokenIdleExpiration: 3 * hour,
    refreshTokenExpiration: 4 * hour,
    ...changes,
  }
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, seconds]) =>
      seconds === undefined ? [] : [[name, duration(seconds)]],
    ),
  )
}

const get = async () => (await callOperation([admin], "getOIDCSettings", world.cx())).settings
const update = (request: object) =>
  callOperation([admin], "updateOIDCSettings", world.cx(), request)

test("defaults apply until the settings are changed", async () => {
  const shown = await get()
  const seconds = (name: string) => durationMs(shown[name]) / 1000
  expect(seconds("accessTokenLifetime")).toBe(12 * hour)
  // Validators such as that of Apache Guacamole reject an ID token that is valid for 5 h or more.
  expect(seconds("idTokenLifetime")).toBe(hour)
  expect(seconds("refreshTokenIdleExpiration")).toBe(30 * day)
  expect(seconds("refreshTokenExpiration")).toBe(90 * day)
  expect(seconds("refreshTokenGrace")).toBe(10)
  expect(shown).toMatchObject({
    idTokenSigningAlgorithm: "RS256",
    accessTokenSigningAlgorithm: "ES256",
    keyRotation: { enabled: true, period: duration(90 * day), publishAhead: duration(7 * day) },
    authorizationServerMetadata: false,
    tokenAudit: { people: true, machines: false },
  })
})

test("an existing instance keeps ID tokens of 12 hours until the setting is changed", async () => {
  const other = world.cx({ instance: "i2" })
  const added = { type: "instance.added", data: { name: "From before" } } as const
  await world.store.transact(other, (tx) => tx.append(instances.instance, "i2", [added]))
  const { settings } = await callOperation([admin], "getOIDCSettings", other)
  expect(durationMs(settings.idTokenLifetime) / 1000).toBe(12 * hour)
})

test("lifetimes are added once and changed afterwards", async () => {
  await callOperation([admin], "addOIDCSettings", world.cx(), lifetimes())
  expect(await get()).toMatchObject(lifetimes())
  await expect(
    callOperation([admin], "addOIDCSettings", world.cx(), lifetimes()),
  ).rejects.toMatchObject({
    code: "already_exists",
  })
  await update(lifetimes({ accessTokenLifetime: 60 }))
  expect(await get()).toMatchObject(lifetimes({ accessTokenLifetime: 60 }))
})

test("lifetimes can be changed without adding them, and an update without changes is rejected", async () => {
  await update(lifetimes())
  await expect(update(lifetimes())).rejects.toMatchObject({
    code: "failed_precondition",
    id: "instance.oidc_settings_unchanged",
  })
})

test.each([
  ["access_token_lifetime", "accessTokenLifetime"],
  ["id_token_lifetime", "idTokenLifetime"],
  ["refresh_token_idle_expiration", "refreshTokenIdleExpiration"],
  ["refresh_token_expiration", "refreshTokenExpiration"],
])("rejects the four without %s", async (field, name) => {
  await expect(update(lifetimes({ [name]: undefined }))).rejects.toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining(`${field} is required: the four lifetimes are set together`),
  })
})

test.each([
  ["no time at all", { accessTokenLifetime: 0 }],
  ["a time before now", { idTokenLifetime: -5 }],
  ["part of a second", { accessTokenLifetime: 1.5 }],
  ["a token that outlives the keys that are kept", { accessTokenLifetime: 30 * day + 1 }],
  ["an id_token that does", { idTokenLifetime: 31 * day }],
  [
    "a refresh token that is idle for longer than it lives",
    { refreshTokenIdleExpiration: 5 * hour },
  ],
  ["a refresh token for longer than anybody lives", { refreshTokenExpiration: 4000 * day }],
  ["a grace that is as good as no rotation", { refreshTokenGrace: 61 }],
])("rejects %s", async (_, changes) => {
  await expect(update(lifetimes(changes))).rejects.toMatchObject({ code: "invalid_argument" })
  expect(durationMs((await get()).accessTokenLifetime) / 1000).toBe(12 * hour)
})

test.each([
  ["a key for less than a day", { period: duration(day - 1) }],
  ["a key that is published too late", { publishAhead: duration(599) }],
  ["a key that is published most of the time", { publishAhead: duration(46 * day) }],
])("rejects a rotation with %s", async (_, keyRotation) => {
  const refused = update({ ...lifetimes(), keyRotation })
  await expect(refused).rejects.toMatchObject({ code: "invalid_argument" })
})

test("omitted fields stay unchanged", async () => {
  await update({
    ...lifetimes(),
    keyRotation: { enabled: false, period: duration(30 * day) },
    tokenAudit: { machines: true },
    authorizationServerMetadata: true,
  })
  await update(lifetimes({ accessTokenLifetime: 60 }))
  expect(await get()).toMatchObject({
    keyRotation: { enabled: false, period: duration(30 * day), publishAhead: duration(7 * day) },
    tokenAudit: { people: true, machines: true },
    authorizationServerMetadata: true,
  })
})

test("only an algorithm with a signing key can be chosen", async () => {
  const chosen = { ...lifetimes(), idTokenSigningAlgorithm: "EdDSA" }
  const { id } = await createWebKey(world.cx(), { kind: "ed25519" })
  await expect(update(chosen)).rejects.toMatchObject({
    code: "failed_precondition",
    id: "web_key.none_active",
  })
  await activateWebKey(world.cx(), id)
  await update(chosen)
  expect((await get()).idTokenSigningAlgorithm).toBe("EdDSA")
  for (const accessTokenSigningAlgorithm of ["none", "HS256", "", "constructor"]) {
    await expect(update({ ...lifetimes(), accessTokenSigningAlgorithm })).rejects.toMatchObject({
      id: "web_key.none_active",
    })
  }
})

test("applications register in an existing project or not at all", async () => {
  expect((await get()).clientRegistration).toMatchObject({
    mode: 1,
    projectId: "",
    lifetime: duration(30 * day),
    applicationsMax: 1000,
  })
  const turn = (clientRegistration: object) => update({ ...lifetimes(), clientRegistration })
  const added = { type: "project.added", data: { name: "Tools" } } as const
  const cx = world.cx()
  await cx.store.transact(cx, (tx) => tx.append(project, "p1", [added], "o1"))
  for (const projectId of ["", "p2", "constructor"]) {
    await expect(turn({ mode: 3, projectId })).rejects.toMatchObject({
      id: "instance.registration_project_missing",
    })
  }
  await turn({ mode: 3, projectId: "p1" })
  await turn({ applicationsMax: 5 })
  expect((await get()).clientRegistration).toMatchObject({
    mode: 3,
    projectId: "p1",
    applicationsMax: 5,
  })
  await turn({ mode: 1, metadataDocuments: true })
  await expect(turn({ projectId: "p2" })).rejects.toMatchObject({
    id: "instance.registration_project_missing",
  })
  await turn({ applicationsMax: 6 })
  expect((await get()).clientRegistration).toMatchObject({ mode: 1, metadataDocuments: true })
  for (const wrong of [
    { applicationsMax: 0 },
    { lifetime: duration(60) },
    { mode: 9 },
    { consentLifetime: duration(366 * day) },
    { consentLifetime: duration(-1) },
  ]) {
    await expect(turn(wrong)).rejects.toMatchObject({ code: "invalid_argument" })
  }
})

test("consents are remembered if registration is turned on now", async () => {
  const cx = world.cx()
  const added = { type: "project.added", data: { name: "Tools" } } as const
  await cx.store.transact(cx, (tx) => tx.append(project, "p1", [added], "o1"))
  const turn = (clientRegistration: object) => update({ ...lifetimes(), clientRegistration })
  const remembered = async () => (await get()).clientRegistration.consentLifetime
  expect(await remembered()).toEqual(duration(30 * day))
  await turn({ mode: 3, projectId: "p1" })
  expect(await remembered()).toEqual(duration(30 * day))
  await turn({ consentLifetime: duration(0) })
  await turn({ applicationsMax: 5 })
  expect(await remembered()).toEqual(duration(0))
  // As an earlier version stored it: without the setting, so that users were asked each time.
  const on = { mode: "open", projectId: "p1" } as const
  const earlier = { ...on, lifetimeSeconds: day, applicationsMax: 5 }
  await cx.store.transact(cx, (tx) =>
    tx.append(instances.instance, tx.instance, [
      { type: "instance.oidc.settings.changed", data: { registration: earlier } },
    ]),
  )
  expect(await remembered()).toEqual(duration(0))
  await turn({ applicationsMax: 7 })
  expect(await remembered()).toEqual(duration(0))
  await turn({ mode: 1 })
  await turn({ mode: 3, consentLifetime: duration(7 * day) })
  expect(await remembered()).toEqual(duration(7 * day))
})
