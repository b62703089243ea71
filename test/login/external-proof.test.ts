// Proof required to link an account to a provider's user: the same that a sign-in requires.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createPassword, setPassword } from "../../src/domain/credential/commands.ts"
import { beginKey, finishKey } from "../../src/domain/factor/key/key.ts"
import { createIdp, linkIdp } from "../../src/domain/idp/commands.ts"
import type { Options } from "../../src/domain/idp/index.ts"
import type { Settings } from "../../src/domain/idp/model.ts"
import { changePolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import { deactivateUser, lockUser } from "../../src/domain/user/index.ts"
import { linksOf } from "../../src/domain/user-model/links.ts"
import { user } from "../../src/domain/user-model/model.ts"
import type { Allowance } from "../../src/kernel/limit.ts"
import {
  authorizePath,
  browserOf,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  password,
  responseOf,
  type VisitedPage,
} from "../oauth/provider.ts"
import { createKey } from "../support/authenticator.ts"
import { setUpByPassword } from "../support/set-up-by-password.ts"
import { openUpstream, type Upstream, upstreamIssuer } from "../support/upstream.ts"

const options: Options = {
  isLinkingAllowed: true,
  isCreationAllowed: false,
  isAutoCreation: false,
  isAutoUpdate: false,
  autoLinking: "off",
}
const settings: Settings = {
  kind: "oidc",
  issuer: upstreamIssuer,
  clientId: "client",
  scopes: [],
  isIdTokenMapping: false,
  usePkce: true,
}

let provider: Provider
let client: NewClient
let upstream: Upstream
let ada: string
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  upstream = await openUpstream()
  ada = await provider.addPerson("ada")
  const wish = { name: "Acme", settings, options, secret: "s3cret" }
  const { id } = await createIdp(provider.cx(), undefined, wish)
  await linkIdp(provider.cx(), undefined, id)
})
afterEach(() => provider.close())

const setLoginPolicy = (values: object) =>
  changePolicy(provider.cx(), undefined, { policy: login, apply: () => values })

const newBrowser = () =>
  browserOf({
    send: (path, init) => provider.send(path, init, { outside: upstream.outside }),
  })
type Browser = ReturnType<typeof newBrowser>

/** An unknown user arrives from the provider; returns the page that asks for the account. */
async function arriveFromProvider(
  browser: Browser,
  path = authorizePath(client.id),
): Promise<VisitedPage> {
  const begun = await browser.go(path)
  const request = new URL(begun.path, issuer).searchParams.get("authRequest") ?? ""
  const first = await browser.go(`/ui/login/loginname?authRequest=${request}`)
  const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1] ?? ""
  const there = await browser.go(href.replaceAll("&amp;", "&"))
  const claims = { sub: "eve-1", email: "eve@example.com", email_verified: true }
  return browser.go(upstream.signIn(there.path, { ...claims, name: "Eve" }))
}

async function addPasskey(): Promise<void> {
  const cx = provider.cx()
  const { tokenId, options } = await beginKey(cx, ada, { kind: "passkey" })
  const { creation: credential } = createKey(options, { origin: issuer })
  await finishKey(cx, ada, { kind: "passkey", tokenId, credential, name: "" })
}

const links = () => linksOf(provider.cx().store.state(provider.cx(), user, ada)).length
const selectAccountPath = () => authorizePath(client.id, { prompt: "select_account" })
const linkByPassword = { choice: "link", loginName: "ada", password }

test("a password links", async () => {
  const browser = newBrowser()
  const end = await browser.post(await arriveFromProvider(browser), linkByPassword)
  expect(responseOf(end)).toHaveProperty("code")
  expect(links()).toBe(1)
})

