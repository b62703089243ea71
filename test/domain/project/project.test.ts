import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { createApplication } from "../../../src/domain/app/commands.ts"
import { findClient, isAppActive } from "../../../src/domain/app/index.ts"
import { addMember } from "../../../src/domain/member/index.ts"
import { getProject, isProjectActive } from "../../../src/domain/project/index.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const createProject = (projectId: string, more: object = {}) =>
  estate.as("manager", "createProject", {
    organizationId: "org1",
    projectId,
    name: `Project ${projectId}`,
    ...more,
  })

test("a created project is available immediately with the given values", async () => {
  await createProject("p1", { projectRoleAssertion: true, privateLabelingSetting: 2 })
  const { project } = await estate.as("manager", "getProject", { projectId: "p1" })
  expect(project).toMatchObject({
    projectId: "p1",
    organizationId: "org1",
    name: "Project p1",
    state: 1,
    projectRoleAssertion: true,
    authorizationRequired: false,
    privateLabelingSetting: 2,
  })
})

test("an ID is generated if omitted, and an ID is used once", async () => {
  const { projectId } = await createProject("")
  expect(projectId).toMatch(/^\d{15,18}$/)
  await expect(createProject(projectId)).rejects.toMatchObject({ code: "already_exists" })
})

test("only the given fields change", async () => {
  await createProject("p1", { projectRoleAssertion: true })
  await estate.as("manager", "updateProject", { projectId: "p1", authorizationRequired: true })
  await estate.as("manager", "updateProject", { projectId: "p1", projectRoleAssertion: false })
  expect(getProject(estate.cx(), "p1")).toMatchObject({
    name: "Project p1",
    role_assertion: false,
    role_check: true,
  })
})

test("v2 accepts an update without changes, v1 rejects it", async () => {
  await createProject("p1")
  const { changed } = getProject(estate.cx(), "p1")
  estate.clock.advance(1000)
  const { changeDate } = await estate.as("manager", "activateProject", { projectId: "p1" })
  expect(timestampMs(changeDate)).toBe(changed)

  const v1 = { of: "management" }
  const same = { id: "p1", name: "Project p1" }
  for (const tried of [
    estate.as("manager", "updateProject", same, v1),
    estate.as("manager", "reactivateProject", { id: "p1" }, v1),
  ]) {
    await expect(tried).rejects.toMatchObject({ code: "failed_precondition" })
  }
  const { details } = await estate.as("manager", "deactivateProject", { id: "p1" }, v1)
  expect(details).toMatchObject({ sequence: 2n, resourceOwner: "org1" })
})

test("the built-in project can't be deactivated or deleted", async () => {
  for (const name of ["deactivateProject", "deleteProject"]) {
    const tried = estate.as("owner", name, { projectId: "own" })
    await expect(tried).rejects.toMatchObject({ id: "project.is_own" })
  }
  expect(isProjectActive(estate.cx(), "own")).toBe(true)
})

test("the built-in project belongs to the instance, not to its organization", () => {
  const app = { projectId: "own", name: "Mine", api: { authMethodType: 0 } }
  const change = { projectId: "own", name: "Mine" }
  for (const who of ["manager", "stranger"] as const) {
    for (const [name, request] of [
      ["createApplication", app],
      ["updateProject", change],
      ["getProject", { projectId: "own" }],
    ] as const) {
      expect(() => estate.as(who, name, request), `${who} ${name}`).toThrow("project not found")
    }
  }
})

test("deactivating a project or organization deactivates its applications", async () => {
  const cx = estate.cx()
  const active = () => [isProjectActive(cx, "p2"), isAppActive(cx, "a2")]
  const config = { kind: "api", api: { authMethod: "basic" } } as const
  await estate.as("stranger", "createProject", {
    organizationId: "org2",
    projectId: "p2",
    name: "Two",
  })
  await createApplication(cx, "a2", { projectId: "p2", name: "Two", config })
  expect(active()).toEqual([true, true])
  await estate.as("stranger", "deactivateProject", { projectId: "p2" })
  expect(active()).toEqual([false, false])
  await estate.as("stranger", "activateProject", { projectId: "p2" })
  await estate.as("owner", "deactivateOrganization", { organizationId: "org2" })
  expect(active()).toEqual([false, false])
})

