import type { Found } from "../domain/refusal/index.ts"
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

type Options = {
  readonly status?: number
  /** What was wrong, for whoever set the client up; what is thrown to the client never says it. */
  readonly finding?: Found | undefined
  /**
   * Whose affair that is, where the request may name somebody else as its client: an owner must not
   * learn of the keys, users and tokens of others. Absent where it is that client's in any case.
   */
  readonly whose?: string | undefined
}

/**
 * An expected failure of a protocol endpoint. The description is for the client's developer, in
 * plain words; it never repeats what was sent (RFC 6749 allows few characters there).
 */
export class OAuthError extends Error {
  readonly error: OAuthErrorCode
  readonly description: string
  readonly status: number
  readonly finding: Found | undefined
  readonly whose: string | undefined

  constructor(error: OAuthErrorCode, description: string, options: Options = {}) {
    super(`${error}: ${description}`)
    this.name = "OAuthError"
    this.error = error
    this.description = description
    this.status = options.status ?? 400
    this.finding = options.finding
    this.whose = options.whose
  }
}

/** What a fault of a module means to a client of the protocol: that it may come again, or not. */
export function errorOf({ code, message, retryAfterSeconds }: Fault): OAuthError {
  // RFC 6585 §4: it is this sender who is to come again later.
  if (retryAfterSeconds) return new OAuthError("temporarily_unavailable", message, { status: 429 })
  const passing = code === "aborted" || code === "unavailable" || code === "resource_exhausted"
  return passing
    ? new OAuthError("temporarily_unavailable", message, { status: 503 })
    : new OAuthError("server_error", message, { status: 500 })
}
