import { decodeProtectedHeader } from "jose/decode/protected_header"
import { JOSEError } from "jose/errors"
import { decodeJwt } from "jose/jwt/decode"
import {
  type Cause,
  type Finding,
  findingOfUri,
  findingWithoutValue,
  likelyCauseOf,
} from "../../domain/refusal/index.ts"
import { isJwt } from "../../protocol/jwt.ts"
import type { Cx } from "../../store/index.ts"

/** Header and claims of an unverified JWT, which can have any type. */
export type UnverifiedClaims = Readonly<Record<string, unknown>>

/** Decodes a JWT without verifying it; undefined if it is invalid. */
export function decodeUnverified(text: string): UnverifiedClaims | undefined {
  if (!isJwt(text)) return undefined
  try {
    return { ...decodeProtectedHeader(text), ...decodeJwt(text) }
  } catch (cause) {
    if (isInputError(cause)) return undefined
    throw cause
  }
}

/** The result of `read`; undefined if the sender's input is invalid, which is expected here. */
export async function catchInputError<T>(read: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (cause) {
    if (isInputError(cause)) return undefined
    throw cause
  }
}

const isInputError = (cause: unknown): boolean =>
  cause instanceof JOSEError ||
  cause instanceof TypeError ||
  // Deeply nested lists instead of a string.
  cause instanceof RangeError ||
  // An invalid key causes Web Crypto's own error.
  (cause instanceof DOMException && cause.name === "DataError")

export const textOf = (value: unknown): string => (typeof value === "string" ? value : "")
const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0)

type OptionalFinding = Finding | false | undefined

type JwtComparison = {
  /** The request parameter that contains the JWT. */
  readonly subject: string
  readonly compare: (claims: UnverifiedClaims) => readonly OptionalFinding[]
  /** The cause if all claims match. */
  readonly fallbackCause?: Cause
}

/** Compares the claims of a rejected JWT with the expected values. */
export function findingsInJwt(text: string, compared: JwtComparison): readonly Finding[] {
  const { subject, compare, fallbackCause } = compared
  const claims = decodeUnverified(text)
  if (!claims) return [findingWithoutValue(subject, "assertion.no_jwt")]
  const found = compare(claims).filter((each) => each !== false && each !== undefined)
  return found.length > 0 || !fallbackCause ? found : [findingWithoutValue(subject, fallbackCause)]
}

/** The expected values of a JWT for this server. */
type ExpectedClaims = {
  readonly iss: string
  /** Absent if no subject is required. */
  readonly sub?: string
  readonly audience: readonly string[]
  /** Undefined if the JWT's key is registered. */
  readonly missingKeyCause: "assertion.key" | "assertion.app_key" | undefined
}

/**
 * FAPI 2.0 Security Profile §5.3.2.1: a JWT from a clock that is up to 10 seconds ahead is
 * accepted, one that is a minute ahead is rejected. Values in between are rejected here, too.
 * Limits `iat` and `nbf`.
 */
export const aheadMaxSeconds = 10

/** Compares the claims of a JWT with the expected values. */
export function compareClaims(
  cx: Cx,
  claims: UnverifiedClaims,
  expectedValue: ExpectedClaims,
): readonly OptionalFinding[] {
  const { iss, sub = textOf(claims.sub), missingKeyCause, audience } = expectedValue
  const [exp, iat, nbf] = [numberOf(claims.exp), numberOf(claims.iat), numberOf(claims.nbf)]
  const now = Math.floor(cx.clock.now() / 1000)
  const names = [claims.aud].flat().map(textOf)
  const ahead = Math.max(iat, nbf) - now
  return [
    compareText("iss", claims.iss, iss),
    compareText("sub", claims.sub, sub),
    missingKeyCause && {
      subject: "kid",
      received: textOf(claims.kid),
      expected: [],
      ...likelyCauseOf("kid", missingKeyCause),
    },
    !names.some((name) => audience.includes(name)) &&
      findingOfUri("aud", names.join(" "), audience.slice(0, 1)),
    exp <= now && {
      subject: "exp",
      received: claims.exp === undefined ? "" : `${now - exp} s ago`,
      expected: ["in the future"],
    },
    ahead > aheadMaxSeconds && {
      subject: iat >= nbf ? "iat" : "nbf",
      received: `${ahead} s ahead`,
      expected: ["not in the future"],
      ...likelyCauseOf("iat", "assertion.clock"),
    },
  ]
}

/** Compares a claim with its only expected value. */
export const compareText = (
  subject: string,
  claim: unknown,
  expectedValue: string,
): OptionalFinding =>
  textOf(claim) !== expectedValue && { subject, received: textOf(claim), expected: [expectedValue] }
