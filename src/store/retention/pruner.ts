import type { Clock, Timer } from "../../kernel/clock.ts"
import type { Store } from "../store.ts"

export type PrunerParts = {
  readonly store: Store
  readonly clock: Clock
  readonly auditRetentionDays: number
  /** Shorter audit retention by instance, in ms. */
  readonly auditRetention?: () => ReadonlyMap<string, number>
  /** The position that every reactor has passed. */
  readonly passed: () => number
  /** Whether another node prunes the shared log. */
  readonly isFollowing?: () => boolean
  /** A pass failed, for example because of a full disk; the next one runs in a minute. */
  readonly failed: (cause: unknown) => void
}

export type Pruner = { readonly stop: () => Promise<void> }

const everyMs = 60_000
const dayMs = 86_400_000

/** Prunes expired data once a minute. */
export function runPruner(parts: PrunerParts): Pruner {
  const { store, clock, passed, failed, auditRetention } = parts
  let isStopped = false
  let timer: Timer | undefined
  let pass: Promise<void> = Promise.resolve()

  const prune = async () => {
    const now = clock.now()
    await store.prune({
      now,
      auditedBefore: now - parts.auditRetentionDays * dayMs,
      ...(auditRetention && {
        auditedSooner: () => new Map([...auditRetention()].map(([id, ms]) => [id, now - ms])),
      }),
      position: passed(),
      stopped: () => isStopped,
      isFollowing: parts.isFollowing?.() ?? false,
    })
  }
  const wait = () => {
    if (isStopped) return
    timer = clock.after(everyMs, () => {
      pass = prune().catch(failed).then(wait)
    })
  }
  wait()
  return {
    stop: async () => {
      isStopped = true
      timer?.stop()
      await pass
    },
  }
}
