import { decodeJwt } from "jose"
import * as oauth from "oauth4webapi"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { updateApplication } from "../../src/domain/app/index.ts"
import { exchangeGrant, typeOf } from "./exchange.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  findApiCaller,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  password,
  redirectUri,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"
import { enableRegistration, nativeMetadata, sendMetadata } from "./registration.ts"

/** Plain OAuth 2.0: requests without the scope openid, and their responses. */
const management = "urn:core:iam:org:project:id:core:aud"
const [local] = nativeMetadata.redirect_uris

type Client = NewClient & { readonly uri: string }

let provider: Provider
/** An application with the setting enabled. */
let plain: Client
/** An application without the setting. */
let strict: Client
/** A dynamically registered client. */
let desk: Client
beforeAll(async () => {
  provider = await openProvider()
  await enableRegistration(provider)
  const grantTypes = ["authorization_code", "refresh_token"] as const
  const add = async (more: object) => {
    const client = await provider.addClient({ grantTypes, tokenType: "jwt", ...more })
    return { ...client, uri: redirectUri }
  }
  plain = await add({ plainOauth: true })
  strict = await add({})
  const { answer } = await sendMetadata(provider, nativeMetadata)
  desk = { appId: "", id: String(answer.client_id), secret: "", uri: local }
})
afterAll(() => provider.close())

const credentials = ({ id, secret }: NewClient) => (secret === "" ? undefined : `${id}:${secret}`)

/** The response parameters on the front channel. */
async function authorize(client: Client, changes: Record<string, string | undefined>) {
  const path = authorizePath(client.id, { redirect_uri: client.uri, nonce: undefined, ...changes })
  const browser = browserOf(provider)
  const first = await browser.go(path)
  if (first.path.startsWith(client.uri)) return responseOf(first)
  let end = await browser.signIn(path)
  if (!end.path.startsWith(client.uri)) end = await browser.post(end, { answer: "allow" })
  return responseOf(end)
}

/** The token response for its code. */
async function requestTokens(client: Client, changes: Record<string, string | undefined>) {
  const { code = "", error } = await authorize(client, changes)
  expect(error).toBeUndefined()
  const own = client.secret === "" ? { client_id: client.id } : {}
  const fields = codeFields(code, { redirect_uri: client.uri, ...own })
  const { status, answer } = await sendTokenRequest(provider, fields, credentials(client))
  expect([status, answer.error_description]).toEqual([200, undefined])
  return answer
}

const refresh = (client: Client, token: unknown, fields: Record<string, string> = {}) =>
  sendTokenRequest(
    provider,
    {
      grant_type: "refresh_token",
      refresh_token: String(token),
      ...(client.secret === "" && { client_id: client.id }),
      ...fields,
    },
    credentials(client),
  )

const userinfo = (token: unknown) =>
  provider.send("/oidc/v1/userinfo", { headers: { authorization: `Bearer ${token}` } })

const clients = [
  ["an application with the switch", () => plain],
  ["a client that registered itself", () => desk],
] as const

