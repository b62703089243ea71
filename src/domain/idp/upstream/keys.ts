import type { JSONWebKeySet, JWTPayload, JWTVerifyGetKey } from "jose"
import { isOpenWindow } from "../../../kernel/clock.ts"
import { Fault } from "../../../kernel/fault.ts"
import { type Lru, lru } from "../../../kernel/lru.ts"
import { loadJose } from "../../../protocol/jose.ts"
import { type Cx, perInstance } from "../../../store/index.ts"
import { upstreamError } from "./identity.ts"
import { requireObject } from "./profile.ts"
import { refusedAnswer } from "./refused-answer.ts"
import { sendRequest } from "./server.ts"

/** Where the keys of a provider are published. */
export type KeySource = {
  /** Cache key. */
  readonly name: string
  /** The URL; `isAgain` requests a new lookup, because it may have moved. */
  readonly url: (isAgain: boolean) => Promise<string>
}

type KeySet = { readonly find: JWTVerifyGetKey; readonly read: number }
type CachedKeys = {
  /** Absent if the keys could never be fetched. */
  readonly keys?: KeySet
  /** The latest early refresh; concurrent sign-ins share it. */
  readonly again?: { readonly started: number; readonly keys: Promise<KeySet> }
}

const setsMax = 100
const freshMs = 5 * 60_000
/**
 * Keys that don't verify a token may have been replaced; the interval limits refreshes caused by
 * forged tokens.
 */
const refreshIntervalMs = 30_000
const keysByInstance = perInstance<Lru<CachedKeys>>(() => lru(setsMax))

/** Only asymmetric signatures are accepted (RFC 8725 §3.1). */
const algorithms: readonly string[] = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
]

type VerifyOptions = {
  readonly source: KeySource
  /** How error messages name the token. */
  readonly subject: string
  /** The algorithms that the provider states; undefined if none. */
  readonly stated?: readonly string[] | undefined
}

/**
 * Verifies a JWT with the keys of the source, including its validity period (RFC 7519 §7.2), and
 * returns its claims; the caller must check issuer and audience. If no key matches, the keys are
 * refreshed, so that providers can rotate keys without a new `kid` or at another URL.
 */
export async function verifyClaims(
  cx: Cx,
  token: string,
  verifying: VerifyOptions,
): Promise<JWTPayload> {
  const { source } = verifying
  const { keys, failure } = await currentKeys(cx, source)
  const firstAttempt = keys ? await tryVerify(cx, token, { ...verifying, keys }) : { failure }
  if ("payload" in firstAttempt) return firstAttempt.payload
  const newer = await refreshKeys(cx, source, keys)
  const retried = newer && (await tryVerify(cx, token, { ...verifying, keys: newer }))
  if (retried && "payload" in retried) return retried.payload
  throw (retried ?? firstAttempt).failure
}

type VerifyResult = { readonly payload: JWTPayload } | { readonly failure: unknown }

/** Returns a failure that other keys could resolve; throws all others. */
async function tryVerify(
  cx: Cx,
  token: string,
  { keys, subject, stated }: VerifyOptions & { readonly keys: KeySet },
): Promise<VerifyResult> {
  const { decodeProtectedHeader, errors, jwtVerify } = await loadJose()
  const accepted = algorithms.filter((each) => !stated || stated.includes(each))
  try {
    const { payload } = await jwtVerify(token, keys.find, {
      algorithms: accepted,
      currentDate: new Date(cx.clock.now()),
      clockTolerance: 60,
    })
    return { payload }
  } catch (cause) {
    if (cause instanceof errors.JOSEAlgNotAllowed) {
      const { alg = "" } = decodeProtectedHeader(token)
      const finding = { rule: "alg", subject: `alg of the ${subject}`, received: alg } as const
      throw refusedAnswer({ ...finding, expected: accepted }, { cause })
    }
    if (cause instanceof errors.JWTExpired || cause instanceof errors.JWTClaimValidationFailed) {
      const received = String(cause.payload[cause.claim] ?? "")
      const now = String(Math.floor(cx.clock.now() / 1000))
      const subjectOf = `${cause.claim} of the ${subject}`
      throw refusedAnswer({ rule: "exp", subject: subjectOf, received, expected: [now] }, { cause })
    }
    const isOtherKey =
      cause instanceof errors.JWKSNoMatchingKey ||
      cause instanceof errors.JWSSignatureVerificationFailed
    if (!isOtherKey) throw cause
    const { kid = "" } = decodeProtectedHeader(token)
    const finding = { rule: "signature", subject: `signature of the ${subject}` } as const
    return { failure: refusedAnswer({ ...finding, received: kid, expected: [] }, { cause }) }
  }
}

/** The cached keys. Fails if they can't be fetched. */
async function currentKeys(cx: Cx, source: KeySource) {
  const cached = keysByInstance(cx).get(source.name)
  if (cached?.keys && isOpenWindow(cached.keys.read, freshMs, cx.clock.now())) {
    return { keys: cached.keys }
  }
  try {
    const keys = await fetchKeys(cx, await source.url(false))
    keysByInstance(cx).set(source.name, { ...cached, keys })
    return { keys }
  } catch (failure) {
    if (!(failure instanceof Fault)) throw failure
    return { failure }
  }
}

/** Refreshes the keys. Returns undefined if they were refreshed recently or did not change. */
async function refreshKeys(cx: Cx, source: KeySource, before: KeySet | undefined) {
  const all = keysByInstance(cx)
  const cached = all.get(source.name)
  const now = cx.clock.now()
  if (cached?.again && isOpenWindow(cached.again.started, refreshIntervalMs, now)) {
    const keys = await cached.again.keys
    return keys === before ? undefined : keys
  }
  const reading = source.url(true).then((url) => fetchKeys(cx, url))
  const again = { started: now, keys: reading }
  all.set(source.name, { ...cached, again })
  const keys = await reading
  all.set(source.name, { keys, again })
  return keys
}

/** RFC 7517 §5. */
async function fetchKeys(cx: Cx, url: string): Promise<KeySet> {
  const { createLocalJWKSet } = await loadJose()
  const headers = { accept: "application/json" }
  const response = await sendRequest(cx, url, { method: "GET", headers })
  if (!response.ok) throw upstreamError("unreachable", `keys endpoint: status ${response.status}`)
  const { keys } = requireObject(await response.json())
  const set: JSONWebKeySet = { keys: Array.isArray(keys) ? keys : [] }
  return { find: createLocalJWKSet(set), read: cx.clock.now() }
}
