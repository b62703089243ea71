import type { Database } from "bun:sqlite"
import type { AnyEvent, Recorded } from "./event.ts"
import type { LogEvent } from "./log.ts"
import { createTables, type Handle, headOf, type Placement, physical, type Replay } from "./views.ts"

/** A view being made anew beside the one that serves. */
export type Rebuild = {
  readonly name: string
  readonly running: () => boolean
  readonly done: Promise<void>
  readonly stop: () => void
}

type Job = {
  readonly database: Database
  readonly old: Placement
  readonly replay: Replay
  readonly pause: () => Promise<void>
  readonly handle: (placements: readonly Placement[]) => Handle
  readonly swapped: (placement: Placement) => void
  readonly failed: (view: string, cause: unknown) => void
}

/** Events in one transaction of a rebuild: a slice of about four milliseconds. */
const slice = 100

/**
 * Replays the log into new tables, slice by slice between other work, and then swaps them in: the
 * last slice and the swap are one transaction, in which nothing else can append.
 */
export function rebuild(job: Job): Rebuild {
  let stopped = false
  let running = true
  const done = replayAll(job, () => stopped)
    .catch((cause: unknown) => job.failed(job.old.view.name, cause))
    .finally(() => {
      running = false
    })
  return {
    name: job.old.view.name,
    running: () => running,
    done,
    stop: () => {
      stopped = true
    },
  }
}

async function replayAll(job: Job, stopped: () => boolean): Promise<void> {
  const { database, old } = job
  const next: Placement = { view: old.view, generation: old.generation + 1 }
  dropTables(database, next)
  database.transaction(() => createTables(database, next))()
  // The new tables stand for their own view; all others are not written by its reducers.
  const target = job.handle([next])
  let position = 0
  for (;;) {
    await job.pause()
    if (stopped()) return
    const events = await job.replay(position, slice)
    const reached = events.at(-1)?.position ?? position
    const swap = database.transaction(() => {
      for (const event of events) reduce(target, next, event)
      // Nothing runs between reading the head and the commit: the transaction is synchronous.
      if (headOf(database) > reached) return false
      dropTables(database, old)
      database
        .prepare("UPDATE view SET hash = ?, generation = ? WHERE name = ?")
        .run(next.view.hash, next.generation, next.view.name)
      return true
    })
    position = reached
    if (swap()) return job.swapped(next)
  }
}

function reduce(target: Handle, { view }: Placement, event: LogEvent): void {
  const reducer = view.reducers.get(event.type)
  if (!reducer) return
  const recorded: Recorded<AnyEvent> = event
  reducer(target.writer(event), recorded)
}

/** Also removes what an interrupted rebuild left behind. */
function dropTables(database: Database, { view, generation }: Placement): void {
  for (const name of Object.keys(view.tables)) {
    database.run(`DROP TABLE IF EXISTS ${physical(name, generation)}`)
  }
}
