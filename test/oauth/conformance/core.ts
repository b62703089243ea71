import { expect } from "vitest"
import { loadDiscovery } from "../must.ts"
import {
  authorizePath,
  browserOf,
  challenge,
  issuer,
  redirectUri,
  sendTokenRequest,
} from "../provider.ts"
import { codeOf, type RelyingParty, type Tokens } from "./relying-party.ts"

/** A module of a plan: the suite's steps and expectations. */
export type Module = (rp: RelyingParty) => Promise<void>

const hasAccessToken = ({ variant }: RelyingParty) => variant.responseType !== "id_token"

/** The claims of a scope, at userinfo or, without an access token, in the ID token. */
async function claimsOfScope(rp: RelyingParty, tokens: Tokens): Promise<Record<string, unknown>> {
  if (!hasAccessToken(rp)) return { ...tokens.idToken }
  const response = await rp.userinfo(tokens.accessToken)
  expect(response.status).toBe(200)
  const claims = await response.json()
  expect(claims.sub).toBe(tokens.idToken.sub)
  return claims
}

const scopeModule =
  (scope: string, names: readonly string[]): Module =>
  async (rp) => {
    const { tokens } = await rp.signIn({ scope })
    const claims = await claimsOfScope(rp, tokens)
    for (const name of names) expect(claims, name).toHaveProperty(name)
    // OpenID Connect Core §5.1: in seconds.
    if (names.includes("updated_at")) {
      const { updated_at: updated } = claims
      expect(Number(updated)).toBeLessThanOrEqual(rp.provider.clock.now() / 1000)
    }
    if (!hasAccessToken(rp)) return
    for (const name of names) expect(tokens.idToken, name).not.toHaveProperty(name)
  }

const signInModule =
  (changes: Readonly<Record<string, string>>): Module =>
  async (rp) => {
    const { tokens } = await rp.signIn(changes)
    expect(tokens.idToken.sub).toBe(rp.provider.setup.ownerId)
  }

const profile = ["name", "given_name", "family_name", "preferred_username", "updated_at"]
const email = ["email", "email_verified"]

const userinfoModule =
  (send: (rp: RelyingParty, token: string) => Promise<Response>): Module =>
  async (rp) => {
    const { tokens } = await rp.signIn()
    const response = await send(rp, tokens.accessToken ?? "")
    expect(response.status).toBe(200)
    expect((await response.json()).sub).toBe(tokens.idToken.sub)
  }

/**
 * OpenID Connect Core §2, §3.1.3.6, §3.3.2.11 and §5.1, and `sid`: the suite warns about others.
 */
const idTokenClaims = [
  "iss",
  "sub",
  "aud",
  "azp",
  "exp",
  "iat",
  "auth_time",
  "nonce",
  "acr",
  "amr",
  "sid",
  "at_hash",
  "c_hash",
  ...profile,
  ...email,
]

const path = "/oidc/v1/userinfo"

