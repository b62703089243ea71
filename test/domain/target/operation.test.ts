// Targets on operations, with both directions over HTTP.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { isSigned, json, status } from "./receiver.ts"
import {
  interruptingCall,
  interruptingWebhook,
  methodCondition,
  openStage,
  type Stage,
} from "./stage.ts"

let stage: Stage
let orgId: string
beforeAll(async () => {
  stage = await openStage()
  orgId = (await stage.make("org/AddOrganization", { name: "Household" })).organizationId
})
afterAll(() => stage.close())

/** Every test sets its own executions, which do not outlive it. */
afterEach(async () => {
  const { executions = [] } = await stage.make("action/ListExecutions")
  for (const { condition } of executions) await stage.make("action/SetExecution", { condition })
  stage.receiver.received.length = 0
})

let count = 0
const newUsername = () => `ada${++count}`
const createUserRequest = (username: string) => ({
  organizationId: orgId,
  username,
  human: {
    profile: { givenName: "Ada", familyName: "Lovelace" },
    email: { email: `${username}@example.com`, isVerified: true },
    password: { password: "Correct-horse-7" },
  },
})
const createUserCondition = methodCondition("request", "user/CreateUser")
const usernameOf = async (userId: string) =>
  (await stage.make("user/GetUserByID", { userId })).user.username

