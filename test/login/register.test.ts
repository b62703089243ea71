import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { listMemberships } from "../../src/domain/member/index.ts"
import { queueOtp } from "../../src/domain/message/index.ts"
import { messageReactor } from "../../src/domain/message/reactor.ts"
import { addDomain, addOrganization, org } from "../../src/domain/org/index.ts"
import { addPolicy, changePolicy } from "../../src/domain/policy/commands.ts"
import { login, privacy } from "../../src/domain/policy/index.ts"
import { setRestrictions } from "../../src/domain/quota/index.ts"
import { findRegistrant, registrationCode } from "../../src/domain/registration/registration.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { findProfile } from "../../src/domain/user-lookup/query.ts"
import { createLimits } from "../../src/kernel/limit.ts"
import { runReactors } from "../../src/store/index.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  type VisitedPage,
} from "../oauth/provider.ts"
import { driveClock } from "../support/wait.ts"

const ownPassword = "Own-Battery-9"
const registerPath = "/ui/login/register"
const registrationFields = { email: "rita@example.net", givenName: "Rita", familyName: "Roth" }

let provider: Provider
let client: NewClient
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  await setPolicy({ allowRegister: true })
  const cx = provider.cx()
  await setRestrictions(cx, cx.instance, { disallowPublicOrgRegistration: false })
})
afterEach(() => provider.close())

const path = (changes = {}) => authorizePath(client.id, changes)
const createPath = () => path({ prompt: "create" })
function setPolicy(values: object, policy: typeof login | typeof privacy = login, orgId?: string) {
  const open = policy === login && { allowRegister: true }
  const apply = (before: object) => ({ ...before, ...open, ...values })
  const update = { policy, apply } as never
  return orgId === undefined
    ? changePolicy(provider.cx(), undefined, update)
    : addPolicy(provider.cx(), orgId, update)
}
const createOrganization = (id: string) =>
  provider.store.transact(provider.cx(), (tx) => addOrganization(tx, id, { name: id }))
const idIn = ({ path: at }: VisitedPage) =>
  new URL(at, "https://x").searchParams.get("userId") ?? ""
const codeFor = (at: VisitedPage) => registrationCode(provider.cx(), idIn(at))?.plain ?? ""
const passwordFields = { password: ownPassword, repeat: ownPassword }

