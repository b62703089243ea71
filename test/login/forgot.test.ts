import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import { createCode } from "../../src/domain/credential/code.ts"
import { checkPassword } from "../../src/domain/credential/commands.ts"
import { requestReset } from "../../src/domain/credential/reset.ts"
import { sentCode } from "../../src/domain/credential/sent-code.ts"
import { deactivateProvider } from "../../src/domain/message-provider/commands.ts"
import { activateProvider, providersOf } from "../../src/domain/message-provider/index.ts"
import { addPolicy, changePolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import { getInvitation, inviteUser } from "../../src/domain/registration/invite.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { deactivateUser, lockUser } from "../../src/domain/user/index.ts"
import { findProfile, passwordVersion } from "../../src/domain/user-lookup/query.ts"
import { createLimits } from "../../src/kernel/limit.ts"
import {
  authorizePath,
  browserOf,
  openProvider,
  type Provider,
  password,
  responseOf,
} from "../oauth/provider.ts"

const newPassword = "Fresh-Battery-9"
const page = "/ui/login/password/set"
const newPasswordFields = (plain: string) => ({ password: plain, repeat: plain })

let provider: Provider
beforeAll(async () => {
  provider = await openProvider()
})
afterAll(() => provider.close())

let userCount = 0
let name: string
let id: string
beforeEach(async () => {
  name = `pat-${++userCount}`
  id = await provider.addPerson(name)
})

const findForgotLink = (text: string) =>
  /href="(\/ui\/login\/password\/forgot[^"]*)"/.exec(text)?.[1]
const forgotLink = (text: string) => (findForgotLink(text) ?? "").replaceAll("&amp;", "&")
const codeOf = (user = id) => sentCode(provider.cx(), user, "password")?.plain

/** Requests a link in a browser, as users do. */
async function requestLink(loginName = name, browser = browserOf(provider), from = "/ui/login") {
  // A name reported as unknown has no password page; the link leads to the form anyway.
  const first = await browser.post(await browser.go(from), { loginName })
  const isTold = first.page.includes("No account has this login name.")
  const named = isTold ? await browser.post(first, { loginName: name }) : first
  const forgot = await browser.go(forgotLink(named.page))
  return { browser, forgot, sent: await browser.post(forgot, { loginName }) }
}

/** Another browser, for example on another device, in which the code was entered. */
async function enterCode(code = codeOf() ?? "", more = "") {
  const browser = browserOf(provider)
  const first = await browser.go(`${page}?userId=${id}${more}`)
  return { browser, first, choice: await browser.post(first, { code }) }
}