describe.each(clients)("a request without openid of %s", (_, of) => {
  const requests = [
    [undefined, ""],
    ["", ""],
    ["profile email", "profile email"],
    ["read:user", ""],
    ["mcp:tools mcp:resources", ""],
    ["OPENID", ""],
  ] as const
  test.each(requests)("is accepted with the scope %j", async (scope, granted) => {
    const answer = await requestTokens(of(), { scope })
    expect(answer).toMatchObject({ token_type: "Bearer", scope: granted })
    expect(answer).not.toHaveProperty("id_token")
    const claims = decodeJwt(String(answer.access_token))
    expect(claims).toMatchObject({ sub: provider.setup.ownerId, scope: granted })
  })

  test("is rejected at userinfo, which names the missing scope", async () => {
    const { access_token } = await requestTokens(of(), { scope: "profile" })
    const response = await userinfo(access_token)
    expect(response.status).toBe(403)
    const challenge = response.headers.get("www-authenticate")
    expect(challenge).toContain('error="insufficient_scope"')
    expect(challenge).toContain('scope="openid"')
  })

  const ways = [
    ["by scope", { scope: `profile ${management}` }],
    ["by scope alone", { scope: management }],
    ["in another case", { scope: `OpenID ${management}` }],
    ["with a tab for a space", { scope: `openid\t${management} ${management}` }],
  ] as const
  test.each(ways)("gets no management audience %s", async (_method, changes) => {
    const { access_token } = await requestTokens(of(), changes)
    const { aud, scope } = decodeJwt(String(access_token))
    expect(aud).not.toContain(provider.ownProjectId)
    expect(scope).not.toContain("urn:")
    await expect(findApiCaller(provider, String(access_token))).rejects.toThrow(
      "the access token is not valid for this API",
    )
  })

  test("gets no management audience by our project ID or resource", async () => {
    const ours = `urn:core:iam:org:project:id:${provider.ownProjectId}:aud`
    const { access_token } = await requestTokens(of(), { scope: ours })
    expect(decodeJwt(String(access_token)).aud).not.toContain(provider.ownProjectId)
    for (const resource of [issuer, `${issuer}/`, management, ours]) {
      expect(await authorize(of(), { scope: "profile", resource })).toMatchObject({
        error: "invalid_target",
        error_description: expect.stringContaining("resource requires the scope openid"),
      })
    }
  })

  test("is rejected if it repeats the parameter", async () => {
    const path = authorizePath(of().id, { redirect_uri: of().uri, scope: "profile" })
    const response = await provider.send(`${path}&scope=openid`)
    expect(response.headers.get("location")).toContain("error=invalid_request")
  })

  test("never gets an ID token or openid by its refresh token", async () => {
    const first = await requestTokens(of(), { scope: "profile offline_access" })
    const again = await refresh(of(), first.refresh_token)
    expect(again.answer).toMatchObject({ scope: "profile offline_access" })
    expect(again.answer).not.toHaveProperty("id_token")
    for (const scope of ["openid", "profile openid", management, `profile ${management}`]) {
      const { answer } = await refresh(of(), again.answer.refresh_token, { scope })
      expect(answer.error).toBe("invalid_scope")
    }
  })

  test("with openid is unchanged: an ID token, userinfo, the management audience", async () => {
    const answer = await requestTokens(of(), {
      scope: `openid profile offline_access ${management}`,
    })
    expect(answer).toHaveProperty("id_token")
    expect((await userinfo(answer.access_token)).status).toBe(200)
    expect(decodeJwt(String(answer.access_token)).aud).toContain(provider.ownProjectId)
    // RFC 6749 §6: without openid the narrowed token is plain OAuth. A rejection consumes nothing.
    const ours = { scope: `profile ${management}`, resource: issuer }
    const { answer: none } = await refresh(of(), answer.refresh_token, ours)
    expect(none.error).toBe("invalid_target")
    const { answer: less } = await refresh(of(), answer.refresh_token, {
      scope: `profile ${management}`,
    })
    expect(less).toMatchObject({ scope: "profile" })
    expect(less).not.toHaveProperty("id_token")
    expect(decodeJwt(String(less.access_token)).aud).not.toContain(provider.ownProjectId)
  })
})

