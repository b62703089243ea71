// `client_id` in ID tokens: a claim of access tokens (RFC 9068 §2.2) that earlier versions also
// added to ID tokens.
import { decodeJwt } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { findClient, type OidcConfig, updateApplication } from "../../src/domain/app/index.ts"
import { addExistingClient, encodeBasic } from "./clients.ts"
import { exchangeGrant, typeOf } from "./exchange.ts"
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
import { enableRegistration, sendMetadata } from "./registration.ts"

const grantTypes = [
  ...(["authorization_code", "refresh_token", "implicit"] as const),
  ...(["device_code", "token_exchange"] as const),
]
const oidc: Partial<OidcConfig> = {
  grantTypes,
  responseTypes: ["code", "id_token", "id_token_token"],
  tokenType: "jwt",
}

let provider: Provider
let newApp: NewClient
let existingApp: NewClient
beforeAll(async () => {
  provider = await openProvider()
  newApp = await provider.addClient(oidc)
  existingApp = await addExistingClient(provider, oidc)
})
afterAll(() => provider.close())

type Changes = Readonly<Record<string, string>>

const token = async ({ id, secret }: NewClient, fields: Changes) => {
  const { status, answer } = await sendTokenRequest(provider, fields, encodeBasic(id, secret))
  expect([status, answer.error_description]).toEqual([200, undefined])
  return answer
}

async function signIn(client: NewClient, changes: Changes = {}) {
  const end = await browserOf(provider).signIn(authorizePath(client.id, changes))
  return token(client, codeFields(responseOf(end).code ?? ""))
}

const byCode = async (client: NewClient) => (await signIn(client)).id_token

async function byRefresh(client: NewClient) {
  const first = await signIn(client, { scope: "openid offline_access" })
  const refresh_token = String(first.refresh_token)
  return (await token(client, { grant_type: "refresh_token", refresh_token })).id_token
}

const byFragment = (response_type: string) => async (client: NewClient) => {
  const path = authorizePath(client.id, { response_type }).replace(/&code_challenge[^&]*/g, "")
  const end = await browserOf(provider).signIn(path)
  return new URLSearchParams(new URL(end.path).hash.slice(1)).get("id_token")
}

async function byDevice(client: NewClient) {
  const sent = await provider.send("/oauth/v2/device_authorization", {
    method: "POST",
    body: new URLSearchParams({ scope: "openid" }),
    headers: { authorization: `Basic ${btoa(encodeBasic(client.id, client.secret))}` },
  })
  const { user_code: userCode, device_code } = await sent.json()
  const browser = browserOf(provider)
  const named = await browser.post(await browser.go("/device"), { userCode })
  const asked = await browser.post(named, { loginName: "olga" })
  const entered = await browser.post(asked, { loginName: "olga", password })
  await browser.post(entered, { answer: "allow" })
  const grant_type = "urn:ietf:params:oauth:grant-type:device_code"
  return (await token(client, { grant_type, device_code })).id_token
}

/** RFC 8693 §2.2.1: an ID token in place of the access token. */
async function byExchange(client: NewClient) {
  const { access_token: subject } = await signIn(client)
  const answer = await token(client, {
    grant_type: exchangeGrant,
    subject_token: String(subject),
    subject_token_type: typeOf("access_token"),
    requested_token_type: typeOf("id_token"),
  })
  return answer.access_token
}

const flows = [
  ["a code", byCode],
  ["a refresh token", byRefresh],
  ["the implicit flow (id_token)", byFragment("id_token")],
  ["the implicit flow (id_token token)", byFragment("id_token token")],
  ["a device code", byDevice],
  ["a token exchange", byExchange],
] as const

describe("client_id in an ID token", () => {
  test.each(flows)("by %s exists for an existing application only", async (_, idTokenOf) => {
    const claims = decodeJwt(String(await idTokenOf(newApp)))
    expect(claims.azp).toBe(newApp.id)
    expect(claims).not.toHaveProperty("client_id")
    expect(decodeJwt(String(await idTokenOf(existingApp)))).toMatchObject({
      client_id: existingApp.id,
    })
  })

  test("follows the application's setting", async () => {
    const other = await provider.addClient({ ...oidc, idTokenClientId: true })
    expect(decodeJwt(String(await byCode(other)))).toMatchObject({ client_id: other.id })
    await updateApplication(provider.cx(), other.appId, { oidc: { idTokenClientId: false } })
    expect(decodeJwt(String(await byCode(other)))).not.toHaveProperty("client_id")
  })

  test("is absent for dynamically registered applications", async () => {
    await enableRegistration(provider)
    const { answer } = await sendMetadata(provider, { redirect_uris: [redirectUri] })
    const registered = findClient(provider.cx(), String(answer.client_id))?.state
    expect(registered).toMatchObject({ oidc: { idTokenClientId: false } })
  })

  test("does not affect access tokens, which always have it (RFC 9068 §2.2)", async () => {
    for (const client of [newApp, existingApp]) {
      const { access_token: access } = await signIn(client)
      expect(decodeJwt(String(access))).toMatchObject({ client_id: client.id })
    }
  })

  test("is neither required in a hint, nor makes the token an access token", async () => {
    const browser = browserOf(provider)
    const end = await browser.signIn(authorizePath(newApp.id))
    const hint = String((await token(newApp, codeFields(responseOf(end).code ?? ""))).id_token)
    const headers = { authorization: `Bearer ${hint}` }
    expect((await provider.send("/oidc/v1/userinfo", { headers })).status).toBe(401)
    const query = new URLSearchParams({ id_token_hint: hint, client_id: newApp.id })
    await browser.go(`/oidc/v1/endsession?${query}`)
    const again = authorizePath(newApp.id, { prompt: "none" })
    expect(responseOf(await browser.go(again)).error).toBe("login_required")
  })
})
