import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { listRolesByOrg, projectAccessOf } from "../../../src/domain/authorization/index.ts"
import { addMember } from "../../../src/domain/member/index.ts"
import { addRoles } from "../../../src/domain/project/index.ts"
import { addUser, removeUser } from "../../../src/domain/user/index.ts"
import { findUserChain } from "../../../src/domain/user-lookup/query.ts"
import { humanInput, openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  for (const [projectId, organizationId, who] of [
    ["p1", "org1", "manager"],
    ["p2", "org2", "stranger"],
  ] as const) {
    await estate.as(who, "createProject", { organizationId, projectId, name: `Name ${projectId}` })
    const roles = ["admin", "editor", "Reader"].map((key) => ({ key, displayName: `The ${key}` }))
    await estate.step((tx) => addRoles.within(tx, projectId, roles))
  }
})
afterEach(() => estate.close())

const authorizationRequest = (
  userId: string,
  roleKeys: readonly string[] = [],
  more: object = {},
) => ({
  userId,
  projectId: "p1",
  organizationId: "org1",
  roleKeys,
  ...more,
})

const authorize = async (userId: string, roleKeys: readonly string[] = [], more: object = {}) => {
  const answer = await estate.as(
    "manager",
    "createAuthorization",
    authorizationRequest(userId, roleKeys, more),
  )
  return answer.id as string
}

const listAuthorizations = async (user: TenantUser = "manager", request: object = {}) => {
  const answer = await estate.as(user, "listAuthorizations", {
    pagination: { asc: true },
    ...request,
  })
  expect(answer.pagination.totalResult).toBe(BigInt(answer.authorizations.length))
  return answer.authorizations
}

const heldRoles = (userId: string, projectId = "p1") =>
  listRolesByOrg(estate.cx(), userId, projectId)

describe("an authorization", () => {
  test("is available immediately, with the names of both sides", async () => {
    const id = await authorize("nobody", ["editor", "admin"])
    expect(id).toMatch(/^\d{15,18}$/)
    const [found] = await listAuthorizations()
    expect(found).toMatchObject({
      id,
      project: { id: "p1", name: "Name p1", organizationId: "org1" },
      organization: { id: "org1", name: "Acme" },
      user: {
        id: "nobody",
        preferredLoginName: "nobody",
        displayName: "nobody Person",
        avatarUrl: "",
        organizationId: "org1",
      },
      state: 1,
    })
    expect(found.roles.map(({ key }: { key: string }) => key).toSorted()).toEqual([
      "admin",
      "editor",
    ])
    expect(found.roles[0]).toMatchObject({ displayName: expect.stringContaining("The ") })
    expect(heldRoles("nobody")).toEqual([{ orgId: "org1", keys: ["editor", "admin"] }])
  })

  test("is unique for a user and a project, even with twenty concurrent requests", async () => {
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => authorize("nobody")))
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
    await expect(authorize("nobody")).rejects.toMatchObject({ code: "already_exists" })
    await authorize("manager")
    expect(await listAuthorizations()).toHaveLength(2)
  })

  test("can be created again after its removal, with another ID", async () => {
    const id = await authorize("nobody", ["admin"])
    const { deletionDate } = await estate.as("manager", "deleteAuthorization", { id })
    expect(timestampMs(deletionDate)).toBe(estate.clock.now())
    expect(heldRoles("nobody")).toEqual([])
    expect(await listAuthorizations()).toEqual([])
    expect(() => estate.as("manager", "deleteAuthorization", { id })).toThrow(
      "authorization not found",
    )
    expect(await authorize("nobody")).not.toBe(id)
  })

  test("has its roles replaced; the same roles change nothing", async () => {
    const id = await authorize("nobody", ["admin"])
    const update = async (roleKeys: readonly string[]) => {
      estate.clock.advance(1000)
      const { changeDate } = await estate.as("manager", "updateAuthorization", { id, roleKeys })
      return estate.clock.now() - timestampMs(changeDate)
    }
    expect(await update(["Reader", "editor"])).toBe(0)
    expect(heldRoles("nobody")).toEqual([{ orgId: "org1", keys: ["Reader", "editor"] }])
    expect(await update(["editor", "Reader"])).toBe(1000)
    expect(await update([])).toBe(0)
    expect(heldRoles("nobody")).toEqual([{ orgId: "org1", keys: [] }])
  })

  test("grants roles while it is active, and keeps them while it is not", async () => {
    const id = await authorize("nobody", ["admin"])
    const turn = (name: string) => estate.as("manager", name, { id })
    await turn("deactivateAuthorization")
    expect(heldRoles("nobody")).toEqual([])
    expect((await listAuthorizations())[0]).toMatchObject({ state: 2, roles: [{ key: "admin" }] })
    const { changeDate } = await turn("deactivateAuthorization")
    estate.clock.advance(1000)
    expect(timestampMs((await turn("deactivateAuthorization")).changeDate)).toBe(
      timestampMs(changeDate),
    )
    await turn("activateAuthorization")
    expect(heldRoles("nobody")).toEqual([{ orgId: "org1", keys: ["admin"] }])
  })

  test("is removed with its user", async () => {
    const id = await authorize("nobody", ["admin"])
    await removeUser(estate.cx(), "nobody")
    expect(await listAuthorizations()).toEqual([])
    expect(() => estate.as("manager", "activateAuthorization", { id })).toThrow(
      "authorization not found",
    )
  })

  test("is removed with its project", async () => {
    const id = await authorize("nobody", ["admin"])
    await estate.as("manager", "deleteProject", { projectId: "p1" })
    expect(await listAuthorizations()).toEqual([])
    expect(heldRoles("nobody")).toEqual([])
    expect(() => estate.as("manager", "updateAuthorization", { id })).toThrow(
      "authorization not found",
    )
  })
})