describe("a password check before linking costs one of the address's attempts", () => {
  /** The failed attempts recorded for a password after the response; `change` runs before it. */
  async function costOf(text: string, change?: () => Promise<unknown>): Promise<number> {
    let spent = 0
    const count = (by: number) => (budget: string) => {
      if (budget === "guess") spent += by
    }
    const allowance: Allowance = {
      spend: count(1),
      refund: count(-1),
      source: () => undefined,
      pace: () => () => Promise.resolve(),
    }
    const browser = browserOf({
      send: (path, init) => provider.send(path, init, { outside: upstream.outside, allowance }),
    })
    const asked = await arriveFromProvider(browser)
    await change?.()
    spent = 0
    const end = await browser.post(asked, { ...linkByPassword, password: text })
    expect(end.response.status).toBe(422)
    return spent
  }

  const hindrances: readonly [string, () => Promise<unknown>][] = [
    [
      "must be changed",
      async () => {
        const next = await createPassword(password, { names: [], changeRequired: true })
        await setPassword(provider.cx(), ada, next)
      },
    ],
    [
      "is not enough without the passkey",
      async () => {
        await addPasskey()
        await setLoginPolicy({ allowUsernamePassword: false })
      },
    ],
    ["belongs to a locked account", () => lockUser(provider.cx(), ada)],
    ["belongs to an inactive account", () => deactivateUser(provider.cx(), ada)],
  ]

  test("that is wrong", async () => {
    expect(await costOf("Wrong-Horse-7")).toBe(1)
  })

  test.each(hindrances)("but not if it is right and %s", async (_, hinder) => {
    expect(await costOf(password, hinder)).toBe(0)
  })
})

const sessionsOn = ({ page }: VisitedPage) =>
  [...page.matchAll(/value="(\d+)"[^>]*name="session"/g)].map(([, id = ""]) => id)

describe("if passwords alone don't sign in", () => {
  beforeEach(() => setLoginPolicy({ allowUsernamePassword: false, multiFactors: [] }))

  /** The page from before passwords were turned off. */
  const askedBefore = async (browser: ReturnType<typeof newBrowser>) => {
    await setLoginPolicy({ allowUsernamePassword: true, multiFactors: [] })
    const asked = await arriveFromProvider(browser)
    await setLoginPolicy({ allowUsernamePassword: false, multiFactors: [] })
    return asked
  }

  test("a password links nobody who has a passkey", async () => {
    await addPasskey()
    const browser = newBrowser()
    const end = await browser.post(await askedBefore(browser), linkByPassword)
    expect(end.response.status).toBe(422)
    expect(links()).toBe(0)
  })

  test("a password links nobody who has no passkey yet", async () => {
    const browser = newBrowser()
    const end = await browser.post(await askedBefore(browser), linkByPassword)
    expect(end.response.status).toBe(422)
    expect(links()).toBe(0)
  })

  test("no password field is shown, and the page explains how to link", async () => {
    const { page } = await arriveFromProvider(newBrowser())
    expect(page).not.toContain('type="password"')
    expect(page).toContain("This account requires another factor")
  })

  test("an incomplete session can't be used to link", async () => {
    const browser = newBrowser()
    const stopped = await setUpByPassword(browser, authorizePath(client.id), "ada")
    expect(stopped.path).toContain("/ui/login/mfa/set")
    expect(sessionsOn(await arriveFromProvider(browser, selectAccountPath()))).toEqual([])
  })
})

test("if a factor must be set up first, neither a password nor a session links", async () => {
  await setLoginPolicy({ forceMfaLocalOnly: true })
  const browser = newBrowser()
  await browser.signIn(authorizePath(client.id), "ada")
  const asked = await arriveFromProvider(browser, selectAccountPath())
  expect(sessionsOn(asked)).toEqual([])
  const end = await browser.post(asked, linkByPassword)
  expect(end.response.status).toBe(422)
  expect(links()).toBe(0)
})

describe("a session links", () => {
  test("immediately, if no further check is required", async () => {
    const browser = newBrowser()
    await browser.signIn(authorizePath(client.id), "ada")
    const asked = await arriveFromProvider(browser, selectAccountPath())
    const [id = ""] = sessionsOn(asked)
    const end = await browser.post(asked, { choice: "link", session: id })
    expect(responseOf(end)).toHaveProperty("code")
    expect(links()).toBe(1)
  })

  test("for half an hour, because the user may have changed since", async () => {
    const browser = newBrowser()
    await browser.signIn(authorizePath(client.id), "ada")
    const early = await arriveFromProvider(browser, selectAccountPath())
    const [id = ""] = sessionsOn(early)
    provider.clock.advance(30 * 60_000)
    expect(sessionsOn(await arriveFromProvider(browser, selectAccountPath()))).toEqual([])
    const end = await browser.post(early, { choice: "link", session: id })
    expect(end.response.status).toBe(422)
    expect(links()).toBe(0)
  })
})
