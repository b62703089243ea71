import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  type Browser,
  claimsOf,
  headerOf,
  openSignedIn,
  type Row,
  tokensOf,
  userinfo,
} from "./must.ts"
import {
  authorizePath,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  sendTokenRequest,
} from "./provider.ts"
import { addMachine } from "./service-account.ts"

let provider: Provider
let jwt: NewClient
let browser: Browser
beforeAll(async () => {
  provider = await openProvider()
  jwt = await provider.addClient({ tokenType: "jwt" })
  browser = await openSignedIn(provider, jwt)
})
afterAll(() => provider.close())

const rows: readonly Row[] = [
  [
    "§2.1 a JWT access token is signed by an asymmetric key, never none",
    async () => {
      const { access_token } = await tokensOf(provider, browser, jwt)
      const { keys } = await (await provider.send("/oauth/v2/keys")).json()
      const { alg, kid } = headerOf(access_token)
      const own = keys.find((key: { kid: string }) => key.kid === kid)
      expect([own.alg, own.kty]).toEqual([alg, expect.stringMatching(/^(EC|RSA|OKP)$/)])
    },
  ],
  [
    "§2.2 it has iss, exp, aud, sub, client_id, iat and jti",
    async () => {
      const claims = claimsOf((await tokensOf(provider, browser, jwt)).access_token)
      expect(claims).toMatchObject({
        iss: issuer,
        sub: provider.setup.ownerId,
        client_id: jwt.id,
        aud: expect.arrayContaining([jwt.id]),
        jti: expect.stringMatching(/./),
      })
      const now = Math.floor(provider.clock.now() / 1000)
      expect([claims.iat, claims.exp]).toEqual([now, now + 43_200])
      // Accepted by a resource server whose clock is behind.
      expect(claims.nbf).toBe(now - 60)
    },
  ],
  [
    "§2.2 jti is different in every token",
    async () => {
      const made = [1, 2, 3].map(() => tokensOf(provider, browser, jwt))
      const ids = (await Promise.all(made)).map(({ access_token }) => claimsOf(access_token).jti)
      expect(new Set(ids).size).toBe(3)
    },
  ],
  [
    "§2.2.2 what it tells of a person is only what the scopes allow",
    async () => {
      const { access_token } = await tokensOf(provider, browser, jwt, { scope: "openid" })
      for (const name of ["email", "name", "given_name", "preferred_username", "phone_number"]) {
        expect(claimsOf(access_token)).not.toHaveProperty(name)
      }
    },
  ],
  [
    "§3 its audience is never empty",
    async () => {
      const machine = await addMachine(provider, "jwt")
      const { answer } = await sendTokenRequest(provider, await machine.fields({}, "openid"))
      expect(claimsOf(answer.access_token).aud).not.toEqual([])
      const { access_token } = await tokensOf(provider, browser, jwt, { scope: "openid" })
      expect(claimsOf(access_token).aud).toContain(jwt.id)
    },
  ],
  [
    "§3 sub is the person, or the service user that acts for itself",
    async () => {
      const machine = await addMachine(provider, "jwt")
      const { answer } = await sendTokenRequest(provider, await machine.fields({}, "openid"))
      expect(claimsOf(answer.access_token).sub).toBe(machine.userId)
      const { access_token } = await tokensOf(provider, browser, jwt)
      expect(claimsOf(access_token).sub).toBe(provider.setup.ownerId)
    },
  ],
  [
    "§4 errors are those of RFC 6750 §3.1",
    async () => {
      const { access_token } = await tokensOf(provider, browser, jwt)
      const response = await userinfo(provider, String(access_token).replace(/\.[^.]*$/, ".AAAA"))
      expect(response.status).toBe(401)
      expect(response.headers.get("www-authenticate")).toMatch(/^Bearer .*error="invalid_token"/)
    },
  ],
  [
    "§5 it does not pass for an id_token",
    async () => {
      const { access_token } = await tokensOf(provider, browser, jwt)
      const hint = { id_token_hint: String(access_token), prompt: "none" }
      const { path: back } = await browser.go(authorizePath(jwt.id, hint))
      expect(new URL(back).searchParams.get("error")).toBe("invalid_request")
      const end = await browser.go(`/oidc/v1/endsession?id_token_hint=${access_token}`)
      expect(end.response.status).toBe(400)
    },
  ],
]

describe("RFC 9068", () => {
  test.each(rows)("%s", (_, holds) => holds())
})
