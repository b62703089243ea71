import { expect } from "vitest"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

export const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"
/** RFC 8693 §3: the type of a token. */
export const typeOf = (name: string) => `urn:ietf:params:oauth:token-type:${name}`
export const userIdType = "urn:core:params:oauth:token-type:user_id"

export type Fields = Readonly<Record<string, string>>
export const credentialsOf = ({ id, secret }: NewClient) => `${id}:${secret}`

/** A provider with an application that users sign in to, and one that exchanges their tokens. */
export async function openExchange() {
  const provider = await openProvider()
  const web = await provider.addClient({ grantTypes: ["authorization_code", "refresh_token"] })
  const gateway = await provider.addClient({ grantTypes: ["token_exchange"] })

  const signIn = async (name = "olga", client = web, scope = "openid profile email") => {
    const browser = browserOf(provider)
    const path = authorizePath(client.id, { scope })
    let end = await browser.signIn(path, name)
    if (!end.path.startsWith("https://app.")) end = await browser.post(end, { answer: "allow" })
    const { code = "" } = responseOf(end)
    const { answer } = await sendTokenRequest(provider, codeFields(code), credentialsOf(client))
    const [access, id] = [String(answer.access_token), String(answer.id_token)]
    return { browser, access, id, refresh: String(answer.refresh_token) }
  }
  const exchange = (token: string, fields: Fields = {}, client = gateway) => {
    const subject = { subject_token: token, subject_token_type: typeOf("access_token") }
    const all = { grant_type: exchangeGrant, ...subject, ...fields }
    return sendTokenRequest(provider, all, credentialsOf(client))
  }
  const exchanged = async (token: string, fields: Fields = {}, client = gateway) => {
    const { status, answer } = await exchange(token, fields, client)
    expect([status, answer.error_description]).toEqual([200, undefined])
    return answer
  }
  const refused = async (token: string, fields: Fields, error = "invalid_request") => {
    const { status, answer } = await exchange(token, fields)
    expect([status, answer.error]).toEqual([400, error])
    expect(answer).not.toHaveProperty("access_token")
  }
  const introspect = async (token: unknown) => {
    const headers = {
      authorization: `Basic ${Buffer.from(credentialsOf(gateway)).toString("base64")}`,
    }
    const body = new URLSearchParams({ token: String(token) })
    const init = { method: "POST", body, headers }
    return (await provider.send("/oauth/v2/introspect", init)).json()
  }
  const statusOf = async (token: unknown) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await provider.send("/oidc/v1/userinfo", { headers })).status
  }
  return { provider, web, gateway, signIn, exchange, exchanged, refused, introspect, statusOf }
}
