import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { memberships } from "../../src/domain/member/index.ts"
import { queueOtp } from "../../src/domain/message/index.ts"
import { messageReactor } from "../../src/domain/message/reactor.ts"
import { addDomain, addOrganization, org } from "../../src/domain/org/index.ts"
import { addPolicy, changePolicy } from "../../src/domain/policy/commands.ts"
import { login, privacy } from "../../src/domain/policy/index.ts"
import { setRestrictions } from "../../src/domain/quota/index.ts"
import { registrantBy, registrationCode } from "../../src/domain/registration/registration.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { profile } from "../../src/domain/user-lookup/query.ts"
import { limitsOf } from "../../src/kernel/limit.ts"
import { runReactors } from "../../src/store/index.ts"
import {
  answerOf,
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  type Visited,
} from "../oauth/provider.ts"
import { driveClock } from "../support/wait.ts"

const own = "Own-Battery-9"
const register = "/ui/login/register"
const given = { email: "rita@example.net", givenName: "Rita", familyName: "Roth" }

let provider: Provider
let client: NewClient
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  await says({ allowRegister: true })
  const cx = provider.cx()
  await setRestrictions(cx, cx.instance, { disallowPublicOrgRegistration: false })
})
afterEach(() => provider.close())

const path = (changes = {}) => authorizePath(client.id, changes)
const create = () => path({ prompt: "create" })
function says(values: object, policy: typeof login | typeof privacy = login, orgId?: string) {
  const open = policy === login && { allowRegister: true }
  const say = (had: object) => ({ ...had, ...open, ...values })
  const saying = { policy, say } as never
  return orgId === undefined
    ? changePolicy(provider.cx(), undefined, saying)
    : addPolicy(provider.cx(), orgId, saying)
}
const addOrganizationOf = (id: string) =>
  provider.store.transact(provider.cx(), (tx) => addOrganization(tx, id, { name: id }))
const idIn = ({ path: at }: Visited) => new URL(at, "https://x").searchParams.get("userId") ?? ""
const codeFor = (at: Visited) => registrationCode(provider.cx(), idIn(at))?.plain ?? ""
const twice = { password: own, repeat: own }

