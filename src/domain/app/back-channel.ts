import { type Cx, failureSummary } from "../../store/index.ts"

/** The reactor that notifies applications of ended sessions. */
export const backChannelReactor = "back-channel-logout"

/** How its errors name an application that could not be notified, with the reason. */
export const failureOfClient = (clientId: string, reason: string): string =>
  `${startOf(clientId)}${reason.replaceAll(";", ",")}`

const startOf = (clientId: string): string => `; ${clientId}: `

export type NoticeFailures = {
  /** Ended sessions that the application was not notified of. */
  readonly count: number
  /** ms UTC. */
  readonly last: number
  /** When one of them is tried again, ms UTC; undefined where none is. */
  readonly next: number | undefined
  /** Why the last one failed. */
  readonly reason: string
}

/** What could not be delivered to an application; undefined where nothing failed. */
export function noticeFailures(cx: Cx, clientId: string): NoticeFailures | undefined {
  const text = startOf(clientId)
  const found = failureSummary(cx.store, {
    instance: cx.instance,
    reactor: backChannelReactor,
    text,
  })
  if (!found) return undefined
  const { count, last, next, error } = found
  const [reason = ""] = (error.split(text)[1] ?? "").split(";")
  return { count, last, next, reason }
}
