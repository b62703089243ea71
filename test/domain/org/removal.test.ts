import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { addApplication, findClient } from "../../../src/domain/app/index.ts"
import { addMember, listMemberships } from "../../../src/domain/member/index.ts"
import { addDomain, findOrgByDomain } from "../../../src/domain/org/index.ts"
import { organizationRemoval, removeOwnedResources } from "../../../src/domain/org-cascade/index.ts"
import { addProject } from "../../../src/domain/project/index.ts"
import { addGrant } from "../../../src/domain/project-grant/index.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { runReactors, statement } from "../../../src/store/index.ts"
import { humanInput, openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const deleteOrg = (organizationId = "org2", user: TenantUser = "owner") =>
  estate.as(user, "deleteOrganization", { organizationId })

/** More users and projects than one step or the awaited steps can remove. */
async function addUsersAndProjects(users = 120): Promise<void> {
  await estate.step((tx) => {
    for (let at = 0; at < users; at++) addUser(tx, `u${at}`, humanInput(`u${at}`, "org2"))
    addProject(tx, "p2", { orgId: "org2", name: "Two" })
    for (let at = 0; at < 7; at++) addProject(tx, `x${at}`, { orgId: "org2", name: `X${at}` })
    addApplication(tx, "a2", {
      projectId: "p2",
      name: "App",
      clientId: "client-2",
      config: { kind: "oidc", oidc: { redirectUris: ["https://app.example.com/cb"] } },
    })
    addMember(tx, { userId: "nobody", target: { level: "org", id: "org2" }, roles: ["ORG_OWNER"] })
  })
  await estate.as("stranger", "createGroup", { organizationId: "org2", id: "g2", name: "Group" })
}

describe("removing an organization", () => {
  test("removes everything for everybody immediately", async () => {
    await addUsersAndProjects()
    await deleteOrg()
    const cx = estate.cx()
    expect(findOrgByDomain(cx, "globex.id.example.com")).toBeUndefined()
    expect(listMemberships(cx, "nobody")).toEqual([])
    for (const id of ["u0", "u119", "stranger"]) expect(findByLoginName(cx, id), id).toBeUndefined()
    const refused: readonly [string, object][] = [
      ["updateOrganization", { organizationId: "org2", name: "Back" }],
      ["activateOrganization", { organizationId: "org2" }],
      ["deleteOrganization", { organizationId: "org2" }],
      ["addOrganizationDomain", { organizationId: "org2", domain: "example.org" }],
      ["setOrganizationMetadata", { organizationId: "org2", metadata: [] }],
      ["createProject", { organizationId: "org2", name: "More" }],
      ["getProject", { projectId: "p2" }],
      ["getApplication", { applicationId: "a2" }],
      ["getUserByID", { userId: "u119" }],
      ["getGroup", { id: "g2" }],
      ["deactivateUser", { userId: "u119" }],
      ["createUser", { organizationId: "org2", userType: { case: "human", value: {} } }],
    ]
    for (const [name, request] of refused) {
      await expect(async () => estate.as("owner", name, request), name).rejects.toMatchObject({
        code: "not_found",
      })
    }
    const { result } = await estate.as("owner", "listOrganizations")
    expect(result.map(({ id }: { id: string }) => id)).toEqual(["org1"])
    const { pagination } = await estate.as("owner", "listGroups")
    expect(pagination.totalResult).toBe(0n)
    expect((await estate.as("owner", "listUsers")).details.totalResult).toBe(3n)
    expect((await estate.as("owner", "listProjects")).pagination.totalResult).toBe(1n)
  })

  test("continues in the background until nothing remains, however often it is retried", async () => {
    await addUsersAndProjects(1200)
    await deleteOrg()
    const cx = estate.cx()
    await removeOwnedResources(cx, "org2")
    await removeOwnedResources(cx, "org2")
    const { details } = await estate.as("owner", "listUsers")
    expect(details.totalResult).toBe(3n)
    expect(findClient(cx, "client-2")).toBeUndefined()
    const { pagination } = await estate.as("owner", "listProjects")
    expect(pagination.totalResult).toBe(1n)
    // Names and domains are free again, IDs are not.
    await estate.step((tx) => addUser(tx, "anna", humanInput("u119", "org1")))
    await addDomain(cx, "org1", { domain: "globex.example", isUsed: () => false })
    await estate.as("owner", "addOrganization", { name: "Globex", organizationId: "org4" })
    expect(findOrgByDomain(cx, "globex.id.example.com")).toBe("org4")
    const again = estate.as("owner", "addOrganization", { name: "X", organizationId: "org2" })
    await expect(again).rejects.toMatchObject({ id: "org.exists" })
  })

  test("ends its project grants immediately, however many", async () => {
    const ids = Array.from({ length: 60 }, (_, at) => `g${at}`)
    await estate.step((tx) => {
      for (const id of ids) {
        addProject(tx, `of-${id}`, { orgId: "org1", name: id })
        addGrant(tx, id, { projectId: `of-${id}`, grantedOrgId: "org2", roleKeys: [] })
      }
    })
    const look = (grantId: string) =>
      estate.as("manager", "getGrantedProjectByID", { projectId: `of-${grantId}`, grantId })
    for (const id of ids) expect((await look(id)).grantedProject).toMatchObject({ grantId: id })
    await deleteOrg()
    for (const id of ids) expect(() => look(id), id).toThrow("project grant not found")
  })

  test("is resumed by the process wherever it stopped", async () => {
    await addUsersAndProjects(1200)
    await deleteOrg()
    expect((await estate.as("owner", "listUsers")).details.totalResult).toBeGreaterThan(100n)
    const call = (instance: string) => estate.cx({ instance })
    await runReactors(estate.store, estate.clock, [organizationRemoval(call)]).drain()
    const { details } = await estate.as("owner", "listUsers")
    expect(details.totalResult).toBe(3n)
    const { pagination } = await estate.as("owner", "listProjects")
    expect(pagination.totalResult).toBe(1n)
  })

  test("removes its project grants and their authorizations", async () => {
    await estate.step((tx) => addProject(tx, "p1", { orgId: "org1", name: "One" }))
    const grant = { projectId: "p1", grantedOrganizationId: "org2" }
    await estate.as("manager", "createProjectGrant", grant)
    await estate.as("stranger", "createAuthorization", {
      userId: "stranger",
      projectId: "p1",
      organizationId: "org2",
    })
    await deleteOrg()
    const { pagination } = await estate.as("manager", "listProjectGrants")
    expect(pagination.totalResult).toBe(0n)
    const given = await estate.as("manager", "listAuthorizations")
    expect(given.pagination.totalResult).toBe(0n)
    await expect(async () =>
      estate.as("manager", "createProjectGrant", grant),
    ).rejects.toMatchObject({ code: "not_found" })
  })

  test("is allowed for instance owners only", async () => {
    expect(() => deleteOrg("org1", "stranger")).toThrow("organization not found")
    expect(() => deleteOrg("org1", "nobody")).toThrow("org.delete")
    expect(() => deleteOrg("absent", "owner")).toThrow("organization not found")
    expect(await deleteOrg("org2", "stranger")).toHaveProperty("deletionDate")
    expect(() => estate.as("stranger", "listOrganizations")).toThrow("org.read")
  })

  test("is rejected for the default organization, the console's, and the last owner's", async () => {
    await expect(deleteOrg("org1")).rejects.toMatchObject({ id: "org.is_default" })
    await estate.as("owner", "setDefaultOrg", { orgId: "org2" })
    await expect(deleteOrg("org2")).rejects.toMatchObject({ id: "org.is_default" })
    await expect(deleteOrg("org1")).rejects.toMatchObject({ id: "instance.last_owner" })
    await estate.step((tx) =>
      addMember(tx, { userId: "stranger", target: { level: "instance" }, roles: ["IAM_OWNER"] }),
    )
    await expect(deleteOrg("org1")).rejects.toMatchObject({ id: "org.is_own" })
    const stopped = estate.as("owner", "deactivateOrganization", { organizationId: "org1" })
    await expect(stopped).rejects.toMatchObject({ id: "org.is_own" })
  })

  test("erases its metadata", async () => {
    const metadata = [{ key: "plan", value: Buffer.from("secret-plan") }]
    await estate.as("owner", "setOrganizationMetadata", { organizationId: "org2", metadata })
    await deleteOrg()
    const noted = Buffer.from("secret-plan").toString("base64")
    expect(JSON.stringify(await estate.store.log.read(0, 1000))).not.toContain(noted)
    for (const table of ["org_metadata", "org_domains"]) {
      const rows = statement(`SELECT * FROM ${table} WHERE instance = $instance AND org = 'org2'`)
      expect(estate.store.all(estate.cx(), rows)).toEqual([])
    }
  })
})

describe("the default organization", () => {
  const set = (user: TenantUser, orgId: string) => estate.as(user, "setDefaultOrg", { orgId })

  test("must be one that users can sign in to", async () => {
    await estate.as("owner", "deactivateOrganization", { organizationId: "org2" })
    await expect(set("owner", "org2")).rejects.toMatchObject({ id: "org.inactive" })
    await expect(set("owner", "absent")).rejects.toMatchObject({ id: "org.missing" })
    await estate.as("owner", "activateOrganization", { organizationId: "org2" })
    await set("owner", "org2")
    const { result } = await estate.as("owner", "listOrganizations", {
      queries: [{ query: { case: "defaultQuery", value: {} } }],
    })
    expect(result.map(({ id }: { id: string }) => id)).toEqual(["org2"])
  })

  test("is rejected if it is default already, and without instance ownership", async () => {
    await expect(set("owner", "org1")).rejects.toMatchObject({ id: "org.unchanged" })
    expect(() => set("manager", "org2")).toThrow("iam.write")
  })
})
