// What targets change must be permitted to those who set them up, too.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { blockedExecutions } from "../../../src/domain/target/index.ts"
import { json } from "./receiver.ts"
import { at, calls, openStage, type Stage } from "./stage.ts"

const members = "internal_permission.v2.InternalPermissionService"

let stage: Stage
let orgId: string
/** Holds nothing but what it takes to set up targets and executions. */
let narrow: string
let admin: string
let count = 0

beforeAll(async () => {
  stage = await openStage()
  orgId = (await stage.make("org/AddOrganization", { name: "Household" })).organizationId
  narrow = await holderOf([
    "action.target.read",
    "action.target.write",
    "action.target.delete",
    "action.execution.read",
    "action.execution.write",
  ])
  admin = await newMachine()
  await give(admin, ["IAM_ORG_MANAGER"])
})
afterAll(() => stage.close())

afterEach(async () => {
  const { executions = [] } = await stage.make("action/ListExecutions")
  for (const { condition } of executions) await stage.make("action/SetExecution", { condition })
  stage.receiver.received.length = 0
})

async function newMachine(): Promise<string> {
  const username = `machine${++count}`
  const made = { organizationId: orgId, username, machine: { name: username } }
  return (await stage.make("user/CreateUser", made)).id
}

const give = (userId: string, roles: readonly string[]) =>
  stage.make(`${members}/CreateAdministrator`, { userId, resource: { instance: true }, roles })

/** A user with a role of the instance that permits this alone. */
async function holderOf(permissions: readonly string[]): Promise<string> {
  const [userId, key] = [await newMachine(), `NARROW_${++count}`]
  await stage.make(`${members}/CreateRole`, {
    key,
    displayName: key,
    level: "ROLE_LEVEL_INSTANCE",
    permissions,
  })
  await give(userId, [key])
  return userId
}

const rolesOf = async (userId: string): Promise<readonly string[]> => {
  const { administrators = [] } = await stage.make(`${members}/ListAdministrators`)
  return administrators.find((each: any) => each.user.id === userId)?.roles ?? []
}

const executionsNow = async () => (await stage.make("action/ListExecutions")).executions

const as = (userId: string) => ({ as: `${userId} ${orgId}` })

/** Has the receiver answer with the request, changed. */
const replaces = (path: string, change: object | ((request: any) => object)) =>
  stage.receiver.answer(path, (response, received) => {
    const { request } = JSON.parse(received.body)
    const changed = typeof change === "function" ? change(request) : { ...request, ...change }
    json(changed)(response, received)
  })

async function targetOf(userId: string, path: string): Promise<string> {
  const endpoint = `${stage.receiver.url}${path}`
  const made = { name: path, timeout: "2s", endpoint, ...calls }
  return (await stage.make("action/CreateTarget", made, as(userId))).id
}

const update = at("request", `${members}/UpdateAdministrator`)
const setOn = (userId: string, condition: object, ...targets: readonly string[]) =>
  stage.make("action/SetExecution", { condition, targets }, as(userId))

/** An owner's call that a target at this path may change. */
const ownersCall = () =>
  stage.ask(`${members}/UpdateAdministrator`, {
    userId: admin,
    resource: { instance: true },
    roles: ["IAM_ORG_MANAGER"],
  })

const denied = { status: 403, body: { code: "permission_denied" } }

