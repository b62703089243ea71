// What providers send beside the letter of OpenID Connect, as bug reports of other products show.
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose"
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { addIdp, changeIdp, linkIdp } from "../../src/domain/idp/commands.ts"
import type { Options } from "../../src/domain/idp/index.ts"
import type { Settings } from "../../src/domain/idp/model.ts"
import { searchRefusals } from "../../src/domain/refusal/refusal.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { profile } from "../../src/domain/user-lookup/query.ts"
import { user } from "../../src/domain/user-model/model.ts"
import type { OutboundRequest, Outside } from "../../src/kernel/port/outbound.ts"
import {
  answerOf,
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  type Visited,
} from "../oauth/provider.ts"
import { nowhere } from "../support/outside.ts"

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
let asked: OutboundRequest[]
/** Of the sign-ins, by their codes. */
let nonces: Map<string, string>
/** What the provider publishes and sends. */
let published: JWK[]
let keysPath: string
let signing: { readonly kid: string; readonly key: CryptoKey }
let idToken: () => Json
let tokenResponse: Json
/** What the log has. */
let warned: string[]
const warn = (message: string) => void warned.push(message)
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
const signed = (claims: Json, { kid, key } = signing) =>
  new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid }).sign(key)

async function answerTo({ url, body = "" }: OutboundRequest): Promise<unknown> {
  const { pathname } = new URL(url)
  if (pathname === "/.well-known/openid-configuration") return discoveryNow()
  if (pathname === keysPath) return { keys: published }
  if (pathname === "/userinfo") return userInfo()
  if (pathname !== "/token") return undefined
  // LinkedIn refuses a client that proves a PKCE challenge.
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
    id_token: await signed(claims),
    ...more,
  }
}

const discoveryNow = () => ({
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
  ...nowhere,
  send: async (request) => {
    asked.push(request)
    const answer = await answerTo(request)
    if (answer === undefined) return { status: 404, body: "{}" }
    return { status: 200, body: typeof answer === "string" ? answer : JSON.stringify(answer) }
  },
}

beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  asked = []
  warned = []
  nonces = new Map()
  published = [await jwkOf(first, "k1")]
  keysPath = "/keys"
  signing = { kid: "k1", key: first.privateKey }
  idToken = () => ({})
  tokenResponse = {}
  userInfo = () => ({ sub: "ada-1", ...ada })
  discovery = {}
  const wish = { name: "Acme", settings, options, secret: "s3cret" }
  idpId = (await addIdp(provider.cx(), undefined, wish)).id
  await linkIdp(provider.cx(), undefined, idpId)
})
afterEach(() => provider.close())

const change = (more: Partial<Options>, given: Settings = settings) =>
  changeIdp(provider.cx(), undefined, idpId, {
    name: "Acme",
    settings: given,
    options: { ...options, ...more },
  })

async function signIn(): Promise<Visited> {
  const browser = browserOf({ send: (path, init) => provider.send(path, init, { outside, warn }) })
  const page = await browser.go(authorizePath(client.id))
  const href = /href="([^"]*externalidp[^"]*)"/.exec(page.page)?.[1] ?? ""
  const { searchParams } = new URL((await browser.go(href.replaceAll("&amp;", "&"))).path)
  const code = `code${nonces.size}`
  nonces.set(code, searchParams.get("nonce") ?? "")
  const state = searchParams.get("state") ?? ""
  return browser.go(`/idps/callback?${new URLSearchParams({ code, state })}`)
}

const signedIn = async () => expect(answerOf(await signIn())).toHaveProperty("code")

