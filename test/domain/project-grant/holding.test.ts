import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { type GrantEstate, grant, openGrantEstate } from "./estate.ts"

let estate: GrantEstate
beforeEach(async () => {
  estate = await openGrantEstate()
})
afterEach(() => estate.close())

const listProjects = async (userName: string, orgId: string, request: object = {}) => {
  const answer = await estate.by(userName, orgId, "listProjects", {
    pagination: { asc: true },
    ...request,
  })
  expect(answer.pagination.totalResult).toBe(BigInt(answer.projects.length))
  return answer.projects
}

/** Each project, and the organization it is granted to, if any. */
const summaryOf = (projects: readonly any[]) =>
  projects.map(({ projectId, grantedOrganizationId = "" }) => [projectId, grantedOrganizationId])

describe("a list of projects", () => {
  test("shows what an organization owns and what it was granted", async () => {
    const own = { organizationId: "org2", projectId: "p2", name: "Own" }
    estate.clock.advance(1000)
    await estate.as("stranger", "createProject", own)
    const projects = await listProjects("stranger", "org2")
    expect(summaryOf(projects)).toEqual([
      ["p1", "org2"],
      ["p2", ""],
    ])
    expect(projects[0]).toMatchObject({
      organizationId: "org1",
      name: "Portal",
      state: 1,
      grantedOrganizationId: "org2",
      grantedOrganizationName: "Globex",
      grantedState: 1,
    })
    expect(projects[1].grantedState).toBe(0)
  })

  test("contains each project once for its owner", async () => {
    const own = ["own", ""]
    expect(summaryOf(await listProjects("manager", "org1"))).toEqual([own, ["p1", ""]])
    expect(summaryOf(await listProjects("owner", "org1"))).toEqual([
      own,
      ["p1", ""],
      ["p1", "org2"],
    ])
  })

  test("contains a granted project for administrators of the grant only", async () => {
    await estate.manageGrant("guest")
    expect(summaryOf(await listProjects("guest", "org2"))).toEqual([["p1", "org2"]])
    expect(() => estate.by("other", "org2", "listProjects")).toThrow(
      "permission denied: project.read is required",
    )
    expect(await listProjects("third", "org3")).toEqual([])
  })

  test("contains the state of a grant, and no deleted grants", async () => {
    await estate.as("manager", "deactivateProjectGrant", grant)
    expect((await listProjects("stranger", "org2"))[0].grantedState).toBe(2)
    await estate.as("manager", "activateProjectGrant", grant)
    expect((await listProjects("stranger", "org2"))[0].grantedState).toBe(1)
    await estate.as("manager", "deleteProjectGrant", grant)
    expect(await listProjects("stranger", "org2")).toEqual([])
  })

  const byOrg = (organizationId: string, type: number) => ({
    filters: [{ filter: { case: "organizationIdFilter", value: { organizationId, type } } }],
  })
  const cases: readonly (readonly [string, string, number, object])[] = [
    ["owned, and is", "org1", 1, [["own", ""]]],
    ["granted, and is", "org2", 2, [["p1", "org2"]]],
    ["owned, and is granted", "org2", 1, []],
    ["granted, and is owned", "org1", 2, []],
    ["either", "org2", 3, [["p1", "org2"]]],
    ["unsaid", "org2", 0, [["p1", "org2"]]],
    ["of nobody", "absent", 0, []],
  ]
  test.each(cases)("is narrowed by an organization's: %s", async (_, orgId, type, rows) => {
    const found = await listProjects("owner", "org1", byOrg(orgId, type))
    expect(summaryOf(found).filter(([id, granted]) => id !== "p1" || granted !== "")).toEqual(rows)
  })

  test("is filtered by name and IDs, and sorted", async () => {
    const by = (filter: object) => listProjects("owner", "org1", { filters: [{ filter }] })
    const name = { projectName: "PORT", method: 3 }
    const both = [
      ["p1", ""],
      ["p1", "org2"],
    ]
    expect(summaryOf(await by({ case: "projectNameFilter", value: name }))).toEqual(both)
    expect(summaryOf(await by({ case: "inProjectIdsFilter", value: { ids: ["p1"] } }))).toEqual(
      both,
    )
    for (const sortingColumn of [0, 1, 2, 3]) {
      const found = await listProjects("owner", "org1", { sortingColumn })
      expect(summaryOf(found).map(([id]) => id)).toEqual(["own", "p1", "p1"])
    }
    const named = await listProjects("owner", "org1", { sortingColumn: 4 })
    expect(summaryOf(named).map(([id]) => id)).toEqual(["own", "p1", "p1"])
  })

  test("neither skips nor repeats a row if projects are granted between pages", async () => {
    const seen: (readonly string[])[] = []
    for (const offset of [0n, 1n, 2n, 3n, 4n]) {
      const pagination = { asc: true, limit: 1, offset }
      const { projects } = await estate.as("owner", "listProjects", { pagination })
      seen.push(...summaryOf(projects))
      if (offset === 0n) {
        estate.clock.advance(1000)
        await estate.as("manager", "createProjectGrant", {
          projectId: "p1",
          grantedOrganizationId: "org3",
        })
      }
    }
    expect(seen).toEqual([
      ["own", ""],
      ["p1", ""],
      ["p1", "org2"],
      ["p1", "org3"],
    ])
  })
})

describe("one project", () => {
  const get = (userName: string, orgId: string) => () =>
    estate.by(userName, orgId, "getProject", { projectId: "p1" })

  test("is readable by its owner and by grantees", async () => {
    await estate.manageGrant("guest")
    for (const [who, orgId] of [
      ["owner", "org1"],
      ["manager", "org1"],
      ["stranger", "org2"],
      ["guest", "org2"],
    ] as const) {
      expect((await get(who, orgId)()).project.name).toBe("Portal")
    }
    expect(get("third", "org3")).toThrow("project not found")
    expect(get("other", "org2")).toThrow("permission denied: project.read is required")
  })

  test("is not readable after the grant is removed", async () => {
    await estate.manageGrant("guest")
    await estate.as("manager", "deleteProjectGrant", grant)
    expect(get("stranger", "org2")).toThrow("project not found")
    expect(get("guest", "org2")).toThrow("permission denied: project.read is required")
  })

  test("can't be changed by grantees", async () => {
    for (const name of ["updateProject", "deactivateProject", "deleteProject"]) {
      expect(() => estate.as("stranger", name, { projectId: "p1" })).toThrow("project not found")
    }
    const role = { projectId: "p1", roleKey: "more", displayName: "More" }
    expect(() => estate.as("stranger", "addProjectRole", role)).toThrow("project not found")
  })
})
