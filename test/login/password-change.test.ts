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
  answerOf,
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  type Visited,
} from "../oauth/provider.ts"
import { openLoginPage } from "../support/login-page.ts"

const given = "Given-Horse-8"
const own = "Own-Battery-9"

let provider: Provider
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient()
})
afterAll(() => provider.close())

let people = 0
let name: string
let id: string
beforeEach(async () => {
  name = `nina-${++people}`
  id = await provider.addPerson(name)
  await give(given)
})

/** Gives the person a password that they have to replace. */
async function give(plain: string): Promise<void> {
  const password = await createPassword(plain, { names: [], changeRequired: true })
  await setPassword(provider.cx(), id, password)
}

const path = (changes = {}) => authorizePath(client.id, changes)
const change = "/ui/login/password/change"
const twice = (plain: string) => ({ password: plain, repeat: plain })

/** A browser that has proved the password which has to be replaced. */
async function proven(start = path()) {
  const browser = browserOf(provider)
  const page = await browser.signIn(start, name, given)
  return { browser, page }
}

describe("a password that has grown too old", () => {
  const maxAge = (maxAgeDays: number) =>
    changePolicy(provider.cx(), undefined, { policy: passwordAge, say: () => ({ maxAgeDays }) })
  const day = 86_400_000
  beforeEach(async () => {
    await setPassword(provider.cx(), id, await createPassword(given, { names: [] }))
  })

  test("is told of in time (expireWarnDays), and may be replaced at once or later", async () => {
    const say = (maxAgeDays: number, expireWarnDays: number) =>
      changePolicy(provider.cx(), undefined, {
        policy: passwordAge,
        say: () => ({ maxAgeDays, expireWarnDays }),
      })
    await say(30, 7)
    provider.clock.advance(23 * day - 1)
    expect(answerOf((await proven()).page).code).toBeDefined()
    provider.clock.advance(1)
    const { browser, page } = await proven()
    expect(page.path).toContain("/ui/login/password/expires")
    expect(page.page).toContain("Days left: 7")
    const hrefs = [...page.page.matchAll(/<a href="([^"]*)" class="button/g)].map(([, href = ""]) =>
      href.replaceAll("&amp;", "&"),
    )
    const [replace = "", later = ""] = hrefs
    expect(answerOf(await browser.go(later)).code).toBeDefined()
    // It is said with each password that is typed, and to nobody who is signed in already.
    expect(answerOf(await browser.go(path())).code).toBeDefined()
    expect(replace).toContain("/ui/login/password/change")
    const next = await proven()
    const [, now = ""] = /<a href="([^"]*password\/change[^"]*)"/.exec(next.page.page) ?? []
    const change = await next.browser.go(now.replaceAll("&amp;", "&"))
    expect(change.page).not.toContain("must change your password")
    expect(answerOf(await next.browser.post(change, twice(own))).code).toBeDefined()
    const again = browserOf(provider)
    expect(answerOf(await again.signIn(path(), name, own)).code).toBeDefined()
    await say(0, 0)
  })

  test("is replaced before its person goes on, on our pages and on others'", async () => {
    await maxAge(30)
    provider.clock.advance(30 * day - 1)
    expect(answerOf((await proven()).page).code).toBeDefined()
    provider.clock.advance(1)
    const { browser, page } = await proven()
    expect(page.page).toContain("must change your password")
    const login = await openLoginPage(provider)
    const checks = {
      user: { search: { case: "userId", value: id } },
      password: { password: given },
    }
    const tried = login("session.v2.SessionService/CreateSession", { checks })
    await expect(tried).rejects.toMatchObject({ id: "session.password_change_required" })
    expect(answerOf(await browser.post(page, twice(own))).code).toBeDefined()
    const again = browserOf(provider)
    expect(answerOf(await again.signIn(path(), name, own)).code).toBeDefined()
    await maxAge(0)
  })
})

const isChangeRequired = () =>
  passwordOf(provider.store.state(provider.cx(), user, id))?.changeRequired

const proofIn = ({ page }: Visited) => /name="proof" value="([^"]+)"/.exec(page)?.[1] ?? ""

async function expectUnchanged(): Promise<void> {
  expect(await checkPassword(provider.cx(), id, own)).toBe("wrong")
  expect(isChangeRequired()).toBe(true)
}

