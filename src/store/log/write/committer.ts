import type { Database } from "bun:sqlite"
import { readNumber } from "../../retention/horizon.ts"
import type { CheckpointGate } from "../checkpoint.ts"
import type { Durability } from "../durability.ts"
import { createGroupCommit } from "../group-commit.ts"
import type { Append, AppendResult, BlobRequest, FoldedStream, LogEvent } from "../log.ts"
import { idTimeToStore, insertEvent, type WriteParts, writeBlob, writeStep } from "./rows.ts"
import type { Statements } from "./statements.ts"

/** The dependencies of commits; `head` is the newest position at the start. */
export type CommitParts = WriteParts & {
  readonly database: Database
  readonly gate: CheckpointGate
  readonly durability: Durability
  readonly head: number
}

/** Writes replicated data like `append`, without any checks. */
export type ReplicaWriter = {
  readonly event: (event: LogEvent, folded?: readonly FoldedStream[]) => void
  readonly blob: (instance: string, blob: BlobRequest) => void
}

/** Runs transactions in groups, and keeps in-memory state consistent with the tables. */
export function createCommitter(parts: CommitParts, sql: Statements, onRollback: () => void) {
  const { database, names, eventTypes, gate, durability } = parts
  let committed = { head: parts.head, events: 0, idTime: readNumber(database, "ids") }
  let written = committed
  let erases = false

  const group = createGroupCommit({
    database,
    busy: durability.currentSync,
    committed: () => {
      const events = written.events - committed.events
      committed = written
      names.keep()
      eventTypes.keep()
      durability.recordCommit(committed.head)
      gate.committed(events, erases)
      erases = false
    },
    undone: () => {
      onRollback()
      written = committed
      erases = false
      names.forget(0)
      eventTypes.forget(0)
    },
  })

  const runInGroup = (work: () => AppendResult, added: AppliedStep): AppendResult => {
    const marks = { names: names.mark(), eventTypes: eventTypes.mark() }
    const forget = () => {
      names.forget(marks.names)
      eventTypes.forget(marks.eventTypes)
    }
    try {
      const result = group.run(work, ({ kind }) => kind === "appended")
      if (result.kind === "appended") {
        const idTime = idTimeToStore(added, written)
        written = { head: result.position, events: written.events + added.events.length, idTime }
        erases ||= added.events.some(({ erase }) => erase) || added.blobs?.some(isDrop) === true
      } else forget()
      return result
    } catch (cause) {
      onRollback()
      forget()
      throw cause
    }
  }
  return {
    group,
    commit: (step: Append) => runInGroup(() => writeStep(sql, parts, step, written), step),
    replicate: (work: (replica: ReplicaWriter) => void, note: (event: LogEvent) => void) => {
      const events: LogEvent[] = []
      const event: ReplicaWriter["event"] = (placed, folded) => {
        insertEvent(sql, parts, placed)
        parts.apply(placed, folded)
        note(placed)
        events.push(placed)
      }
      const blob: ReplicaWriter["blob"] = (instance, each) => writeBlob(sql, instance, each)
      const replicate = (): AppendResult => {
        work({ event, blob })
        return { kind: "appended", position: events.at(-1)?.position ?? written.head }
      }
      runInGroup(replicate, { events })
    },
  }
}

type AppliedStep = Pick<Append, "blobs" | "idTime"> & {
  readonly events: readonly Pick<LogEvent, "erase">[]
}

const isDrop = (blob: BlobRequest) => "drop" in blob
