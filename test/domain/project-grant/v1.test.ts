import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { removeRole } from "../../../src/domain/project/index.ts"
import { findGrantIdInOrg } from "../../../src/domain/project-grant/index.ts"
import { callerOf } from "../../support/test-environment.ts"
import { type GrantEstate, grant, openGrantEstate } from "./estate.ts"

let estate: GrantEstate
let id: string
beforeEach(async () => {
  estate = await openGrantEstate()
  id = findGrantIdInOrg(estate.cx(), "p1", "org2") ?? ""
})
afterEach(() => estate.close())

const grantRequest = () => ({ projectId: "p1", grantId: id })

const listGranted = async (orgId: string, request: object = {}) => {
  const caller = callerOf("owner", "org1")
  const { result, details } = await estate.as("owner", "listGrantedProjects", request, {
    cx: { caller, orgId },
  })
  expect(details.totalResult).toBe(BigInt(result.length))
  return result
}

describe("granted projects", () => {
  test("are those of the context's organization", async () => {
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
    expect(await listGranted("org2")).toEqual(result)
    expect(await listGranted("org1")).toEqual([])
    const { result: none } = await estate.by("third", "org3", "listGrantedProjects")
    expect(none).toEqual([])
    const elsewhere = { cx: { caller: callerOf("third", "org3"), orgId: "org2" } }
    const foreign = async () => estate.as("nobody", "listGrantedProjects", {}, elsewhere)
    await expect(foreign()).rejects.toMatchObject({ code: "not_found", id: "org.missing" })
  })

  test("are filtered by name and owner", async () => {
    const by = (kind: string, value: object) =>
      listGranted("org2", { queries: [{ query: { case: kind, value } }] })
    expect(await by("nameQuery", { name: "tal", method: 6 })).toHaveLength(1)
    expect(await by("nameQuery", { name: "other" })).toEqual([])
    expect(await by("projectResourceOwnerQuery", { resourceOwner: "org1" })).toHaveLength(1)
    expect(await by("projectResourceOwnerQuery", { resourceOwner: "org2" })).toEqual([])
  })

  test("are readable by ID, for owner and grantee", async () => {
    for (const who of ["owner", "manager", "stranger"] as const) {
      const { grantedProject } = await estate.as(who, "getGrantedProjectByID", grantRequest())
      expect(grantedProject).toMatchObject({ grantId: id, projectName: "Portal" })
    }
    const get = (request: object) => () =>
      estate.by("third", "org3", "getGrantedProjectByID", request)
    expect(get(grantRequest())).toThrow("project grant not found")
    expect(get({ projectId: "p1", grantId: "absent" })).toThrow("project grant not found")
    const wrong = { projectId: "own", grantId: id }
    expect(() => estate.as("owner", "getGrantedProjectByID", wrong)).toThrow(
      "project grant not found",
    )
  })

  test("are not readable after the grant or the project is removed", async () => {
    await estate.as("manager", "deleteProjectGrant", grant)
    expect(() => estate.as("stranger", "getGrantedProjectByID", grantRequest())).toThrow(
      "project grant not found",
    )
    await estate.as("manager", "createProjectGrant", grant)
    id = findGrantIdInOrg(estate.cx(), "p1", "org2") ?? ""
    await estate.as("manager", "deleteProject", { projectId: "p1" })
    expect(() => estate.as("stranger", "getGrantedProjectByID", grantRequest())).toThrow(
      "project grant not found",
    )
    expect(await listGranted("org2")).toEqual([])
  })

  test("contain the granted roles that still exist", async () => {
    const keysOf = async (request: object = {}) => {
      const answer = await estate.as("stranger", "listGrantedProjectRoles", {
        ...grantRequest(),
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
    expect(() => estate.by("third", "org3", "listGrantedProjectRoles", grantRequest())).toThrow(
      "project grant not found",
    )
  })
})
