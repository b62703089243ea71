// A code by email instead of a password, on a custom login page: the same code and rules as behind
// the button of our own page.
import { TOTP } from "otpauth"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { registerTotp, verifyTotp } from "../../src/domain/factor/totp.ts"
import { contentOf } from "../../src/domain/message/content.ts"
import { message } from "../../src/domain/message/index.ts"
import { addPolicy, changePolicy } from "../../src/domain/policy/commands.ts"
import { type Login, login } from "../../src/domain/policy/login.ts"
import { lockUser } from "../../src/domain/user/index.ts"
import { type Allowance, createLimits } from "../../src/kernel/limit.ts"
import { openProvider, type Provider } from "../oauth/provider.ts"
import {
  type Application,
  addCustomLoginApp,
  type CustomLoginPage,
  createCustomLoginPage,
  type StoredSession,
} from "../support/custom-login-page.ts"
import { addLoginPageCaller } from "../support/operation-caller.ts"

const name = "pascal"
const urlTemplate = "https://login.example.net/link?session={{.SessionID}}#{{.Code}}"

let provider: Provider
let page: CustomLoginPage
let app: Application
let id: string
beforeEach(async () => {
  provider = await openProvider()
  page = createCustomLoginPage(await addLoginPageCaller(provider))
  app = await addCustomLoginApp(provider)
  id = await provider.addPerson(name)
  await setLoginPolicy({ allowMagicLink: true })
})
afterEach(() => provider.close())

const setLoginPolicy = (values: Partial<Login>) =>
  changePolicy(provider.cx(), undefined, { policy: login, apply: () => values })

const sendCode = { deliveryType: { case: "sendCode", value: { urlTemplate } } }

/** Creates a session for a name, and requests a code by email. */
const requestCode = async (loginName = name, otpEmail: object = sendCode, more: object = {}) => {
  const user = { search: { case: "loginName", value: loginName } }
  const request = { checks: { user }, challenges: { otpEmail }, ...more }
  return page.call("session.v2.SessionService/CreateSession", request)
}

async function mails() {
  const { events } = await provider.store.log.find(0, 10_000, ["message.added"])
  return events.flatMap(({ id: messageId }) => {
    const state = provider.store.state(provider.cx(), message, messageId)
    const content = contentOf(provider.cx(), state)
    if ("over" in content) throw new Error(content.over)
    return state.kind === "magic_link" ? [content] : []
  })
}

const code = async () => {
  const link = (await mails()).at(-1)?.link ?? ""
  return { link, typed: decodeURIComponent(link.split("#")[1] ?? "") }
}
const checkCode = (session: StoredSession, typed: string) =>
  page.check(session, { otpEmail: { code: typed } })
const idOf = (end: Promise<unknown>) => end.then(() => "done").catch(({ id: why }) => why)
const finishSignIn = async (session: StoredSession) => {
  const { path, finish } = await app.begin()
  return (await finish(await page.finish(await page.open(path), session))).claims
}

