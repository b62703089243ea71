import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { addMember } from "../../../src/domain/member/index.ts"
import { addUser, setMetadata } from "../../../src/domain/user/index.ts"
import { findProfile, isUserActive } from "../../../src/domain/user-lookup/query.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant(["i1", "i2"])
  await estate.step((tx) =>
    addUser(tx, "robot", { kind: "machine", orgId: "org1", name: "R", accessTokenType: "bearer" }),
  )
})
afterEach(() => estate.close())

/** Turns an error thrown by the access rule into a rejection. */
const as = async (...call: Parameters<Tenant["as"]>) => estate.as(...call)
const asNobody = (name: string, request: object = {}) => as("nobody", name, request)
const robot = { caller: { kind: "user", userId: "robot", orgId: "org1", clientId: "c" } } as const
const profileOf = (userId = "nobody") => findProfile(estate.cx(), userId)
const unchanged = { code: "failed_precondition", id: "user.unchanged" }

/** The code of the newest event, as the message would contain it. */
async function sentCode(of: "email" | "phone"): Promise<string> {
  const events = await estate.store.log.read(0, 500)
  const event = events.findLast(({ type }) => type === `user.human.${of}.code.added`)
  const { sealed } = Object(event?.private)
  return estate.secrets.open("seal", sealed, `user/nobody/${of}_code`) ?? ""
}

describe("users change their own:", () => {
  test("names, all at once", async () => {
    const names = { firstName: "Ned", lastName: "Body", displayName: "Neddy" }
    const { details } = await asNobody("updateMyProfile", { ...names, gender: 2 })
    expect(details.resourceOwner).toBe("org1")
    expect(profileOf()).toMatchObject({ name: "Neddy", givenName: "Ned", gender: "male" })
    const shown = await asNobody("getMyProfile")
    expect(shown.profile).toMatchObject({ ...names, gender: 2 })
    expect(shown.details.sequence).toBe(details.sequence)
    const again = asNobody("updateMyProfile", { ...names, gender: 2 })
    await expect(again).rejects.toMatchObject(unchanged)
  })

  test("login name, unless it is taken", async () => {
    await as("owner", "updateDomainPolicy", { usersCanRename: true })
    await asNobody("updateMyUserName", { userName: "somebody" })
    expect(profileOf()?.userName).toBe("somebody")
    const same = asNobody("updateMyUserName", { userName: "somebody" })
    await expect(same).rejects.toMatchObject(unchanged)
    const taken = asNobody("updateMyUserName", { userName: "Manager" })
    await expect(taken).rejects.toMatchObject({ code: "already_exists" })
  })

  test("their email address, verified by the code that goes there", async () => {
    await asNobody("setMyEmail", { email: "new@example.com" })
    const shown = await asNobody("getMyEmail")
    expect(shown.email).toMatchObject({ email: "new@example.com", isEmailVerified: false })
    const first = await sentCode("email")
    await asNobody("resendMyEmailVerification")
    await expect(asNobody("verifyMyEmail", { code: first })).rejects.toMatchObject({
      id: "user.code_wrong",
    })
    await asNobody("verifyMyEmail", { code: await sentCode("email") })
    expect(profileOf()).toMatchObject({ email: "new@example.com", emailVerified: true })
    const same = asNobody("setMyEmail", { email: "new@example.com" })
    await expect(same).rejects.toMatchObject(unchanged)
    const more = asNobody("resendMyEmailVerification")
    await expect(more).rejects.toMatchObject({ id: "user.email_verified" })
  })

  test("phone number, verified by the code sent to it, and its removal", async () => {
    await asNobody("setMyPhone", { phone: "+41 79 123 45 67" })
    await asNobody("resendMyPhoneVerification")
    await asNobody("verifyMyPhone", { code: await sentCode("phone") })
    const shown = await asNobody("getMyPhone")
    expect(shown.phone).toMatchObject({ phone: "+41791234567", isPhoneVerified: true })
    await asNobody("removeMyPhone")
    expect((await asNobody("getMyPhone")).phone).toBeUndefined()
    await expect(asNobody("removeMyPhone")).rejects.toMatchObject(unchanged)
  })

  test("a code is invalid for another user", async () => {
    await asNobody("setMyEmail", { email: "new@example.com" })
    await as("manager", "setMyEmail", { email: "boss@example.com" })
    const theirs = as("manager", "verifyMyEmail", { code: await sentCode("email") })
    await expect(theirs).rejects.toMatchObject({ id: "user.code_wrong" })
    expect(profileOf("manager")?.emailVerified).toBe(false)
  })
})

