// An emailed link instead of a password: it works once, in the browser that requested it.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { setPassword } from "../../src/domain/credential/commands.ts"
import { requestMagicLink } from "../../src/domain/credential/magic-link.ts"
import { addOtp } from "../../src/domain/factor/otp.ts"
import { addMember } from "../../src/domain/member/index.ts"
import { contentOf } from "../../src/domain/message/content.ts"
import { message } from "../../src/domain/message/index.ts"
import { addPolicy, changePolicy } from "../../src/domain/policy/commands.ts"
import { type Login, login } from "../../src/domain/policy/login.ts"
import { session } from "../../src/domain/session/index.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { deactivateUser, lockUser, updateUser } from "../../src/domain/user/index.ts"
import { createLimits } from "../../src/kernel/limit.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  openProvider,
  type Provider,
  password,
  responseOf,
  sendTokenRequest,
} from "../oauth/provider.ts"

let provider: Provider
let id: string
const name = "pascal"
beforeEach(async () => {
  provider = await openProvider()
  id = await provider.addPerson(name)
  await setLoginPolicy({ allowMagicLink: true })
})
afterEach(() => provider.close())

const setLoginPolicy = (values: Partial<Login>) =>
  changePolicy(provider.cx(), undefined, { policy: login, apply: () => values })

/** The emails in order, each with its code and link. */
async function listMails() {
  const { events } = await provider.store.log.find(0, 10_000, ["message.added"])
  return events.flatMap(({ id: messageId }) => {
    const state = provider.store.state(provider.cx(), message, messageId)
    if (state.kind !== "magic_link") return []
    const content = contentOf(provider.cx(), state)
    if ("over" in content) throw new Error(content.over)
    return [{ ...content, to: state.to }]
  })
}

async function lastMail() {
  const last = (await listMails()).at(-1)
  if (!last) throw new Error("no email was sent")
  const { pathname, search, hash } = new URL(last.link)
  return { ...last, path: pathname + search, inLink: decodeURIComponent(hash.slice(1)) }
}

type Browser = ReturnType<typeof browserOf>

/** Requests a link in a browser, by the button on the password page. */
async function requestLink(
  from = "/ui/login",
  loginName = name,
  browser: Browser = browserOf(provider),
) {
  const named = await browser.post(await browser.go(from), { loginName })
  const form = named.page.slice(named.page.indexOf('action="/ui/login/link"') - 60)
  const sent = await browser.post({ ...named, page: form }, { loginName })
  return { browser, named, sent }
}

const otherCode = (code: string) => (code === "00000000" ? "11111111" : "00000000")

const eventsOf = async (...types: string[]) =>
  (await provider.store.log.find(0, 10_000, types)).events

