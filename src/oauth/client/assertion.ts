import { createPublicKey, type KeyObject } from "node:crypto"
import { recordAssertion } from "../../domain/grant/index.ts"
import { Fault } from "../../kernel/fault.ts"
import { lru } from "../../kernel/lru.ts"
import { loadJose } from "../../protocol/jose.ts"
import { isJwt, parseJwtParts } from "../../protocol/jwt.ts"
import { type Cx, cacheQuery } from "../../store/index.ts"
import { issuerOf, paths } from "../issuer.ts"
import { aheadMaxSeconds, catchInputError, decodeUnverified } from "./jwt.ts"

/** A verified assertion. */
export type Assertion = {
  readonly issuer: string
  readonly jti: string | undefined
  /** ms UTC; if the assertion does not contain it, the latest possible time. */
  readonly issued: number
  /** ms UTC; later it is rejected as expired. */
  readonly expires: number
}

const ageMaxSeconds = 3600
/** Maximum age of a client assertion without `jti`, which could otherwise be reused. */
const withoutJtiMaxSeconds = 300
const toleranceSeconds = 1

/** The claimed issuer and key ID of an assertion; not verified yet. */
type ClaimedIssuer = { readonly issuer: string; readonly keyId: string | undefined }

export function parseAssertion(text: string): ClaimedIssuer | undefined {
  // RFC 7515 §2: only one spelling is valid; decoders accept others for the same signature.
  const claims = parseJwtParts(text) && decodeUnverified(text)
  // Checked at run time, because the claim is not verified and can have any type.
  if (typeof claims?.iss !== "string") return undefined
  const { iss, kid } = claims
  return kid === undefined || typeof kid === "string" ? { issuer: iss, keyId: kid } : undefined
}

/** A registered key; times are ms UTC. */
type RegisteredKey = { readonly publicKey: string; readonly expires: number }

/** Whether a key exists and has not expired. */
export const isKeyValid = (cx: Cx, key: RegisteredKey | undefined): key is RegisteredKey =>
  key !== undefined && cx.clock.now() < key.expires

type AssertionRules = {
  /**
   * If absent, the assertion is verified against a key that no one has, so that it takes the same
   * time.
   */
  readonly key: RegisteredKey | undefined
  /** RFC 7523 §2.1: an authorization grant. §2.2: client authentication. */
  readonly as: "grant" | "client"
}

/**
 * RFC 7523 §3: verifies an assertion with the registered key of its issuer. The issuer must be the
 * subject and this server the audience. It must not be older than an hour, and a client's must not
 * be valid for longer than an hour. OpenID Connect Core §9 requires a `jti` from clients; some
 * existing ones don't send it, and then the assertion is valid for five minutes.
 */
export async function verifyAssertion(
  cx: Cx,
  text: string,
  rules: AssertionRules,
): Promise<Assertion | undefined> {
  const now = cx.clock.now()
  const key = rules.key ? publicKeyOf(rules.key.publicKey) : dummyKey
  const options = {
    algorithms: [...algorithmsOf(key)],
    audience: [...audienceNames(cx)],
    requiredClaims: ["iss", "sub", "exp", ...(rules.as === "grant" ? ["iat"] : [])],
    clockTolerance: aheadMaxSeconds,
    currentDate: new Date(now),
  }
  const { jwtVerify } = await loadJose()
  const verified = isJwt(text) && (await catchInputError(() => jwtVerify(text, key, options)))
  const { iss, sub, jti, exp = 0, iat } = verified ? verified.payload : {}
  if (iss === undefined || iss !== sub || !isKeyValid(cx, rules.key)) return undefined
  const seconds = now / 1000
  // Clock skew is tolerated for iat and nbf, but not for exp.
  if (exp + toleranceSeconds <= seconds) return undefined
  const ageMax = rules.as === "client" && jti === undefined ? withoutJtiMaxSeconds : ageMaxSeconds
  if (iat !== undefined && !isRecent(iat, { seconds, ageMax })) return undefined
  // Checked at run time, because the signer can send any type.
  if (jti !== undefined && typeof jti !== "string") return undefined
  // OpenID Connect Core §9 limits the lifetime by exp alone; iat is optional.
  const lifeMax = iat === undefined ? ageMax : ageMaxSeconds
  const begins = Math.max(seconds, iat ?? 0)
  if (rules.as === "client" && exp > begins + lifeMax + toleranceSeconds) return undefined
  const expiry = iat === undefined ? exp : Math.min(exp, iat + ageMax)
  const issued = (iat ?? exp - ageMaxSeconds) * 1000
  return { issuer: iss, jti, issued, expires: (expiry + toleranceSeconds) * 1000 }
}

