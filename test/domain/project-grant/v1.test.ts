import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { removeRole } from "../../../src/domain/project/index.ts"
import { grantIdOf } from "../../../src/domain/project-grant/index.ts"
import { callerOf } from "../../support/world.ts"
import { type Granting, grant, openGranting } from "./estate.ts"

let estate: Granting
let id: string
beforeEach(async () => {
  estate = await openGranting()
  id = grantIdOf(estate.cx(), "p1", "org2") ?? ""
})
afterEach(() => estate.close())

const byId = () => ({ projectId: "p1", grantId: id })

const granted = async (orgId: string, request: object = {}) => {
  const caller = callerOf("owner", "org1")
  const { result, details } = await estate.as("owner", "listGrantedProjects", request, {
    cx: { caller, orgId },
  })
  expect(details.totalResult).toBe(BigInt(result.length))
  return result
}

describe("granted projects", () => {
  test("are those of the context's organisation", async () => {
    const { result } = await estate.as("stranger", "listGrantedProjects")
    expect(result).toMatchObject([
      {
        grantId: id,
        grantedOrgId: "org2",
        grantedOrgName: "Globex",
        grantedRoleKeys: ["admin", "editor"],
        state: 1,
        projectId: "p1",
        projectName: "Portal",
        projectOwnerId: "org1",
        projectOwnerName: "Acme",
        details: { resourceOwner: "org1", sequence: 1n },
      },
    ])
    expect(await granted("org2")).toEqual(result)
    expect(await granted("org1")).toEqual([])
    const { result: none } = await estate.by("third", "org3", "listGrantedProjects")
    expect(none).toEqual([])
    const elsewhere = { cx: { caller: callerOf("third", "org3"), orgId: "org2" } }
    const foreign = async () => estate.as("nobody", "listGrantedProjects", {}, elsewhere)
    await expect(foreign()).rejects.toMatchObject({ code: "not_found", id: "org.missing" })
  })

  test("are narrowed by name and owner", async () => {
    const by = (kind: string, value: object) =>
      granted("org2", { queries: [{ query: { case: kind, value } }] })
    expect(await by("nameQuery", { name: "tal", method: 6 })).toHaveLength(1)
    expect(await by("nameQuery", { name: "other" })).toEqual([])
    expect(await by("projectResourceOwnerQuery", { resourceOwner: "org1" })).toHaveLength(1)
    expect(await by("projectResourceOwnerQuery", { resourceOwner: "org2" })).toEqual([])
  })

  test("are shown one by one, to who gave and who has them", async () => {
    for (const who of ["owner", "manager", "stranger"] as const) {
      const { grantedProject } = await estate.as(who, "getGrantedProjectByID", byId())
      expect(grantedProject).toMatchObject({ grantId: id, projectName: "Portal" })
    }
    const get = (request: object) => () =>
      estate.by("third", "org3", "getGrantedProjectByID", request)
    expect(get(byId())).toThrow("there is no such project grant")
    expect(get({ projectId: "p1", grantId: "absent" })).toThrow("there is no such project grant")
    const wrong = { projectId: "own", grantId: id }
    expect(() => estate.as("owner", "getGrantedProjectByID", wrong)).toThrow(
      "no such project grant",
    )
  })

  test("are shown no more when the grant or the project is gone", async () => {
    await estate.as("manager", "deleteProjectGrant", grant)
    expect(() => estate.as("stranger", "getGrantedProjectByID", byId())).toThrow("no such")
    await estate.as("manager", "createProjectGrant", grant)
    id = grantIdOf(estate.cx(), "p1", "org2") ?? ""
    await estate.as("manager", "deleteProject", { projectId: "p1" })
    expect(() => estate.as("stranger", "getGrantedProjectByID", byId())).toThrow("no such")
    expect(await granted("org2")).toEqual([])
  })

  test("show their roles, of which the project still has each", async () => {
    const keysOf = async (request: object = {}) => {
      const answer = await estate.as("stranger", "listGrantedProjectRoles", {
        ...byId(),
        query: { asc: true },
        ...request,
      })
      const { result, details } = answer
      expect(details.totalResult).toBe(BigInt(result.length))
      return result.map(({ key }: { key: string }) => key)
    }
    expect(await keysOf()).toEqual(["admin", "editor"])
    const query = { case: "keyQuery", value: { key: "ed", method: 2 } }
    expect(await keysOf({ queries: [{ query }] })).toEqual(["editor"])
    await removeRole(estate.cx(), "p1", "admin")
    expect(await keysOf()).toEqual(["editor"])
    expect(() => estate.by("third", "org3", "listGrantedProjectRoles", byId())).toThrow("no such")
  })
})
