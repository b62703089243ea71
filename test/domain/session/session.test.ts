import { afterEach, beforeEach, describe, expect, test } from "vitest"
import {
  browser,
  enterBrowser,
  freshTimeOf,
  lifetimes,
  readBrowser,
  type Session,
  session,
} from "../../../src/domain/session/index.ts"
import { listSessionsOfOrg } from "../../../src/domain/session/view.ts"
import { openProvider, type Provider } from "../../oauth/provider.ts"

const day = 86_400_000

let provider: Provider
let cookie = ""
beforeEach(async () => {
  provider = await openProvider()
  const stranger = await readCookie("")
  const line = await enterBrowser(provider.cx(), stranger, {
    userId: provider.setup.ownerId,
    secure: true,
    also: () => undefined,
  })
  cookie = line.split(";")[0] ?? ""
})
afterEach(() => provider.close())

const readCookie = (header: string) => readBrowser(provider.cx(), true, header)
const hasSession = async () => (await readCookie(cookie)).sessions.length === 1
const eventsOf = () =>
  provider.store.log
    .read(0, 1000)
    .then((all) => all.filter(({ stream }) => stream === "user_agent"))

describe("a browser session", () => {
  test("is found by its cookie among others, in any format", async () => {
    const found = await readCookie(`%=%; a="b; c"; ${cookie}; __Host-latchkey2=1.2`)
    expect(found.sessions).toHaveLength(1)
    expect(found.setCookie).toBeUndefined()
  })

  test("is stored as a hash only, and the previous hash is erased", async () => {
    const entrance = { userId: provider.setup.ownerId, secure: true, also: () => undefined }
    await enterBrowser(provider.cx(), await readCookie(cookie), entrance)
    const [, value = ""] = cookie.split("=")
    const dump = JSON.stringify(provider.store.database.query("SELECT * FROM event").all())
    expect(dump).not.toContain(value.split(".")[1])
    const [first, second] = await eventsOf()
    expect([first?.private, typeof second?.private]).toEqual([null, "object"])
    expect(await hasSession()).toBe(false)
  })

  test("stores the browser and address within limits", async () => {
    const seen = async (from: { readonly address: string; readonly userAgent: string }) => {
      const stranger = await readCookie("")
      const entrance = { userId: provider.setup.ownerId, secure: true, also: () => undefined }
      const line = await enterBrowser({ ...provider.cx(), from }, stranger, entrance)
      const [id = ""] = (await readCookie(line.split(";")[0] ?? "")).sessions
      return provider.store.state(provider.cx(), session, id).userAgent
    }
    const userAgent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    expect(await seen({ address: "203.0.113.7", userAgent })).toEqual({
      ip: "203.0.113.7",
      header: { "user-agent": [userAgent] },
    })
    const long = await seen({ address: "<script>", userAgent: "x".repeat(10_000) })
    expect(long).toEqual({ header: { "user-agent": ["x".repeat(300)] } })
    expect(await seen({ address: "", userAgent: "" })).toEqual({})
  })

  test("is listed by organization, page by page, with or without a time", async () => {
    const { ownerId, orgId } = provider.setup
    const entrance = { userId: ownerId, secure: true, also: () => undefined }
    const here = async () => enterBrowser(provider.cx(), await readCookie(""), entrance)
    for (let at = 0; at < 4; at++) {
      provider.clock.advance(1000)
      await Promise.all(Array.from({ length: 55 }, here))
    }
    const ids: string[] = []
    for (
      let page = listSessionsOfOrg(provider.cx(), orgId);
      page.length > 0;
      page = listSessionsOfOrg(provider.cx(), orgId, page.at(-1))
    ) {
      expect(page.length).toBeLessThanOrEqual(100)
      ids.push(...page.map(({ id }) => id))
    }
    expect([ids.length, new Set(ids).size]).toEqual([221, 221])
  })

  test("stores nothing for a browser without a sign-in", async () => {
    const before = provider.store.log.durable()
    const stranger = await readCookie("")
    const again = await readCookie(stranger.setCookie?.split(";")[0] ?? "")
    expect(again.id).toBe(stranger.id)
    expect(provider.store.log.durable()).toBe(before)
  })

  test("treats an altered cookie as none", async () => {
    for (const changed of [cookie.slice(0, -1), `${cookie}A`, cookie.replace(/=\d/, "=9")]) {
      expect((await readCookie(changed)).sessions).toEqual([])
    }
  })

  test("is renewed by use in the second half of its idle lifetime", async () => {
    const renewedOn: number[] = []
    for (let passed = 1; passed <= 40; passed++) {
      provider.clock.advance(day)
      const { setCookie } = await readCookie(cookie)
      if (setCookie) renewedOn.push(passed)
      expect(setCookie ?? "Max-Age=2592000").toContain("Max-Age=2592000")
    }
    expect(renewedOn).toEqual([15, 30])
    const types = (await eventsOf()).map(({ type }) => type)
    expect(types).toEqual(["user_agent.signed.in", "user_agent.renewed", "user_agent.renewed"])
  })

  test("expires if the browser is idle", async () => {
    // lucia uses the system clock, which advances while the test clock does not.
    provider.clock.advance(lifetimes.browserIdle - 60_000)
    const { id } = await readCookie(cookie)
    expect(cookie).toContain(id)
    provider.clock.advance(lifetimes.browserIdle)
    expect((await readCookie(cookie)).id).not.toBe(id)
  })

  test("expires after its absolute lifetime despite activity", async () => {
    const { id } = await readCookie(cookie)
    for (let passed = 0; passed < lifetimes.browserMost - day; passed += day) {
      provider.clock.advance(day)
      expect((await readCookie(cookie)).id).toBe(id)
    }
    provider.clock.advance(day)
    expect((await readCookie(cookie)).id).not.toBe(id)
  })

  test("has one session for each user, and drops the oldest above the limit", async () => {
    const { id } = await readCookie(cookie)
    const enter = (userId: string) =>
      enterBrowser(
        provider.cx(),
        { id, hash: state().hash },
        { userId, secure: true, also: () => undefined },
      )
    const state = () => provider.store.state(provider.cx(), browser, id)
    const [first] = state().sessions
    await enter(provider.setup.ownerId)
    expect(state().sessions).toEqual([first])
    for (let count = 0; count < 10; count++) await enter(await provider.addPerson(`p${count}`))
    expect(state().sessions).toHaveLength(10)
    expect(state().sessions).not.toContain(first)
  })

  test("has a non-secure cookie if the public address is http", async () => {
    const { setCookie = "" } = await readBrowser(provider.cx(), false, "")
    expect(setCookie).toMatch(/^latchkey=/)
    expect(setCookie).not.toContain("Secure")
    // A cookie that plain http could have set is ignored under https.
    expect((await readCookie(setCookie.replace("latchkey=", "x="))).setCookie).toBeDefined()
  })

  test("is not created if a part of the same transaction fails", async () => {
    const stranger = await readCookie("")
    const failed = enterBrowser(provider.cx(), stranger, {
      userId: provider.setup.ownerId,
      secure: true,
      also: () => {
        throw new Error("no")
      },
    })
    await expect(failed).rejects.toThrow("no")
    expect(provider.store.state(provider.cx(), browser, stranger.id).status).toBe("absent")
  })
})

