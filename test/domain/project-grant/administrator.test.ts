import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { addMember, listMemberships, outranks } from "../../../src/domain/member/index.ts"
import { callerOf } from "../../support/test-environment.ts"
import { type GrantEstate, grant, grantResource, openGrantEstate } from "./estate.ts"

let estate: GrantEstate
beforeEach(async () => {
  estate = await openGrantEstate()
})
afterEach(() => estate.close())

const resource = { resource: { case: "projectGrant", value: grantResource } }
const membership = (userId: string, more: object = {}) => ({ userId, resource, ...more })

const listAdministrators = async (
  userName: string,
  orgId: string,
  filters: readonly object[] = [resourceFilter],
) => {
  const answer = await estate.by(userName, orgId, "listAdministrators", { filters })
  expect(answer.pagination.totalResult).toBe(BigInt(answer.administrators.length))
  return answer.administrators
}
const resourceFilter = { filter: { case: "resource", value: resource } }

const membershipsOf = (userId: string) => listMemberships(estate.cx(), userId)

describe("an administrator of a grant", () => {
  test("is created, changed, and removed", async () => {
    await estate.manageGrant("guest")
    const [found] = await listAdministrators("stranger", "org2")
    expect(found).toMatchObject({
      user: { id: "guest", organizationId: "org2" },
      roles: ["PROJECT_GRANT_OWNER"],
      resource: {
        case: "projectGrant",
        value: {
          projectId: "p1",
          projectName: "Portal",
          organizationId: "org1",
          grantedOrganizationId: "org2",
        },
      },
    })
    const roles = ["PROJECT_GRANT_OWNER_VIEWER"]
    await estate.as("stranger", "updateAdministrator", membership("guest", { roles }))
    expect(membershipsOf("guest")).toMatchObject([{ level: "grant", roles }])
    await estate.as("stranger", "deleteAdministrator", membership("guest"))
    expect(membershipsOf("guest")).toEqual([])
    expect(await listAdministrators("stranger", "org2")).toEqual([])
  })

  test("can read the granted project, and no other of its owner", async () => {
    await estate.manageGrant("guest")
    const look = (projectId: string) => estate.by("guest", "org2", "getProject", { projectId })
    expect((await look("p1")).project).toMatchObject({ projectId: "p1" })
    expect(() => look("own")).toThrow("project not found")
  })

  test.each(["deleteProjectGrant", "deleteProject"])("is removed with %s", async (name) => {
    await estate.manageGrant("guest")
    await estate.as("manager", name, grant)
    expect(membershipsOf("guest")).toEqual([])
    expect(await listAdministrators("owner", "org1")).toEqual([])
    expect(() => estate.as("stranger", "createAdministrator", membership("guest"))).toThrow(
      "project grant not found",
    )
  })

  test("does not return with another grant to the same organization", async () => {
    await estate.manageGrant("guest")
    await estate.as("manager", "deleteProjectGrant", grant)
    await estate.as("manager", "createProjectGrant", grant)
    expect(membershipsOf("guest")).toEqual([])
    expect(() => estate.by("guest", "org2", "listProjectGrants")).toThrow(
      "permission denied: project.grant.read is required",
    )
  })

  test.each([
    ["a role of another level", ["PROJECT_OWNER"]],
    ["a role that is not there", ["ROOT"]],
    ["no role", []],
  ])("is rejected: %s", async (_, roles) => {
    const request = membership("guest", { roles })
    await expect(estate.as("stranger", "createAdministrator", request)).rejects.toMatchObject({
      code: "invalid_argument",
    })
  })
})

