// What targets have to say to operations: asked over HTTP, and they over HTTP, too.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { isSigned, json, status } from "./receiver.ts"
import { at, calls, interrupts, openStage, type Stage } from "./stage.ts"

let stage: Stage
let orgId: string
beforeAll(async () => {
  stage = await openStage()
  orgId = (await stage.make("org/AddOrganization", { name: "Household" })).organizationId
})
afterAll(() => stage.close())

/** Every test sets what it needs; nothing of it stays. */
afterEach(async () => {
  const { executions = [] } = await stage.make("action/ListExecutions")
  for (const { condition } of executions) await stage.make("action/SetExecution", { condition })
  stage.receiver.received.length = 0
})

let count = 0
const fresh = () => `ada${++count}`
const person = (username: string) => ({
  organizationId: orgId,
  username,
  human: {
    profile: { givenName: "Ada", familyName: "Lovelace" },
    email: { email: `${username}@example.com`, isVerified: true },
    password: { password: "Correct-horse-7" },
  },
})
const createUser = at("request", "user/CreateUser")
const nameOf = async (userId: string) =>
  (await stage.make("user/GetUserByID", { userId })).user.username

describe("before an operation", () => {
  test("a webhook is told who asks for what, signed, and without secrets", async () => {
    const { id, signingKey } = await stage.target("/told")
    expect(signingKey).toHaveLength(36)
    await stage.on(createUser, id)
    const username = fresh()
    await stage.make("user/CreateUser", person(username))
    const [told] = stage.receiver.received
    if (!told) throw new Error("nobody was told")
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

  test("a call changes what is asked, but neither sees nor sets its secrets", async () => {
    const { id } = await stage.target("/change", calls)
    await stage.on(createUser, id)
    const [asked, wanted] = [fresh(), fresh()]
    stage.receiver.answer("/change", (response, { body }) => {
      const { request } = JSON.parse(body)
      const human = { ...request.human, password: { password: "Known-to-target-7" } }
      json({ ...request, username: wanted, human })(response, { path: "", headers: {}, body })
    })
    const { id: userId } = await stage.make("user/CreateUser", person(asked))
    expect(await nameOf(userId)).toBe(wanted)
    const signIn = (password: string) =>
      stage.ask("session/CreateSession", {
        checks: { user: { userId }, password: { password } },
      })
    expect((await signIn("Known-to-target-7")).status).toBe(400)
    expect((await signIn("Correct-horse-7")).status).toBe(200)
  })

  test("what a call makes of it is decided anew: nobody may do more than without it", async () => {
    const machine = { organizationId: orgId, username: fresh(), machine: { name: "manager" } }
    const { id: userId } = await stage.make("user/CreateUser", machine)
    const seat = { userId, resource: { organizationId: orgId }, roles: ["ORG_OWNER"] }
    await stage.make("internal_permission.v2.InternalPermissionService/CreateAdministrator", seat)
    const { id } = await stage.target("/elsewhere", calls)
    await stage.on(createUser, id)
    stage.receiver.answer("/elsewhere", (response, received) => {
      const { request } = JSON.parse(received.body)
      json({ ...request, organizationId: stage.house.orgId })(response, received)
    })
    const refused = await stage.ask("user/CreateUser", person(fresh()), {
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
  describe.each(Object.entries(garbage))("a call that answers %s", (_, body) => {
    test("ends what it may end, and nothing else", async () => {
      stage.receiver.answer("/garbage", (response) => void response.end(body))
      const { id } = await stage.target("/garbage", calls)
      await stage.on(createUser, id)
      const ended = await stage.ask("user/CreateUser", person(fresh()))
      expect(ended.status).toBe(400)
      expect(ended.body).toMatchObject({ code: "failed_precondition" })
      expect(JSON.stringify(ended.body)).toContain("target.failed")
      await stage.make("action/UpdateTarget", { id, restCall: {} })
      const username = fresh()
      const { id: userId } = await stage.make("user/CreateUser", person(username))
      expect(await nameOf(userId)).toBe(username)
    })
  })

  test("a call that answers nothing changes nothing", async () => {
    const { id } = await stage.target("/nothing", calls)
    await stage.on(createUser, id)
    const username = fresh()
    const { id: userId } = await stage.make("user/CreateUser", person(username))
    expect(await nameOf(userId)).toBe(username)
  })

  test("one after the other, each with what those before have made of it", async () => {
    const first = await stage.target("/first", calls)
    const second = await stage.target("/second")
    await stage.on(createUser, first.id, second.id)
    const wanted = fresh()
    stage.receiver.answer("/first", (response, received) =>
      json({ ...JSON.parse(received.body).request, username: wanted })(response, received),
    )
    await stage.make("user/CreateUser", person(fresh()))
    expect(stage.receiver.at("/second")).toMatchObject([{ request: { username: wanted } }])
  })

  test("where the first ends it, the second is not asked; where it may not, it is", async () => {
    stage.receiver.answer("/broken", status(500))
    const first = await stage.target("/broken")
    const second = await stage.target("/after")
    await stage.on(createUser, first.id, second.id)
    expect((await stage.ask("user/CreateUser", person(fresh()))).status).toBe(400)
    expect(stage.receiver.at("/after")).toEqual([])
    await stage.make("action/UpdateTarget", { id: first.id, restWebhook: {} })
    await stage.make("user/CreateUser", person(fresh()))
    expect(stage.receiver.at("/after")).toHaveLength(1)
  })

  test("nobody waits for an async one", async () => {
    stage.receiver.answer("/late", () => {})
    const { id } = await stage.target("/late", { restAsync: {}, timeout: "30s" })
    await stage.on(createUser, id)
    const begun = performance.now()
    await stage.make("user/CreateUser", person(fresh()))
    expect(performance.now() - begun).toBeLessThan(20_000)
    await expect.poll(() => stage.receiver.at("/late").length).toBe(1)
  })

  test("one that hangs has its time, and no more", async () => {
    stage.receiver.answer("/hangs", () => {})
    const { id } = await stage.target("/hangs", { ...interrupts, timeout: "0.3s" })
    await stage.on(createUser, id)
    const begun = performance.now()
    expect((await stage.ask("user/CreateUser", person(fresh()))).status).toBe(400)
    expect(performance.now() - begun).toBeLessThan(20_000)
  })

  test("a redirect is a failure, and not followed", async () => {
    stage.receiver.answer("/from", status(302, { location: `${stage.receiver.url}/to` }))
    const { id } = await stage.target("/from")
    await stage.on(createUser, id)
    expect((await stage.ask("user/CreateUser", person(fresh()))).status).toBe(400)
    expect(stage.receiver.at("/to")).toEqual([])
  })

  test("one in a private network is not reached", async () => {
    const { id } = await stage.target("http://10.1.2.3/hook")
    await stage.on(createUser, id)
    expect((await stage.ask("user/CreateUser", person(fresh()))).status).toBe(400)
    const { calls: made } = await stage.make("diagnosis/ListTargetCalls", { targetId: id })
    expect(made[0].error).toContain("not a host on the internet")
  })

  test("what it forwards reaches the caller, with its words", async () => {
    const forwarded = { forwardedStatusCode: 409, forwardedErrorMessage: "not on\nSundays" }
    stage.receiver.answer("/refuses", json(forwarded))
    const { id } = await stage.target("/refuses")
    await stage.on(createUser, id)
    const refused = await stage.ask("user/CreateUser", person(fresh()))
    expect(refused.status).toBe(409)
    expect(refused.body.message).toContain("not on Sundays")
    await stage.make("action/UpdateTarget", { id, restWebhook: {} })
    expect((await stage.ask("user/CreateUser", person(fresh()))).status).toBe(200)
  })
})

describe("after an operation", () => {
  const getUser = at("response", "user/GetUserByID")

  test("a call changes what is answered, and is told what was asked", async () => {
    const { id: userId } = await stage.make("user/CreateUser", person(fresh()))
    const { id } = await stage.target("/answered", calls)
    await stage.on(getUser, id)
    stage.receiver.answer("/answered", (response, received) => {
      const { request, response: told } = JSON.parse(received.body)
      expect(request).toEqual({ userId })
      json({ ...told, user: { ...told.user, username: "masked" } })(response, received)
    })
    expect(await nameOf(userId)).toBe("masked")
  })

  test("secrets of an answer reach its caller alone, whatever is made of it", async () => {
    const machine = { organizationId: orgId, username: fresh(), machine: { name: "robot" } }
    const { id: userId } = await stage.make("user/CreateUser", machine)
    const { id } = await stage.target("/secret", calls)
    await stage.on(at("response", "user/AddSecret"), id)
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

test("of what fits, the most exact alone: a method, then its service, then all", async () => {
  const [all, service, method] = await Promise.all(
    ["/all", "/service", "/method"].map((path) => stage.target(path)),
  )
  await stage.on({ request: { all: true } }, all?.id ?? "")
  await stage.on({ request: { service: "core.user.v2.UserService" } }, service?.id ?? "")
  await stage.on(createUser, method?.id ?? "")
  await stage.make("user/CreateUser", person(fresh()))
  await stage.make("user/ListUsers")
  await stage.make("project/ListProjects")
  const paths = stage.receiver.received.map(({ path }) => path)
  expect(paths).toEqual(["/method", "/service", "/all"])
})
