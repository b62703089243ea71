// `client_id` in ID tokens: a claim of access tokens (RFC 9068 §2.2) that earlier versions wrote
// into ID tokens, too.
import { decodeJwt } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { changeApplication, findClient, type OidcConfig } from "../../src/domain/app/index.ts"
import { addExistingClient, basicOf } from "./clients.ts"
import { exchangeGrant, typeOf } from "./exchange.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  password,
  redirectUri,
} from "./provider.ts"
import { letRegister, sendMetadata } from "./registering.ts"

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
let fresh: NewClient
let existing: NewClient
beforeAll(async () => {
  provider = await openProvider()
  fresh = await provider.addClient(oidc)
  existing = await addExistingClient(provider, oidc)
})
afterAll(() => provider.close())

type Changes = Readonly<Record<string, string>>

const token = async ({ id, secret }: NewClient, fields: Changes) => {
  const { status, answer } = await askToken(provider, fields, basicOf(id, secret))
  expect([status, answer.error_description]).toEqual([200, undefined])
  return answer
}

async function signIn(client: NewClient, changes: Changes = {}) {
  const end = await browserOf(provider).signIn(authorizePath(client.id, changes))
  return token(client, codeFields(answerOf(end).code ?? ""))
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
    headers: { authorization: `Basic ${btoa(basicOf(client.id, client.secret))}` },
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

/** RFC 8693 §2.2.1: an ID token in the place of the access token. */
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

const paths = [
  ["a code", byCode],
  ["a refresh token", byRefresh],
  ["the implicit flow (id_token)", byFragment("id_token")],
  ["the implicit flow (id_token token)", byFragment("id_token token")],
  ["a device code", byDevice],
  ["a token exchange", byExchange],
] as const

describe("client_id in an ID token", () => {
  test.each(paths)("by %s is there for an existing application alone", async (_, idTokenOf) => {
    const claims = decodeJwt(String(await idTokenOf(fresh)))
    expect(claims.azp).toBe(fresh.id)
    expect(claims).not.toHaveProperty("client_id")
    expect(decodeJwt(String(await idTokenOf(existing)))).toMatchObject({ client_id: existing.id })
  })

  test("follows the switch of the application", async () => {
    const other = await provider.addClient({ ...oidc, idTokenClientId: true })
    expect(decodeJwt(String(await byCode(other)))).toMatchObject({ client_id: other.id })
    await changeApplication(provider.cx(), other.appId, { oidc: { idTokenClientId: false } })
    expect(decodeJwt(String(await byCode(other)))).not.toHaveProperty("client_id")
  })

  test("stays away from applications that register themselves", async () => {
    await letRegister(provider)
    const { answer } = await sendMetadata(provider, { redirect_uris: [redirectUri] })
    const registered = findClient(provider.cx(), String(answer.client_id))?.state
    expect(registered).toMatchObject({ oidc: { idTokenClientId: false } })
  })

  test("does not decide over access tokens, which always have it (RFC 9068 §2.2)", async () => {
    for (const client of [fresh, existing]) {
      const { access_token: access } = await signIn(client)
      expect(decodeJwt(String(access))).toMatchObject({ client_id: client.id })
    }
  })

  test("is not needed to tell whose hint it is, nor makes the token one for access", async () => {
    const browser = browserOf(provider)
    const end = await browser.signIn(authorizePath(fresh.id))
    const hint = String((await token(fresh, codeFields(answerOf(end).code ?? ""))).id_token)
    const headers = { authorization: `Bearer ${hint}` }
    expect((await provider.send("/oidc/v1/userinfo", { headers })).status).toBe(401)
    const query = new URLSearchParams({ id_token_hint: hint, client_id: fresh.id })
    await browser.go(`/oidc/v1/endsession?${query}`)
    const again = authorizePath(fresh.id, { prompt: "none" })
    expect(answerOf(await browser.go(again)).error).toBe("login_required")
  })
})