describe("a role that is removed from the project", () => {
  const remove = () =>
    estate.as("manager", "removeProjectRole", { projectId: "p1", roleKey: "admin" })
  const bring = () =>
    estate.as("manager", "addProjectRole", {
      projectId: "p1",
      roleKey: "admin",
      displayName: "New",
    })

  test("is removed from all users, and does not return with its key", async () => {
    const id = await authorize("nobody", ["admin", "editor"])
    await remove()
    expect(heldRoles("nobody")).toEqual([{ orgId: "org1", keys: ["editor"] }])
    expect((await listAuthorizations())[0].roles).toMatchObject([{ key: "editor" }])
    await bring()
    expect(heldRoles("nobody")).toEqual([{ orgId: "org1", keys: ["editor"] }])
    const byKey = { filters: [{ filter: { case: "roleKey", value: { key: "admin" } } }] }
    expect(await listAuthorizations("manager", byKey)).toEqual([])

    // A later use of the key refers to the new role.
    await estate.as("manager", "updateAuthorization", { id, roleKeys: ["admin", "editor"] })
    expect(heldRoles("nobody")).toEqual([{ orgId: "org1", keys: ["admin", "editor"] }])
    expect(await listAuthorizations("manager", byKey)).toHaveLength(1)
  })

  test("can't be granted any more", async () => {
    await remove()
    await expect(authorize("nobody", ["admin"])).rejects.toMatchObject({
      id: "authorization.role_unknown",
    })
  })
})

describe("it is rejected", () => {
  const cases: readonly (readonly [string, object, string])[] = [
    ["a role that the project lacks", { roleKeys: ["root"] }, "failed_precondition"],
    ["a role of another spelling", { roleKeys: ["reader"] }, "failed_precondition"],
    ["what only looks like a role", { roleKeys: ["constructor"] }, "failed_precondition"],
    ["a role twice", { roleKeys: ["admin", "admin"] }, "invalid_argument"],
    ["a user who is not there", { userId: "absent" }, "not_found"],
    ["an organization that has not the project", { organizationId: "org2" }, "not_found"],
    ["an organization that is not there", { organizationId: "absent" }, "not_found"],
  ]
  test.each(cases)("%s", async (_, wrong, code) => {
    await expect(authorize("nobody", [], wrong)).rejects.toMatchObject({ code })
    expect(await listAuthorizations("owner")).toEqual([])
  })

  test("an inaccessible user, like an unknown one", async () => {
    const refusal = (userId: string) => authorize(userId).catch((fault) => ({ ...fault }))
    const { message, ...foreign } = await refusal("stranger")
    expect(foreign.code).toBe("not_found")
    expect({ message, ...foreign }).toEqual(await refusal("absent"))
  })

  test("a deleted user", async () => {
    await estate.step((tx) => addUser(tx, "leaver", humanInput("leaver", "org1")))
    await removeUser(estate.cx(), "leaver")
    expect(findUserChain(estate.cx(), "leaver")).toBeUndefined()
    await expect(authorize("leaver")).rejects.toMatchObject({ id: "user.missing" })
  })
})

