// Vendors, each simulated with its documented deviations.
import { createPublicKey, generateKeyPairSync } from "node:crypto"
import { exportJWK, generateKeyPair, type JWK, jwtVerify, SignJWT } from "jose"
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { createIdp, linkIdp } from "../../src/domain/idp/commands.ts"
import type { Options } from "../../src/domain/idp/index.ts"
import type { Settings } from "../../src/domain/idp/model.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { findProfile } from "../../src/domain/user-lookup/query.ts"
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
type Answer = (request: OutboundRequest) => Promise<unknown> | unknown

let provider: Provider
let client: NewClient
/** The responders by URL; other URLs are unavailable. */
let responders: Record<string, Answer>
/** The error statuses by URL. */
let statuses: Record<string, number>
let requests: OutboundRequest[]
const outside: Outside = {
  ...unreachableOutside,
  send: async (request) => {
    requests.push(request)
    const answer = await responders[request.url]?.(request)
    const status = statuses[request.url]
    if (status !== undefined) return { status, body: '{"message":"not accessible by integration"}' }
    if (answer === undefined) return { status: 404, body: "" }
    return { status: 200, body: typeof answer === "string" ? answer : JSON.stringify(answer) }
  },
}

let rsa: Awaited<ReturnType<typeof generateKeyPair>>
let jwk: JWK
beforeAll(async () => {
  rsa = await generateKeyPair("RS256")
  jwk = { ...(await exportJWK(rsa.publicKey)), kid: "k1", alg: "RS256", use: "sig" }
})
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  responders = {}
  statuses = {}
  requests = []
})
afterEach(() => provider.close())

const options: Options = {
  isLinkingAllowed: true,
  isCreationAllowed: true,
  isAutoCreation: true,
  isAutoUpdate: false,
  autoLinking: "email",
}

async function addProvider(settings: Settings, secret = "s3cret"): Promise<void> {
  const wish = { name: "Vendor", settings, options, secret }
  const { id } = await createIdp(provider.cx(), undefined, wish)
  await linkIdp(provider.cx(), undefined, id)
}

const newBrowser = () => browserOf({ send: (path, init) => provider.send(path, init, { outside }) })
type Browser = ReturnType<typeof newBrowser>

/** The vendor's URL that a browser is redirected to. */
async function goToVendor(browser: Browser): Promise<URL> {
  const first = await browser.go(authorizePath(client.id))
  const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1] ?? ""
  return new URL((await browser.go(href.replaceAll("&amp;", "&"))).path)
}

/** The callback, by its URL. */
const returnFrom = (browser: Browser, there: URL): Promise<VisitedPage> => {
  const state = there.searchParams.get("state") ?? ""
  return browser.go(`/idps/callback?${new URLSearchParams({ code: "code", state })}`)
}

async function signIn(): Promise<VisitedPage> {
  const browser = newBrowser()
  return returnFrom(browser, await goToVendor(browser))
}

const profileOf = (userName: string) => {
  const cx = provider.cx()
  return findProfile(cx, findByLoginName(cx, userName) ?? "")
}

