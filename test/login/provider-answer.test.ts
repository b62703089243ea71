// Deviations of providers from OpenID Connect, as reported by users of other products.
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose"
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { createIdp, linkIdp, updateIdp } from "../../src/domain/idp/commands.ts"
import type { Options } from "../../src/domain/idp/index.ts"
import type { Settings } from "../../src/domain/idp/model.ts"
import { searchRefusals } from "../../src/domain/refusal/refusal.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { findProfile } from "../../src/domain/user-lookup/query.ts"
import { user } from "../../src/domain/user-model/model.ts"
import type { OutboundRequest, Outside } from "../../src/kernel/port/outbound.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  type VisitedPage,
} from "../oauth/provider.ts"
import { unreachableOutside } from "../support/outside.ts"

type Json = Readonly<Record<string, unknown>>

const issuer = "https://login.example.com"
const isTrusted = { isTrustedForAddresses: true }
const options: Options = {
  isLinkingAllowed: true,
  isCreationAllowed: true,
  isAutoCreation: true,
  isAutoUpdate: false,
  autoLinking: "off",
  ...isTrusted,
}
const settings: Settings = {
  kind: "oidc",
  issuer,
  clientId: "client",
  scopes: [],
  isIdTokenMapping: false,
  usePkce: true,
}
const ada = { given_name: "Ada", family_name: "Lovelace", email: "ada@example.com" }

let provider: Provider
let client: NewClient
let idpId: string
let requests: OutboundRequest[]
/** The nonces of the sign-ins by code. */
let nonces: Map<string, string>
/** The data that the provider publishes and sends. */
let publishedKeys: JWK[]
let keysPath: string
let signing: { readonly kid: string; readonly key: CryptoKey }
let idToken: () => Json
let tokenResponse: Json
/** The log messages. */
let warnings: string[]
const warn = (message: string) => void warnings.push(message)
let userInfo: () => Promise<unknown> | unknown
let discovery: Json

type Pair = Awaited<ReturnType<typeof generateKeyPair>>
let first: Pair
let second: Pair
beforeAll(async () => {
  first = await generateKeyPair("RS256")
  second = await generateKeyPair("RS256")
})

const jwkOf = async ({ publicKey }: Pair, kid: string): Promise<JWK> => ({
  ...(await exportJWK(publicKey)),
  kid,
  alg: "RS256",
  use: "sig",
})

const nowSeconds = () => Math.floor(provider.cx().clock.now() / 1000)
const signClaims = (claims: Json, { kid, key } = signing) =>
  new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid }).sign(key)

async function respondTo({ url, body = "" }: OutboundRequest): Promise<unknown> {
  const { pathname } = new URL(url)
  if (pathname === "/.well-known/openid-configuration") return discoveryDocument()
  if (pathname === keysPath) return { keys: publishedKeys }
  if (pathname === "/userinfo") return userInfo()
  if (pathname !== "/token") return undefined
  // LinkedIn rejects a client that sends a PKCE challenge.
  if (tokenResponse.refusesPkce && body.includes("code_verifier")) return undefined
  const { refusesPkce: _, ...more } = tokenResponse
  const nonce = nonces.get(new URLSearchParams(body).get("code") ?? "")
  const now = nowSeconds()
  const times = { iat: now, exp: now + 300 }
  const claims = { iss: issuer, aud: "client", sub: "ada-1", nonce, ...times, ...idToken() }
  return {
    access_token: "at",
    token_type: "Bearer",
    expires_in: 3600,
    id_token: await signClaims(claims),
    ...more,
  }
}

const discoveryDocument = () => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  userinfo_endpoint: `${issuer}/userinfo`,
  jwks_uri: `${issuer}${keysPath}`,
  response_types_supported: ["code"],
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: ["RS256"],
  ...discovery,
})

const outside: Outside = {
  ...unreachableOutside,
  send: async (request) => {
    requests.push(request)
    const answer = await respondTo(request)
    if (answer === undefined) return { status: 404, body: "{}" }
    return { status: 200, body: typeof answer === "string" ? answer : JSON.stringify(answer) }
  },
}

beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  requests = []
  warnings = []
  nonces = new Map()
  publishedKeys = [await jwkOf(first, "k1")]
  keysPath = "/keys"
  signing = { kid: "k1", key: first.privateKey }
  idToken = () => ({})
  tokenResponse = {}
  userInfo = () => ({ sub: "ada-1", ...ada })
  discovery = {}
  const wish = { name: "Acme", settings, options, secret: "s3cret" }
  idpId = (await createIdp(provider.cx(), undefined, wish)).id
  await linkIdp(provider.cx(), undefined, idpId)
})
afterEach(() => provider.close())

const changeProvider = (more: Partial<Options>, input: Settings = settings) =>
  updateIdp(provider.cx(), undefined, idpId, {
    name: "Acme",
    settings: input,
    options: { ...options, ...more },
  })

async function signIn(): Promise<VisitedPage> {
  const browser = browserOf({ send: (path, init) => provider.send(path, init, { outside, warn }) })
  const page = await browser.go(authorizePath(client.id))
  const href = /href="([^"]*externalidp[^"]*)"/.exec(page.page)?.[1] ?? ""
  const { searchParams } = new URL((await browser.go(href.replaceAll("&amp;", "&"))).path)
  const code = `code${nonces.size}`
  nonces.set(code, searchParams.get("nonce") ?? "")
  const state = searchParams.get("state") ?? ""
  return browser.go(`/idps/callback?${new URLSearchParams({ code, state })}`)
}

const expectSignedIn = async () => expect(responseOf(await signIn())).toHaveProperty("code")

/** Expects the sign-in to be rejected; returns the details that the console shows. */
async function expectRejection() {
  const end = await signIn()
  expect(end.response.status).toBe(400)
  const scope = { all: true, orgs: [], projects: [], grants: [] }
  const page = { offset: 0, limit: 1, asc: false }
  const [last] = searchRefusals(
    { ...provider.cx(), scope },
    { requestId: "", appId: "", page },
  ).rows
  expect(last?.description).toContain(`identity provider Acme (${idpId}): `)
  return last?.findings[0]
}

const profileOf = (userName: string) => {
  const cx = provider.cx()
  return findProfile(cx, findByLoginName(cx, userName) ?? "")
}

describe("an ID token without a nonce, as LinkedIn sends it,", () => {
  beforeEach(() => {
    idToken = () => ({ nonce: undefined })
    tokenResponse = { refusesPkce: true }
  })
  const withoutPkce: Settings = { ...settings, usePkce: false }

  test("is rejected, and the console shows the expected nonce", async () => {
    await changeProvider({}, withoutPkce)
    expect(await expectRejection()).toMatchObject({
      subject: "nonce",
      received: "",
      likelyCauseKey: "provider.nonce_missing",
      expected: [expect.any(String)],
    })
  })

  test("signs users in if the provider is configured for it", async () => {
    await changeProvider({ acceptMissingNonce: true }, withoutPkce)
    await expectSignedIn()
  })

  test("is rejected with a nonce of another sign-in", async () => {
    await changeProvider({ acceptMissingNonce: true }, withoutPkce)
    idToken = () => ({ nonce: "other" })
    expect(await expectRejection()).toMatchObject({
      subject: "nonce",
      received: "other",
      likelyCauseKey: "provider.nonce",
    })
  })
})

test("scopes as a list, as Twitch sends them, are accepted", async () => {
  tokenResponse = { scope: ["openid", "user:read:email"] }
  await expectSignedIn()
})

test.each([{ scope: [1] }, { scope: { openid: true } }])(
  "%j is not a list of scopes",
  async (more) => {
    tokenResponse = more
    expect((await signIn()).response.status).toBe(400)
  },
)

