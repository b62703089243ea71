import type { Clock } from "../../../kernel/clock.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Network } from "../../../runtime/network.ts"
import { systemCode } from "../../start-error.ts"
import { type Finding, ok, problem, warning } from "../finding.ts"

/** TOTP codes are valid for 30 s, and services tolerate a few seconds. */
const differenceMsMax = 10_000
/** The Date header has a resolution of one second, and the response takes time. */
const toleranceMs = 2000
const timeoutMs = 5000

type ClockOptions = {
  readonly clock: Clock
  readonly network: Pick<Network, "send">
  readonly publicUrls: readonly string[]
  /** The clock of the shared database, in ms since the epoch; undefined without one. */
  readonly databaseNow: () => Promise<number | undefined>
}

/** Compares the clock of this machine with those of the database and the public URL. */
export async function checkClocks(options: ClockOptions): Promise<readonly Finding[]> {
  const { clock, databaseNow, publicUrls } = options
  const findings: Finding[] = []
  const before = clock.now()
  try {
    const now = await databaseNow()
    if (now !== undefined)
      findings.push(compareClocks("PostgreSQL", midpoint(before, clock.now()), now))
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    findings.push(
      problem("clock", `the clock of PostgreSQL can't be read: ${cause.message}`, "fix that"),
    )
  }
  for (const publicUrl of publicUrls) findings.push(await checkDate(publicUrl, options))
  return findings
}

const midpoint = (from: number, to: number): number => from + (to - from) / 2

/** RFC 9110 §6.6.1. */
async function checkDate(publicUrl: string, { clock, network }: ClockOptions): Promise<Finding> {
  const subject = `the Date header of ${publicUrl} (which a proxy can set)`
  const todo = "check that the public URL is reachable from here"
  const before = clock.now()
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const answer = await network.send(`${publicUrl}/debug/healthz`, { redirect: "manual", signal })
    const date = Date.parse(answer.headers.get("date") ?? "")
    if (Number.isNaN(date)) return ok("clock", `not compared: ${publicUrl} sends no Date header`)
    // The header is truncated to seconds, which loses half a second on average.
    return compareClocks(subject, midpoint(before, clock.now()), date + 500)
  } catch (cause) {
    const reason = systemCode(cause) || (cause instanceof Error ? cause.name : String(cause))
    return warning("clock", `not compared with ${subject} (${reason})`, todo)
  }
}

function compareClocks(subject: string, own: number, its: number): Finding {
  const off = own - its
  const seconds = Math.round(Math.abs(off) / 1000)
  if (Math.abs(off) <= toleranceMs) return ok("clock", `same time as ${subject}`)
  const text = `${seconds} s ${off > 0 ? "ahead of" : "behind"} ${subject}`
  const todo =
    "synchronize both with NTP: otherwise codes and tokens are rejected or expire too late"
  return Math.abs(off) > differenceMsMax
    ? problem("clock", text, todo)
    : warning("clock", text, todo)
}
