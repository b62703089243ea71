import { Database } from "bun:sqlite"
import { closeSync, openSync, rmSync, statfsSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { pause } from "../../kernel/clock.ts"
import { damagedError } from "../log/row.ts"
import { createTables, physical, type TableGeneration } from "./generation.ts"
import { handleOf, type Standing } from "./handle.ts"
import { type BackgroundChunk, type Building, type Replay, reduce } from "./rebuild.ts"
import type { Value } from "./statement.ts"
import { advise } from "./statistics.ts"

export type ViewInspectionParts = {
  readonly database: Database
  readonly replay: Replay
  readonly chunk: BackgroundChunk
  /** Resolves when no view is being made anew. */
  readonly rebuilt: () => Promise<void>
  /** The views whose rows are what their reducers make of the events. */
  readonly whole: () => readonly TableGeneration[]
}

export type Inspecting = {
  /** How often as long as it works it pauses. */
  readonly rest: number
  /** Instances whose rows go, or are gone, while their events may still be there. */
  readonly gone: () => readonly string[]
}

/** A stream that was dropped. */
type Dropped = Standing & { readonly stream: string }

/** Each chunk is about two milliseconds. */
const chunkEvents = 50
const chunkRows = 50

/**
 * Makes the views anew from the log, in a file that nobody else sees, and compares their rows with
 * those that serve. Both are at the head of the log whenever they are compared: a chunk begins with
 * what was written since the last one, and nobody writes while it runs.
 */
export function viewInspector(parts: ViewInspectionParts) {
  let copy: Copy | undefined
  let isStopped = false
  let done = Promise.resolve()
  const look = async ({ rest, gone }: Inspecting): Promise<void> => {
    await parts.rebuilt()
    if (isStopped) return
    const made = copyOf(parts, () => new Set(gone()))
    copy = made
    try {
      for (const step of made.steps()) {
        await pause((await timed(parts.chunk, step)) * rest)
        if (isStopped) return
      }
    } finally {
      copy = undefined
      made.close()
    }
  }
  return {
    /** Throws the fault that says which table has a row that is not what its events say. */
    inspect: (how: Inspecting): Promise<void> => {
      const looking = look(how)
      done = looking.catch(() => undefined)
      return looking
    },
    /** Streams went, with what was made of them. */
    dropped: (streams: readonly Dropped[]) => copy?.drop(streams),
    stop: () => {
      isStopped = true
      return done
    },
  }
}

/** How long the work took by itself, in milliseconds. */
const timed = (chunk: BackgroundChunk, work: () => void): Promise<number> =>
  chunk(
    () => {
      const began = performance.now()
      work()
      return performance.now() - began
    },
    () => false,
  )

type Copy = {
  readonly steps: () => Generator<() => void>
  readonly drop: (streams: readonly Dropped[]) => void
  readonly close: () => void
}

function copyOf(
  { database: live, replay, whole }: ViewInspectionParts,
  gone: () => ReadonlySet<string>,
): Copy {
  const database = openBeside(live.filename)
  const served: TableGeneration[] = []
  const built: Building[] = []
  const add = (placed: TableGeneration) => {
    const { view } = placed
    const next = database.transaction(() => createTables(database, view))()
    advise(database, [next])
    served.push(placed)
    built.push({ view, next, target: handleOf(database, [next]) })
  }
  let position = 0
  /** Whether the copy has all that is written. */
  const goOn = (): boolean => {
    const events = replay(position, chunkEvents)
    const skipped = gone()
    const counting = events.filter(({ instance }) => !skipped.has(instance))
    database.transaction(() => {
      for (const building of built) reduce(building, counting)
    })()
    position = events.at(-1)?.position ?? position
    return events.length < chunkEvents
  }
  return {
    steps: function* () {
      for (const placed of whole()) yield () => add(placed)
      for (const { view, next } of built) {
        const generation = served.find((each) => each.view === view)?.generation ?? 0
        for (const [name, { key }] of Object.entries(view.tables)) {
          const columns = ["instance", ...key.split(",").map((column) => column.trim())]
          const ours = { database, table: physical(name, next.generation), columns }
          const theirs = { database: live, table: physical(name, generation), columns }
          let after: readonly Value[] | undefined = []
          while (after) {
            const from: readonly Value[] = after
            yield () => {
              if (goOn()) after = compare({ name, ours, theirs, gone }, from)
            }
          }
        }
      }
    },
    drop: (streams) =>
      database.transaction(() => {
        for (const last of streams) {
          for (const { view, target } of built)
            view.dropped[last.stream]?.(target.writer(last), last)
        }
      })(),
    close: () => database.close(),
  }
}

/** A file for us alone, which has no name any more: nothing of it is left, however this ends. */
function openBeside(database: string): Database {
  const { bavail, bsize } = statfsSync(dirname(database))
  if (bavail * bsize < 2 * statSync(database).size) {
    throw new Error("there is no room to make the views anew beside the database")
  }
  const file = `${database}-inspection`
  rmSync(file, { force: true })
  closeSync(openSync(file, "wx", 0o600))
  const made = new Database(file, { readwrite: true, strict: true })
  made.run("PRAGMA journal_mode = MEMORY")
  made.run("PRAGMA synchronous = OFF")
  made.run("PRAGMA locking_mode = EXCLUSIVE")
  // SQLite opens the file at the first need.
  made.run("PRAGMA user_version = 1")
  rmSync(file)
  return made
}

type Side = {
  readonly database: Database
  readonly table: string
  readonly columns: readonly string[]
}

type Comparison = {
  readonly name: string
  readonly ours: Side
  readonly theirs: Side
  readonly gone: () => ReadonlySet<string>
}

type Row = Readonly<Record<string, Value>> & { readonly instance: string }

/** Compares some rows after a key, and answers the key of the last; undefined at the end. */
function compare(
  { name, ours, theirs, gone }: Comparison,
  after: readonly Value[],
): readonly Value[] | undefined {
  const [expected, found] = [rowsOf(ours, after), rowsOf(theirs, after)]
  const isOther = (_: unknown, at: number) => !Bun.deepEquals(expected[at], found[at])
  const at = Array.from({ length: Math.max(expected.length, found.length) }).findIndex(isOther)
  if (at < 0) {
    const last = found.at(chunkRows - 1)
    return last && theirs.columns.map((column) => last[column] ?? null)
  }
  const [instance = ""] = [expected[at], found[at]].flatMap((row) => row?.instance ?? []).sort()
  if (gone().has(instance)) return [instance]
  throw damagedError(`a row of ${name}`)
}

/** Rows in the order of the key, after a key or the beginning of one. */
function rowsOf({ database, table, columns }: Side, after: readonly Value[]): readonly Row[] {
  const beyond = columns.slice(0, after.length).join(", ")
  const where = beyond && `WHERE (${beyond}) > (${after.map(() => "?").join(", ")})`
  const sql = `SELECT * FROM ${table} ${where} ORDER BY ${columns.join(", ")} LIMIT ${chunkRows}`
  return database.query<Row, Value[]>(sql).all(...after)
}
