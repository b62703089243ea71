import { findClient, isAppActive, isSelfRegistered } from "../../domain/app/index.ts"
import { findingWithoutValue } from "../../domain/refusal/index.ts"
import { findSession, hasCookie } from "../../domain/session/index.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import type { LogoutRequest } from "./request.ts"

/**
 * Whether a request may be from a program: browsers send our cookie, or Fetch Metadata headers,
 * which pages can't suppress. Over plain HTTP, browsers don't send the latter.
 */
export const canBeProgram = ({ headers }: Request): boolean =>
  !hasCookie(headers.get("cookie")) &&
  [...headers.keys()].every((name) => !name.startsWith("sec-fetch-"))

/** Whether the session of the hint is active. */
export const isHintedSessionActive = (cx: Cx, { sessionId }: LogoutRequest): boolean =>
  sessionId !== undefined && findSession(cx, sessionId) !== undefined

/**
 * The session that the backend of an application can end with an ID token: an active session of the
 * user and client in the token, if the application has enabled this and an administrator has
 * approved it. Undefined otherwise.
 */
export function findBackendSession(cx: Cx, logout: LogoutRequest): string | undefined {
  const { sessionId, userId } = logout
  if (sessionId === undefined || !acceptsBackendLogout(cx, logout)) return undefined
  return findSession(cx, sessionId)?.userId === userId ? sessionId : undefined
}

function acceptsBackendLogout(cx: Cx, { hintedClientId }: LogoutRequest): boolean {
  const client = hintedClientId === undefined ? undefined : findClient(cx, hintedClientId)
  if (client?.state.kind !== "oidc" || !isAppActive(cx, client.appId)) return false
  return client.state.oidc.backEndLogout === true && !isSelfRegistered(cx, client.appId)
}

/** The error for a program whose request ended no session. */
export function nothingEndedError(cx: Cx, logout: LogoutRequest): OAuthError {
  const isOff = !acceptsBackendLogout(cx, logout)
  const reason = isOff
    ? "the application does not accept logout requests from its backend"
    : "the session of the ID token belongs to another user"
  return new OAuthError("invalid_request", `no session was ended: ${reason}`, {
    finding: findingWithoutValue("id_token_hint", isOff ? "hint.back_end_off" : "hint.no_session"),
  })
}
