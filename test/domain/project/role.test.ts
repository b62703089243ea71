import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { addMember } from "../../../src/domain/member/index.ts"
import { addRoles, getProject, project } from "../../../src/domain/project/index.ts"
import { statement } from "../../../src/store/index.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  await estate.as("manager", "createProject", {
    organizationId: "org1",
    projectId: "p1",
    name: "One",
  })
})
afterEach(() => estate.close())

const p1 = { projectId: "p1" }
const v1 = { of: "management" }

const addRole = (roleKey: string, more: object = {}) =>
  estate.as("manager", "addProjectRole", {
    ...p1,
    roleKey,
    displayName: `Role ${roleKey}`,
    ...more,
  })

const listRoles = async (request: object = {}, user: TenantUser = "manager") => {
  const answer = await estate.as(user, "listProjectRoles", {
    ...p1,
    pagination: { asc: true },
    ...request,
  })
  expect(answer.pagination.totalResult).toBe(BigInt(answer.projectRoles.length))
  return answer.projectRoles
}
const listRoleKeys = async (request: object = {}) =>
  (await listRoles(request)).map(({ key }: { key: string }) => key)

describe("a role", () => {
  test("is available immediately as given, and can be renamed", async () => {
    const { creationDate } = await addRole("team/editor", { group: "writers" })
    const [role] = await listRoles()
    expect(role).toMatchObject({
      projectId: "p1",
      key: "team/editor",
      displayName: "Role team/editor",
      group: "writers",
    })
    expect(timestampMs(role.creationDate)).toBe(timestampMs(creationDate))

    estate.clock.advance(1000)
    const named = { ...p1, roleKey: "team/editor" }
    const { changeDate } = await estate.as("manager", "updateProjectRole", {
      ...named,
      displayName: "Editor",
    })
    expect(timestampMs(changeDate)).toBe(estate.clock.now())
    expect((await listRoles())[0]).toMatchObject({ displayName: "Editor", group: "writers" })
    await estate.as("manager", "updateProjectRole", { ...named, group: "" })
    expect((await listRoles())[0]).toMatchObject({ displayName: "Editor", group: "" })
  })

  test("updates the change date of its project", async () => {
    estate.clock.advance(1000)
    await addRole("editor")
    expect(getProject(estate.cx(), "p1")).toMatchObject({
      version: 2,
      changed: estate.clock.now(),
    })
  })

  test("has a unique key with any characters", async () => {
    await addRole("editor")
    await expect(addRole("editor")).rejects.toMatchObject({ code: "already_exists" })
    await expect(addRole(" editor ")).rejects.toMatchObject({ code: "already_exists" })
    for (const key of ["__proto__", "constructor", "Editor", "7", "päck 'n' \"go\""]) {
      await addRole(key)
    }
    expect(new Set(await listRoleKeys())).toEqual(
      new Set(["editor", "__proto__", "constructor", "Editor", "7", "päck 'n' \"go\""]),
    )
  })

  test.each([
    ["the browser created no key", { roleKey: "" }],
    ["a key of blanks", { roleKey: "  " }],
    ["a key with a line break", { roleKey: "a\nb" }],
    ["a key too long", { roleKey: "x".repeat(201) }],
    ["no name", { displayName: "" }],
    ["a group too long", { group: "x".repeat(201) }],
  ])("is rejected with %s", async (_, wrong) => {
    await expect(addRole("editor", wrong)).rejects.toMatchObject({ code: "invalid_argument" })
  })

  test("is removed repeatedly in v2, and not found in v1, once it is deleted", async () => {
    await addRole("editor")
    const named = { ...p1, roleKey: "editor" }
    const { removalDate } = await estate.as("manager", "removeProjectRole", named)
    expect(timestampMs(removalDate)).toBe(estate.clock.now())
    expect(await listRoleKeys()).toEqual([])
    const again = await estate.as("manager", "removeProjectRole", named)
    expect(again.removalDate).toBeUndefined()
    await expect(estate.as("manager", "removeProjectRole", named, v1)).rejects.toMatchObject({
      code: "not_found",
    })
    const shown = { ...named, displayName: "Editor" }
    await expect(estate.as("manager", "updateProjectRole", shown)).rejects.toMatchObject({
      code: "not_found",
    })
  })

  test("is a different role when its key is added again", async () => {
    const since = () => estate.store.state(estate.cx(), project, "p1").roles.editor
    await addRole("editor")
    const before = since()
    await estate.as("manager", "removeProjectRole", { ...p1, roleKey: "editor" })
    expect(since()).toBeUndefined()
    await addRole("editor")
    expect(since()).toBeGreaterThan(before ?? 0)
  })

  test("is removed with its project", async () => {
    await addRole("editor")
    await estate.as("manager", "deleteProject", p1)
    await expect(estate.step((tx) => addRoles.within(tx, "p1", []))).rejects.toMatchObject({
      code: "not_found",
    })
    const left = statement("SELECT role_key FROM project_roles WHERE instance = $instance")
    expect(estate.store.all(estate.cx(), left)).toEqual([])
  })
})

test("finds roles by key and name, sorted", async () => {
  await addRole("beta", { displayName: "Zwei" })
  estate.clock.advance(1000)
  await addRole("Alpha", { displayName: "Eins" })
  const by = (kind: string, value: object) =>
    listRoleKeys({ filters: [{ filter: { case: kind, value } }] })
  expect(await by("roleKeyFilter", { key: "alpha", method: 0 })).toEqual([])
  expect(await by("roleKeyFilter", { key: "alpha", method: 1 })).toEqual(["Alpha"])
  expect(await by("roleKeyFilter", { key: "et", method: 4 })).toEqual(["beta"])
  expect(await by("displayNameFilter", { displayName: "EI", method: 7 })).toEqual(["beta"])
  expect(await listRoleKeys()).toEqual(["beta", "Alpha"])
  expect(await listRoleKeys({ sortingColumn: 1 })).toEqual(["Alpha", "beta"])
  await expect(listRoles({ filters: [{}] })).rejects.toMatchObject({ id: "search.filter_empty" })
})