describe("a user with a forgotten password", () => {
  test("gets a link, sets a new password on any device, and signs in with it", async () => {
    const { forgot, sent } = await requestLink()
    expect(forgot.page).toContain(`value="${name}"`)
    expect(forgot.path).toContain("as=")
    expect(forgot.path).not.toContain(name)
    expect([sent.path, sent.response.status]).toEqual(["/ui/login/password/forgot/sent", 200])
    const { browser, first, choice } = await enterCode()
    expect(first.page).not.toContain(name)
    expect(choice.page).toContain(name)
    const done = await browser.post(choice, newPasswordFields(newPassword))
    expect(done.path).toBe("/ui/login/password/done")
    expect(done.page).toContain("Password changed")
    expect(done.page).toContain('href="/ui/login/loginname"')
    expect(await checkPassword(provider.cx(), id, password)).toBe("wrong")
    expect((await browser.signIn("/ui/login", name, newPassword)).path).toBe("/ui/login/signedin")
  })

  test("continues to the application that waits in the same browser", async () => {
    const { id: clientId } = await provider.addClient()
    const { browser, sent } = await requestLink(name, undefined, authorizePath(clientId))
    const [, request = ""] = /authRequest=(\d+)/.exec(sent.path) ?? []
    expect(request).not.toBe("")
    const { events } = await provider.store.log.find(0, 10_000, ["user.human.password.code.added"])
    expect(events.at(-1)?.data).toMatchObject({ requestId: request })
    const first = await browser.go(`${page}?userId=${id}&request=${request}`)
    const choice = await browser.post(first, { code: codeOf() ?? "" })
    const done = await browser.post(choice, newPasswordFields(newPassword))
    const [, href = ""] = /href="([^"]*authRequest=[^"]*)"/.exec(done.page) ?? []
    expect(responseOf(await browser.signIn(href, name, newPassword))).toHaveProperty("code")
    // Elsewhere no request is pending, which is not an error.
    const other = await browserOf(provider).go(`${page}?userId=${id}&request=${request}`)
    expect(other.response.status).toBe(200)
  })

  test("is signed out everywhere", async () => {
    const before = browserOf(provider)
    expect((await before.signIn("/ui/login", name)).path).toBe("/ui/login/signedin")
    const version = passwordVersion(provider.cx(), id)
    await requestLink()
    const { browser, choice } = await enterCode()
    await browser.post(choice, newPasswordFields(newPassword))
    expect(passwordVersion(provider.cx(), id)).toBeGreaterThan(version)
    expect((await before.go("/ui/login/signedin")).path).toBe("/ui/login/loginname")
  })

  test("has verified the address", async () => {
    expect(findProfile(provider.cx(), id)?.emailVerified).toBe(true)
    await requestLink()
    const { browser, choice } = await enterCode()
    expect((await browser.post(choice, newPasswordFields(newPassword))).response.status).toBe(200)
  })
})

describe("a caller can't learn which users exist", () => {
  test.each([
    ["who is here", () => name, undefined],
    ["who is not", () => `nobody-${userCount}`, undefined],
    ["who is locked", () => name, () => lockUser(provider.cx(), id)],
    ["who is switched off", () => name, () => deactivateUser(provider.cx(), id)],
  ])("from %s, whatever ignoreUnknownUsernames is", async (label, loginName, first) => {
    await first?.()
    for (const ignoreUnknownUsernames of [true, false]) {
      await changePolicy(provider.cx(), undefined, {
        policy: login,
        apply: () => ({ ignoreUnknownUsernames }),
      }).catch(() => {})
      const { forgot, sent } = await requestLink(loginName())
      expect(forgot.response.status, label).toBe(200)
      const bare = sent.page.replaceAll(/value="[^"]*"/g, "")
      same ??= bare
      expect(bare).toBe(same)
      expect(sent.path).toBe("/ui/login/password/forgot/sent")
    }
  })
  let same: string | undefined

  test("by writes: each request has one commit, and no event for rejected users", async () => {
    const sizes: number[] = []
    const append = provider.store.log.append.bind(provider.store.log)
    const spied = vi.spyOn(provider.store.log, "append").mockImplementation((step) => {
      sizes.push(step.events.length)
      return append(step)
    })
    for (const one of [name, `nobody-${userCount}`]) {
      const browser = browserOf(provider)
      const forgot = await browser.go("/ui/login/password/forgot")
      sizes.length = 0
      await browser.post(forgot, { loginName: one })
      expect(sizes).toEqual([one === name ? 2 : 1])
    }
    spied.mockRestore()
  })

  test("repeated requests for a user lock nobody out: the last link stays valid", async () => {
    const expires = () => sentCode(provider.cx(), id, "password")?.expires
    for (const one of [`nobody-${userCount}`, name]) {
      const browser = browserOf(provider)
      const forgot = await browser.go("/ui/login/password/forgot")
      const ask = async () => (await browser.post(forgot, { loginName: one })).response.status
      for (let count = 0; count < 10; count++) {
        expect(await ask()).toBe(200)
        provider.clock.advance(61_000)
      }
      const last = expires()
      expect([await ask(), expires()]).toEqual([200, last])
      // After the expiry, another link is sent.
      provider.clock.advance(3_600_000 - 61_000)
      expect(await ask()).toBe(200)
    }
    expect(expires()).toBeGreaterThan(provider.clock.now())
  })

  test("an address can send thirty requests, for any users, and then six per minute", async () => {
    const limits = createLimits(provider.clock, 1)
    const allowance = limits({ address: "198.51.100.7" })
    const pace = () => async () => {}
    const send: Provider["send"] = (path, init) =>
      provider.send(path, init, { allowance: { ...allowance, pace } })
    const browser = browserOf({ send })
    const forgot = await browser.go("/ui/login/password/forgot")
    const statuses: number[] = []
    for (let count = 0; count < 32; count++) {
      const { response } = await browser.post(forgot, { loginName: `x-${userCount}-${count}` })
      statuses.push(response.status)
    }
    expect(statuses).toEqual([...Array(30).fill(200), 429, 429])
  })
})

