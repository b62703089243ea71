import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import { createCode } from "../../src/domain/credential/code.ts"
import { checkCode } from "../../src/domain/credential/code-check.ts"
import { checkPassword } from "../../src/domain/credential/commands.ts"
import { addOrganization, deactivateOrganization } from "../../src/domain/org/index.ts"
import { inviteUser } from "../../src/domain/registration/invite.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { deactivateUser, lockUser } from "../../src/domain/user/index.ts"
import { profile } from "../../src/domain/user-lookup/query.ts"
import { limitsOf } from "../../src/kernel/limit.ts"
import {
  answerOf,
  authorizePath,
  browserOf,
  openProvider,
  type Provider,
  type Visited,
} from "../oauth/provider.ts"

const own = "Own-Battery-9"
const page = "/ui/login/verify"
const choice = "/ui/login/verify/password"

let provider: Provider
beforeAll(async () => {
  provider = await openProvider()
  const { store } = provider
  await store.transact(provider.cx(), (tx) => {
    addOrganization(tx, "bakery", { name: "Bakery & Sons" })
    addOrganization(tx, "closing", { name: "Closing" })
  })
})
afterAll(() => provider.close())

let people = 0
let name: string
let id: string
let code: string
beforeEach(async () => {
  name = `nina-${++people}`
  id = `u${people}`
  await add("bakery")
})

/** Adds somebody without a password to an organisation, and invites them. */
async function add(orgId: string): Promise<void> {
  await createUser(provider.cx(), id, {
    kind: "human",
    orgId,
    userName: name,
    profile: { givenName: "Nina", familyName: "Novak" },
    email: { value: `${name}@example.org`, verified: false },
  })
  code = await invited()
}

async function invited(applicationName?: string): Promise<string> {
  const made = createCode(provider.cx(), id, { of: "invite", returned: true })
  await inviteUser(provider.cx(), id, { code: made, applicationName })
  return made.plain
}

/** The address before its #: what a server sees of the link. */
const link = (more = "") => `${page}?userId=${id}&organization=bakery&invite=true${more}`
const twice = (plain: string) => ({ password: plain, repeat: plain })

/** A browser that has come to the choice of a password. */
async function welcomed(at = link()) {
  const browser = browserOf(provider)
  const shown = await browser.post(await browser.go(at), { code })
  return { browser, shown }
}

async function expectUntouched(): Promise<void> {
  expect(await checkCode(provider.cx(), id, { of: "invite", given: code })).toBe("ok")
  expect(await checkPassword(provider.cx(), id, own)).toBe("none")
}

describe("somebody who is invited", () => {
  test("opens the link, sees by whom, chooses a password and is signed in", async () => {
    const { browser, shown } = await welcomed()
    expect(shown.response.status).toBe(200)
    expect(shown.page).toContain("Bakery &amp; Sons has invited you.")
    expect(shown.page).toContain("Nina Novak")
    expect(shown.page).toContain(name)
    expect(shown.page).toContain(`action="${choice}"`)
    const end = await browser.post(shown, twice(own))
    expect([end.path, end.response.status]).toEqual(["/ui/login/signedin", 200])
    expect(end.page).toContain("Nina Novak")
    expect(end.page).not.toContain("/ui/console/")
    expect(profile(provider.cx(), id)?.emailVerified).toBe(true)
    const again = await browserOf(provider).signIn("/ui/login", name, own)
    expect(again.path).toBe("/ui/login/signedin")
  })

  test("sees to which application, where that was said", async () => {
    code = await invited("Wiki <b>")
    const { shown } = await welcomed()
    expect(shown.page).toContain("has invited you to Wiki &lt;b&gt;.")
  })

  test("comes by a link with the code in it without typing that", async () => {
    const browser = browserOf(provider)
    const first = await browser.go(link(`&code=${code}`))
    expect(first.page).toContain(`<input type="hidden" name="code" value="${code}"/>`)
    expect((await browser.post(first, {})).page).toContain("Set up your sign-in")
  })

  test("goes on to the application that waits", async () => {
    const { id: clientId } = await provider.addClient()
    const browser = browserOf(provider)
    const { page: waiting } = await browser.go(authorizePath(clientId))
    const [, request = ""] = /name="authRequest" value="(\d+)"/.exec(waiting) ?? []
    const first = await browser.go(link(`&authRequest=${request}`))
    const shown = await browser.post(first, { code })
    expect(answerOf(await browser.post(shown, twice(own)))).toHaveProperty("code")
  })

  test("has the code used up in the same step as the sign-in", async () => {
    const { browser, shown } = await welcomed()
    const steps: string[][] = []
    const { log } = provider.store
    const append = log.append.bind(log)
    vi.spyOn(log, "append").mockImplementation((step) => {
      steps.push(step.events.map(({ type }) => type))
      return append(step)
    })
    await browser.post(shown, twice(own))
    vi.restoreAllMocks()
    expect(steps[0]).toEqual(
      expect.arrayContaining([
        "user.human.invite.check.succeeded",
        "user.human.email.verified",
        "user.human.password.changed",
        "session.added",
      ]),
    )
  })
})

