import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { createCode } from "../../../src/domain/credential/code.ts"
import { setPassword } from "../../../src/domain/credential/commands.ts"
import { prepareResetPassword, requestReset } from "../../../src/domain/credential/reset.ts"
import { addGrant } from "../../../src/domain/project-grant/index.ts"
import { lockUser, removeUser } from "../../../src/domain/user/index.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"
import { callerOf } from "../../support/test-environment.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  await act("manager", "createProject", { organizationId: "org1", projectId: "p1", name: "One" })
})
afterEach(() => estate.close())

const act = async (user: TenantUser, name: string, request: object = {}) =>
  estate.as(user, name, request)
const changes = async (
  user: TenantUser,
  name: string,
  request: object = {},
): Promise<readonly any[]> => (await act(user, name, request)).result
const keys = (result: readonly any[]) => result.map(({ eventType }) => eventType.key)
const p1 = { projectId: "p1" }

test("lists changes with editor, time, and title", async () => {
  estate.clock.advance(60_000)
  await act("owner", "deactivateProject", p1)
  const [newest, oldest] = await changes("owner", "listProjectChanges", p1)
  expect(newest).toMatchObject({
    eventType: { key: "EventTypes.project.deactivated", localizedMessage: "Project deactivated" },
    sequence: 2n,
    editorId: "owner",
    editorDisplayName: "owner Person",
    editorPreferredLoginName: "owner",
    resourceOwnerId: "org1",
  })
  expect(timestampMs(newest.changeDate)).toBe(estate.clock.now())
  expect(oldest).toMatchObject({ sequence: 1n, editorId: "manager" })
  expect(keys([oldest])).toEqual(["EventTypes.project.added"])
})

test("users who set a password with a code, and no session, are shown as its editors", async () => {
  const userId = "nobody"
  const visitor = { ...estate.cx(), caller: { kind: "anonymous" } as const }
  const code = createCode(visitor, userId, { of: "password", returned: false })
  await requestReset(visitor, userId, { code, channel: "email" })
  const plain = { code: code.plain, plain: "Correct-horse-7" }
  await setPassword(visitor, userId, await prepareResetPassword(visitor, userId, plain))
  const [changed, requested] = await changes("manager", "listUserChanges", { userId })
  expect(changed).toMatchObject({
    eventType: { key: "EventTypes.user.human.password.changed" },
    editorId: userId,
    editorDisplayName: "nobody Person",
  })
  expect(requested).toMatchObject({ editorId: "" })
  const resource = { resource: { case: "userId", value: userId } }
  const { changes: listed } = await act("manager", "listChanges", { resource })
  const editor = { userId, displayName: "nobody Person", loginName: "nobody", clientName: "" }
  expect(listed[0]).toMatchObject({ editor, payload: { proof: "code" } })
  const eventTypes = ["user.human.password.changed"]
  const { events } = await act("owner", "listEvents", { eventTypes, aggregateId: userId })
  expect(events[0].editor).toMatchObject({ userId, displayName: "nobody Person", service: "" })
})

test("each list contains only the changes of its own resource", async () => {
  const app = { projectId: "p1", applicationId: "a1", name: "App" }
  const applicationType = { case: "api", value: {} }
  await act("manager", "createApplication", { ...app, applicationType })
  const grant = { projectId: "p1", grantedOrgId: "org2", roleKeys: [] }
  await estate.step((tx) => addGrant(tx, "g1", grant))
  const told = async (name: string, request: object = {}) =>
    [...new Set(keys(await changes("manager", name, request)))].sort()
  expect(await told("listProjectChanges", p1)).toEqual(["EventTypes.project.added"])
  const appChanges = await told("listAppChanges", { ...p1, appId: "a1" })
  expect(appChanges[0]).toBe("EventTypes.project.application.added")
  const byId = { ...p1, grantId: "g1" }
  expect(await told("listProjectGrantChanges", byId)).toEqual(["EventTypes.project.grant.added"])
  expect(await told("listOrgChanges")).toContain("EventTypes.org.added")
  expect(await told("listUserChanges", { userId: "nobody" })).toEqual([
    "EventTypes.user.human.added",
  ])
})

test("pages follow the sequence, newest or oldest first", async () => {
  for (const name of ["Two", "Three", "Four"]) {
    await act("manager", "updateProject", { ...p1, name })
  }
  const part = async (query: object) =>
    (await changes("manager", "listProjectChanges", { ...p1, query })).map((each) =>
      Number(each.sequence),
    )
  expect(await part({})).toEqual([4, 3, 2, 1])
  expect(await part({ limit: 2 })).toEqual([4, 3])
  expect(await part({ limit: 2, sequence: 3n })).toEqual([2, 1])
  expect(await part({ sequence: 1n })).toEqual([])
  expect(await part({ limit: 2, asc: true })).toEqual([1, 2])
  expect(await part({ limit: 9, asc: true, sequence: 2n })).toEqual([3, 4])
  await expect(part({ limit: 1001 })).rejects.toMatchObject({ id: "page.limit_too_large" })
  await expect(part({ sequence: 2n ** 63n })).rejects.toMatchObject({ code: "invalid_argument" })
})