test("callers who can read a user of another organization can authorize them", async () => {
  const { id } = await estate.as(
    "owner",
    "createAuthorization",
    authorizationRequest("stranger", ["admin"]),
  )
  expect(heldRoles("stranger")).toEqual([{ orgId: "org1", keys: ["admin"] }])
  expect((await listAuthorizations("stranger")).map((each: { id: string }) => each.id)).toEqual([
    id,
  ])
  expect((await listAuthorizations())[0].user.organizationId).toBe("org2")
})

describe("permissions", () => {
  const operations: readonly (readonly [string, object])[] = [
    ["updateAuthorization", { roleKeys: ["admin"] }],
    ["deactivateAuthorization", {}],
    ["activateAuthorization", {}],
    ["deleteAuthorization", {}],
  ]
  for (const [name, request] of operations) {
    test(`${name}: owner and manager, not another's manager, not who is authorized`, async () => {
      const id = await authorize("nobody", ["editor"])
      const by = (user: TenantUser, entry = id) => estate.as(user, name, { ...request, id: entry })
      expect(() => by("stranger")).toThrow("authorization not found")
      expect(() => by("stranger", "absent")).toThrow("authorization not found")
      expect(() => by("nobody")).toThrow("permission denied: user.grant.")
      await by("owner")
      if (name !== "deleteAuthorization") await by("manager")
    })
  }

  test("createAuthorization: only on a project of one's own organization", async () => {
    const tried = (user: TenantUser) => () =>
      estate.as(
        user,
        "createAuthorization",
        authorizationRequest("nobody", [], { organizationId: "org1" }),
      )
    expect(tried("stranger")).toThrow("project not found")
    expect(tried("nobody")).toThrow("permission denied: user.grant.write is required")
    const there = { projectId: "p2", organizationId: "org2" }
    expect(() =>
      estate.as("manager", "createAuthorization", authorizationRequest("nobody", [], there)),
    ).toThrow("project not found")
  })

  test("a project administrator authorizes on that project only", async () => {
    await estate.step((tx) =>
      addMember(tx, {
        userId: "nobody",
        target: { level: "project", id: "p1" },
        roles: ["PROJECT_OWNER"],
      }),
    )
    await estate.as("manager", "createProject", {
      organizationId: "org1",
      projectId: "p3",
      name: "Three",
    })
    await authorize("manager", [], { projectId: "p3" })
    await estate.as("nobody", "createAuthorization", authorizationRequest("manager", ["admin"]))
    const there = { projectId: "p3" }
    expect(() =>
      estate.as("nobody", "createAuthorization", authorizationRequest("owner", [], there)),
    ).toThrow("project not found")
    expect(await listAuthorizations("nobody")).toMatchObject([{ project: { id: "p1" } }])
  })

  test("users read their own authorizations, and others as their roles permit", async () => {
    await authorize("nobody")
    await authorize("manager")
    await estate.as(
      "stranger",
      "createAuthorization",
      authorizationRequest("stranger", [], { projectId: "p2", organizationId: "org2" }),
    )
    const users = async (caller: TenantUser) =>
      (await listAuthorizations(caller)).map(({ user }: { user: { id: string } }) => user.id)
    expect(await users("owner")).toEqual(["nobody", "manager", "stranger"])
    expect(await users("manager")).toEqual(["nobody", "manager"])
    expect(await users("nobody")).toEqual(["nobody"])
    expect(await users("stranger")).toEqual(["stranger"])
  })
})