describe("a request that a target has changed", () => {
  test("is refused where who set up target and execution may not make it", async () => {
    replaces("/raise", { userId: narrow, roles: ["IAM_OWNER"] })
    await setOn(narrow, update, await targetOf(narrow, "/raise"))
    const before = await rolesOf(narrow)
    expect(await ownersCall()).toMatchObject(denied)
    expect(await rolesOf(narrow)).toEqual(before)
  })

  test.each([
    ["the service", { request: { service: `core.${members}` } }],
    ["all", { request: { all: true } }],
  ])("is refused whatever the condition was: %s", async (_, condition) => {
    replaces("/raise", { userId: narrow, roles: ["IAM_OWNER"] })
    await setOn(narrow, condition, await targetOf(narrow, "/raise"))
    expect(await ownersCall()).toMatchObject(denied)
  })

  test("is refused where the author of the target alone may not make it", async () => {
    replaces("/theirs", { userId: narrow, roles: ["IAM_OWNER"] })
    const targetId = await targetOf(narrow, "/theirs")
    await stage.on(update, targetId)
    expect(await ownersCall()).toMatchObject(denied)
    await stage.make("action/UpdateTarget", { id: targetId, timeout: "3s" })
    expect(await ownersCall()).toMatchObject(denied)
  })

  test("is refused where somebody has led the target of an owner elsewhere", async () => {
    const { id } = await stage.target("/before", calls)
    await stage.on(update, id)
    replaces("/after", { userId: narrow, roles: ["IAM_OWNER"] })
    const endpoint = `${stage.receiver.url}/after`
    await stage.make("action/UpdateTarget", { id, endpoint }, as(narrow))
    expect(await ownersCall()).toMatchObject(denied)
  })

  test("passes where its authors are replaced by one who may make it", async () => {
    replaces("/taken-over", { roles: ["IAM_OWNER_VIEWER"] })
    const id = await targetOf(narrow, "/taken-over")
    await setOn(narrow, update, id)
    expect(await ownersCall()).toMatchObject(denied)
    const endpoint = `${stage.receiver.url}/taken-over`
    await stage.make("action/UpdateTarget", { id, endpoint })
    expect(await ownersCall()).toMatchObject(denied)
    await stage.on(update, id)
    expect((await ownersCall()).status).toBe(200)
  })

  test("is refused where the author of the execution alone may not make it", async () => {
    replaces("/owners", { userId: narrow, roles: ["IAM_OWNER"] })
    const { id } = await stage.target("/owners", calls)
    await setOn(narrow, update, id)
    expect(await ownersCall()).toMatchObject(denied)
  })

  test("is refused where the author of an execution that is included may not make it", async () => {
    replaces("/within", { userId: narrow, roles: ["IAM_OWNER"] })
    const { id } = await stage.target("/within", calls)
    const group = { request: { service: `core.${members}` } }
    await setOn(narrow, group, id)
    await stage.make("resources.action.v3alpha.CoreActions/SetExecution", {
      condition: update,
      execution: { targets: [{ include: group }] },
    })
    expect(await ownersCall()).toMatchObject(denied)
  })

  test("is judged by what its authors hold when it is made", async () => {
    const author = await holderOf([
      "action.target.read",
      "action.target.write",
      "action.execution.write",
      "iam.member.read",
      "iam.member.write",
      "user.read",
    ])
    const noted = { roles: ["IAM_END_USER_IMPERSONATOR"] }
    await give(await newMachine(), noted.roles)
    const owned = await newMachine()
    await give(owned, ["IAM_OWNER"])
    replaces("/owner", (request) => ({ ...request, roles: ["IAM_OWNER_VIEWER"] }))
    const targetId = await targetOf(owned, "/owner")
    await setOn(owned, update, targetId)
    expect((await ownersCall()).status).toBe(200)
    expect(await rolesOf(admin)).toEqual(["IAM_OWNER_VIEWER"])
    await stage.make(`${members}/UpdateAdministrator`, {
      userId: owned,
      resource: { instance: true },
      roles: ["IAM_ORG_MANAGER"],
    })
    await setOn(author, at("request", "user/CreateUser"))
    replaces("/owner", (request) => ({ ...request, roles: ["IAM_OWNER"] }))
    expect(await ownersCall()).toMatchObject(denied)
  })

  test("is refused where an author may call the operation, but not give these roles", async () => {
    const author = await holderOf([
      "action.target.read",
      "action.target.write",
      "action.execution.write",
      "iam.member.read",
      "iam.member.write",
      "user.read",
    ])
    replaces("/gives", { userId: author, roles: ["IAM_OWNER"] })
    await setOn(author, update, await targetOf(author, "/gives"))
    const before = await rolesOf(author)
    expect(await ownersCall()).toMatchObject(denied)
    expect(await rolesOf(author)).toEqual(before)
  })

  const leaving = {
    deactivated: (userId: string) => stage.make("user/DeactivateUser", { userId }),
    removed: (userId: string) => stage.make("user/DeleteUser", { userId }),
  }
  test.each(Object.entries(leaving))("is refused where an author is %s", async (_, leave) => {
    const author = await newMachine()
    await give(author, ["IAM_OWNER"])
    replaces("/gone", { roles: ["IAM_OWNER_VIEWER"] })
    const targetId = await targetOf(author, "/gone")
    await setOn(author, update, targetId)
    const blocked = async () => (await executionsNow())[0].blockedTargets
    expect((await ownersCall()).status).toBe(200)
    expect(await blocked()).toBeUndefined()
    await leave(author)
    expect(await blocked()).toEqual([{ targetId, userIds: [author] }])
    expect(blockedExecutions(stage.house.within(), 5)).toEqual([
      { id: expect.stringMatching(/^request\/.*UpdateAdministrator$/), targetName: "/gone" },
    ])
    replaces("/gone", { roles: ["IAM_ORG_MANAGER"] })
    const asked = { userId: admin, resource: { instance: true }, roles: ["IAM_OWNER_VIEWER"] }
    expect(await stage.ask(`${members}/UpdateAdministrator`, asked)).toMatchObject(denied)
    // Whoever sets both again answers for them.
    const { endpoint } = (await stage.make("action/GetTarget", { id: targetId })).target
    await stage.make("action/UpdateTarget", { id: targetId, endpoint })
    await setOn(stage.house.ownerId, update, targetId)
    expect(await blocked()).toBeUndefined()
    expect(blockedExecutions(stage.house.within(), 5)).toEqual([])
  })

  test("is not blocked by who set up a target that is only told of events", async () => {
    const author = await newMachine()
    await give(author, ["IAM_OWNER"])
    const { id: targetId } = await stage.target("/told", { restWebhook: {} })
    await setOn(author, update, targetId)
    await stage.make("user/DeactivateUser", { userId: author })
    expect((await executionsNow())[0].blockedTargets).toBeUndefined()
  })

  test("passes as it is where a target sends it back unchanged", async () => {
    replaces("/same", {})
    await setOn(narrow, update, await targetOf(narrow, "/same"))
    const asked = { userId: admin, resource: { instance: true }, roles: ["IAM_USER_MANAGER"] }
    expect((await stage.ask(`${members}/UpdateAdministrator`, asked)).status).toBe(200)
    expect(await rolesOf(admin)).toEqual(["IAM_USER_MANAGER"])
  })

  test("about oneself is none about the author", async () => {
    const username = `person${++count}`
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
    replaces("/mine", { email: "attacker@example.com" })
    const targetId = await targetOf(narrow, "/mine")
    await setOn(narrow, at("request", mine), targetId)
    await setOn(narrow, at("request", "user/SetEmail"), targetId)
    const own = await stage.ask(mine, { email: "ada@example.com" }, as(userId))
    expect(own).toMatchObject(denied)
    const named = { userId, email: "ada@example.com" }
    expect(await stage.ask("user/SetEmail", named, as(userId))).toMatchObject(denied)
    const { user } = await stage.make("user/GetUserByID", { userId })
    expect(user.human.email.email).toBe(`${username}@example.com`)
    await setOn(stage.house.ownerId, at("request", mine), (await stage.target("/mine", calls)).id)
    expect((await stage.ask(mine, { email: "ada@example.com" }, as(userId))).status).toBe(200)
  })
})