describe("a user without an account", () => {
  test("registers on the way to an application, and returns signed in", async () => {
    const browser = browserOf(provider)
    const first = await browser.go(path())
    expect(first.page).toContain("Create account")
    const link = /href="([^"]*register[^"]*)"/.exec(first.page)?.[1] ?? ""
    const form = await browser.go(link.replaceAll("&amp;", "&"))
    const sent = await browser.post(form, registrationFields)
    expect(sent.path).toContain(`${registerPath}/verify`)
    // No user exists before the address is verified.
    expect(findByLoginName(provider.cx(), registrationFields.email)).toBeUndefined()
    const choice = await browser.post(sent, { code: codeFor(sent).toLowerCase() })
    expect(choice.page).toContain("Rita Roth")
    const end = await browser.post(choice, passwordFields)
    expect(responseOf(end)).toHaveProperty("code")
    const id = findByLoginName(provider.cx(), registrationFields.email) ?? ""
    expect(id).toBe(idIn(sent))
    expect(findProfile(provider.cx(), id)).toMatchObject({
      email: registrationFields.email,
      emailVerified: true,
    })
    expect(
      responseOf(await browserOf(provider).signIn(path(), registrationFields.email, ownPassword)),
    ).toHaveProperty("code")
  })

  test.each(["rita", "rita@example.net"])(
    "is not blocked by a user that another organization has prepared, named %s",
    async (userName) => {
      await createOrganization("other")
      const boss = { kind: "user", userId: "boss", orgId: "other", clientId: "console" } as const
      await createUser(provider.cx({ caller: boss }), "prepared", {
        kind: "human",
        orgId: "other",
        userName,
        profile: { givenName: "Rita", familyName: "Roth" },
        email: { value: registrationFields.email, verified: true },
      })
      const browser = browserOf(provider)
      const sent = await browser.post(await browser.go(createPath()), registrationFields)
      const choice = await browser.post(sent, { code: codeFor(sent) })
      expect(responseOf(await browser.post(choice, passwordFields))).toHaveProperty("code")
      expect(findByLoginName(provider.cx(), registrationFields.email)).toBe(idIn(sent))
    },
  )

  test("sees the form immediately with prompt=create, with the hinted name", async () => {
    const browser = browserOf(provider)
    await browser.signIn(path())
    const form = await browser.go(path({ prompt: "create", login_hint: registrationFields.email }))
    expect(form.path).toContain(`${registerPath}?authRequest=`)
    expect(form.page).toContain(`value="${registrationFields.email}"`)
  })

  test("continues in the browser in which the emailed link is opened", async () => {
    const mine = browserOf(provider)
    const sent = await mine.post(await mine.go(createPath()), registrationFields)
    const [id, code] = [idIn(sent), codeFor(sent)]
    const phone = browserOf(provider)
    const opened = await phone.go(`${registerPath}/verify?userId=${id}&organization=o`)
    expect(opened.page).not.toContain("Rita")
    const choice = await phone.post(opened, { code })
    const end = await phone.post(choice, passwordFields)
    expect(end.path).toBe("/ui/login/signedin")
    // The code was used: forms left open elsewhere create no second account.
    const late = await mine.post(sent, { code })
    expect(late.response.status).toBe(422)
  })

  test("accepts the terms, if there are any", async () => {
    const privacyLink = "https://example.com/privacy"
    await setPolicy({ tosLink: "https://example.com/tos", privacyLink }, privacy)
    const browser = browserOf(provider)
    const form = await browser.go(createPath())
    expect(form.page).toContain('href="https://example.com/tos"')
    expect(form.page).toContain(`href="${privacyLink}"`)
    const refused = await browser.post(form, registrationFields)
    expect([refused.response.status, refused.page.includes(`value="Rita"`)]).toEqual([422, true])
    const sent = await browser.post(refused, {
      ...registrationFields,
      accept: `https://example.com/tos ${privacyLink}`,
    })
    expect(sent.path).toContain(`${registerPath}/verify`)
    await setPolicy({ tosLink: "https://example.com/{{.Lang}}/tos", privacyLink }, privacy)
    expect((await browser.go(createPath())).page).toContain('<a href="https://example.com/en/tos"')
    await setPolicy({ tosLink: "", privacyLink: "" }, privacy)
  })

  test.each([
    ["email", { ...registrationFields, email: "no address" }],
    ["email", { ...registrationFields, email: "two@x@y" }],
    ["given name", { ...registrationFields, givenName: " " }],
    ["family name", { ...registrationFields, familyName: "" }],
  ])("sees errors at the field: %s", async (_, fields) => {
    const browser = browserOf(provider)
    const end = await browser.post(await browser.go(createPath()), fields)
    expect(end.response.status).toBe(422)
    expect(end.page).toMatch(/role="alert"/)
  })

  test("must set a password that meets the policy", async () => {
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(createPath()), registrationFields)
    const choice = await browser.post(sent, { code: codeFor(sent) })
    const weak = await browser.post(choice, { password: "short", repeat: "short" })
    expect(weak.response.status).toBe(422)
    expect(responseOf(await browser.post(weak, passwordFields))).toHaveProperty("code")
  })
})