describe("an invited user without a password", () => {
  const invited = async () => {
    const userId = provider.cx().ids.next()
    const cx = provider.cx()
    await createUser(cx, userId, {
      kind: "human",
      orgId: provider.setup.orgId,
      userName: name,
      profile: { givenName: "Ina", familyName: "Person" },
      email: { value: `${name}-new@example.org`, verified: false },
    })
    return userId
  }
  const invites = async (userId: string) => {
    const { events } = await provider.store.log.find(0, 10_000, ["user.human.invite.code.added"])
    return events.filter((event) => event.id === userId).length
  }
  beforeEach(() => {
    name = `ina-${userCount}`
  })

  test("gets the invitation again, at most once per minute", async () => {
    const userId = await invited()
    const cx = provider.cx()
    const code = createCode(cx, userId, { of: "invite", returned: false })
    await inviteUser(cx, userId, { code, applicationName: "Shop" })
    provider.clock.advance(120_000)
    await requestLink()
    await requestLink()
    expect(await invites(userId)).toBe(2)
    expect(sentCode(provider.cx(), userId, "invite")?.plain).not.toBe(code.plain)
    expect(getInvitation(provider.cx(), userId).applicationName).toBe("Shop")
    expect(codeOf(userId)).toBeUndefined()
  })

  test("gets nothing without an invitation", async () => {
    const userId = await invited()
    await requestLink()
    expect([await invites(userId), codeOf(userId)]).toEqual([0, undefined])
  })
})

describe("if the policy hides the password reset", () => {
  test("there is no link, no page and no email", async () => {
    const say = (hidePasswordReset: boolean) =>
      changePolicy(provider.cx(), undefined, {
        policy: login,
        apply: () => ({ hidePasswordReset }),
      })
    const { browser, forgot } = await requestLink()
    const before = codeOf()
    await say(true)
    const named = await browser.post(await browser.go("/ui/login"), { loginName: name })
    expect(findForgotLink(named.page)).toBeUndefined()
    expect((await browser.go("/ui/login/password/forgot")).path).toBe("/ui/login/loginname")
    expect((await browser.post(forgot, { loginName: name })).path).toBe("/ui/login/loginname")
    expect(codeOf()).toBe(before)
    await say(false)
  })

  test("an organization hides it for its users, whose page shows nothing else", async () => {
    await addPolicy(provider.cx(), provider.setup.orgId, {
      policy: login,
      apply: () => ({ ...login.standard, hidePasswordReset: true }),
    })
    const { sent } = await requestLink()
    expect(sent.path).toBe("/ui/login/password/forgot/sent")
    expect(codeOf()).toBeUndefined()
  })
})

