import { findClient } from "../../domain/app/index.ts"
import { findingOfUri, findingWithoutValue } from "../../domain/refusal/index.ts"
import { findByLoginName } from "../../domain/user-lookup/index.ts"
import { loginPaths } from "../../login/index.ts"
import { matchesWildcards } from "../../protocol/wildcard.ts"
import type { Cx } from "../../store/index.ts"
import { foreignHintError, verifyIdTokenHint } from "../authorize/request/parse.ts"
import { unusableFindings } from "../client/registered-client.ts"
import { OAuthError } from "../error.ts"
import { type Parameters, splitWords } from "../parameters.ts"

/** Parameters of a request (OpenID Connect RP-Initiated Logout §2). */
export const logoutParameters = [
  "id_token_hint",
  "logout_hint",
  "client_id",
  "post_logout_redirect_uri",
  "state",
  "ui_locales",
] as const

/** A validated logout request (OpenID Connect RP-Initiated Logout §2). */
export type LogoutRequest = {
  /** Where the browser is sent afterwards: the application's page, or ours. */
  readonly location: string
  readonly application: string | undefined
  readonly clientId: string | undefined
  /** From the id_token_hint: the client that it was issued to, the session and the user. */
  readonly hintedClientId: string | undefined
  readonly sessionId: string | undefined
  readonly userId: string | undefined
  /** The user in logout_hint, which proves nothing. */
  readonly logoutHintUser: string | undefined
  /** Best first. */
  readonly languages: readonly string[]
}

/** Parses a logout request; errors are shown on a page. */
export function parseLogoutRequest(cx: Cx, parameters: Parameters): LogoutRequest {
  const hint = parameters.get("id_token_hint")
  // §2: an expired ID token is accepted, also of a session that has ended.
  const claims = hint === undefined ? undefined : verifyIdTokenHint(cx, hint)
  if (hint !== undefined && !claims) {
    throw foreignHintError(cx, hint)
  }
  const clientIdParameter = parameters.get("client_id")
  const hinted = stringOf(claims?.azp)
  // §2: the ID token must have been issued to the client in client_id.
  if (clientIdParameter !== undefined && hinted !== undefined && clientIdParameter !== hinted) {
    throw new OAuthError("invalid_request", "client_id does not match the id_token_hint", {
      finding: findingWithoutValue("id_token_hint", "hint.other_client"),
    })
  }
  const clientId = clientIdParameter ?? hinted
  const client = clientId === undefined ? undefined : findClient(cx, clientId)
  const logoutHint = parameters.get("logout_hint")
  return {
    location: clientId === undefined ? loginPaths.signedOut : locationOf(cx, clientId, parameters),
    application: client?.state.name,
    clientId,
    hintedClientId: hinted,
    sessionId: stringOf(claims?.sid),
    userId: stringOf(claims?.sub),
    logoutHintUser: logoutHint === undefined ? undefined : userOfHint(cx, logoutHint),
    languages: splitWords(parameters.get("ui_locales")),
  }
}

/** §2: a login name, or the `sub`, which both the client and this server know. */
const userOfHint = (cx: Cx, logoutHint: string): string =>
  findByLoginName(cx, logoutHint) ?? logoutHint

/** §3: redirects only to a registered URI of the application. */
function locationOf(cx: Cx, clientId: string, parameters: Parameters): string {
  const subject = "post_logout_redirect_uri"
  const uri = parameters.get(subject)
  if (uri === undefined) return loginPaths.signedOut
  const state = findClient(cx, clientId)?.state
  const oidc = state?.kind === "oidc" ? state.oidc : undefined
  if (oidc && isRegisteredLogoutUri(oidc, uri)) return withState(uri, parameters.get("state"))
  throw new OAuthError("invalid_request", `${subject} is not registered for this application`, {
    finding: () =>
      state
        ? [findingOfUri(subject, uri, oidc?.postLogoutRedirectUris ?? [])]
        : unusableFindings(cx, clientId),
  })
}

type LogoutRegistration = {
  readonly devMode: boolean
  readonly postLogoutRedirectUris: readonly string[]
}

/**
 * §3: compared exactly, except that an empty path equals "/" (RFC 3986 §6.2.3); in development
 * mode, an application can register wildcards.
 */
function isRegisteredLogoutUri(
  { devMode, postLogoutRedirectUris }: LogoutRegistration,
  uri: string,
): boolean {
  if (uri.includes("*")) return false
  const same = withPath(uri)
  if (postLogoutRedirectUris.some((registered) => withPath(registered) === same)) return true
  const patterns = postLogoutRedirectUris.filter(
    (registered) => devMode && registered.includes("*"),
  )
  return patterns.some((registered) => matchesWildcards(registered, uri))
}

const withPath = (uri: string): string => uri.replace(/^(https?:\/\/[^/?#]+)(?=$|[?#])/i, "$1/")

function withState(uri: string, state: string | undefined): string {
  if (state === undefined) return uri
  return `${uri}${uri.includes("?") ? "&" : "?"}${new URLSearchParams({ state })}`
}

const stringOf = (value: unknown) => (typeof value === "string" ? value : undefined)
