// The result of a test sign-in: the claims that the application would get, and what may be missing.
import { decodeJwt } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { OidcConfig } from "../../src/domain/app/index.ts"
import { addAuthorization } from "../../src/domain/authorization/index.ts"
import { createPassword } from "../../src/domain/credential/index.ts"
import { setSecurity } from "../../src/domain/instance/setting-change.ts"
import { addRoles } from "../../src/domain/project/index.ts"
import { startTestSignIn } from "../../src/domain/refusal/test-sign-in.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { callerOf } from "../support/test-environment.ts"
import { encodeBasic } from "./clients.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  password,
  redirectUri,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

let provider: Provider
let olga: string
beforeAll(async () => {
  provider = await openProvider()
  olga = provider.setup.ownerId
  const { projectId } = provider
  await addRoles(provider.cx(), projectId, [{ key: "editor", displayName: "Editor", group: "" }])
  const given = { userId: olga, projectId, orgId: provider.setup.orgId, roleKeys: ["editor"] }
  await provider.store.transact(provider.cx(), (tx) => addAuthorization(tx, "a1", given))
  await provider.addPerson("pat")
  const id = provider.cx().ids.next()
  await createUser(provider.cx(), id, {
    kind: "human",
    orgId: provider.setup.orgId,
    userName: "nina",
    profile: { givenName: "Nina", familyName: "New" },
    email: { value: "nina@example.org", verified: false },
    password: await createPassword(password, { names: ["nina"] }),
  })
})
afterAll(() => provider.close())

type Person = "olga" | "pat" | "nina"

/** The last page of a test that an owner starts and this user completes. */
async function runTest(appId: string, scope: string, person: Person = "olga") {
  const browser = browserOf(provider)
  await browser.signIn(authorizePath((await provider.addClient()).id))
  const chooseAccount = person !== "olga"
  const cx = { ...provider.cx(), caller: callerOf(olga) }
  const begun = await startTestSignIn(cx, appId, { scope, chooseAccount })
  const query = new URLSearchParams({ client_id: begun.clientId, request_uri: begun.requestUri })
  const first = await browser.go(`/oauth/v2/authorize?${query}`)
  if (!chooseAccount) return first
  const { search } = new URL(first.path, "https://id.example.com")
  const other = await browser.go(`/ui/login/loginname${search}`)
  const named = await browser.post(other, { loginName: person })
  return browser.post(named, { loginName: person, password })
}

type ClaimsByName = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** The claims below each name on the page. */
const claimsOn = (page: string): ClaimsByName =>
  Object.fromEntries(
    [...page.matchAll(/<summary>(.*?)<\/summary><pre class="snippet"><code>(.*?)<\/code>/gs)].map(
      ([, name = "", text = ""]) => [name, JSON.parse(text.replaceAll("&quot;", '"'))],
    ),
  )

/** For each common claim, as text: its location, and the hint. */
const commonClaimsOn = (
  page: string,
): Readonly<Record<string, readonly [at: string, hint: string]>> =>
  Object.fromEntries(
    [...page.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)(?:<p[^>]*>(.*?)<\/p>)?<\/dd>/gs)].map(
      ([, name = "", at = "", hint = ""]) => [name, [at, hint]],
    ),
  )

type Claims = Readonly<Record<string, unknown>>

/** The claims that differ between sign-ins. */
const variableClaims = [
  "iat",
  "exp",
  "nbf",
  "jti",
  "nonce",
  "at_hash",
  "c_hash",
  "sid",
  "auth_time",
]
const stableClaims = (claims: Claims | undefined) =>
  claims &&
  Object.fromEntries(Object.entries(claims).filter(([name]) => !variableClaims.includes(name)))

describe("a test shows the application's claims", () => {
  const scope = "openid profile email groups"

  async function received(client: NewClient, responseType: string): Promise<ClaimsByName> {
    const isCode = responseType === "code"
    const path = authorizePath(client.id, {
      scope,
      response_type: responseType,
      ...(!isCode && { code_challenge: undefined, code_challenge_method: undefined }),
    })
    const end = await browserOf(provider).signIn(path)
    const fields = isCode
      ? (
          await sendTokenRequest(
            provider,
            codeFields(responseOf(end).code ?? ""),
            encodeBasic(client.id, client.secret),
          )
        ).answer
      : Object.fromEntries(new URLSearchParams(new URL(end.path).hash.slice(1)))
    const token = fields.access_token
    const headers = { authorization: `Bearer ${token}` }
    const userinfo = token && (await (await provider.send("/oidc/v1/userinfo", { headers })).json())
    const isJwt = typeof token === "string" && token.split(".").length === 3
    return {
      "ID token": decodeJwt(String(fields.id_token)),
      ...(userinfo && { Userinfo: userinfo }),
      ...(isJwt && { "Access token (JWT)": decodeJwt(token) }),
    }
  }

  const implicit = { grantTypes: ["implicit"], responseTypes: ["id_token"] } as const
  const cases: readonly (readonly [string, Partial<OidcConfig>, string])[] = [
    ["an opaque access token", {}, "code"],
    ["a JWT", { tokenType: "jwt" }, "code"],
    ["the profile in ID tokens", { idTokenUserinfoAssertion: true, tokenType: "jwt" }, "code"],
    ["roles everywhere", { groupsClaim: "roles", accessTokenRoleAssertion: true }, "code"],
    ["an ID token alone", implicit, "id_token"],
    [
      "the implicit flow",
      { ...implicit, responseTypes: ["id_token_token"], tokenType: "jwt" },
      "id_token token",
    ],
  ]

  test.each(cases)("by %s", async (_, oidc, responseType) => {
    const client = await provider.addClient(oidc)
    const { page } = await runTest(client.appId, scope)
    const shown = claimsOn(page)
    const real = await received(client, responseType)
    expect(Object.keys(shown)).toEqual(Object.keys(real))
    for (const [name, claims] of Object.entries(real)) {
      expect(stableClaims(shown[name]), name).toEqual(stableClaims(claims))
    }
    expect(page.includes("Access token: opaque")).toBe(
      !("Access token (JWT)" in real) && responseType !== "id_token",
    )
  })

  test("with the lifetimes of its tokens", async () => {
    const client = await provider.addClient({ tokenType: "jwt" })
    const shown = claimsOn((await runTest(client.appId, scope)).page)
    const real = await received(client, "code")
    for (const name of ["ID token", "Access token (JWT)"] as const) {
      const [mine, theirs] = [shown[name], real[name]]
      expect(Number(mine?.exp) - Number(mine?.iat)).toBe(Number(theirs?.exp) - Number(theirs?.iat))
    }
  })

  test("with the granted scopes, and those that are not granted", async () => {
    const client = await provider.addClient()
    const { page } = await runTest(client.appId, "openid email offline_access read:user")
    expect(page).toMatch(/Granted scopes: (<!-- -->)?<code>openid email<\/code>/)
    expect(page).toMatch(/not granted: (<!-- -->)?<code>offline_access read:user<\/code>/)
    const { page: all } = await runTest(client.appId, "openid email")
    expect(all).not.toContain("not granted")
  })
})