describe("a code by email", () => {
  test("signs in once, and the amr states it", async () => {
    const kept = await requestCode()
    expect(await idOf(finishSignIn(kept))).not.toBe("done")
    const { link, typed } = await code()
    expect(link).toContain(`session=${kept.sessionId}#`)
    const next = await checkCode(kept, typed.toLowerCase())
    expect(await finishSignIn(next)).toMatchObject({ sub: id, amr: ["otp"] })
    expect(await idOf(checkCode(next, typed))).toBe("session.proof_wrong")
    const { session } = await page.call("session.v2.SessionService/GetSession", next)
    expect(session.factors.otpEmail.verifiedAt).toBeDefined()
  })

  test("signs in once, also for 20 concurrent uses", async () => {
    const kept = await requestCode()
    const { typed } = await code()
    const ends = await Promise.all(Array.from({ length: 20 }, () => idOf(checkCode(kept, typed))))
    expect(ends.filter((end) => end === "done")).toHaveLength(1)
  })

  test("is valid for its own session and user", async () => {
    await provider.addPerson("penelope")
    const kept = await requestCode()
    const { typed } = await code()
    expect(await idOf(checkCode(await requestCode("penelope"), typed))).toBe("session.proof_wrong")
    expect(await idOf(checkCode(await requestCode(), typed))).toBe("session.proof_wrong")
    expect(await idOf(checkCode(kept, typed))).toBe("done")
  })

  test("expires within minutes", async () => {
    const kept = await requestCode()
    const { typed } = await code()
    provider.clock.advance(3_600_000 - 1)
    expect(await idOf(checkCode(kept, typed))).not.toBe("done")
  })

  test("can be tried 20 times an hour, then the right one must wait as well", async () => {
    const kept = await requestCode()
    const { typed } = await code()
    for (let count = 0; count < 20; count++) {
      expect(await idOf(checkCode(kept, "00000000"))).toBe("session.proof_wrong")
    }
    expect(await idOf(checkCode(kept, typed))).toBe("user.too_many_codes")
  })

  test("is not a second factor", async () => {
    const cx = provider.cx()
    const { secret } = await registerTotp(cx, id, { issuer: "Home", label: name })
    const timestamp = provider.clock.now() - 30_000
    await verifyTotp(cx, id, new TOTP({ secret }).generate({ timestamp }))
    const kept = await requestCode()
    const next = await checkCode(kept, (await code()).typed)
    expect(await idOf(finishSignIn(next))).toBe("auth_request.factor_missing")
  })
})

describe("a caller can't learn which users exist", () => {
  test.each([
    ["who is not", "penelope", () => {}],
    ["who is locked", name, () => lockUser(provider.cx(), id)],
    ["whose organisation wants none", name, () => own({ allowMagicLink: false })],
  ])("neither of %s", async (_, loginName, first) => {
    await first()
    const kept = await requestCode(loginName)
    expect(kept).toMatchObject({ sessionId: expect.any(String), challenges: {} })
    expect(await mails()).toEqual([])
    expect(await idOf(checkCode(kept, "00000000"))).toBe("session.proof_wrong")
  })

  const own = (values: Partial<Login>) =>
    addPolicy(provider.cx(), provider.setup.orgId, {
      policy: login,
      apply: () => ({ ...login.standard, ...values }),
    })

  test("ten are sent per hour, and the eleventh request gets the same response", async () => {
    for (let count = 0; count < 12; count++) await requestCode()
    expect(await mails()).toHaveLength(10)
  })

  test("an address can request thirty, if the page passes the address", async () => {
    const limits = createLimits(provider.clock, 1)
    const unpaced = (allowance: Allowance): Allowance => ({
      ...allowance,
      pace: () => async () => {},
    })
    const allowance: Allowance = {
      ...unpaced(limits({ address: "198.51.100.1" })),
      forAddress: (address) => unpaced(limits({ address })),
    }
    const ask = (loginName: string, ip: string) => {
      const user = { search: { case: "loginName", value: loginName } }
      const request = { checks: { user }, challenges: { otpEmail: sendCode }, userAgent: { ip } }
      return idOf(page.call("session.v2.SessionService/CreateSession", request, { allowance }))
    }
    const ends = []
    for (let count = 0; count < 31; count++) ends.push(await ask(`x-${count}`, "203.0.113.7"))
    expect([ends[29], ends[30]]).toEqual(["done", "limit.message"])
    expect(await ask("y", "203.0.113.8")).toBe("done")
  })
})

test("it is rejected if the policy doesn't allow it, or the page requests the code", async () => {
  const returned = { deliveryType: { case: "returnCode", value: {} } }
  expect(await idOf(requestCode(name, returned))).toBe("session.unproven")
  const kept = await requestCode()
  const { typed } = await code()
  await setLoginPolicy({ allowMagicLink: false })
  expect(await idOf(checkCode(kept, typed))).toBe("session.proof_wrong")
  expect(await idOf(requestCode())).toBe("session.unproven")
})