describe("an address that has an account", () => {
  const known = async () => {
    await createUser(provider.cx(), "rita", {
      kind: "human",
      orgId: provider.setup.orgId,
      userName: "rita",
      profile: { givenName: "R", familyName: "R" },
      email: { value: registrationFields.email, verified: true },
    })
  }

  test("gets the same response as any other, and its code is invalid", async () => {
    const ask = async () => {
      const browser = browserOf(provider)
      const sent = await browser.post(await browser.go(createPath()), registrationFields)
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
    expect(findRegistrant(provider.cx(), idIn(again.sent))?.accountId).toBe("rita")
  })

  test("can be registered although all similar login names are taken", async () => {
    const cx = provider.cx()
    await createOrganization("elsewhere")
    for (let number = 1; number <= 20; number++) {
      const userName =
        number === 1 ? registrationFields.email : `${registrationFields.email}-${number}`
      await createUser(cx, `taker-${number}`, {
        kind: "human",
        orgId: "elsewhere",
        userName,
        profile: { givenName: "T", familyName: "Aker" },
        email: { value: `taker-${number}@example.net`, verified: true },
      })
    }
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(createPath()), registrationFields)
    const id = idIn(sent)
    const end = await browser.post(
      await browser.post(sent, { code: codeFor(sent) }),
      passwordFields,
    )
    expect(end.response.status).not.toBe(422)
    expect(findByLoginName(cx, `${registrationFields.email}-${id}`)).toBe(id)
    expect(findByLoginName(cx, registrationFields.email)).toBe(id)
  })

  test("that was taken meanwhile creates no second account", async () => {
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(createPath()), registrationFields)
    const choice = await browser.post(sent, { code: codeFor(sent) })
    await createUser(provider.cx(), "other", {
      kind: "human",
      orgId: provider.setup.orgId,
      userName: registrationFields.email,
      profile: { givenName: "R", familyName: "R" },
      email: { value: "other@example.net", verified: true },
    })
    const end = await browser.post(choice, passwordFields)
    expect(end.response.status).toBe(422)
  })
})

describe("while a code is open", () => {
  const ended = async (at: string, more: object, close: () => Promise<unknown>) => {
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(at), { ...registrationFields, ...more })
    const choice = await browser.post(sent, { code: codeFor(sent) })
    await close()
    const end = await browser.post(choice, passwordFields)
    return [end.response.status, findByLoginName(provider.cx(), registrationFields.email)]
  }

  test("registration can be turned off, and then no account is created", async () => {
    const close = () => setPolicy({ allowRegister: false })
    expect(await ended(createPath(), {}, close)).toEqual([422, undefined])
  })

  test("creating organizations can be turned off, and then none is created", async () => {
    const close = () =>
      setRestrictions(provider.cx(), "i1", { disallowPublicOrgRegistration: true })
    const more = { organization: "Roth" }
    expect(await ended(`${registerPath}/org`, more, close)).toEqual([422, undefined])
  })
})

