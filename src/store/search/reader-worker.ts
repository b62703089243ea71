import { Database, SQLiteError, type Statement } from "bun:sqlite"
import { systemClock } from "../../kernel/clock.ts"
import { recent } from "../../kernel/recent.ts"
import type { Value } from "../statement.ts"
import type { Read, ReadAnswer, ReadRequest } from "./reader.ts"

// The reader thread: it answers searches, one after the other, and writes nothing.
declare const self: Worker

type Request = Exclude<ReadRequest, { close: true }>
type Query = Request["plan"]["keys"]

let reading: ReturnType<typeof connect> | undefined
let resting: { readonly stop: () => void } | undefined
/** Whoever is not asked for so long gives back what was kept for the next search. */
const restMs = 2000

self.onmessage = (event: MessageEvent<ReadRequest>) => {
  if ("close" in event.data) {
    reading?.close()
    process.exit(0)
  }
  resting?.stop()
  self.postMessage(answer(event.data))
  resting = systemClock.after(restMs, () => reading?.rest())
}

function answer(request: Request): ReadAnswer {
  try {
    reading ??= connect(request.file)
    const { begin, end } = reading
    begin()
    try {
      return read(request, reading)
    } finally {
      end()
    }
  } catch (cause) {
    // What failed once is no connection to begin the next search on.
    reading?.close()
    reading = undefined
    if (isOutOfMemory(cause)) throw cause
    const { name, message } = cause instanceof Error ? cause : new Error(`${cause}`)
    const code = cause instanceof SQLiteError ? cause.code : undefined
    return { failed: { name, code: code ?? "", message: `a search failed: ${message}` } }
  }
}

/** The thread ends, and gives back all it has taken; the next one begins with nothing. */
const isOutOfMemory = (cause: unknown): boolean =>
  cause instanceof RangeError || (cause instanceof SQLiteError && cause.code === "SQLITE_NOMEM")

/** All that belongs to one answer is read from one state of the database. */
function read(request: Request, { all }: ReturnType<typeof connect>): Read<unknown> {
  const { plan, values, limit, offset, most } = request
  const isMany = request.total !== undefined && request.total > most
  const keys = isMany ? [] : all<{ key: Value }>(plan.keys, values)
  if (!isMany && keys.length <= most) {
    const listed = { ...values, limit, offset, keys: JSON.stringify(keys.map(({ key }) => key)) }
    return { total: keys.length, rows: keys.length > 0 ? all(plan.few, listed) : [] }
  }
  const total = request.total ?? all<{ total: number }>(plan.total, values)[0]?.total ?? 0
  const behind = total - offset - limit
  if (!plan.back || behind >= offset) {
    return { total, rows: all(plan.many, { ...values, limit, offset }) }
  }
  const left = { limit: Math.min(limit, total - offset), offset: Math.max(0, behind) }
  return { total, rows: left.limit > 0 ? all(plan.back, { ...values, ...left }) : [] }
}

function connect(file: string) {
  const database = new Database(file, { readonly: true, strict: true })
  database.run("PRAGMA temp_store = MEMORY")
  database.run("PRAGMA cache_size = -16384")
  const begin = database.prepare("BEGIN")
  const end = database.prepare("COMMIT")
  type Prepared = Statement<unknown, [Record<string, Value>]>
  const prepared = recent<Prepared>(100)
  return {
    begin: () => void begin.run(),
    // An error of the disk may have ended it already.
    end: () => void (database.inTransaction && end.run()),
    all: <Row>({ sql, parameters }: Query, values: Readonly<Record<string, Value>>) => {
      let found = prepared.get(sql)
      if (!found) {
        found = database.prepare<unknown, [Record<string, Value>]>(sql)
        prepared.set(sql, found)
      }
      const bound = Object.fromEntries(parameters.map((name) => [name, values[name] ?? null]))
      // Reason for the cast: a statement's Row type is its caller's word about its columns.
      return found.all(bound) as readonly Row[]
    },
    rest: () => database.run("PRAGMA shrink_memory"),
    close: () => database.close(),
  }
}
