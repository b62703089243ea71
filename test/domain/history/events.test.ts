import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { eventTitle, fieldTitle, streamTitle } from "../../../src/domain/history/words.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const act = async (user: TenantUser, name: string, request: object = {}) =>
  estate.as(user, name, request)
const events = async (request: object = {}): Promise<readonly any[]> =>
  (await act("owner", "listEvents", request)).events
const typesOf = (matches: readonly any[]) => matches.map(({ type }) => type.type)
const project = (projectId: string, name: string) =>
  act("manager", "createProject", { organizationId: "org1", projectId, name })

test("lists events with their position, editor, and payload", async () => {
  await project("p1", "One")
  const [newest] = await events({ limit: 1 })
  expect(newest).toMatchObject({
    editor: { userId: "manager", displayName: "manager Person" },
    aggregate: {
      id: "p1",
      type: { type: "project" },
      resourceOwner: "org1",
      displayName: "One",
    },
    type: { type: "project.added", localized: { localizedMessage: "Project created" } },
    payload: { name: "One" },
  })
  const [first] = await events({ limit: 1, asc: true })
  expect(first.sequence).toBeLessThan(newest.sequence)
})

test("an event has the current name of its resource", async () => {
  await project("p1", "One")
  await act("owner", "updateProject", { projectId: "p1", name: "Two" })
  const found = await events({ aggregateTypes: ["project"], aggregateId: "p1" })
  expect(found.map(({ aggregate }) => aggregate.displayName)).toEqual(["Two", "Two"])
  const [user] = await events({ aggregateTypes: ["user"], aggregateId: "manager", limit: 1 })
  expect(user.aggregate.displayName).toBe("")
})

test.each([
  [["de-CH", "en"], "Projekt angelegt", "Gewährtes Projekt"],
  [["sv", "de"], "Projekt angelegt", "Gewährtes Projekt"],
  [["fr-CA"], "Projet créé", "Projet accordé"],
  [["ja"], "プロジェクトを作成", "付与されたプロジェクト"],
  [["sv"], "Project created", "Project grant"],
  [[], "Project created", "Project grant"],
])("titles are in the reader's language for %j, or in English", (languages, type, kind) => {
  expect(eventTitle({ languages }, "project.added")).toBe(type)
  expect(streamTitle({ languages }, "projectgrant")).toBe(kind)
})

test("field names are translated, except for chosen names", () => {
  const [english, german] = [{ languages: [] }, { languages: ["de"] }]
  expect(fieldTitle(english, ["oidc", "redirectUris"])).toBe("OpenID Connect › Redirect URIs")
  expect(fieldTitle(german, ["phone", "number"])).toBe("Telefon › Nummer")
  expect(fieldTitle(german, ["domains", "name", "verified"])).toBe("Domains › name › Bestätigt")
  expect(fieldTitle(german, ["notYetSaid", "constructor"])).toBe("not yet said › constructor")
})

test("each filter selects events, alone and combined", async () => {
  await project("p1", "One")
  await act("owner", "updateProject", { projectId: "p1", name: "Two" })
  const ofProject = { aggregateTypes: ["project"], aggregateId: "p1" }
  expect(typesOf(await events(ofProject))).toEqual(["project.changed", "project.added"])
  expect(typesOf(await events({ ...ofProject, asc: true, limit: 1 }))).toEqual(["project.added"])
  expect(typesOf(await events({ ...ofProject, editorUserId: "owner" }))).toEqual([
    "project.changed",
  ])
  expect(typesOf(await events({ eventTypes: ["project.added", "org.added"] }))).toContain(
    "org.added",
  )
  expect(typesOf(await events({ aggregateId: "p1" }))).toHaveLength(2)
  expect(await events({ aggregateId: "p1", resourceOwner: "org2" })).toEqual([])
  expect(await events({ eventTypes: ["nothing.like.that"] })).toEqual([])
})

test("time limits apply on both sides", async () => {
  await project("p1", "One")
  const before = estate.clock.now()
  estate.clock.advance(60_000)
  await project("p2", "Two")
  const idsOf = (matches: readonly any[]) => matches.map(({ aggregate }) => aggregate.id)
  const ofProject = { aggregateTypes: ["project"], editorUserId: "manager" }
  const after = timestampFromMs(before + 1)
  const from = { case: "from", value: after }
  expect(idsOf(await events({ ...ofProject, creationDateFilter: from }))).toEqual(["p2"])
  expect(idsOf(await events({ ...ofProject, creationDate: after }))).toEqual(["p2"])
  const range = { case: "range", value: { until: timestampFromMs(before) } }
  expect(idsOf(await events({ ...ofProject, creationDateFilter: range }))).toEqual(["p1"])
})