test("the log names errors without class names, which a build minifies", async () => {
  tokenResponse = { access_token: 1 }
  expect(await expectRejection()).toBeUndefined()
  tokenResponse = {}
  idToken = () => ({ sub: 1.5 })
  await expectRejection()
  expect(warnings).toEqual([
    'an identity provider failed: "response" body "access_token" property must be a string',
    expect.stringMatching(/^an identity provider failed: sub of the ID token is invalid: /),
  ])
})

describe("a user ID that is a number", () => {
  test("is accepted if it is exact, also with the same number in the profile", async () => {
    idToken = () => ({ sub: 4711 })
    userInfo = () => ({ sub: 4711, ...ada })
    await expectSignedIn()
    userInfo = () => ({ sub: "4711", ...ada })
    await expectSignedIn()
  })

  test.each([[2 ** 53], [1.5], [true], [["ada"]], [""], [null]])(
    "is rejected as %j, which has more than one spelling",
    async (sub) => {
      idToken = () => ({ sub })
      expect(await expectRejection()).toMatchObject({
        subject: "sub of the ID token",
        likelyCauseKey: "provider.sub",
      })
    },
  )

  test("is rejected if the profile has another number", async () => {
    idToken = () => ({ sub: 4711 })
    userInfo = () => ({ sub: 4712, ...ada })
    expect(await expectRejection()).toMatchObject({
      received: "4712",
      expected: ["4711"],
      likelyCauseKey: "provider.userinfo_sub",
    })
  })
})

test("a full name is split, so that the account can be created", async () => {
  userInfo = () => ({ sub: "ada-1", name: "Ada King Lovelace", email: "ada@example.com" })
  await expectSignedIn()
  expect(profileOf("ada@example.com")).toMatchObject({
    givenName: "Ada",
    familyName: "King Lovelace",
  })
})

test("a split name does not replace the profile's names", async () => {
  await changeProvider({ isAutoUpdate: true })
  userInfo = () => ({ sub: "ada-1", ...ada, name: "Ada Lovelace" })
  await expectSignedIn()
  userInfo = () => ({ sub: "ada-1", name: "Countess of Lovelace", email: "ada@example.com" })
  await expectSignedIn()
  expect(profileOf("ada@example.com")).toMatchObject({
    givenName: "Ada",
    familyName: "Lovelace",
    name: "Countess of Lovelace",
  })
})

describe("an ID token for two audiences", () => {
  const both = ["client", "https://api.example.com"]
  beforeEach(() => {
    idToken = () => ({ aud: both })
  })

  test("is rejected without an authorized party, and the console shows both", async () => {
    expect(await expectRejection()).toMatchObject({
      subject: "aud",
      received: JSON.stringify(both),
      expected: ["client"],
      likelyCauseKey: "provider.other_aud",
    })
  })

  test("signs users in if it names this client as the authorized party", async () => {
    idToken = () => ({ aud: both, azp: "client" })
    await expectSignedIn()
  })

  test("signs users in without one if the provider is configured for it", async () => {
    await changeProvider({ acceptOtherAudiences: true })
    await expectSignedIn()
  })

  test.each([
    [{ aud: ["other", "https://api.example.com"] }, "provider.aud"],
    [{ aud: both, azp: "other" }, "provider.azp"],
    [{ aud: [["client"]] }, "provider.aud"],
    [{ aud: undefined }, "provider.aud"],
  ])("is never accepted as %j", async (claims, likelyCauseKey) => {
    await changeProvider({ acceptOtherAudiences: true })
    idToken = () => claims
    expect(await expectRejection()).toMatchObject({ likelyCauseKey })
  })

  test("with this client as its only entry needs no setting", async () => {
    idToken = () => ({ aud: ["client"] })
    await expectSignedIn()
  })
})