const happyPathModules: Readonly<Record<string, Module>> = {
  "oidcc-server": async (rp) => {
    const { tokens, fields } = await rp.signIn({ scope: "openid profile email" })
    expect(tokens.idToken.sub).toBe(rp.provider.setup.ownerId)
    expect(Object.keys(tokens.idToken).filter((name) => !idTokenClaims.includes(name))).toEqual([])
    const claims = await claimsOfScope(rp, tokens)
    expect(claims).toMatchObject({ email: "olga@example.com", given_name: "Olga" })
    const implicit = hasAccessToken(rp)
      ? ["access_token", "expires_in", "id_token", "iss", "scope", "state", "token_type"]
      : ["id_token", "iss", "state"]
    const wanted = rp.variant.responseType === "code" ? ["code", "iss", "state"] : implicit
    // The interface (§4.3) includes type and lifetime also with an ID token alone.
    const more = rp.variant.responseType === "code" ? [] : ["expires_in", "scope", "token_type"]
    const allowed = [...wanted, ...more]
    expect(Object.keys(fields)).toEqual(expect.arrayContaining(wanted))
    expect(Object.keys(fields).filter((name) => !allowed.includes(name))).toEqual([])
  },
  "oidcc-server-client-secret-post": async (rp) => {
    const client = await rp.addClient({ authMethod: "post" })
    const browser = browserOf(rp.provider)
    await rp.signIn({}, browser)
    const request = rp.request({}, client)
    const { code } = rp.answer(await browser.go(request))
    const fields = { ...codeOf(code), client_id: client.id, client_secret: client.secret }
    const { status, answer } = await sendTokenRequest(rp.provider, fields)
    expect(status).toBe(200)
    const nonce = new URL(request, issuer).searchParams.get("nonce")
    const accessToken = String(answer.access_token)
    const idToken = await rp.verified(String(answer.id_token), client.id, { nonce, accessToken })
    const userinfo = await (await rp.userinfo(accessToken)).json()
    expect(userinfo.sub).toBe(idToken.sub)
  },
  "oidcc-response-type-missing": async (rp) => {
    const end = await browserOf(rp.provider).go(rp.request({ response_type: undefined }))
    // Without a valid response type the response uses the mode of the code flow.
    const query = new URL(end.path, issuer).searchParams
    const error = rp.variant.responseMode ? rp.answer(end).error : query.get("error")
    expect(["invalid_request", "unsupported_response_type"]).toContain(error)
  },
  "oidcc-idtoken-signature": async (rp) => {
    // Verified with the published key of its kid, by RS256 only; see `redeem`.
    const { tokens } = await rp.signIn()
    const header = JSON.parse(
      Buffer.from(tokens.rawIdToken.split(".")[0] ?? "", "base64url").toString(),
    )
    expect(header).toMatchObject({ alg: "RS256", kid: expect.stringMatching(/./) })
  },
  "oidcc-userinfo-get": userinfoModule((rp, token) => rp.userinfo(token)),
  "oidcc-userinfo-post-header": userinfoModule((rp, token) => {
    const headers = { authorization: `Bearer ${token}` }
    return rp.provider.send(path, { method: "POST", headers })
  }),
  "oidcc-userinfo-post-body": userinfoModule((rp, token) => {
    const body = new URLSearchParams({ access_token: token })
    return rp.provider.send(path, { method: "POST", body })
  }),
  "oidcc-ensure-request-without-nonce-succeeds-for-code-flow": async (rp) => {
    const request = rp.request({ nonce: undefined })
    const browser = browserOf(rp.provider)
    const { tokens } = await rp.finish(request, await browser.signIn(request))
    expect(tokens.idToken).not.toHaveProperty("nonce")
  },
  "oidcc-ensure-request-without-nonce-fails": async (rp) => {
    expect(await rp.errorOf({ nonce: undefined })).toBe("invalid_request")
  },
  "oidcc-scope-profile": scopeModule("openid profile", profile),
  "oidcc-scope-email": scopeModule("openid email", email),
  "oidcc-scope-address": scopeModule("openid address", []),
  "oidcc-scope-phone": scopeModule("openid phone", []),
  "oidcc-scope-all": scopeModule("openid profile email address phone", [...profile, ...email]),
  "oidcc-alternate-happy-flow": async (rp) => {
    const turned = [...new URL(rp.request({ scope: "email profile openid" }), issuer).searchParams]
    const request = `/oauth/v2/authorize?${new URLSearchParams(turned.reverse())}`
    const browser = browserOf(rp.provider)
    const { tokens } = await rp.finish(request, await browser.signIn(request))
    expect(await claimsOfScope(rp, tokens)).toHaveProperty("email")
  },
  "oidcc-display-page": signInModule({ display: "page" }),
  "oidcc-display-popup": signInModule({ display: "popup" }),
  "oidcc-ensure-request-with-unknown-parameter-succeeds": signInModule({ extra: "foobar" }),
  "oidcc-ui-locales": signInModule({ ui_locales: "se" }),
  "oidcc-claims-locales": signInModule({ claims_locales: "se" }),
  "oidcc-ensure-request-with-acr-values-succeeds": async (rp) => {
    const { acr_values_supported: supported } = await loadDiscovery(rp.provider)
    const values = Array.isArray(supported) ? supported.map(String) : ["1", "2"]
    const { tokens } = await rp.signIn({ acr_values: values.join(" ") })
    if (Array.isArray(supported)) expect(values).toContain(tokens.idToken.acr)
  },
  "oidcc-ensure-post-request-succeeds": async (rp) => {
    const browser = browserOf(rp.provider)
    await rp.signIn({}, browser)
    const request = rp.request()
    const body = new URL(request, issuer).searchParams
    const end = await browser.go("/oauth/v2/authorize", { method: "POST", body })
    expect((await rp.finish(request, end)).tokens.idToken).toHaveProperty("sub")
  },
  "oidcc-ensure-request-with-valid-pkce-succeeds": async (rp) => {
    const s256 = { code_challenge: challenge, code_challenge_method: "S256" }
    // Redeemed with the verifier; without it the same code is invalid.
    const { fields, browser } = await rp.signIn(s256)
    expect(fields).toHaveProperty("code")
    const { code } = rp.answer(await browser.go(rp.request(s256)))
    await requestInvalidToken(rp, codeOf(code), `${rp.client.id}:${rp.client.secret}`)
  },
}