test("a project's applications are removed with it, including secret hashes", async () => {
  await createProject("p1")
  const cx = estate.cx()
  const config = { kind: "api", api: { authMethod: "basic" } } as const
  const { clientId } = await createApplication(cx, "a1", { projectId: "p1", name: "One", config })
  const hashes = async () =>
    (await estate.store.log.read(0, 1000)).filter(({ private: secret }) =>
      JSON.stringify(secret ?? "").includes("hashedSecret"),
    ).length
  expect(await hashes()).toBe(1)

  await estate.as("manager", "deleteProject", { projectId: "p1" })
  expect(findClient(cx, clientId)).toBeUndefined()
  expect(isAppActive(cx, "a1")).toBe(false)
  expect(await hashes()).toBe(0)
  expect(() => estate.as("manager", "getProject", { projectId: "p1" })).toThrow("project not found")
  expect(() => estate.as("manager", "getApplication", { applicationId: "a1" })).toThrow(
    "application not found",
  )
  const { applications } = await estate.as("owner", "listApplications")
  expect(applications.map((each: any) => each.applicationId)).toEqual(["console"])
})

const listProjects = async (
  userName: "owner" | "manager" | "stranger" | "nobody",
  request: object = {},
) => {
  const { projects, pagination } = await estate.as(userName, "listProjects", {
    pagination: { asc: true },
    ...request,
  })
  expect(pagination.totalResult).toBe(BigInt(projects.length))
  return projects.map(({ projectId }: { projectId: string }) => projectId)
}

test("callers see projects of their organization and those that they administer", async () => {
  await createProject("p1")
  expect(await listProjects("owner")).toEqual(["own", "p1"])
  expect(await listProjects("manager")).toEqual(["own", "p1"])
  expect(await listProjects("stranger")).toEqual([])
  await expect(listProjects("nobody")).rejects.toMatchObject({ code: "permission_denied" })
  await estate.step((tx) =>
    addMember(tx, {
      userId: "nobody",
      target: { level: "project", id: "p1" },
      roles: ["PROJECT_OWNER_VIEWER"],
    }),
  )
  expect(await listProjects("nobody")).toEqual(["p1"])
})

test("the built-in project can be excluded, also from the total", async () => {
  await createProject("p1")
  const by = (value: boolean) =>
    listProjects("owner", { filters: [{ filter: internalFilter(value) }] })
  expect(await by(false)).toEqual(["p1"])
  expect(await by(true)).toEqual(["own"])
})

const internalFilter = (value: boolean) => ({ case: "internalFilter", value }) as const

test("finds projects by name, IDs, and owned or granted", async () => {
  await createProject("p1", { name: "Alpha" })
  await createProject("p2", { name: "alphabet" })
  const by = (kind: string, value: object) =>
    listProjects("owner", { filters: [{ filter: { case: kind, value } }] })
  const ofOrg = (type: number) => by("organizationIdFilter", { organizationId: "org1", type })
  expect(await by("projectNameFilter", { projectName: "Alpha", method: 2 })).toEqual(["p1"])
  expect(await by("projectNameFilter", { projectName: "ALPHA", method: 3 })).toEqual(["p1", "p2"])
  expect(await by("projectNameFilter", { projectName: "%", method: 4 })).toEqual([])
  expect(await by("inProjectIdsFilter", { ids: ["p2", "own", "absent"] })).toEqual(["own", "p2"])
  expect(await ofOrg(1)).toEqual(["own", "p1", "p2"])
  expect(await ofOrg(2)).toEqual([])
  expect(await ofOrg(3)).toEqual(["own", "p1", "p2"])
  await expect(listProjects("owner", { filters: [{}] })).rejects.toMatchObject({
    id: "search.filter_empty",
  })
})

test("v1 lists the projects of the context's organization", async () => {
  await createProject("p1")
  const v1 = { of: "management" }
  const { result, details } = await estate.as("manager", "listProjects", {}, v1)
  expect(result.map(({ id }: { id: string }) => id)).toEqual(["p1", "own"])
  expect(details.totalResult).toBe(2n)
  const there = { ...v1, cx: { orgId: "org2" } }
  expect((await estate.as("owner", "listProjects", {}, there)).result).toEqual([])
  expect(() => estate.as("manager", "listProjects", {}, there)).toThrow("organization not found")
})

test("an organization's manager makes no project in another, by whatever way", async () => {
  const elsewhere = { organizationId: "org2", name: "Mine" }
  expect(() => estate.as("manager", "createProject", elsewhere)).toThrow("organization not found")
  const v1 = { cx: { orgId: "org2" } }
  expect(() => estate.as("manager", "addProject", { name: "Mine" }, v1)).toThrow(
    "organization not found",
  )
  await createProject("p1")
  for (const name of ["getProject", "updateProject", "deactivateProject", "deleteProject"]) {
    const tried = () => estate.as("stranger", name, { projectId: "p1" })
    expect(tried).toThrow("project not found")
  }
  expect(getProject(estate.cx(), "p1").state).toBe("active")
})
