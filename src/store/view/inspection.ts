import { Database } from "bun:sqlite"
import { closeSync, openSync, rmSync, statfsSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { delay } from "../../kernel/clock.ts"
import { damagedError } from "../log/row.ts"
import { createTables, physicalName, type TableGeneration } from "./generation.ts"
import { createHandle, type EventValues } from "./handle.ts"
import { applyEvents, type BackgroundChunk, type BuildingView, type Replay } from "./rebuild.ts"
import type { Value } from "./statement.ts"
import { setStatistics } from "./statistics.ts"

export type ViewInspectionParts = {
  readonly database: Database
  readonly replay: Replay
  readonly chunk: BackgroundChunk
  /** Resolves when no view is being rebuilt. */
  readonly rebuilt: () => Promise<void>
  /** The views that are currently complete. */
  readonly whole: () => readonly TableGeneration[]
}

export type InspectionOptions = {
  /** The ratio of pause to work. */
  readonly rest: number
  /** Instances whose rows are being purged, while their events may still exist. */
  readonly gone: () => readonly string[]
}

/** A pruned stream. */
type PrunedStream = EventValues & { readonly stream: string }

/** Each chunk takes about two milliseconds. */
const chunkEvents = 50
const chunkRows = 50

/**
 * Rebuilds the views from the log in a private file, and compares their rows with the served ones.
 * Both are at the head of the log whenever they are compared: a chunk first applies new events, and
 * nothing is written while it runs.
 */
export function createViewInspector(parts: ViewInspectionParts) {
  let copy: ViewCopy | undefined
  let isStopped = false
  let done = Promise.resolve()
  const inspectAll = async ({ rest, gone }: InspectionOptions): Promise<void> => {
    await parts.rebuilt()
    if (isStopped) return
    const made = createCopy(parts, () => new Set(gone()))
    copy = made
    try {
      for (const step of made.steps()) {
        await delay((await measure(parts.chunk, step)) * rest)
        if (isStopped) return
      }
    } finally {
      copy = undefined
      made.close()
    }
  }
  return {
    /** Throws a fault that names the table if a row doesn't match its events. */
    inspect: (options: InspectionOptions): Promise<void> => {
      const looking = inspectAll(options)
      done = looking.catch(() => undefined)
      return looking
    },
    /** Removes pruned streams from the copy. */
    dropped: (streams: readonly PrunedStream[]) => copy?.drop(streams),
    stop: () => {
      isStopped = true
      return done
    },
  }
}

/** Returns how long the work took, in milliseconds. */
const measure = (chunk: BackgroundChunk, work: () => void): Promise<number> =>
  chunk(
    () => {
      const began = performance.now()
      work()
      return performance.now() - began
    },
    () => false,
  )

type ViewCopy = {
  readonly steps: () => Generator<() => void>
  readonly drop: (streams: readonly PrunedStream[]) => void
  readonly close: () => void
}

function createCopy(
  { database: live, replay, whole }: ViewInspectionParts,
  gone: () => ReadonlySet<string>,
): ViewCopy {
  const database = openPrivateDatabase(live.filename)
  const served: TableGeneration[] = []
  const built: BuildingView[] = []
  const add = (placed: TableGeneration) => {
    const { view } = placed
    const next = database.transaction(() => createTables(database, view))()
    setStatistics(database, [next])
    served.push(placed)
    built.push({ view, next, target: createHandle(database, [next]) })
  }
  let position = 0
  /** Applies new events; returns whether the copy is up to date. */
  const catchUp = (): boolean => {
    const events = replay(position, chunkEvents)
    const skipped = gone()
    const relevant = events.filter(({ instance }) => !skipped.has(instance))
    database.transaction(() => {
      for (const building of built) applyEvents(building, relevant)
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
          const rebuiltSide = { database, table: physicalName(name, next.generation), columns }
          const servedSide = { database: live, table: physicalName(name, generation), columns }
          let after: readonly Value[] | undefined = []
          while (after) {
            const from: readonly Value[] = after
            yield () => {
              if (catchUp())
                after = compareChunk({ name, ours: rebuiltSide, theirs: servedSide, gone }, from)
            }
          }
        }
      }
    },
    drop: (streams) =>
      database.transaction(() => {
        for (const last of streams) {
          for (const { view, target } of built)
            view.onPruned[last.stream]?.(target.writer(last), last)
        }
      })(),
    close: () => database.close(),
  }
}

/** A private file without a name, so that nothing remains however this ends. */
function openPrivateDatabase(database: string): Database {
  const { bavail, bsize } = statfsSync(dirname(database))
  if (bavail * bsize < 2 * statSync(database).size) {
    throw new Error("not enough disk space to rebuild the views for comparison")
  }
  const file = `${database}-inspection`
  rmSync(file, { force: true })
  closeSync(openSync(file, "wx", 0o600))
  const made = new Database(file, { readwrite: true, strict: true })
  made.run("PRAGMA journal_mode = MEMORY")
  made.run("PRAGMA synchronous = OFF")
  made.run("PRAGMA locking_mode = EXCLUSIVE")
  // SQLite opens the file on first use.
  made.run("PRAGMA user_version = 1")
  rmSync(file)
  return made
}

type TableSide = {
  readonly database: Database
  readonly table: string
  readonly columns: readonly string[]
}

type Comparison = {
  readonly name: string
  readonly ours: TableSide
  readonly theirs: TableSide
  readonly gone: () => ReadonlySet<string>
}

type Row = Readonly<Record<string, Value>> & { readonly instance: string }

/** Compares rows after a key, and returns the key of the last one; undefined at the end. */
function compareChunk(
  { name, ours: rebuiltSide, theirs: servedSide, gone }: Comparison,
  after: readonly Value[],
): readonly Value[] | undefined {
  const [expected, found] = [readRows(rebuiltSide, after), readRows(servedSide, after)]
  const differs = (_: unknown, at: number) => !Bun.deepEquals(expected[at], found[at])
  const at = Array.from({ length: Math.max(expected.length, found.length) }).findIndex(differs)
  if (at < 0) {
    const last = found.at(chunkRows - 1)
    return last && servedSide.columns.map((column) => last[column] ?? null)
  }
  const [instance = ""] = [expected[at], found[at]].flatMap((row) => row?.instance ?? []).sort()
  if (gone().has(instance)) return [instance]
  throw damagedError(`a row of ${name}`)
}

/** Rows in key order, after a key or key prefix. */
function readRows(
  { database, table, columns }: TableSide,
  after: readonly Value[],
): readonly Row[] {
  const afterCondition = columns.slice(0, after.length).join(", ")
  const where = afterCondition && `WHERE (${afterCondition}) > (${after.map(() => "?").join(", ")})`
  const sql = `SELECT * FROM ${table} ${where} ORDER BY ${columns.join(", ")} LIMIT ${chunkRows}`
  return database.query<Row, Value[]>(sql).all(...after)
}