describe("a sign-in through a provider", () => {
  const provided = { type: "session.intent.checked" } as const
  const added = {
    type: "session.added",
    data: { userId: "u1", agentId: "" },
    time: 100,
    private: { userAgent: {} },
  } as const
  const stateAfter = (...events: readonly object[]) =>
    [added, ...events].reduce<Session>(
      (state, event) => Reflect.get(session.evolve, Reflect.get(event, "type"))(state, event),
      session.initial,
    )
  const data = { passwordVersion: 1, idpId: "acme", idpOrg: "" }
  const checked = (more: object = {}) => ({
    ...provided,
    private: {},
    time: 5000,
    data: { ...data, ...more },
  })

  test.each([
    ["an older version", checked(), 5000, 0],
    ["before providers were noted", { ...checked(), data: { passwordVersion: 1 } }, 5000, 0],
    ["with a time that it stated", checked({ authTime: 700, freshAt: 700 }), 700, 700],
    ["with none", checked({ authTime: 4000 }), 4000, 0],
    ["with a time in the future", checked({ authTime: 9000, freshAt: 9000 }), 5000, 9000],
  ])("stays valid: %s", (_, event, authTime, freshAt) => {
    const state = stateAfter(event)
    expect(state).toMatchObject({ authTime, methods: ["fed"], passwordVersion: 1 })
    expect(freshTimeOf(state)).toBe(freshAt)
  })

  test("stored by an older version becomes fresh with the next password", () => {
    const password = {
      type: "session.password.checked",
      data: { passwordVersion: 1 },
      time: 6000,
    }
    const state = stateAfter(checked(), password)
    expect([state.authTime, freshTimeOf(state)]).toEqual([6000, 6000])
  })

  test("is not backdated by a later response about an older sign-in", () => {
    const password = {
      type: "session.password.checked",
      data: { passwordVersion: 1 },
      time: 2000,
    }
    const state = stateAfter(password, checked({ authTime: 700, freshAt: 700 }))
    expect([state.authTime, freshTimeOf(state)]).toEqual([2000, 2000])
  })

  test("becomes fresh with a later second factor", () => {
    const totp = { type: "session.totp.checked", data: { methods: ["otp"] }, time: 6000 }
    const state = stateAfter(checked({ authTime: 4000 }), totp)
    expect(state).toMatchObject({ authTime: 5000, methods: ["fed", "otp", "mfa"] })
    expect(freshTimeOf(state)).toBe(5000)
  })
})