describe("before an operation", () => {
  test("a webhook receives caller and request, signed and without secrets", async () => {
    const { id, signingKey } = await stage.target("/told")
    expect(signingKey).toHaveLength(36)
    await stage.on(createUserCondition, id)
    const username = newUsername()
    await stage.make("user/CreateUser", createUserRequest(username))
    const [told] = stage.receiver.received
    if (!told) throw new Error("no target was called")
    expect(isSigned(told, signingKey)).toBe(true)
    expect(isSigned({ ...told, body: `${told.body} ` }, signingKey)).toBe(false)
    expect(told.headers["content-type"]).toBe("application/json")
    expect(JSON.parse(told.body)).toMatchObject({
      fullMethod: "/core.user.v2.UserService/CreateUser",
      userID: stage.house.ownerId,
      orgID: stage.house.orgId,
      request: { username, human: { profile: { givenName: "Ada" }, password: {} } },
    })
    expect(told.body).not.toContain("Correct-horse-7")
  })

  test("a call changes the request, but neither receives nor sets secrets", async () => {
    const { id } = await stage.target("/change", interruptingCall)
    await stage.on(createUserCondition, id)
    const [asked, wanted] = [newUsername(), newUsername()]
    stage.receiver.answer("/change", (response, { body }) => {
      const { request } = JSON.parse(body)
      const human = { ...request.human, password: { password: "Known-to-target-7" } }
      json({ ...request, username: wanted, human })(response, { path: "", headers: {}, body })
    })
    const { id: userId } = await stage.make("user/CreateUser", createUserRequest(asked))
    expect(await usernameOf(userId)).toBe(wanted)
    const signIn = (password: string) =>
      stage.ask("session/CreateSession", {
        checks: { user: { userId }, password: { password } },
      })
    expect((await signIn("Known-to-target-7")).status).toBe(400)
    expect((await signIn("Correct-horse-7")).status).toBe(200)
  })

  test("a changed request is authorized again: nobody gains permissions", async () => {
    const machine = { organizationId: orgId, username: newUsername(), machine: { name: "manager" } }
    const { id: userId } = await stage.make("user/CreateUser", machine)
    const seat = { userId, resource: { organizationId: orgId }, roles: ["ORG_OWNER"] }
    await stage.make("internal_permission.v2.InternalPermissionService/CreateAdministrator", seat)
    const { id } = await stage.target("/elsewhere", interruptingCall)
    await stage.on(createUserCondition, id)
    stage.receiver.answer("/elsewhere", (response, received) => {
      const { request } = JSON.parse(received.body)
      json({ ...request, organizationId: stage.house.orgId })(response, received)
    })
    const refused = await stage.ask("user/CreateUser", createUserRequest(newUsername()), {
      as: `${userId} ${orgId}`,
    })
    expect(refused.status).toBe(404)
    expect(refused.body.code).toBe("not_found")
  })

  const garbage = {
    "what is no JSON": "<html>",
    "an unknown field": JSON.stringify({ nothing: 1 }),
    "a wrong type": JSON.stringify({ username: 7 }),
    "a list": "[]",
    "a text that is too long": JSON.stringify({ username: "x".repeat(20_000) }),
    "20 MB": "x".repeat(20_000_000),
    "too many parts": JSON.stringify({ username: "a", x: Array.from({ length: 20_000 }, () => 1) }),
  }
  describe.each(Object.entries(garbage))("a call that responds with %s", (_, body) => {
    test("ends the operation only if it can interrupt", async () => {
      stage.receiver.answer("/garbage", (response) => void response.end(body))
      const { id } = await stage.target("/garbage", interruptingCall)
      await stage.on(createUserCondition, id)
      const ended = await stage.ask("user/CreateUser", createUserRequest(newUsername()))
      expect(ended.status).toBe(400)
      expect(ended.body).toMatchObject({ code: "failed_precondition" })
      expect(JSON.stringify(ended.body)).toContain("target.failed")
      await stage.make("action/UpdateTarget", { id, restCall: {} })
      const username = newUsername()
      const { id: userId } = await stage.make("user/CreateUser", createUserRequest(username))
      expect(await usernameOf(userId)).toBe(username)
    })
  })

  test("a call with an empty response changes nothing", async () => {
    const { id } = await stage.target("/nothing", interruptingCall)
    await stage.on(createUserCondition, id)
    const username = newUsername()
    const { id: userId } = await stage.make("user/CreateUser", createUserRequest(username))
    expect(await usernameOf(userId)).toBe(username)
  })

  test("targets run in order, each with the previous changes", async () => {
    const first = await stage.target("/first", interruptingCall)
    const second = await stage.target("/second")
    await stage.on(createUserCondition, first.id, second.id)
    const wanted = newUsername()
    stage.receiver.answer("/first", (response, received) =>
      json({ ...JSON.parse(received.body).request, username: wanted })(response, received),
    )
    await stage.make("user/CreateUser", createUserRequest(newUsername()))
    expect(stage.receiver.at("/second")).toMatchObject([{ request: { username: wanted } }])
  })

  test("the second target is skipped if the first interrupts, and runs otherwise", async () => {
    stage.receiver.answer("/broken", status(500))
    const first = await stage.target("/broken")
    const second = await stage.target("/after")
    await stage.on(createUserCondition, first.id, second.id)
    expect((await stage.ask("user/CreateUser", createUserRequest(newUsername()))).status).toBe(400)
    expect(stage.receiver.at("/after")).toEqual([])
    await stage.make("action/UpdateTarget", { id: first.id, restWebhook: {} })
    await stage.make("user/CreateUser", createUserRequest(newUsername()))
    expect(stage.receiver.at("/after")).toHaveLength(1)
  })

  test("an asynchronous target does not delay the operation", async () => {
    stage.receiver.answer("/late", () => {})
    const { id } = await stage.target("/late", { restAsync: {}, timeout: "30s" })
    await stage.on(createUserCondition, id)
    const begun = performance.now()
    await stage.make("user/CreateUser", createUserRequest(newUsername()))
    expect(performance.now() - begun).toBeLessThan(20_000)
    await expect.poll(() => stage.receiver.at("/late").length).toBe(1)
  })

  test("a hanging target is limited by its timeout", async () => {
    stage.receiver.answer("/hangs", () => {})
    const { id } = await stage.target("/hangs", { ...interruptingWebhook, timeout: "0.3s" })
    await stage.on(createUserCondition, id)
    const begun = performance.now()
    expect((await stage.ask("user/CreateUser", createUserRequest(newUsername()))).status).toBe(400)
    expect(performance.now() - begun).toBeLessThan(20_000)
  })

  test("a redirect is a failure and not followed", async () => {
    stage.receiver.answer("/from", status(302, { location: `${stage.receiver.url}/to` }))
    const { id } = await stage.target("/from")
    await stage.on(createUserCondition, id)
    expect((await stage.ask("user/CreateUser", createUserRequest(newUsername()))).status).toBe(400)
    expect(stage.receiver.at("/to")).toEqual([])
  })

  test("a target in a private network is not called", async () => {
    const { id } = await stage.target("http://10.1.2.3/hook")
    await stage.on(createUserCondition, id)
    expect((await stage.ask("user/CreateUser", createUserRequest(newUsername()))).status).toBe(400)
    const { calls: made } = await stage.make("diagnosis/ListTargetCalls", { targetId: id })
    expect(made[0].error).toContain("not a host on the internet")
  })

  test("a forwarded error reaches the caller with its message", async () => {
    const forwarded = { forwardedStatusCode: 409, forwardedErrorMessage: "not on\nSundays" }
    stage.receiver.answer("/refuses", json(forwarded))
    const { id } = await stage.target("/refuses")
    await stage.on(createUserCondition, id)
    const refused = await stage.ask("user/CreateUser", createUserRequest(newUsername()))
    expect(refused.status).toBe(409)
    expect(refused.body.message).toContain("not on Sundays")
    await stage.make("action/UpdateTarget", { id, restWebhook: {} })
    expect((await stage.ask("user/CreateUser", createUserRequest(newUsername()))).status).toBe(200)
  })
})

