import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import {
  checkPassword,
  createPassword,
  passwordOf,
  setPassword,
} from "../../src/domain/credential/commands.ts"
import { changePolicy } from "../../src/domain/policy/commands.ts"
import { passwordAge } from "../../src/domain/policy/index.ts"
import { deactivateUser } from "../../src/domain/user/index.ts"
import { passwordVersion } from "../../src/domain/user-lookup/query.ts"
import { user } from "../../src/domain/user-model/model.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  type VisitedPage,
} from "../oauth/provider.ts"
import { addLoginPageCaller } from "../support/operation-caller.ts"

const givenPassword = "Given-Horse-8"
const ownPassword = "Own-Battery-9"

let provider: Provider
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient()
})
afterAll(() => provider.close())

let userCount = 0
let name: string
let id: string
beforeEach(async () => {
  name = `nina-${++userCount}`
  id = await provider.addPerson(name)
  await givePassword(givenPassword)
})

/** Gives the user a password that must be changed. */
async function givePassword(plain: string): Promise<void> {
  const password = await createPassword(plain, { names: [], changeRequired: true })
  await setPassword(provider.cx(), id, password)
}

const path = (changes = {}) => authorizePath(client.id, changes)
const changePath = "/ui/login/password/change"
const newPasswordFields = (plain: string) => ({ password: plain, repeat: plain })

/** A browser in which the password that must be changed was checked. */
async function enterPassword(start = path()) {
  const browser = browserOf(provider)
  const page = await browser.signIn(start, name, givenPassword)
  return { browser, page }
}

describe("an expired password", () => {
  const maxAge = (maxAgeDays: number) =>
    changePolicy(provider.cx(), undefined, { policy: passwordAge, apply: () => ({ maxAgeDays }) })
  const day = 86_400_000
  beforeEach(async () => {
    await setPassword(provider.cx(), id, await createPassword(givenPassword, { names: [] }))
  })

  test("is announced in time (expireWarnDays), and can be changed now or later", async () => {
    const say = (maxAgeDays: number, expireWarnDays: number) =>
      changePolicy(provider.cx(), undefined, {
        policy: passwordAge,
        apply: () => ({ maxAgeDays, expireWarnDays }),
      })
    await say(30, 7)
    provider.clock.advance(23 * day - 1)
    expect(responseOf((await enterPassword()).page).code).toBeDefined()
    provider.clock.advance(1)
    const { browser, page } = await enterPassword()
    expect(page.path).toContain("/ui/login/password/expires")
    expect(page.page).toContain("Days left: 7")
    const hrefs = [...page.page.matchAll(/<a href="([^"]*)" class="button/g)].map(([, href = ""]) =>
      href.replaceAll("&amp;", "&"),
    )
    const [replace = "", later = ""] = hrefs
    expect(responseOf(await browser.go(later)).code).toBeDefined()
    // It is shown after each password check, and not to users who are already signed in.
    expect(responseOf(await browser.go(path())).code).toBeDefined()
    expect(replace).toContain("/ui/login/password/change")
    const next = await enterPassword()
    const [, now = ""] = /<a href="([^"]*password\/change[^"]*)"/.exec(next.page.page) ?? []
    const change = await next.browser.go(now.replaceAll("&amp;", "&"))
    expect(change.page).not.toContain("must change your password")
    expect(
      responseOf(await next.browser.post(change, newPasswordFields(ownPassword))).code,
    ).toBeDefined()
    const again = browserOf(provider)
    expect(responseOf(await again.signIn(path(), name, ownPassword)).code).toBeDefined()
    await say(0, 0)
  })

  test("must be changed before the user continues, on our pages and on custom ones", async () => {
    await maxAge(30)
    provider.clock.advance(30 * day - 1)
    expect(responseOf((await enterPassword()).page).code).toBeDefined()
    provider.clock.advance(1)
    const { browser, page } = await enterPassword()
    expect(page.page).toContain("must change your password")
    const login = await addLoginPageCaller(provider)
    const checks = {
      user: { search: { case: "userId", value: id } },
      password: { password: givenPassword },
    }
    const tried = login("session.v2.SessionService/CreateSession", { checks })
    await expect(tried).rejects.toMatchObject({ id: "session.password_change_required" })
    expect(responseOf(await browser.post(page, newPasswordFields(ownPassword))).code).toBeDefined()
    const again = browserOf(provider)
    expect(responseOf(await again.signIn(path(), name, ownPassword)).code).toBeDefined()
    await maxAge(0)
  })
})