describe("plain OAuth 2.0", () => {
  test("is not available to other applications", async () => {
    for (const scope of [undefined, "", "profile", "read:user", "OpenID"]) {
      expect(await authorize(strict, { scope })).toMatchObject({ error: "invalid_scope" })
    }
  })

  test("can be turned off for later requests", async () => {
    const client = { ...(await provider.addClient({ plainOauth: true })), uri: redirectUri }
    await requestTokens(client, { scope: "profile" })
    await updateApplication(provider.cx(), client.appId, { oidc: { plainOauth: false } })
    expect(await authorize(client, { scope: "profile" })).toMatchObject({ error: "invalid_scope" })
  })

  test.each(["id_token", "id_token token"])("issues no %s without openid", async (type) => {
    const responseTypes = ["id_token", "id_token_token"] as const
    const oidc = { plainOauth: true, grantTypes: ["implicit"], responseTypes } as const
    const client = await provider.addClient(oidc)
    const path = authorizePath(client.id, { response_type: type, scope: "profile" })
    const response = await provider.send(path)
    expect(response.headers.get("location")).toContain("error=invalid_scope")
  })

  test("can be pushed", async () => {
    const push = (client: Client) => {
      const form = new URL(authorizePath(client.id, { scope: undefined }), issuer).searchParams
      const basic = Buffer.from(`${client.id}:${client.secret}`).toString("base64")
      const headers = { authorization: `Basic ${basic}` }
      return provider.send("/oauth/v2/par", { method: "POST", body: form, headers })
    }
    const pushed = await push(plain)
    expect(pushed.status).toBe(201)
    const { request_uri } = await pushed.json()
    const query = new URLSearchParams({ client_id: plain.id, request_uri })
    const end = await browserOf(provider).signIn(`/oauth/v2/authorize?${query}`)
    const { code = "" } = responseOf(end)
    const { answer } = await sendTokenRequest(provider, codeFields(code), credentials(plain))
    expect([answer.scope, answer.id_token]).toEqual(["", undefined])
    expect(await (await push(strict)).json()).toMatchObject({ error: "invalid_scope" })
  })

  const grant_type = "urn:ietf:params:oauth:grant-type:device_code"
  const devices = [
    [
      "with the switch",
      () =>
        provider.addClient({
          plainOauth: true,
          grantTypes: ["device_code"],
          authMethod: "none",
          tokenType: "jwt",
        }),
    ],
    [
      "that registered itself",
      async () => {
        const grant_types = [...nativeMetadata.grant_types, grant_type]
        const { answer } = await sendMetadata(provider, { ...nativeMetadata, grant_types })
        return { id: String(answer.client_id) }
      },
    ],
  ] as const

  test.each(devices)("is available to a device without openid, one %s", async (_, make) => {
    const tv = await make()
    const begin = { client_id: tv.id, scope: `profile ${management}` }
    const body = new URLSearchParams(begin)
    const asked = await provider.send("/oauth/v2/device_authorization", { method: "POST", body })
    const { user_code: userCode, device_code } = await asked.json()
    const browser = browserOf(provider)
    const named = await browser.post(await browser.go("/device"), { userCode })
    const signed = await browser.post(await browser.post(named, { loginName: "olga" }), {
      loginName: "olga",
      password,
    })
    expect(signed.page).not.toContain("manage this Latchkey")
    await browser.post(signed, { answer: "allow" })
    const fields = { grant_type, client_id: tv.id, device_code }
    const { answer } = await sendTokenRequest(provider, fields)
    expect(answer).toMatchObject({ scope: "profile" })
    expect(answer).not.toHaveProperty("id_token")
    expect(decodeJwt(String(answer.access_token)).aud).not.toContain(provider.ownProjectId)
  })

  test("gains nothing by an exchange", async () => {
    const gateway = await provider.addClient({ grantTypes: ["token_exchange"] })
    const { access_token } = await requestTokens(plain, { scope: "profile email" })
    const exchange = (fields: Record<string, string>) =>
      sendTokenRequest(
        provider,
        {
          grant_type: exchangeGrant,
          subject_token: String(access_token),
          subject_token_type: typeOf("access_token"),
          ...fields,
        },
        `${gateway.id}:${gateway.secret}`,
      )
    expect((await exchange({ scope: "email" })).answer).toMatchObject({ scope: "email" })
    const more = [
      { scope: "openid" },
      { scope: `email ${management}` },
      { requested_token_type: typeOf("id_token") },
    ]
    for (const fields of more) {
      expect((await exchange(fields)).answer.error).toBe("invalid_scope")
    }
    const { answer } = await exchange({ audience: provider.ownProjectId })
    expect(answer.error).toBe("invalid_target")
  })

  test("adds no management audience for an application of our own project", async () => {
    const inside = await provider.addClient({ plainOauth: true }, provider.ownProjectId)
    const { access_token } = await requestTokens(
      { ...inside, uri: redirectUri },
      { scope: "profile" },
    )
    await expect(findApiCaller(provider, String(access_token))).rejects.toThrow(
      "the access token is not valid for this API",
    )
  })

  test("returns the granted scopes at introspection", async () => {
    const { access_token } = await requestTokens(plain, { scope: "email read:user" })
    const basic = Buffer.from(`${plain.id}:${plain.secret}`).toString("base64")
    const body = new URLSearchParams({ token: String(access_token) })
    const headers = { authorization: `Basic ${basic}` }
    const response = await provider.send("/oauth/v2/introspect", { method: "POST", body, headers })
    expect(await response.json()).toMatchObject({ active: true, scope: "email" })
  })

  test("works with oauth4webapi, without any scope", async () => {
    const as = {
      issuer,
      token_endpoint: `${issuer}/oauth/v2/token`,
      authorization_response_iss_parameter_supported: true,
    }
    const client = { client_id: plain.id }
    const answer = await authorize(plain, { scope: undefined })
    const params = oauth.validateAuthResponse(as, client, new URLSearchParams(answer), "s-1")
    const send = (url: string, init: RequestInit) => {
      const { pathname, search } = new URL(url)
      return provider.send(pathname + search, init)
    }
    const options = { [oauth.customFetch]: send } as const
    const response = await oauth.authorizationCodeGrantRequest(
      ...([as, client, oauth.ClientSecretBasic(plain.secret), params, redirectUri] as const),
      ...(["v".repeat(43), options] as const),
    )
    const tokens = await oauth.processAuthorizationCodeResponse(as, client, response)
    expect([tokens.token_type, tokens.id_token]).toEqual(["bearer", undefined])
    const expected = { ...as, jwks_uri: `${issuer}/oauth/v2/keys` }
    const request = new Request("https://api.example.com/", {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    })
    const fetch = (url: string) => provider.send(new URL(url).pathname)
    const claims = await oauth.validateJwtAccessToken(expected, request, plain.id, {
      [oauth.customFetch]: fetch,
      [oauth.clockSkew]: Math.round((provider.clock.now() - Date.now()) / 1000),
    })
    expect(claims.sub).toBe(provider.setup.ownerId)
  })
})
