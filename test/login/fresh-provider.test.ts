// A fresh sign-in that an application requires, for users of an identity provider.
import { decodeJwt } from "jose"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createIdp, linkIdp, updateIdp } from "../../src/domain/idp/commands.ts"
import type { Options } from "../../src/domain/idp/index.ts"
import type { Settings } from "../../src/domain/idp/model.ts"
import { forwardedParameters } from "../../src/domain/idp/upstream/forward.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  findApiCaller,
  type NewClient,
  openProvider,
  type Provider,
  password,
  responseOf,
  sendTokenRequest,
  type VisitedPage,
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
  idpId = (await createIdp(provider.cx(), undefined, idpInput())).id
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
const idpInput = (changes: Partial<Options> = {}) => ({
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
const setOptions = (changes: Partial<Options>) =>
  updateIdp(provider.cx(), undefined, idpId, idpInput(changes))

const hour = 3_600_000
const now = () => provider.clock.now()
const seconds = (time: number) => Math.floor(time / 1000)

/** The provider states that the user signed in `age` ago; undefined: it states no time. */
const setSignInAge = (age: number | undefined) => {
  upstream.overrides = age === undefined ? {} : { idToken: { auth_time: seconds(now() - age) } }
}

const newBrowser = () =>
  browserOf({ send: (path, init) => provider.send(path, init, { outside: upstream.outside }) })
type Browser = ReturnType<typeof newBrowser>
type RequestParameters = Readonly<Record<string, string>>

/** The provider's URL that the button redirects to. */
async function chooseProvider(browser: Browser, asking: RequestParameters): Promise<string> {
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

/** Signs in through the provider, by default as a user without another factor. */
async function signIn(
  asking: RequestParameters = {},
  { browser = newBrowser(), person = newcomer }: { browser?: Browser; person?: object } = {},
): Promise<VisitedPage> {
  const authUrl = await chooseProvider(browser, asking)
  provider.clock.advance(1)
  return browser.go(upstream.signIn(authUrl, { ...person }))
}

/** Adds a user with a password, linked by the address that both sides have verified. */
async function addBen(): Promise<object> {
  await provider.addPerson("ben")
  return { ...newcomer, sub: "ben-1", preferred_username: "ben", email: "ben@example.org" }
}

async function redeemTokens(end: VisitedPage) {
  const { code = "" } = responseOf(end)
  const { answer } = await sendTokenRequest(
    provider,
    codeFields(code),
    `${client.id}:${client.secret}`,
  )
  return answer
}
const claimsOf = async (end: VisitedPage) => decodeJwt(String((await redeemTokens(end)).id_token))

describe("the application's requirement is forwarded:", () => {
  const forwarded = async (asking: RequestParameters) => {
    const { searchParams } = new URL(await chooseProvider(newBrowser(), asking))
    const names = ["prompt", "max_age", "login_hint", "acr_values"] as const
    const pairs = names.map((name) => [name, searchParams.get(name)] as const)
    return Object.fromEntries(pairs.filter(([, value]) => value !== null))
  }

  test.each<readonly [string, RequestParameters, RequestParameters]>([
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

  test("acr_values unchanged, if configured", async () => {
    await setOptions({ forwardAcrValues: true })
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
] as const)("a provider of kind %s gets for %j: %j", (kind, requested, expected) => {
  const client = { clientId: "client", scopes: [], tenant: "common", emailVerified: false }
  const of = { settings: { ...client, kind, issuer: upstreamIssuer }, options: idpInput().options }
  expect(forwardedParameters(of, requested)).toEqual(expected)
})

describe("auth_time", () => {
  test("is the time that the provider states, and amr lists the provider", async () => {
    setSignInAge(3 * hour)
    const claims = await claimsOf(await signIn())
    expect(claims).toMatchObject({ auth_time: seconds(now() - 3 * hour), amr: ["fed"] })
  })

  test("is never later than now", async () => {
    setSignInAge(-30_000)
    expect(await claimsOf(await signIn())).toMatchObject({ auth_time: seconds(now()) })
  })

  test.each([
    ["states none", undefined],
    ["states one in the future", -hour],
  ])("is the time of the response if the provider %s", async (_, age) => {
    setSignInAge(age)
    expect(await claimsOf(await signIn())).toMatchObject({ auth_time: seconds(now()) })
  })

  test("is the time of the response, however long the account selection takes", async () => {
    await setOptions({ isAutoCreation: false })
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

describe.each<readonly [string, RequestParameters]>([
  ["prompt=login", { prompt: "login" }],
  ["max_age=0", { max_age: "0" }],
  ["max_age=3600", { max_age: "3600" }],
])("%s", (_, asking) => {
  test("is satisfied by a sign-in that the provider states", async () => {
    setSignInAge(20_000)
    const claims = await claimsOf(await signIn(asking))
    expect(claims).toMatchObject({ auth_time: seconds(now() - 20_000) })
  })

  test.each([
    ["three hours old", 3 * hour],
    ["without a time", undefined],
  ])(
    "fails after one attempt for a user without another factor, by a response %s",
    async (__, age) => {
      setSignInAge(age)
      const answer = responseOf(await signIn(asking))
      expect(answer.error).toBe("login_required")
      expect(answer.error_description).toContain(
        "the identity provider Acm? did not sign in the user again",
      )
    },
  )

  test.each([
    ["three hours old", 3 * hour],
    ["without a time", undefined],
  ])("requires the user's local password, for a response %s", async (__, age) => {
    setSignInAge(age)
    const browser = newBrowser()
    const at = await signIn(asking, { browser, person: await addBen() })
    expect(at.path).toContain("/ui/login/password")
    // The provider would return the same response again.
    expect(at.page).not.toContain("externalidp")
    provider.clock.advance(5000)
    const end = await browser.post(at, { loginName: "ben", password })
    expect(await claimsOf(end)).toMatchObject({ auth_time: seconds(now()) })
  })

  test("is satisfied by a response without a time if that is accepted as fresh", async () => {
    await setOptions({ acceptAsFresh: true })
    setSignInAge(undefined)
    expect(await claimsOf(await signIn(asking))).toMatchObject({ auth_time: seconds(now()) })
  })

  test("is not satisfied by an old time, even if missing ones are accepted", async () => {
    await setOptions({ acceptAsFresh: true })
    setSignInAge(3 * hour)
    expect(responseOf(await signIn(asking)).error).toBe("login_required")
  })
})

test("max_age covered by the provider's own session needs nothing else", async () => {
  setSignInAge(3 * hour)
  const claims = await claimsOf(await signIn({ max_age: String(4 * 3600) }))
  expect(claims.auth_time).toBe(seconds(now() - 3 * hour))
})

test("a sign-in from a minute ago satisfies no request that didn't start it", async () => {
  setSignInAge(20_000)
  const browser = newBrowser()
  expect(responseOf(await signIn({}, { browser }))).toHaveProperty("code")
  const { path } = await browser.go(authorizePath(client.id, { prompt: "login" }))
  expect(path).toContain("/ui/login/password")
})

test("prompt=none and max_age: a response without a time is not a fresh sign-in", async () => {
  setSignInAge(undefined)
  const browser = newBrowser()
  expect(responseOf(await signIn({}, { browser }))).toHaveProperty("code")
  const silent = (more: RequestParameters) =>
    browser.go(authorizePath(client.id, { prompt: "none", ...more }))
  expect(responseOf(await silent({}))).toHaveProperty("code")
  expect(responseOf(await silent({ max_age: "3600" })).error).toBe("login_required")
})

test("the 15-minute limit for account changes uses the same time", async () => {
  const scope = "openid urn:core:iam:org:project:id:core:aud"
  const freshOf = async () => {
    const browser = newBrowser()
    const consent = await signIn({ scope }, { browser })
    const { access_token: token } = await redeemTokens(
      await browser.post(consent, { answer: "allow" }),
    )
    const caller = await findApiCaller(provider, String(token))
    return caller.kind === "user" ? caller.authTime : undefined
  }
  setSignInAge(undefined)
  expect(await freshOf()).toBe(0)
  setSignInAge(3 * hour)
  expect(await freshOf()).toBe(seconds(now() - 3 * hour) * 1000)
})