const isChangeRequired = () =>
  passwordOf(provider.store.state(provider.cx(), user, id))?.changeRequired

const proofIn = ({ page }: VisitedPage) => /name="proof" value="([^"]+)"/.exec(page)?.[1] ?? ""

async function expectUnchanged(): Promise<void> {
  expect(await checkPassword(provider.cx(), id, ownPassword)).toBe("wrong")
  expect(isChangeRequired()).toBe(true)
}

describe("a password that must be changed", () => {
  test("leads to the form for a new one, which signs in and continues", async () => {
    const { browser, page } = await enterPassword()
    expect(page.response.status).toBe(200)
    expect(page.page).toContain("Choose a new password")
    expect(page.page).toContain(`action="${changePath}"`)
    expect(page.page.match(/autocomplete="new-password"/gi)).toHaveLength(2)
    expect(responseOf(await browser.post(page, newPasswordFields(ownPassword)))).toHaveProperty(
      "code",
    )
    expect(await checkPassword(provider.cx(), id, ownPassword)).toBe("ok")
    expect(await checkPassword(provider.cx(), id, givenPassword)).toBe("wrong")
    expect(isChangeRequired()).toBe(false)
    expect(responseOf(await browser.go(path({ prompt: "none" })))).toHaveProperty("code")
  })

  test("is changed in the transaction of the sign-in", async () => {
    const { browser, page } = await enterPassword()
    const steps: string[][] = []
    const { log } = provider.store
    const append = log.append.bind(log)
    vi.spyOn(log, "append").mockImplementation((step) => {
      steps.push(step.events.map(({ type }) => type))
      return append(step)
    })
    await browser.post(page, newPasswordFields(ownPassword))
    vi.restoreAllMocks()
    expect(steps[0]).toEqual(
      expect.arrayContaining(["user.human.password.changed", "session.added"]),
    )
    const events = await log.read(0, 1000)
    const changed = events.findLast(({ type }) => type === "user.human.password.changed")
    expect(changed?.private).not.toBeNull()
    expect(JSON.stringify(changed?.data)).not.toContain("$argon2")
  })

  test("signs nobody in before: no session cookie, no response to the application", async () => {
    const { browser, page } = await enterPassword()
    expect(page.response.headers.getSetCookie()).toEqual([])
    expect(responseOf(await browser.go(path({ prompt: "none" }))).error).toBe("login_required")
  })

  test("can be changed without an application", async () => {
    const { browser, page } = await enterPassword("/ui/login")
    const end = await browser.post(page, newPasswordFields(ownPassword))
    expect(end.path).toBe("/ui/login/signedin")
  })

  test("ends other sessions that used the old one", async () => {
    const password = await createPassword(givenPassword, { names: [] })
    await setPassword(provider.cx(), id, password)
    const before = browserOf(provider)
    await before.signIn(path(), name, givenPassword)
    expect((await before.go("/ui/login/signedin")).path).toBe("/ui/login/signedin")
    await givePassword(givenPassword)
    expect((await before.go("/ui/login/signedin")).path).toBe("/ui/login/loginname")
  })
})

