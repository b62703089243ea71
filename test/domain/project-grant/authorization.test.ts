import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { mayEnter, rolesHeld } from "../../../src/domain/authorization/index.ts"
import { deactivateOrganization, removeOrganization } from "../../../src/domain/org/index.ts"
import { addRoles, changeProject, removeRole } from "../../../src/domain/project/index.ts"
import { type Granting, grant, openGranting, roleOf } from "./estate.ts"

let estate: Granting
beforeEach(async () => {
  estate = await openGranting()
})
afterEach(() => estate.close())

const asked = (userId: string, roleKeys: readonly string[], organizationId: string) => ({
  userId,
  roleKeys,
  organizationId,
  projectId: "p1",
})

/** By the manager of org2, in its name. */
const authorize = async (userId: string, roleKeys: readonly string[] = []) => {
  const request = asked(userId, roleKeys, "org2")
  return (await estate.as("stranger", "createAuthorization", request)).id as string
}

const listed = async (who: string, orgId: string, request: object = {}) => {
  const answer = await estate.by(who, orgId, "listAuthorizations", {
    pagination: { asc: true },
    ...request,
  })
  expect(answer.pagination.totalResult).toBe(BigInt(answer.authorizations.length))
  return answer.authorizations
}

const held = (userId = "guest") => rolesHeld(estate.cx(), userId, "p1")
const enters = (userId = "guest") => mayEnter(estate.cx(), userId, "p1")
const turn = (name: string) => estate.as("manager", name, grant)
const regrant = (roleKeys: readonly string[]) =>
  estate.as("manager", "updateProjectGrant", { ...grant, roleKeys })

