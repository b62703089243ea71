import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { addRoles } from "../../../src/domain/project/index.ts"
import { RoleLevel } from "../../../src/gen/core/internal_permission/v2/internal_permission_pb.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  await act("manager", "createProject", { organizationId: "org1", projectId: "p1", name: "One" })
})
afterEach(() => estate.close())

const act = async (user: TenantUser, name: string, request: object = {}) =>
  estate.as(user, name, request)
const of = (name: string, value: unknown) => ({ resource: { resource: { case: name, value } } })
const p1 = of("projectId", "p1")
const stream = (kind: string, id: string) => of("stream", { instance: true, kind, id })
const changes = async (user: TenantUser, request: object): Promise<readonly any[]> =>
  (await act(user, "listChanges", request)).changes
const getDifferences = (user: TenantUser, request: object) => act(user, "getDifferences", request)

/** Formats differences as "path: before → after". */
const formatDifferences = ({ differences }: any): readonly string[] =>
  differences.map(({ path, before, after }: any) => {
    const [was, is] = [before, after].map((value) => JSON.stringify(plain(value)) ?? "-")
    return `${path.join(".")}: ${was} → ${is}`
  })
const plain = (value: any): unknown => {
  const kind = value?.kind
  if (kind?.case === "listValue") return kind.value.values.map(plain)
  return kind?.value
}

test("lists each change with its editor, client, and changed fields", async () => {
  await act("owner", "updateProject", { projectId: "p1", name: "Two", authorizationRequired: true })
  const [newest, first] = await changes("manager", p1)
  expect(newest).toMatchObject({
    sequence: 2n,
    type: "project.changed",
    words: "Project changed",
    editor: { userId: "owner", displayName: "owner Person", loginName: "owner" },
  })
  expect(newest.editor.requestId).not.toBe("")
  expect(timestampMs(newest.changeDate)).toBe(estate.clock.now())
  expect(formatDifferences(newest)).toEqual([
    'name: "One" → "Two"',
    "projectRoleCheck: false → true",
  ])
  expect(newest.differences[1].words).toBe("Require a role to sign in")
  expect(formatDifferences(first)).toContain('name: - → "One"')
})

test("project roles are listed by key, and versions are not listed", async () => {
  await act("manager", "addProjectRole", { projectId: "p1", roleKey: "a", displayName: "A" })
  await act("manager", "addProjectRole", { projectId: "p1", roleKey: "b", displayName: "B" })
  const [newest] = await changes("manager", p1)
  expect(formatDifferences(newest)).toEqual(['roles: ["a"] → ["a","b"]'])
  expect(newest.payload).toMatchObject({ key: "b", displayName: "B" })
})

test("pages are consecutive in both directions, with the same differences", async () => {
  for (const name of ["2", "3", "4", "5"])
    await act("owner", "updateProject", { projectId: "p1", name })
  for (const asc of [true, false]) {
    const whole = await changes("owner", { ...p1, asc })
    expect(whole).toHaveLength(5)
    const parts: any[] = []
    for (let sequence = 0n; ; sequence = parts.at(-1).sequence) {
      const part = await changes("owner", { ...p1, asc, limit: 2, sequence })
      parts.push(...part)
      if (part.length < 2) break
    }
    expect(parts).toEqual(whole)
  }
  await expect(changes("owner", { ...p1, limit: 101 })).rejects.toMatchObject({
    id: "page.limit_too_large",
  })
})

test("compares two moments by time or position, or returns one completely", async () => {
  const begun = estate.clock.now()
  estate.clock.advance(60_000)
  await act("owner", "updateProject", { projectId: "p1", name: "Two" })
  estate.clock.advance(60_000)
  await act("owner", "deactivateProject", { projectId: "p1" })
  const time = (ms: number) => ({ moment: { case: "time", value: timestampFromMs(ms) } })
  const all = await getDifferences("manager", { ...p1, from: time(begun) })
  expect(formatDifferences(all)).toEqual(['status: "active" → "inactive"', 'name: "One" → "Two"'])
  expect(all).toMatchObject({ existed: true, sequence: 3n })
  const [, second] = await changes("manager", p1)
  const position = { moment: { case: "position", value: second.position } }
  expect(
    formatDifferences(await getDifferences("manager", { ...p1, from: time(begun), to: position })),
  ).toEqual(['name: "One" → "Two"'])
  const whole = await getDifferences("manager", { ...p1, to: time(begun) })
  expect(whole).toMatchObject({ existed: false, sequence: 1n })
  expect(formatDifferences(whole)).toContain('name: - → "One"')
  const never = await getDifferences("manager", { ...p1, to: time(begun - 1000) })
  expect(never).toMatchObject({ existed: false, differences: [] })
  expect(never.sequence).toBe(0n)
})

