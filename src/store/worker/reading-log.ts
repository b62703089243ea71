import type { Database } from "bun:sqlite"
import type { writtenOf } from "../log/event-types.ts"
import type { Log } from "../log/log.ts"
import { decode, type Names } from "../log/row.ts"
import { readsOf } from "../log/sqlite-log.ts"
import { statements } from "../log/write/statements.ts"
import type { Sight } from "./sight.ts"
import type { Writer } from "./writer.ts"

export type ReadingParts = {
  readonly database: Database
  readonly names: Names
  readonly sight: Sight
  readonly writer: Writer
  readonly written: ReturnType<typeof writtenOf>
  /** Grows when nothing counts any more that is in memory. */
  readonly losses: () => number
}

/**
 * The log of a file that another process writes: what is appended goes there. What is in the file
 * need not be on disk yet, so whoever tells of it has that process wait for the disk.
 */
export function readingLog(parts: ReadingParts): Log {
  const { database, names, sight, writer, written, losses } = parts
  const head = () => {
    sight.look()
    return sight.head()
  }
  let safe = 0
  const settle = async () => {
    if (head() <= safe) return
    safe = Math.max(safe, await writer.settle())
    sight.renew()
  }
  const sql = statements(database)
  const reads = readsOf({ names, durability: { durable: head } }, sql)
  /** What was read is told only once it is on disk. */
  const settled = async <T>(read: () => T | Promise<T>): Promise<T> => {
    sight.open()
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
        // Its own step, or what it conflicts with, is in the file by now.
        sight.renew()
      }
    },
    read: (...what) => settled(() => reads.read(...what)),
    at: (...what) => settled(() => reads.at(...what)),
    history: (...what) => settled(() => reads.history(...what)),
    find: (position, limit, types) =>
      settled(() => {
        const upTo = sql.window.get(position, sight.head(), limit)?.last ?? position
        const codes = types.flatMap((type) => names.known(type) ?? [])
        const found = sql.find.all(position, upTo, JSON.stringify(codes))
        return { events: found.map((row) => decode(row, names)), upTo }
      }),
    holder: (...what) => {
      sight.open()
      return reads.holder(...what)
    },
    blob: (at) => {
      sight.open()
      return reads.blob(at)
    },
    settle,
    durable: head,
    changes: () => head() + losses(),
    changesOf: (streamsOrTypes) => {
      sight.look()
      return written.steps(streamsOrTypes) + losses()
    },
    writes: head,
    close: () => Promise.resolve(),
  }
}
