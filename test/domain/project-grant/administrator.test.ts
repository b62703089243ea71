import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { addMember, memberships, outranks } from "../../../src/domain/member/index.ts"
import { callerOf } from "../../support/world.ts"
import { type Granting, grant, named, openGranting } from "./estate.ts"

let estate: Granting
beforeEach(async () => {
  estate = await openGranting()
})
afterEach(() => estate.close())

const resource = { resource: { case: "projectGrant", value: named } }
const seat = (userId: string, more: object = {}) => ({ userId, resource, ...more })

const listed = async (
  who: string,
  orgId: string,
  filters: readonly object[] = [resourceFilter],
) => {
  const answer = await estate.by(who, orgId, "listAdministrators", { filters })
  expect(answer.pagination.totalResult).toBe(BigInt(answer.administrators.length))
  return answer.administrators
}
const resourceFilter = { filter: { case: "resource", value: resource } }

const held = (userId: string) => memberships(estate.cx(), userId)

describe("an administrator of a grant", () => {
  test("is made, changed and removed", async () => {
    await estate.manageGrant("guest")
    const [found] = await listed("stranger", "org2")
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
    await estate.as("stranger", "updateAdministrator", seat("guest", { roles }))
    expect(held("guest")).toMatchObject([{ level: "grant", roles }])
    await estate.as("stranger", "deleteAdministrator", seat("guest"))
    expect(held("guest")).toEqual([])
    expect(await listed("stranger", "org2")).toEqual([])
  })

  test("looks at the project that was granted, and at no other of its owner", async () => {
    await estate.manageGrant("guest")
    const look = (projectId: string) => estate.by("guest", "org2", "getProject", { projectId })
    expect((await look("p1")).project).toMatchObject({ projectId: "p1" })
    expect(() => look("own")).toThrow("there is no such project")
  })

  test.each(["deleteProjectGrant", "deleteProject"])("goes with %s", async (name) => {
    await estate.manageGrant("guest")
    await estate.as("manager", name, grant)
    expect(held("guest")).toEqual([])
    expect(await listed("owner", "org1")).toEqual([])
    expect(() => estate.as("stranger", "createAdministrator", seat("guest"))).toThrow(
      "there is no such project grant",
    )
  })

  test("does not come back with another grant to the same organisation", async () => {
    await estate.manageGrant("guest")
    await estate.as("manager", "deleteProjectGrant", grant)
    await estate.as("manager", "createProjectGrant", grant)
    expect(held("guest")).toEqual([])
    expect(() => estate.by("guest", "org2", "listProjectGrants")).toThrow("needs the permission")
  })

  test.each([
    ["a role of another level", ["PROJECT_OWNER"]],
    ["a role that is not there", ["ROOT"]],
    ["no role", []],
  ])("is refused %s", async (_, roles) => {
    const request = seat("guest", { roles })
    await expect(estate.as("stranger", "createAdministrator", request)).rejects.toMatchObject({
      code: "invalid_argument",
    })
  })
})

describe("who may make one", () => {
  const make = (who: string, orgId: string, roles = ["PROJECT_GRANT_OWNER"]) =>
    estate.by(who, orgId, "createAdministrator", seat("other", { roles }))

  test.each([
    ["owner", "org1"],
    ["manager", "org1"],
    ["stranger", "org2"],
  ])("%s of %s may", async (who, orgId) => {
    await make(who, orgId)
    expect(held("other")).toHaveLength(1)
  })

  test("an administrator of the grant may, and a viewer may not", async () => {
    await estate.manageGrant("guest", "PROJECT_GRANT_OWNER_VIEWER")
    expect(() => make("guest", "org2")).toThrow("needs the permission")
    const roles = ["PROJECT_GRANT_OWNER"]
    await estate.as("stranger", "updateAdministrator", seat("guest", { roles }))
    await make("guest", "org2")
    expect(held("other")).toHaveLength(1)
  })

  test("others may not, and learn nothing", async () => {
    expect(() => make("third", "org3")).toThrow("there is no such project grant")
    expect(() => make("nobody", "org1")).toThrow("needs the permission")
    const absent = { projectId: "p1", organizationId: "org3" }
    const there = { resource: { case: "projectGrant", value: absent } }
    const roles = ["PROJECT_GRANT_OWNER"]
    expect(() =>
      estate.by("third", "org3", "createAdministrator", {
        userId: "other",
        resource: there,
        roles,
      }),
    ).toThrow("there is no such project grant")
  })

  test("and sees none but of grants that are theirs", async () => {
    await estate.manageGrant("guest")
    for (const [who, orgId, count] of [
      ["owner", "org1", 1],
      ["manager", "org1", 1],
      ["stranger", "org2", 1],
      ["guest", "org2", 1],
      ["third", "org3", 0],
    ] as const) {
      expect([who, (await listed(who, orgId)).length]).toEqual([who, count])
    }
    const all = await listed("third", "org3", [])
    expect(all.map(({ user }: any) => user.id)).toEqual(["third"])
    expect(all).toHaveLength(1)
  })
})

test("who holds less than an administrator of a grant can't set their credentials", async () => {
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
  await estate.as("stranger", "deleteAdministrator", seat("guest"))
  expect(above("other", "org2")).toBe(true)
})

test("an administrator of a grant is in the organisation that has it", async () => {
  await estate.as("owner", "createAdministrator", seat("third", { roles: ["PROJECT_GRANT_OWNER"] }))
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

  test("are for who may look at administrators", () => {
    for (const name of ["listProjectMemberRoles", "listProjectGrantMemberRoles"]) {
      expect(() => estate.as("nobody", name)).toThrow("needs the permission")
    }
  })
})
