import type { Requirement } from "./musts.ts"

/**
 * The rows of the interface's tables and lists about the authorization server, in their order, each
 * by its first words; the `section` and the start of `demand` of a requirement must match it.
 */
export const interfaceRows: Readonly<Record<string, readonly string[]>> = {
  // States and transitions.
  "§3 row 1": ["activating login_default_org"],
  "§3 row 2": ["a revoked refresh token"],
  "§3 row 3": ["a revoked access token"],
  "§3 row 4": ["a revoked access token"],
  "§3 row 5": ["an execution without targets"],
  "§3 row 6": ["a created user"],
  // Endpoints, with the notes below their table.
  "§4.3 discovery": ["GET /.well-known/openid-configuration"],
  "§4.3 authorization_endpoint": ["GET /oauth/v2/authorize"],
  "§4.3 token_endpoint": ["POST /oauth/v2/token"],
  "§4.3 introspection_endpoint": ["POST /oauth/v2/introspect"],
  "§4.3 userinfo_endpoint": ["GET /oidc/v1/userinfo"],
  "§4.3 revocation_endpoint": ["POST /oauth/v2/revoke"],
  "§4.3 end_session_endpoint": ["/oidc/v1/endsession"],
  "§4.3 jwks_uri": ["/oauth/v2/keys"],
  "§4.3 metadata": ["/.well-known/oauth-authorization-server"],
  // Required, PKCE, optional with each value of prompt, and both response kinds.
  "§4.3 authorize": [
    "client_id",
    "redirect_uri",
    "response_type",
    "scope",
    "code_challenge ",
    "code_challenge_method",
    "id_token_hint",
    "login_hint",
    "max_age",
    "nonce",
    "prompt none",
    "prompt login",
    "prompt select_account",
    "prompt create",
    "without prompt",
    "state",
    "ui_locales",
    "a code answer",
    "an implicit answer",
  ],
  // The grants, the authentication methods, and the refresh request and response.
  "§4.3 token": [
    "a code",
    "client_secret_basic",
    "client_secret_post",
    "none",
    "private_key_jwt",
    "jwt-bearer",
    "refresh_token",
    "a refreshed scope",
    "the answer to a refresh",
  ],
  "§4.3 introspect": ["the client authenticates", "active", "scope and the claims"],
  "§4.3 userinfo": ["the token comes as Bearer"],
  "§4.3 revoke": ["access and refresh tokens"],
  // Authentication; the entry at (8) is about a value that is not shown.
  "§5 (1)": ["resource calls"],
  "§5 (2)": ["four methods"],
  "§5 (3)": ["a service account's assertion"],
  "§5 (4)": ["the management interface"],
  "§5 (5)": ["the caller holds a role"],
  "§5 (6)": ["web, native and user agent"],
  "§5 (7)": ["the organisation"],
  // Errors.
  "§7 (1)": ["a failed v1 operation"],
  "§7 (2)": ["an error at authorize", "an unusable redirect_uri"],
  "§7 (2) invalid_request": ["a required parameter"],
  "§7 (2) invalid_scope": ["openid"],
  "§7 (2) unauthorized_client": ["the client may not use"],
  "§7 (2) unsupported_response_type": ["the response type"],
  "§7 (2) server_error": ["an accident"],
  "§7 (3)": ["a failed authentication"],
  "§7 (4)": ["an invalid or expired token"],
  "§7 (5)": ["errors of the token endpoint"],
}

/** Rows without a test, because nothing to test them with exists yet. */
const untested = ["§3 row 5"]

/**
 * Rows of the interface without a requirement, requirements without a row, and rows without a test.
 */
export function flawsOfInterface(musts: readonly Requirement[]): readonly string[] {
  const own = musts.filter(({ document }) => document === "interface")
  const rows = Object.entries(interfaceRows).flatMap(([section, begins]) =>
    begins.map((begin) => ({ section, begin })),
  )
  const names = (must: Requirement, row: (typeof rows)[number]) =>
    must.section === row.section && must.demand.startsWith(row.begin)
  return [
    ...rows
      .filter((row) => !own.some((must) => names(must, row)))
      .map(({ section, begin }) => `${section} ${begin}: no must names it`),
    ...own
      .filter((must) => !rows.some((row) => names(must, row)))
      .map(({ section, demand }) => `${section} ${demand}: names no row`),
    ...own
      .filter(({ section, test }) => (test === "") !== untested.includes(section))
      .map(({ section, demand }) => `${section} ${demand}: has no test, or one against the list`),
  ]
}
