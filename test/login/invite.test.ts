import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import { createCode } from "../../src/domain/credential/code.ts"
import { checkCode } from "../../src/domain/credential/code-check.ts"
import { checkPassword } from "../../src/domain/credential/commands.ts"
import { addOrganization, deactivateOrganization } from "../../src/domain/org/index.ts"
import { inviteUser } from "../../src/domain/registration/invite.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { deactivateUser, lockUser } from "../../src/domain/user/index.ts"
import { findProfile } from "../../src/domain/user-lookup/query.ts"
import { createLimits } from "../../src/kernel/limit.ts"
import {
  authorizePath,
  browserOf,
  openProvider,
  type Provider,
  responseOf,
  type VisitedPage,
} from "../oauth/provider.ts"

const ownPassword = "Own-Battery-9"
const verifyPath = "/ui/login/verify"
const choicePath = "/ui/login/verify/password"

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

let userCount = 0
let name: string
let id: string
let code: string
beforeEach(async () => {
  name = `nina-${++userCount}`
  id = `u${userCount}`
  await addInvited("bakery")
})

/** Adds a user without a password to an organization, and invites them. */
async function addInvited(orgId: string): Promise<void> {
  await createUser(provider.cx(), id, {
    kind: "human",
    orgId,
    userName: name,
    profile: { givenName: "Nina", familyName: "Novak" },
    email: { value: `${name}@example.org`, verified: false },
  })
  code = await sendInvitation()
}

async function sendInvitation(applicationName?: string): Promise<string> {
  const made = createCode(provider.cx(), id, { of: "invite", returned: true })
  await inviteUser(provider.cx(), id, { code: made, applicationName })
  return made.plain
}

/** The link without its fragment, as a server sees it. */
const link = (more = "") => `${verifyPath}?userId=${id}&organization=bakery&invite=true${more}`
const passwordFields = (plain: string) => ({ password: plain, repeat: plain })

/** A browser at the form for the first password. */
async function openPasswordForm(at = link()) {
  const browser = browserOf(provider)
  const shown = await browser.post(await browser.go(at), { code })
  return { browser, shown }
}

async function expectUntouched(): Promise<void> {
  expect(await checkCode(provider.cx(), id, { of: "invite", given: code })).toBe("ok")
  expect(await checkPassword(provider.cx(), id, ownPassword)).toBe("none")
}

