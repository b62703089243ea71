import { findClient, isAppActive, isSelfRegistered } from "../../domain/app/index.ts"
import { about } from "../../domain/refusal/index.ts"
import { bringsCookie, sessionNow } from "../../domain/session/index.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import type { Logout } from "./request.ts"

/**
 * Whether a request may be a program's: a browser brings our cookie, or says itself where it comes
 * from (Fetch Metadata), which pages can't keep it from. Browsers do not say so over plain http.
 */
export const mayBeProgram = ({ headers }: Request): boolean =>
  !bringsCookie(headers.get("cookie")) &&
  [...headers.keys()].every((name) => !name.startsWith("sec-fetch-"))

/** Whether the session that the hint names lives on. */
export const isHintedLive = (cx: Cx, { sessionId }: Logout): boolean =>
  sessionId !== undefined && sessionNow(cx, sessionId) !== undefined

/**
 * The one session that the back end of an application ends by an id_token: a live one of the user
 * and the client that the token names, where the application is set up so and no stranger's.
 * Undefined where nothing is to end so.
 */
export function backEndSession(cx: Cx, logout: Logout): string | undefined {
  const { sessionId, userId } = logout
  if (sessionId === undefined || !isAccepted(cx, logout)) return undefined
  return sessionNow(cx, sessionId)?.userId === userId ? sessionId : undefined
}

function isAccepted(cx: Cx, { hintedClientId }: Logout): boolean {
  const client = hintedClientId === undefined ? undefined : findClient(cx, hintedClientId)
  if (client?.state.kind !== "oidc" || !isAppActive(cx, client.appId)) return false
  return client.state.oidc.backEndLogout === true && !isSelfRegistered(cx, client.appId)
}

/** What a program is told whose request has ended nothing. */
export function nothingEndedError(cx: Cx, logout: Logout): OAuthError {
  const isOff = !isAccepted(cx, logout)
  const why = isOff
    ? "the application does not accept sign-out from its back end"
    : "the session of the id_token is another user's"
  return new OAuthError("invalid_request", `no session was ended: ${why}`, {
    finding: about("id_token_hint", isOff ? "hint.back_end_off" : "hint.no_session"),
  })
}