const sessionModules: Readonly<Record<string, Module>> = {
  "oidcc-prompt-login": async (rp) => {
    const first = await rp.signIn()
    rp.provider.clock.advance(1500)
    const second = await rp.signIn({ prompt: "login" }, first.browser)
    expect(second.wasAsked).toBe(true)
    expect(second.tokens.idToken.sub).toBe(first.tokens.idToken.sub)
    expect(second.tokens.idToken.auth_time).toBeGreaterThan(Number(first.tokens.idToken.auth_time))
  },
  "oidcc-prompt-none-not-logged-in": async (rp) => {
    expect(await rp.errorOf({ prompt: "none" })).toBe("login_required")
  },
  "oidcc-prompt-none-logged-in": async (rp) => {
    const first = await rp.signIn()
    rp.provider.clock.advance(1500)
    const second = await rp.signIn({ prompt: "none" }, first.browser)
    const { sub, auth_time } = first.tokens.idToken
    expect([second.wasAsked, second.tokens.idToken]).toEqual([
      false,
      expect.objectContaining({ sub, auth_time }),
    ])
  },
  "oidcc-max-age-1": async (rp) => {
    const first = await rp.signIn({ max_age: "1" })
    rp.provider.clock.advance(2000)
    const second = await rp.signIn({ max_age: "1" }, first.browser)
    expect(second.wasAsked).toBe(true)
    expect(second.tokens.idToken.auth_time).toBeGreaterThan(Number(first.tokens.idToken.auth_time))
  },
  "oidcc-max-age-10000": async (rp) => {
    const first = await rp.signIn({ max_age: "10000" })
    rp.provider.clock.advance(2000)
    const second = await rp.signIn({ max_age: "10000" }, first.browser)
    expect(second.wasAsked).toBe(false)
    expect(second.tokens.idToken.auth_time).toBe(first.tokens.idToken.auth_time)
  },
  "oidcc-id-token-hint": async (rp) => {
    const first = await rp.signIn()
    const id_token_hint = first.tokens.rawIdToken
    const second = await rp.signIn({ prompt: "none", id_token_hint }, first.browser)
    expect(second.tokens.idToken.sub).toBe(first.tokens.idToken.sub)
  },
  "oidcc-login-hint": async (rp) => {
    const page = await browserOf(rp.provider).go(rp.request({ login_hint: "buffy@example.com" }))
    expect(page.page).toContain('value="buffy@example.com"')
    await rp.signIn({ login_hint: "olga" })
  },
  "oidcc-claims-essential": async (rp) => {
    const name = { name: { essential: true } }
    const claims = JSON.stringify(hasAccessToken(rp) ? { userinfo: name } : { id_token: name })
    const { tokens } = await rp.signIn({ claims })
    expect((await claimsOfScope(rp, tokens)).name).toBe("Olga Owner")
  },
}

const requestInvalidToken = (
  rp: RelyingParty,
  fields: Readonly<Record<string, string>>,
  secret: string,
) =>
  sendTokenRequest(rp.provider, fields, secret).then(({ status, answer }) => {
    expect([status, answer.error]).toEqual([400, "invalid_grant"])
  })

/** RFC 6749 §4.1.2: denied, and the tokens of the first use are revoked. */
const reuseModule =
  (seconds: number): Module =>
  async (rp) => {
    const { fields, tokens } = await rp.signIn()
    rp.provider.clock.advance(seconds * 1000)
    const as = `${rp.client.id}:${rp.client.secret}`
    await requestInvalidToken(rp, codeOf(fields.code), as)
    expect((await rp.userinfo(tokens.accessToken)).status).toBe(401)
  }

const createUnsignedToken = (claims: object) => `${part({ alg: "none" })}.${part(claims)}.`
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")