describe("permission to create one", () => {
  const make = (userName: string, orgId: string, roles = ["PROJECT_GRANT_OWNER"]) =>
    estate.by(userName, orgId, "createAdministrator", membership("other", { roles }))

  test.each([
    ["owner", "org1"],
    ["manager", "org1"],
    ["stranger", "org2"],
  ])("%s of %s can create one", async (user, orgId) => {
    await make(user, orgId)
    expect(membershipsOf("other")).toHaveLength(1)
  })

  test("an administrator of the grant can create one, and a viewer can't", async () => {
    await estate.manageGrant("guest", "PROJECT_GRANT_OWNER_VIEWER")
    expect(() => make("guest", "org2")).toThrow(
      "permission denied: project.grant.member.write is required",
    )
    const roles = ["PROJECT_GRANT_OWNER"]
    await estate.as("stranger", "updateAdministrator", membership("guest", { roles }))
    await make("guest", "org2")
    expect(membershipsOf("other")).toHaveLength(1)
  })

  test("others can't, and receive no information", async () => {
    expect(() => make("third", "org3")).toThrow("project grant not found")
    expect(() => make("nobody", "org1")).toThrow(
      "permission denied: project.grant.member.write is required",
    )
    const absent = { projectId: "p1", organizationId: "org3" }
    const there = { resource: { case: "projectGrant", value: absent } }
    const roles = ["PROJECT_GRANT_OWNER"]
    expect(() =>
      estate.by("third", "org3", "createAdministrator", {
        userId: "other",
        resource: there,
        roles,
      }),
    ).toThrow("project grant not found")
  })

  test("and lists only those of the caller's grants", async () => {
    await estate.manageGrant("guest")
    for (const [who, orgId, count] of [
      ["owner", "org1", 1],
      ["manager", "org1", 1],
      ["stranger", "org2", 1],
      ["guest", "org2", 1],
      ["third", "org3", 0],
    ] as const) {
      expect([who, (await listAdministrators(who, orgId)).length]).toEqual([who, count])
    }
    const all = await listAdministrators("third", "org3", [])
    expect(all.map(({ user }: any) => user.id)).toEqual(["third"])
    expect(all).toHaveLength(1)
  })
})

test("a caller with fewer permissions than a grant administrator can't set their credentials", async () => {
  await estate.manageGrant("guest")
  await estate.step((tx) =>
    addMember(tx, {
      userId: "other",
      roles: ["ORG_USER_MANAGER"],
      target: { level: "org", id: "org2" },
    }),
  )
  const above = (userId: string, orgId: string) =>
    outranks(estate.cx({ caller: callerOf(userId, orgId) }), "guest", "anywhere")
  expect(above("other", "org2")).toBe(false)
  expect(above("stranger", "org2")).toBe(true)
  expect(above("owner", "org1")).toBe(true)
  await estate.as("stranger", "deleteAdministrator", membership("guest"))
  expect(above("other", "org2")).toBe(true)
})

test("a grant administrator belongs to the organization with the grant", async () => {
  await estate.as(
    "owner",
    "createAdministrator",
    membership("third", { roles: ["PROJECT_GRANT_OWNER"] }),
  )
  const { result } = await estate.by("third", "org3", "listMyProjectOrgs")
  expect(result.map(({ id }: { id: string }) => id).toSorted()).toEqual(["org2", "org3"])
})

describe("the roles of a level", () => {
  const ask = (name: string, request: object = {}) => estate.as("manager", name, request)

  test("are those of projects, and of grants", async () => {
    const grants = ["PROJECT_GRANT_OWNER", "PROJECT_GRANT_OWNER_VIEWER"]
    const answer = await ask("listProjectGrantMemberRoles", { query: { asc: true } })
    expect(answer.result).toEqual(grants)
    expect(answer.details.totalResult).toBe(2n)
    const { result } = await ask("listProjectMemberRoles")
    expect(result).toEqual([
      "PROJECT_OWNER",
      "PROJECT_OWNER_GLOBAL",
      "PROJECT_OWNER_VIEWER",
      "PROJECT_OWNER_VIEWER_GLOBAL",
    ])
  })

  test("are paged", async () => {
    const query = { limit: 1, offset: 1n }
    const { result, details } = await ask("listProjectGrantMemberRoles", { query })
    expect(result).toEqual(["PROJECT_GRANT_OWNER"])
    expect(details.totalResult).toBe(2n)
    await expect(
      ask("listProjectGrantMemberRoles", { query: { limit: 1001 } }),
    ).rejects.toMatchObject({ id: "page.limit_too_large" })
  })

  test("require the permission to read administrators", () => {
    for (const name of ["listProjectMemberRoles", "listProjectGrantMemberRoles"]) {
      expect(() => estate.as("nobody", name)).toThrow("permission denied: project.")
    }
  })
})
