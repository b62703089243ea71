import type { Cause } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import { proofAlgorithms, proofOf, type Use } from "../client/proof.ts"
import { OAuthError } from "../error.ts"
import { checkedToken } from "./bearer.ts"
import type { Statement } from "./statement.ts"

/** An access token as a request presents it. */
export type Presented = { readonly scheme: "bearer" | "dpop"; readonly token: string }

/** RFC 6750 §2.1, RFC 9449 §7.1: the token of an Authorization header; undefined without one. */
export function presentedIn(authorization: string | null): Presented | undefined {
  const [, scheme = "", token] = tokenHeader.exec(authorization ?? "") ?? []
  if (token === undefined) return undefined
  return { scheme: scheme.toLowerCase() === "dpop" ? "dpop" : "bearer", token }
}

const tokenHeader = /^(bearer|dpop) +([\w.~+/-]+=*) *$/i

/**
 * What a presented token says, if it is valid here and now, or why it is not. RFC 9449 §7.1 and
 * §7.2: one that is bound to a key comes with a proof of that key and for that token, and never as
 * a mere bearer's.
 */
export async function checkPresented(
  cx: Cx,
  { scheme, token }: Presented,
  use: Use,
): Promise<Statement | Cause> {
  const claims = checkedToken(cx, token)
  if (typeof claims === "string") return claims
  if (claims.jkt === undefined) return scheme === "bearer" ? claims : "token.unbound"
  if (scheme === "bearer") return "token.bound"
  const proof = await proofOf(cx, { ...use, accessToken: token })
  if (!proof) {
    throw new OAuthError("invalid_dpop_proof", "the DPoP proof is missing", { status: 401 })
  }
  return proof.jkt === claims.jkt ? claims : "dpop.other"
}

/** RFC 6750 §3, RFC 9449 §7.1: how to come back, in the way that was tried. */
export const challengeFor = (scheme: Presented["scheme"], realm: string): string =>
  scheme === "bearer"
    ? `Bearer realm="${realm}"`
    : `DPoP realm="${realm}", algs="${proofAlgorithms.join(" ")}"`