describe("a password that must be changed", () => {
  test("leads to the page for a new one, which signs in and goes on", async () => {
    const { browser, page } = await proven()
    expect(page.response.status).toBe(200)
    expect(page.page).toContain("Choose a new password")
    expect(page.page).toContain(`action="${change}"`)
    expect(page.page.match(/autocomplete="new-password"/gi)).toHaveLength(2)
    expect(answerOf(await browser.post(page, twice(own)))).toHaveProperty("code")
    expect(await checkPassword(provider.cx(), id, own)).toBe("ok")
    expect(await checkPassword(provider.cx(), id, given)).toBe("wrong")
    expect(isChangeRequired()).toBe(false)
    expect(answerOf(await browser.go(path({ prompt: "none" })))).toHaveProperty("code")
  })

  test("is changed in the same step as the sign-in", async () => {
    const { browser, page } = await proven()
    const steps: string[][] = []
    const { log } = provider.store
    const append = log.append.bind(log)
    vi.spyOn(log, "append").mockImplementation((step) => {
      steps.push(step.events.map(({ type }) => type))
      return append(step)
    })
    await browser.post(page, twice(own))
    vi.restoreAllMocks()
    expect(steps[0]).toEqual(
      expect.arrayContaining(["user.human.password.changed", "session.added"]),
    )
    const events = await log.read(0, 1000)
    const changed = events.findLast(({ type }) => type === "user.human.password.changed")
    expect(changed?.private).not.toBeNull()
    expect(JSON.stringify(changed?.data)).not.toContain("$argon2")
  })

  test("lets nobody in before: no cookie of a session, no answer to the application", async () => {
    const { browser, page } = await proven()
    expect(page.response.headers.getSetCookie()).toEqual([])
    expect(answerOf(await browser.go(path({ prompt: "none" }))).error).toBe("login_required")
  })

  test("is changed without an application, too", async () => {
    const { browser, page } = await proven("/ui/login")
    const end = await browser.post(page, twice(own))
    expect(end.path).toBe("/ui/login/signedin")
  })

  test("ends with the old one what signed in with it elsewhere", async () => {
    const password = await createPassword(given, { names: [] })
    await setPassword(provider.cx(), id, password)
    const before = browserOf(provider)
    await before.signIn(path(), name, given)
    expect((await before.go("/ui/login/signedin")).path).toBe("/ui/login/signedin")
    await give(given)
    expect((await before.go("/ui/login/signedin")).path).toBe("/ui/login/loginname")
  })
})

describe("the page for a new password", () => {
  const refusals = [
    ["nothing", { password: "", repeat: "" }, "Gib ein neues Passwort ein."],
    ["two that differ", { password: own, repeat: `${own} ` }, "nicht gleich"],
    ["one that is too simple", twice("simple"), "mindestens 8 Zeichen"],
    ["the same one again", twice(given), "jetziges Passwort"],
    ["one beyond all length", twice(`Aa1-${"x".repeat(1100)}`), "kürzeres"],
  ] as const
  test.each(refusals)("refuses %s, in words, and asks again", async (_, fields, words) => {
    const { browser, page } = await proven(path({ ui_locales: "de" }))
    const again = await browser.post(page, fields)
    expect(again.response.status).toBe(422)
    expect(again.page).toContain(words)
    expect(again.page).toContain('aria-invalid="true"')
    for (const typed of Object.values(fields)) {
      if (typed) expect(again.page).not.toContain(`value="${typed}"`)
    }
    await expectUnchanged()
    expect(answerOf(await browser.post(again, twice(own)))).toHaveProperty("code")
  })

  test("refuses the person's own name and address", async () => {
    const { browser, page } = await proven()
    const mail = await browser.post(page, twice(`${name.replace("n", "N")}@example.org`))
    expect(mail.response.status).toBe(422)
    expect(mail.page).toContain("not your name or email address")
  })

  test("can't be opened without a password that was just proved", async () => {
    const { browser } = await proven()
    expect((await browser.go(change)).path).toBe("/ui/login/loginname")
    const stranger = browserOf(provider)
    expect((await stranger.go(change)).path).toBe("/ui/login/loginname")
  })
})

describe("the proof of the old password", () => {
  async function expectExpired(end: Visited): Promise<void> {
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
  ])("counts as nothing when it is %s", async (_, spoil) => {
    const { browser, page } = await proven()
    const proof = spoil(proofIn(page))
    await expectExpired(await browser.post(page, { ...twice(own), proof }))
  })

  test("counts in its own browser only", async () => {
    const { page } = await proven()
    const thief = browserOf(provider)
    const form = await thief.go(path())
    const at = { ...form, page: form.page.replace(/action="[^"]*"/, `action="${change}"`) }
    await expectExpired(await thief.post(at, { ...twice(own), proof: proofIn(page) }))
  })

  test("counts for ten minutes", async () => {
    const { browser, page } = await proven()
    provider.clock.advance(10 * 60_000)
    await expectExpired(await browser.post(page, twice(own)))
    const again = await proven()
    provider.clock.advance(10 * 60_000 - 1)
    expect(answerOf(await again.browser.post(again.page, twice(own)))).toHaveProperty("code")
  })

  test("counts once, also when it comes twice at the same moment", async () => {
    const { browser, page } = await proven("/ui/login")
    const cookie = browser.cookie()
    const post = async (plain: string) => {
      const same = browserOf(provider)
      same.setCookie(cookie)
      return (await same.post(page, twice(plain))).path
    }
    const ends = await Promise.all(["Own-Battery-1", "Own-Battery-2"].map(post))
    expect(ends.sort()).toEqual([change, "/ui/login/signedin"])
    const version = passwordVersion(provider.cx(), id)
    expect(await post("Own-Battery-3")).not.toBe("/ui/login/signedin")
    expect(passwordVersion(provider.cx(), id)).toBe(version)
  })

  test("counts for the password that was proved, not for one that came afterwards", async () => {
    const { browser, page } = await proven()
    await give("Newer-Horse-9")
    await expectExpired(await browser.post(page, twice(own)))
  })

  test("counts for nobody who may not sign in any more", async () => {
    const { browser, page } = await proven()
    await deactivateUser(provider.cx(), id)
    const end = await browser.post(page, twice(own))
    expect(end.response.status).toBe(403)
    expect(await checkPassword(provider.cx(), id, own)).toBe("wrong")
  })

  test("is no use without the form's own token", async () => {
    const { browser, page } = await proven("/ui/login")
    const end = await browser.post(page, { ...twice(own), csrf: "no" })
    expect(end.response.status).toBe(403)
    await expectUnchanged()
  })
})