const discoveryDocument = (issuer: string, more: Json): Json => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/keys`,
  response_types_supported: ["code"],
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: ["RS256"],
  ...more,
})

/** An OpenID provider of a vendor: its discovery document, its keys and its claims. */
function openid(issuer: string, { more = {}, claims }: { more?: Json; claims: () => Json }): void {
  responders[`${issuer}/.well-known/openid-configuration`] = () => discoveryDocument(issuer, more)
  responders[`${issuer}/keys`] = () => ({ keys: [jwk] })
  responders[`${issuer}/token`] = async () => {
    // The library uses the real clock.
    const now = Math.floor(Date.now() / 1000)
    const all = { iss: issuer, iat: now, exp: now + 300, ...claims() }
    const idToken = await new SignJWT(all)
      .setProtectedHeader({ alg: "RS256", kid: "k1" })
      .sign(rsa.privateKey)
    return { access_token: "at", token_type: "Bearer", expires_in: 3600, id_token: idToken }
  }
}

// developer.apple.com/documentation/signinwithapple: "Incorporating Sign in with Apple into other
// platforms" (form_post, the user once), "Creating a client secret" and "Authenticating users" (the
// claims; email_verified is a string or a boolean).
describe("Apple", () => {
  const issuer = "https://appleid.apple.com"
  const { privateKey, publicKey } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  })
  let nonce = ""
  beforeEach(async () => {
    openid(issuer, {
      claims: () => ({
        aud: "com.example.app",
        sub: "001.apple",
        nonce,
        nonce_supported: true,
        email: "x1@privaterelay.appleid.com",
        email_verified: "true",
        is_private_email: "true",
      }),
    })
    const client = { clientId: "com.example.app", scopes: [] }
    const settings = {
      kind: "apple",
      ...client,
      teamId: "TEAM123456",
      keyId: "KEY1234567",
    } as const
    await addProvider(settings, privateKey)
  })

  /** Returns from Apple by a form post, without our cookie. */
  async function posted(user?: Json): Promise<VisitedPage> {
    const browser = newBrowser()
    const there = await goToVendor(browser)
    expect(there.searchParams.get("response_mode")).toBe("form_post")
    expect(there.searchParams.get("scope")).toBe("openid name email")
    nonce = there.searchParams.get("nonce") ?? ""
    const body = new URLSearchParams({
      code: "code",
      state: there.searchParams.get("state") ?? "",
      ...(user && { user: JSON.stringify(user) }),
    })
    const form = await provider.send("/idps/callback", { method: "POST", body }, { outside })
    return browser.go(form.headers.get("location") ?? "")
  }

  test("sends the name once, and accepts a secret that we sign", async () => {
    const name = { firstName: "Ada", lastName: "Lovelace" }
    expect(responseOf(await posted({ name, email: "x1@privaterelay.appleid.com" }))).toHaveProperty(
      "code",
    )
    expect(profileOf("x1@privaterelay.appleid.com")).toMatchObject({
      givenName: "Ada",
      familyName: "Lovelace",
      emailVerified: true,
    })
    const form = new URLSearchParams(requests.find(({ url }) => url.endsWith("/token"))?.body)
    const key = createPublicKey(publicKey)
    const now = new Date(provider.clock.now())
    const { payload, protectedHeader } = await jwtVerify(form.get("client_secret") ?? "", key, {
      audience: issuer,
      issuer: "TEAM123456",
      subject: "com.example.app",
      currentDate: now,
    })
    expect(protectedHeader).toMatchObject({ alg: "ES256", kid: "KEY1234567" })
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBeLessThan(15_777_000)
    expect(responseOf(await posted())).toHaveProperty("code")
  })

  test("without a name the first time has the user enter it here", async () => {
    expect((await posted()).page).toContain('name="givenName"')
  })
})

// docs.github.com: "Authorizing OAuth apps" (responses are form-encoded unless JSON is requested,
// and errors have status 200), "REST API: Users" (private addresses are null) and "Emails"; every
// request needs a User-Agent ("Getting started with the REST API").
describe.each([
  ["GitHub", "https://github.com", "https://api.github.com"],
  ["GitHub Enterprise Server", "https://ghe.example.com", "https://ghe.example.com/api/v3"],
])("%s", (name, origin, api) => {
  const shared = { clientId: "client", scopes: [] }
  const tokenEndpoint = `${origin}/login/oauth/access_token`
  let emails: readonly Json[]
  let token: Json
  beforeEach(async () => {
    emails = [
      { email: "old@example.com", primary: false, verified: true, visibility: null },
      { email: "octo@example.com", primary: true, verified: true, visibility: "private" },
    ]
    token = { access_token: "gho_1", scope: "read:user,user:email", token_type: "bearer" }
    responders[tokenEndpoint] = ({ headers }) =>
      new Headers(headers).get("accept")?.includes("application/json")
        ? token
        : new URLSearchParams({ access_token: "gho_1", token_type: "bearer" }).toString()
    const needsAgent =
      (value: unknown): Answer =>
      ({ headers }) =>
        new Headers(headers).get("user-agent") ? value : undefined
    const user = { id: 583231, login: "octocat", name: "Mona Lisa Octocat", email: null }
    responders[`${api}/user`] = needsAgent(user)
    responders[`${api}/user/emails`] = (request) => needsAgent(emails)(request)
    const endpoints = {
      authorizationEndpoint: `${origin}/login/oauth/authorize`,
      tokenEndpoint,
      userEndpoint: `${api}/user`,
    }
    await addProvider(
      name === "GitHub"
        ? { kind: "github", ...shared }
        : { kind: "github_enterprise", ...shared, ...endpoints },
    )
  })

  test("has private addresses in a list of their own", async () => {
    expect(responseOf(await signIn())).toHaveProperty("code")
    expect(profileOf("octocat")).toMatchObject({
      givenName: "Mona",
      familyName: "Lisa Octocat",
      email: "octo@example.com",
      emailVerified: true,
    })
  })

  test.each([403, 404])("can forbid its apps to read addresses, with %i", async (status) => {
    statuses[`${api}/user/emails`] = status
    const end = await signIn()
    // The account is created without an address once the user has entered one.
    expect(end.response.status).toBe(200)
    expect(end.page).toContain("octocat")
    expect(end.page).not.toContain("Invalid response from the other service")
  })

  test("is rejected if its list of addresses fails otherwise", async () => {
    statuses[`${api}/user/emails`] = 500
    expect((await signIn()).response.status).toBe(400)
  })

  test("can have unverified addresses", async () => {
    emails = [{ email: "octo@example.com", primary: true, verified: false, visibility: null }]
    expect(responseOf(await signIn())).toHaveProperty("code")
    expect(profileOf("octocat")).toMatchObject({ emailVerified: false })
  })

  test("rejects a code with status 200", async () => {
    token = { error: "bad_verification_code", error_description: "The code is incorrect." }
    expect((await signIn()).page).toContain("Invalid response from the other service")
  })
})

// learn.microsoft.com: "OpenID Connect on the Microsoft identity platform" (an issuer for each
// tenant, whatever was requested), "Get a user" of Microsoft Graph (mail may be null), "Properties
// of a B2B collaboration user" (#EXT#), and "Migrate away from using email claims for
// authorization" (a tenant's administrator can set any address; xms_edov states otherwise, and is
// not in Graph).
describe("Microsoft Entra ID", () => {
  const settings = { kind: "azure", clientId: "client", scopes: [], emailVerified: true } as const
  let me: Json
  beforeEach(() => {
    me = {
      id: "9f4a",
      displayName: "Ada Lovelace",
      givenName: "Ada",
      surname: "Lovelace",
      mail: "ada@example.com",
      userPrincipalName: "ada@example.com",
    }
    responders["https://graph.microsoft.com/v1.0/me"] = ({ headers }) =>
      new Headers(headers).get("authorization") === "Bearer at" ? me : undefined
  })
  const open = async (tenant: string) => {
    // The ID token belongs to the user's own tenant, and can't be verified here.
    responders[`https://login.microsoftonline.com/${tenant}/oauth2/v2.0/token`] = () => ({
      access_token: "at",
      token_type: "Bearer",
      expires_in: 3600,
      scope: "User.Read",
      id_token: "eyJhbGciOiJub25lIn0.eyJ4bXNfZWRvdiI6dHJ1ZX0.",
    })
    await addProvider({ ...settings, tenant })
  }

  test.each(["common", "organizations", "consumers", "Common"])(
    "of several tenants (%s) verifies no address",
    async (tenant) => {
      await open(tenant)
      expect(responseOf(await signIn())).toHaveProperty("code")
      expect(profileOf("ada@example.com")).toMatchObject({ emailVerified: false })
    },
  )

  test("of one tenant verifies addresses if configured", async () => {
    await open("8eaef023-2b34-4da1-9baa-8bc8c9d6a490")
    expect(responseOf(await signIn())).toHaveProperty("code")
    expect(profileOf("ada@example.com")).toMatchObject({ emailVerified: true })
  })

  test("has guest names that only look like addresses", async () => {
    me = { ...me, mail: null, userPrincipalName: "ada_other.com#EXT#@example.onmicrosoft.com" }
    await open("8eaef023-2b34-4da1-9baa-8bc8c9d6a490")
    const { page } = await signIn()
    expect(page).toContain('name="email"')
    expect(page).not.toMatch(/name="email"[^>]*value="[^"]*EXT/)
  })
})

