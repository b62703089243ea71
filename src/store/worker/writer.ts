import type { Fault } from "../../kernel/fault.ts"
import type { Append, AppendResult } from "../log/log.ts"
import type { FailedSelection } from "../shared/shared-log.ts"

/** A sign-in attempt that waits for its turn. */
export type QueuedAttempt = {
  /** The queue of the attempt. */
  readonly line: string
  /** Whether the queue belongs to no account: failures are remembered, but not stored. */
  readonly isStranger: boolean
  /** The number of recent failures, as stored. */
  readonly failures: number
  readonly source: string | undefined
  /** A random number that decides between addresses with the same number of turns. */
  readonly lot: number
}

/** Permission for an attempt after a delay; the next attempts wait until it is over. */
export type AttemptPermission = {
  readonly delaySeconds: number
  /** The number of recent failures. */
  readonly failures: number
  readonly over: (isRight: boolean) => void
}

/**
 * The process that writes a file, as seen by a process that only reads it. Each function rejects if
 * that process has ended: the outcome is then unknown.
 */
export type Writer = {
  /** Decides on a transaction and writes it; resolves when it is synced. */
  readonly append: (step: Append) => Promise<AppendResult>
  /** Resolves when everything in the file is synced, with its position. */
  readonly settle: () => Promise<number>
  /** Whether this is the first use of something that can be used once until a time in ms UTC. */
  readonly spendOnce: (usedKey: string, until: number) => Promise<boolean>
  /** Resolves when an attempt has its turn among all attempts for its account in all processes. */
  readonly turn: (attempt: QueuedAttempt) => Promise<AttemptPermission>
  /** Counts a request against the quota of the instance; throws if it is exhausted. */
  readonly count: (instance: string) => Promise<void>
  /** Reports a disk failure of this process, which affects readiness. */
  readonly trouble: (fault: Fault) => Promise<void>
  readonly rebuild: (view: string) => Promise<void>
  readonly removeFailed: (reactor: string, position: number) => Promise<void>
  readonly retryFailed: (selection: FailedSelection) => Promise<number>
}
