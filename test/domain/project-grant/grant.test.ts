import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { deactivateOrganization } from "../../../src/domain/org/index.ts"
import { addRoles, removeRole } from "../../../src/domain/project/index.ts"
import {
  findGrantIdInOrg,
  hasProject,
  listGrantedRoles,
} from "../../../src/domain/project-grant/index.ts"
import type { TenantUser } from "../../support/tenant.ts"
import { type GrantEstate, grant, openGrantEstate, roleOf } from "./estate.ts"

let estate: GrantEstate
beforeEach(async () => {
  estate = await openGrantEstate()
})
afterEach(() => estate.close())

const listGrants = async (user: TenantUser = "manager", request: object = {}) => {
  const { projectGrants, pagination } = await estate.as(user, "listProjectGrants", {
    pagination: { asc: true },
    ...request,
  })
  expect(pagination.totalResult).toBe(BigInt(projectGrants.length))
  return projectGrants
}

const createGrant = (more: object = {}, user: TenantUser = "manager") =>
  estate.as(user, "createProjectGrant", { ...grant, grantedOrganizationId: "org3", ...more })

const idOf = (orgId = "org2") => findGrantIdInOrg(estate.cx(), "p1", orgId) ?? ""
const hasGrantedProject = (orgId: string) => hasProject(estate.cx(), "p1", orgId)

describe("a grant", () => {
  test("is available immediately, with the names of both sides", async () => {
    const [found] = await listGrants()
    expect(found).toMatchObject({
      id: idOf(),
      organizationId: "org1",
      grantedOrganizationId: "org2",
      grantedOrganizationName: "Globex",
      grantedRoleKeys: ["admin", "editor"],
      projectId: "p1",
      projectName: "Portal",
      state: 1,
    })
    expect(timestampMs(found.creationDate)).toBe(estate.clock.now())
    expect(hasGrantedProject("org2")).toBe(true)
    expect(hasGrantedProject("org1")).toBe(true)
    expect(hasGrantedProject("org3")).toBe(false)
  })

  test("is one for a project and an organization, also when twenty ask at once", async () => {
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => createGrant()))
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
    await expect(createGrant()).rejects.toMatchObject({
      code: "already_exists",
      id: "grant.exists",
    })
    expect(await listGrants()).toHaveLength(2)
  })

  test("has its roles replaced; the same roles change nothing", async () => {
    const update = async (roleKeys: readonly string[]) => {
      estate.clock.advance(1000)
      const { changeDate } = await estate.as("manager", "updateProjectGrant", {
        ...grant,
        roleKeys,
      })
      return estate.clock.now() - timestampMs(changeDate)
    }
    expect(await update(["auditor", "admin"])).toBe(0)
    expect(listGrantedRoles(estate.cx(), idOf())).toEqual(["auditor", "admin"])
    expect(await update(["admin", "auditor"])).toBe(1000)
    expect(await update([])).toBe(0)
    expect((await listGrants())[0].grantedRoleKeys).toEqual([])
  })

  test("is effective while it is active, and keeps its roles while it is not", async () => {
    const turn = (name: string) => estate.as("manager", name, grant)
    const { changeDate } = await turn("deactivateProjectGrant")
    expect(hasGrantedProject("org2")).toBe(false)
    expect((await listGrants())[0]).toMatchObject({
      state: 2,
      grantedRoleKeys: ["admin", "editor"],
    })
    estate.clock.advance(1000)
    expect((await turn("deactivateProjectGrant")).changeDate).toEqual(changeDate)
    await turn("activateProjectGrant")
    expect(hasGrantedProject("org2")).toBe(true)
  })

  test("is not effective while its organization is deactivated", async () => {
    await deactivateOrganization(estate.cx(), "org2")
    expect(hasGrantedProject("org2")).toBe(false)
  })

  test("can be created again after its removal, with another ID", async () => {
    const before = idOf()
    const { deletionDate } = await estate.as("manager", "deleteProjectGrant", grant)
    expect(timestampMs(deletionDate)).toBe(estate.clock.now())
    expect(await listGrants()).toEqual([])
    expect(hasGrantedProject("org2")).toBe(false)
    expect(await estate.as("manager", "deleteProjectGrant", grant)).toMatchObject({})
    expect((await estate.as("manager", "deleteProjectGrant", grant)).deletionDate).toBeUndefined()
    await createGrant({ grantedOrganizationId: "org2" })
    expect(idOf()).not.toBe(before)
  })

  test("is removed with its project", async () => {
    await estate.as("manager", "deleteProject", { projectId: "p1" })
    expect(await listGrants("owner")).toEqual([])
    expect(hasGrantedProject("org2")).toBe(false)
    expect(hasGrantedProject("org1")).toBe(false)
    expect(() => estate.as("manager", "activateProjectGrant", grant)).toThrow("project not found")
  })

  test("loses a role with the project, and a new role with the same key does not restore it", async () => {
    await removeRole(estate.cx(), "p1", "admin")
    const byKey = { filters: [filter("roleKeyFilter", { key: "admin" })] }
    expect(listGrantedRoles(estate.cx(), idOf())).toEqual(["editor"])
    expect(await listGrants("manager", byKey)).toEqual([])
    await addRoles(estate.cx(), "p1", [roleOf("admin")])
    expect((await listGrants())[0].grantedRoleKeys).toEqual(["editor"])
    expect(await listGrants("manager", byKey)).toEqual([])

    // A later use of the key refers to the new role.
    const roleKeys = ["admin", "editor"]
    await estate.as("manager", "updateProjectGrant", { ...grant, roleKeys })
    expect(listGrantedRoles(estate.cx(), idOf())).toEqual(roleKeys)
    expect(await listGrants("manager", byKey)).toHaveLength(1)
  })

  test("grants roles with any key", async () => {
    const odd = ["__proto__", "constructor", "a/b", "ключ"]
    await estate.step((tx) => addRoles.within(tx, "p1", odd.map(roleOf)))
    await createGrant({ roleKeys: odd })
    expect(listGrantedRoles(estate.cx(), idOf("org3"))).toEqual(odd)
    await estate.as("manager", "updateProjectGrant", {
      ...grant,
      grantedOrganizationId: "org3",
      roleKeys: odd.slice(1),
    })
    expect(listGrantedRoles(estate.cx(), idOf("org3"))).toEqual(odd.slice(1))
  })
})