describe("a user's own user name", () => {
  const renameOff = { code: "failed_precondition", id: "user.rename_off" }
  const rename = (person: Parameters<typeof as>[0], userName = "root") =>
    as(person, "updateMyUserName", { userName })
  const canRename = async (person: Parameters<typeof as>[0]) =>
    (await as(person, "getMyUser")).canRename

  test("can't be changed without a role, unless the domain policy allows it", async () => {
    await expect(rename("nobody")).rejects.toMatchObject(renameOff)
    expect([profileOf()?.userName, await canRename("nobody")]).toEqual(["nobody", false])
    await as("owner", "updateDomainPolicy", { usersCanRename: true })
    await rename("nobody")
    expect([profileOf()?.userName, await canRename("nobody")]).toEqual(["root", true])
  })

  test("can be changed by administrators who can change the names of others", async () => {
    await rename("manager", "boss")
    expect([profileOf("manager")?.userName, await canRename("manager")]).toEqual(["boss", true])
    await rename("owner", "root")
    expect(profileOf("owner")?.userName).toBe("root")
  })

  test("can't be changed by an administrator of another organization", async () => {
    await estate.step((tx) =>
      addMember(tx, {
        userId: "nobody",
        target: { level: "org", id: "org2" },
        roles: ["ORG_OWNER"],
      }),
    )
    await expect(rename("nobody")).rejects.toMatchObject(renameOff)
  })

  test("can be changed if the policy of the organization allows it", async () => {
    await as("owner", "addCustomDomainPolicy", { orgId: "org1", usersCanRename: true })
    await rename("nobody")
    expect(profileOf()?.userName).toBe("root")
    await as("owner", "updateCustomDomainPolicy", { orgId: "org1", usersCanRename: false })
    await expect(rename("nobody", "admin")).rejects.toMatchObject(renameOff)
  })

  test("stays as the policy says when a client updates the policy without the field", async () => {
    await as("owner", "updateDomainPolicy", { usersCanRename: true })
    await as("owner", "updateDomainPolicy", { validateOrgDomains: true })
    await rename("nobody")
    expect(profileOf()?.userName).toBe("root")
  })

  test("reserves the previous one until a sufficiently ranked administrator releases it", async () => {
    await as("owner", "updateDomainPolicy", { usersCanRename: true })
    await rename("nobody", "somebody")
    await expect(rename("stranger", "nobody")).rejects.toMatchObject({ id: "user.name_taken" })
    const name = { userId: "nobody", loginName: "nobody" }
    const release = (person: Parameters<typeof as>[0]) => as(person, "releaseLoginName", name)
    await expect(release("nobody")).rejects.toMatchObject({ code: "permission_denied" })
    await expect(release("stranger")).rejects.toMatchObject({ code: "not_found" })
    await estate.step((tx) =>
      addMember(tx, {
        userId: "nobody",
        target: { level: "org", id: "org2" },
        roles: ["ORG_OWNER"],
      }),
    )
    await expect(release("manager")).rejects.toMatchObject({ code: "permission_denied" })
    await release("owner")
    await rename("stranger", "nobody")
    expect(profileOf("stranger")?.userName).toBe("nobody")
  })

  test("can't be changed by other operations that change a user", async () => {
    const denied = { code: "permission_denied" }
    const user = { userId: "nobody", username: "root" }
    await expect(as("nobody", "updateUser", user)).rejects.toMatchObject(denied)
    await expect(as("nobody", "updateHumanUser", user)).rejects.toMatchObject(denied)
  })
})

test("a service account has no names and addresses of a person", async () => {
  for (const name of ["getMyProfile", "getMyEmail", "getMyPhone", "removeMyPhone"]) {
    const asked = as("nobody", name, {}, { cx: robot })
    await expect(asked).rejects.toMatchObject({ id: "user.not_human" })
  }
  const set = as("nobody", "setMyEmail", { email: "r@example.com" }, { cx: robot })
  await expect(set).rejects.toMatchObject({ code: "failed_precondition" })
})

test("users see their own metadata and no other", async () => {
  const value = Buffer.from("v")
  const entries = [
    { key: "a/b", value },
    { key: "Team", value },
  ]
  await setMetadata(estate.cx(), "nobody", entries)
  await setMetadata(estate.cx(), "manager", [{ key: "secret", value }])
  const { metadata } = await asNobody("getMyMetadata", { key: "a/b" })
  expect(metadata).toMatchObject({ key: "a/b", details: { resourceOwner: "org1" } })
  const all = await asNobody("listMyMetadata", { query: { asc: true, limit: 1 } })
  expect([all.details.totalResult, all.result.map((each: any) => each.key)]).toEqual([2n, ["Team"]])
  const some = await asNobody("listMyMetadata", {
    queries: [{ query: { case: "keyQuery", value: { key: "team", method: 1 } } }],
  })
  expect(some.result).toMatchObject([{ key: "Team" }])
  const foreign = asNobody("getMyMetadata", { key: "secret" })
  await expect(foreign).rejects.toMatchObject({ code: "not_found" })
  expect((await as("manager", "listMyMetadata", {}, { cx: { instance: "i2" } })).result).toEqual([])
})

