import type { CryptoKey, JSONWebKeySet, JWTVerifyGetKey } from "jose"
import { isOpenWindow } from "../../../kernel/clock.ts"
import { jose } from "../../../kernel/crypto/jose.ts"
import { type Lru, lru } from "../../../kernel/lru.ts"
import { type Cx, ofInstance } from "../../../store/index.ts"
import { requireInstance } from "../../instance/index.ts"
import type { Settings } from "../model.ts"
import { oidcProfile, rawOf } from "./dialect.ts"
import { type Answer, upstreamError } from "./identity.ts"
import { outgoing } from "./server.ts"
import { statedIn } from "./sign-in-time.ts"

type Signing = Extract<Settings, { kind: "jwt" }>

/** Where the browsers of all services that sign JWTs come back to. */
export const tokenPath = "/idps/jwt"

/**
 * The address that a browser is sent to: the service, or what stands before it, sends it on to
 * `tokenPath` with the same two parameters and the token in its header.
 */
export function tokenUrl({ jwtEndpoint }: Signing, state: string): string {
  const [id = "", secret = ""] = state.split(".")
  const url = new URL(jwtEndpoint)
  url.searchParams.set("authRequestID", id)
  url.searchParams.set("userAgentID", secret)
  return url.href
}

/** The state that has come back in two parameters. */
export const tokenState = (parameters: URLSearchParams): string =>
  `${parameters.get("authRequestID") ?? ""}.${parameters.get("userAgentID") ?? ""}`

const tokenMax = 16_384

/**
 * RFC 7519 §7.2: who a token in the header is about, which its issuer has signed for us. Only keys
 * of the endpoint that was set up count, and only signatures with public keys (RFC 8725 §3.1).
 */
export async function tokenAnswer(cx: Cx, settings: Signing, headers: Headers): Promise<Answer> {
  const { issuer, keysEndpoint, headerName } = settings
  const token = (headers.get(headerName) ?? "").replace(/^bearer /i, "").trim()
  if (token === "" || token.length > tokenMax) throw upstreamError("answer_refused")
  const { jwtVerify } = await jose()
  const { payload } = await jwtVerify(token, keysOf(cx, keysEndpoint), {
    issuer,
    algorithms: [...algorithms],
    requiredClaims: ["exp", "sub"],
    currentDate: new Date(cx.clock.now()),
    clockTolerance: 60,
  })
  // RFC 7519 §4.1.3: a token that names others signs nobody in here.
  const { aud = [] } = payload
  const names = typeof aud === "string" ? [aud] : aud
  if (names.length > 0 && !names.includes(requireInstance(cx).publicUrl)) {
    throw new Error("the token is for somebody else")
  }
  const identity = oidcProfile(payload)
  return { identity, raw: payload, accessToken: "", idToken: token, ...statedIn(payload) }
}

const algorithms = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
] as const

type Keys = {
  readonly find: (...given: Parameters<JWTVerifyGetKey>) => Promise<CryptoKey>
  readonly read: number
}

const setsMax = 100
const freshMs = 10 * 60_000
/** A key that nobody knows may be new; whoever makes them up has them read no more often. */
const againMs = 60_000
const keysOfInstance = ofInstance<Lru<Keys>>(() => lru(setsMax))

/** The key that has signed, from what the endpoint has said of late. */
const keysOf =
  (cx: Cx, url: string): JWTVerifyGetKey =>
  async (...given) => {
    const { errors } = await jose()
    const known = keysOfInstance(cx).get(url)
    const now = cx.clock.now()
    const isRead = (withinMs: number) => known && isOpenWindow(known.read, withinMs, now)
    const keys = known && isRead(freshMs) ? known : await readKeys(cx, url)
    try {
      return await keys.find(...given)
    } catch (cause) {
      const isNew = cause instanceof errors.JWKSNoMatchingKey && keys === known && !isRead(againMs)
      if (!isNew) throw cause
      return (await readKeys(cx, url)).find(...given)
    }
  }

/** RFC 7517 §5. */
async function readKeys(cx: Cx, url: string): Promise<Keys> {
  const { createLocalJWKSet } = await jose()
  const headers = { accept: "application/json" }
  const response = await outgoing(cx, url, { method: "GET", headers })
  if (!response.ok) throw upstreamError("unreachable", `keys: status ${response.status}`)
  const { keys } = rawOf(await response.json())
  const set: JSONWebKeySet = { keys: Array.isArray(keys) ? keys : [] }
  const made: Keys = { find: createLocalJWKSet(set), read: cx.clock.now() }
  keysOfInstance(cx).set(url, made)
  return made
}