test("private data is not listed", async () => {
  const told = await act("manager", "listUserChanges", { userId: "stranger" }).catch(({ id }) => id)
  expect(told).toBe("user.missing")
  const own = JSON.stringify(await changes("stranger", "listMyUserChanges"), plain)
  expect(own).toContain("EventTypes.user.human.added")
  expect(own).not.toContain("@example.com")
})

test("editors are named to callers who can read them", async () => {
  const editorOf = async (user: TenantUser) => {
    const [newest] = await changes(user, "listUserChanges", { userId: "nobody" })
    return [newest.editorId, newest.editorDisplayName, newest.editorPreferredLoginName]
  }
  const cx = estate.cx({ caller: callerOf("stranger", "org2") })
  await lockUser(cx, "nobody")
  expect(await editorOf("owner")).toEqual(["stranger", "stranger Person", "stranger"])
  expect(await editorOf("manager")).toEqual(["stranger", "", ""])
  await removeUser(estate.cx({ caller: callerOf("owner") }), "stranger")
  expect(await editorOf("owner")).toEqual(["stranger", "", ""])
})

test("the server itself is named without a user lookup", async () => {
  const [first] = await changes("owner", "listOrgChanges", { query: { limit: 1 } })
  expect(first).toMatchObject({ editorId: "test", editorDisplayName: "" })
})

test("users read their own history without a permission", async () => {
  expect(keys(await changes("nobody", "listMyUserChanges"))).toEqual([
    "EventTypes.user.human.added",
  ])
  await expect(act("nobody", "listUserChanges", { userId: "nobody" })).rejects.toMatchObject({
    code: "permission_denied",
  })
})

test("histories of another organization are not found", async () => {
  const app = { projectId: "p1", applicationId: "a1", name: "App" }
  await act("manager", "createApplication", { ...app, applicationType: { case: "api", value: {} } })
  const tried: readonly (readonly [string, object, object])[] = [
    ["listUserChanges", { userId: "nobody" }, { userId: "absent" }],
    ["listProjectChanges", p1, { projectId: "absent" }],
    ["listAppChanges", { ...p1, appId: "a1" }, { ...p1, appId: "absent" }],
  ]
  for (const [name, foreign, absent] of tried) {
    const answers = await Promise.all(
      [foreign, absent].map((request) => act("stranger", name, request).catch((fault) => fault)),
    )
    const [seen, missing] = answers.map(({ code, id, message }) => [code, id, message])
    expect(seen).toEqual(missing)
    expect(seen?.[0]).toBe("not_found")
  }
  const elsewhere = { ...p1, appId: "a1", projectId: "own" }
  await expect(act("manager", "listAppChanges", elsewhere)).rejects.toMatchObject({
    id: "app.missing",
  })
})

test("changes older than the retention are hidden from both ends, but stored", async () => {
  estate.clock.advance(7_200_000)
  await act("manager", "updateProject", { ...p1, name: "Two" })
  estate.clock.advance(3_600_000)
  const limit = (seconds: bigint) =>
    act("system", "setLimits", { instanceId: "i1", auditLogRetention: { seconds, nanos: 0 } })
  const sequences = async (asc: boolean) => {
    const found = await changes("manager", "listProjectChanges", { ...p1, query: { asc } })
    return found.map(({ sequence }) => Number(sequence))
  }
  await limit(3600n)
  expect([await sequences(true), await sequences(false)]).toEqual([[2], [2]])
  await limit(3599n)
  expect(await sequences(true)).toEqual([])
  await act("system", "resetLimits", { instanceId: "i1" })
  expect([await sequences(true), await sequences(false)]).toEqual([
    [1, 2],
    [2, 1],
  ])
})

test("the history of a deleted user is hidden, but stored", async () => {
  await removeUser(estate.cx(), "nobody")
  await expect(act("manager", "listUserChanges", { userId: "nobody" })).rejects.toMatchObject({
    id: "user.missing",
  })
  const window = { instance: "i1", stream: user.stream, id: "nobody", asc: true, limit: 9 }
  const kept = await estate.store.log.history(window)
  expect(kept.map(({ type }) => type)).toContain("user.removed")
  expect(kept.every((event) => event.private === null)).toBe(true)
})

const plain = (_: string, value: unknown) => (typeof value === "bigint" ? `${value}` : value)