/** The sign-in is refused; returns what the console shows of it. */
async function refusal() {
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

const known = (userName: string) => {
  const cx = provider.cx()
  return profile(cx, findByLoginName(cx, userName) ?? "")
}

describe("an ID token without a nonce, as LinkedIn sends it,", () => {
  beforeEach(() => {
    idToken = () => ({ nonce: undefined })
    tokenResponse = { refusesPkce: true }
  })
  const withoutPkce: Settings = { ...settings, usePkce: false }

  test("is refused, and the console shows the nonce that was expected", async () => {
    await change({}, withoutPkce)
    expect(await refusal()).toMatchObject({
      subject: "nonce",
      received: "",
      likelyCauseKey: "provider.nonce_missing",
      expected: [expect.any(String)],
    })
  })

  test("signs people in where the provider is set up so", async () => {
    await change({ acceptMissingNonce: true }, withoutPkce)
    await signedIn()
  })

  test("does not let in a nonce of another sign-in", async () => {
    await change({ acceptMissingNonce: true }, withoutPkce)
    idToken = () => ({ nonce: "other" })
    expect(await refusal()).toMatchObject({
      subject: "nonce",
      received: "other",
      likelyCauseKey: "provider.nonce",
    })
  })
})

test("scopes as a list, as Twitch sends them, are read", async () => {
  tokenResponse = { scope: ["openid", "user:read:email"] }
  await signedIn()
})

test.each([{ scope: [1] }, { scope: { openid: true } }])(
  "%j is no list of scopes",
  async (more) => {
    tokenResponse = more
    expect((await signIn()).response.status).toBe(400)
  },
)

test("the log has what is wrong without names of classes, which a build shortens", async () => {
  tokenResponse = { access_token: 1 }
  expect(await refusal()).toBeUndefined()
  tokenResponse = {}
  idToken = () => ({ sub: 1.5 })
  await refusal()
  expect(warned).toEqual([
    'an identity provider failed: "response" body "access_token" property must be a string',
    expect.stringMatching(/^an identity provider failed: sub of the ID token is not accepted: /),
  ])
})

describe("a user ID that is a number", () => {
  test("is read where it is exact, also beside the same number in the profile", async () => {
    idToken = () => ({ sub: 4711 })
    userInfo = () => ({ sub: 4711, ...ada })
    await signedIn()
    userInfo = () => ({ sub: "4711", ...ada })
    await signedIn()
  })

  test.each([[2 ** 53], [1.5], [true], [["ada"]], [""], [null]])(
    "is refused as %j, which does not have one spelling",
    async (sub) => {
      idToken = () => ({ sub })
      expect(await refusal()).toMatchObject({
        subject: "sub of the ID token",
        likelyCauseKey: "provider.sub",
      })
    },
  )

  test("is refused where the profile is about another number", async () => {
    idToken = () => ({ sub: 4711 })
    userInfo = () => ({ sub: 4712, ...ada })
    expect(await refusal()).toMatchObject({
      received: "4712",
      expected: ["4711"],
      likelyCauseKey: "provider.userinfo_sub",
    })
  })
})

test("a name without its parts is divided, so that the account can be created", async () => {
  userInfo = () => ({ sub: "ada-1", name: "Ada King Lovelace", email: "ada@example.com" })
  await signedIn()
  expect(known("ada@example.com")).toMatchObject({ givenName: "Ada", familyName: "King Lovelace" })
})

test("a name that is divided does not replace what the profile has", async () => {
  await change({ isAutoUpdate: true })
  userInfo = () => ({ sub: "ada-1", ...ada, name: "Ada Lovelace" })
  await signedIn()
  userInfo = () => ({ sub: "ada-1", name: "Countess of Lovelace", email: "ada@example.com" })
  await signedIn()
  expect(known("ada@example.com")).toMatchObject({
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

  test("is refused without an authorized party, and the console shows both", async () => {
    expect(await refusal()).toMatchObject({
      subject: "aud",
      received: JSON.stringify(both),
      expected: ["client"],
      likelyCauseKey: "provider.other_aud",
    })
  })

  test("signs people in where it names this client as the authorized party", async () => {
    idToken = () => ({ aud: both, azp: "client" })
    await signedIn()
  })

  test("signs people in without one where the provider is set up so", async () => {
    await change({ acceptOtherAudiences: true })
    await signedIn()
  })

  test.each([
    [{ aud: ["other", "https://api.example.com"] }, "provider.aud"],
    [{ aud: both, azp: "other" }, "provider.azp"],
    [{ aud: [["client"]] }, "provider.aud"],
    [{ aud: undefined }, "provider.aud"],
  ])("is never accepted as %j", async (claims, likelyCauseKey) => {
    await change({ acceptOtherAudiences: true })
    idToken = () => claims
    expect(await refusal()).toMatchObject({ likelyCauseKey })
  })

  test("in a list of this client alone needs no switch", async () => {
    idToken = () => ({ aud: ["client"] })
    await signedIn()
  })
})

describe("a profile that the provider signs", () => {
  const about = { sub: "ada-1", ...ada }
  test("is read, with its issuer and audience or without", async () => {
    userInfo = () => signed({ ...about, iss: issuer, aud: "client" })
    await signedIn()
    expect(known("ada@example.com")).toMatchObject({ givenName: "Ada" })
    userInfo = () => signed(about)
    await signedIn()
  })

  test.each([
    ["of another issuer", { iss: "https://evil.example.com" }, "provider.iss"],
    ["for another client", { iss: issuer, aud: ["other"] }, "provider.aud"],
    ["about another user", { sub: "eve" }, "provider.userinfo_sub"],
    ["that has expired", { exp: 1_700_000_000 }, "provider.exp"],
  ])("is refused %s", async (_, claims, likelyCauseKey) => {
    userInfo = () => signed({ ...about, ...claims })
    expect(await refusal()).toMatchObject({ likelyCauseKey })
  })

  test("is refused where another key has signed it", async () => {
    userInfo = () => signed(about, { kid: "k1", key: second.privateKey })
    expect(await refusal()).toMatchObject({
      subject: "signature of the UserInfo",
      likelyCauseKey: "provider.signature",
    })
  })

  test("is refused unsigned, and signed by another algorithm than the provider lists", async () => {
    const [header, claims] = ['{"alg":"none"}', JSON.stringify(about)].map((text) =>
      Buffer.from(text).toString("base64url"),
    )
    userInfo = () => `${header}.${claims}.`
    expect(await refusal()).toMatchObject({ received: "none", likelyCauseKey: "provider.alg" })
    discovery = { userinfo_signing_alg_values_supported: ["ES256"] }
    provider.clock.advance(11 * 60_000)
    userInfo = () => signed(about)
    expect(await refusal()).toMatchObject({ received: "RS256", expected: ["ES256"] })
  })
})

test.each([
  [true, true],
  ["true", true],
  ["false", false],
  ["True", false],
  ["1", false],
  [1, false],
])("email_verified as %j is %j", async (email_verified, isVerified) => {
  userInfo = () => ({ sub: "ada-1", ...ada, email_verified })
  await signedIn()
  const cx = provider.cx()
  const id = findByLoginName(cx, "ada@example.com") ?? ""
  expect(cx.store.state(cx, user, id)).toMatchObject({ email: { verified: isVerified } })
})

describe("keys that the provider replaces", () => {
  const readings = () => asked.filter(({ url }) => /keys/.test(new URL(url).pathname)).length
  beforeEach(signedIn)

  test("are read at once for a key ID that is new", async () => {
    published = [await jwkOf(second, "k2")]
    signing = { kid: "k2", key: second.privateKey }
    await signedIn()
  })

  test("are read at once under the same key ID", async () => {
    published = [await jwkOf(second, "k1")]
    signing = { kid: "k1", key: second.privateKey }
    await signedIn()
  })

  test("are found at another address", async () => {
    keysPath = "/new/keys"
    published = [await jwkOf(second, "k2")]
    signing = { kid: "k2", key: second.privateKey }
    await signedIn()
  })

  test("are read twice a minute at most for tokens that no key has signed", async () => {
    signing = { kid: "k9", key: second.privateKey }
    for (let count = 0; count < 4; count++) expect((await signIn()).response.status).toBe(400)
    expect(readings()).toBe(2)
    provider.clock.advance(29_000)
    await signIn()
    expect(readings()).toBe(2)
    published = [await jwkOf(second, "k9")]
    provider.clock.advance(2000)
    await signedIn()
    expect(readings()).toBe(3)
  })

  test("let in everybody who signs in while they are read", async () => {
    published = [await jwkOf(second, "k2")]
    signing = { kid: "k2", key: second.privateKey }
    const ends = await Promise.all([signIn(), signIn(), signIn()])
    expect(ends.map((end) => Object.hasOwn(answerOf(end), "code"))).toEqual([true, true, true])
    expect(readings()).toBe(2)
  })
})