// docs.gitlab.com/integration/openid_connect_provider: "Shared information" (no given_name and no
// family_name; groups in the profile).
describe("GitLab", () => {
  test("sends one name, and the user's groups", async () => {
    const issuer = "https://gitlab.com"
    let nonce = ""
    openid(issuer, {
      more: { userinfo_endpoint: `${issuer}/oauth/userinfo` },
      claims: () => ({ aud: "client", sub: "42", nonce, groups_direct: ["acme"] }),
    })
    responders[`${issuer}/oauth/userinfo`] = () => ({
      sub: "42",
      name: "Ada King Lovelace",
      nickname: "ada",
      preferred_username: "ada",
      email: "ada@example.com",
      email_verified: true,
      groups: ["acme", "acme/tools"],
    })
    await addProvider({ kind: "gitlab", clientId: "client", scopes: [] })
    const browser = newBrowser()
    const there = await goToVendor(browser)
    nonce = there.searchParams.get("nonce") ?? ""
    expect(responseOf(await returnFrom(browser, there))).toHaveProperty("code")
    expect(profileOf("ada")).toMatchObject({ givenName: "Ada", familyName: "King Lovelace" })
  })
})

// developers.google.com/identity/gsi/web/guides/verify-google-id-token: Google is authoritative for
// gmail.com addresses, and for those of a hosted domain (hd); other addresses may have been
// verified long ago.
describe("Google", () => {
  const issuer = "https://accounts.google.com"
  let claims: Json
  const walk = async (): Promise<VisitedPage> => {
    let nonce = ""
    const said = { aud: "client", sub: "110", given_name: "Ada", family_name: "Lovelace" }
    openid(issuer, { claims: () => ({ ...said, nonce, ...claims }) })
    await addProvider({ kind: "google", clientId: "client", scopes: [] })
    const browser = newBrowser()
    const there = await goToVendor(browser)
    nonce = there.searchParams.get("nonce") ?? ""
    return returnFrom(browser, there)
  }

  test.each<[string, boolean, Json]>([
    ["a domain that it hosts", true, { email: "ada@example.com", hd: "example.com" }],
    ["its own domain", true, { email: "ada@gmail.com" }],
    ["any other domain", false, { email: "ada@example.com" }],
  ])("is authoritative for addresses of %s: %s", async (_, emailVerified, values) => {
    claims = { ...values, email_verified: true }
    expect(responseOf(await walk())).toHaveProperty("code")
    expect(profileOf(String(values.email))).toMatchObject({ emailVerified })
  })

  test("with another issuer is rejected", async () => {
    claims = { email: "ada@gmail.com", email_verified: true, iss: "https://evil.example.com" }
    expect((await walk()).page).toContain("Invalid response from the other service")
  })
})
