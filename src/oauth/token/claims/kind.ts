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

/** What a JWT that a web key signed is for: nothing accepts one kind in the place of the other. */
export type JwtKind = "access_token" | "id_token"

/** Neither scripts nor targets can add claims with this prefix; see `takeClaim`. */
const kindClaim = "urn:core:iam:token:kind"

/**
 * The claims that identify an access token whose header doesn't: resource servers that accept only
 * `JWT` there give it the same `typ` as an id_token.
 */
export const kindClaims = (typ: AccessTokenJwtType): Claims =>
  typ === "JWT" ? { [kindClaim]: "access_token" } : {}

/** The kind of a JWT by its header and its claims; undefined for any other JWT of ours. */
export function kindOf(typ: unknown, claims: Claims): JwtKind | undefined {
  // RFC 9068 §2.1.
  if (typ === "at+jwt") return "access_token"
  if (typ !== "JWT") return undefined
  const kind = claims[kindClaim]
  if (kind === undefined) return "id_token"
  return kind === "access_token" ? kind : undefined
}

type ReadJwt = { readonly claims: Claims & { readonly iss: string }; readonly kid: string }

/**
 * Reads a JWT of this issuer that is of the expected kind and has not expired, except where
 * `expired` accepts that; undefined for anything else.
 */
export function readJwt(
  cx: Cx,
  jwt: string,
  expected: { readonly kind: JwtKind; readonly expired?: "accepted" },
): ReadJwt | undefined {
  const { kind, ...rest } = expected
  const claims = verifyJwt(cx, jwt, { ...rest, typ: accessTokenJwtTypes, algorithms })
  const { issuer: iss } = issuerOf(cx)
  if (claims?.iss !== iss) return undefined
  const { typ, kid = "" } = decodeProtectedHeader(jwt)
  return kindOf(typ, claims) === kind ? { claims: { ...claims, iss }, kid } : undefined
}
