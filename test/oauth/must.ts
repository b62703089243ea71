import { decodeJwt, decodeProtectedHeader } from "jose"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  type Provider,
} from "./provider.ts"

/** A demand, by its section, and what shows that it is met. */
export type Row = readonly [demand: string, holds: () => Promise<void>]

export type Browser = ReturnType<typeof browserOf>

/** A browser in which the owner is signed in. */
export async function signedIn(provider: Provider, client: NewClient): Promise<Browser> {
  const browser = browserOf(provider)
  await browser.signIn(authorizePath(client.id))
  return browser
}

type Changes = Readonly<Record<string, string | undefined>>

/** The fields that a request of a signed-in browser is answered with. */
export const answered = async (browser: Browser, client: NewClient, changes: Changes = {}) =>
  answerOf(await browser.go(authorizePath(client.id, changes)))

/** What a signed-in person's tokens are; the client authenticates as it was made to. */
export async function tokensOf(
  provider: Provider,
  browser: Browser,
  client: NewClient,
  changes: Changes = {},
): Promise<Record<string, unknown>> {
  const { code = "", error } = await answered(browser, client, changes)
  if (error) throw new Error(`no code, but ${error}`)
  const secret = client.secret ? `${client.id}:${client.secret}` : undefined
  const named: Record<string, string> = secret ? {} : { client_id: client.id }
  if (changes.redirect_uri) named.redirect_uri = changes.redirect_uri
  const { status, answer } = await askToken(provider, codeFields(code, named), secret)
  if (status !== 200) throw new Error(`no tokens, but ${JSON.stringify(answer)}`)
  return answer
}

/** The answer of userinfo to a token in the header. */
export const userinfo = (provider: Provider, token: unknown, init: RequestInit = {}) =>
  provider.send("/oidc/v1/userinfo", { ...init, headers: { authorization: `Bearer ${token}` } })

/** Posts a body as it stands. */
export const post = (
  provider: Provider,
  path: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
) => provider.send(path, { method: "POST", body, headers: { ...form, ...headers } })

const form = { "content-type": "application/x-www-form-urlencoded" } as const

export const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`,
})

export const claimsOf = (jwt: unknown): Record<string, unknown> => ({ ...decodeJwt(String(jwt)) })
export const headerOf = (jwt: unknown) => ({ ...decodeProtectedHeader(String(jwt)) })

/** The document of discovery. */
export async function metadata(provider: Provider): Promise<Record<string, unknown>> {
  return (await provider.send("/.well-known/openid-configuration")).json()
}

/** An address that is ours alone: https, and nothing behind the host that could vary. */
export const isPlainIssuer = (text: unknown): boolean =>
  text === issuer && /^https:\/\/[^?#]+$/.test(String(text))

/** RFC 6749 §5.2: what a description may have in it. */
export const plainText = /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/
