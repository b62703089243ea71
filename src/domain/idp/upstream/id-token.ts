import type { Options } from "../model.ts"
import type { RawProfile } from "./profile.ts"
import { type AnswerRule, formatClaim, refusedAnswer } from "./refused-answer.ts"

/** Values that an ID token must match. */
export type ExpectedIdToken = {
  readonly issuer: string
  readonly clientId: string
  readonly nonce: string
  readonly options: Options
}

/**
 * OpenID Connect Core §3.1.3.7: validates the claims of an ID token whose signature and validity
 * period are verified, and returns its subject. Throws with the claim that breaks a rule.
 */
export function validateIdToken(claims: RawProfile, expected: ExpectedIdToken): string {
  const { issuer, clientId, nonce, options } = expected
  requireEqual("iss", claims.iss, issuer)
  validateAudience(claims, expected)
  // §2: a token issued to another client must not be accepted.
  if (claims.azp !== undefined) requireEqual("azp", claims.azp, clientId)
  for (const name of ["exp", "iat"] as const) {
    if (typeof claims[name] !== "number") throw claimError("exp", name, claims[name], ["a number"])
  }
  if (claims.nonce !== undefined) requireEqual("nonce", claims.nonce, nonce)
  else if (!options.acceptMissingNonce) throw claimError("nonce_missing", "nonce", "", [nonce])
  return parseSubject(claims, "ID token")
}

function validateAudience({ aud, azp }: RawProfile, { clientId, options }: ExpectedIdToken): void {
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  if (!audiences.includes(clientId)) throw claimError("aud", "aud", aud, [clientId])
  const hasOthers = audiences.some((each) => each !== clientId)
  if (hasOthers && azp === undefined && !options.acceptOtherAudiences) {
    throw claimError("other_aud", "aud", aud, [clientId])
  }
}

/**
 * Parses the `sub` claim. §2 requires a string; some providers send a number, which is accepted if
 * it is exact.
 */
export function parseSubject({ sub }: RawProfile, of: string): string {
  if (typeof sub === "string" && sub !== "") return sub
  if (typeof sub === "number" && Number.isSafeInteger(sub)) return String(sub)
  const expected = ["text, or an integer up to 9007199254740991"]
  throw refusedAnswer({
    rule: "sub",
    subject: `sub of the ${of}`,
    received: formatClaim(sub),
    expected,
  })
}

/**
 * §5.3.2 and §5.3.4: the UserInfo response must be about the same user; if it is signed, its issuer
 * and audience must be the provider and this client.
 */
export function validateUserInfo(
  claims: RawProfile,
  { sub, issuer, clientId, isSigned }: ExpectedUserInfo,
): void {
  const received = parseSubject(claims, "UserInfo")
  if (received !== sub) {
    const subject = "sub of the UserInfo"
    throw refusedAnswer({ rule: "userinfo_sub", subject, received, expected: [sub] })
  }
  if (!isSigned) return
  const { iss, aud } = claims
  if (iss !== undefined) requireEqual("iss", iss, issuer)
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  if (aud !== undefined && !audiences.includes(clientId))
    throw claimError("aud", "aud", aud, [clientId])
}

export type ExpectedUserInfo = {
  readonly sub: string
  readonly issuer: string
  readonly clientId: string
  readonly isSigned: boolean
}

function requireEqual(rule: "iss" | "azp" | "nonce", received: unknown, expected: string): void {
  if (received !== expected) throw claimError(rule, rule, received, [expected])
}

const claimError = (
  rule: AnswerRule,
  subject: string,
  received: unknown,
  expected: readonly string[],
) => refusedAnswer({ rule, subject, received: formatClaim(received), expected })