type AssertionWindow = { readonly seconds: number; readonly ageMax: number }

const isRecent = (iat: unknown, { seconds, ageMax }: AssertionWindow): boolean =>
  typeof iat === "number" &&
  iat <= seconds + aheadMaxSeconds &&
  iat + ageMax + toleranceSeconds > seconds

/** Parsing a key costs as much as verifying a signature. */
function publicKeyOf(pem: string): KeyObject {
  const key = keyCache.get(pem) ?? createPublicKey(pem)
  keyCache.set(pem, key)
  return key
}
const keyCache = lru<KeyObject>(1000)

/** The issuer as clients spell it: many libraries add the slash of an empty path. */
export const issuerSpellings = (issuer: string): readonly string[] => [issuer, `${issuer}/`]

/**
 * RFC 7523 §3 (3), OpenID Connect Core §9: the issuer, or an endpoint with client authentication.
 */
export const audienceNames = cacheQuery(
  (cx): readonly string[] => {
    const { issuer } = issuerOf(cx)
    const { token, introspection, revocation, par, deviceAuthorization } = paths
    const asking = [token, introspection, revocation, par, deviceAuthorization]
    return [...issuerSpellings(issuer), ...asking.map((path) => issuer + path)]
  },
  ["instance"],
)

/** Records the use of an assertion with a `jti`; false if it was, or may have been, used before. */
export async function recordAssertionUse(cx: Cx, assertion: Assertion): Promise<boolean> {
  const { issuer, jti, expires } = assertion
  if (jti === undefined) return true
  if (cx.store.isForgotten(assertion, cx.clock.now())) return false
  try {
    await cx.store.transact(cx, (tx) => recordAssertion(tx, { issuer, jti, expires }))
    return true
  } catch (cause) {
    if (cause instanceof Fault && cause.id === "assertion.used") return false
    throw cause
  }
}

/** Signing algorithms for assertions; also in the discovery document. */
export const assertionAlgorithms = [
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
] as const

/** RFC 8725 §3.1: the registered key determines the algorithms, not the header. */
export function algorithmsOf(key: KeyObject): readonly string[] {
  const curve = key.asymmetricKeyDetails?.namedCurve ?? ""
  if (key.asymmetricKeyType === "rsa") {
    return ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]
  }
  if (key.asymmetricKeyType === "ed25519") return ["EdDSA", "Ed25519"]
  return curveAlgorithms[curve] ?? []
}

const curveAlgorithms: Readonly<Record<string, readonly string[]>> = {
  prime256v1: ["ES256"],
  secp384r1: ["ES384"],
  secp521r1: ["ES512"],
}

/**
 * The private key was discarded: verifying an assertion of an unknown client takes the same time.
 */
const dummyKey = createPublicKey({
  format: "der",
  type: "spki",
  key: Buffer.from(
    [
      "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAjn2FLf4JqSvhDgVnHHi3eOXasrCj7mOQB8sxxjtD",
      "fqHX9FYlKfBkxr6X7AnZis1aO3tQJOzDli7cOqx9uwIha05w3bSTUs3g+5tEITcWy2881+we/rLtaT8eXBhj",
      "yGUwtwKUuvhd69R8CJY0KdI1JMnSJO7u1dq7A9wdCDu7hu85LYBLHrCnPLJ6AX+A+eUhPo31tGvuZMD5mODb",
      "rJAa3r1assvu7nFckrSWZnklbqmR6+VY2xqvycVsbP3cejzlfUuBoVtmuPy9DqntLcAU7qFkHwKvmy2LWvli",
      "7Kyhb/4qaZzYI5ggPQUopo3p25Mbhdid3Sz+5FoIsZDDo77wEwIDAQAB",
    ].join(""),
    "base64",
  ),
})