describe("whoever has no account", () => {
  test("makes one on the way to an application, and comes back signed in", async () => {
    const browser = browserOf(provider)
    const first = await browser.go(path())
    expect(first.page).toContain("Create account")
    const link = /href="([^"]*register[^"]*)"/.exec(first.page)?.[1] ?? ""
    const form = await browser.go(link.replaceAll("&amp;", "&"))
    const sent = await browser.post(form, given)
    expect(sent.path).toContain(`${register}/verify`)
    // Nobody is there before the address is shown to be theirs.
    expect(findByLoginName(provider.cx(), given.email)).toBeUndefined()
    const choice = await browser.post(sent, { code: codeFor(sent).toLowerCase() })
    expect(choice.page).toContain("Rita Roth")
    const end = await browser.post(choice, twice)
    expect(answerOf(end)).toHaveProperty("code")
    const id = findByLoginName(provider.cx(), given.email) ?? ""
    expect(id).toBe(idIn(sent))
    expect(profile(provider.cx(), id)).toMatchObject({ email: given.email, emailVerified: true })
    expect(answerOf(await browserOf(provider).signIn(path(), given.email, own))).toHaveProperty(
      "code",
    )
  })

  test.each(["rita", "rita@example.net"])(
    "is not kept out by whom another organization has prepared, named %s",
    async (userName) => {
      await addOrganizationOf("other")
      const boss = { kind: "user", userId: "boss", orgId: "other", clientId: "console" } as const
      await createUser(provider.cx({ caller: boss }), "prepared", {
        kind: "human",
        orgId: "other",
        userName,
        profile: { givenName: "Rita", familyName: "Roth" },
        email: { value: given.email, verified: true },
      })
      const browser = browserOf(provider)
      const sent = await browser.post(await browser.go(create()), given)
      const choice = await browser.post(sent, { code: codeFor(sent) })
      expect(answerOf(await browser.post(choice, twice))).toHaveProperty("code")
      expect(findByLoginName(provider.cx(), given.email)).toBe(idIn(sent))
    },
  )

  test("is shown the form at once by prompt=create, with the name that is hinted", async () => {
    const browser = browserOf(provider)
    await browser.signIn(path())
    const form = await browser.go(path({ prompt: "create", login_hint: given.email }))
    expect(form.path).toContain(`${register}?authRequest=`)
    expect(form.page).toContain(`value="${given.email}"`)
  })

  test("goes on in the browser in which the mail's link is opened", async () => {
    const mine = browserOf(provider)
    const sent = await mine.post(await mine.go(create()), given)
    const [id, code] = [idIn(sent), codeFor(sent)]
    const phone = browserOf(provider)
    const opened = await phone.go(`${register}/verify?userId=${id}&organization=o`)
    expect(opened.page).not.toContain("Rita")
    const choice = await phone.post(opened, { code })
    const end = await phone.post(choice, twice)
    expect(end.path).toBe("/ui/login/signedin")
    // The code is used up: what is left open elsewhere makes no second account.
    const late = await mine.post(sent, { code })
    expect(late.response.status).toBe(422)
  })

  test("accepts the terms, where there are some", async () => {
    const privacyLink = "https://example.com/privacy"
    await says({ tosLink: "https://example.com/tos", privacyLink }, privacy)
    const browser = browserOf(provider)
    const form = await browser.go(create())
    expect(form.page).toContain('href="https://example.com/tos"')
    expect(form.page).toContain(`href="${privacyLink}"`)
    const refused = await browser.post(form, given)
    expect([refused.response.status, refused.page.includes(`value="Rita"`)]).toEqual([422, true])
    const sent = await browser.post(refused, {
      ...given,
      accept: `https://example.com/tos ${privacyLink}`,
    })
    expect(sent.path).toContain(`${register}/verify`)
    await says({ tosLink: "https://example.com/{{.Lang}}/tos", privacyLink }, privacy)
    expect((await browser.go(create())).page).toContain('<a href="https://example.com/en/tos"')
    await says({ tosLink: "", privacyLink: "" }, privacy)
  })

  test.each([
    ["email", { ...given, email: "no address" }],
    ["email", { ...given, email: "two@x@y" }],
    ["given name", { ...given, givenName: " " }],
    ["family name", { ...given, familyName: "" }],
  ])("is told at the field what is wrong: %s", async (_, fields) => {
    const browser = browserOf(provider)
    const end = await browser.post(await browser.go(create()), fields)
    expect(end.response.status).toBe(422)
    expect(end.page).toMatch(/role="alert"/)
  })

  test("chooses a password that the policy likes", async () => {
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(create()), given)
    const choice = await browser.post(sent, { code: codeFor(sent) })
    const weak = await browser.post(choice, { password: "short", repeat: "short" })
    expect(weak.response.status).toBe(422)
    expect(answerOf(await browser.post(weak, twice))).toHaveProperty("code")
  })
})

