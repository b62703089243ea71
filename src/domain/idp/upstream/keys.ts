import type { JSONWebKeySet, JWTPayload, JWTVerifyGetKey } from "jose"
import { isOpenWindow } from "../../../kernel/clock.ts"
import { Fault } from "../../../kernel/fault.ts"
import { type Lru, lru } from "../../../kernel/lru.ts"
import { jose } from "../../../protocol/jose.ts"
import { type Cx, ofInstance } from "../../../store/index.ts"
import { rawOf } from "./dialect.ts"
import { upstreamError } from "./identity.ts"
import { refusedAnswer } from "./refused.ts"
import { outgoing } from "./server.ts"

/** Where the keys of a provider are published. */
export type KeySource = {
  /** Names the keys in the cache. */
  readonly name: string
  /** Their address; `isAgain` where it may have moved and must be looked up again. */
  readonly url: (isAgain: boolean) => Promise<string>
}

type Keys = { readonly find: JWTVerifyGetKey; readonly read: number }
type Known = {
  /** Absent where they could never be read. */
  readonly keys?: Keys
  /** The last time that the keys were read early; sign-ins at the same time share it. */
  readonly again?: { readonly started: number; readonly keys: Promise<Keys> }
}

const setsMax = 100
const freshMs = 5 * 60_000
/** Keys that don't verify a token may have been replaced; made-up tokens cause no more reads. */
const againMs = 30_000
const knownOfInstance = ofInstance<Lru<Known>>(() => lru(setsMax))

/** Only signatures with public keys are accepted (RFC 8725 §3.1). */
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

type Verifying = {
  readonly source: KeySource
  /** How the token is called where it is refused. */
  readonly subject: string
  /** The algorithms that the provider states; undefined where it states none. */
  readonly stated?: readonly string[] | undefined
}

/**
 * The claims of a JWT that a key of the source has signed and that is valid now (RFC 7519 §7.2);
 * who issued it, and for whom, is for the caller to check. Keys that don't fit are read again, so
 * that a provider can replace its keys, also without a new `kid` or at another address.
 */
export async function verifiedClaims(
  cx: Cx,
  token: string,
  verifying: Verifying,
): Promise<JWTPayload> {
  const { source } = verifying
  const { keys, failure } = await keysNow(cx, source)
  const tried = keys ? await verified(cx, token, { ...verifying, keys }) : { failure }
  if ("payload" in tried) return tried.payload
  const newer = await keysAgain(cx, source, keys)
  const retried = newer && (await verified(cx, token, { ...verifying, keys: newer }))
  if (retried && "payload" in retried) return retried.payload
  throw (retried ?? tried).failure
}

type Verified = { readonly payload: JWTPayload } | { readonly failure: unknown }

/** A failure is returned where other keys may verify the token; any other is thrown. */
async function verified(
  cx: Cx,
  token: string,
  { keys, subject, stated }: Verifying & { readonly keys: Keys },
): Promise<Verified> {
  const { decodeProtectedHeader, errors, jwtVerify } = await jose()
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

/** The keys as they were read of late; a failure where they can't be read. */
async function keysNow(cx: Cx, source: KeySource) {
  const known = knownOfInstance(cx).get(source.name)
  if (known?.keys && isOpenWindow(known.keys.read, freshMs, cx.clock.now())) {
    return { keys: known.keys }
  }
  try {
    const keys = await readKeys(cx, await source.url(false))
    knownOfInstance(cx).set(source.name, { ...known, keys })
    return { keys }
  } catch (failure) {
    if (!(failure instanceof Fault)) throw failure
    return { failure }
  }
}

/** The keys, read again; undefined where they were read again of late and are the same. */
async function keysAgain(cx: Cx, source: KeySource, before: Keys | undefined) {
  const all = knownOfInstance(cx)
  const known = all.get(source.name)
  const now = cx.clock.now()
  if (known?.again && isOpenWindow(known.again.started, againMs, now)) {
    const keys = await known.again.keys
    return keys === before ? undefined : keys
  }
  const reading = source.url(true).then((url) => readKeys(cx, url))
  const again = { started: now, keys: reading }
  all.set(source.name, { ...known, again })
  const keys = await reading
  all.set(source.name, { keys, again })
  return keys
}

/** RFC 7517 §5. */
async function readKeys(cx: Cx, url: string): Promise<Keys> {
  const { createLocalJWKSet } = await jose()
  const headers = { accept: "application/json" }
  const response = await outgoing(cx, url, { method: "GET", headers })
  if (!response.ok) throw upstreamError("unreachable", `keys: status ${response.status}`)
  const { keys } = rawOf(await response.json())
  const set: JSONWebKeySet = { keys: Array.isArray(keys) ? keys : [] }
  return { find: createLocalJWKSet(set), read: cx.clock.now() }
}
