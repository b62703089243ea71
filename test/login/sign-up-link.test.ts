import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { memberships } from "../../src/domain/member/index.ts"
import { addOrganization, org } from "../../src/domain/org/index.ts"
import { registrationCode } from "../../src/domain/registration/registration.ts"
import { createSignUpLink, revokeSignUpLink } from "../../src/domain/sign-up/link.ts"
import { signUpLink } from "../../src/domain/sign-up/model.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { findUser } from "../../src/domain/user-lookup/query.ts"
import { limitsOf } from "../../src/kernel/limit.ts"
import { browserOf, openProvider, type Provider, type Visited } from "../oauth/provider.ts"

const own = { password: "Own-Battery-9", repeat: "Own-Battery-9" }
const given = { email: "rita@example.net", givenName: "Rita", familyName: "Roth" }
const day = 86_400_000

let provider: Provider
beforeEach(async () => {
  provider = await openProvider()
  const { store } = provider
  await store.transact(provider.cx(), (tx) => addOrganization(tx, "course", { name: "Course" }))
})
afterEach(() => provider.close())

type Terms = Partial<Parameters<typeof createSignUpLink>[2]>
async function linkTo(terms: Terms = {}) {
  const id = provider.cx().ids.next()
  const usual = { orgId: "course", useLimit: 2, domains: [], expires: provider.clock.now() + day }
  const { url } = await createSignUpLink(provider.cx(), id, { ...usual, ...terms })
  const { pathname, search, hash } = new URL(url)
  return { id, path: `${pathname}${search}`, code: hash.slice(1) }
}
type Link = Awaited<ReturnType<typeof linkTo>>
type Browser = ReturnType<typeof browserOf>

const open = async (browser: Browser, { path, code }: Link) =>
  browser.post(await browser.go(path), { code })
const idIn = ({ path }: Visited) => new URL(path, "https://x").searchParams.get("userId") ?? ""
const codeFor = (at: Visited) => registrationCode(provider.cx(), idIn(at))?.plain ?? ""

/** Comes up to the page that asks for a password. */
async function proved(browser: Browser, link: Link, fields = given) {
  const sent = await browser.post(await open(browser, link), fields)
  return { sent, choice: await browser.post(sent, { code: codeFor(sent) }) }
}
const usesOf = ({ id }: Link) => provider.store.state(provider.cx(), signUpLink, id).uses
const found = (userId: string) => findUser(provider.cx(), userId)
const doesNotWork = "This link doesn&#x27;t work"

describe("whoever has a sign-up link", () => {
  test("makes an account in its organization although registration is off", async () => {
    const link = await linkTo()
    const browser = browserOf(provider)
    expect((await browser.go("/ui/login/register")).response.status).toBe(403)
    const opened = await browser.go(link.path)
    expect(opened.page).not.toContain("Course")
    expect(opened.response.headers.get("referrer-policy")).toBe("no-referrer")
    const form = await browser.post(opened, { code: link.code })
    expect(form.page).toContain("You are joining Course")
    expect(form.path).not.toContain(link.code)
    expect(form.page).not.toContain(link.code)
    const { sent, choice } = await proved(browser, link)
    expect(usesOf(link)).toBe(0)
    expect(() => found(idIn(sent))).toThrow()
    const end = await browser.post(choice, own)
    expect(end.path).toBe("/ui/login/signedin")
    expect(usesOf(link)).toBe(1)
    expect(found(idIn(sent))).toMatchObject({ org: "course", email_verified: true })
    expect(memberships(provider.cx(), idIn(sent))).toEqual([])
  })

  test("with a wrong code is led to no page that lets nobody register", async () => {
    const browser = browserOf(provider)
    const sent = await browser.post(await open(browser, await linkTo()), given)
    const wrong = await browser.post(sent, { code: "AAAAAA" })
    expect(wrong.response.status).toBe(422)
    expect(wrong.page).toContain(doesNotWork)
    expect(wrong.page).not.toContain('href="/ui/login/register"')
  })

  test("uses nothing up by opening it, as scanners of mails do", async () => {
    const link = await linkTo({ useLimit: 1 })
    for (let count = 0; count < 3; count++) await open(browserOf(provider), link)
    const browser = browserOf(provider)
    await browser.post((await proved(browser, link)).choice, own)
    expect(usesOf(link)).toBe(1)
  })

  test.each([
    ["a wrong secret", (link: Link) => ({ ...link, code: "A".repeat(43) })],
    ["another link's secret", async (link: Link) => ({ ...link, code: (await linkTo()).code })],
    ["no link", (link: Link) => ({ ...link, path: link.path.replace(/link=\d+/, "link=1") })],
  ])("is rejected with %s", async (_, change) => {
    const end = await open(browserOf(provider), await change(await linkTo()))
    expect(end.response.status).toBe(422)
    expect(end.page).toContain(doesNotWork)
    expect(end.page).not.toContain("Course")
  })

  test("is slowed down who guesses, and not who has it", async () => {
    const limits = limitsOf(provider.clock, 0.01)
    const allowance = limits({ address: "203.0.113.9" })
    const guesser = browserOf({ send: (at, init) => provider.send(at, init, { allowance }) })
    const link = await linkTo({ useLimit: 10_000 })
    for (let count = 0; count < 5; count++) {
      const right = await open(guesser, link)
      expect(right.page).toContain("You are joining Course")
    }
    const wrong = { ...link, code: "wrong" }
    const statuses: number[] = []
    for (let count = 0; count < 5; count++)
      statuses.push((await open(guesser, wrong)).response.status)
    expect(statuses).toContain(429)
  })
})