describe("an emailed link", () => {
  test("signs in with the code in the requesting browser, and the amr states it", async () => {
    const client = await provider.addClient()
    const from = authorizePath(client.id, { claims: '{"id_token":{"acr":null}}' })
    const { browser, sent } = await requestLink(from)
    expect([sent.response.status, sent.path]).toEqual([200, expect.stringContaining("as=")])
    expect(sent.path).not.toContain(name)
    const { code, to, subject } = await lastMail()
    expect([to, subject]).toEqual(["pascal@example.org", "Your sign-in link"])
    const answer = responseOf(await browser.post(sent, { code }))
    const { answer: tokens } = await sendTokenRequest(
      provider,
      codeFields(answer.code ?? ""),
      `${client.id}:${client.secret}`,
    )
    const [, payload = ""] = String(tokens.id_token).split(".")
    const said = JSON.parse(Buffer.from(payload, "base64url").toString())
    expect(said).toMatchObject({ sub: id, amr: ["otp"], acr: "1" })
    expect(await eventsOf("session.magic_link.checked")).toHaveLength(1)
  })

  test("signs in a user without a password or another factor", async () => {
    const cx = provider.cx()
    await createUser(cx, cx.ids.next(), {
      kind: "human",
      orgId: provider.setup.orgId,
      userName: "newcomer",
      profile: { givenName: "New", familyName: "Comer" },
      email: { value: "newcomer@example.org", verified: true },
    })
    const { browser, sent } = await requestLink("/ui/login", "newcomer")
    const { code } = await lastMail()
    expect((await browser.post(sent, { code })).path).toBe("/ui/login/signedin")
  })

  test("opens in the same browser with the code in the fragment, and continues there", async () => {
    const client = await provider.addClient()
    const { browser } = await requestLink(authorizePath(client.id))
    const { path, code, inLink } = await lastMail()
    expect(inLink).toBe(code)
    expect(path).not.toContain(code)
    const opened = await browser.go(path)
    expect(opened.page).toContain("data-from-link")
    expect(opened.page).not.toContain(name)
    expect(responseOf(await browser.post(opened, { code }))).toHaveProperty("code")
  })

  test("signs nobody in elsewhere, and shows what to do", async () => {
    const { browser, sent } = await requestLink()
    const { path, code } = await lastMail()
    const elsewhere = browserOf(provider)
    const opened = await elsewhere.go(path)
    expect(opened.response.status).toBe(200)
    expect(opened.page).toContain("Continue in the other browser")
    expect(opened.page).not.toContain("<form")
    expect(await eventsOf("session.added")).toHaveLength(0)
    // The first browser's data does not help there either.
    const taken = await elsewhere.post(
      {
        ...sent,
        page: sent.page.replace(/name="csrf" value="[^"]*"/, csrfIn(await page(elsewhere))),
      },
      { code },
    )
    expect(taken.path).toBe("/ui/login/loginname")
    expect((await browser.post(sent, { code })).path).toBe("/ui/login/signedin")
  })

  const page = async (browser: Browser) => (await browser.go("/ui/login/loginname")).page
  const csrfIn = (text: string) => /name="csrf" value="[^"]*"/.exec(text)?.[0] ?? ""

  test("works once, also for 20 concurrent uses", async () => {
    const { browser, sent } = await requestLink()
    const { code } = await lastMail()
    const cookie = browser.cookie()
    const at = await Promise.all(
      Array.from({ length: 20 }, () => {
        const one = browserOf(provider)
        one.setCookie(cookie)
        return one.post(sent, { code })
      }),
    )
    const inside = at.filter(({ path }) => path === "/ui/login/signedin")
    expect(await eventsOf("user.human.magic_link.check.succeeded")).toHaveLength(1)
    expect(await eventsOf("session.added")).toHaveLength(1)
    expect(inside.length).toBeGreaterThan(0)
    const late = browserOf(provider)
    late.setCookie(cookie)
    await late.post(sent, { code })
    expect((await late.go("/ui/login/signedin")).path).not.toBe("/ui/login/signedin")
  })

  test("expires within minutes, and when the user's address changes", async () => {
    const { browser, sent } = await requestLink()
    const { code } = await lastMail()
    await updateUser(provider.cx(), id, {
      human: { email: { value: "new@example.org", verified: true } },
    })
    expect((await browser.post(sent, { code })).response.status).toBe(422)
    const again = await requestLink()
    const { code: next } = await lastMail()
    provider.clock.advance(5 * 60_000)
    expect((await again.browser.post(again.sent, { code: next })).response.status).toBe(422)
  })

  test("allows ten wrong codes an hour, which a known device does not share", async () => {
    const known = browserOf(provider)
    await known.signIn("/ui/login", name)
    const { browser, sent } = await requestLink()
    const { code } = await lastMail()
    const tried = async () => (await browser.post(sent, { code: otherCode(code) })).response.status
    const statuses: number[] = []
    for (let count = 0; count < 11; count++) statuses.push(await tried())
    expect(statuses).toEqual([...Array(10).fill(422), 429])
    expect((await browser.post(sent, { code })).response.status).toBe(429)
    expect(await eventsOf("user.human.magic_link.check.failed")).toHaveLength(10)
    const mine = await requestLink("/ui/login?prompt=login", name, await signedOut(known))
    const { code: own } = await lastMail()
    expect((await known.post(mine.sent, { code: own })).path).toBe("/ui/login/signedin")
  })

  /** The browser without its session, but with its device cookie. */
  async function signedOut(browser: Browser) {
    const device = browser
      .cookie()
      .split("; ")
      .find((each) => each.includes("device"))
    browser.setCookie(device ?? "")
    return browser
  }
})