describe("a list", () => {
  beforeEach(async () => {
    await authorize("nobody", ["admin", "Reader"])
    estate.clock.advance(1000)
    await authorize("manager", ["editor"])
    estate.clock.advance(1000)
    const id = await authorize("owner")
    await estate.as("manager", "deactivateAuthorization", { id })
  })

  const text = (value: string, method = 0, name = "key") => ({ [name]: value, method })
  const cases: readonly (readonly [string, object, readonly string[]])[] = [
    ["organizationId", { id: "org1" }, ["nobody", "manager", "owner"]],
    ["organizationId", { id: "org2" }, []],
    ["state", { state: 1 }, ["nobody", "manager"]],
    ["state", { state: 2 }, ["owner"]],
    ["inUserIds", { ids: ["owner", "absent"] }, ["owner"]],
    ["userOrganizationId", { id: "org1" }, ["nobody", "manager", "owner"]],
    ["userOrganizationId", { id: "org2" }, []],
    ["userPreferredLoginName", text("MANAGE", 3, "loginName"), ["manager"]],
    ["userDisplayName", text("y person", 5, "displayName"), ["nobody"]],
    ["projectId", { id: "p1" }, ["nobody", "manager", "owner"]],
    ["projectId", { id: "p2" }, []],
    ["projectName", text("name p1", 1, "name"), ["nobody", "manager", "owner"]],
    ["projectGrantId", { id: "g1" }, []],
    ["roleKey", text("admin"), ["nobody"]],
    ["roleKey", text("Admin"), []],
    ["roleKey", text("ADMIN", 1), ["nobody"]],
    ["roleKey", text("read", 2), []],
    ["roleKey", text("read", 3), ["nobody"]],
    ["roleKey", text("dit", 4), ["manager"]],
    ["roleKey", text("OR", 7), ["manager"]],
    ["roleKey", text("min", 2), []],
    ["roleKey", text("admin\nReader", 4), []],
  ]
  test.each(cases)("is filtered by %s %j", async (kind, value, users) => {
    const found = await listAuthorizations("manager", {
      filters: [{ filter: { case: kind, value } }],
    })
    expect(found.map(({ user }: { user: { id: string } }) => user.id)).toEqual(users)
  })

  test("is filtered by IDs, and sorted", async () => {
    const all = await listAuthorizations()
    const ids = all.map(({ id }: { id: string }) => id)
    const some = { filters: [{ filter: { case: "authorizationIds", value: { ids: [ids[1]] } } }] }
    expect(await listAuthorizations("manager", some)).toMatchObject([{ id: ids[1] }])
    const by = async (sortingColumn: number) =>
      (await listAuthorizations("manager", { sortingColumn })).map(
        ({ user }: { user: { id: string } }) => user.id,
      )
    for (const column of [0, 1, 2, 3, 5, 6, 7]) {
      expect(await by(column)).toEqual(["nobody", "manager", "owner"])
    }
    expect(await by(4)).toEqual(["manager", "nobody", "owner"])
  })

  test.each([
    ["an empty filter", {}],
    ["no state", { filter: { case: "state", value: {} } }],
  ])("rejects %s", async (_, filter) => {
    await expect(listAuthorizations("manager", { filters: [filter] })).rejects.toMatchObject({
      code: "invalid_argument",
    })
  })
})

describe("access to a project", () => {
  const may = (userId: string, projectId = "p1") => projectAccessOf(estate.cx(), userId, projectId)
  const check = (change: object) =>
    estate.as("manager", "updateProject", { projectId: "p1", ...change })

  test("is unrestricted by default", () => {
    expect(["nobody", "stranger"].map((user) => may(user))).toEqual(["yes", "yes"])
  })

  test("requires an authorization if the project requires one", async () => {
    await check({ authorizationRequired: true })
    expect(may("nobody")).toBe("no roles")
    const id = await authorize("nobody")
    expect(may("nobody")).toBe("yes")
    expect(may("manager")).toBe("no roles")
    await estate.as("manager", "deactivateAuthorization", { id })
    expect(may("nobody")).toBe("no roles")
    await estate.as("manager", "activateAuthorization", { id })
    await estate.as("manager", "updateAuthorization", { id, roleKeys: ["admin"] })
    expect(may("nobody")).toBe("yes")
    await estate.as("manager", "removeProjectRole", { projectId: "p1", roleKey: "admin" })
    expect(may("nobody")).toBe("no roles")
    await estate.as("manager", "deleteAuthorization", { id })
    expect(may("nobody")).toBe("no roles")
  })

  test("needs an organization that has the project where it asks for that", async () => {
    await check({ projectAccessRequired: true })
    expect(may("nobody")).toBe("yes")
    expect(may("stranger")).toBe("no project")
    await estate.as("owner", "createAuthorization", authorizationRequest("stranger"))
    expect(may("stranger")).toBe("no project")
    await check({ projectAccessRequired: false, authorizationRequired: true })
    expect(may("stranger")).toBe("yes")
  })
})
