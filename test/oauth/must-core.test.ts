import { createHash } from "node:crypto"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { oidcDefaults } from "../../src/domain/app/index.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { removeUser } from "../../src/domain/user/index.ts"
import {
  authorize,
  type Browser,
  claimsOf,
  headerOf,
  isPlainIssuer,
  loadDiscovery,
  openSignedIn,
  type Row,
  tokensOf,
  userinfo,
} from "./must.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  redirectUri,
  sendTokenRequest,
} from "./provider.ts"

let provider: Provider
let web: NewClient
let other: NewClient
let browser: Browser
beforeAll(async () => {
  provider = await openProvider()
  web = await provider.addClient()
  other = await provider.addClient()
  browser = await openSignedIn(provider, web)
})
afterAll(() => provider.close())

type Changes = Readonly<Record<string, string | undefined>>
const idToken = async (changes: Changes = {}, client = web) =>
  (await tokensOf(provider, browser, client, changes)).id_token
const now = () => Math.floor(provider.clock.now() / 1000)

const idTokens: readonly Row[] = [
  [
    "§2 an id_token has iss, sub, aud, exp and iat",
    async () => {
      const claims = claimsOf(await idToken())
      for (const name of ["iss", "sub", "aud", "exp", "iat"]) expect(claims).toHaveProperty(name)
      expect(claims.iat).toBe(now())
      expect(claims.exp).toBeGreaterThan(now())
      expect(Number.isInteger(claims.exp)).toBe(true)
    },
  ],
  [
    "§2 iss is an https address without query or fragment",
    async () => expect(isPlainIssuer(claimsOf(await idToken()).iss)).toBe(true),
  ],
  [
    "§2 sub is ASCII, at most 255 characters, and the same every time",
    async () => {
      const { sub } = claimsOf(await idToken())
      expect(sub).toMatch(/^[\x21-\x7e]{1,255}$/)
      expect(claimsOf(await idToken({}, other)).sub).toBe(sub)
    },
  ],
  [
    "§2 sub is never given to another person",
    async () => {
      const id = await provider.addPerson("gone")
      await removeUser(provider.cx(), id)
      const again = createUser(provider.cx(), id, {
        kind: "machine",
        name: "Heir",
        accessTokenType: "bearer",
        userName: "heir",
        orgId: provider.setup.orgId,
      })
      await expect(again).rejects.toThrow()
    },
  ],
  [
    "§2 auth_time is there where max_age was asked",
    async () => {
      expect(claimsOf(await idToken({ max_age: "10000" })).auth_time).toBeTypeOf("number")
    },
  ],
  [
    "§2 nonce comes back as it was sent",
    async () => {
      for (const nonce of ["n", "ü€ +%&=", "x".repeat(2000)]) {
        expect(claimsOf(await idToken({ nonce })).nonce).toBe(nonce)
      }
      expect(claimsOf(await idToken({ nonce: undefined }))).not.toHaveProperty("nonce")
    },
  ],
  [
    "§2 an id_token is signed and never by none",
    async () => {
      const token = String(await idToken())
      expect(headerOf(token).alg).toBe("RS256")
      expect(token.split(".")[2]).not.toBe("")
      const listed = (await loadDiscovery(provider)).id_token_signing_alg_values_supported
      expect(listed).not.toContain("none")
    },
  ],
  [
    "§3.1.3.6 at_hash is the left half of the access token's hash",
    async () => {
      const { access_token, id_token } = await tokensOf(provider, browser, web)
      const hash = createHash("sha256").update(String(access_token), "ascii").digest()
      expect(claimsOf(id_token).at_hash).toBe(hash.subarray(0, 16).toString("base64url"))
    },
  ],
  [
    "§3.3.2.11 c_hash is the left half of the code's hash",
    async () => {
      const { code = "" } = await authorize(browser, web)
      const as = `${web.id}:${web.secret}`
      const { id_token } = (await sendTokenRequest(provider, codeFields(code), as)).answer
      const hash = createHash("sha256").update(code, "ascii").digest()
      expect(claimsOf(id_token).c_hash).toBe(hash.subarray(0, 16).toString("base64url"))
    },
  ],
  [
    "§10.1 the header names the key by kid and algorithm",
    async () => {
      const { keys } = await (await provider.send("/oauth/v2/keys")).json()
      const { kid, alg } = headerOf(await idToken())
      const own = keys.filter((key: { kid: string }) => key.kid === kid)
      expect(own).toEqual([expect.objectContaining({ alg, use: "sig" })])
    },
  ],
]

