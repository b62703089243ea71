import { createLocalJWKSet, jwtVerify } from "jose"
import * as client from "openid-client"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  redirectUri,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

let provider: Provider
let app: NewClient
beforeAll(async () => {
  provider = await openProvider()
  app = await provider.addClient()
})
afterAll(() => provider.close())

const basic = () => `${app.id}:${app.secret}`

const codeFor = async (of = app, changes = {}) => {
  const end = await browserOf(provider).signIn(authorizePath(of.id, changes))
  return responseOf(end).code ?? ""
}

const userinfo = async (token: unknown) => {
  const headers = { authorization: `Bearer ${token}` }
  return provider.send("/oidc/v1/userinfo", { headers })
}

describe("the code flow", () => {
  test("signs a user in and issues verifiable tokens", async () => {
    const end = await browserOf(provider).signIn(authorizePath(app.id))
    const { code = "" } = responseOf(end)
    // RFC 9207 §2: the response contains its issuer.
    expect(responseOf(end)).toEqual({ code, state: "s-1", iss: issuer })

    const { status, headers, answer } = await sendTokenRequest(provider, codeFields(code), basic())
    expect(status).toBe(200)
    expect(headers.get("cache-control")).toBe("no-store")
    expect(answer).toMatchObject({
      token_type: "Bearer",
      expires_in: 43_200,
      scope: "openid profile email",
    })
    const keys = await (await provider.send("/oauth/v2/keys")).json()
    const currentDate = new Date(provider.clock.now())
    const options = { issuer, audience: app.id, currentDate }
    const { payload } = await jwtVerify(String(answer.id_token), createLocalJWKSet(keys), options)
    expect(payload).toMatchObject({
      sub: provider.setup.ownerId,
      aud: app.id,
      azp: app.id,
      nonce: "n-1",
      amr: ["pwd"],
      auth_time: Math.floor(provider.clock.now() / 1000),
    })
    // Spec §2: claims of the scopes are returned at userinfo, unless the application is configured
    // otherwise.
    expect(payload).not.toHaveProperty("email")

    expect(await (await userinfo(answer.access_token)).json()).toMatchObject({
      sub: provider.setup.ownerId,
      email: "olga@example.com",
      email_verified: true,
      given_name: "Olga",
      preferred_username: "olga",
    })
  })

  test("works with openid-client, which checks everything a relying party must", async () => {
    // The library uses the machine's clock, which differs from the simulated one.
    const skew = Math.round((provider.clock.now() - Date.now()) / 1000)
    const registration = { client_secret: app.secret, [client.clockSkew]: skew }
    const config = await client.discovery(new URL(issuer), app.id, registration, undefined, {
      execute: [client.enableNonRepudiationChecks],
      [client.customFetch]: (url, { body, ...options }) =>
        provider.send(new URL(url).pathname, { ...options, body: body ? String(body) : null }),
    })
    const pkceCodeVerifier = client.randomPKCECodeVerifier()
    const expectedState = client.randomState()
    const expectedNonce = client.randomNonce()
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: "openid email",
      state: expectedState,
      nonce: expectedNonce,
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256",
    })
    const end = await browserOf(provider).signIn(url.pathname + url.search)
    const tokens = await client.authorizationCodeGrant(config, new URL(end.path), {
      pkceCodeVerifier,
      expectedState,
      expectedNonce,
      idTokenExpected: true,
    })
    const sub = tokens.claims()?.sub ?? ""
    const info = await client.fetchUserInfo(config, tokens.access_token, sub)
    expect(info).toMatchObject({ sub: provider.setup.ownerId, email: "olga@example.com" })
  })

  test("accepts a secret in header or body, and a public client with PKCE alone", async () => {
    const posted = { client_id: app.id, client_secret: app.secret }
    expect((await sendTokenRequest(provider, codeFields(await codeFor(), posted))).status).toBe(200)
    const native = await provider.addClient({ appType: "native", authMethod: "none" })
    const fields = codeFields(await codeFor(native), { client_id: native.id })
    expect((await sendTokenRequest(provider, fields)).status).toBe(200)
  })

  test("issues a JWT access token (RFC 9068) to applications configured for it", async () => {
    const jwt = await provider.addClient({ tokenType: "jwt" })
    const code = await codeFor(jwt)
    const { answer } = await sendTokenRequest(provider, codeFields(code), `${jwt.id}:${jwt.secret}`)
    const keys = await (await provider.send("/oauth/v2/keys")).json()
    const token = String(answer.access_token)
    const { payload } = await jwtVerify(token, createLocalJWKSet(keys), {
      issuer,
      audience: jwt.id,
      typ: "at+jwt",
      algorithms: ["ES256"],
      currentDate: new Date(provider.clock.now()),
    })
    expect(payload).toMatchObject({ client_id: jwt.id, scope: "openid profile email" })
    expect((await userinfo(token)).status).toBe(200)
    // An ID token is not an access token, although both are our JWTs.
    expect((await userinfo(answer.id_token)).status).toBe(401)
  })

  test("includes user claims in the id_token if the application is configured for it", async () => {
    const rich = await provider.addClient({ idTokenUserinfoAssertion: true })
    const code = await codeFor(rich)
    const { answer } = await sendTokenRequest(
      provider,
      codeFields(code),
      `${rich.id}:${rich.secret}`,
    )
    const [, body = ""] = String(answer.id_token).split(".")
    const claims = JSON.parse(Buffer.from(body, "base64url").toString())
    expect(claims.email).toBe("olga@example.com")
  })
})

