// A fresh sign-in that an application requires of somebody who comes through a provider.
import { decodeJwt } from "jose"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { addIdp, changeIdp, linkIdp } from "../../src/domain/idp/commands.ts"
import type { Options } from "../../src/domain/idp/index.ts"
import type { Settings } from "../../src/domain/idp/model.ts"
import { forwardedParameters } from "../../src/domain/idp/upstream/forward.ts"
import {
  answerOf,
  apiCallerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  password,
  type Visited,
} from "../oauth/provider.ts"
import { openUpstream, type Upstream, upstreamIssuer } from "../support/upstream.ts"

let provider: Provider
let client: NewClient
let upstream: Upstream
let idpId: string
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  upstream = await openUpstream()
  idpId = (await addIdp(provider.cx(), undefined, wish())).id
  await linkIdp(provider.cx(), undefined, idpId)
})
afterEach(() => provider.close())

const settings: Settings = {
  kind: "oidc",
  issuer: upstreamIssuer,
  clientId: "client",
  scopes: [],
  isIdTokenMapping: false,
  usePkce: true,
}
const wish = (changes: Partial<Options> = {}) => ({
  name: "Acmé",
  settings,
  options: {
    isLinkingAllowed: true,
    isCreationAllowed: true,
    isAutoCreation: true,
    isAutoUpdate: false,
    isTrustedForAddresses: true,
    ...({ autoLinking: "email", ...changes } as const),
  },
  secret: "s3cret",
})
const optionsAre = (changes: Partial<Options>) =>
  changeIdp(provider.cx(), undefined, idpId, wish(changes))

const hour = 3_600_000
const now = () => provider.clock.now()
const seconds = (time: number) => Math.floor(time / 1000)

/** The provider states that the user signed in there so long ago; undefined: states nothing. */
const signedInAgo = (age: number | undefined) => {
  upstream.lies = age === undefined ? {} : { idToken: { auth_time: seconds(now() - age) } }
}

const newBrowser = () =>
  browserOf({ send: (path, init) => provider.send(path, init, { outside: upstream.outside }) })
type Browser = ReturnType<typeof newBrowser>
type Asking = Readonly<Record<string, string>>

/** The address at the provider that the button leads to. */
async function away(browser: Browser, asking: Asking): Promise<string> {
  const first = await browser.go(authorizePath(client.id, asking))
  const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1] ?? ""
  return (await browser.go(href.replaceAll("&amp;", "&"))).path
}

const newcomer = {
  sub: "ada-1",
  preferred_username: "ada",
  given_name: "Ada",
  family_name: "Lovelace",
  email: "ada@example.com",
  email_verified: true,
}

/** Signs in through the provider; without a word somebody who has nothing else here. */
async function signIn(
  asking: Asking = {},
  { browser = newBrowser(), person = newcomer }: { browser?: Browser; person?: object } = {},
): Promise<Visited> {
  const authUrl = await away(browser, asking)
  provider.clock.advance(1)
  return browser.go(upstream.signIn(authUrl, { ...person }))
}

/** Somebody who has a password here, too, by the address that both sides have verified. */
async function addBen(): Promise<object> {
  await provider.addPerson("ben")
  return { ...newcomer, sub: "ben-1", preferred_username: "ben", email: "ben@example.org" }
}

async function tokensOf(end: Visited) {
  const { code = "" } = answerOf(end)
  const { answer } = await askToken(provider, codeFields(code), `${client.id}:${client.secret}`)
  return answer
}
const claimsOf = async (end: Visited) => decodeJwt(String((await tokensOf(end)).id_token))

describe("what an application requires is sent on:", () => {
  const forwarded = async (asking: Asking) => {
    const { searchParams } = new URL(await away(newBrowser(), asking))
    const names = ["prompt", "max_age", "login_hint", "acr_values"] as const
    const pairs = names.map((name) => [name, searchParams.get(name)] as const)
    return Object.fromEntries(pairs.filter(([, value]) => value !== null))
  }

  test.each<readonly [string, Asking, Asking]>([
    ["nothing where it requires nothing", {}, {}],
    [
      "prompt=login, with a max_age for which auth_time is returned",
      { prompt: "login" },
      { prompt: "login", max_age: "300" },
    ],
    [
      "both as they were sent",
      { prompt: "login", max_age: "9" },
      { prompt: "login", max_age: "9" },
    ],
    ["no other prompt", { prompt: "consent select_account" }, {}],
    ["max_age", { max_age: "3600" }, { max_age: "3600" }],
    ["max_age=0 as prompt=login", { max_age: "0" }, { max_age: "300", prompt: "login" }],
    ["login_hint", { login_hint: "ada@example.com" }, { login_hint: "ada@example.com" }],
    ["acr_values only where that is configured", { acr_values: "gold 2" }, {}],
  ])("%s", async (_, asking, expected) => {
    expect(await forwarded(asking)).toEqual(expected)
  })

  test("acr_values as they were sent, where that is configured", async () => {
    await optionsAre({ forwardAcrValues: true })
    expect(await forwarded({ acr_values: "gold 2" })).toEqual({ acr_values: "gold 2" })
  })
})