describe("after an operation", () => {
  const getUser = methodCondition("response", "user/GetUserByID")

  test("a call changes the response and receives the request", async () => {
    const { id: userId } = await stage.make("user/CreateUser", createUserRequest(newUsername()))
    const { id } = await stage.target("/answered", interruptingCall)
    await stage.on(getUser, id)
    stage.receiver.answer("/answered", (response, received) => {
      const { request, response: told } = JSON.parse(received.body)
      expect(request).toEqual({ userId })
      json({ ...told, user: { ...told.user, username: "masked" } })(response, received)
    })
    expect(await usernameOf(userId)).toBe("masked")
  })

  test("secrets in a response reach only its caller, whatever a target returns", async () => {
    const machine = { organizationId: orgId, username: newUsername(), machine: { name: "robot" } }
    const { id: userId } = await stage.make("user/CreateUser", machine)
    const { id } = await stage.target("/secret", interruptingCall)
    await stage.on(methodCondition("response", "user/AddSecret"), id)
    stage.receiver.answer("/secret", (response, received) => {
      const { response: told } = JSON.parse(received.body)
      expect(told.clientSecret).toBeUndefined()
      json({ ...told, clientSecret: "theirs" })(response, received)
    })
    const { clientSecret } = await stage.make("user/AddSecret", { userId })
    expect(clientSecret).not.toBe("theirs")
    expect(clientSecret.length).toBeGreaterThan(20)
  })
})

test("only the most specific condition applies: method, service, all", async () => {
  const [all, service, method] = await Promise.all(
    ["/all", "/service", "/method"].map((path) => stage.target(path)),
  )
  await stage.on({ request: { all: true } }, all?.id ?? "")
  await stage.on({ request: { service: "core.user.v2.UserService" } }, service?.id ?? "")
  await stage.on(createUserCondition, method?.id ?? "")
  await stage.make("user/CreateUser", createUserRequest(newUsername()))
  await stage.make("user/ListUsers")
  await stage.make("project/ListProjects")
  const paths = stage.receiver.received.map(({ path }) => path)
  expect(paths).toEqual(["/method", "/service", "/all"])
})