describe("a code", () => {
  test("works once; a second use ends what the first issued (RFC 6749 §4.1.2)", async () => {
    const code = await codeFor()
    const first = await sendTokenRequest(provider, codeFields(code), basic())
    expect((await userinfo(first.answer.access_token)).status).toBe(200)
    provider.clock.advance(1001)
    const second = await sendTokenRequest(provider, codeFields(code), basic())
    expect(second).toMatchObject({ status: 400, answer: { error: "invalid_grant" } })
    expect((await userinfo(first.answer.access_token)).status).toBe(401)
  })

  test("that was used ends nothing when another client sends it", async () => {
    const stranger = await provider.addClient()
    const other = `${stranger.id}:${stranger.secret}`
    const browser = browserOf(provider)
    await browser.signIn(authorizePath(app.id))
    // One code from a sign-in, and one from an existing session.
    const atOnce = responseOf(await browser.go(authorizePath(app.id))).code ?? ""
    for (const code of [await codeFor(), atOnce]) {
      const first = await sendTokenRequest(provider, codeFields(code), basic())
      const stolen = await sendTokenRequest(provider, codeFields(code), other)
      expect(stolen).toMatchObject({ status: 400, answer: { error: "invalid_grant" } })
      expect((await userinfo(first.answer.access_token)).status).toBe(200)
    }
  })

  test("issues one grant to twenty concurrent uses", async () => {
    const code = await codeFor()
    const all = await Promise.all(
      Array.from({ length: 20 }, () => sendTokenRequest(provider, codeFields(code), basic())),
    )
    const [won, ...others] = all.filter(({ status }) => status === 200)
    expect(others).toEqual([])
    expect((await userinfo(won?.answer.access_token)).status).toBe(200)
    expect(all.filter(({ answer }) => answer.error === "invalid_grant")).toHaveLength(19)
    // A replay after that second revokes what the first use issued.
    provider.clock.advance(1001)
    expect((await sendTokenRequest(provider, codeFields(code), basic())).status).toBe(400)
    expect((await userinfo(won?.answer.access_token)).status).toBe(401)
  })

  test("that the same client sends twice leaves the first response valid", async () => {
    const browser = browserOf(provider)
    await browser.signIn(authorizePath(app.id))
    // One code from a sign-in, and one from an existing session.
    const atOnce = responseOf(await browser.go(authorizePath(app.id))).code ?? ""
    for (const code of [await codeFor(), atOnce]) {
      const first = await sendTokenRequest(provider, codeFields(code), basic())
      provider.clock.advance(1000)
      const second = await sendTokenRequest(provider, codeFields(code), basic())
      expect(second).toMatchObject({ status: 400, answer: { error: "invalid_grant" } })
      expect((await userinfo(first.answer.access_token)).status).toBe(200)
    }
  })

  test("that is sent twice at once, the second time without its verifier, ends all", async () => {
    const unverified = (code: string) => {
      const { code_verifier: _verifier, ...fields } = codeFields(code)
      return fields
    }
    const other = (code: string) => codeFields(code, { code_verifier: "w".repeat(43) })
    for (const fieldsOf of [unverified, other]) {
      const code = await codeFor()
      const first = await sendTokenRequest(provider, codeFields(code), basic())
      const second = await sendTokenRequest(provider, fieldsOf(code), basic())
      expect(second).toMatchObject({ status: 400, answer: { error: "invalid_grant" } })
      expect((await userinfo(first.answer.access_token)).status).toBe(401)
    }
    const unchallenged = { code_challenge: undefined, code_challenge_method: undefined }
    const fields = unverified(await codeFor(app, unchallenged))
    const first = await sendTokenRequest(provider, fields, basic())
    expect(first.status).toBe(200)
    await sendTokenRequest(provider, fields, basic())
    expect((await userinfo(first.answer.access_token)).status).toBe(401)
  })

  test("issues no token that is already revoked when it arrives", async () => {
    for (let round = 0; round < 20; round++) {
      const code = await codeFor()
      const stolen = codeFields(code, { code_verifier: "w".repeat(43) })
      const [first] = await Promise.all([
        sendTokenRequest(provider, codeFields(code), basic()),
        sendTokenRequest(provider, stolen, basic()),
      ])
      const answered = await userinfo(first.answer.access_token)
      expect([first.status, answered.status]).toEqual(
        first.status === 200 ? [200, 200] : [400, 401],
      )
    }
  })

  test("is rejected if it is too old, altered, or sent with wrong parameters", async () => {
    const stranger = await provider.addClient()
    const other = `${stranger.id}:${stranger.secret}`
    const refused = async (code: string, changes = {}, as = basic()) => {
      const { status, answer } = await sendTokenRequest(provider, codeFields(code, changes), as)
      expect([status, answer.error]).toEqual([400, "invalid_grant"])
    }
    const code = await codeFor()
    await refused(code.slice(0, -1))
    await refused(`${code}A`)
    await refused(`${code}=`)
    await refused(code, {}, other)
    await refused(code, { redirect_uri: `${redirectUri}/` })
    await refused(code, { code_verifier: "w".repeat(43) })
    await refused(code, { code_verifier: "short" })
    const unchallenged = { code_challenge: undefined, code_challenge_method: undefined }
    await refused(await codeFor(app, unchallenged))
    provider.clock.advance(60_000)
    await refused(code)
  })
})

