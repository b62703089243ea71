import { lru } from "../../kernel/lru.ts"
import type { Cx, Store } from "../../store/index.ts"
import type { SmtpAuth } from "./model.ts"

type XOAuth2 = Extract<SmtpAuth, { kind: "xoauth2" }>

type CachedToken = { readonly token: string; readonly expires: number }

const tokensByStore = new WeakMap<Store, ReturnType<typeof lru<CachedToken>>>()

const tokensMax = 100
/** A token is not used in its last minute, so that it doesn't expire during use. */
const marginMs = 60_000

/**
 * RFC 6749 §4.4: requests an access token for an SMTP server with the client credentials and caches
 * it until it expires.
 */
export async function requestAccessToken(cx: Cx, auth: XOAuth2, secret: string): Promise<string> {
  const tokens = tokensByStore.get(cx.store) ?? lru<CachedToken>(tokensMax)
  tokensByStore.set(cx.store, tokens)
  const { tokenEndpoint, clientId, scopes } = auth
  const key = cx.secrets.hash(JSON.stringify([cx.instance, auth, secret]), "xoauth2")
  const known = tokens.get(key)
  if (known && cx.clock.now() < known.expires) return known.token
  const form = {
    grant_type: "client_credentials",
    client_id: clientId,
    client_secret: secret,
    ...(scopes.length > 0 && { scope: scopes.join(" ") }),
  }
  const { status, body } = await cx.outside.send({
    url: tokenEndpoint,
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
    body: `${new URLSearchParams(form)}`,
  })
  const answer: unknown = status === 200 ? JSON.parse(body) : undefined
  if (!isTokenResponse(answer)) throw new Error(`the token endpoint returned status ${status}`)
  const lifetimeMs = (answer.expires_in ?? 0) * 1000
  tokens.set(key, { token: answer.access_token, expires: cx.clock.now() + lifetimeMs - marginMs })
  return answer.access_token
}

const isTokenResponse = (
  value: unknown,
): value is { readonly access_token: string; readonly expires_in?: number } =>
  typeof value === "object" &&
  value !== null &&
  "access_token" in value &&
  typeof value.access_token === "string" &&
  (!("expires_in" in value) || typeof value.expires_in === "number")
