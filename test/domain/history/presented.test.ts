// Events are presented with the aggregates and types of the contract, and found by both names.
import { afterEach, beforeEach, expect, test } from "vitest"
import { checkPassword } from "../../../src/domain/credential/commands.ts"
import { storedEventsOf } from "../../../src/domain/history/index.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const act = async (user: TenantUser, name: string, request: object = {}) =>
  estate.as(user, name, request)
const events = async (request: object = {}): Promise<readonly any[]> =>
  (await act("owner", "listEvents", { limit: 1000, ...request })).events
const presentEvents = (matches: readonly any[]) =>
  matches.map(({ aggregate, type }) => [aggregate.type.type, aggregate.id, type.type])

test("policies of an organization belong to it, by new and old names", async () => {
  await act("manager", "addCustomLockoutPolicy", { maxPasswordAttempts: 7 })
  const expected = [["org", "org1", "org.policy.lockout.added"]]
  const type = { eventTypes: ["org.policy.lockout.added"] }
  for (const request of [
    type,
    { ...type, aggregateTypes: ["org"] },
    { ...type, aggregateTypes: ["policy"] },
    { ...type, aggregateId: "org1" },
    { ...type, aggregateId: "org/org1" },
    { ...type, aggregateId: "org1", resourceOwner: "org1" },
  ]) {
    expect(presentEvents(await events(request)), JSON.stringify(request)).toEqual(expected)
  }
  for (const request of [
    { ...type, aggregateTypes: ["user"] },
    { ...type, aggregateId: "org2" },
    { ...type, aggregateId: "org1", resourceOwner: "org2" },
  ]) {
    expect(await events(request), JSON.stringify(request)).toEqual([])
  }
})

test("parts of a project are presented with the project's ID", async () => {
  await act("manager", "createProject", { organizationId: "org1", projectId: "p1", name: "One" })
  await act("manager", "createProject", { organizationId: "org1", projectId: "p2", name: "Two" })
  const { applicationId } = await act("manager", "createApplication", {
    projectId: "p1",
    name: "App",
    applicationType: { case: "apiConfiguration", value: {} },
  })
  await act("manager", "deleteApplication", { applicationId, projectId: "p1" })
  const found = await events({ aggregateTypes: ["project"], aggregateId: "p1" })
  expect(presentEvents(found).map(([, id, type]) => [id, type])).toEqual([
    ["p1", "project.application.removed"],
    ["p1", "project.application.config.api.secret.changed"],
    ["p1", "project.application.config.api.added"],
    ["p1", "project.application.added"],
    ["p1", "project.added"],
  ])
  expect(found[0].payload).toEqual({ appId: applicationId })
  const byApp = await events({ aggregateId: applicationId })
  expect(presentEvents(byApp)).toEqual(presentEvents(found.slice(0, 4)))
  expect(await events({ aggregateTypes: ["app"], aggregateId: "p1" })).toHaveLength(4)
  for (const asc of [true, false]) {
    const whole = (await events({ aggregateId: "p1", asc })).map(({ sequence }) => sequence)
    const parts: bigint[] = []
    for (let sequence = 0n; parts.length < whole.length; sequence = parts.at(-1) ?? 0n) {
      const [next] = await events({ aggregateId: "p1", asc, limit: 1, sequence })
      parts.push(next.sequence)
    }
    expect(parts).toEqual(whole)
  }
})

test("failed passwords belong to the user", async () => {
  await checkPassword(estate.cx(), "member", "wrong-password")
  const type = "user.human.password.check.failed"
  const expected = [["user", "member", type]]
  expect(presentEvents(await events({ eventTypes: [type] }))).toEqual(expected)
  expect(presentEvents(await events({ eventTypes: [type], aggregateId: "member" }))).toEqual(
    expected,
  )
})

test("an event with several names is found by each, once", async () => {
  const open = { allowUsernamePassword: true }
  await act("owner", "updateLoginPolicy", { ...open, allowRegister: true })
  await act("owner", "removeSecondFactorFromLoginPolicy", { type: 2 })
  await act("owner", "updateLoginPolicy", { ...open, allowRegister: false })
  const named = async (...eventTypes: string[]) =>
    (await events({ eventTypes })).map(({ payload }) => Object.keys(payload))
  const all = await named("instance.policy.login.changed")
  expect(all.length).toBeGreaterThan(1)
  for (const name of ["added", "removed"]) {
    const found = await named(`instance.policy.login.secondfactor.${name}`)
    expect(found).toHaveLength(1)
    expect(found[0]).toContain("secondFactors")
  }
  expect(await named("instance.policy.login.multifactor.added")).toEqual([])
  const both = await named(
    "instance.policy.login.changed",
    "instance.policy.login.secondfactor.added",
  )
  expect(both).toEqual(all)
})

test("types are listed by contract names, aggregates also by streams", async () => {
  const { eventTypes } = await act("owner", "listEventTypes")
  const types = eventTypes.map(({ type }: any) => type)
  expect(types).toEqual([...new Set(types)])
  for (const type of [
    "org.idp.ldap.v2.added",
    "user.human.selfregistered",
    "org.policy.label.logo.added",
    "org.policy.login.secondfactor.added",
  ]) {
    expect(types).toContain(type)
  }
  expect(types).not.toContain("org.idp.ldap.added")
  const { aggregateTypes } = await act("owner", "listAggregateTypes")
  const aggregates = aggregateTypes.map(({ type }: any) => type)
  expect(aggregates).toEqual([...new Set(aggregates)])
  expect(aggregates).toEqual(expect.arrayContaining(["user", "org", "policy", "app"]))
})

test("histories have the new names, exports the stored ones", async () => {
  await act("manager", "addCustomLabelPolicy", { primaryColor: "#112233" })
  const { changes } = await act("owner", "listChanges", {
    resource: { resource: { case: "policiesOf", value: "org1" } },
  })
  expect(changes[0]).toMatchObject({ type: "org.policy.label.added" })
  const cx = estate.cx()
  const part = { asc: false, limit: 1, from: undefined }
  expect(await storedEventsOf(cx, part)).toMatchObject([
    { type: "org.policy.label.preview.added", stream: "policy", id: "org/org1" },
  ])
})
