import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { listRolesByOrg, projectAccessOf } from "../../../src/domain/authorization/index.ts"
import { deactivateOrganization, removeOrganization } from "../../../src/domain/org/index.ts"
import { addRoles, removeRole, updateProject } from "../../../src/domain/project/index.ts"
import { type GrantEstate, grant, openGrantEstate, roleOf } from "./estate.ts"

let estate: GrantEstate
beforeEach(async () => {
  estate = await openGrantEstate()
})
afterEach(() => estate.close())

const authorizationRequest = (
  userId: string,
  roleKeys: readonly string[],
  organizationId: string,
) => ({
  userId,
  roleKeys,
  organizationId,
  projectId: "p1",
})

/** Authorizes as the manager of org2, for that organization. */
const authorize = async (userId: string, roleKeys: readonly string[] = []) => {
  const request = authorizationRequest(userId, roleKeys, "org2")
  return (await estate.as("stranger", "createAuthorization", request)).id as string
}

const listAuthorizations = async (userName: string, orgId: string, request: object = {}) => {
  const answer = await estate.by(userName, orgId, "listAuthorizations", {
    pagination: { asc: true },
    ...request,
  })
  expect(answer.pagination.totalResult).toBe(BigInt(answer.authorizations.length))
  return answer.authorizations
}

const heldRoles = (userId = "guest") => listRolesByOrg(estate.cx(), userId, "p1")
const canEnter = (userId = "guest") => projectAccessOf(estate.cx(), userId, "p1")
const changeGrantState = (name: string) => estate.as("manager", name, grant)
const updateGrantRoles = (roleKeys: readonly string[]) =>
  estate.as("manager", "updateProjectGrant", { ...grant, roleKeys })

