import type { OidcApp } from "../../../domain/app/index.ts"
import { OAuthError } from "../../error.ts"

/** How a request has come. */
type Way = { readonly isPushed: boolean; readonly isSigned: boolean }

/**
 * RFC 9126 §6 and RFC 9101 §10.5: an application may say that its requests are always pushed, or
 * always signed; else whoever stands between could take that away. A pushed one was checked then.
 */
export function checkWay({ oidc }: OidcApp, { isPushed, isSigned }: Way): void {
  const { pushed = false, signed = false } = oidc.requestRules ?? {}
  if (pushed && !isPushed) {
    throw new OAuthError("invalid_request", "this client's requests must be pushed")
  }
  if (signed && !isSigned) {
    throw new OAuthError("invalid_request", "this client's requests must be signed")
  }
}