describe("a test shows what an application misses", () => {
  const missing = (scope: string, oidc: Partial<OidcConfig> = {}, person?: Person) =>
    provider
      .addClient(oidc)
      .then(({ appId }) => runTest(appId, scope, person))
      .then(({ page }) => commonClaimsOn(page))

  test("if a scope is not requested", async () => {
    const usual = await missing("openid")
    expect(usual).toEqual({
      Name: ["Missing", "Let the application request the scope profile."],
      "Email address": ["Missing", "Let the application request the scope email."],
      "Verified email address": ["Missing", "Let the application request the scope email."],
      Picture: ["Missing", "Let the application request the scope profile."],
      Groups: ["Missing", expect.stringContaining("the scope groups, or choose this claim")],
      Roles: ["Missing", expect.stringContaining("the scope roles, or choose this claim")],
    })
  })

  test("if an application reads the ID token only", async () => {
    const usual = await missing("openid profile email groups")
    const hint = expect.stringContaining("Profile in ID tokens")
    for (const name of ["Name", "Email address", "Verified email address", "Groups"]) {
      expect(usual[name], name).toEqual(["At userinfo only", hint])
    }
    const on = await missing("openid profile email groups", { idTokenUserinfoAssertion: true })
    for (const name of ["Name", "Email address", "Verified email address", "Groups"]) {
      expect(on[name], name).toEqual(["In the ID token and at userinfo", ""])
    }
  })

  test("if the account has no value or no role", async () => {
    const usual = await missing("openid profile groups", { groupsClaim: "roles" }, "pat")
    expect(usual.Picture).toEqual(["Missing", "The account has no value for it."])
    const hint = expect.stringContaining("has no role in the project")
    expect(usual.Groups).toEqual(["At userinfo only", hint])
    expect(usual.Roles).toEqual(["In the ID token and at userinfo", hint])
  })

  test("if the address is not verified", async () => {
    const usual = await missing("openid email", { idTokenUserinfoAssertion: true }, "nina")
    expect(usual["Verified email address"]).toEqual([
      "In the ID token and at userinfo",
      expect.stringContaining("oauth2-proxy returns 403"),
    ])
    expect(usual["Email address"]?.[1]).toBe("")
  })

  test("if the response is an ID token alone", async () => {
    const usual = await missing("openid profile", {
      grantTypes: ["implicit"],
      responseTypes: ["id_token"],
    })
    expect(usual.Name).toEqual(["In the ID token", ""])
  })
})

describe("the page of a test", () => {
  test("contains no token, and nothing that can be used to get one", async () => {
    const client = await provider.addClient({ tokenType: "jwt" })
    const { page, response } = await runTest(client.appId, "openid offline_access")
    expect(page).not.toMatch(/eyJ[\w-]{10}/)
    expect(page).not.toMatch(/[?&](code|request_uri|id_token|access_token)=/)
    expect(page).not.toContain(redirectUri)
    expect(response.headers.get("location")).toBeNull()
  })

  test("is not cached and can't be framed, whatever the policy", async () => {
    const embed = (enableIframeEmbedding: boolean) =>
      setSecurity(provider.cx(), "i1", {
        enableIframeEmbedding,
        allowedOrigins: ["https://portal.example.com"],
        enableImpersonation: false,
      })
    await embed(true)
    const { appId } = await provider.addClient()
    const [{ response }, refused] = [await runTest(appId, ""), await runTest(appId, "profile")]
    await embed(false)
    for (const { headers } of [response, refused.response]) {
      expect(headers.get("cache-control")).toBe("no-store")
      expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'")
      expect(headers.get("x-frame-options")).toBe("DENY")
      expect(headers.get("referrer-policy")).toBe("no-referrer")
    }
  })
})
