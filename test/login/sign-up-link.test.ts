import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { listMemberships } from "../../src/domain/member/index.ts"
import { addOrganization, org } from "../../src/domain/org/index.ts"
import { registrationCode } from "../../src/domain/registration/registration.ts"
import { createSignUpLink, revokeSignUpLink } from "../../src/domain/sign-up/link.ts"
import { signUpLink } from "../../src/domain/sign-up/model.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { requireUserRow } from "../../src/domain/user-lookup/query.ts"
import { createLimits } from "../../src/kernel/limit.ts"
import { browserOf, openProvider, type Provider, type VisitedPage } from "../oauth/provider.ts"

const ownPassword = { password: "Own-Battery-9", repeat: "Own-Battery-9" }
const registrationFields = { email: "rita@example.net", givenName: "Rita", familyName: "Roth" }
const day = 86_400_000

let provider: Provider
beforeEach(async () => {
  provider = await openProvider()
  const { store } = provider
  await store.transact(provider.cx(), (tx) => addOrganization(tx, "course", { name: "Course" }))
})
afterEach(() => provider.close())

type Terms = Partial<Parameters<typeof createSignUpLink>[2]>
async function createLink(terms: Terms = {}) {
  const id = provider.cx().ids.next()
  const usual = { orgId: "course", useLimit: 2, domains: [], expires: provider.clock.now() + day }
  const { url } = await createSignUpLink(provider.cx(), id, { ...usual, ...terms })
  const { pathname, search, hash } = new URL(url)
  return { id, path: `${pathname}${search}`, code: hash.slice(1) }
}
type Link = Awaited<ReturnType<typeof createLink>>
type Browser = ReturnType<typeof browserOf>

const open = async (browser: Browser, { path, code }: Link) =>
  browser.post(await browser.go(path), { code })
const idIn = ({ path }: VisitedPage) => new URL(path, "https://x").searchParams.get("userId") ?? ""
const codeFor = (at: VisitedPage) => registrationCode(provider.cx(), idIn(at))?.plain ?? ""

/** Continues to the page that asks for a password. */
async function verifyAddress(browser: Browser, link: Link, fields = registrationFields) {
  const sent = await browser.post(await open(browser, link), fields)
  return { sent, choice: await browser.post(sent, { code: codeFor(sent) }) }
}
const usesOf = ({ id }: Link) => provider.store.state(provider.cx(), signUpLink, id).uses
const findUser = (userId: string) => requireUserRow(provider.cx(), userId)
const doesNotWork = "This link doesn&#x27;t work"

