import type { Clock } from "../../../kernel/clock.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Network } from "../../../runtime/network.ts"
import { systemCode } from "../../start-error.ts"
import { type Finding, ok, warning, wrong } from "../finding.ts"

/** A code of an authenticator app lasts 30 s, and services tolerate seconds. */
const offMs = 10_000
/** The Date header counts whole seconds, and the answer takes its time. */
const unclearMs = 2000
const timeoutMs = 5000

type ClockOptions = {
  readonly clock: Clock
  readonly network: Pick<Network, "send">
  readonly publicUrls: readonly string[]
  /** The clock of the database that nodes share, in ms UTC; undefined without one. */
  readonly databaseNow: () => Promise<number | undefined>
}

/** Compares the clock of this machine with those of others. */
export async function checkClocks(options: ClockOptions): Promise<readonly Finding[]> {
  const { clock, databaseNow, publicUrls } = options
  const findings: Finding[] = []
  const before = clock.now()
  try {
    const now = await databaseNow()
    if (now !== undefined) findings.push(compared("PostgreSQL", middle(before, clock.now()), now))
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    findings.push(wrong("clock", `PostgreSQL's can't be read: ${cause.message}`, "mend that"))
  }
  for (const publicUrl of publicUrls) findings.push(await checkDate(publicUrl, options))
  return findings
}

const middle = (from: number, to: number): number => from + (to - from) / 2

/** RFC 9110 §6.6.1. */
async function checkDate(publicUrl: string, { clock, network }: ClockOptions): Promise<Finding> {
  const what = `the Date header of ${publicUrl} (a proxy's, if one answers there)`
  const todo = "see that the public address can be reached from here"
  const before = clock.now()
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const answer = await network.send(`${publicUrl}/debug/healthz`, { redirect: "manual", signal })
    const date = Date.parse(answer.headers.get("date") ?? "")
    if (Number.isNaN(date)) return ok("clock", `not compared: ${publicUrl} sends no Date`)
    // The header is cut to seconds: on average half of one is missing.
    return compared(what, middle(before, clock.now()), date + 500)
  } catch (cause) {
    const because = systemCode(cause) || (cause instanceof Error ? cause.name : String(cause))
    return warning("clock", `not compared with ${what} (${because})`, todo)
  }
}

function compared(what: string, own: number, its: number): Finding {
  const off = own - its
  const seconds = Math.round(Math.abs(off) / 1000)
  if (Math.abs(off) <= unclearMs) return ok("clock", `the same as that of ${what}`)
  const said = `${seconds} s ${off > 0 ? "ahead of" : "behind"} ${what}`
  const todo = "set both by NTP: codes and tokens would be refused, or last too long"
  return Math.abs(off) > offMs ? wrong("clock", said, todo) : warning("clock", said, todo)
}
