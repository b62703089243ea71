import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { type Granting, grant, openGranting } from "./estate.ts"

let estate: Granting
beforeEach(async () => {
  estate = await openGranting()
})
afterEach(() => estate.close())

const listed = async (who: string, orgId: string, request: object = {}) => {
  const answer = await estate.by(who, orgId, "listProjects", {
    pagination: { asc: true },
    ...request,
  })
  expect(answer.pagination.totalResult).toBe(BigInt(answer.projects.length))
  return answer.projects
}

/** Each project, and to whom it is granted where it is. */
const shown = (projects: readonly any[]) =>
  projects.map(({ projectId, grantedOrganizationId = "" }) => [projectId, grantedOrganizationId])

describe("a list of projects", () => {
  test("shows what an organisation owns and what it was granted", async () => {
    const own = { organizationId: "org2", projectId: "p2", name: "Own" }
    estate.clock.advance(1000)
    await estate.as("stranger", "createProject", own)
    const projects = await listed("stranger", "org2")
    expect(shown(projects)).toEqual([
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

  test("shows each project once to who owns it", async () => {
    const own = ["own", ""]
    expect(shown(await listed("manager", "org1"))).toEqual([own, ["p1", ""]])
    expect(shown(await listed("owner", "org1"))).toEqual([own, ["p1", ""], ["p1", "org2"]])
  })

  test("shows a granted project to administrators of the grant, and to no others", async () => {
    await estate.manageGrant("guest")
    expect(shown(await listed("guest", "org2"))).toEqual([["p1", "org2"]])
    expect(() => estate.by("other", "org2", "listProjects")).toThrow("needs the permission")
    expect(await listed("third", "org3")).toEqual([])
  })

  test("shows the state of a grant, and a grant no more when it is gone", async () => {
    await estate.as("manager", "deactivateProjectGrant", grant)
    expect((await listed("stranger", "org2"))[0].grantedState).toBe(2)
    await estate.as("manager", "activateProjectGrant", grant)
    expect((await listed("stranger", "org2"))[0].grantedState).toBe(1)
    await estate.as("manager", "deleteProjectGrant", grant)
    expect(await listed("stranger", "org2")).toEqual([])
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
  test.each(cases)("is narrowed by an organisation's: %s", async (_, orgId, type, rows) => {
    const found = await listed("owner", "org1", byOrg(orgId, type))
    expect(shown(found).filter(([id, granted]) => id !== "p1" || granted !== "")).toEqual(rows)
  })

  test("is narrowed by name and ids, and sorted", async () => {
    const by = (filter: object) => listed("owner", "org1", { filters: [{ filter }] })
    const name = { projectName: "PORT", method: 3 }
    const both = [
      ["p1", ""],
      ["p1", "org2"],
    ]
    expect(shown(await by({ case: "projectNameFilter", value: name }))).toEqual(both)
    expect(shown(await by({ case: "inProjectIdsFilter", value: { ids: ["p1"] } }))).toEqual(both)
    for (const sortingColumn of [0, 1, 2, 3]) {
      const found = await listed("owner", "org1", { sortingColumn })
      expect(shown(found).map(([id]) => id)).toEqual(["own", "p1", "p1"])
    }
    const named = await listed("owner", "org1", { sortingColumn: 4 })
    expect(shown(named).map(([id]) => id)).toEqual(["own", "p1", "p1"])
  })

  test("neither skips nor repeats a row when projects are granted between its pages", async () => {
    const seen: (readonly string[])[] = []
    for (const offset of [0n, 1n, 2n, 3n, 4n]) {
      const pagination = { asc: true, limit: 1, offset }
      const { projects } = await estate.as("owner", "listProjects", { pagination })
      seen.push(...shown(projects))
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
  const get = (who: string, orgId: string) => () =>
    estate.by(who, orgId, "getProject", { projectId: "p1" })

  test("is shown to who owns it and to who was granted it", async () => {
    await estate.manageGrant("guest")
    for (const [who, orgId] of [
      ["owner", "org1"],
      ["manager", "org1"],
      ["stranger", "org2"],
      ["guest", "org2"],
    ] as const) {
      expect((await get(who, orgId)()).project.name).toBe("Portal")
    }
    expect(get("third", "org3")).toThrow("there is no such project")
    expect(get("other", "org2")).toThrow("needs the permission")
  })

  test("is shown no more when the grant is gone", async () => {
    await estate.manageGrant("guest")
    await estate.as("manager", "deleteProjectGrant", grant)
    expect(get("stranger", "org2")).toThrow("there is no such project")
    expect(get("guest", "org2")).toThrow("needs the permission")
  })

  test("is not changed by who was granted it", async () => {
    for (const name of ["updateProject", "deactivateProject", "deleteProject"]) {
      expect(() => estate.as("stranger", name, { projectId: "p1" })).toThrow("no such project")
    }
    const role = { projectId: "p1", roleKey: "more", displayName: "More" }
    expect(() => estate.as("stranger", "addProjectRole", role)).toThrow("no such project")
  })
})