describe("the page of the link", () => {
  beforeEach(async () => {
    const code = createCode(provider.cx(), id, { of: "password", returned: false })
    await requestReset(provider.cx(), id, { code, channel: "email" })
  })

  test("consumes, records and reveals nothing when it is opened", async () => {
    const before = provider.store.log.writes()
    const opened = await Promise.all(
      ["GET", "HEAD", "GET"].map((method) =>
        provider.send(`${page}?userId=${id}&code=${codeOf()}`, { method }),
      ),
    )
    expect(opened.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(await opened[0]?.text()).not.toContain(name)
    expect(provider.store.log.writes()).toBe(before)
  })

  test("is the same for unknown users and wrong codes", async () => {
    const pages = [id, "404", provider.setup.ownerId].map(async (userId) => {
      const browser = browserOf(provider)
      const first = await browser.go(`${page}?userId=${userId}`)
      const refused = await browser.post(first, { code: "AAAAAA" })
      expect(refused.response.status).toBe(422)
      expect(refused.page).toContain("This link doesn&#x27;t work")
      return `${first.page}${refused.page}`.replaceAll(/value="[^"]*"/g, "")
    })
    expect(new Set(await Promise.all(pages)).size).toBe(1)
  })

  test("accepts a code once; the first of two browsers wins", async () => {
    const [one, other] = [await enterCode(), await enterCode()]
    const ends = await Promise.all([
      one.browser.post(one.choice, newPasswordFields("First-Battery-1")),
      other.browser.post(other.choice, newPasswordFields("Other-Battery-2")),
    ])
    expect(ends.map(({ response }) => response.status).sort()).toEqual([200, 422])
    const late = await enterCode("AAAAAA")
    expect(late.choice.response.status).toBe(422)
    expect(late.choice.page).toContain("Request a new link")
  })

  test.each([
    ["nothing", { password: "", repeat: "" }, "Enter a new password."],
    ["two that differ", { password: newPassword, repeat: `${newPassword} ` }, "don&#x27;t match"],
    ["one that is too simple", newPasswordFields("simple"), "at least 8 characters"],
  ])("rejects %s with an explanation, and asks again", async (_, fields, words) => {
    const { browser, choice } = await enterCode()
    const again = await browser.post(choice, fields)
    expect(again.response.status).toBe(422)
    expect(again.page).toContain(words)
    expect((await browser.post(again, newPasswordFields(newPassword))).path).toBe(
      "/ui/login/password/done",
    )
  })

  test.each([
    ["locked", () => lockUser(provider.cx(), id)],
    ["deactivated", () => deactivateUser(provider.cx(), id)],
  ])(
    "is rejected for an account that is %s, and only that user sees the reason",
    async (words, round) => {
      const { browser, choice } = await enterCode()
      await round()
      const end = await browser.post(choice, newPasswordFields(newPassword))
      expect([end.response.status, end.page.includes(words)]).toEqual([403, true])
      const wrong = await browser.post(choice, {
        ...newPasswordFields(newPassword),
        code: "AAAAAA",
      })
      expect([wrong.response.status, wrong.page.includes(words)]).toEqual([422, false])
      expect(await checkPassword(provider.cx(), id, newPassword)).toBe("wrong")
    },
  )

  test("requires the form's own token", async () => {
    const { browser, choice } = await enterCode()
    const end = await browser.post(choice, { ...newPasswordFields(newPassword), csrf: "no" })
    expect(end.response.status).toBe(403)
    expect(await checkPassword(provider.cx(), id, password)).toBe("ok")
  })

  test("for the new password redirects to the sign-in without a user", async () => {
    expect((await browserOf(provider).go(`${page}/new`)).path).toBe("/ui/login/loginname")
    expect((await browserOf(provider).go(page)).response.status).toBe(404)
  })
})

test("without an active mail server, the page names a contact and offers no email", async () => {
  const { active = "" } = providersOf(provider.cx(), "email")
  await deactivateProvider(provider.cx(), "email", active)
  const browser = browserOf(provider)
  const { page: shownPage } = await browser.post(await browser.go("/ui/login"), { loginName: name })
  expect(findForgotLink(shownPage)).toBeUndefined()
  expect(shownPage).toContain("Ask your administrator to reset it.")
  expect((await browser.go("/ui/login/password/forgot")).path).toBe("/ui/login/loginname")
  await activateProvider(provider.cx(), "email", active)
  const again = browserOf(provider)
  const { page: offered } = await again.post(await again.go("/ui/login"), { loginName: name })
  expect(findForgotLink(offered)).toBeDefined()
  expect(offered).not.toContain("Ask your administrator to reset it.")
})
