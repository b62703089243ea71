import type { Database } from "bun:sqlite"
import { numberAt } from "../../retention/horizon.ts"
import type { Gate } from "../checkpoint.ts"
import type { Durability } from "../durability.ts"
import { groupCommit } from "../group-commit.ts"
import type { Append, Appended, BlobRequest, Folded, LogEvent } from "../log.ts"
import { insert, keep, keptIdTime, type Writing, write } from "./rows.ts"
import type { Statements } from "./statements.ts"

/** What steps are committed with; `head` is the newest position at the start. */
export type Committing = Writing & {
  readonly database: Database
  readonly gate: Gate
  readonly durability: Durability
  readonly head: number
}

/** Writes as `append` does, and asks nothing. */
export type Replica = {
  readonly event: (event: LogEvent, folded?: readonly Folded[]) => void
  readonly blob: (instance: string, blob: BlobRequest) => void
}

/** Takes steps into groups, and keeps what is known in memory true to what is in the tables. */
export function committer(parts: Committing, sql: Statements, lost: () => void) {
  const { database, names, eventTypes, gate, durability } = parts
  let committed = { head: parts.head, events: 0, idTime: numberAt(database, "ids") }
  let written = committed
  let erases = false

  const group = groupCommit({
    database,
    busy: durability.syncing,
    committed: () => {
      const events = written.events - committed.events
      committed = written
      names.keep()
      eventTypes.keep()
      durability.wrote(committed.head)
      gate.committed(events, erases)
      erases = false
    },
    undone: () => {
      lost()
      written = committed
      erases = false
      names.forget(0)
      eventTypes.forget(0)
    },
  })

  const take = (work: () => Appended, added: Added): Appended => {
    const marks = { names: names.mark(), eventTypes: eventTypes.mark() }
    const forget = () => {
      names.forget(marks.names)
      eventTypes.forget(marks.eventTypes)
    }
    try {
      const result = group.run(work, ({ kind }) => kind === "appended")
      if (result.kind === "appended") {
        const idTime = keptIdTime(added, written)
        written = { head: result.position, events: written.events + added.events.length, idTime }
        erases ||= added.events.some(({ erase }) => erase) || added.blobs?.some(isDrop) === true
      } else forget()
      return result
    } catch (cause) {
      lost()
      forget()
      throw cause
    }
  }
  return {
    group,
    commit: (step: Append) => take(() => write(sql, parts, step, written), step),
    replicate: (work: (replica: Replica) => void, note: (event: LogEvent) => void) => {
      const events: LogEvent[] = []
      const event: Replica["event"] = (placed, folded) => {
        insert(sql, parts, placed)
        parts.apply(placed, folded)
        note(placed)
        events.push(placed)
      }
      const blob: Replica["blob"] = (instance, each) => keep(sql, instance, each)
      const replicate = (): Appended => {
        work({ event, blob })
        return { kind: "appended", position: events.at(-1)?.position ?? written.head }
      }
      take(replicate, { events })
    },
  }
}

type Added = Pick<Append, "blobs" | "idTime"> & {
  readonly events: readonly Pick<LogEvent, "erase">[]
}

const isDrop = (blob: BlobRequest) => "drop" in blob