const errorModules: Readonly<Record<string, Module>> = {
  "oidcc-codereuse": reuseModule(0),
  "oidcc-codereuse-30seconds": reuseModule(30),
  "oidcc-ensure-registered-redirect-uri": async (rp) => {
    const redirect_uri = `${redirectUri}/unregistered`
    const { response, path: end } = await browserOf(rp.provider).go(rp.request({ redirect_uri }))
    expect([response.status, response.headers.get("location")]).toEqual([400, null])
    expect(end).toMatch(/^\/oauth\//)
  },
  "oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported": async (rp) => {
    const request_uri = "https://app.example.com/request.jwt"
    expect(await rp.errorOf({ request_uri })).toBe("request_uri_not_supported")
  },
  "oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported": async (rp) => {
    const { variant, client } = rp
    const claims = { client_id: client.id, response_type: variant.responseType, nonce: "n" }
    const error = await rp.errorOf({ request: createUnsignedToken({ ...claims, iss: client.id }) })
    expect(["request_not_supported", "invalid_request_object"]).toContain(error)
  },
  "oidcc-ensure-request-object-with-redirect-uri": async (rp) => {
    const evil = "https://evil.example/callback"
    const inside = { client_id: rp.client.id, response_type: rp.variant.responseType }
    const outside = await browserOf(rp.provider).go(
      rp.request({
        redirect_uri: evil,
        request: createUnsignedToken({ ...inside, redirect_uri: redirectUri }),
      }),
    )
    expect([outside.response.status, outside.response.headers.get("location")]).toEqual([400, null])
    const request = createUnsignedToken({ ...inside, redirect_uri: evil })
    const within = await browserOf(rp.provider).go(rp.request({ request }))
    expect(within.path + within.page).not.toContain("evil.example")
    expect(within.path).not.toMatch(/[?#&](code|id_token)=/)
  },
}

const refreshModules: Readonly<Record<string, Module>> = {
  "oidcc-refresh-token": async (rp) => {
    const scope = "openid offline_access"
    const { tokens } = await rp.signIn({ scope, prompt: "consent" })
    const refresh_token = String(tokens.answer.refresh_token)
    const fields = { grant_type: "refresh_token", refresh_token }
    await requestInvalidToken(rp, fields, `${rp.second.id}:${rp.second.secret}`)
    rp.provider.clock.advance(2000)
    const as = `${rp.client.id}:${rp.client.secret}`
    const { status, answer } = await sendTokenRequest(rp.provider, fields, as)
    expect([status, answer.token_type]).toEqual([200, "Bearer"])
    const fresh = JSON.parse(
      Buffer.from(String(answer.id_token).split(".")[1] ?? "", "base64url").toString(),
    )
    const { iss, sub, aud, azp, auth_time, iat } = tokens.idToken
    expect(fresh).toMatchObject({ iss, sub, aud, azp, auth_time })
    expect(fresh.iat).toBeGreaterThan(Number(iat))
    expect((await rp.userinfo(String(answer.access_token))).status).toBe(200)
  },
}

const discoveryModules: Readonly<Record<string, Module>> = {
  "oidcc-discovery-endpoint-verification": async ({ provider }) => {
    const document = await loadDiscovery(provider)
    const required = [
      "authorization_endpoint",
      "token_endpoint",
      "jwks_uri",
      "userinfo_endpoint",
      "response_types_supported",
      "subject_types_supported",
      "scopes_supported",
      "id_token_signing_alg_values_supported",
      "claims_supported",
      "grant_types_supported",
    ]
    for (const name of required) expect(document, name).toHaveProperty(name)
    expect(document.issuer).toBe(issuer)
    expect(document.response_types_supported).toContain("code")
    expect(document.scopes_supported).toContain("openid")
    expect(document.id_token_signing_alg_values_supported).toContain("RS256")
    const addresses = Object.entries(document).filter(([name]) => /_endpoint$|_uri$/.test(name))
    for (const [name, value] of addresses) {
      expect(String(value).startsWith("https://"), name).toBe(true)
    }
    const { keys } = await (await provider.send("/oauth/v2/keys")).json()
    for (const key of keys) {
      expect(Object.keys(key).filter((name) => /^(d|p|q|dp|dq|qi|k)$/.test(name))).toEqual([])
      expect(key).toMatchObject({ kid: expect.any(String), kty: expect.any(String) })
    }
    const response = await provider.send(authorizePath("nobody"))
    expect(response.status).toBe(400)
  },
}

export const coreModules: Readonly<Record<string, Module>> = {
  ...happyPathModules,
  ...sessionModules,
  ...errorModules,
  ...refreshModules,
  ...discoveryModules,
}
