import { decodeJwt, decodeProtectedHeader } from "jose"
import {
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

/** A requirement, starting with its section, and the check that it is met. */
export type Row = readonly [demand: string, holds: () => Promise<void>]

export type Browser = ReturnType<typeof browserOf>

/** A browser in which the owner is signed in. */
export async function openSignedIn(provider: Provider, client: NewClient): Promise<Browser> {
  const browser = browserOf(provider)
  await browser.signIn(authorizePath(client.id))
  return browser
}

type Changes = Readonly<Record<string, string | undefined>>

/** The response fields for a request of a signed-in browser. */
export const authorize = async (browser: Browser, client: NewClient, changes: Changes = {}) =>
  responseOf(await browser.go(authorizePath(client.id, changes)))

/** The tokens of a signed-in user; the client uses its configured authentication. */
export async function tokensOf(
  provider: Provider,
  browser: Browser,
  client: NewClient,
  changes: Changes = {},
): Promise<Record<string, unknown>> {
  const { code = "", error } = await authorize(browser, client, changes)
  if (error) throw new Error(`no code, but ${error}`)
  const secret = client.secret ? `${client.id}:${client.secret}` : undefined
  const named: Record<string, string> = secret ? {} : { client_id: client.id }
  if (changes.redirect_uri) named.redirect_uri = changes.redirect_uri
  const { status, answer } = await sendTokenRequest(provider, codeFields(code, named), secret)
  if (status !== 200) throw new Error(`no tokens, but ${JSON.stringify(answer)}`)
  return answer
}

/** The userinfo response for a token in the header. */
export const userinfo = (provider: Provider, token: unknown, init: RequestInit = {}) =>
  provider.send("/oidc/v1/userinfo", { ...init, headers: { authorization: `Bearer ${token}` } })

/** Posts a raw body. */
export const post = (
  provider: Provider,
  path: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
) => provider.send(path, { method: "POST", body, headers: { ...form, ...headers } })

const form = { "content-type": "application/x-www-form-urlencoded" } as const

export const basicHeader = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`,
})

export const claimsOf = (jwt: unknown): Record<string, unknown> => ({ ...decodeJwt(String(jwt)) })
export const headerOf = (jwt: unknown) => ({ ...decodeProtectedHeader(String(jwt)) })

/** The discovery document. */
export async function loadDiscovery(provider: Provider): Promise<Record<string, unknown>> {
  return (await provider.send("/.well-known/openid-configuration")).json()
}

/** Whether it is our issuer: https, without query or fragment. */
export const isPlainIssuer = (text: unknown): boolean =>
  text === issuer && /^https:\/\/[^?#]+$/.test(String(text))

/** RFC 6749 §5.2: the characters allowed in a description. */
export const descriptionPattern = /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/