const requests: readonly Row[] = [
  [
    "§3.1.2.1 an unknown scope is left out",
    async () => {
      const { scope } = await tokensOf(provider, browser, web, { scope: "openid x:y dragons" })
      expect(scope).toBe("openid")
    },
  ],
  [
    "§3.1.2.1 prompt none shows no page",
    async () => {
      const fresh = browserOf(provider)
      for (const who of [fresh, browser]) {
        for (const changes of [{}, { max_age: "0" }, { id_token_hint: "x" }, { scope: "x" }]) {
          const { path } = await who.go(authorizePath(web.id, { prompt: "none", ...changes }))
          expect(path.startsWith(redirectUri), path).toBe(true)
        }
      }
    },
  ],
  [
    "§3.1.2.1 display, claims_locales and acr_values are no error",
    async () => {
      const extra = { claims_locales: "de fr", acr_values: "urn:x:loa:3 gold" }
      for (const display of ["page", "popup", "touch", "wap"]) {
        expect(await authorize(browser, web, { display, ...extra })).toHaveProperty("code")
      }
    },
  ],
  [
    "§3.1.2.1 an id_token_hint that names somebody else gives no answer for this person",
    async () => {
      await provider.addPerson("stella")
      const stella = browserOf(provider)
      await stella.signIn(authorizePath(web.id), "stella")
      const id_token_hint = String((await tokensOf(provider, stella, web)).id_token)
      const silent = await authorize(browser, web, { id_token_hint, prompt: "none" })
      expect(silent).toMatchObject({ error: "login_required" })
      const shown = browserOf(provider)
      const end = await shown.signIn(authorizePath(web.id, { id_token_hint }), "olga")
      expect(end.path).not.toMatch(/[?&]code=/)
    },
  ],
  [
    "§3.1.2.1 an id_token_hint need not have us in its audience",
    async () => {
      const id_token_hint = String(await idToken({}, other))
      const answer = await authorize(browser, web, { id_token_hint, prompt: "none" })
      expect(answer).toHaveProperty("code")
    },
  ],
  [
    "§3.1.2.2 an unknown parameter is ignored",
    async () => expect(await authorize(browser, web, { extra: "foobar" })).toHaveProperty("code"),
  ],
  [
    "§9 client_secret_basic is what a client uses that says nothing else",
    async () => {
      expect(oidcDefaults.authMethod).toBe("basic")
      const listed = (await loadDiscovery(provider)).token_endpoint_auth_methods_supported
      expect(listed).toContain("client_secret_basic")
    },
  ],
  [
    "§15.1 display, ui_locales, claims_locales and acr_values are accepted",
    async () => {
      const all = { display: "page", ui_locales: "xx se", claims_locales: "se", acr_values: "1 2" }
      expect(await authorize(browser, web, all)).toHaveProperty("code")
      expect((await browserOf(provider).go(authorizePath(web.id, all))).response.status).toBe(200)
    },
  ],
]