describe("an address that has an account", () => {
  const known = async () => {
    await createUser(provider.cx(), "rita", {
      kind: "human",
      orgId: provider.setup.orgId,
      userName: "rita",
      profile: { givenName: "R", familyName: "R" },
      email: { value: given.email, verified: true },
    })
  }

  test("is answered as any other, and its code is none", async () => {
    const ask = async () => {
      const browser = browserOf(provider)
      const sent = await browser.post(await browser.go(create()), given)
      const wrong = await browser.post(sent, { code: "AAAAAA" })
      const plain = (text: string) =>
        text.replaceAll(/value="[^"]*"/g, "").replaceAll(/(userId|authRequest|as)=[^"&]+/g, "")
      return { sent, says: [sent.response.status, plain(sent.page), plain(wrong.page)] }
    }
    const fresh = await ask()
    await known()
    const again = await ask()
    expect(again.says).toEqual(fresh.says)
    expect([codeFor(fresh.sent) !== "", codeFor(again.sent)]).toEqual([true, ""])
    expect(registrantBy(provider.cx(), idIn(again.sent))?.accountId).toBe("rita")
  })

  test("is registered although others have taken all names like it", async () => {
    const cx = provider.cx()
    await addOrganizationOf("elsewhere")
    for (let number = 1; number <= 20; number++) {
      const userName = number === 1 ? given.email : `${given.email}-${number}`
      await createUser(cx, `taker-${number}`, {
        kind: "human",
        orgId: "elsewhere",
        userName,
        profile: { givenName: "T", familyName: "Aker" },
        email: { value: `taker-${number}@example.net`, verified: true },
      })
    }
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(create()), given)
    const id = idIn(sent)
    const end = await browser.post(await browser.post(sent, { code: codeFor(sent) }), twice)
    expect(end.response.status).not.toBe(422)
    expect(findByLoginName(cx, `${given.email}-${id}`)).toBe(id)
    expect(findByLoginName(cx, given.email)).toBe(id)
  })

  test("that somebody got meanwhile makes no second account", async () => {
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(create()), given)
    const choice = await browser.post(sent, { code: codeFor(sent) })
    await createUser(provider.cx(), "other", {
      kind: "human",
      orgId: provider.setup.orgId,
      userName: given.email,
      profile: { givenName: "R", familyName: "R" },
      email: { value: "other@example.net", verified: true },
    })
    const end = await browser.post(choice, twice)
    expect(end.response.status).toBe(422)
  })
})

describe("while a code is open", () => {
  const ended = async (at: string, more: object, close: () => Promise<unknown>) => {
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(at), { ...given, ...more })
    const choice = await browser.post(sent, { code: codeFor(sent) })
    await close()
    const end = await browser.post(choice, twice)
    return [end.response.status, findByLoginName(provider.cx(), given.email)]
  }

  test("registration may be closed, and then it makes no account", async () => {
    const close = () => says({ allowRegister: false })
    expect(await ended(create(), {}, close)).toEqual([422, undefined])
  })

  test("nobody may begin an organisation any more, and then nobody does", async () => {
    const close = () =>
      setRestrictions(provider.cx(), "i1", { disallowPublicOrgRegistration: true })
    const more = { organization: "Roth" }
    expect(await ended(`${register}/org`, more, close)).toEqual([422, undefined])
  })
})

describe("whoever asks often", () => {
  const ask = async (email = given.email) => {
    const browser = browserOf(provider)
    return browser.post(await browser.go(create()), { ...given, email })
  }
  /** Messages that were written meanwhile, as they were added. */
  async function written(act: () => Promise<unknown>) {
    const cx = provider.cx()
    const reactors = runReactors(provider.store, provider.clock, [messageReactor(() => cx)])
    await reactors.drain()
    await act()
    await reactors.drain()
    await reactors.stop()
    return (await provider.store.log.find(0, 10_000, ["message.added", "message.failed"])).events
  }

  test("is answered the same, and nobody is written to more than three times an hour", async () => {
    const ends = []
    for (const email of [given.email, "RITA@example.net", given.email, given.email])
      ends.push(await ask(email))
    expect(ends.map((end) => [end.response.status, idIn(end) !== ""])).toEqual(
      Array(4).fill([200, true]),
    )
    expect(ends.map((end) => codeFor(end) !== "")).toEqual([true, true, true, false])
    provider.clock.advance(3_600_000)
    expect(codeFor(await ask())).not.toBe("")
  })

  test("keeps no other mail from an address, and no organisation sees who has it", async () => {
    const id = await provider.addPerson("vic")
    const cx = provider.cx()
    const events = await written(async () => {
      for (let count = 0; count < 25; count++) await ask("vic@example.org")
      const otp = { userId: id, channel: "email", code: "123456", sessionId: "" } as const
      const expires = provider.clock.now() + 3_600_000
      await cx.store.transact(cx, (tx) => queueOtp(tx, { ...otp, expires }))
    })
    expect(events.filter(({ type }) => type === "message.failed")).toEqual([])
    const told = events.filter(({ data }) => "kind" in data && data.kind === "account_exists")
    expect(told.map(({ owner }) => owner)).toEqual(["i1", "i1", "i1"])
  })
})

