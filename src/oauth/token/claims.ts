import type { Claims } from "../../domain/key/index.ts"
import { profile } from "../../domain/user/index.ts"
import type { Cx } from "../../store/index.ts"

/** OpenID Connect Core §5.4: what each scope lets a client learn of a person. Empty: not said. */
export function userClaims(cx: Cx, userId: string, scopes: readonly string[]): Claims {
  const known = profile(cx, userId)
  if (!known) return {}
  const claims: Record<string, unknown> = {}
  if (scopes.includes("profile")) {
    claims.name = known.name
    claims.given_name = known.givenName
    claims.family_name = known.familyName
    claims.nickname = known.nickName
    claims.gender = known.gender === "unspecified" ? "" : known.gender
    claims.locale = known.preferredLanguage
    claims.preferred_username = known.userName
    claims.updated_at = Math.floor(known.changed / 1000)
  }
  if (scopes.includes("email") && known.email) {
    claims.email = known.email
    claims.email_verified = known.emailVerified
  }
  if (scopes.includes("phone") && known.phone) {
    claims.phone_number = known.phone
    claims.phone_number_verified = known.phoneVerified
  }
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== ""))
}

/** Every claim that `userClaims` can answer, for discovery. */
export const userClaimNames = [
  "name",
  "given_name",
  "family_name",
  "nickname",
  "gender",
  "locale",
  "preferred_username",
  "updated_at",
  "email",
  "email_verified",
  "phone_number",
  "phone_number_verified",
] as const
