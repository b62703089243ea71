import { afterEach, beforeEach, expect, test } from "vitest"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  await act("manager", "createProject", { organizationId: "org1", projectId: "p1", name: "One" })
})
afterEach(() => estate.close())

const act = async (user: TenantUser, name: string, request: object = {}, call = {}) =>
  estate.as(user, name, request, call)
const of = (name: string, value: unknown) => ({ resource: { resource: { case: name, value } } })
const p1 = of("projectId", "p1")
const newest = async (user: TenantUser, request: object): Promise<any> =>
  (await act(user, "listChanges", { ...request, limit: 1 })).changes[0]
const undo = (user: TenantUser, request: object, sequence: bigint) =>
  act(user, "undoChange", { ...request, sequence })
const getUndo = (user: TenantUser, request: object, sequence: bigint) =>
  act(user, "getUndo", { ...request, sequence })

/**
 * Undoes the newest change of a resource, and returns the fields that still differ from the state
 * before.
 */
async function undoNewest(user: TenantUser, request: object): Promise<readonly string[]> {
  const { sequence, position } = await newest("owner", request)
  const shown = await getUndo(user, request, sequence)
  expect(shown).toMatchObject({ possible: true, refusal: "" })
  const done = await undo(user, request, sequence)
  expect(done.operation).toBe(shown.operation)
  const from = { moment: { case: "position", value: position - 1n } }
  const { differences } = await act("owner", "getDifferences", { ...request, from })
  return differences.map(({ path }: any) => path.join("."))
}

const refusalOf = async (user: TenantUser, request: object, sequence: bigint) =>
  (await getUndo(user, request, sequence)).refusal

test("offers an undo only if it would change something", async () => {
  const offered = async () =>
    (await act("manager", "listChanges", p1)).changes.map(({ undoable }: any) => undoable)
  await act("manager", "updateProject", { projectId: "p1", name: "Two" })
  expect(await offered()).toEqual([true, false])
  await act("manager", "updateProject", { projectId: "p1", name: "One" })
  // The first change is undone; its undo can be undone.
  expect(await offered()).toEqual([true, false, false])
  expect(await refusalOf("manager", p1, 2n)).toBe("history.undo_done")
  await undo("manager", p1, 3n)
  expect(await offered()).toEqual([true, false, true, false])
})

test("an undo lists its fields, is a new change, and can be undone itself", async () => {
  await act("manager", "updateProject", { projectId: "p1", name: "Two" })
  const shown = await getUndo("manager", p1, 2n)
  expect(shown).toMatchObject({
    possible: true,
    operation: "core.project.v2.ProjectService/UpdateProject",
    types: ["project.changed"],
    lastSequence: 2n,
  })
  expect(shown.differences.map(({ words }: any) => words)).toEqual(["Name"])
  expect((await newest("manager", p1)).sequence).toBe(2n)
  expect(await undo("manager", p1, 2n)).toMatchObject({ sequence: 3n })
  expect(await newest("manager", p1)).toMatchObject({
    sequence: 3n,
    type: "project.changed",
    editor: { userId: "manager" },
  })
  expect(await undoNewest("manager", p1)).toEqual([])
  expect((await act("manager", "getProject", { projectId: "p1" })).project.name).toBe("Two")
})

test("only the changed fields are restored; fields that changed since are rejected", async () => {
  await act("manager", "updateProject", { projectId: "p1", name: "Two" })
  await act("manager", "updateProject", { projectId: "p1", authorizationRequired: true })
  await undo("manager", p1, 2n)
  const { project } = await act("manager", "getProject", { projectId: "p1" })
  expect(project).toMatchObject({ name: "One", authorizationRequired: true })
  expect(await refusalOf("manager", p1, 2n)).toBe("history.undo_done")
  await act("manager", "updateProject", { projectId: "p1", name: "Three" })
  expect(await refusalOf("manager", p1, 2n)).toBe("history.changed_since")
  await expect(undo("manager", p1, 2n)).rejects.toMatchObject({ id: "history.changed_since" })
  expect(await refusalOf("manager", p1, 99n)).toBe("history.change_missing")
})

test("callers without write access are rejected as by the operation itself", async () => {
  await act("manager", "updateProject", { projectId: "p1", name: "Two" })
  await act("owner", "createAdministrator", {
    userId: "nobody",
    resource: { resource: { case: "organizationId", value: "org1" } },
    roles: ["ORG_OWNER_VIEWER"],
  })
  expect(await refusalOf("nobody", p1, 2n)).toBe("access.denied")
  await expect(undo("nobody", p1, 2n)).rejects.toMatchObject({ code: "permission_denied" })
  for (const ask of [getUndo, undo])
    await expect(ask("stranger", p1, 2n)).rejects.toMatchObject({ code: "not_found" })
})

test("rank applies: changes to users with more permissions are rejected", async () => {
  await act("owner", "updateUser", { userId: "owner", username: "first" })
  const owner = of("userId", "owner")
  const { sequence } = await newest("owner", owner)
  expect(await refusalOf("manager", owner, sequence)).toBe("user.outranks_you")
})

test("rejects an undo if the resource has changed since the preview", async () => {
  await act("manager", "updateProject", { projectId: "p1", name: "Two" })
  await act("manager", "updateProject", { projectId: "p1", authorizationRequired: true })
  await expect(
    act("manager", "undoChange", { ...p1, sequence: 2n, lastSequence: 2n }),
  ).rejects.toMatchObject({ id: "history.moved" })
  const both = await Promise.allSettled([undo("manager", p1, 2n), undo("manager", p1, 3n)])
  expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"])
})

