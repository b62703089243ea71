// A code by mail instead of a password, on a login page of somebody else: the same one, by the same
// rules, as behind the button of our own page.
import { TOTP } from "otpauth"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { registerTotp, verifyTotp } from "../../src/domain/factor/totp.ts"
import { contentOf } from "../../src/domain/message/content.ts"
import { message } from "../../src/domain/message/index.ts"
import { addPolicy, changePolicy } from "../../src/domain/policy/commands.ts"
import { type Login, login } from "../../src/domain/policy/login.ts"
import { lockUser } from "../../src/domain/user/index.ts"
import { type Allowance, limitsOf } from "../../src/kernel/limit.ts"
import { openProvider, type Provider } from "../oauth/provider.ts"
import {
  type Application,
  applicationAt,
  type CustomLogin,
  customLogin,
  type Kept,
} from "../support/custom-login.ts"
import { openLoginPage } from "../support/login-page.ts"

const name = "pascal"
const urlTemplate = "https://login.example.net/link?session={{.SessionID}}#{{.Code}}"

let provider: Provider
let page: CustomLogin
let app: Application
let id: string
beforeEach(async () => {
  provider = await openProvider()
  page = customLogin(await openLoginPage(provider))
  app = await applicationAt(provider)
  id = await provider.addPerson(name)
  await say({ allowMagicLink: true })
})
afterEach(() => provider.close())

const say = (said: Partial<Login>) =>
  changePolicy(provider.cx(), undefined, { policy: login, say: () => said })

const sendCode = { deliveryType: { case: "sendCode", value: { urlTemplate } } }

/** Begins a session for a name, and asks for a code by mail. */
const asked = async (loginName = name, otpEmail: object = sendCode, more: object = {}) => {
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
const shown = (kept: Kept, typed: string) => page.check(kept, { otpEmail: { code: typed } })
const idOf = (end: Promise<unknown>) => end.then(() => "done").catch(({ id: why }) => why)
const finished = async (kept: Kept) => {
  const { path, finish } = await app.begin()
  return (await finish(await page.finish(await page.open(path), kept))).claims
}

describe("a code by mail", () => {
  test("lets in, once, and is told as what it is", async () => {
    const kept = await asked()
    expect(await idOf(finished(kept))).not.toBe("done")
    const { link, typed } = await code()
    expect(link).toContain(`session=${kept.sessionId}#`)
    const next = await shown(kept, typed.toLowerCase())
    expect(await finished(next)).toMatchObject({ sub: id, amr: ["otp"] })
    expect(await idOf(shown(next, typed))).toBe("session.proof_wrong")
    const { session } = await page.call("session.v2.SessionService/GetSession", next)
    expect(session.factors.otpEmail.verifiedAt).toBeDefined()
  })

  test("lets in once, also where twenty show it at the same moment", async () => {
    const kept = await asked()
    const { typed } = await code()
    const ends = await Promise.all(Array.from({ length: 20 }, () => idOf(shown(kept, typed))))
    expect(ends.filter((end) => end === "done")).toHaveLength(1)
  })

  test("is for its own session and person", async () => {
    await provider.addPerson("penelope")
    const kept = await asked()
    const { typed } = await code()
    expect(await idOf(shown(await asked("penelope"), typed))).toBe("session.proof_wrong")
    expect(await idOf(shown(await asked(), typed))).toBe("session.proof_wrong")
    expect(await idOf(shown(kept, typed))).toBe("done")
  })

  test("is over in minutes", async () => {
    const kept = await asked()
    const { typed } = await code()
    provider.clock.advance(3_600_000 - 1)
    expect(await idOf(shown(kept, typed))).not.toBe("done")
  })

  test("is guessed twenty times an hour by all, and then the right one waits, too", async () => {
    const kept = await asked()
    const { typed } = await code()
    for (let count = 0; count < 20; count++) {
      expect(await idOf(shown(kept, "00000000"))).toBe("session.proof_wrong")
    }
    expect(await idOf(shown(kept, typed))).toBe("user.too_many_codes")
  })

  test("is no second factor", async () => {
    const cx = provider.cx()
    const { secret } = await registerTotp(cx, id, { issuer: "Home", label: name })
    const timestamp = provider.clock.now() - 30_000
    await verifyTotp(cx, id, new TOTP({ secret }).generate({ timestamp }))
    const kept = await asked()
    const next = await shown(kept, (await code()).typed)
    expect(await idOf(finished(next))).toBe("auth_request.factor_missing")
  })
})

describe("whoever asks learns nothing of who is here", () => {
  test.each([
    ["who is not", "penelope", () => {}],
    ["who is locked", name, () => lockUser(provider.cx(), id)],
    ["whose organisation wants none", name, () => own({ allowMagicLink: false })],
  ])("neither of %s", async (_, loginName, first) => {
    await first()
    const kept = await asked(loginName)
    expect(kept).toMatchObject({ sessionId: expect.any(String), challenges: {} })
    expect(await mails()).toEqual([])
    expect(await idOf(shown(kept, "00000000"))).toBe("session.proof_wrong")
  })

  const own = (said: Partial<Login>) =>
    addPolicy(provider.cx(), provider.setup.orgId, {
      policy: login,
      say: () => ({ ...login.standard, ...said }),
    })

  test("ten are sent an hour, and the eleventh is answered the same", async () => {
    for (let count = 0; count < 12; count++) await asked()
    expect(await mails()).toHaveLength(10)
  })

  test("an address may ask thirty times, where the page says whose it is", async () => {
    const limits = limitsOf(provider.clock, 1)
    const unpaced = (allowance: Allowance): Allowance => ({
      ...allowance,
      pace: () => async () => {},
    })
    const allowance: Allowance = {
      ...unpaced(limits({ address: "198.51.100.1" })),
      behalf: (address) => unpaced(limits({ address })),
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

test("nobody is let in so where the policy says nothing, or the page wants the code", async () => {
  const returned = { deliveryType: { case: "returnCode", value: {} } }
  expect(await idOf(asked(name, returned))).toBe("session.unproven")
  const kept = await asked()
  const { typed } = await code()
  await say({ allowMagicLink: false })
  expect(await idOf(shown(kept, typed))).toBe("session.proof_wrong")
  expect(await idOf(asked())).toBe("session.unproven")
})