test("a browser may prefer a language that nobody here can have", async () => {
  const send: Provider["send"] = (at, init) =>
    provider.send(at, init, { languages: ["x-klingon", "ca-ES-valencia", "de"] })
  const browser = browserOf({ send })
  const sent = await browser.post(await browser.go(create()), given)
  expect(registrantBy(provider.cx(), idIn(sent))?.language).toBe("de")
})

describe("a code", () => {
  test("is guessed ten times at most, and then the right one is worth nothing", async () => {
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(create()), given)
    const code = codeFor(sent)
    for (let tries = 0; tries < 10; tries++) {
      expect((await browser.post(sent, { code: "AAAAAA" })).response.status).toBe(422)
    }
    expect((await browser.post(sent, { code })).response.status).toBe(422)
  })

  test("ends with its time", async () => {
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(create()), given)
    const code = codeFor(sent)
    provider.clock.advance(73 * 3_600_000)
    const late = browserOf(provider)
    const opened = await late.go(`${register}/verify?userId=${idIn(sent)}`)
    expect((await late.post(opened, { code })).response.status).toBe(422)
  })

  test("makes one account, however many use it at the same moment", async () => {
    const sent = await (async () => {
      const browser = browserOf(provider)
      return browser.post(await browser.go(create()), given)
    })()
    const [id, code] = [idIn(sent), codeFor(sent)]
    const choices = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const browser = browserOf(provider)
        const opened = await browser.go(`${register}/verify?userId=${id}`)
        return { browser, choice: await browser.post(opened, { code }) }
      }),
    )
    const ends = await Promise.all(
      choices.map(({ browser, choice }) => browser.post(choice, twice)),
    )
    expect(ends.filter((end) => end.path === "/ui/login/signedin")).toHaveLength(1)
  })
})