test("shows profiles of users but no secrets, and nothing after their deletion", async () => {
  await act("manager", "createUser", {
    organizationId: "org1",
    userId: "petra",
    username: "petra",
    userType: {
      case: "human",
      value: {
        profile: { givenName: "Petra", familyName: "Before" },
        email: { email: "petra@example.com", verification: { case: "isVerified", value: true } },
        passwordType: { case: "password", value: { password: "Correct-horse-7" } },
      },
    },
  })
  const profile = { givenName: "Petra", familyName: "After" }
  await act("manager", "updateHumanUser", { userId: "petra", profile })
  const petra = of("userId", "petra")
  const told = await changes("manager", petra)
  expect(formatDifferences(told[0])).toContain('profile.familyName: "Before" → "After"')
  const text = JSON.stringify(told, (_, value) => (typeof value === "bigint" ? `${value}` : value))
  for (const secret of ["argon2", "sealed", "hash", "Correct-horse"])
    expect(text).not.toContain(secret)
  await act("manager", "deleteUser", { userId: "petra" })
  await expect(changes("manager", petra)).rejects.toMatchObject({ code: "not_found" })
  const gone = JSON.stringify(await changes("owner", stream("user", "petra")), (_, value) =>
    typeof value === "bigint" ? `${value}` : value,
  )
  expect(gone).toContain("user.removed")
  for (const word of ["Before", "After", "petra@"]) expect(gone).not.toContain(word)
})

test("encrypted and hashed values stay so in every history", async () => {
  const target = { name: "Hook", targetType: { case: "restWebhook", value: {} } }
  const { id } = await act("owner", "createTarget", {
    ...target,
    endpoint: "https://hook.example.com",
    timeout: { seconds: 5n },
  })
  const [added] = await changes("owner", stream("target", id))
  expect(formatDifferences(added)).toContain('name: - → "Hook"')
  const { sealed } = estate.store.state(estate.cx(), estate.store.kind("target") as any, id) as any
  expect(sealed).not.toBe("")
  expect(JSON.stringify(formatDifferences(added))).not.toContain(sealed)
})

test("a history requires read access to the resource; streams require all events", async () => {
  for (const resource of [p1, of("organizationId", "org1"), of("userId", "nobody")]) {
    await expect(changes("stranger", resource)).rejects.toMatchObject({ code: "not_found" })
    await expect(getDifferences("stranger", resource)).rejects.toMatchObject({ code: "not_found" })
  }
  expect(await changes("nobody", of("userId", "nobody"))).not.toEqual([])
  await expect(changes("manager", stream("project", "p1"))).rejects.toMatchObject({
    code: "permission_denied",
  })
  expect(await changes("owner", stream("project", "p1"))).toHaveLength(1)
  for (const kind of ["session", "nothing"]) {
    await expect(changes("owner", stream(kind, "1"))).rejects.toMatchObject({
      id: "history.kind_unknown",
    })
  }
})

test("rejects moments older than the retention", async () => {
  await act("owner", "updateProject", { projectId: "p1", name: "Two" })
  estate.clock.advance(7_200_000)
  await act("owner", "updateProject", { projectId: "p1", name: "Three" })
  await act("system", "setLimits", { instanceId: "i1", auditLogRetention: { seconds: 3600n } })
  const [only, ...others] = await changes("owner", p1)
  expect(formatDifferences(only)).toEqual(['name: "Two" → "Three"'])
  expect(others).toEqual([])
  const long = { moment: { case: "time", value: timestampFromMs(estate.clock.now() - 7_200_000) } }
  const early = { moment: { case: "position", value: 1n } }
  for (const from of [long, early]) {
    await expect(getDifferences("owner", { ...p1, from })).rejects.toMatchObject({
      id: "history.not_kept",
    })
  }
})

test("every permanent kind can be folded without private event data", async () => {
  for (const kind of estate.store.eventTypes().streams) {
    if (estate.store.kind(kind)?.retention !== "forever") continue
    for (const id of ["i1", "org1", "p1", "owner", "console"]) {
      const told = await changes("owner", { ...stream(kind, id), limit: 100 })
      expect(JSON.stringify(told, (_, v) => (typeof v === "bigint" ? `${v}` : v))).not.toMatch(
        /sealed|hashedSecret|argon2/,
      )
    }
  }
})

test("readers of events without access to users see no personal data in streams", async () => {
  const key = "EVENT_READER"
  await act("owner", "createRole", { key, level: RoleLevel.INSTANCE, permissions: ["events.read"] })
  await act("owner", "createAdministrator", {
    userId: "nobody",
    resource: { resource: { case: "instance", value: true } },
    roles: [key],
  })
  const manager = stream("user", "manager")
  const told = [await changes("nobody", manager), await getDifferences("nobody", manager)]
  expect(JSON.stringify(told, text)).not.toContain("manager@example.com")
  expect(JSON.stringify(await changes("owner", manager), text)).toContain("manager@example.com")
})

test("other requests run while changes of a large resource are compared", async () => {
  const role = (at: number) => ({ key: `role${at}`, displayName: "Role", group: "" })
  const roles = Array.from({ length: 500 }, (_, at) => role(at))
  await estate.step((tx) => addRoles.within(tx, "p1", roles))
  let isOver = false
  const others = async () => {
    for (let turns = 0; ; turns++) {
      if (isOver) return turns
      await new Promise((done) => setImmediate(done))
    }
  }
  const turns = others()
  await changes("manager", { ...p1, limit: 100 })
  isOver = true
  expect(await turns).toBeGreaterThan(90)
})

const text = (_: string, value: unknown) => (typeof value === "bigint" ? `${value}` : value)
