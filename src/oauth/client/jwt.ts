import { decodeProtectedHeader } from "jose/decode/protected_header"
import { JOSEError } from "jose/errors"
import { decodeJwt } from "jose/jwt/decode"
import {
  about,
  because,
  type Cause,
  type Finding,
  findingOfAddress,
} from "../../domain/refusal/index.ts"
import { isJwt } from "../../protocol/jwt.ts"
import type { Cx } from "../../store/index.ts"

/** Header and claims of somebody's JWT. Nothing is proven: types say texts, it may be anything. */
export type Unproven = Readonly<Record<string, unknown>>

/** Reads a JWT without checking it; undefined where it is none. */
export function unprovenIn(text: string): Unproven | undefined {
  if (!isJwt(text)) return undefined
  try {
    return { ...decodeProtectedHeader(text), ...decodeJwt(text) }
  } catch (cause) {
    if (isOfSender(cause)) return undefined
    throw cause
  }
}

/** Undefined where the sender made a mistake; that is an answer here, not an accident. */
export async function expected<T>(read: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (cause) {
    if (isOfSender(cause)) return undefined
    throw cause
  }
}

const isOfSender = (cause: unknown): boolean =>
  cause instanceof JOSEError ||
  cause instanceof TypeError ||
  // A list in a list in a list, thousands deep, where a text belongs.
  cause instanceof RangeError ||
  // A key that is none: Web Crypto's own error.
  (cause instanceof DOMException && cause.name === "DataError")

export const textOf = (value: unknown): string => (typeof value === "string" ? value : "")
const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0)

type Maybe = Finding | false | undefined

type Compared = {
  /** What the request calls the JWT. */
  readonly subject: string
  readonly beside: (claims: Unproven) => readonly Maybe[]
  /** Where all of that fits. */
  readonly otherwise?: Cause
}

/** What a refused JWT says, beside what it must say. */
export function findingsInJwt(text: string, compared: Compared): readonly Finding[] {
  const { subject, beside, otherwise } = compared
  const claims = unprovenIn(text)
  if (!claims) return [about(subject, "assertion.no_jwt")]
  const found = beside(claims).filter((each) => each !== false && each !== undefined)
  return found.length > 0 || !otherwise ? found : [about(subject, otherwise)]
}

/** What a JWT that is signed for us must say. */
type Wanted = {
  readonly iss: string
  /** Absent where it needs none. */
  readonly sub?: string
  readonly audience: readonly string[]
  /** Undefined where the key is registered that it names. */
  readonly lacksKey: "assertion.key" | "assertion.app_key" | undefined
}

/**
 * FAPI 2.0 Security Profile §5.3.2.1: a JWT from a clock that is up to 10 seconds ahead is
 * accepted, one from a minute ahead is rejected. What is in between is rejected here, too. Bounds
 * `iat` and `nbf`.
 */
export const aheadMaxSeconds = 10

/** The claims of a JWT beside those that it must have. */
export function claimsBeside(cx: Cx, claims: Unproven, wanted: Wanted): readonly Maybe[] {
  const { iss, sub = textOf(claims.sub), lacksKey, audience } = wanted
  const [exp, iat, nbf] = [numberOf(claims.exp), numberOf(claims.iat), numberOf(claims.nbf)]
  const now = Math.floor(cx.clock.now() / 1000)
  const names = [claims.aud].flat().map(textOf)
  const ahead = Math.max(iat, nbf) - now
  return [
    besideText("iss", claims.iss, iss),
    besideText("sub", claims.sub, sub),
    lacksKey && {
      subject: "kid",
      received: textOf(claims.kid),
      expected: [],
      ...because("kid", lacksKey),
    },
    !names.some((name) => audience.includes(name)) &&
      findingOfAddress("aud", names.join(" "), audience.slice(0, 1)),
    exp <= now && {
      subject: "exp",
      received: claims.exp === undefined ? "" : `${now - exp} s ago`,
      expected: ["in the future"],
    },
    ahead > aheadMaxSeconds && {
      subject: iat >= nbf ? "iat" : "nbf",
      received: `${ahead} s ahead`,
      expected: ["not in the future"],
      ...because("iat", "assertion.clock"),
    },
  ]
}

/** A claim beside the one text that it must be. */
export const besideText = (subject: string, claim: unknown, wanted: string): Maybe =>
  textOf(claim) !== wanted && { subject, received: textOf(claim), expected: [wanted] }