describe("an authorization over a grant", () => {
  test("contains the granting organization in lists and in roles", async () => {
    const id = await authorize("guest", ["editor"])
    expect(heldRoles()).toEqual([{ orgId: "org2", keys: ["editor"] }])
    expect(await listAuthorizations("stranger", "org2")).toMatchObject([
      {
        id,
        project: { id: "p1", name: "Portal", organizationId: "org1" },
        organization: { id: "org2", name: "Globex" },
        user: { id: "guest", organizationId: "org2" },
        roles: [{ key: "editor" }],
      },
    ])
  })

  test("exists next to one by the project owner", async () => {
    await authorize("guest", ["editor"])
    await estate.as(
      "owner",
      "createAuthorization",
      authorizationRequest("guest", ["auditor"], "org1"),
    )
    expect(heldRoles().toSorted((a, b) => a.orgId.localeCompare(b.orgId))).toEqual([
      { orgId: "org1", keys: ["auditor"] },
      { orgId: "org2", keys: ["editor"] },
    ])
    await expect(authorize("guest")).rejects.toMatchObject({ id: "authorization.exists" })
    await changeGrantState("deleteProjectGrant")
    expect(heldRoles()).toEqual([{ orgId: "org1", keys: ["auditor"] }])
  })

  test("has only granted roles", async () => {
    await expect(authorize("guest", ["auditor"])).rejects.toMatchObject({
      id: "authorization.role_unknown",
    })
    const id = await authorize("guest", ["admin"])
    const update = (roleKeys: readonly string[]) =>
      estate.as("stranger", "updateAuthorization", { id, roleKeys })
    await expect(update(["admin", "auditor"])).rejects.toMatchObject({
      id: "authorization.role_unknown",
    })
    await update(["editor"])
    expect(heldRoles()).toEqual([{ orgId: "org2", keys: ["editor"] }])
  })

  test("loses a role with the grant, and a new role with the same key does not restore it", async () => {
    const id = await authorize("guest", ["admin", "editor"])
    await updateGrantRoles(["editor"])
    expect(heldRoles()).toEqual([{ orgId: "org2", keys: ["editor"] }])
    await updateGrantRoles(["editor", "admin"])
    expect(heldRoles()).toEqual([{ orgId: "org2", keys: ["editor"] }])
    const byKey = { filters: [{ filter: { case: "roleKey", value: { key: "admin" } } }] }
    expect(await listAuthorizations("stranger", "org2", byKey)).toEqual([])
    expect((await listAuthorizations("stranger", "org2"))[0].roles).toMatchObject([
      { key: "editor" },
    ])

    const roleKeys = ["admin", "editor"]
    await estate.as("stranger", "updateAuthorization", { id, roleKeys })
    expect(heldRoles()).toEqual([{ orgId: "org2", keys: roleKeys }])
    expect(await listAuthorizations("stranger", "org2", byKey)).toHaveLength(1)
  })

  test("loses a role with the project, until it is granted again", async () => {
    const id = await authorize("guest", ["admin"])
    const give = () => estate.as("stranger", "updateAuthorization", { id, roleKeys: ["admin"] })
    const shown = async () => (await listAuthorizations("stranger", "org2"))[0].roles
    await removeRole(estate.cx(), "p1", "admin")
    await addRoles(estate.cx(), "p1", [roleOf("admin")])
    expect(heldRoles()).toEqual([{ orgId: "org2", keys: [] }])
    expect(await shown()).toEqual([])
    await expect(give()).rejects.toMatchObject({ id: "authorization.role_unknown" })
    await updateGrantRoles(["admin", "editor"])
    expect(heldRoles()).toEqual([{ orgId: "org2", keys: [] }])
    await give()
    expect(heldRoles()).toEqual([{ orgId: "org2", keys: ["admin"] }])
    expect(await shown()).toMatchObject([{ key: "admin" }])
  })

  test("is filtered by its grant", async () => {
    await authorize("guest")
    await estate.as("owner", "createAuthorization", authorizationRequest("guest", [], "org1"))
    const { administrators } = await grantOf()
    const by = (id: string) => ({
      filters: [{ filter: { case: "projectGrantId", value: { id } } }],
    })
    const found = await listAuthorizations("owner", "org1", by(administrators[0].resource.value.id))
    expect(found).toMatchObject([{ organization: { id: "org2" } }])
    expect(await listAuthorizations("owner", "org1", by("absent"))).toEqual([])
    const { filters } = by(administrators[0].resource.value.id)
    const role = { filter: { case: "roleKey", value: { key: "admin" } } }
    expect(await listAuthorizations("owner", "org1", { filters: [role, ...filters] })).toEqual([])
  })

  test("can't be created while the grant is deactivated", async () => {
    await changeGrantState("deactivateProjectGrant")
    await expect(authorize("guest")).rejects.toMatchObject({ id: "authorization.grant_inactive" })
  })

  test("can't be changed or listed after the grant is removed", async () => {
    const id = await authorize("guest", ["admin"])
    await changeGrantState("deleteProjectGrant")
    for (const name of ["update", "deactivate", "activate", "delete"]) {
      expect(() => estate.as("stranger", `${name}Authorization`, { id })).toThrow(
        "authorization not found",
      )
      expect(() => estate.as("owner", `${name}Authorization`, { id })).toThrow(
        "authorization not found",
      )
    }
    expect(await listAuthorizations("owner", "org1")).toEqual([])
    await estate.as("manager", "createProjectGrant", { ...grant, roleKeys: ["admin"] })
    expect(heldRoles()).toEqual([])
  })
})

test("nothing counts that an organization gave which is gone, before it is cleared", async () => {
  const id = await authorize("guest", ["admin"])
  await estate.as("owner", "createAuthorization", authorizationRequest("nobody", ["admin"], "org2"))
  expect(heldRoles("nobody")).toEqual([{ orgId: "org2", keys: ["admin"] }])
  await removeOrganization(estate.cx(), "org2")
  expect(heldRoles("nobody")).toEqual([])
  expect(() =>
    estate.as("owner", "createAuthorization", authorizationRequest("owner", [], "org2")),
  ).toThrow("project not found")
  expect(() => estate.as("owner", "activateAuthorization", { id })).toThrow(
    "authorization not found",
  )
  const { projectId, grantedOrganizationId: organizationId } = grant
  const resource = { resource: { case: "projectGrant", value: { projectId, organizationId } } }
  const seat = { userId: "nobody", resource, roles: ["PROJECT_GRANT_OWNER"] }
  expect(() => estate.as("owner", "createAdministrator", seat)).toThrow("project grant not found")
})

const grantOf = async () => {
  await estate.manageGrant("other")
  return estate.as("owner", "listAdministrators", {
    filters: [{ filter: { case: "inUserIdsFilter", value: { ids: ["other"] } } }],
  })
}

