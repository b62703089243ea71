import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { createApplication } from "../../../src/domain/app/commands.ts"
import { findClient, isAppActive } from "../../../src/domain/app/index.ts"
import { addMember } from "../../../src/domain/member/index.ts"
import { findProject, isProjectActive } from "../../../src/domain/project/index.ts"
import { type Estate, openEstate } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
})
afterEach(() => estate.close())

const made = (projectId: string, more: object = {}) =>
  estate.as("manager", "createProject", {
    organizationId: "org1",
    projectId,
    name: `Project ${projectId}`,
    ...more,
  })

test("a project that is made is there at once, with what it was asked to be", async () => {
  await made("p1", { projectRoleAssertion: true, privateLabelingSetting: 2 })
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

test("without an id one is made, and an id is used once", async () => {
  const { projectId } = await made("")
  expect(projectId).toMatch(/^\d{15,18}$/)
  await expect(made(projectId)).rejects.toMatchObject({ code: "already_exists" })
})

test("only the fields that are given change", async () => {
  await made("p1", { projectRoleAssertion: true })
  await estate.as("manager", "updateProject", { projectId: "p1", authorizationRequired: true })
  await estate.as("manager", "updateProject", { projectId: "p1", projectRoleAssertion: false })
  expect(findProject(estate.cx(), "p1")).toMatchObject({
    name: "Project p1",
    role_assertion: false,
    role_check: true,
  })
})

test("v2 lets pass what changes nothing, v1 says so", async () => {
  await made("p1")
  const { changed } = findProject(estate.cx(), "p1")
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

test("our own project can't be stopped or removed", async () => {
  for (const name of ["deactivateProject", "deleteProject"]) {
    const tried = estate.as("owner", name, { projectId: "own" })
    await expect(tried).rejects.toMatchObject({ id: "project.is_own" })
  }
  expect(isProjectActive(estate.cx(), "own")).toBe(true)
})

test("our own project is the instance's, not its organisation's", () => {
  const app = { projectId: "own", name: "Mine", api: { authMethodType: 0 } }
  const change = { projectId: "own", name: "Mine" }
  for (const who of ["manager", "stranger"] as const) {
    for (const [name, request] of [
      ["createApplication", app],
      ["updateProject", change],
      ["getProject", { projectId: "own" }],
    ] as const) {
      expect(() => estate.as(who, name, request), `${who} ${name}`).toThrow("no such project")
    }
  }
})

test("a stopped project or organisation stops its applications", async () => {
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

test("with a project its applications go, and the hashes of their secrets", async () => {
  await made("p1")
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
  expect(() => estate.as("manager", "getProject", { projectId: "p1" })).toThrow("no such project")
  expect(() => estate.as("manager", "getApplication", { applicationId: "a1" })).toThrow("no such")
  const { applications } = await estate.as("owner", "listApplications")
  expect(applications.map((each: any) => each.applicationId)).toEqual(["console"])
})

const listed = async (who: "owner" | "manager" | "stranger" | "nobody", request: object = {}) => {
  const { projects, pagination } = await estate.as(who, "listProjects", {
    pagination: { asc: true },
    ...request,
  })
  expect(pagination.totalResult).toBe(BigInt(projects.length))
  return projects.map(({ projectId }: { projectId: string }) => projectId)
}

test("one sees the projects of one's organisation and those that one administers", async () => {
  await made("p1")
  expect(await listed("owner")).toEqual(["own", "p1"])
  expect(await listed("manager")).toEqual(["own", "p1"])
  expect(await listed("stranger")).toEqual([])
  await expect(listed("nobody")).rejects.toMatchObject({ code: "permission_denied" })
  await estate.step((tx) =>
    addMember(tx, {
      userId: "nobody",
      target: { level: "project", id: "p1" },
      roles: ["PROJECT_OWNER_VIEWER"],
    }),
  )
  expect(await listed("nobody")).toEqual(["p1"])
})

test("the project that the instance made itself can be left out, with its total", async () => {
  await made("p1")
  const by = (value: boolean) => listed("owner", { filters: [{ filter: internal(value) }] })
  expect(await by(false)).toEqual(["p1"])
  expect(await by(true)).toEqual(["own"])
})

const internal = (value: boolean) => ({ case: "internalFilter", value }) as const

test("projects are found by name, ids, and owned versus granted", async () => {
  await made("p1", { name: "Alpha" })
  await made("p2", { name: "alphabet" })
  const by = (kind: string, value: object) =>
    listed("owner", { filters: [{ filter: { case: kind, value } }] })
  const ofOrg = (type: number) => by("organizationIdFilter", { organizationId: "org1", type })
  expect(await by("projectNameFilter", { projectName: "Alpha", method: 2 })).toEqual(["p1"])
  expect(await by("projectNameFilter", { projectName: "ALPHA", method: 3 })).toEqual(["p1", "p2"])
  expect(await by("projectNameFilter", { projectName: "%", method: 4 })).toEqual([])
  expect(await by("inProjectIdsFilter", { ids: ["p2", "own", "absent"] })).toEqual(["own", "p2"])
  expect(await ofOrg(1)).toEqual(["own", "p1", "p2"])
  expect(await ofOrg(2)).toEqual([])
  expect(await ofOrg(3)).toEqual(["own", "p1", "p2"])
  await expect(listed("owner", { filters: [{}] })).rejects.toMatchObject({
    id: "search.filter_empty",
  })
})

test("v1 lists the projects of the context's organisation", async () => {
  await made("p1")
  const v1 = { of: "management" }
  const { result, details } = await estate.as("manager", "listProjects", {}, v1)
  expect(result.map(({ id }: { id: string }) => id)).toEqual(["p1", "own"])
  expect(details.totalResult).toBe(2n)
  const there = { ...v1, cx: { orgId: "org2" } }
  expect((await estate.as("owner", "listProjects", {}, there)).result).toEqual([])
  expect(() => estate.as("manager", "listProjects", {}, there)).toThrow("no such organisation")
})

test("an organisation's manager makes no project in another, by whatever way", async () => {
  const elsewhere = { organizationId: "org2", name: "Mine" }
  expect(() => estate.as("manager", "createProject", elsewhere)).toThrow("no such organisation")
  const v1 = { cx: { orgId: "org2" } }
  expect(() => estate.as("manager", "addProject", { name: "Mine" }, v1)).toThrow("no such")
  await made("p1")
  for (const name of ["getProject", "updateProject", "deactivateProject", "deleteProject"]) {
    const tried = () => estate.as("stranger", name, { projectId: "p1" })
    expect(tried).toThrow("there is no such project")
  }
  expect(findProject(estate.cx(), "p1").state).toBe("active")
})