describe("the page for a new password", () => {
  const refusals = [
    ["nothing", { password: "", repeat: "" }, "Gib ein neues Passwort ein."],
    ["two that differ", { password: ownPassword, repeat: `${ownPassword} ` }, "nicht gleich"],
    ["one that is too simple", newPasswordFields("simple"), "mindestens 8 Zeichen"],
    ["the same one again", newPasswordFields(givenPassword), "jetziges Passwort"],
    ["one beyond all length", newPasswordFields(`Aa1-${"x".repeat(1100)}`), "kürzeres"],
  ] as const
  test.each(refusals)(
    "rejects %s with an explanation, and asks again",
    async (_, fields, words) => {
      const { browser, page } = await enterPassword(path({ ui_locales: "de" }))
      const again = await browser.post(page, fields)
      expect(again.response.status).toBe(422)
      expect(again.page).toContain(words)
      expect(again.page).toContain('aria-invalid="true"')
      for (const typed of Object.values(fields)) {
        if (typed) expect(again.page).not.toContain(`value="${typed}"`)
      }
      await expectUnchanged()
      expect(responseOf(await browser.post(again, newPasswordFields(ownPassword)))).toHaveProperty(
        "code",
      )
    },
  )

  test("rejects the user's own name and address", async () => {
    const { browser, page } = await enterPassword()
    const mail = await browser.post(
      page,
      newPasswordFields(`${name.replace("n", "N")}@example.org`),
    )
    expect(mail.response.status).toBe(422)
    expect(mail.page).toContain("not your name or email address")
  })

  test("requires a password that was just checked", async () => {
    const { browser } = await enterPassword()
    expect((await browser.go(changePath)).path).toBe("/ui/login/loginname")
    const stranger = browserOf(provider)
    expect((await stranger.go(changePath)).path).toBe("/ui/login/loginname")
  })
})

describe("the proof of the old password", () => {
  async function expectExpired(end: VisitedPage): Promise<void> {
    expect(end.response.status).toBe(400)
    expect(end.page).toContain("This page has expired")
    await expectUnchanged()
  }

  test.each([
    ["missing", () => ""],
    ["cut off", (proof: string) => proof.slice(0, -1)],
    ["extended", (proof: string) => `${proof}A`],
    ["altered", (proof: string) => proof.replace(/.$/, (last) => (last === "A" ? "B" : "A"))],
    ["of another kind", (proof: string) => proof.replace(/\..*/, ".AAAA")],
  ])("is rejected if it is %s", async (_, spoil) => {
    const { browser, page } = await enterPassword()
    const proof = spoil(proofIn(page))
    await expectExpired(await browser.post(page, { ...newPasswordFields(ownPassword), proof }))
  })

  test("is valid in its own browser only", async () => {
    const { page } = await enterPassword()
    const thief = browserOf(provider)
    const form = await thief.go(path())
    const at = { ...form, page: form.page.replace(/action="[^"]*"/, `action="${changePath}"`) }
    await expectExpired(
      await thief.post(at, { ...newPasswordFields(ownPassword), proof: proofIn(page) }),
    )
  })

  test("is valid for ten minutes", async () => {
    const { browser, page } = await enterPassword()
    provider.clock.advance(10 * 60_000)
    await expectExpired(await browser.post(page, newPasswordFields(ownPassword)))
    const again = await enterPassword()
    provider.clock.advance(10 * 60_000 - 1)
    expect(
      responseOf(await again.browser.post(again.page, newPasswordFields(ownPassword))),
    ).toHaveProperty("code")
  })

  test("is valid once, also when submitted twice concurrently", async () => {
    const { browser, page } = await enterPassword("/ui/login")
    const cookie = browser.cookie()
    const post = async (plain: string) => {
      const same = browserOf(provider)
      same.setCookie(cookie)
      return (await same.post(page, newPasswordFields(plain))).path
    }
    const ends = await Promise.all(["Own-Battery-1", "Own-Battery-2"].map(post))
    expect(ends.sort()).toEqual([changePath, "/ui/login/signedin"])
    const version = passwordVersion(provider.cx(), id)
    expect(await post("Own-Battery-3")).not.toBe("/ui/login/signedin")
    expect(passwordVersion(provider.cx(), id)).toBe(version)
  })

  test("is valid for the checked password, not for a later one", async () => {
    const { browser, page } = await enterPassword()
    await givePassword("Newer-Horse-9")
    await expectExpired(await browser.post(page, newPasswordFields(ownPassword)))
  })

  test("is rejected for users who can't sign in anymore", async () => {
    const { browser, page } = await enterPassword()
    await deactivateUser(provider.cx(), id)
    const end = await browser.post(page, newPasswordFields(ownPassword))
    expect(end.response.status).toBe(403)
    expect(await checkPassword(provider.cx(), id, ownPassword)).toBe("wrong")
  })

  test("requires the form's own token", async () => {
    const { browser, page } = await enterPassword("/ui/login")
    const end = await browser.post(page, { ...newPasswordFields(ownPassword), csrf: "no" })
    expect(end.response.status).toBe(403)
    await expectUnchanged()
  })
})