describe("an invited user", () => {
  test("opens the link, sees the inviter, sets a password and is signed in", async () => {
    const { browser, shown } = await openPasswordForm()
    expect(shown.response.status).toBe(200)
    expect(shown.page).toContain("Bakery &amp; Sons has invited you.")
    expect(shown.page).toContain("Nina Novak")
    expect(shown.page).toContain(name)
    expect(shown.page).toContain(`action="${choicePath}"`)
    const end = await browser.post(shown, passwordFields(ownPassword))
    expect([end.path, end.response.status]).toEqual(["/ui/login/signedin", 200])
    expect(end.page).toContain("Nina Novak")
    expect(end.page).not.toContain("/ui/console/")
    expect(findProfile(provider.cx(), id)?.emailVerified).toBe(true)
    const again = await browserOf(provider).signIn("/ui/login", name, ownPassword)
    expect(again.path).toBe("/ui/login/signedin")
  })

  test("sees the application if the invitation names it", async () => {
    code = await sendInvitation("Wiki <b>")
    const { shown } = await openPasswordForm()
    expect(shown.page).toContain("has invited you to Wiki &lt;b&gt;.")
  })

  test("needs not type the code if the link contains it", async () => {
    const browser = browserOf(provider)
    const first = await browser.go(link(`&code=${code}`))
    expect(first.page).toContain(`<input type="hidden" name="code" value="${code}"/>`)
    expect((await browser.post(first, {})).page).toContain("Set up your sign-in")
  })

  test("continues to the pending application", async () => {
    const { id: clientId } = await provider.addClient()
    const browser = browserOf(provider)
    const { page: waiting } = await browser.go(authorizePath(clientId))
    const [, request = ""] = /name="authRequest" value="(\d+)"/.exec(waiting) ?? []
    const first = await browser.go(link(`&authRequest=${request}`))
    const shown = await browser.post(first, { code })
    expect(responseOf(await browser.post(shown, passwordFields(ownPassword)))).toHaveProperty(
      "code",
    )
  })

  test("consumes the code in the transaction of the sign-in", async () => {
    const { browser, shown } = await openPasswordForm()
    const steps: string[][] = []
    const { log } = provider.store
    const append = log.append.bind(log)
    vi.spyOn(log, "append").mockImplementation((step) => {
      steps.push(step.events.map(({ type }) => type))
      return append(step)
    })
    await browser.post(shown, passwordFields(ownPassword))
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
  test("consumes, records and reveals nothing when it is opened", async () => {
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

  test("sends no Referer, and is not cached", async () => {
    const { response } = await browserOf(provider).go(link(`&code=${code}`))
    expect(response.headers.get("referrer-policy")).toBe("no-referrer")
    expect(response.headers.get("cache-control")).toBe("no-store")
    expect(response.headers.get("x-robots-tag")).toBe("noindex")
    const policy = response.headers.get("content-security-policy") ?? ""
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toContain("unsafe")
  })

  test("looks the same for users who are missing, elsewhere or have a password", async () => {
    const olga = provider.setup.ownerId
    const pages = [id, "404", olga].map(async (userId) => {
      const shown = await browserOf(provider).go(`${verifyPath}?userId=${userId}&invite=true`)
      return shown.page.replaceAll(/value="[^"]*"/g, "")
    })
    expect(new Set(await Promise.all(pages)).size).toBe(1)
  })

  test.each([["nobody", `${verifyPath}?invite=true`]])(
    "shows no form if it names %s",
    async (_, path) => {
      const { response, page: text } = await browserOf(provider).go(path)
      expect(response.status).toBe(404)
      expect(text).toContain("Page not found")
    },
  )

  test("for the password itself redirects to the sign-in", async () => {
    expect((await browserOf(provider).go(choicePath)).path).toBe("/ui/login/loginname")
  })
})

describe("an invalid code", () => {
  async function shownFor(userId: string, text: string): Promise<VisitedPage> {
    const send: Provider["send"] = (path, init) =>
      provider.send(path, init, { languages: ["de-CH", "en"] })
    const browser = browserOf({ send })
    const first = await browser.go(`${verifyPath}?userId=${userId}&invite=true`)
    return browser.post(first, { code: text })
  }

  test("shows the possible causes and what to do", async () => {
    const { browser, shown } = await openPasswordForm()
    await browser.post(shown, passwordFields(ownPassword))
    const used = await browser.post(await browser.go(link()), { code })
    expect(used.response.status).toBe(422)
    expect(used.page).toContain("This invitation doesn&#x27;t work")
    expect(used.page).toContain("ask for a new invitation")
    expect(used.page).toContain('href="/ui/login"')
    expect(used.page).toContain('aria-invalid="true"')
  })

  test("gets the same response for every user", async () => {
    const ids = [id, "404", provider.setup.ownerId, JSON.parse(provider.setup.serviceKey).userId]
    const pages = ids.map(async (userId) => {
      const { response, page: text } = await shownFor(userId, "AAAAAA")
      return [response.status, text.replaceAll(/value="[^"]*"/g, "")].join()
    })
    expect(new Set(await Promise.all(pages)).size).toBe(1)
  })

  test.each([
    ["too old", async () => provider.clock.advance(72 * 3_600_000)],
    ["replaced by a newer one", async () => void (await sendInvitation())],
  ])("can be %s", async (_, round) => {
    await round()
    const { shown } = await openPasswordForm()
    expect(shown.response.status).toBe(422)
    expect(shown.page).not.toContain("Nina")
  })

  test("can be missing", async () => {
    const { response, page: text } = await shownFor(id, " ")
    expect(response.status).toBe(422)
    expect(text).toContain("Gib den Code deiner Einladung ein.")
  })

  test("sets no password on the next page either", async () => {
    const { browser, shown } = await openPasswordForm()
    const end = await browser.post(shown, { ...passwordFields(ownPassword), code: "AAAAAA" })
    expect(end.response.status).toBe(422)
    expect(end.path).toContain(`${verifyPath}?as=`)
    await expectUntouched()
  })

  test("can be tried ten times per hour, then the right one must wait as well", async () => {
    for (let tries = 0; tries < 10; tries++) await shownFor(id, "AAAAAA")
    const late = await shownFor(id, code)
    expect(late.response.status).toBe(429)
    expect(late.response.headers.get("retry-after")).toBe("3600")
    expect(late.page).toContain("Warte 60 Min.")
    provider.clock.advance(3_600_000)
    expect((await shownFor(id, code)).response.status).toBe(200)
  })

  test("costs an attempt of its address; a right one costs nothing", async () => {
    const limits = createLimits(provider.clock, 0.1)
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
      const other = await browser.go(`${verifyPath}?userId=x${guess}&invite=true`)
      statuses.push((await browser.post(other, { code: "AAAAAA" })).response.status)
    }
    expect(statuses.slice(0, 30)).toEqual(Array(30).fill(422))
    expect(statuses.at(-1)).toBe(429)
  })
})

describe("the choice of the first password", () => {
  test.each([
    ["nothing", { password: "", repeat: "" }, "Enter a new password."],
    ["two that differ", { password: ownPassword, repeat: `${ownPassword} ` }, "don&#x27;t match"],
    ["one that is too simple", passwordFields("simple"), "at least 8 characters"],
    ["one beyond all length", passwordFields(`Aa1-${"x".repeat(1100)}`), "shorter"],
  ])("rejects %s with an explanation, and asks again", async (_, fields, words) => {
    const { browser, shown } = await openPasswordForm()
    const again = await browser.post(shown, fields)
    expect(again.response.status).toBe(422)
    expect(again.page).toContain(words)
    expect(again.page).toContain("Bakery &amp; Sons has invited you.")
    await expectUntouched()
    expect((await browser.post(again, passwordFields(ownPassword))).path).toBe("/ui/login/signedin")
  })

  test("rejects the user's own address", async () => {
    const { browser, shown } = await openPasswordForm()
    const again = await browser.post(shown, passwordFields(`N${name.slice(1)}@example.org`))
    expect(again.page).toContain("not your name or email address")
  })

  test("is accepted once, also when submitted twice concurrently", async () => {
    const { browser, shown } = await openPasswordForm()
    const cookie = browser.cookie()
    const post = async (plain: string) => {
      const same = browserOf(provider)
      same.setCookie(cookie)
      return (await same.post(shown, passwordFields(plain))).path
    }
    const ends = await Promise.all(["Own-Battery-1", "Own-Battery-2"].map(post))
    expect(ends.sort()).toEqual(["/ui/login/signedin", choicePath])
    expect(await post("Own-Battery-3")).toBe(choicePath)
    expect(await checkPassword(provider.cx(), id, "Own-Battery-3")).toBe("wrong")
  })

  test("requires the form's own token", async () => {
    const { browser, shown } = await openPasswordForm()
    const end = await browser.post(shown, { ...passwordFields(ownPassword), csrf: "no" })
    expect(end.response.status).toBe(403)
    await expectUntouched()
  })

  test.each([
    ["locked", () => lockUser(provider.cx(), id)],
    ["deactivated", () => deactivateUser(provider.cx(), id)],
  ])(
    "is rejected for an account that is %s, and only that user sees the reason",
    async (words, round) => {
      const { browser, shown } = await openPasswordForm()
      await round()
      for (const fields of [
        passwordFields(ownPassword),
        { code: "AAAAAA", ...passwordFields(ownPassword) },
      ]) {
        const end = await browser.post(shown, fields)
        const isTold = !("code" in fields)
        expect(end.response.status).toBe(isTold ? 403 : 422)
        expect(end.page.includes(words)).toBe(isTold)
      }
      expect(await checkPassword(provider.cx(), id, ownPassword)).toBe("none")
    },
  )

  test("is rejected in a deactivated organization", async () => {
    id = `${id}-closing`
    name = `${name}-closing`
    await addInvited("closing")
    const { browser, shown } = await openPasswordForm()
    await deactivateOrganization(provider.cx(), "closing")
    const end = await browser.post(shown, passwordFields(ownPassword))
    expect(end.response.status).toBe(403)
    expect(await checkPassword(provider.cx(), id, ownPassword)).toBe("none")
  })
})