test("v1 adds several roles or none, and rejects updates without changes", async () => {
  const bulk = (...roles: readonly string[]) =>
    estate.as("manager", "bulkAddProjectRoles", {
      ...p1,
      roles: roles.map((key) => ({ key, displayName: key, group: "" })),
    })
  await expect(bulk()).rejects.toMatchObject({ id: "project.roles_missing" })
  await bulk("one", "two")
  await expect(bulk("three", "two")).rejects.toMatchObject({ code: "already_exists" })
  await expect(bulk("three", "three")).rejects.toMatchObject({ code: "already_exists" })
  const { result, details } = await estate.as("manager", "listProjectRoles", p1, v1)
  expect(details.totalResult).toBe(2n)
  expect(result.map(({ key }: { key: string }) => key).toSorted()).toEqual(["one", "two"])

  const same = { ...p1, roleKey: "one", displayName: "one", group: "" }
  await expect(estate.as("manager", "updateProjectRole", same, v1)).rejects.toMatchObject({
    code: "failed_precondition",
  })
  const other = { ...same, displayName: "One" }
  const updated = await estate.as("manager", "updateProjectRole", other, v1)
  expect(updated.details).toMatchObject({ sequence: 4n, resourceOwner: "org1" })
  expect(await estate.as("manager", "updateProjectRole", other)).toMatchObject({
    changeDate: updated.details.changeDate,
  })
})

test("a project has a thousand roles at most", async () => {
  const many = Array.from({ length: 1000 }, (_, at) => ({ key: `r${at}`, displayName: "R" }))
  await estate.step((tx) => addRoles.within(tx, "p1", many))
  await expect(addRole("more")).rejects.toMatchObject({ id: "project.roles_too_many" })
})

describe("permissions", () => {
  const operations: readonly (readonly [string, object, string?])[] = [
    ["addProjectRole", { ...p1, roleKey: "new", displayName: "New" }],
    ["updateProjectRole", { ...p1, roleKey: "editor", displayName: "New" }],
    ["removeProjectRole", { ...p1, roleKey: "editor" }],
    ["listProjectRoles", p1],
    ["addProjectRole", { ...p1, roleKey: "new", displayName: "New" }, "management"],
    ["bulkAddProjectRoles", { ...p1, roles: [{ key: "new", displayName: "New" }] }],
    ["updateProjectRole", { ...p1, roleKey: "editor", displayName: "New" }, "management"],
    ["removeProjectRole", { ...p1, roleKey: "editor" }, "management"],
    ["listProjectRoles", p1, "management"],
  ]
  beforeEach(() => addRole("editor"))

  for (const [name, request, of = ""] of operations) {
    test(`${name} ${of}: owner and manager, and nobody else`, async () => {
      for (const [who, code] of [
        ["stranger", "not_found"],
        ["nobody", "permission_denied"],
      ] as const) {
        const tried = () => estate.as(who, name, request, { of })
        expect(tried).toThrow(expect.objectContaining({ code }))
      }
      await estate.as("owner", name, request, { of })
    })
  }

  test("a project administrator changes its roles or only reads them", async () => {
    const give = (role: string) =>
      estate.step((tx) =>
        addMember(tx, { userId: "nobody", target: { level: "project", id: "p1" }, roles: [role] }),
      )
    await give("PROJECT_OWNER_VIEWER")
    expect(await listRoles({}, "nobody")).toHaveLength(1)
    const add = () =>
      estate.as("nobody", "addProjectRole", { ...p1, roleKey: "new", displayName: "New" })
    expect(add).toThrow("permission denied: project.role.write is required")
  })
})

describe("the groups claim", () => {
  const shown = async () =>
    (await estate.as("manager", "getProject", p1)).project.groupsClaim as number

  test("is off by default, can be enabled, and stays unless it is set", async () => {
    expect(await shown()).toBe(1)
    await estate.as("manager", "updateProject", { ...p1, groupsClaim: 2 })
    expect(await shown()).toBe(2)
    await estate.as("manager", "updateProject", { ...p1, name: "Other" })
    expect(await shown()).toBe(2)
    await estate.as("manager", "updateProject", { id: "p1", name: "Older" }, v1)
    expect(await shown()).toBe(2)
    await estate.as("manager", "updateProject", { ...p1, groupsClaim: 1 })
    expect(await shown()).toBe(1)
  })

  test("can be enabled at creation", async () => {
    await estate.as("manager", "createProject", {
      organizationId: "org1",
      projectId: "p2",
      name: "Two",
      groupsClaim: 3,
    })
    const { project } = await estate.as("manager", "getProject", { projectId: "p2" })
    expect(project.groupsClaim).toBe(3)
  })
})

test("requiring authorizations on the built-in project is rejected", async () => {
  for (const check of [{ authorizationRequired: true }, { projectAccessRequired: true }]) {
    const tried = estate.as("owner", "updateProject", { projectId: "own", ...check })
    await expect(tried).rejects.toMatchObject({ id: "project.is_own" })
  }
  await estate.as("owner", "updateProject", { projectId: "own", projectRoleAssertion: true })
})
