import { afterEach, beforeEach, describe, expect, test } from "vitest"
import * as grants from "../../../src/domain/grant/index.ts"
import type { Transaction } from "../../../src/store/index.ts"
import { openTestEnvironment, type TestEnvironment } from "../../support/test-environment.ts"

let world: TestEnvironment
beforeEach(() => {
  world = openTestEnvironment({ aggregates: grants.module.aggregates, views: [] })
})
afterEach(() => world.close())

const requested: grants.AuthorizationRequest = {
  clientId: "client",
  appId: "app",
  redirectUri: "https://app.example.com/callback",
  responseMode: "query",
  scopes: ["openid"],
  audience: ["client"],
  prompts: [],
  languages: [],
}

const grantOptions = {
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

const runStep = <T>(run: (tx: Transaction) => T) => world.cx().store.transact(world.cx(), run)
const addRequest = () =>
  runStep((tx) =>
    grants.addAuthRequest(tx, "r", {
      agentId: "b",
      asked: requested,
      loginHint: "ann@example.com",
    }),
  )
const currentRequest = () => world.store.state(world.cx(), grants.authRequest, "r")

describe("an authorization request", () => {
  test("goes from open to answered to exchanged, and becomes a grant", async () => {
    await addRequest()
    await runStep((tx) => grants.linkSession(tx, "r", "s"))
    expect(currentRequest()).toMatchObject({ status: "open", sessionId: "s", asked: requested })
    await runStep((tx) => grants.completeAuthRequest(tx, "r", "s"))
    expect(currentRequest().status).toBe("answered")
    const { value: id } = await runStep((tx) => grants.exchangeCode(tx, { id: "r" }, grantOptions))
    expect(currentRequest()).toMatchObject({ status: "exchanged", grantId: id })
    expect(world.store.state(world.cx(), grants.grant, id)).toMatchObject({
      status: "active",
      userId: "ann",
      sessionId: "s",
      clientId: "client",
      authTime: 5,
      methods: ["pwd"],
    })
  })

  test("stores the login hint apart from immutable data", async () => {
    await addRequest()
    const [added] = await world.store.log.read(0, 1)
    expect(JSON.stringify(added?.data)).not.toContain("ann@")
    expect(added?.private).toEqual({ loginHint: "ann@example.com" })
  })

  test("stores confidential client data separately, and reads requests that did not", async () => {
    const whole = { ...requested, state: "STATE", nonce: "NONCE" }
    const input = { agentId: "b", asked: whole, loginHint: "" }
    await runStep((tx) => grants.addAuthRequest(tx, "r", input))
    const [added] = await world.store.log.read(0, 1)
    expect(added?.data).toEqual({ agentId: "b", asked: requested })
    expect(added?.private).toEqual({ loginHint: "", state: "STATE", nonce: "NONCE" })
    expect(currentRequest()).toMatchObject({ status: "open", asked: whole, loginHint: "" })

    const before = {
      type: "auth_request.added",
      data: { agentId: "b", asked: whole },
      private: { loginHint: "ann@example.com" },
    }
    await runStep((tx) => tx.append(grants.authRequest, "before", [before]))
    const read = world.store.state(world.cx(), grants.authRequest, "before")
    expect(read).toEqual({ ...currentRequest(), loginHint: "ann@example.com" })
  })

  type Do = (tx: Transaction) => void
  const ends: Readonly<Record<string, Do>> = {
    "was answered": (tx) => grants.completeAuthRequest(tx, "r", "s"),
    "has failed": (tx) => grants.failRequest(tx, "r", "login_required"),
  }
  test.each(Object.entries(ends))("ends when it %s", async (_, end) => {
    await addRequest()
    await runStep(end)
    const over = { id: "auth_request.over" }
    await expect(runStep((tx) => grants.completeAuthRequest(tx, "r", "s"))).rejects.toMatchObject(
      over,
    )
    await expect(runStep((tx) => grants.linkSession(tx, "r", "s"))).rejects.toMatchObject(over)
    await expect(runStep((tx) => grants.failRequest(tx, "r", "x"))).rejects.toMatchObject(over)
  })

  test("expires after an hour", async () => {
    await addRequest()
    world.clock.advance(grants.requestLifetimes.request)
    await expect(runStep((tx) => grants.completeAuthRequest(tx, "r", "s"))).rejects.toThrow(
      /start again/,
    )
  })

  test("produces one answer for ten concurrent tabs", async () => {
    await addRequest()
    const all = await Promise.allSettled(
      Array.from({ length: 10 }, () => runStep((tx) => grants.completeAuthRequest(tx, "r", "s"))),
    )
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
  })
})

describe("a grant", () => {
  test("ends once; ending an unknown one does nothing", async () => {
    await addRequest()
    await runStep((tx) => grants.completeAuthRequest(tx, "r", "s"))
    const { value: id } = await runStep((tx) => grants.exchangeCode(tx, { id: "r" }, grantOptions))
    await runStep((tx) => grants.endGrant(tx, id, "revoked"))
    const position = world.store.log.durable()
    await runStep((tx) => grants.endGrant(tx, id, "revoked"))
    await runStep((tx) => grants.endGrant(tx, "nothing", "revoked"))
    expect(world.store.log.durable()).toBe(position)
    expect(world.store.state(world.cx(), grants.grant, id).status).toBe("ended")
  })
})

describe("an assertion with an id", () => {
  test("is accepted once until it expires", async () => {
    const used = { issuer: "i", jti: "j", expires: world.clock.now() + 1000 }
    const spend = () => runStep((tx) => grants.recordAssertion(tx, used))
    await spend()
    await expect(spend()).rejects.toMatchObject({ id: "assertion.used" })
    await runStep((tx) => grants.recordAssertion(tx, { ...used, issuer: "other" }))
    world.clock.advance(1000)
    await spend()
  })
})