describe("client authentication", () => {
  type Case = readonly [string, () => Record<string, string>, () => string | undefined]
  const cases: readonly Case[] = [
    ["a wrong secret", () => ({}), () => `${app.id}:wrong`],
    ["an unknown client", () => ({}), () => "nobody:wrong"],
    ["no authentication", () => ({}), () => undefined],
    ["a client with a secret that shows none", () => ({ client_id: app.id }), () => undefined],
    ["an empty secret", () => ({}), () => `${app.id}:`],
    ["a broken header", () => ({}), () => "%zz:%zz"],
  ]
  test.each(cases)("rejects %s with 401 invalid_client", async (_, fields, as) => {
    const { status, headers, answer } = await sendTokenRequest(
      provider,
      codeFields("c", fields()),
      as(),
    )
    expect([status, answer.error]).toEqual([401, "invalid_client"])
    expect(headers.get("www-authenticate")).toBe('Basic realm="client"')
  })

  test("uses one method only (RFC 6749 §2.3)", async () => {
    const fields = codeFields("c", { client_secret: app.secret })
    expect((await sendTokenRequest(provider, fields, basic())).answer.error).toBe("invalid_request")
  })

  test("rejects a deactivated application", async () => {
    const off = await provider.addClient()
    const code = await codeFor(off)
    const { deactivateApplication } = await import("../../src/domain/app/index.ts")
    await deactivateApplication(provider.cx(), off.appId)
    const { status, answer } = await sendTokenRequest(
      provider,
      codeFields(code),
      `${off.id}:${off.secret}`,
    )
    expect([status, answer.error]).toEqual([401, "invalid_client"])
  })
})

describe("the token endpoint", () => {
  const bad: readonly (readonly [string, string, string])[] = [
    ["an unknown grant", "grant_type=password", "unsupported_grant_type"],
    ["no grant", "code=x", "invalid_request"],
    ["a repeated parameter", "grant_type=a&grant_type=a", "invalid_request"],
  ]
  test.each(bad)("rejects %s", async (_, text, error) => {
    const headers = { "content-type": "application/x-www-form-urlencoded" }
    const response = await provider.send("/oauth/v2/token", { method: "POST", body: text, headers })
    expect([response.status, (await response.json()).error]).toEqual([400, error])
  })

  test("requires a form and the method POST", async () => {
    const headers = { "content-type": "application/json" }
    const init = { method: "POST", body: "{}", headers }
    expect((await provider.send("/oauth/v2/token", init)).status).toBe(400)
    const get = await provider.send("/oauth/v2/token")
    expect([get.status, get.headers.get("allow")]).toEqual([405, "POST"])
  })
})
