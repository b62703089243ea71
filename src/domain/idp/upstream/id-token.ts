import type { Options } from "../model.ts"
import type { Raw } from "./dialect.ts"
import { type AnswerRule, refusedAnswer, shownClaim } from "./refused.ts"

/** Whom an ID token must come from, and what it must answer. */
export type ExpectedIdToken = {
  readonly issuer: string
  readonly clientId: string
  readonly nonce: string
  readonly options: Options
}

/**
 * OpenID Connect Core §3.1.3.7: who an ID token is about, once its signature and its time are
 * verified. Throws with the claim that breaks a rule.
 */
export function subjectOfIdToken(claims: Raw, expected: ExpectedIdToken): string {
  const { issuer, clientId, nonce, options } = expected
  mustEqual("iss", claims.iss, issuer)
  mustBeFor(claims, expected)
  // §2: a token that was issued to another client is no proof for this one.
  if (claims.azp !== undefined) mustEqual("azp", claims.azp, clientId)
  for (const name of ["exp", "iat"] as const) {
    if (typeof claims[name] !== "number") throw refused("exp", name, claims[name], ["a number"])
  }
  if (claims.nonce !== undefined) mustEqual("nonce", claims.nonce, nonce)
  else if (!options.acceptMissingNonce) throw refused("nonce_missing", "nonce", "", [nonce])
  return subjectIn(claims, "ID token")
}

function mustBeFor({ aud, azp }: Raw, { clientId, options }: ExpectedIdToken): void {
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  if (!audiences.includes(clientId)) throw refused("aud", "aud", aud, [clientId])
  const hasOthers = audiences.some((each) => each !== clientId)
  if (hasOthers && azp === undefined && !options.acceptOtherAudiences) {
    throw refused("other_aud", "aud", aud, [clientId])
  }
}

/**
 * The `sub` of a set of claims. §2 requires text; some providers send a number, which has one
 * spelling as long as it is exact.
 */
export function subjectIn({ sub }: Raw, of: string): string {
  if (typeof sub === "string" && sub !== "") return sub
  if (typeof sub === "number" && Number.isSafeInteger(sub)) return String(sub)
  const expected = ["text, or a whole number up to 9007199254740991"]
  throw refusedAnswer({
    rule: "sub",
    subject: `sub of the ${of}`,
    received: shownClaim(sub),
    expected,
  })
}

/**
 * §5.3.2 and §5.3.4: what the UserInfo endpoint returns is about the same user; where it is signed
 * and names its issuer and audience, these are the provider and this client.
 */
export function mustBeUserInfoOf(
  claims: Raw,
  { sub, issuer, clientId, isSigned }: UserInfoOf,
): void {
  const received = subjectIn(claims, "UserInfo")
  if (received !== sub) {
    const subject = "sub of the UserInfo"
    throw refusedAnswer({ rule: "userinfo_sub", subject, received, expected: [sub] })
  }
  if (!isSigned) return
  const { iss, aud } = claims
  if (iss !== undefined) mustEqual("iss", iss, issuer)
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  if (aud !== undefined && !audiences.includes(clientId))
    throw refused("aud", "aud", aud, [clientId])
}

export type UserInfoOf = {
  readonly sub: string
  readonly issuer: string
  readonly clientId: string
  readonly isSigned: boolean
}

function mustEqual(rule: "iss" | "azp" | "nonce", received: unknown, expected: string): void {
  if (received !== expected) throw refused(rule, rule, received, [expected])
}

const refused = (
  rule: AnswerRule,
  subject: string,
  received: unknown,
  expected: readonly string[],
) => refusedAnswer({ rule, subject, received: shownClaim(received), expected })
