// Changes by targets must be permitted to the authors of targets and executions, too.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { blockedExecutions } from "../../../src/domain/target/index.ts"
import { json } from "./receiver.ts"
import { interruptingCall, methodCondition, openStage, type Stage } from "./stage.ts"

const members = "internal_permission.v2.InternalPermissionService"

let stage: Stage
let orgId: string
/** Has only the permissions to manage targets and executions. */
let targetManager: string
let admin: string
let nameCount = 0

beforeAll(async () => {
  stage = await openStage()
  orgId = (await stage.make("org/AddOrganization", { name: "Household" })).organizationId
  targetManager = await holderOf([
    "action.target.read",
    "action.target.write",
    "action.target.delete",
    "action.execution.read",
    "action.execution.write",
  ])
  admin = await newMachine()
  await grantRoles(admin, ["IAM_ORG_MANAGER"])
})
afterAll(() => stage.close())

afterEach(async () => {
  const { executions = [] } = await stage.make("action/ListExecutions")
  for (const { condition } of executions) await stage.make("action/SetExecution", { condition })
  stage.receiver.received.length = 0
})

async function newMachine(): Promise<string> {
  const username = `machine${++nameCount}`
  const made = { organizationId: orgId, username, machine: { name: username } }
  return (await stage.make("user/CreateUser", made)).id
}

const grantRoles = (userId: string, roles: readonly string[]) =>
  stage.make(`${members}/CreateAdministrator`, { userId, resource: { instance: true }, roles })

/** A user with an instance role that contains only these permissions. */
async function holderOf(permissions: readonly string[]): Promise<string> {
  const [userId, key] = [await newMachine(), `NARROW_${++nameCount}`]
  await stage.make(`${members}/CreateRole`, {
    key,
    displayName: key,
    level: "ROLE_LEVEL_INSTANCE",
    permissions,
  })
  await grantRoles(userId, [key])
  return userId
}

const rolesOf = async (userId: string): Promise<readonly string[]> => {
  const { administrators = [] } = await stage.make(`${members}/ListAdministrators`)
  return administrators.find((each: any) => each.user.id === userId)?.roles ?? []
}

const listExecutions = async () => (await stage.make("action/ListExecutions")).executions

const as = (userId: string) => ({ as: `${userId} ${orgId}` })

/** Makes the receiver respond with a changed request. */
const replaceRequest = (path: string, change: object | ((request: any) => object)) =>
  stage.receiver.answer(path, (response, received) => {
    const { request } = JSON.parse(received.body)
    const changed = typeof change === "function" ? change(request) : { ...request, ...change }
    json(changed)(response, received)
  })

async function targetOf(userId: string, path: string): Promise<string> {
  const endpoint = `${stage.receiver.url}${path}`
  const made = { name: path, timeout: "2s", endpoint, ...interruptingCall }
  return (await stage.make("action/CreateTarget", made, as(userId))).id
}

const updateCondition = methodCondition("request", `${members}/UpdateAdministrator`)
const setExecution = (userId: string, condition: object, ...targets: readonly string[]) =>
  stage.make("action/SetExecution", { condition, targets }, as(userId))

/** An owner's call that a target at this path can change. */
const ownersCall = () =>
  stage.ask(`${members}/UpdateAdministrator`, {
    userId: admin,
    resource: { instance: true },
    roles: ["IAM_ORG_MANAGER"],
  })

const denied = { status: 403, body: { code: "permission_denied" } }

