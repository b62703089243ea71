import type { FindingSource } from "../domain/refusal/index.ts"
import type { Fault } from "../kernel/fault.ts"

/** Error codes of RFC 6749 §4.1.2.1 and §5.2, RFC 7591 §3.2.2, OpenID Connect Core §3.1.2.6. */
export type OAuthErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "invalid_scope"
  | "invalid_token"
  | "invalid_dpop_proof"
  | "insufficient_scope"
  | "unauthorized_client"
  | "unsupported_grant_type"
  | "unsupported_response_type"
  | "access_denied"
  | "authorization_pending"
  | "slow_down"
  | "expired_token"
  | "server_error"
  | "temporarily_unavailable"
  | "login_required"
  | "interaction_required"
  | "account_selection_required"
  | "consent_required"
  | "request_not_supported"
  | "request_uri_not_supported"
  | "invalid_request_object"
  | "invalid_request_uri"
  | "invalid_target"
  | "unmet_authentication_requirements"
  | "registration_not_supported"
  | "invalid_redirect_uri"
  | "invalid_client_metadata"
  | "unapproved_software_statement"

type OAuthErrorOptions = {
  readonly status?: number
  /** Details for the administrator of the client; never sent to the client. */
  readonly finding?: FindingSource | undefined
  /**
   * Who can see the details, if the request may name someone else's client: an owner must not learn
   * about keys, users and tokens of others. If absent, the owner of the client.
   */
  readonly visibleTo?: string | undefined
}

/**
 * An expected failure of a protocol endpoint. The description is for the client's developer; it
 * never repeats input, because RFC 6749 allows few characters in it.
 */
export class OAuthError extends Error {
  readonly error: OAuthErrorCode
  readonly description: string
  readonly status: number
  readonly finding: FindingSource | undefined
  readonly whose: string | undefined

  constructor(error: OAuthErrorCode, description: string, options: OAuthErrorOptions = {}) {
    super(`${error}: ${description}`)
    this.name = "OAuthError"
    this.error = error
    this.description = description
    this.status = options.status ?? 400
    this.finding = options.finding
    this.whose = options.visibleTo
  }
}

/** The protocol error for a fault; some allow a retry. */
export function toOAuthError({ code, message, retryAfterSeconds }: Fault): OAuthError {
  // RFC 6585 §4: this sender must retry later.
  if (retryAfterSeconds) return new OAuthError("temporarily_unavailable", message, { status: 429 })
  const passing = code === "aborted" || code === "unavailable" || code === "resource_exhausted"
  return passing
    ? new OAuthError("temporarily_unavailable", message, { status: 503 })
    : new OAuthError("server_error", message, { status: 500 })
}