test("creations, deletions, secrets, and proofs have no undo, with the reason", async () => {
  expect(await refusalOf("manager", p1, 1n)).toBe("history.undo_creation")
  const { applicationId } = await act("manager", "createApplication", {
    projectId: "p1",
    name: "App",
    applicationType: { case: "oidcConfiguration", value: { redirectUris: ["https://a.example"] } },
  })
  const app = of("applicationId", applicationId)
  await act("manager", "generateClientSecret", { applicationId, projectId: "p1" })
  const { sequence } = await newest("manager", app)
  expect(await refusalOf("manager", app, sequence)).toBe("history.undo_secret")
  await act("manager", "updateUser", {
    userId: "nobody",
    userType: {
      case: "human",
      value: {
        password: { passwordType: { case: "password", value: { password: "Aa1!aaaa-x9" } } },
      },
    },
  })
  const nobody = of("userId", "nobody")
  const changed = await newest("manager", nobody)
  expect(changed.type).toBe("user.human.password.changed")
  expect(await refusalOf("manager", nobody, changed.sequence)).toBe("history.undo_proof")
})

test("rejects partial restorations with the field names, and secrets", async () => {
  const { applicationId } = await act("manager", "createApplication", {
    projectId: "p1",
    name: "App",
    applicationType: {
      case: "oidcConfiguration",
      value: { redirectUris: ["https://a.example/cb"], authMethodType: 0 },
    },
  })
  const value = { authMethodType: 3 }
  const applicationType = { case: "oidcConfiguration", value }
  await act("manager", "updateApplication", { applicationId, projectId: "p1", applicationType })
  const app = of("applicationId", applicationId)
  const { sequence } = await newest("manager", app)
  const { refusal: id, words } = await getUndo("manager", app, sequence)
  expect(id).toBe("history.undo_partly")
  expect(words).toContain("Secrets › ")
})

test("keyed values return to their former value or are removed", async () => {
  const keyed = (value: string) => ({
    userId: "nobody",
    metadata: [{ key: "team", value: Buffer.from(value) }],
  })
  const nobody = of("userId", "nobody")
  const held = async () => {
    const { metadata } = await act("manager", "listUserMetadata", { userId: "nobody" })
    return metadata.map(({ value }: any) => Buffer.from(value).toString())
  }
  await act("manager", "setUserMetadata", keyed("red"))
  await act("manager", "setUserMetadata", keyed("blue"))
  const { sequence } = await newest("manager", nobody)
  await undo("manager", nobody, sequence)
  expect(await held()).toEqual(["red"])
  expect(await refusalOf("manager", nobody, sequence - 1n)).toBe("history.changed_since")
  await undo("manager", nobody, sequence + 1n)
  expect(await held()).toEqual(["blue"])
  await act("manager", "addProjectRole", { projectId: "p1", roleKey: "a", displayName: "A" })
  await act("manager", "updateProjectRole", { projectId: "p1", roleKey: "a", displayName: "B" })
  await undo("manager", p1, (await newest("manager", p1)).sequence)
  const { projectRoles } = await act("manager", "listProjectRoles", { projectId: "p1" })
  expect(projectRoles[0].displayName).toBe("A")
})

test("user headers of a proxy are undone without its access rules", async () => {
  const { applicationId } = await act("manager", "createApplication", {
    projectId: "p1",
    name: "Wiki",
    applicationType: {
      case: "oidcConfiguration",
      value: {
        redirectUris: ["https://wiki.example.com/.latchkey/callback"],
        applicationType: 1,
        authMethodType: 2,
      },
    },
  })
  const wiki = of("applicationId", applicationId)
  const put = (forwardAuth: object) =>
    act("manager", "updateApplication", {
      projectId: "p1",
      applicationId,
      applicationType: { case: "oidcConfiguration", value: { forwardAuth } },
    })
  const now = async () =>
    (await act("manager", "getApplication", { applicationId })).application.configuration.value
      .forwardAuth
  const rule = { pathPrefix: "/admin", everybody: false, roleKeys: ["admin"] }
  const rules = [{ ...rule, accessTokens: true }]
  await put({ rules, remoteUser: 3, tokenForwarded: true })
  // Omitted fields stay.
  await put({ rules: [] })
  const emptied = { rules: [], remoteUser: 3, tokenForwarded: true }
  expect(await now()).toMatchObject(emptied)
  await put({ rules, remoteUser: 2, tokenForwarded: false })
  await undoNewest("manager", wiki)
  expect(await now()).toMatchObject(emptied)
  await put({ rules })
  await put({ rules: [rule] })
  await undoNewest("manager", wiki)
  expect(await now()).toMatchObject({ ...emptied, rules })
})

test("roles that need a confirmed promotion must be granted manually", async () => {
  const { id: userId } = await act("manager", "createUser", {
    organizationId: "org1",
    username: "prepared",
    userType: {
      case: "human",
      value: {
        profile: { givenName: "P", familyName: "Q" },
        email: { email: "p@example.com", verification: { case: "isVerified", value: true } },
      },
    },
  })
  const resource = { resource: { case: "organizationId", value: "org1" } }
  const grant = { userId, resource, roles: ["ORG_OWNER"] }
  await act("manager", "createAdministrator", grant)
  await act("manager", "deleteAdministrator", { userId, resource })
  const membership = of("stream", { instance: true, kind: "member", id: `org/org1/${userId}` })
  const { sequence } = await newest("owner", membership)
  expect(await refusalOf("owner", membership, sequence)).toBe("")
  await act("owner", "deactivateUser", { userId: "manager" })
  expect(await refusalOf("owner", membership, sequence)).toBe("history.undo_roles")
})
