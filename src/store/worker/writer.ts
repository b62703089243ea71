import type { Fault } from "../../kernel/fault.ts"
import type { Append, Appended } from "../log/log.ts"
import type { FailedSelection } from "../shared/shared-log.ts"

/** A try of an account that waits for its turn. */
export type Try = {
  /** What tries stand in line for. */
  readonly line: string
  /** Whether the line is nobody's: what failed in it is remembered, not written. */
  readonly isStranger: boolean
  /** How many have failed lately, as far as is written. */
  readonly failures: number
  readonly source: string | undefined
  /** Decides among those from addresses that have had as many turns. */
  readonly lot: number
}

/** A try that may be made, after so many seconds; the next ones wait until it is over. */
export type Turn = {
  readonly delaySeconds: number
  /** How many tries have failed lately. */
  readonly failures: number
  readonly over: (isRight: boolean) => void
}

/**
 * The process that writes a file, as another one sees it that only reads there. Each function
 * faults when that process is gone: then nobody knows what became of it.
 */
export type Writer = {
  /** Decides about a step and writes it; resolves when that is on disk. */
  readonly append: (step: Append) => Promise<Appended>
  /** Resolves when all that is in the file is on disk, with the position up to which. */
  readonly settle: () => Promise<number>
  /** Whether something that counts once, until a time in ms UTC, is used for the first time. */
  readonly spendOnce: (what: string, until: number) => Promise<boolean>
  /** Resolves when a try has its turn among those of its account at all processes. */
  readonly turn: (asked: Try) => Promise<Turn>
  /** Counts a request where the instance has a quota; faults where that is used up. */
  readonly count: (instance: string) => Promise<void>
  /** Tells it what the disk did not do here: it says whether the service is ready. */
  readonly trouble: (fault: Fault) => Promise<void>
  readonly rebuild: (view: string) => Promise<void>
  readonly removeFailed: (reactor: string, position: number) => Promise<void>
  readonly retryFailed: (which: FailedSelection) => Promise<number>
}
