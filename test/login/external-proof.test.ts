// What proves that an account is somebody's who comes from a provider: what lets them in elsewhere.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createPassword, setPassword } from "../../src/domain/credential/commands.ts"
import { beginKey, finishKey } from "../../src/domain/factor/key/key.ts"
import { addIdp, linkIdp } from "../../src/domain/idp/commands.ts"
import type { Options } from "../../src/domain/idp/index.ts"
import type { Settings } from "../../src/domain/idp/model.ts"
import { changePolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import { deactivateUser, lockUser } from "../../src/domain/user/index.ts"
import { linksOf } from "../../src/domain/user-model/links.ts"
import { user } from "../../src/domain/user-model/model.ts"
import type { Allowance } from "../../src/kernel/limit.ts"
import {
  answerOf,
  authorizePath,
  browserOf,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  password,
  type Visited,
} from "../oauth/provider.ts"
import { makeKey } from "../support/authenticator.ts"
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
  const { id } = await addIdp(provider.cx(), undefined, wish)
  await linkIdp(provider.cx(), undefined, id)
})
afterEach(() => provider.close())

const says = (values: object) =>
  changePolicy(provider.cx(), undefined, { policy: login, say: () => values })

const newBrowser = () =>
  browserOf({
    send: (path, init) => provider.send(path, init, { outside: upstream.outside }),
  })
type Browser = ReturnType<typeof newBrowser>

/** Somebody comes from the provider whom nobody knows here; answers the page that asks. */
async function arrive(browser: Browser, path = authorizePath(client.id)): Promise<Visited> {
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
  const { creation: credential } = makeKey(options, { origin: issuer })
  await finishKey(cx, ada, { kind: "passkey", tokenId, credential, name: "" })
}

const links = () => linksOf(provider.cx().store.state(provider.cx(), user, ada)).length
const choosing = () => authorizePath(client.id, { prompt: "select_account" })
const byPassword = { choice: "link", loginName: "ada", password }

test("a password links", async () => {
  const browser = newBrowser()
  const end = await browser.post(await arrive(browser), byPassword)
  expect(answerOf(end)).toHaveProperty("code")
  expect(links()).toBe(1)
})

describe("a guess of the address is spent on a password that is to link", () => {
  /** The guesses that a password has cost after it was answered; `change` comes before it. */
  async function costOf(given: string, change?: () => Promise<unknown>): Promise<number> {
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
    const asked = await arrive(browser)
    await change?.()
    spent = 0
    const end = await browser.post(asked, { ...byPassword, password: given })
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
        await says({ allowUsernamePassword: false })
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

const sessions = ({ page }: Visited) =>
  [...page.matchAll(/value="(\d+)"[^>]*name="session"/g)].map(([, id = ""]) => id)

describe("where passwords alone let nobody in", () => {
  beforeEach(() => says({ allowUsernamePassword: false, multiFactors: [] }))

  /** The page of when passwords still signed in. */
  const askedBefore = async (browser: ReturnType<typeof newBrowser>) => {
    await says({ allowUsernamePassword: true, multiFactors: [] })
    const asked = await arrive(browser)
    await says({ allowUsernamePassword: false, multiFactors: [] })
    return asked
  }

  test("a password links nobody who has a passkey", async () => {
    await addPasskey()
    const browser = newBrowser()
    const end = await browser.post(await askedBefore(browser), byPassword)
    expect(end.response.status).toBe(422)
    expect(links()).toBe(0)
  })

  test("a password links nobody who has no passkey yet", async () => {
    const browser = newBrowser()
    const end = await browser.post(await askedBefore(browser), byPassword)
    expect(end.response.status).toBe(422)
    expect(links()).toBe(0)
  })

  test("no password is asked for, and it is said how to link", async () => {
    const { page } = await arrive(newBrowser())
    expect(page).not.toContain('type="password"')
    expect(page).toContain("This account requires another factor")
  })

  test("a session that has come no further is none to link", async () => {
    const browser = newBrowser()
    const stopped = await setUpByPassword(browser, authorizePath(client.id), "ada")
    expect(stopped.path).toContain("/ui/login/mfa/set")
    expect(sessions(await arrive(browser, choosing()))).toEqual([])
  })
})

test("where a factor is to be set up first, neither a password nor a session links", async () => {
  await says({ forceMfaLocalOnly: true })
  const browser = newBrowser()
  await browser.signIn(authorizePath(client.id), "ada")
  const asked = await arrive(browser, choosing())
  expect(sessions(asked)).toEqual([])
  const end = await browser.post(asked, byPassword)
  expect(end.response.status).toBe(422)
  expect(links()).toBe(0)
})

describe("a session links", () => {
  test("as it is, where nothing else is asked of its person", async () => {
    const browser = newBrowser()
    await browser.signIn(authorizePath(client.id), "ada")
    const asked = await arrive(browser, choosing())
    const [id = ""] = sessions(asked)
    const end = await browser.post(asked, { choice: "link", session: id })
    expect(answerOf(end)).toHaveProperty("code")
    expect(links()).toBe(1)
  })

  test("for half an hour: who sits there later may be somebody else", async () => {
    const browser = newBrowser()
    await browser.signIn(authorizePath(client.id), "ada")
    const early = await arrive(browser, choosing())
    const [id = ""] = sessions(early)
    provider.clock.advance(30 * 60_000)
    expect(sessions(await arrive(browser, choosing()))).toEqual([])
    const end = await browser.post(early, { choice: "link", session: id })
    expect(end.response.status).toBe(422)
    expect(links()).toBe(0)
  })
})