describe("frequent requests", () => {
  const ask = async (email = registrationFields.email) => {
    const browser = browserOf(provider)
    return browser.post(await browser.go(createPath()), { ...registrationFields, email })
  }
  /** The messages that `act` creates, in order. */
  async function written(act: () => Promise<unknown>) {
    const cx = provider.cx()
    const reactors = runReactors(provider.store, provider.clock, [messageReactor(() => cx)])
    await reactors.drain()
    await act()
    await reactors.drain()
    await reactors.stop()
    return (await provider.store.log.find(0, 10_000, ["message.added", "message.failed"])).events
  }

  test("get the same response, and at most three emails per hour and address", async () => {
    const ends = []
    for (const email of [
      registrationFields.email,
      "RITA@example.net",
      registrationFields.email,
      registrationFields.email,
    ])
      ends.push(await ask(email))
    expect(ends.map((end) => [end.response.status, idIn(end) !== ""])).toEqual(
      Array(4).fill([200, true]),
    )
    expect(ends.map((end) => codeFor(end) !== "")).toEqual([true, true, true, false])
    provider.clock.advance(3_600_000)
    expect(codeFor(await ask())).not.toBe("")
  })

  test("delay no other email to an address, and no organization sees its owner", async () => {
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

test("a browser can prefer an unsupported language", async () => {
  const send: Provider["send"] = (at, init) =>
    provider.send(at, init, { languages: ["x-klingon", "ca-ES-valencia", "de"] })
  const browser = browserOf({ send })
  const sent = await browser.post(await browser.go(createPath()), registrationFields)
  expect(findRegistrant(provider.cx(), idIn(sent))?.language).toBe("de")
})

describe("a code", () => {
  test("can be tried ten times, then the right one is invalid", async () => {
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(createPath()), registrationFields)
    const code = codeFor(sent)
    for (let tries = 0; tries < 10; tries++) {
      expect((await browser.post(sent, { code: "AAAAAA" })).response.status).toBe(422)
    }
    expect((await browser.post(sent, { code })).response.status).toBe(422)
  })

  test("expires", async () => {
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(createPath()), registrationFields)
    const code = codeFor(sent)
    provider.clock.advance(73 * 3_600_000)
    const late = browserOf(provider)
    const opened = await late.go(`${registerPath}/verify?userId=${idIn(sent)}`)
    expect((await late.post(opened, { code })).response.status).toBe(422)
  })

  test("creates one account, even if used concurrently", async () => {
    const sent = await (async () => {
      const browser = browserOf(provider)
      return browser.post(await browser.go(createPath()), registrationFields)
    })()
    const [id, code] = [idIn(sent), codeFor(sent)]
    const choices = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const browser = browserOf(provider)
        const opened = await browser.go(`${registerPath}/verify?userId=${id}`)
        return { browser, choice: await browser.post(opened, { code }) }
      }),
    )
    const ends = await Promise.all(
      choices.map(({ browser, choice }) => browser.post(choice, passwordFields)),
    )
    expect(ends.filter((end) => end.path === "/ui/login/signedin")).toHaveLength(1)
  })
})