describe("who may authorize in the name of an organization", () => {
  const ask = (userName: string, orgId: string, request: object) => () =>
    estate.by(userName, orgId, "createAuthorization", request)

  test("its managers, and administrators of the grant", async () => {
    await estate.manageGrant("other")
    await ask("other", "org2", authorizationRequest("guest", ["admin"], "org2"))()
    expect(heldRoles()).toEqual([{ orgId: "org2", keys: ["admin"] }])
    expect(ask("guest", "org2", authorizationRequest("other", [], "org2"))).toThrow(
      "permission denied: user.grant.write is required",
    )
  })

  test("not the owner of the project, nor anybody else", async () => {
    expect(ask("manager", "org1", authorizationRequest("guest", [], "org2"))).toThrow(
      "project not found",
    )
    expect(ask("third", "org3", authorizationRequest("third", [], "org2"))).toThrow(
      "project not found",
    )
    expect(ask("third", "org3", authorizationRequest("third", [], "org3"))).toThrow(
      "project not found",
    )
    expect(ask("stranger", "org2", authorizationRequest("guest", [], "org1"))).toThrow(
      "project not found",
    )
  })

  test("a viewer of the grant reads, and can't authorize", async () => {
    await authorize("guest")
    await estate.manageGrant("other", "PROJECT_GRANT_OWNER_VIEWER")
    expect(await listAuthorizations("other", "org2")).toHaveLength(1)
    expect(ask("other", "org2", authorizationRequest("other", [], "org2"))).toThrow(
      "permission denied: user.grant.write is required",
    )
  })

  test("inaccessible users are not found", async () => {
    const refusal = (userId: string) => authorize(userId).catch((fault) => ({ ...fault }))
    const foreign = await refusal("third")
    expect(foreign.id).toBe("user.missing")
    expect(foreign).toEqual(await refusal("absent"))
  })
})

describe("permission to read and remove it", () => {
  test("the granting organization, the project owner, and the user; nobody else", async () => {
    const id = await authorize("guest", ["admin"])
    const ids = async (userName: string, orgId: string) =>
      (await listAuthorizations(userName, orgId)).map((each: any) => each.id)
    for (const [who, orgId] of [
      ["owner", "org1"],
      ["manager", "org1"],
      ["stranger", "org2"],
      ["guest", "org2"],
    ] as const) {
      expect([who, await ids(who, orgId)]).toEqual([who, [id]])
    }
    for (const [who, orgId] of [
      ["other", "org2"],
      ["nobody", "org1"],
      ["third", "org3"],
    ] as const) {
      expect([who, await ids(who, orgId)]).toEqual([who, []])
    }
    const end = (userName: string, orgId: string) => () =>
      estate.by(userName, orgId, "deactivateAuthorization", { id })
    expect(end("third", "org3")).toThrow("authorization not found")
    expect(end("guest", "org2")).toThrow("permission denied: user.grant.")
    await end("manager", "org1")()
    expect(heldRoles()).toEqual([])
  })
})

describe("a project that requires authorization", () => {
  const ways: readonly (readonly [string, () => Promise<unknown>, () => Promise<unknown>])[] = [
    [
      "the grant is deactivated",
      () => changeGrantState("deactivateProjectGrant"),
      () => changeGrantState("activateProjectGrant"),
    ],
    [
      "the organization that has it is deactivated",
      () => deactivateOrganization(estate.cx(), "org2"),
      () => estate.as("owner", "activateOrganization", { organizationId: "org2" }),
    ],
  ]

  test.each(ways)("admits users authorized through a grant until %s", async (_, stop, go) => {
    await updateProject(estate.cx(), "p1", { projectRoleCheck: true })
    expect(canEnter()).toBe("no roles")
    await authorize("guest", ["admin"])
    expect(canEnter()).toBe("yes")
    await stop()
    expect(canEnter()).toBe("no roles")
    expect(heldRoles()).toEqual([])
    await go()
    expect(canEnter()).toBe("yes")
  })

  test.each(ways)("admits users of organizations with a grant until %s", async (_, stop, go) => {
    await updateProject(estate.cx(), "p1", { hasProjectCheck: true })
    expect(canEnter("nobody")).toBe("yes")
    expect(canEnter()).toBe("yes")
    expect(canEnter("third")).toBe("no project")
    await stop()
    expect(canEnter()).toBe("no project")
    await go()
    expect(canEnter()).toBe("yes")
  })

  test("admits no user whose roles were all removed from the grant", async () => {
    await updateProject(estate.cx(), "p1", { projectRoleCheck: true })
    await authorize("guest", ["admin"])
    await authorize("other")
    await updateGrantRoles(["editor"])
    expect(canEnter()).toBe("no roles")
    expect(canEnter("other")).toBe("yes")
    await changeGrantState("deleteProjectGrant")
    expect(canEnter("other")).toBe("no roles")
  })
})