test("a user without a second factor has none listed", async () => {
  expect((await asNobody("listMyAuthFactors")).result).toEqual([])
})

describe("users see their permissions:", () => {
  test("in the organization of the context", async () => {
    expect((await asNobody("listMyCorePermissions")).result).toEqual([])
    const held = (await as("manager", "listMyCorePermissions")).result
    expect(held).toContain("user.write")
    expect(held).not.toContain("iam.write")
    expect((await as("owner", "listMyCorePermissions")).result).toContain("iam.write")
    const elsewhere = async () =>
      as("manager", "listMyCorePermissions", {}, { cx: { orgId: "org2" } })
    await expect(elsewhere()).rejects.toMatchObject({ code: "not_found", id: "org.missing" })
  })

  test("for a single project, with its ID", async () => {
    const target = { level: "project", id: "own" } as const
    await estate.step((tx) => addMember(tx, { userId: "nobody", target, roles: ["PROJECT_OWNER"] }))
    const held: string[] = (await asNobody("listMyCorePermissions")).result
    expect(held).toContain("project.write:own")
    expect(held.every((permission) => permission.endsWith(":own"))).toBe(true)
  })

  test("and their levels, each kind separately", async () => {
    const target = { level: "project", id: "own" } as const
    const roles = ["PROJECT_OWNER"]
    await estate.step((tx) => addMember(tx, { userId: "manager", target, roles }))
    const list = async (queries: object[] = [], query: object = {}) => {
      const found = await as("manager", "listMyMemberships", { queries, query })
      return found.result.map((each: any) => [each.type.case, each.type.value, ...each.roles])
    }
    const inProject = ["projectId", "own", "PROJECT_OWNER"]
    const inOrg = ["orgId", "org1", "ORG_OWNER"]
    expect(new Set(await list())).toEqual(new Set([inProject, inOrg]))
    const by = (name: string, value: object) => [{ query: { case: name, value } }]
    expect(await list(by("orgQuery", { orgId: "org1" }))).toEqual([inOrg])
    expect(await list(by("orgQuery", { orgId: "org2" }))).toEqual([])
    expect(await list(by("projectQuery", { projectId: "own" }))).toEqual([inProject])
    expect(await list(by("projectGrantQuery", { projectGrantId: "own" }))).toEqual([])
    expect(await list(by("iamQuery", { iam: true }))).toEqual([])
    expect(await list(by("iamQuery", { iam: false }), { limit: 1 })).toHaveLength(1)
    await expect(list([{}])).rejects.toMatchObject({ code: "invalid_argument" })
    const whole = await as("owner", "listMyMemberships")
    expect(whole.result).toMatchObject([{ userId: "owner", type: { case: "iam", value: true } }])
    expect(whole.result[0].details.sequence).toBeGreaterThan(0n)
    expect((await asNobody("listMyMemberships")).details.totalResult).toBe(0n)
  })
})

describe("users delete themselves", () => {
  const give = (userId: string, role: string) => {
    const target = { level: "org", id: "org1" } as const
    return estate.step((tx) => addMember(tx, { userId, target, roles: [role] }))
  }

  test("if one of their roles permits it", async () => {
    await expect(asNobody("removeMyUser")).rejects.toMatchObject({ code: "permission_denied" })
    await give("nobody", "ORG_USER_SELF_MANAGER")
    await asNobody("removeMyUser")
    expect(profileOf()).toBeUndefined()
    expect(isUserActive(estate.cx({ instance: "i2" }), "nobody")).toBe(true)
  })

  test("except the last owner", async () => {
    await give("owner", "ORG_USER_SELF_MANAGER")
    const last = { code: "failed_precondition", id: "instance.last_owner" }
    await expect(as("owner", "removeMyUser")).rejects.toMatchObject(last)
    for (const name of ["deleteUser", "lockUser", "deactivateUser"]) {
      await expect(as("owner", name, { userId: "owner" }), name).rejects.toMatchObject(last)
    }
    const seat = { userId: "owner", resource: { resource: { case: "instance", value: true } } }
    const demoted = as("owner", "updateAdministrator", { ...seat, roles: ["IAM_OWNER_VIEWER"] })
    await expect(demoted).rejects.toMatchObject(last)
    await expect(as("owner", "deleteAdministrator", seat)).rejects.toMatchObject(last)
    expect(isUserActive(estate.cx(), "owner")).toBe(true)
  })
})
