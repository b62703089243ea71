import { findClient } from "../../domain/app/index.ts"
import { about, findingOfAddress } from "../../domain/refusal/index.ts"
import { findByLoginName } from "../../domain/user-lookup/index.ts"
import { loginPaths } from "../../login/index.ts"
import { fitsWildcards } from "../../protocol/wildcard.ts"
import type { Cx } from "../../store/index.ts"
import { foreignHintError, readHint } from "../authorize/request/parse.ts"
import { unusableFindings } from "../client/registered.ts"
import { OAuthError } from "../error.ts"
import { type Parameters, wordsOf } from "../request.ts"

/** What a request may say (OpenID Connect RP-Initiated Logout §2). */
export const logoutParameters = [
  "id_token_hint",
  "logout_hint",
  "client_id",
  "post_logout_redirect_uri",
  "state",
  "ui_locales",
] as const

/** What is asked at the end of a session (OpenID Connect RP-Initiated Logout §2). */
export type Logout = {
  /** Where the browser goes afterwards: the application's page, or ours. */
  readonly location: string
  readonly application: string | undefined
  readonly clientId: string | undefined
  /** From the id_token_hint: whom it was issued to, the session and the user. */
  readonly hintedClientId: string | undefined
  readonly sessionId: string | undefined
  readonly userId: string | undefined
  /** Whom logout_hint names; it proves nothing. */
  readonly meantUser: string | undefined
  /** Best first. */
  readonly languages: readonly string[]
}

/** Reads what is asked; what can't be is told on a page. */
export function logoutOf(cx: Cx, parameters: Parameters): Logout {
  const hint = parameters.get("id_token_hint")
  // §2: one that has expired will do, of a session that is over too.
  const claims = hint === undefined ? undefined : readHint(cx, hint)
  if (hint !== undefined && !claims) {
    throw foreignHintError(cx, hint)
  }
  const named = parameters.get("client_id")
  const hinted = textOf(claims?.azp)
  // §2: the server verifies that the id_token was issued to the client that is named.
  if (named !== undefined && hinted !== undefined && named !== hinted) {
    throw new OAuthError("invalid_request", "client_id is not that of the id_token_hint", {
      finding: about("id_token_hint", "hint.other_client"),
    })
  }
  const clientId = named ?? hinted
  const client = clientId === undefined ? undefined : findClient(cx, clientId)
  const meant = parameters.get("logout_hint")
  return {
    location: clientId === undefined ? loginPaths.signedOut : locationOf(cx, clientId, parameters),
    application: client?.state.name,
    clientId,
    hintedClientId: hinted,
    sessionId: textOf(claims?.sid),
    userId: textOf(claims?.sub),
    meantUser: meant === undefined ? undefined : userOf(cx, meant),
    languages: wordsOf(parameters.get("ui_locales")),
  }
}

/** §2: whatever the client and we both know a person by; here a login name, or the `sub`. */
const userOf = (cx: Cx, meant: string): string => findByLoginName(cx, meant) ?? meant

/** §3: a redirect goes to where the application registered it, and nowhere without knowing it. */
function locationOf(cx: Cx, clientId: string, parameters: Parameters): string {
  const subject = "post_logout_redirect_uri"
  const uri = parameters.get(subject)
  if (uri === undefined) return loginPaths.signedOut
  const state = findClient(cx, clientId)?.state
  const oidc = state?.kind === "oidc" ? state.oidc : undefined
  if (oidc && isRegistered(oidc, uri)) return withState(uri, parameters.get("state"))
  throw new OAuthError("invalid_request", `${subject} is not registered for this application`, {
    finding: () =>
      state
        ? [findingOfAddress(subject, uri, oidc?.postLogoutRedirectUris ?? [])]
        : unusableFindings(cx, clientId),
  })
}

type Registration = {
  readonly devMode: boolean
  readonly postLogoutRedirectUris: readonly string[]
}

/**
 * §3: compared exactly, but for an empty path, which is "/" (RFC 3986 §6.2.3); in development mode
 * an application may register wildcards.
 */
function isRegistered({ devMode, postLogoutRedirectUris }: Registration, uri: string): boolean {
  if (uri.includes("*")) return false
  const same = withPath(uri)
  if (postLogoutRedirectUris.some((known) => withPath(known) === same)) return true
  const patterns = postLogoutRedirectUris.filter((known) => devMode && known.includes("*"))
  return patterns.some((known) => fitsWildcards(known, uri))
}

const withPath = (uri: string): string => uri.replace(/^(https?:\/\/[^/?#]+)(?=$|[?#])/i, "$1/")

function withState(uri: string, state: string | undefined): string {
  if (state === undefined) return uri
  return `${uri}${uri.includes("?") ? "&" : "?"}${new URLSearchParams({ state })}`
}

const textOf = (value: unknown) => (typeof value === "string" ? value : undefined)