describe("an authorization over a grant", () => {
  test("names the organisation that gives it, in lists and in roles", async () => {
    const id = await authorize("guest", ["editor"])
    expect(held()).toEqual([{ orgId: "org2", keys: ["editor"] }])
    expect(await listed("stranger", "org2")).toMatchObject([
      {
        id,
        project: { id: "p1", name: "Portal", organizationId: "org1" },
        organization: { id: "org2", name: "Globex" },
        user: { id: "guest", organizationId: "org2" },
        roles: [{ key: "editor" }],
      },
    ])
  })

  test("stands beside what the owner of the project gives", async () => {
    await authorize("guest", ["editor"])
    await estate.as("owner", "createAuthorization", asked("guest", ["auditor"], "org1"))
    expect(held().toSorted((a, b) => a.orgId.localeCompare(b.orgId))).toEqual([
      { orgId: "org1", keys: ["auditor"] },
      { orgId: "org2", keys: ["editor"] },
    ])
    await expect(authorize("guest")).rejects.toMatchObject({ id: "authorization.exists" })
    await turn("deleteProjectGrant")
    expect(held()).toEqual([{ orgId: "org1", keys: ["auditor"] }])
  })

  test("has the roles that were granted, and no others", async () => {
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
    expect(held()).toEqual([{ orgId: "org2", keys: ["editor"] }])
  })

  test("loses a role with the grant, which does not come back with its key", async () => {
    const id = await authorize("guest", ["admin", "editor"])
    await regrant(["editor"])
    expect(held()).toEqual([{ orgId: "org2", keys: ["editor"] }])
    await regrant(["editor", "admin"])
    expect(held()).toEqual([{ orgId: "org2", keys: ["editor"] }])
    const byKey = { filters: [{ filter: { case: "roleKey", value: { key: "admin" } } }] }
    expect(await listed("stranger", "org2", byKey)).toEqual([])
    expect((await listed("stranger", "org2"))[0].roles).toMatchObject([{ key: "editor" }])

    const roleKeys = ["admin", "editor"]
    await estate.as("stranger", "updateAuthorization", { id, roleKeys })
    expect(held()).toEqual([{ orgId: "org2", keys: roleKeys }])
    expect(await listed("stranger", "org2", byKey)).toHaveLength(1)
  })

  test("loses a role with the project, until it is granted and given anew", async () => {
    const id = await authorize("guest", ["admin"])
    const give = () => estate.as("stranger", "updateAuthorization", { id, roleKeys: ["admin"] })
    const shown = async () => (await listed("stranger", "org2"))[0].roles
    await removeRole(estate.cx(), "p1", "admin")
    await addRoles(estate.cx(), "p1", [roleOf("admin")])
    expect(held()).toEqual([{ orgId: "org2", keys: [] }])
    expect(await shown()).toEqual([])
    await expect(give()).rejects.toMatchObject({ id: "authorization.role_unknown" })
    await regrant(["admin", "editor"])
    expect(held()).toEqual([{ orgId: "org2", keys: [] }])
    await give()
    expect(held()).toEqual([{ orgId: "org2", keys: ["admin"] }])
    expect(await shown()).toMatchObject([{ key: "admin" }])
  })

  test("is narrowed by its grant", async () => {
    await authorize("guest")
    await estate.as("owner", "createAuthorization", asked("guest", [], "org1"))
    const { administrators } = await grantOf()
    const by = (id: string) => ({
      filters: [{ filter: { case: "projectGrantId", value: { id } } }],
    })
    const found = await listed("owner", "org1", by(administrators[0].resource.value.id))
    expect(found).toMatchObject([{ organization: { id: "org2" } }])
    expect(await listed("owner", "org1", by("absent"))).toEqual([])
    const { filters } = by(administrators[0].resource.value.id)
    const role = { filter: { case: "roleKey", value: { key: "admin" } } }
    expect(await listed("owner", "org1", { filters: [role, ...filters] })).toEqual([])
  })

  test("is not given while the grant is deactivated", async () => {
    await turn("deactivateProjectGrant")
    await expect(authorize("guest")).rejects.toMatchObject({ id: "authorization.grant_inactive" })
  })

  test("can't be changed any more when the grant is gone, and is not listed", async () => {
    const id = await authorize("guest", ["admin"])
    await turn("deleteProjectGrant")
    for (const name of ["update", "deactivate", "activate", "delete"]) {
      expect(() => estate.as("stranger", `${name}Authorization`, { id })).toThrow("no such")
      expect(() => estate.as("owner", `${name}Authorization`, { id })).toThrow("no such")
    }
    expect(await listed("owner", "org1")).toEqual([])
    await estate.as("manager", "createProjectGrant", { ...grant, roleKeys: ["admin"] })
    expect(held()).toEqual([])
  })
})

test("nothing counts that an organisation gave which is gone, before it is cleared", async () => {
  const id = await authorize("guest", ["admin"])
  await estate.as("owner", "createAuthorization", asked("nobody", ["admin"], "org2"))
  expect(held("nobody")).toEqual([{ orgId: "org2", keys: ["admin"] }])
  await removeOrganization(estate.cx(), "org2")
  expect(held("nobody")).toEqual([])
  expect(() => estate.as("owner", "createAuthorization", asked("owner", [], "org2"))).toThrow(
    "no such project",
  )
  expect(() => estate.as("owner", "activateAuthorization", { id })).toThrow("no such")
  const { projectId, grantedOrganizationId: organizationId } = grant
  const resource = { resource: { case: "projectGrant", value: { projectId, organizationId } } }
  const seat = { userId: "nobody", resource, roles: ["PROJECT_GRANT_OWNER"] }
  expect(() => estate.as("owner", "createAdministrator", seat)).toThrow("no such project grant")
})

const grantOf = async () => {
  await estate.manageGrant("other")
  return estate.as("owner", "listAdministrators", {
    filters: [{ filter: { case: "inUserIdsFilter", value: { ids: ["other"] } } }],
  })
}

