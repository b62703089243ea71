import { decodeProtectedHeader } from "jose/decode/protected_header"
import {
  type AccessTokenJwtType,
  accessTokenJwtTypes,
  algorithms,
  type Claims,
  verifyJwt,
} from "../../../domain/key/index.ts"
import type { Cx } from "../../../store/index.ts"
import { issuerOf } from "../../issuer.ts"

/** The purpose of a JWT signed with a web key: one kind is never accepted in place of the other. */
export type JwtKind = "access_token" | "id_token"

/** Neither scripts nor targets can add claims with this prefix; see `takeClaim`. */
const kindClaim = "urn:core:iam:token:kind"

/**
 * Claims that identify an access token whose header does not: it has the `typ` of an ID token for
 * resource servers that accept only `JWT`.
 */
export const kindClaims = (typ: AccessTokenJwtType): Claims =>
  typ === "JWT" ? { [kindClaim]: "access_token" } : {}

/**
 * The kind of a JWT according to its header and claims; undefined for other JWTs of this instance.
 */
export function kindOf(typ: unknown, claims: Claims): JwtKind | undefined {
  // RFC 9068 §2.1.
  if (typ === "at+jwt") return "access_token"
  if (typ !== "JWT") return undefined
  const kind = claims[kindClaim]
  if (kind === undefined) return "id_token"
  return kind === "access_token" ? kind : undefined
}

type VerifiedJwt = { readonly claims: Claims & { readonly iss: string }; readonly kid: string }

/**
 * Verifies a JWT of this issuer that has the expected kind and has not expired, unless `expired`
 * accepts that. Undefined if it is invalid.
 */
export function verifyJwtOfKind(
  cx: Cx,
  jwt: string,
  expected: { readonly kind: JwtKind; readonly expired?: "accepted" },
): VerifiedJwt | undefined {
  const { kind, ...rest } = expected
  const claims = verifyJwt(cx, jwt, { ...rest, typ: accessTokenJwtTypes, algorithms })
  const { issuer: iss } = issuerOf(cx)
  if (claims?.iss !== iss) return undefined
  const { typ, kid = "" } = decodeProtectedHeader(jwt)
  return kindOf(typ, claims) === kind ? { claims: { ...claims, iss }, kid } : undefined
}