const claims: readonly Row[] = [
  [
    "§5.1 claims have the types of the table",
    async () => {
      const { access_token } = await tokensOf(provider, browser, web)
      const told = await (await userinfo(provider, access_token)).json()
      const texts = ["sub", "name", "given_name", "family_name", "email", "preferred_username"]
      for (const name of texts) expect(told[name], name).toBeTypeOf("string")
      expect([told.email_verified, Number.isInteger(told.updated_at)]).toEqual([true, true])
    },
  ],
  [
    "§5.1 a claim that is empty is left out, not null",
    async () => {
      const scope = "openid profile email phone address"
      const { access_token } = await tokensOf(provider, browser, web, { scope })
      const told = await (await userinfo(provider, access_token)).json()
      expect(told).not.toHaveProperty("phone_number")
      expect(told).not.toHaveProperty("phone_number_verified")
      expect(Object.values(told).filter((each) => each === null || each === "")).toEqual([])
    },
  ],
  [
    "§5.3 userinfo may be read by scripts of other origins",
    async () => {
      const { access_token } = await tokensOf(provider, browser, web)
      const good = await userinfo(provider, access_token)
      const asked = await provider.send("/oidc/v1/userinfo", { method: "OPTIONS" })
      for (const response of [good, await userinfo(provider, "wrong"), asked]) {
        expect(response.headers.get("access-control-allow-origin")).toBe("*")
        expect(response.headers.has("access-control-allow-credentials")).toBe(false)
      }
      const refused = await userinfo(provider, "wrong")
      expect(refused.headers.get("access-control-expose-headers")).toMatch(/\bwww-authenticate\b/)
      expect(asked.headers.get("access-control-allow-headers")).toMatch(/\bauthorization\b/i)
    },
  ],
  [
    "§5.3.2 sub is always there, and the one of the id_token",
    async () => {
      for (const scope of ["openid", "openid email", "openid profile phone"]) {
        const { access_token, id_token } = await tokensOf(provider, browser, web, { scope })
        const { sub } = await (await userinfo(provider, access_token)).json()
        expect(sub).toBe(claimsOf(id_token).sub)
      }
    },
  ],
  [
    "§5.3.2 the answer is application/json",
    async () => {
      const { access_token } = await tokensOf(provider, browser, web)
      const { headers } = await userinfo(provider, access_token)
      expect(headers.get("content-type")).toMatch(/^application\/json\b/)
      expect(headers.get("cache-control")).toBe("no-store")
    },
  ],
  [
    "§5.4 each scope gives its claims at userinfo and no other",
    async () => {
      const profile = ["family_name", "given_name", "name", "preferred_username", "updated_at"]
      const scopes = {
        openid: [],
        "openid email": ["email", "email_verified"],
        "openid phone": [],
        "openid address": [],
        "openid profile": profile,
      }
      for (const [scope, names] of Object.entries(scopes)) {
        const { access_token } = await tokensOf(provider, browser, web, { scope })
        const told = Object.keys(await (await userinfo(provider, access_token)).json())
        expect(told.sort(), scope).toEqual([...names, "sub"].sort())
      }
    },
  ],
  [
    "§5.5.1 an essential claim that is not known is no error",
    async () => {
      const wish = { phone_number: { essential: true }, "x-unknown": { essential: true } }
      const claims = JSON.stringify({ userinfo: wish, id_token: wish })
      const { access_token, id_token } = await tokensOf(provider, browser, web, { claims })
      expect((await userinfo(provider, access_token)).status).toBe(200)
      expect(claimsOf(id_token)).not.toHaveProperty("phone_number")
    },
  ],
  [
    "§8 subject types are named and public is one",
    async () => expect((await loadDiscovery(provider)).subject_types_supported).toContain("public"),
  ],
]

describe("OpenID Connect Core", () => {
  test.each([...idTokens, ...requests, ...claims])("%s", (_, holds) => holds())

  test("§3.1.2.1 an id_token_hint that has expired is still a hint", async () => {
    const id_token_hint = String(await idToken())
    provider.clock.advance(2 * 86_400_000)
    expect(claimsOf(id_token_hint).exp).toBeLessThan(now())
    const answer = await authorize(browser, web, { id_token_hint, prompt: "none" })
    expect(answer).toHaveProperty("code")
  })
})
