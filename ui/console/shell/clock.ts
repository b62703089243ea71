/** Clock difference beyond which the console shows a warning. */
const toleranceMs = 5 * 60_000

/** How far this device's clock is ahead of the server's, by the latest response. */
let aheadMs = 0

/** Reads the server's clock from the Date header of a response (RFC 9110 §6.6.1). */
export function recordServerClock({ headers }: Response): void {
  const serverMs = Date.parse(headers.get("date") ?? "")
  if (!Number.isNaN(serverMs)) aheadMs = Date.now() - serverMs
}

/** The current time by the server's clock, in ms. */
export const serverNow = (): number => Date.now() - aheadMs

/** The difference to add to this device's clock to get the server's, in seconds. */
export const clockSkewSeconds = (): number => -Math.round(aheadMs / 1000)

export const isClockWrong = (): boolean => Math.abs(aheadMs) > toleranceMs