describe("the policy", () => {
  const closed = "Self-registration is turned off."

  test("reports closed registration with prompt=create, also to signed-in users", async () => {
    await setPolicy({ allowRegister: false })
    const browser = browserOf(provider)
    await browser.signIn(path())
    const choice = await browser.go(createPath())
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
    await setPolicy({ allowRegister: false })
    expect(await values()).toEqual(others)
    await setPolicy({ allowRegister: true, allowUsernamePassword: false })
    expect(await values()).toEqual(others)
    await setPolicy({ allowUsernamePassword: true })
    expect(await values()).toEqual([...others, "create"])
  })

  test("turns it off: no link, no page, and prompt=create asks for the name", async () => {
    await setPolicy({ allowRegister: false })
    const browser = browserOf(provider)
    const first = await browser.go(createPath())
    expect(first.path).toContain("/ui/login/loginname")
    expect(first.page).not.toContain("Create account")
    expect(first.page).toContain(closed)
    expect((await browserOf(provider).go(path())).page).not.toContain(closed)
    expect((await browser.go(registerPath)).response.status).toBe(403)
    const open = await browser.post(first, { loginName: "olga" })
    const posted = await browser.go(registerPath, {
      method: "POST",
      body: new URLSearchParams({
        ...registrationFields,
        csrf: /csrf" value="([^"]*)/.exec(open.page)?.[1] ?? "",
      }),
    })
    expect(posted.response.status).toBe(403)
  })

  test("of the organization whose domain an address has applies", async () => {
    const cx = provider.cx()
    await provider.store.transact(cx, (tx) => addOrganization(tx, "acme", { name: "Acme" }))
    const { primaryDomain } = cx.store.state(cx, org, "acme")
    const ask = async (domain = primaryDomain) => {
      const browser = browserOf(provider)
      return browser.post(await browser.go(createPath()), {
        ...registrationFields,
        email: `rita@${domain}`,
      })
    }
    const joined = await ask()
    expect(findRegistrant(provider.cx(), idIn(joined))?.orgId).toBe("acme")
    await setPolicy({ allowDomainDiscovery: false }, login, "acme")
    expect((await ask()).response.status).toBe(422)
    await changePolicy(cx, "acme", {
      policy: login,
      apply: () => ({ allowDomainDiscovery: true, allowRegister: false }),
    })
    const refused = await ask()
    expect(refused.response.status).toBe(422)
    expect(refused.page).toContain("belongs to an organization")
  })

  test("of an organization with an unverified domain does not apply", async () => {
    const cx = provider.cx()
    await provider.store.transact(cx, (tx) => addOrganization(tx, "acme", { name: "Acme" }))
    await addDomain(cx, "acme", { domain: "trusted.example", isUsed: () => false })
    const email = "rita@trusted.example"
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(createPath()), {
      ...registrationFields,
      email,
    })
    expect(findRegistrant(provider.cx(), idIn(sent))?.orgId).toBe(provider.setup.orgId)
    const choice = await browser.post(sent, { code: codeFor(sent) })
    expect(responseOf(await browser.post(choice, passwordFields))).toHaveProperty("code")
    expect(findByLoginName(provider.cx(), email)).toBe(idIn(sent))
    expect(responseOf(await browserOf(provider).signIn(path(), email, ownPassword))).toHaveProperty(
      "code",
    )
  })

  test("of the organization that an address joins provides the terms", async () => {
    const cx = provider.cx()
    await provider.store.transact(cx, (tx) => addOrganization(tx, "acme", { name: "Acme" }))
    const { primaryDomain } = cx.store.state(cx, org, "acme")
    await setPolicy({ tosLink: "https://example.com/tos" }, privacy)
    await setPolicy({ tosLink: "https://acme.example/tos" }, privacy, "acme")
    const browser = browserOf(provider)
    const form = await browser.go(createPath())
    const email = `rita@${primaryDomain}`
    const ours = { accept: "https://example.com/tos" }
    expect(form.page).toContain(`value="${ours.accept}"`)
    // Terms accepted earlier are not those for this address: these are shown and must be accepted.
    const shown = await browser.post(form, { ...registrationFields, ...ours, email })
    expect(shown.response.status).toBe(422)
    expect(shown.page).toContain('href="https://acme.example/tos"')
    expect(shown.page).not.toContain(`value="${ours.accept}"`)
    const theirs = { accept: "https://acme.example/tos" }
    const sent = await browser.post(shown, { ...registrationFields, ...theirs, email })
    expect(findRegistrant(provider.cx(), idIn(sent))?.orgId).toBe("acme")
  })

  test("allows users to create an organization of their own, and own it", async () => {
    const browser = browserOf(provider)
    const form = await browser.go(`${registerPath}/org`)
    const sent = await browser.post(form, { ...registrationFields, organization: "Roth & Co" })
    const choice = await browser.post(sent, { code: codeFor(sent) })
    const end = await browser.post(choice, passwordFields)
    expect(end.path).toBe("/ui/login/signedin")
    const cx = provider.cx()
    const [held] = listMemberships(cx, idIn(sent))
    expect(held).toMatchObject({ level: "org", roles: ["ORG_OWNER"] })
    expect(cx.store.state(cx, org, held?.id ?? "").name).toBe("Roth & Co")
    await setRestrictions(provider.cx(), "i1", { disallowPublicOrgRegistration: true })
    expect((await browserOf(provider).go(`${registerPath}/org`)).response.status).toBe(403)
  })
})

test("an address can request few emails at a time", async () => {
  const limits = createLimits(provider.clock, 1)
  const send: Provider["send"] = (at, init) =>
    provider.send(at, init, { allowance: limits({ address: "203.0.113.9" }) })
  const browser = browserOf({ send })
  const form = await browser.go(createPath())
  const statuses: number[] = []
  vi.useRealTimers()
  const idle = provider.clock.pending()
  const posts = Array.from({ length: 31 }, () => browser.post(form, registrationFields))
  const ends = await driveClock(Promise.all(posts), () => {
    if (provider.clock.pending() > idle) provider.clock.advance(25)
  })
  for (const end of ends) statuses.push(end.response.status)
  expect(statuses.filter((status) => status === 429)).toHaveLength(1)
})