test.each([
  ["azure", { maxAgeSeconds: 3600 }, { prompt: "login" }],
  ["azure", { maxAgeSeconds: 0 }, { prompt: "login" }],
  ["azure", { loginHint: "ada" }, { login_hint: "ada" }],
  ["gitlab", { maxAgeSeconds: 3600 }, { max_age: "3600" }],
  ["google", { maxAgeSeconds: 3600 }, { max_age: "3600" }],
  ["google", { maxAgeSeconds: 0 }, { max_age: "0" }],
  ["github", { maxAgeSeconds: 0, mustSignIn: true }, {}],
] as const)("a provider of kind %s is sent for %j: %j", (kind, requested, expected) => {
  const client = { clientId: "client", scopes: [], tenant: "common", emailVerified: false }
  const of = { settings: { ...client, kind, issuer: upstreamIssuer }, options: wish().options }
  expect(forwardedParameters(of, requested)).toEqual(expected)
})

describe("auth_time", () => {
  test("is the time that the provider states, and amr says that there was one", async () => {
    signedInAgo(3 * hour)
    const claims = await claimsOf(await signIn())
    expect(claims).toMatchObject({ auth_time: seconds(now() - 3 * hour), amr: ["fed"] })
  })

  test("is never later than now", async () => {
    signedInAgo(-30_000)
    expect(await claimsOf(await signIn())).toMatchObject({ auth_time: seconds(now()) })
  })

  test.each([
    ["states none", undefined],
    ["states one in the future", -hour],
  ])("is that of the answer where the provider %s", async (_, age) => {
    signedInAgo(age)
    expect(await claimsOf(await signIn())).toMatchObject({ auth_time: seconds(now()) })
  })

  test("is that of the answer, however long somebody then chooses their account", async () => {
    await optionsAre({ isAutoCreation: false })
    const browser = newBrowser()
    const asked = await signIn({}, { browser })
    const answered = now()
    provider.clock.advance(300_000)
    const end = await browser.post(asked, {
      choice: "create",
      givenName: "Ada",
      familyName: "Lovelace",
      email: "ada@example.com",
      userName: "ada",
    })
    expect(await claimsOf(end)).toMatchObject({ auth_time: seconds(answered) })
  })
})

describe.each<readonly [string, Asking]>([
  ["prompt=login", { prompt: "login" }],
  ["max_age=0", { max_age: "0" }],
  ["max_age=3600", { max_age: "3600" }],
])("%s", (_, asking) => {
  test("is satisfied by a sign-in that the provider states", async () => {
    signedInAgo(20_000)
    const claims = await claimsOf(await signIn(asking))
    expect(claims).toMatchObject({ auth_time: seconds(now() - 20_000) })
  })

  test.each([
    ["three hours old", 3 * hour],
    ["without a time", undefined],
  ])("ends after one attempt for who has nothing here, by an answer %s", async (__, age) => {
    signedInAgo(age)
    const answer = answerOf(await signIn(asking))
    expect(answer.error).toBe("login_required")
    expect(answer.error_description).toContain(
      "the identity provider Acm? did not sign the user in again",
    )
  })

  test.each([
    ["three hours old", 3 * hour],
    ["without a time", undefined],
  ])("asks for the password that somebody has here, by an answer %s", async (__, age) => {
    signedInAgo(age)
    const browser = newBrowser()
    const at = await signIn(asking, { browser, person: await addBen() })
    expect(at.path).toContain("/ui/login/password")
    // The provider would only answer the same once more.
    expect(at.page).not.toContain("externalidp")
    provider.clock.advance(5000)
    const end = await browser.post(at, { loginName: "ben", password })
    expect(await claimsOf(end)).toMatchObject({ auth_time: seconds(now()) })
  })

  test("is satisfied by an answer without a time, where it is accepted as fresh", async () => {
    await optionsAre({ acceptAsFresh: true })
    signedInAgo(undefined)
    expect(await claimsOf(await signIn(asking))).toMatchObject({ auth_time: seconds(now()) })
  })

  test("is not satisfied by a time that is too old, also where others are accepted", async () => {
    await optionsAre({ acceptAsFresh: true })
    signedInAgo(3 * hour)
    expect(answerOf(await signIn(asking)).error).toBe("login_required")
  })
})

test("max_age that the provider's own session fits needs nothing else", async () => {
  signedInAgo(3 * hour)
  const claims = await claimsOf(await signIn({ max_age: String(4 * 3600) }))
  expect(claims.auth_time).toBe(seconds(now() - 3 * hour))
})

test("a sign-in of a minute before satisfies no request that has not led to it", async () => {
  signedInAgo(20_000)
  const browser = newBrowser()
  expect(answerOf(await signIn({}, { browser }))).toHaveProperty("code")
  const { path } = await browser.go(authorizePath(client.id, { prompt: "login" }))
  expect(path).toContain("/ui/login/password")
})

test("prompt=none and max_age: an answer without a time is no fresh sign-in", async () => {
  signedInAgo(undefined)
  const browser = newBrowser()
  expect(answerOf(await signIn({}, { browser }))).toHaveProperty("code")
  const silent = (more: Asking) => browser.go(authorizePath(client.id, { prompt: "none", ...more }))
  expect(answerOf(await silent({}))).toHaveProperty("code")
  expect(answerOf(await silent({ max_age: "3600" })).error).toBe("login_required")
})

test("our own rule of a quarter of an hour takes the same time", async () => {
  const scope = "openid urn:core:iam:org:project:id:core:aud"
  const freshOf = async () => {
    const browser = newBrowser()
    const consent = await signIn({ scope }, { browser })
    const { access_token: token } = await tokensOf(await browser.post(consent, { answer: "allow" }))
    const caller = await apiCallerOf(provider, String(token))
    return caller.kind === "user" ? caller.authTime : undefined
  }
  signedInAgo(undefined)
  expect(await freshOf()).toBe(0)
  signedInAgo(3 * hour)
  expect(await freshOf()).toBe(seconds(now() - 3 * hour) * 1000)
})
