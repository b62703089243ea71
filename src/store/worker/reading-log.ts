import type { Database } from "bun:sqlite"
import type { createWriteCounter } from "../log/event-types.ts"
import type { Log } from "../log/log.ts"
import { decodeEvent, type Names } from "../log/row.ts"
import { createReads } from "../log/sqlite-log.ts"
import { prepareStatements } from "../log/write/statements.ts"
import type { FileSnapshot } from "./file-watch.ts"
import type { Writer } from "./writer.ts"

export type ReadingLogOptions = {
  readonly database: Database
  readonly names: Names
  readonly sight: FileSnapshot
  readonly writer: Writer
  readonly written: ReturnType<typeof createWriteCounter>
  /** Increases when in-memory state becomes invalid. */
  readonly losses: () => number
}

/**
 * The log of a file that another process writes: appends are sent there. The file's content may not
 * be synced yet, so that results are only returned after that process has synced.
 */
export function createReadingLog(parts: ReadingLogOptions): Log {
  const { database, names, sight, writer, written, losses: invalidations } = parts
  const head = () => {
    sight.refresh()
    return sight.head()
  }
  let safe = 0
  const settle = async () => {
    if (head() <= safe) return
    safe = Math.max(safe, await writer.settle())
    sight.invalidate()
  }
  const sql = prepareStatements(database)
  const reads = createReads({ names, durability: { durablePosition: head } }, sql)
  /** Returns a result only once it is synced. */
  const readSynced = async <T>(read: () => T | Promise<T>): Promise<T> => {
    sight.openSnapshot()
    const found = await read()
    await settle()
    return found
  }
  return {
    append: async ({ seen: _, ...step }) => {
      try {
        const result = await writer.append(step)
        if (result.kind === "appended") safe = Math.max(safe, result.position)
        return result
      } finally {
        // The file now contains the appended transaction, or what it conflicts with.
        sight.invalidate()
      }
    },
    read: (...parameters) => readSynced(() => reads.read(...parameters)),
    at: (...parameters) => readSynced(() => reads.at(...parameters)),
    history: (...parameters) => readSynced(() => reads.history(...parameters)),
    find: (position, limit, types) =>
      readSynced(() => {
        const upTo = sql.window.get(position, sight.head(), limit)?.last ?? position
        const codes = types.flatMap((type) => names.findCode(type) ?? [])
        const found = sql.find.all(position, upTo, JSON.stringify(codes))
        return { events: found.map((row) => decodeEvent(row, names)), upTo }
      }),
    holder: (...parameters) => {
      sight.openSnapshot()
      return reads.holder(...parameters)
    },
    blob: (at) => {
      sight.openSnapshot()
      return reads.blob(at)
    },
    settle,
    durable: head,
    changes: () => head() + invalidations(),
    changesOf: (streamsOrTypes) => {
      sight.refresh()
      return written.steps(streamsOrTypes) + invalidations()
    },
    writes: head,
    close: () => Promise.resolve(),
  }
}
