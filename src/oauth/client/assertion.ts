import { createPublicKey, type KeyObject } from "node:crypto"
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify } from "jose"
import type { Cx } from "../../store/index.ts"
import { ownOf, paths } from "../own.ts"

/** A signed assertion that was checked. */
export type Assertion = {
  readonly issuer: string
  readonly jti: string | undefined
  /** ms UTC; from then on it is refused for its age. */
  readonly expires: number
}

const ageMaxSeconds = 3600
const toleranceSeconds = 1

/** Whom an assertion says it is from, and by which key; nothing of it is proven yet. */
export function readAssertion(
  text: string,
): Promise<{ readonly issuer: string; readonly keyId: string } | undefined> {
  return expected(() => {
    // Types say texts; what a stranger sends may be anything.
    const iss: unknown = decodeJwt(text).iss
    const kid: unknown = decodeProtectedHeader(text).kid
    if (typeof iss !== "string" || typeof kid !== "string") return undefined
    return { issuer: iss, keyId: kid }
  })
}

/**
 * RFC 7523 §3: checks an assertion with the registered key of its issuer. It must name its issuer
 * as its subject and us as its audience, expire, and be no older than an hour.
 */
export async function verifyAssertion(
  cx: Cx,
  text: string,
  publicKey: string,
): Promise<Assertion | undefined> {
  const key = createPublicKey(publicKey)
  const { issuer } = ownOf(cx)
  const options = {
    algorithms: [...algorithmsOf(key)],
    audience: [issuer, `${issuer}${paths.token}`],
    requiredClaims: ["iss", "sub", "exp", "iat"],
    maxTokenAge: ageMaxSeconds,
    clockTolerance: toleranceSeconds,
    currentDate: new Date(cx.clock.now()),
  }
  const verified = await expected(() => jwtVerify(text, key, options))
  const { iss, sub, jti, exp = 0, iat = 0 } = verified?.payload ?? {}
  if (iss === undefined || iss !== sub) return undefined
  const expires = (Math.min(exp, iat + ageMaxSeconds) + toleranceSeconds) * 1000
  return { issuer: iss, jti, expires }
}

/** RFC 8725 §3.1: the registered key decides which algorithms are possible, not the header. */
function algorithmsOf(key: KeyObject): readonly string[] {
  const curve = key.asymmetricKeyDetails?.namedCurve ?? ""
  if (key.asymmetricKeyType === "rsa") return ["RS256", "RS384", "RS512"]
  if (key.asymmetricKeyType === "ed25519") return ["EdDSA", "Ed25519"]
  return curveAlgorithms[curve] ?? []
}

const curveAlgorithms: Readonly<Record<string, readonly string[]>> = {
  prime256v1: ["ES256"],
  secp384r1: ["ES384"],
  secp521r1: ["ES512"],
}

/** Undefined where the sender made a mistake; that is an answer here, not an accident. */
export async function expected<T>(read: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof errors.JOSEError || cause instanceof TypeError) return undefined
    // A key that is none: Web Crypto's own error.
    if (cause instanceof DOMException && cause.name === "DataError") return undefined
    throw cause
  }
}
