import { type Cx, summarizeFailures } from "../../store/index.ts"

/**
 * The reactor that notifies applications of ended sessions (OpenID Connect Back-Channel Logout).
 */
export const backChannelReactor = "back-channel-logout"

/**
 * One client's part of the reactor's error message: the client ID and why the notification failed.
 */
export const formatClientFailure = (clientId: string, reason: string): string =>
  `${clientPrefix(clientId)}${reason.replaceAll(";", ",")}`

const clientPrefix = (clientId: string): string => `; ${clientId}: `

export type LogoutNotificationFailures = {
  /** Number of ended sessions that the application could not be notified of. */
  readonly count: number
  /** Time of the last failed attempt, ms UTC. */
  readonly last: number
  /** Time of the next retry, ms UTC; undefined if there is none. */
  readonly next: number | undefined
  /** Why the last attempt failed. */
  readonly reason: string
}

/** Logout notifications that could not be delivered to an application; undefined if none failed. */
export function findLogoutNotificationFailures(
  cx: Cx,
  clientId: string,
): LogoutNotificationFailures | undefined {
  const text = clientPrefix(clientId)
  const found = summarizeFailures(cx.store, {
    instance: cx.instance,
    reactor: backChannelReactor,
    text,
  })
  if (!found) return undefined
  const { count, last, next, error } = found
  const [reason = ""] = (error.split(text)[1] ?? "").split(";")
  return { count, last, next, reason }
}