describe("a user with a sign-up link", () => {
  test("registers in its organization although registration is off", async () => {
    const link = await createLink()
    const browser = browserOf(provider)
    expect((await browser.go("/ui/login/register")).response.status).toBe(403)
    const opened = await browser.go(link.path)
    expect(opened.page).not.toContain("Course")
    expect(opened.response.headers.get("referrer-policy")).toBe("no-referrer")
    const form = await browser.post(opened, { code: link.code })
    expect(form.page).toContain("You are joining Course")
    expect(form.path).not.toContain(link.code)
    expect(form.page).not.toContain(link.code)
    const { sent, choice } = await verifyAddress(browser, link)
    expect(usesOf(link)).toBe(0)
    expect(() => findUser(idIn(sent))).toThrow()
    const end = await browser.post(choice, ownPassword)
    expect(end.path).toBe("/ui/login/signedin")
    expect(usesOf(link)).toBe(1)
    expect(findUser(idIn(sent))).toMatchObject({ org: "course", email_verified: true })
    expect(listMemberships(provider.cx(), idIn(sent))).toEqual([])
  })

  test("with a wrong code gets no registration page", async () => {
    const browser = browserOf(provider)
    const sent = await browser.post(await open(browser, await createLink()), registrationFields)
    const wrong = await browser.post(sent, { code: "AAAAAA" })
    expect(wrong.response.status).toBe(422)
    expect(wrong.page).toContain(doesNotWork)
    expect(wrong.page).not.toContain('href="/ui/login/register"')
  })

  test("does not use it up by opening it, as email scanners do", async () => {
    const link = await createLink({ useLimit: 1 })
    for (let count = 0; count < 3; count++) await open(browserOf(provider), link)
    const browser = browserOf(provider)
    await browser.post((await verifyAddress(browser, link)).choice, ownPassword)
    expect(usesOf(link)).toBe(1)
  })

  test.each([
    ["a wrong secret", (link: Link) => ({ ...link, code: "A".repeat(43) })],
    ["another link's secret", async (link: Link) => ({ ...link, code: (await createLink()).code })],
    ["no link", (link: Link) => ({ ...link, path: link.path.replace(/link=\d+/, "link=1") })],
  ])("is rejected with %s", async (_, change) => {
    const end = await open(browserOf(provider), await change(await createLink()))
    expect(end.response.status).toBe(422)
    expect(end.page).toContain(doesNotWork)
    expect(end.page).not.toContain("Course")
  })

  test("is throttled when guessing, and not with the right code", async () => {
    const limits = createLimits(provider.clock, 0.01)
    const allowance = limits({ address: "203.0.113.9" })
    const guesser = browserOf({ send: (at, init) => provider.send(at, init, { allowance }) })
    const link = await createLink({ useLimit: 10_000 })
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

describe("a link that expires during the registration", () => {
  const endings = {
    "is revoked": (link: Link) => revokeSignUpLink(provider.cx(), link.id),
    expires: async () => provider.clock.advance(2 * day),
    "is used up": async (link: Link) => {
      const browser = browserOf(provider)
      const other = { ...registrationFields, email: "other@example.net" }
      await browser.post((await verifyAddress(browser, link, other)).choice, ownPassword)
    },
  }
  const cases = Object.entries(endings).filter(([name]) => name !== "expires")

  test.each(Object.entries(endings))("%s: the form is rejected", async (_, end) => {
    const link = await createLink({ useLimit: 1 })
    const browser = browserOf(provider)
    const form = await open(browser, link)
    await end(link)
    expect((await browser.post(form, registrationFields)).page).toContain(doesNotWork)
    expect((await browser.go(form.path)).page).toContain(doesNotWork)
  })

  test.each(cases)("%s: the emailed code is rejected", async (_, end) => {
    const link = await createLink({ useLimit: 1 })
    const browser = browserOf(provider)
    const sent = await browser.post(await open(browser, link), registrationFields)
    await end(link)
    expect((await browser.post(sent, { code: codeFor(sent) })).page).toContain(doesNotWork)
  })

  test.each(cases)("%s: no account is created with the password", async (_, end) => {
    const link = await createLink({ useLimit: 1 })
    const browser = browserOf(provider)
    const { sent, choice } = await verifyAddress(browser, link)
    await end(link)
    expect((await browser.post(choice, ownPassword)).page).toContain(doesNotWork)
    expect(() => findUser(idIn(sent))).toThrow()
  })

  test("accepts one of two concurrent last uses", async () => {
    const link = await createLink({ useLimit: 1 })
    const people = ["one", "two"].map((name) => ({
      ...registrationFields,
      email: `${name}@example.net`,
    }))
    const ready = await Promise.all(
      people.map(async (person) => {
        const browser = browserOf(provider)
        const { choice } = await verifyAddress(browser, link, person)
        return { browser, choice }
      }),
    )
    const ends = await Promise.all(
      ready.map(({ browser, choice }) => browser.post(choice, ownPassword)),
    )
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
    const link = await createLink({ domains: ["example.net"] })
    const browser = browserOf(provider)
    const end = await browser.post(await open(browser, link), { ...registrationFields, email })
    expect(end.response.status).toBe(isAccepted ? 200 : 422)
    if (isAccepted) return expect(end.path).toContain("/register/verify")
    expect(end.page).toContain("one of these domains: example.net")
    // The page still belongs to the link.
    const again = await browser.post(end, registrationFields)
    expect(again.path).toContain("/register/verify")
  })

  test("lists them in readable form", async () => {
    const link = await createLink({ domains: ["example.net", "Bücher.example"] })
    const browser = browserOf(provider)
    const end = await browser.post(await open(browser, link), {
      ...registrationFields,
      email: "r@other.test",
    })
    expect(end.page).toContain("one of these domains: example.net, bücher.example.")
    const next = await browser.post(end, { ...registrationFields, email: "r@BÜCHER.example" })
    expect(next.path).toContain("/register/verify")
  })

  test("rejects a domain that another organization has verified", async () => {
    const cx = provider.cx()
    const { primaryDomain } = cx.store.state(cx, org, provider.setup.orgId)
    const email = `rita@${primaryDomain}`
    const browser = browserOf(provider)
    const end = await browser.post(await open(browser, await createLink()), {
      ...registrationFields,
      email,
    })
    expect(end.page).toContain("belongs to an organization")
    expect(end.response.status).toBe(422)
  })
})

test("an address with an account gets the same response as any other", async () => {
  const link = await createLink()
  const answer = async () => {
    const browser = browserOf(provider)
    const sent = await browser.post(await open(browser, link), registrationFields)
    const plain = sent.page.replaceAll(/value="[^"]*"/g, "").replaceAll(/(userId|as)=[^"&]+/g, "")
    return { code: codeFor(sent), says: [sent.response.status, plain] }
  }
  const fresh = await answer()
  await createUser(provider.cx(), "rita", {
    kind: "human",
    orgId: "course",
    userName: "rita",
    profile: { givenName: "R", familyName: "R" },
    email: { value: registrationFields.email, verified: true },
  })
  const known = await answer()
  expect(known.says).toEqual(fresh.says)
  expect([fresh.code !== "", known.code]).toEqual([true, ""])
})

test("a form of one browser is rejected in another", async () => {
  const form = await open(browserOf(provider), await createLink())
  const other = browserOf(provider)
  expect((await other.go(form.path)).response.status).toBe(403)
})
