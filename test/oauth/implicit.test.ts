import { createHash } from "node:crypto"
import { decodeJwt } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { deactivateUser } from "../../src/domain/user/index.ts"
import {
  authorizePath,
  browserOf,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  redirectUri,
} from "./provider.ts"

let provider: Provider
let implicit: NewClient
let coder: NewClient
const idTokenAndToken = { response_type: "id_token token" }
const idTokenOnly = { response_type: "id_token" }
const types = {
  grantTypes: ["implicit"],
  responseTypes: ["id_token", "id_token_token"],
  authMethod: "none",
  appType: "user_agent",
} as const
beforeAll(async () => {
  provider = await openProvider()
  implicit = await provider.addClient(types)
  coder = await provider.addClient()
})
afterAll(() => provider.close())

type Changes = Readonly<Record<string, string | undefined>>

/** No PKCE: no code is exchanged here. */
const noPkce = { code_challenge: undefined, code_challenge_method: undefined }
const pathOf = (changes: Changes, client = implicit) =>
  authorizePath(client.id, { ...noPkce, ...changes })

const fragmentOf = (location: string | null) =>
  Object.fromEntries(new URLSearchParams(new URL(location ?? "").hash.slice(1)))

async function signIn(changes: Changes, client = implicit) {
  const end = await browserOf(provider).signIn(pathOf(changes, client))
  return fragmentOf(end.path)
}

const claimsAt = async (token: string) =>
  provider.send("/oidc/v1/userinfo", { headers: { authorization: `Bearer ${token}` } })

describe("implicit flow (OpenID Connect Core §3.2)", () => {
  test.each(["id_token token", "token id_token"])(
    "responds to %s as spec 4.3 says",
    async (words) => {
      const answer = await signIn({ response_type: words })
      const { access_token = "", id_token = "", ...rest } = answer
      expect(rest).toEqual({
        token_type: "Bearer",
        expires_in: "43200",
        scope: "openid profile email",
        state: "s-1",
        iss: issuer,
      })
      const claims = decodeJwt(id_token)
      const half = createHash("sha256").update(access_token).digest().subarray(0, 16)
      expect(claims).toMatchObject({ nonce: "n-1", at_hash: half.toString("base64url") })
      expect(claims).toMatchObject({ azp: implicit.id, amr: ["pwd"], iss: issuer })
      // Scope claims are returned at userinfo, with the access token.
      expect(claims).not.toHaveProperty("email")
      expect(await (await claimsAt(access_token)).json()).toMatchObject({
        sub: claims.sub,
        email: "olga@example.com",
      })
    },
  )

  test("returns an id_token alone with the claims of the scopes, and no token", async () => {
    const { id_token = "", ...rest } = await signIn(idTokenOnly)
    expect(rest).toEqual({
      token_type: "Bearer",
      expires_in: "3600",
      scope: "openid profile email",
      state: "s-1",
      iss: issuer,
    })
    const claims = decodeJwt(id_token)
    expect(claims).toMatchObject({ nonce: "n-1", email: "olga@example.com", given_name: "Olga" })
    expect(claims).not.toHaveProperty("at_hash")
  })

  test("includes the claims beside a token if the application is configured for it", async () => {
    const told = await provider.addClient({ ...types, idTokenUserinfoAssertion: true })
    const { id_token = "" } = await signIn(idTokenAndToken, told)
    expect(decodeJwt(id_token)).toHaveProperty("email")
  })

  test("never issues a refresh token (RFC 6749 §4.2.2)", async () => {
    const offline = await provider.addClient({
      ...types,
      grantTypes: ["implicit", "refresh_token"],
    })
    const answer = await signIn({ ...idTokenAndToken, scope: "openid offline_access" }, offline)
    expect(answer).not.toHaveProperty("refresh_token")
    expect(answer.scope).toBe("openid")
  })

  test("responds immediately if the user is signed in, in the fragment", async () => {
    const browser = browserOf(provider)
    await browser.signIn(pathOf(idTokenAndToken))
    const { path } = await browser.go(pathOf({ ...idTokenAndToken, prompt: "none" }))
    expect(path.startsWith(`${redirectUri}#`)).toBe(true)
    expect(fragmentOf(path)).toHaveProperty("access_token")
  })

  test("responds by form_post if the client requests it", async () => {
    const browser = browserOf(provider)
    await browser.signIn(pathOf(idTokenAndToken))
    const { page } = await browser.go(pathOf({ ...idTokenAndToken, response_mode: "form_post" }))
    expect(page).toContain(`action="${redirectUri}"`)
    for (const name of ["access_token", "id_token", "state", "iss", "expires_in"]) {
      expect(page).toContain(`name="${name}"`)
    }
  })

  test("issues tokens that end with the session", async () => {
    const id = await provider.addPerson("ida")
    const end = await browserOf(provider).signIn(pathOf(idTokenAndToken), "ida")
    const { access_token = "" } = fragmentOf(end.path)
    expect((await claimsAt(access_token)).status).toBe(200)
    await deactivateUser(provider.cx(), id)
    expect((await claimsAt(access_token)).status).toBe(401)
  })
})

describe("implicit flow rejects, in the fragment", () => {
  const rows: readonly (readonly [string, Changes, string, () => NewClient])[] = [
    ["no nonce", { ...idTokenAndToken, nonce: undefined }, "invalid_request", () => implicit],
    [
      "no nonce for id_token",
      { ...idTokenOnly, nonce: undefined },
      "invalid_request",
      () => implicit,
    ],
    ["a query", { ...idTokenAndToken, response_mode: "query" }, "invalid_request", () => implicit],
    [
      "a query for id_token",
      { ...idTokenOnly, response_mode: "query" },
      "invalid_request",
      () => implicit,
    ],
    [
      "an unknown mode",
      { ...idTokenAndToken, response_mode: "smoke" },
      "invalid_request",
      () => implicit,
    ],
    ["token alone", { response_type: "token" }, "unsupported_response_type", () => implicit],
    [
      "the hybrid flow",
      { response_type: "code id_token" },
      "unsupported_response_type",
      () => implicit,
    ],
    [
      "an application that registered codes only",
      idTokenAndToken,
      "unauthorized_client",
      () => coder,
    ],
    ["it for id_token, too", idTokenOnly, "unauthorized_client", () => coder],
    [
      "nobody who is signed in",
      { ...idTokenAndToken, prompt: "none" },
      "login_required",
      () => implicit,
    ],
  ]
  test.each(rows)("%s", async (_, changes, error, client) => {
    const response = await provider.send(pathOf(changes, client()))
    const location = response.headers.get("location") ?? ""
    expect(location.startsWith(`${redirectUri}#`)).toBe(true)
    const { error_description, ...answer } = fragmentOf(location)
    expect(answer).toEqual({ error, state: "s-1", iss: issuer })
  })

  test("a code where only implicit is registered", async () => {
    const response = await provider.send(authorizePath(implicit.id))
    const location = response.headers.get("location")
    expect(location).toMatch(/callback\?error=unauthorized_client/)
  })

  test("a response type whose grant is not registered", async () => {
    const half = await provider.addClient({ ...types, grantTypes: ["authorization_code"] })
    const response = await provider.send(pathOf(idTokenAndToken, half))
    expect(fragmentOf(response.headers.get("location")).error).toBe("unauthorized_client")
  })
})
