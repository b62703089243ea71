import type { OidcApp } from "../../../domain/app/index.ts"
import { OAuthError } from "../../error.ts"

/** How a request was sent. */
type RequestOrigin = { readonly isPushed: boolean; readonly isSigned: boolean }

/**
 * RFC 9126 §6 and RFC 9101 §10.5: an application can require pushed or signed requests; otherwise
 * an attacker could remove these protections. A pushed request was validated when it was pushed.
 */
export function validateRequestOrigin(
  { oidc }: OidcApp,
  { isPushed, isSigned }: RequestOrigin,
): void {
  const { pushed = false, signed = false } = oidc.requestRules ?? {}
  if (pushed && !isPushed) {
    throw new OAuthError("invalid_request", "this client must use pushed authorization requests")
  }
  if (signed && !isSigned) {
    throw new OAuthError("invalid_request", "this client must sign its authorization requests")
  }
}