test("pages are consecutive in both directions", async () => {
  for (let count = 0; count < 7; count++) await project(`p${count}`, `Project ${count}`)
  for (const asc of [true, false]) {
    const whole = (await events({ asc, limit: 1000 })).map(({ sequence }) => sequence)
    const parts: bigint[] = []
    for (let sequence = 0n; ; ) {
      const part = await events({ asc, limit: 3, sequence })
      parts.push(...part.map((each) => each.sequence))
      if (part.length < 3) break
      sequence = part.at(-1).sequence
    }
    expect(parts).toEqual(whole)
  }
})

test("events contain no secrets and no personal data", async () => {
  await act("manager", "createUser", {
    organizationId: "org1",
    userId: "petra",
    username: "petra.private",
    userType: {
      case: "human",
      value: {
        profile: { givenName: "Petra", familyName: "Verysecret" },
        email: {
          email: "petra@verysecret.example",
          verification: { case: "isVerified", value: true },
        },
        passwordType: { case: "password", value: { password: "Correct-horse-7" } },
      },
    },
  })
  const told = JSON.stringify(await events({ aggregateId: "petra" }), (_, value) =>
    typeof value === "bigint" ? `${value}` : value,
  )
  expect(told).toContain("user.human.added")
  for (const word of ["Verysecret", "verysecret", "argon2", "Correct-horse"]) {
    expect(told).not.toContain(word)
  }
})

test("lists the existing types and aggregate types", async () => {
  const { eventTypes } = await act("owner", "listEventTypes")
  expect(eventTypes.map(({ type }: any) => type)).toContain("project.role.added")
  const { aggregateTypes } = await act("owner", "listAggregateTypes")
  expect(aggregateTypes.map(({ type }: any) => type)).toEqual(
    expect.arrayContaining(["user", "project", "org", "instance", "session"]),
  )
})

test("requires the permission to read the instance's events", async () => {
  for (const name of ["listEvents", "listEventTypes", "listAggregateTypes"]) {
    await expect(act("manager", name)).rejects.toThrow()
  }
})

test("failed events are listed, and can be removed with the permission", async () => {
  const { store } = estate
  const fail = (position: number, instance: string) =>
    store.exclusive(
      () =>
        void store.database.run(
          "INSERT INTO failed_event VALUES ('messages', ?, ?, 3, 'no answer', 1000)",
          [position, instance],
        ),
    )
  await fail(7, estate.cx().instance)
  await fail(8, "another")
  const listed = async () => (await act("owner", "listFailedEvents")).result
  const failed = { database: "latchkey", viewName: "messages", failedSequence: 7n }
  expect(await listed()).toMatchObject([{ ...failed, failureCount: 3n, errorMessage: "no answer" }])
  await expect(act("manager", "removeFailedEvent", failed)).rejects.toThrow()
  const other = { ...failed, failedSequence: 8n }
  await expect(act("owner", "removeFailedEvent", other)).rejects.toThrow("no failed event 8")
  const one = { viewName: "messages", failedSequence: 7n }
  await expect(act("manager", "retryFailedEvents", one)).rejects.toThrow()
  const foreign = { ...one, failedSequence: 8n }
  await expect(act("owner", "retryFailedEvents", foreign)).rejects.toMatchObject({
    id: "event.failed_missing",
  })
  for (const asked of [one, {}]) {
    expect(await act("owner", "retryFailedEvents", asked)).toMatchObject({ count: 1n })
  }
  const [again] = await listed()
  expect(again).toMatchObject({ ...failed, failureCount: 3n })
  expect(again.lastFailed).toBeUndefined()
  const ofSystem = async (request: object) =>
    (await act("system", "retrySystemFailedEvents", request)).count
  expect(await ofSystem({})).toBe(2n)
  expect(await ofSystem({ instanceId: "another" })).toBe(1n)
  await act("owner", "removeFailedEvent", failed)
  expect(await listed()).toEqual([])
})
