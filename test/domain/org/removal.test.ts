import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { addApplication, findClient } from "../../../src/domain/app/index.ts"
import { addMember, memberships } from "../../../src/domain/member/index.ts"
import { addDomain, orgOfDomain } from "../../../src/domain/org/index.ts"
import { clearOrganization, organizationRemoval } from "../../../src/domain/org-cascade/index.ts"
import { addProject } from "../../../src/domain/project/index.ts"
import { addGrant } from "../../../src/domain/project-grant/index.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { runReactors, statement } from "../../../src/store/index.ts"
import { type Estate, openEstate, type Person, person } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
})
afterEach(() => estate.close())

const remove = (organizationId = "org2", who: Person = "owner") =>
  estate.as(who, "deleteOrganization", { organizationId })

/** Users and projects enough that they don't go in one step, or even in those that are awaited. */
async function fill(users = 120): Promise<void> {
  await estate.step((tx) => {
    for (let at = 0; at < users; at++) addUser(tx, `u${at}`, person(`u${at}`, "org2"))
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

describe("removing an organisation", () => {
  test("takes all of it away, for everybody, at once", async () => {
    await fill()
    await remove()
    const cx = estate.cx()
    expect(orgOfDomain(cx, "globex.id.example.com")).toBeUndefined()
    expect(memberships(cx, "nobody")).toEqual([])
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

  test("goes on in the background until nothing is left, however often it is tried", async () => {
    await fill(1200)
    await remove()
    const cx = estate.cx()
    await clearOrganization(cx, "org2")
    await clearOrganization(cx, "org2")
    const { details } = await estate.as("owner", "listUsers")
    expect(details.totalResult).toBe(3n)
    expect(findClient(cx, "client-2")).toBeUndefined()
    const { pagination } = await estate.as("owner", "listProjects")
    expect(pagination.totalResult).toBe(1n)
    // Names and domains are free again, ids are not.
    await estate.step((tx) => addUser(tx, "anna", person("u119", "org1")))
    await addDomain(cx, "org1", { domain: "globex.example", isUsed: () => false })
    await estate.as("owner", "addOrganization", { name: "Globex", organizationId: "org4" })
    expect(orgOfDomain(cx, "globex.id.example.com")).toBe("org4")
    const again = estate.as("owner", "addOrganization", { name: "X", organizationId: "org2" })
    await expect(again).rejects.toMatchObject({ id: "org.exists" })
  })

  test("ends what it was granted at once, however much that was", async () => {
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
    await remove()
    for (const id of ids) expect(() => look(id), id).toThrow("there is no such project grant")
  })

  test("is gone on with by the process, wherever it was stopped", async () => {
    await fill(1200)
    await remove()
    expect((await estate.as("owner", "listUsers")).details.totalResult).toBeGreaterThan(100n)
    const call = (instance: string) => estate.cx({ instance })
    await runReactors(estate.store, estate.clock, [organizationRemoval(call)]).drain()
    const { details } = await estate.as("owner", "listUsers")
    expect(details.totalResult).toBe(3n)
    const { pagination } = await estate.as("owner", "listProjects")
    expect(pagination.totalResult).toBe(1n)
  })

  test("takes the grants that it had, and what was given over them", async () => {
    await estate.step((tx) => addProject(tx, "p1", { orgId: "org1", name: "One" }))
    const grant = { projectId: "p1", grantedOrganizationId: "org2" }
    await estate.as("manager", "createProjectGrant", grant)
    await estate.as("stranger", "createAuthorization", {
      userId: "stranger",
      projectId: "p1",
      organizationId: "org2",
    })
    await remove()
    const { pagination } = await estate.as("manager", "listProjectGrants")
    expect(pagination.totalResult).toBe(0n)
    const given = await estate.as("manager", "listAuthorizations")
    expect(given.pagination.totalResult).toBe(0n)
    await expect(async () =>
      estate.as("manager", "createProjectGrant", grant),
    ).rejects.toMatchObject({ code: "not_found" })
  })

  test("is for who owns it, and not for others", async () => {
    expect(() => remove("org1", "stranger")).toThrow("no such organisation")
    expect(() => remove("org1", "nobody")).toThrow("org.delete")
    expect(() => remove("absent", "owner")).toThrow("no such organisation")
    expect(await remove("org2", "stranger")).toHaveProperty("deletionDate")
    expect(() => estate.as("stranger", "listOrganizations")).toThrow("org.read")
  })

  test("spares the default one, that of the console, and the home of the last owner", async () => {
    await expect(remove("org1")).rejects.toMatchObject({ id: "org.is_default" })
    await estate.as("owner", "setDefaultOrg", { orgId: "org2" })
    await expect(remove("org2")).rejects.toMatchObject({ id: "org.is_default" })
    await expect(remove("org1")).rejects.toMatchObject({ id: "instance.last_owner" })
    await estate.step((tx) =>
      addMember(tx, { userId: "stranger", target: { level: "instance" }, roles: ["IAM_OWNER"] }),
    )
    await expect(remove("org1")).rejects.toMatchObject({ id: "org.is_own" })
    const stopped = estate.as("owner", "deactivateOrganization", { organizationId: "org1" })
    await expect(stopped).rejects.toMatchObject({ id: "org.is_own" })
  })

  test("erases what was noted about it", async () => {
    const metadata = [{ key: "plan", value: Buffer.from("secret-plan") }]
    await estate.as("owner", "setOrganizationMetadata", { organizationId: "org2", metadata })
    await remove()
    const noted = Buffer.from("secret-plan").toString("base64")
    expect(JSON.stringify(await estate.store.log.read(0, 1000))).not.toContain(noted)
    for (const table of ["org_metadata", "org_domains"]) {
      const rows = statement(`SELECT * FROM ${table} WHERE instance = $instance AND org = 'org2'`)
      expect(estate.store.all(estate.cx(), rows)).toEqual([])
    }
  })
})

describe("the default organisation", () => {
  const set = (who: Person, orgId: string) => estate.as(who, "setDefaultOrg", { orgId })

  test("is one that people can use", async () => {
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

  test("is refused where it is so already, and to who does not own the instance", async () => {
    await expect(set("owner", "org1")).rejects.toMatchObject({ id: "org.unchanged" })
    expect(() => set("manager", "org2")).toThrow("iam.write")
  })
})