describe("it is rejected", () => {
  const cases: readonly (readonly [string, object, string])[] = [
    ["a role that the project lacks", { roleKeys: ["root"] }, "grant.role_unknown"],
    ["a role of another spelling", { roleKeys: ["Admin"] }, "grant.role_unknown"],
    ["what only looks like a role", { roleKeys: ["constructor"] }, "grant.role_unknown"],
    ["a role twice", { roleKeys: ["admin", "admin"] }, "grant.role_twice"],
    ["an organization that is not there", { grantedOrganizationId: "absent" }, "org.missing"],
    ["the organization that owns it", { grantedOrganizationId: "org1" }, "grant.to_owner"],
  ]
  test.each(cases)("%s", async (_, wrong, id) => {
    await expect(createGrant(wrong)).rejects.toMatchObject({ id })
    expect(await listGrants("owner")).toHaveLength(1)
  })

  test("a change of an unknown grant", async () => {
    const absent = { projectId: "p1", grantedOrganizationId: "org3" }
    for (const name of ["update", "deactivate", "activate"]) {
      await expect(estate.as("manager", `${name}ProjectGrant`, absent)).rejects.toMatchObject({
        id: "grant.missing",
      })
    }
  })
})

describe("permissions", () => {
  for (const name of ["create", "update", "deactivate", "activate", "delete"]) {
    test(`${name}: who owns the project, not who has it`, async () => {
      const ask = (userName: string, orgId: string) => () =>
        estate.by(userName, orgId, `${name}ProjectGrant`, {
          ...grant,
          ...(name === "create" && { grantedOrganizationId: "org3" }),
        })
      await estate.manageGrant("guest")
      expect(ask("stranger", "org2")).toThrow("project not found")
      expect(ask("third", "org3")).toThrow("project not found")
      expect(ask("guest", "org2")).toThrow("permission denied: project.grant.")
      expect(ask("nobody", "org1")).toThrow("permission denied: project.grant.")
      await ask("manager", "org1")()
    })
  }

  test("list: the owner sees all of theirs, the grantee their own, others none", async () => {
    await createGrant()
    const orgs = async (userName: string, orgId: string) => {
      const answer = await estate.by(userName, orgId, "listProjectGrants", {
        pagination: { asc: true },
      })
      const { projectGrants, pagination } = answer
      expect(pagination.totalResult).toBe(BigInt(projectGrants.length))
      return projectGrants.map((each: any) => each.grantedOrganizationId)
    }
    await estate.manageGrant("guest", "PROJECT_GRANT_OWNER_VIEWER")
    expect(await orgs("owner", "org1")).toEqual(["org2", "org3"])
    expect(await orgs("manager", "org1")).toEqual(["org2", "org3"])
    expect(await orgs("stranger", "org2")).toEqual(["org2"])
    expect(await orgs("guest", "org2")).toEqual(["org2"])
    expect(await orgs("third", "org3")).toEqual(["org3"])
    expect(() => estate.as("nobody", "listProjectGrants")).toThrow(
      "permission denied: project.grant.read is required",
    )
  })
})

