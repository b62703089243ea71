import { afterEach, beforeEach, describe, expect, test } from "vitest"
import * as grants from "../../../src/domain/grant/index.ts"
import type { Transaction } from "../../../src/store/index.ts"
import { openWorld, type World } from "../../support/world.ts"

let world: World
beforeEach(() => {
  world = openWorld({ aggregates: grants.module.aggregates, views: [] })
})
afterEach(() => world.close())

const asked: grants.Requested = {
  clientId: "client",
  appId: "app",
  redirectUri: "https://app.example.com/callback",
  responseMode: "query",
  scopes: ["openid"],
  audience: ["client"],
  prompts: [],
  languages: [],
}

const given = {
  clientId: "client",
  appId: "app",
  scopes: ["openid"],
  audience: ["client"],
  accessLifetimeSeconds: 60,
  session: {
    userId: "ann",
    authTime: 5,
    methods: ["pwd"],
    passwordVersion: 1,
    checks: { password: 5 },
    userVerified: false,
  },
} as const

const step = <T>(run: (tx: Transaction) => T) => world.cx().store.transact(world.cx(), run)
const add = () =>
  step((tx) =>
    grants.addAuthRequest(tx, "r", { agentId: "b", asked, loginHint: "ann@example.com" }),
  )
const request = () => world.store.state(world.cx(), grants.authRequest, "r")

describe("an auth request", () => {
  test("goes from open over answered to exchanged, and becomes a grant", async () => {
    await add()
    await step((tx) => grants.linkSession(tx, "r", "s"))
    expect(request()).toMatchObject({ status: "open", sessionId: "s", asked })
    await step((tx) => grants.answerRequest(tx, "r", "s"))
    expect(request().status).toBe("answered")
    const { value: id } = await step((tx) => grants.exchangeCode(tx, { id: "r" }, given))
    expect(request()).toMatchObject({ status: "exchanged", grantId: id })
    expect(world.store.state(world.cx(), grants.grant, id)).toMatchObject({
      status: "active",
      userId: "ann",
      sessionId: "s",
      clientId: "client",
      authTime: 5,
      methods: ["pwd"],
    })
  })

  test("keeps the login hint apart from what is never rewritten", async () => {
    await add()
    const [added] = await world.store.log.read(0, 1)
    expect(JSON.stringify(added?.data)).not.toContain("ann@")
    expect(added?.private).toEqual({ loginHint: "ann@example.com" })
  })

  test("keeps what its client alone is to know apart, too, and reads what did not", async () => {
    const whole = { ...asked, state: "STATE", nonce: "NONCE" }
    const input = { agentId: "b", asked: whole, loginHint: "" }
    await step((tx) => grants.addAuthRequest(tx, "r", input))
    const [added] = await world.store.log.read(0, 1)
    expect(added?.data).toEqual({ agentId: "b", asked })
    expect(added?.private).toEqual({ loginHint: "", state: "STATE", nonce: "NONCE" })
    expect(request()).toMatchObject({ status: "open", asked: whole, loginHint: "" })

    const before = {
      type: "auth_request.added",
      data: { agentId: "b", asked: whole },
      private: { loginHint: "ann@example.com" },
    }
    await step((tx) => tx.append(grants.authRequest, "before", [before]))
    const read = world.store.state(world.cx(), grants.authRequest, "before")
    expect(read).toEqual({ ...request(), loginHint: "ann@example.com" })
  })

  type Do = (tx: Transaction) => void
  const ends: Readonly<Record<string, Do>> = {
    "was answered": (tx) => grants.answerRequest(tx, "r", "s"),
    "has failed": (tx) => grants.failRequest(tx, "r", "login_required"),
  }
  test.each(Object.entries(ends))("is over once it %s", async (_, end) => {
    await add()
    await step(end)
    const over = { id: "auth_request.over" }
    await expect(step((tx) => grants.answerRequest(tx, "r", "s"))).rejects.toMatchObject(over)
    await expect(step((tx) => grants.linkSession(tx, "r", "s"))).rejects.toMatchObject(over)
    await expect(step((tx) => grants.failRequest(tx, "r", "x"))).rejects.toMatchObject(over)
  })

  test("is over after an hour", async () => {
    await add()
    world.clock.advance(grants.requestLifetimes.request)
    await expect(step((tx) => grants.answerRequest(tx, "r", "s"))).rejects.toThrow(/start again/)
  })

  test("gives one answer to ten tabs that ask at once", async () => {
    await add()
    const all = await Promise.allSettled(
      Array.from({ length: 10 }, () => step((tx) => grants.answerRequest(tx, "r", "s"))),
    )
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
  })
})

describe("a grant", () => {
  test("ends once, and what isn't there ends without a word", async () => {
    await add()
    await step((tx) => grants.answerRequest(tx, "r", "s"))
    const { value: id } = await step((tx) => grants.exchangeCode(tx, { id: "r" }, given))
    await step((tx) => grants.endGrant(tx, id, "revoked"))
    const position = world.store.log.durable()
    await step((tx) => grants.endGrant(tx, id, "revoked"))
    await step((tx) => grants.endGrant(tx, "nothing", "revoked"))
    expect(world.store.log.durable()).toBe(position)
    expect(world.store.state(world.cx(), grants.grant, id).status).toBe("ended")
  })
})

describe("an assertion with an id", () => {
  test("counts once, until it would be refused for its age anyway", async () => {
    const used = { issuer: "i", jti: "j", expires: world.clock.now() + 1000 }
    const spend = () => step((tx) => grants.spendAssertion(tx, used))
    await spend()
    await expect(spend()).rejects.toMatchObject({ id: "assertion.used" })
    await step((tx) => grants.spendAssertion(tx, { ...used, issuer: "other" }))
    world.clock.advance(1000)
    await spend()
  })
})
