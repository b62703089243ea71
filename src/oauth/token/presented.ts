import type { Cause } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import { type ProofRequest, proofAlgorithms, verifyProof } from "../client/proof.ts"
import { OAuthError } from "../error.ts"
import { checkToken } from "./bearer.ts"
import type { Statement } from "./statement.ts"

/** An access token in a request. */
export type PresentedToken = { readonly scheme: "bearer" | "dpop"; readonly token: string }

/** RFC 6750 §2.1, RFC 9449 §7.1: the token in an Authorization header; undefined without one. */
export function parseAuthorization(authorization: string | null): PresentedToken | undefined {
  const [, scheme = "", token] = tokenHeaderPattern.exec(authorization ?? "") ?? []
  if (token === undefined) return undefined
  return { scheme: scheme.toLowerCase() === "dpop" ? "dpop" : "bearer", token }
}

const tokenHeaderPattern = /^(bearer|dpop) +([\w.~+/-]+=*) *$/i

/**
 * The claims of a presented token if it is valid, or why it is not. RFC 9449 §7.1 and §7.2: a token
 * that is bound to a key requires a proof of that key for this token, and is never accepted as a
 * bearer token.
 */
export async function verifyPresented(
  cx: Cx,
  { scheme, token }: PresentedToken,
  use: ProofRequest,
): Promise<Statement | Cause> {
  const claims = checkToken(cx, token)
  if (typeof claims === "string") return claims
  if (claims.jkt === undefined) return scheme === "bearer" ? claims : "token.unbound"
  if (scheme === "bearer") return "token.bound"
  const proof = await verifyProof(cx, { ...use, accessToken: token })
  if (!proof) {
    throw new OAuthError("invalid_dpop_proof", "the DPoP proof is missing", { status: 401 })
  }
  return proof.jkt === claims.jkt ? claims : "dpop.other"
}

/** RFC 6750 §3, RFC 9449 §7.1: a challenge with the scheme that the request used. */
export const challengeFor = (scheme: PresentedToken["scheme"], realm: string): string =>
  scheme === "bearer"
    ? `Bearer realm="${realm}"`
    : `DPoP realm="${realm}", algs="${proofAlgorithms.join(" ")}"`