const filter = (kind: string, value: object) => ({ filter: { case: kind, value } })

describe("a list", () => {
  beforeEach(async () => {
    estate.clock.advance(1000)
    await createGrant({ roleKeys: ["auditor"] })
    const p0 = { projectId: "p0", organizationId: "org3", name: "Zeta" }
    await estate.by("third", "org3", "createProject", p0)
    estate.clock.advance(1000)
    await estate.by("third", "org3", "createProjectGrant", {
      projectId: "p0",
      grantedOrganizationId: "org2",
    })
  })

  const all = ["p1 org2", "p1 org3", "p0 org2"]
  const cases: readonly (readonly [string, object, readonly string[]])[] = [
    ["projectNameFilter", { projectName: "port", method: 3 }, ["p1 org2", "p1 org3"]],
    ["projectNameFilter", { projectName: "port" }, []],
    ["roleKeyFilter", { key: "auditor" }, ["p1 org3"]],
    ["roleKeyFilter", { key: "EDIT", method: 5 }, ["p1 org2"]],
    ["inProjectIdsFilter", { ids: ["p0", "absent"] }, ["p0 org2"]],
    ["organizationIdFilter", { id: "org1" }, ["p1 org2", "p1 org3"]],
    ["grantedOrganizationIdFilter", { id: "org2" }, ["p1 org2", "p0 org2"]],
  ]
  const shown = (rows: readonly any[]) =>
    rows.map(({ projectId, grantedOrganizationId }) => `${projectId} ${grantedOrganizationId}`)
  test.each(cases)("is filtered by %s %j", async (kind, value, rows) => {
    expect(shown(await listGrants("owner", { filters: [filter(kind, value)] }))).toEqual(rows)
  })

  test("is filtered by a role combined with all other filters", async () => {
    const role = filter("roleKeyFilter", { key: "admin" })
    const at = (id: string) => filter("grantedOrganizationIdFilter", { id })
    expect(shown(await listGrants("owner", { filters: [role, at("org2")] }))).toEqual(["p1 org2"])
    expect(shown(await listGrants("owner", { filters: [at("org3"), role] }))).toEqual([])
  })

  test("is sorted, and rejects an empty filter", async () => {
    for (const sortingColumn of [0, 2, 3]) {
      expect(shown(await listGrants("owner", { sortingColumn }))).toEqual(all)
    }
    const byProject = await listGrants("owner", { sortingColumn: 1 })
    expect(shown(byProject)[0]).toBe("p0 org2")
    await expect(listGrants("owner", { filters: [{ filter: {} }] })).rejects.toMatchObject({
      id: "search.filter_empty",
    })
  })

  test("is paged, with totals of visible rows", async () => {
    const page = { pagination: { asc: true, limit: 1, offset: 1n } }
    const answer = await estate.as("stranger", "listProjectGrants", page)
    expect(shown(answer.projectGrants)).toEqual(["p0 org2"])
    expect(answer.pagination).toMatchObject({ totalResult: 2n, appliedLimit: 1n })
  })
})