describe("a request that was changed by a target", () => {
  test("is rejected if the author of target and execution can't make it", async () => {
    replaceRequest("/raise", { userId: targetManager, roles: ["IAM_OWNER"] })
    await setExecution(targetManager, updateCondition, await targetOf(targetManager, "/raise"))
    const before = await rolesOf(targetManager)
    expect(await ownersCall()).toMatchObject(denied)
    expect(await rolesOf(targetManager)).toEqual(before)
  })

  test.each([
    ["the service", { request: { service: `core.${members}` } }],
    ["all", { request: { all: true } }],
  ])("is rejected for every condition: %s", async (_, condition) => {
    replaceRequest("/raise", { userId: targetManager, roles: ["IAM_OWNER"] })
    await setExecution(targetManager, condition, await targetOf(targetManager, "/raise"))
    expect(await ownersCall()).toMatchObject(denied)
  })

  test("is rejected if only the author of the target can't make it", async () => {
    replaceRequest("/theirs", { userId: targetManager, roles: ["IAM_OWNER"] })
    const targetId = await targetOf(targetManager, "/theirs")
    await stage.on(updateCondition, targetId)
    expect(await ownersCall()).toMatchObject(denied)
    await stage.make("action/UpdateTarget", { id: targetId, timeout: "3s" })
    expect(await ownersCall()).toMatchObject(denied)
  })

  test("is rejected if another user has redirected an owner's target", async () => {
    const { id } = await stage.target("/before", interruptingCall)
    await stage.on(updateCondition, id)
    replaceRequest("/after", { userId: targetManager, roles: ["IAM_OWNER"] })
    const endpoint = `${stage.receiver.url}/after`
    await stage.make("action/UpdateTarget", { id, endpoint }, as(targetManager))
    expect(await ownersCall()).toMatchObject(denied)
  })

  test("is accepted after its authors are replaced by one who can make it", async () => {
    replaceRequest("/taken-over", { roles: ["IAM_OWNER_VIEWER"] })
    const id = await targetOf(targetManager, "/taken-over")
    await setExecution(targetManager, updateCondition, id)
    expect(await ownersCall()).toMatchObject(denied)
    const endpoint = `${stage.receiver.url}/taken-over`
    await stage.make("action/UpdateTarget", { id, endpoint })
    expect(await ownersCall()).toMatchObject(denied)
    await stage.on(updateCondition, id)
    expect((await ownersCall()).status).toBe(200)
  })

  test("is rejected if only the author of the execution can't make it", async () => {
    replaceRequest("/owners", { userId: targetManager, roles: ["IAM_OWNER"] })
    const { id } = await stage.target("/owners", interruptingCall)
    await setExecution(targetManager, updateCondition, id)
    expect(await ownersCall()).toMatchObject(denied)
  })

  test("is rejected if the author of an included execution can't make it", async () => {
    replaceRequest("/within", { userId: targetManager, roles: ["IAM_OWNER"] })
    const { id } = await stage.target("/within", interruptingCall)
    const group = { request: { service: `core.${members}` } }
    await setExecution(targetManager, group, id)
    await stage.make("resources.action.v3alpha.CoreActions/SetExecution", {
      condition: updateCondition,
      execution: { targets: [{ include: group }] },
    })
    expect(await ownersCall()).toMatchObject(denied)
  })

  test("is checked against the authors' current permissions", async () => {
    const author = await holderOf([
      "action.target.read",
      "action.target.write",
      "action.execution.write",
      "iam.member.read",
      "iam.member.write",
      "user.read",
    ])
    const noted = { roles: ["IAM_END_USER_IMPERSONATOR"] }
    await grantRoles(await newMachine(), noted.roles)
    const owned = await newMachine()
    await grantRoles(owned, ["IAM_OWNER"])
    replaceRequest("/owner", (request) => ({ ...request, roles: ["IAM_OWNER_VIEWER"] }))
    const targetId = await targetOf(owned, "/owner")
    await setExecution(owned, updateCondition, targetId)
    expect((await ownersCall()).status).toBe(200)
    expect(await rolesOf(admin)).toEqual(["IAM_OWNER_VIEWER"])
    await stage.make(`${members}/UpdateAdministrator`, {
      userId: owned,
      resource: { instance: true },
      roles: ["IAM_ORG_MANAGER"],
    })
    await setExecution(author, methodCondition("request", "user/CreateUser"))
    replaceRequest("/owner", (request) => ({ ...request, roles: ["IAM_OWNER"] }))
    expect(await ownersCall()).toMatchObject(denied)
  })

  test("is rejected if an author can call the operation, but not grant these roles", async () => {
    const author = await holderOf([
      "action.target.read",
      "action.target.write",
      "action.execution.write",
      "iam.member.read",
      "iam.member.write",
      "user.read",
    ])
    replaceRequest("/gives", { userId: author, roles: ["IAM_OWNER"] })
    await setExecution(author, updateCondition, await targetOf(author, "/gives"))
    const before = await rolesOf(author)
    expect(await ownersCall()).toMatchObject(denied)
    expect(await rolesOf(author)).toEqual(before)
  })

  const leaving = {
    deactivated: (userId: string) => stage.make("user/DeactivateUser", { userId }),
    removed: (userId: string) => stage.make("user/DeleteUser", { userId }),
  }
  test.each(Object.entries(leaving))("is rejected if an author is %s", async (_, leave) => {
    const author = await newMachine()
    await grantRoles(author, ["IAM_OWNER"])
    replaceRequest("/gone", { roles: ["IAM_OWNER_VIEWER"] })
    const targetId = await targetOf(author, "/gone")
    await setExecution(author, updateCondition, targetId)
    const blocked = async () => (await listExecutions())[0].blockedTargets
    expect((await ownersCall()).status).toBe(200)
    expect(await blocked()).toBeUndefined()
    await leave(author)
    expect(await blocked()).toEqual([{ targetId, userIds: [author] }])
    expect(blockedExecutions(stage.house.within(), 5)).toEqual([
      { id: expect.stringMatching(/^request\/.*UpdateAdministrator$/), targetName: "/gone" },
    ])
    replaceRequest("/gone", { roles: ["IAM_ORG_MANAGER"] })
    const asked = { userId: admin, resource: { instance: true }, roles: ["IAM_OWNER_VIEWER"] }
    expect(await stage.ask(`${members}/UpdateAdministrator`, asked)).toMatchObject(denied)
    // A user who sets both again becomes their author.
    const { endpoint } = (await stage.make("action/GetTarget", { id: targetId })).target
    await stage.make("action/UpdateTarget", { id: targetId, endpoint })
    await setExecution(stage.house.ownerId, updateCondition, targetId)
    expect(await blocked()).toBeUndefined()
    expect(blockedExecutions(stage.house.within(), 5)).toEqual([])
  })

  test("is not blocked by the author of a notification-only target", async () => {
    const author = await newMachine()
    await grantRoles(author, ["IAM_OWNER"])
    const { id: targetId } = await stage.target("/told", { restWebhook: {} })
    await setExecution(author, updateCondition, targetId)
    await stage.make("user/DeactivateUser", { userId: author })
    expect((await listExecutions())[0].blockedTargets).toBeUndefined()
  })

  test("is accepted unchanged if a target returns it unchanged", async () => {
    replaceRequest("/same", {})
    await setExecution(targetManager, updateCondition, await targetOf(targetManager, "/same"))
    const asked = { userId: admin, resource: { instance: true }, roles: ["IAM_USER_MANAGER"] }
    expect((await stage.ask(`${members}/UpdateAdministrator`, asked)).status).toBe(200)
    expect(await rolesOf(admin)).toEqual(["IAM_USER_MANAGER"])
  })

  test("for the caller's own account does not refer to the author's", async () => {
    const username = `person${++nameCount}`
    const person = {
      organizationId: orgId,
      username,
      human: {
        profile: { givenName: "Ada", familyName: "Lovelace" },
        email: { email: `${username}@example.com`, isVerified: true },
      },
    }
    const { id: userId } = await stage.make("user/CreateUser", person)
    const mine = "auth.v1.AuthService/SetMyEmail"
    replaceRequest("/mine", { email: "attacker@example.com" })
    const targetId = await targetOf(targetManager, "/mine")
    await setExecution(targetManager, methodCondition("request", mine), targetId)
    await setExecution(targetManager, methodCondition("request", "user/SetEmail"), targetId)
    const own = await stage.ask(mine, { email: "ada@example.com" }, as(userId))
    expect(own).toMatchObject(denied)
    const named = { userId, email: "ada@example.com" }
    expect(await stage.ask("user/SetEmail", named, as(userId))).toMatchObject(denied)
    const { user } = await stage.make("user/GetUserByID", { userId })
    expect(user.human.email.email).toBe(`${username}@example.com`)
    await setExecution(
      stage.house.ownerId,
      methodCondition("request", mine),
      (await stage.target("/mine", interruptingCall)).id,
    )
    expect((await stage.ask(mine, { email: "ada@example.com" }, as(userId))).status).toBe(200)
  })
})