describe("a caller can't learn which users exist", () => {
  test.each([
    ["who is here", name, () => {}],
    ["who is not", "penelope", () => {}],
    ["who is locked", name, () => lockUser(provider.cx(), id)],
    ["who is switched off", name, () => deactivateUser(provider.cx(), id)],
    ["whose organisation wants none", name, () => ownPolicy({ allowMagicLink: false })],
  ])("neither of %s", async (_, loginName, first) => {
    await first()
    const { browser, sent } = await requestLink("/ui/login", loginName)
    // The page shows the name as it was entered.
    const bare = (text: string) => text.replaceAll(/value="[^"]*"/g, "").replaceAll(loginName, "")
    expect(sent.response.status).toBe(200)
    const wrong = await browser.post(sent, { code: "12345678" })
    same ??= [bare(sent.page), bare(wrong.page)]
    expect([bare(sent.page), bare(wrong.page)]).toEqual(same)
  })
  let same: readonly string[] | undefined

  const ownPolicy = (values: Partial<Login>) =>
    addPolicy(provider.cx(), provider.setup.orgId, {
      policy: login,
      apply: () => ({ ...login.standard, ...values }),
    })

  test("users who can't sign in this way get no email; each request has one commit", async () => {
    const sizes: number[] = []
    const append = provider.store.log.append.bind(provider.store.log)
    vi.spyOn(provider.store.log, "append").mockImplementation((step) => {
      sizes.push(step.events.length)
      return append(step)
    })
    await requestLink("/ui/login", "nobody")
    expect(sizes).toEqual([1])
    await lockUser(provider.cx(), id)
    sizes.length = 0
    await requestLink()
    expect(sizes).toEqual([1])
    expect(await listMails()).toEqual([])
  })

  test("ten are sent an hour, and strangers don't use up those of a known device", async () => {
    for (let count = 0; count < 12; count++) await requestLink()
    expect(await listMails()).toHaveLength(10)
    const step = await provider.store.transact(provider.cx(), (tx) =>
      requestMagicLink(tx, { account: id, device: "d1" }),
    )
    expect(step.value).toBe(true)
  })

  test("an address can send thirty requests, for any users", async () => {
    const allowance = createLimits(provider.clock, 1)({ address: "198.51.100.7" })
    const pace = () => async () => {}
    const send: Provider["send"] = (path, init) =>
      provider.send(path, init, { allowance: { ...allowance, pace } })
    const browser = browserOf({ send })
    const statuses: number[] = []
    for (let count = 0; count < 31; count++) {
      const { sent } = await requestLink("/ui/login", `x-${count}`, browser)
      statuses.push(sent.response.status)
    }
    expect(statuses).toEqual([...Array(30).fill(200), 429])
  })
})

describe("if the policy doesn't allow it", () => {
  test("there is no button, no page and no email, and earlier links are invalid", async () => {
    const before = await requestLink()
    const { code } = await lastMail()
    await setLoginPolicy({ allowMagicLink: false })
    const browser = browserOf(provider)
    const named = await browser.post(await browser.go("/ui/login"), { loginName: name })
    expect(named.page).not.toContain("/ui/login/link")
    expect((await browser.go("/ui/login/link")).path).toBe("/ui/login/loginname")
    expect((await before.browser.post(before.sent, { code })).response.status).toBe(422)
  })
})

describe("a mailbox is one factor", () => {
  const startOf = async () => authorizePath((await provider.addClient()).id)

  test("an email code is not a second factor beside it: the password is required", async () => {
    await setLoginPolicy({ secondFactors: ["otp", "otp_email"] })
    await addOtp(provider.cx(), id, "email")
    const { browser, sent } = await requestLink(await startOf())
    const { code } = await lastMail()
    const next = await browser.post(sent, { code })
    expect(next.path).toContain("/ui/login/password")
    const factor = await browser.post(next, { loginName: name, password })
    expect(factor.path).toContain("/ui/login/mfa/verify")
  })

  test("if a second factor is required, one other than email is set up", async () => {
    await setLoginPolicy({ forceMfa: true, secondFactors: ["otp", "otp_email"] })
    const { browser, sent } = await requestLink(await startOf())
    const { code } = await lastMail()
    const next = await browser.post(sent, { code })
    expect(next.path).toContain("/ui/login/mfa/set")
    expect(next.page).toContain("Authenticator app")
    expect(next.page).not.toContain("Code by email")
  })

  test("if only email codes can be set up, the password is required first", async () => {
    await setLoginPolicy({ forceMfaManagers: true, secondFactors: ["otp_email"], multiFactors: [] })
    const target = { level: "instance" } as const
    await provider
      .cx()
      .store.transact(provider.cx(), (tx) =>
        addMember(tx, { userId: id, target, roles: ["IAM_OWNER"] }),
      )
    const { browser, sent } = await requestLink(await startOf())
    const { code } = await lastMail()
    const next = await browser.post(sent, { code })
    expect(next.path).toContain("/ui/login/password")
    const setUp = await browser.post(next, { loginName: name, password })
    expect(setUp.path).toContain("/ui/login/mfa/set")
  })

  test("if passwords are off, a link signs in", async () => {
    await setLoginPolicy({ allowUsernamePassword: false })
    const { browser, sent } = await requestLink(await startOf())
    const { code } = await lastMail()
    expect(responseOf(await browser.post(sent, { code }))).toHaveProperty("code")
  })

  test("a new password ends what a link started", async () => {
    const { browser, sent } = await requestLink()
    const { code } = await lastMail()
    expect((await browser.post(sent, { code })).path).toBe("/ui/login/signedin")
    const [added] = await eventsOf("session.added")
    expect(provider.store.state(provider.cx(), session, added?.id ?? "").methods).toEqual(["otp"])
    await setPassword(provider.cx(), id, { hash: "$x", changeRequired: false })
    expect((await browser.go("/ui/login/signedin")).path).toBe("/ui/login/loginname")
  })
})