describe("the policy", () => {
  const closed = "Self-registration is turned off."

  test("tells who comes by prompt=create and is signed in, too, that it is closed", async () => {
    await says({ allowRegister: false })
    const browser = browserOf(provider)
    await browser.signIn(path())
    const choice = await browser.go(create())
    expect(choice.path).toContain("/ui/login/accounts")
    expect(choice.page).toContain(closed)
    expect((await browser.go(path({ prompt: "select_account" }))).page).not.toContain(closed)
  })

  test("decides whether discovery lists prompt=create", async () => {
    const values = async () => {
      const answer = await provider.send("/.well-known/openid-configuration")
      const { prompt_values_supported }: Record<string, unknown> = await answer.json()
      return prompt_values_supported
    }
    const others = ["none", "login", "select_account", "consent"]
    await says({ allowRegister: false })
    expect(await values()).toEqual(others)
    await says({ allowRegister: true, allowUsernamePassword: false })
    expect(await values()).toEqual(others)
    await says({ allowUsernamePassword: true })
    expect(await values()).toEqual([...others, "create"])
  })

  test("closes it: no link, no page, and prompt=create asks for the name", async () => {
    await says({ allowRegister: false })
    const browser = browserOf(provider)
    const first = await browser.go(create())
    expect(first.path).toContain("/ui/login/loginname")
    expect(first.page).not.toContain("Create account")
    expect(first.page).toContain(closed)
    expect((await browserOf(provider).go(path())).page).not.toContain(closed)
    expect((await browser.go(register)).response.status).toBe(403)
    const open = await browser.post(first, { loginName: "olga" })
    const posted = await browser.go(register, {
      method: "POST",
      body: new URLSearchParams({
        ...given,
        csrf: /csrf" value="([^"]*)/.exec(open.page)?.[1] ?? "",
      }),
    })
    expect(posted.response.status).toBe(403)
  })

  test("of the organisation whose domain an address ends in decides", async () => {
    const cx = provider.cx()
    await provider.store.transact(cx, (tx) => addOrganization(tx, "acme", { name: "Acme" }))
    const { primaryDomain } = cx.store.state(cx, org, "acme")
    const ask = async (domain = primaryDomain) => {
      const browser = browserOf(provider)
      return browser.post(await browser.go(create()), { ...given, email: `rita@${domain}` })
    }
    const joined = await ask()
    expect(registrantBy(provider.cx(), idIn(joined))?.orgId).toBe("acme")
    await says({ allowDomainDiscovery: false }, login, "acme")
    expect((await ask()).response.status).toBe(422)
    await changePolicy(cx, "acme", {
      policy: login,
      say: () => ({ allowDomainDiscovery: true, allowRegister: false }),
    })
    const refused = await ask()
    expect(refused.response.status).toBe(422)
    expect(refused.page).toContain("belongs to an organization")
  })

  test("of one that holds a domain on trust takes nobody in, and keeps nobody out", async () => {
    const cx = provider.cx()
    await provider.store.transact(cx, (tx) => addOrganization(tx, "acme", { name: "Acme" }))
    await addDomain(cx, "acme", { domain: "trusted.example", isUsed: () => false })
    const email = "rita@trusted.example"
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(create()), { ...given, email })
    expect(registrantBy(provider.cx(), idIn(sent))?.orgId).toBe(provider.setup.orgId)
    const choice = await browser.post(sent, { code: codeFor(sent) })
    expect(answerOf(await browser.post(choice, twice))).toHaveProperty("code")
    expect(findByLoginName(provider.cx(), email)).toBe(idIn(sent))
    expect(answerOf(await browserOf(provider).signIn(path(), email, own))).toHaveProperty("code")
  })

  test("of the organisation that an address joins says what is agreed to", async () => {
    const cx = provider.cx()
    await provider.store.transact(cx, (tx) => addOrganization(tx, "acme", { name: "Acme" }))
    const { primaryDomain } = cx.store.state(cx, org, "acme")
    await says({ tosLink: "https://example.com/tos" }, privacy)
    await says({ tosLink: "https://acme.example/tos" }, privacy, "acme")
    const browser = browserOf(provider)
    const form = await browser.go(create())
    const email = `rita@${primaryDomain}`
    const ours = { accept: "https://example.com/tos" }
    expect(form.page).toContain(`value="${ours.accept}"`)
    // What was accepted is not what the address leads to: that is shown, and asked for.
    const shown = await browser.post(form, { ...given, ...ours, email })
    expect(shown.response.status).toBe(422)
    expect(shown.page).toContain('href="https://acme.example/tos"')
    expect(shown.page).not.toContain(`value="${ours.accept}"`)
    const theirs = { accept: "https://acme.example/tos" }
    const sent = await browser.post(shown, { ...given, ...theirs, email })
    expect(registrantBy(provider.cx(), idIn(sent))?.orgId).toBe("acme")
  })

  test("lets who may begin an organisation of their own, and own it", async () => {
    const browser = browserOf(provider)
    const form = await browser.go(`${register}/org`)
    const sent = await browser.post(form, { ...given, organization: "Roth & Co" })
    const choice = await browser.post(sent, { code: codeFor(sent) })
    const end = await browser.post(choice, twice)
    expect(end.path).toBe("/ui/login/signedin")
    const cx = provider.cx()
    const [held] = memberships(cx, idIn(sent))
    expect(held).toMatchObject({ level: "org", roles: ["ORG_OWNER"] })
    expect(cx.store.state(cx, org, held?.id ?? "").name).toBe("Roth & Co")
    await setRestrictions(provider.cx(), "i1", { disallowPublicOrgRegistration: true })
    expect((await browserOf(provider).go(`${register}/org`)).response.status).toBe(403)
  })
})

test("an address may ask for few mails at a time", async () => {
  const limits = limitsOf(provider.clock, 1)
  const send: Provider["send"] = (at, init) =>
    provider.send(at, init, { allowance: limits({ address: "203.0.113.9" }) })
  const browser = browserOf({ send })
  const form = await browser.go(create())
  const statuses: number[] = []
  vi.useRealTimers()
  const idle = provider.clock.pending()
  const posts = Array.from({ length: 31 }, () => browser.post(form, given))
  const ends = await driveClock(Promise.all(posts), () => {
    if (provider.clock.pending() > idle) provider.clock.advance(25)
  })
  for (const end of ends) statuses.push(end.response.status)
  expect(statuses.filter((status) => status === 429)).toHaveLength(1)
})