describe("who may authorize in the name of an organisation", () => {
  const ask = (who: string, orgId: string, request: object) => () =>
    estate.by(who, orgId, "createAuthorization", request)

  test("its managers, and administrators of the grant", async () => {
    await estate.manageGrant("other")
    await ask("other", "org2", asked("guest", ["admin"], "org2"))()
    expect(held()).toEqual([{ orgId: "org2", keys: ["admin"] }])
    expect(ask("guest", "org2", asked("other", [], "org2"))).toThrow("needs the permission")
  })

  test("not the owner of the project, nor anybody else", async () => {
    expect(ask("manager", "org1", asked("guest", [], "org2"))).toThrow("no such project")
    expect(ask("third", "org3", asked("third", [], "org2"))).toThrow("no such project")
    expect(ask("third", "org3", asked("third", [], "org3"))).toThrow("no such project")
    expect(ask("stranger", "org2", asked("guest", [], "org1"))).toThrow("no such project")
  })

  test("a viewer of the grant looks, and gives nothing", async () => {
    await authorize("guest")
    await estate.manageGrant("other", "PROJECT_GRANT_OWNER_VIEWER")
    expect(await listed("other", "org2")).toHaveLength(1)
    expect(ask("other", "org2", asked("other", [], "org2"))).toThrow("needs the permission")
  })

  test("users of other organisations are not found, as those who are not there", async () => {
    const refusal = (userId: string) => authorize(userId).catch((fault) => ({ ...fault }))
    const foreign = await refusal("third")
    expect(foreign.id).toBe("user.missing")
    expect(foreign).toEqual(await refusal("absent"))
  })
})

describe("who sees and ends it", () => {
  test("who gives it, who owns the project, the user; nobody else", async () => {
    const id = await authorize("guest", ["admin"])
    const ids = async (who: string, orgId: string) =>
      (await listed(who, orgId)).map((each: any) => each.id)
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
    const end = (who: string, orgId: string) => () =>
      estate.by(who, orgId, "deactivateAuthorization", { id })
    expect(end("third", "org3")).toThrow("no such authorization")
    expect(end("guest", "org2")).toThrow("needs the permission")
    await end("manager", "org1")()
    expect(held()).toEqual([])
  })
})

describe("a project that asks for it", () => {
  const ways: readonly (readonly [string, () => Promise<unknown>, () => Promise<unknown>])[] = [
    [
      "the grant is deactivated",
      () => turn("deactivateProjectGrant"),
      () => turn("activateProjectGrant"),
    ],
    [
      "the organisation that has it is deactivated",
      () => deactivateOrganization(estate.cx(), "org2"),
      () => estate.as("owner", "activateOrganization", { organizationId: "org2" }),
    ],
  ]

  test.each(ways)("lets in who is authorized over a grant, until %s", async (_, stop, go) => {
    await changeProject(estate.cx(), "p1", { projectRoleCheck: true })
    expect(enters()).toBe("no roles")
    await authorize("guest", ["admin"])
    expect(enters()).toBe("yes")
    await stop()
    expect(enters()).toBe("no roles")
    expect(held()).toEqual([])
    await go()
    expect(enters()).toBe("yes")
  })

  test.each(ways)("lets in the users of who was granted it, until %s", async (_, stop, go) => {
    await changeProject(estate.cx(), "p1", { hasProjectCheck: true })
    expect(enters("nobody")).toBe("yes")
    expect(enters()).toBe("yes")
    expect(enters("third")).toBe("no project")
    await stop()
    expect(enters()).toBe("no project")
    await go()
    expect(enters()).toBe("yes")
  })

  test("lets nobody in whose roles were all taken from the grant", async () => {
    await changeProject(estate.cx(), "p1", { projectRoleCheck: true })
    await authorize("guest", ["admin"])
    await authorize("other")
    await regrant(["editor"])
    expect(enters()).toBe("no roles")
    expect(enters("other")).toBe("yes")
    await turn("deleteProjectGrant")
    expect(enters("other")).toBe("no roles")
  })
})
