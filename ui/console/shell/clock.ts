/** How far the clock of this device may be off before the console says so. */
const tolerableMs = 5 * 60_000

/** How far the clock of this device is ahead of the server's, by its last answer. */
let aheadMs = 0

/** Reads the server's clock in an answer that has just come (RFC 9110 §6.6.1, Date). */
export function noteClock({ headers }: Response): void {
  const serverMs = Date.parse(headers.get("date") ?? "")
  if (!Number.isNaN(serverMs)) aheadMs = Date.now() - serverMs
}

/** The time now, whatever the clock of this device says; in ms. */
export const serverNow = (): number => Date.now() - aheadMs

/** What has to be added to the clock of this device to have the server's; in s. */
export const clockSkewSeconds = (): number => -Math.round(aheadMs / 1000)

export const isClockWrong = (): boolean => Math.abs(aheadMs) > tolerableMs