describe("a profile that the provider signs", () => {
  const about = { sub: "ada-1", ...ada }
  test("is accepted, with or without issuer and audience", async () => {
    userInfo = () => signClaims({ ...about, iss: issuer, aud: "client" })
    await expectSignedIn()
    expect(profileOf("ada@example.com")).toMatchObject({ givenName: "Ada" })
    userInfo = () => signClaims(about)
    await expectSignedIn()
  })

  test.each([
    ["of another issuer", { iss: "https://evil.example.com" }, "provider.iss"],
    ["for another client", { iss: issuer, aud: ["other"] }, "provider.aud"],
    ["about another user", { sub: "eve" }, "provider.userinfo_sub"],
    ["that has expired", { exp: 1_700_000_000 }, "provider.exp"],
  ])("is rejected %s", async (_, claims, likelyCauseKey) => {
    userInfo = () => signClaims({ ...about, ...claims })
    expect(await expectRejection()).toMatchObject({ likelyCauseKey })
  })

  test("is rejected if another key has signed it", async () => {
    userInfo = () => signClaims(about, { kid: "k1", key: second.privateKey })
    expect(await expectRejection()).toMatchObject({
      subject: "signature of the UserInfo",
      likelyCauseKey: "provider.signature",
    })
  })

  test("is rejected unsigned, and with an algorithm that the provider doesn't list", async () => {
    const [header, claims] = ['{"alg":"none"}', JSON.stringify(about)].map((text) =>
      Buffer.from(text).toString("base64url"),
    )
    userInfo = () => `${header}.${claims}.`
    expect(await expectRejection()).toMatchObject({
      received: "none",
      likelyCauseKey: "provider.alg",
    })
    discovery = { userinfo_signing_alg_values_supported: ["ES256"] }
    provider.clock.advance(11 * 60_000)
    userInfo = () => signClaims(about)
    expect(await expectRejection()).toMatchObject({ received: "RS256", expected: ["ES256"] })
  })
})

test.each([
  [true, true],
  ["true", true],
  ["false", false],
  ["True", false],
  ["1", false],
  [1, false],
])("email_verified %j means %j", async (email_verified, isVerified) => {
  userInfo = () => ({ sub: "ada-1", ...ada, email_verified })
  await expectSignedIn()
  const cx = provider.cx()
  const id = findByLoginName(cx, "ada@example.com") ?? ""
  expect(cx.store.state(cx, user, id)).toMatchObject({ email: { verified: isVerified } })
})

describe("keys that the provider replaces", () => {
  const readings = () => requests.filter(({ url }) => /keys/.test(new URL(url).pathname)).length
  beforeEach(expectSignedIn)

  test("are loaded immediately for an unknown key ID", async () => {
    publishedKeys = [await jwkOf(second, "k2")]
    signing = { kid: "k2", key: second.privateKey }
    await expectSignedIn()
  })

  test("are loaded immediately under the same key ID", async () => {
    publishedKeys = [await jwkOf(second, "k1")]
    signing = { kid: "k1", key: second.privateKey }
    await expectSignedIn()
  })

  test("are found at a changed URL", async () => {
    keysPath = "/new/keys"
    publishedKeys = [await jwkOf(second, "k2")]
    signing = { kid: "k2", key: second.privateKey }
    await expectSignedIn()
  })

  test("are loaded at most twice a minute for tokens with unknown signatures", async () => {
    signing = { kid: "k9", key: second.privateKey }
    for (let count = 0; count < 4; count++) expect((await signIn()).response.status).toBe(400)
    expect(readings()).toBe(2)
    provider.clock.advance(29_000)
    await signIn()
    expect(readings()).toBe(2)
    publishedKeys = [await jwkOf(second, "k9")]
    provider.clock.advance(2000)
    await expectSignedIn()
    expect(readings()).toBe(3)
  })

  test("serve every sign-in that waits for them", async () => {
    publishedKeys = [await jwkOf(second, "k2")]
    signing = { kid: "k2", key: second.privateKey }
    const ends = await Promise.all([signIn(), signIn(), signIn()])
    expect(ends.map((end) => Object.hasOwn(responseOf(end), "code"))).toEqual([true, true, true])
    expect(readings()).toBe(2)
  })
})