describe("the link of an invitation", () => {
  test("uses nothing up, counts nothing and tells nothing when it is opened", async () => {
    const before = provider.store.log.writes()
    const methods = ["GET", "HEAD", "GET", "GET"]
    const shown = await Promise.all(
      methods.map((method) => provider.send(link(`&code=${code}`), { method })),
    )
    expect(shown.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const text = (await shown[0]?.text()) ?? ""
    for (const secret of ["Nina", name, "Choose"]) expect(text).not.toContain(secret)
    expect(provider.store.log.writes()).toBe(before)
    await expectUntouched()
  })

  test("tells its address to nobody, and is kept nowhere", async () => {
    const { response } = await browserOf(provider).go(link(`&code=${code}`))
    expect(response.headers.get("referrer-policy")).toBe("no-referrer")
    expect(response.headers.get("cache-control")).toBe("no-store")
    expect(response.headers.get("x-robots-tag")).toBe("noindex")
    const policy = response.headers.get("content-security-policy") ?? ""
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toContain("unsafe")
  })

  test("looks the same for who is not there, is of elsewhere or has a password", async () => {
    const olga = provider.setup.ownerId
    const pages = [id, "404", olga].map(async (userId) => {
      const shown = await browserOf(provider).go(`${page}?userId=${userId}&invite=true`)
      return shown.page.replaceAll(/value="[^"]*"/g, "")
    })
    expect(new Set(await Promise.all(pages)).size).toBe(1)
  })

  test.each([["nobody", `${page}?invite=true`]])(
    "is no page where it names %s",
    async (_, path) => {
      const { response, page: text } = await browserOf(provider).go(path)
      expect(response.status).toBe(404)
      expect(text).toContain("Page not found")
    },
  )

  test("of the choice itself leads to the sign-in", async () => {
    expect((await browserOf(provider).go(choice)).path).toBe("/ui/login/loginname")
  })
})

describe("a code that is not good", () => {
  async function shownFor(userId: string, said: string): Promise<Visited> {
    const send: Provider["send"] = (path, init) =>
      provider.send(path, init, { languages: ["de-CH", "en"] })
    const browser = browserOf({ send })
    const first = await browser.go(`${page}?userId=${userId}&invite=true`)
    return browser.post(first, { code: said })
  }

  test("is answered with what may be wrong, and what to do", async () => {
    const { browser, shown } = await welcomed()
    await browser.post(shown, twice(own))
    const used = await browser.post(await browser.go(link()), { code })
    expect(used.response.status).toBe(422)
    expect(used.page).toContain("This invitation doesn&#x27;t work")
    expect(used.page).toContain("ask for a new invitation")
    expect(used.page).toContain('href="/ui/login"')
    expect(used.page).toContain('aria-invalid="true"')
  })

  test("is answered alike, whoever it is said to be for", async () => {
    const ids = [id, "404", provider.setup.ownerId, JSON.parse(provider.setup.serviceKey).userId]
    const pages = ids.map(async (userId) => {
      const { response, page: text } = await shownFor(userId, "AAAAAA")
      return [response.status, text.replaceAll(/value="[^"]*"/g, "")].join()
    })
    expect(new Set(await Promise.all(pages)).size).toBe(1)
  })

  test.each([
    ["too old", async () => provider.clock.advance(72 * 3_600_000)],
    ["replaced by a newer one", async () => void (await invited())],
  ])("can be one that is %s", async (_, turn) => {
    await turn()
    const { shown } = await welcomed()
    expect(shown.response.status).toBe(422)
    expect(shown.page).not.toContain("Nina")
  })

  test("can be none at all", async () => {
    const { response, page: text } = await shownFor(id, " ")
    expect(response.status).toBe(422)
    expect(text).toContain("Gib den Code deiner Einladung ein.")
  })

  test("sets no password either, on the page after", async () => {
    const { browser, shown } = await welcomed()
    const end = await browser.post(shown, { ...twice(own), code: "AAAAAA" })
    expect(end.response.status).toBe(422)
    expect(end.path).toContain(`${page}?as=`)
    await expectUntouched()
  })

  test("is guessed ten times an hour at most, and then the right one waits, too", async () => {
    for (let tries = 0; tries < 10; tries++) await shownFor(id, "AAAAAA")
    const late = await shownFor(id, code)
    expect(late.response.status).toBe(429)
    expect(late.response.headers.get("retry-after")).toBe("3600")
    expect(late.page).toContain("Warte 60 Min.")
    provider.clock.advance(3_600_000)
    expect((await shownFor(id, code)).response.status).toBe(200)
  })

  test("costs the address that it comes from, and a right one costs nothing", async () => {
    const limits = limitsOf(provider.clock, 0.1)
    const seen = {
      ...provider,
      send: (path: string, init?: RequestInit) =>
        provider.send(path, init, { allowance: limits({ address: "198.51.100.7" }) }),
    }
    const browser = browserOf(seen)
    const first = await browser.go(link())
    for (let times = 0; times < 40; times++) {
      expect((await browser.post(first, { code })).response.status).toBe(200)
    }
    const statuses = []
    for (let guess = 0; guess < 35; guess++) {
      const other = await browser.go(`${page}?userId=x${guess}&invite=true`)
      statuses.push((await browser.post(other, { code: "AAAAAA" })).response.status)
    }
    expect(statuses.slice(0, 30)).toEqual(Array(30).fill(422))
    expect(statuses.at(-1)).toBe(429)
  })
})

describe("the choice of the first password", () => {
  test.each([
    ["nothing", { password: "", repeat: "" }, "Enter a new password."],
    ["two that differ", { password: own, repeat: `${own} ` }, "don&#x27;t match"],
    ["one that is too simple", twice("simple"), "at least 8 characters"],
    ["one beyond all length", twice(`Aa1-${"x".repeat(1100)}`), "shorter"],
  ])("refuses %s, in words, and asks again", async (_, fields, words) => {
    const { browser, shown } = await welcomed()
    const again = await browser.post(shown, fields)
    expect(again.response.status).toBe(422)
    expect(again.page).toContain(words)
    expect(again.page).toContain("Bakery &amp; Sons has invited you.")
    await expectUntouched()
    expect((await browser.post(again, twice(own))).path).toBe("/ui/login/signedin")
  })

  test("refuses the person's own address", async () => {
    const { browser, shown } = await welcomed()
    const again = await browser.post(shown, twice(`N${name.slice(1)}@example.org`))
    expect(again.page).toContain("not your name or email address")
  })

  test("counts once, also when it comes twice at the same moment", async () => {
    const { browser, shown } = await welcomed()
    const cookie = browser.cookie()
    const post = async (plain: string) => {
      const same = browserOf(provider)
      same.setCookie(cookie)
      return (await same.post(shown, twice(plain))).path
    }
    const ends = await Promise.all(["Own-Battery-1", "Own-Battery-2"].map(post))
    expect(ends.sort()).toEqual(["/ui/login/signedin", choice])
    expect(await post("Own-Battery-3")).toBe(choice)
    expect(await checkPassword(provider.cx(), id, "Own-Battery-3")).toBe("wrong")
  })

  test("is no use without the form's own token", async () => {
    const { browser, shown } = await welcomed()
    const end = await browser.post(shown, { ...twice(own), csrf: "no" })
    expect(end.response.status).toBe(403)
    await expectUntouched()
  })

  test.each([
    ["locked", () => lockUser(provider.cx(), id)],
    ["deactivated", () => deactivateUser(provider.cx(), id)],
  ])("is for nobody whose account is %s, and only they are told", async (words, turn) => {
    const { browser, shown } = await welcomed()
    await turn()
    for (const fields of [twice(own), { code: "AAAAAA", ...twice(own) }]) {
      const end = await browser.post(shown, fields)
      const isTold = !("code" in fields)
      expect(end.response.status).toBe(isTold ? 403 : 422)
      expect(end.page.includes(words)).toBe(isTold)
    }
    expect(await checkPassword(provider.cx(), id, own)).toBe("none")
  })

  test("is for nobody whose organisation is closed", async () => {
    id = `${id}-closing`
    name = `${name}-closing`
    await add("closing")
    const { browser, shown } = await welcomed()
    await deactivateOrganization(provider.cx(), "closing")
    const end = await browser.post(shown, twice(own))
    expect(end.response.status).toBe(403)
    expect(await checkPassword(provider.cx(), id, own)).toBe("none")
  })
})