describe("a link that ends while somebody signs up", () => {
  const endings = {
    "is revoked": (link: Link) => revokeSignUpLink(provider.cx(), link.id),
    expires: async () => provider.clock.advance(2 * day),
    "is used up": async (link: Link) => {
      const browser = browserOf(provider)
      const other = { ...given, email: "other@example.net" }
      await browser.post((await proved(browser, link, other)).choice, own)
    },
  }
  const cases = Object.entries(endings).filter(([name]) => name !== "expires")

  test.each(Object.entries(endings))("%s: the form leads no further", async (_, end) => {
    const link = await linkTo({ useLimit: 1 })
    const browser = browserOf(provider)
    const form = await open(browser, link)
    await end(link)
    expect((await browser.post(form, given)).page).toContain(doesNotWork)
    expect((await browser.go(form.path)).page).toContain(doesNotWork)
  })

  test.each(cases)("%s: the code of the mail leads no further", async (_, end) => {
    const link = await linkTo({ useLimit: 1 })
    const browser = browserOf(provider)
    const sent = await browser.post(await open(browser, link), given)
    await end(link)
    expect((await browser.post(sent, { code: codeFor(sent) })).page).toContain(doesNotWork)
  })

  test.each(cases)("%s: no account is made with the password", async (_, end) => {
    const link = await linkTo({ useLimit: 1 })
    const browser = browserOf(provider)
    const { sent, choice } = await proved(browser, link)
    await end(link)
    expect((await browser.post(choice, own)).page).toContain(doesNotWork)
    expect(() => found(idIn(sent))).toThrow()
  })

  test("lets one of two in who are the last at the same time", async () => {
    const link = await linkTo({ useLimit: 1 })
    const people = ["one", "two"].map((name) => ({ ...given, email: `${name}@example.net` }))
    const ready = await Promise.all(
      people.map(async (person) => {
        const browser = browserOf(provider)
        const { choice } = await proved(browser, link, person)
        return { browser, choice }
      }),
    )
    const ends = await Promise.all(ready.map(({ browser, choice }) => browser.post(choice, own)))
    expect(ends.map(({ response }) => response.status).toSorted()).toEqual([200, 422])
    expect(usesOf(link)).toBe(1)
  })
})

describe("a link with domains", () => {
  test.each([
    ["rita@example.net", true],
    ["rita@EXAMPLE.NET", true],
    ["rita@sub.example.net", false],
    ["rita@notexample.net", false],
    ["rita@example.net.evil.test", false],
    ["rita@example.net@evil.test", false],
    ["rita@evil.test@example.net", false],
  ])("%s: %s", async (email, isAccepted) => {
    const link = await linkTo({ domains: ["example.net"] })
    const browser = browserOf(provider)
    const end = await browser.post(await open(browser, link), { ...given, email })
    expect(end.response.status).toBe(isAccepted ? 200 : 422)
    if (isAccepted) return expect(end.path).toContain("/register/verify")
    expect(end.page).toContain("one of these domains: example.net")
    // The page is still that of the link.
    const again = await browser.post(end, given)
    expect(again.path).toContain("/register/verify")
  })

  test("names them as people write them", async () => {
    const link = await linkTo({ domains: ["example.net", "Bücher.example"] })
    const browser = browserOf(provider)
    const end = await browser.post(await open(browser, link), { ...given, email: "r@other.test" })
    expect(end.page).toContain("one of these domains: example.net, bücher.example.")
    const next = await browser.post(end, { ...given, email: "r@BÜCHER.example" })
    expect(next.path).toContain("/register/verify")
  })

  test("takes nobody whose domain another organization has proven", async () => {
    const cx = provider.cx()
    const { primaryDomain } = cx.store.state(cx, org, provider.setup.orgId)
    const email = `rita@${primaryDomain}`
    const browser = browserOf(provider)
    const end = await browser.post(await open(browser, await linkTo()), { ...given, email })
    expect(end.page).toContain("belongs to an organization")
    expect(end.response.status).toBe(422)
  })
})

test("an address that has an account is answered as any other", async () => {
  const link = await linkTo()
  const answer = async () => {
    const browser = browserOf(provider)
    const sent = await browser.post(await open(browser, link), given)
    const plain = sent.page.replaceAll(/value="[^"]*"/g, "").replaceAll(/(userId|as)=[^"&]+/g, "")
    return { code: codeFor(sent), says: [sent.response.status, plain] }
  }
  const fresh = await answer()
  await createUser(provider.cx(), "rita", {
    kind: "human",
    orgId: "course",
    userName: "rita",
    profile: { givenName: "R", familyName: "R" },
    email: { value: given.email, verified: true },
  })
  const known = await answer()
  expect(known.says).toEqual(fresh.says)
  expect([fresh.code !== "", known.code]).toEqual([true, ""])
})

test("a form of one browser opens nothing in another", async () => {
  const form = await open(browserOf(provider), await linkTo())
  const other = browserOf(provider)
  expect((await other.go(form.path)).response.status).toBe(403)
})
