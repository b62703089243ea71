import { Database, SQLiteError, type Statement } from "bun:sqlite"
import { systemClock } from "../../kernel/clock.ts"
import { reasonText } from "../../kernel/fault.ts"
import { lru } from "../../kernel/lru.ts"
import { stepBack } from "../../runtime/thread.ts"
import type { Value, Values } from "../view/statement.ts"
import { eventIndexOf } from "./event/event-index.ts"
import { searchEvents } from "./event/event-search.ts"
import type { Read, ReadAnswer, ReadRequest } from "./reader-request.ts"
import { type Candidates, candidatesOf, narrowed } from "./text/candidates.ts"
import { textIndexOf } from "./text/text-index.ts"

// The reader thread: it answers searches, one after the other, and writes nothing.
declare const self: Worker

// Who signs in waits for nobody's list.
stepBack(5)

type Request = Exclude<ReadRequest, { close: true } | { endIfIdle: true }>
type Search = Extract<Request, { limit: number }>
type Query = Search["plan"]["keys"]
type Connected = ReturnType<typeof connect>

let reading: Connected | undefined
let resting: { readonly stop: () => void } | undefined
/** Whoever is not asked for so long gives back what was kept for the next search. */
const restMs = 2000

self.onmessage = (event: MessageEvent<ReadRequest>) => {
  if ("close" in event.data) return end()
  if ("endIfIdle" in event.data) {
    if (reading?.hasIndex()) self.postMessage({ isBehind: false } satisfies ReadAnswer)
    else end()
    return
  }
  resting?.stop()
  self.postMessage(answer(event.data))
  resting = systemClock.after(restMs, () => reading?.rest())
}

function end(): void {
  reading?.close()
  process.exit(0)
}

function answer(request: Request): ReadAnswer {
  try {
    reading ??= connect(request)
    const { begin, end, index, events } = reading
    const tables = Object.values(request.tables)
    begin()
    try {
      if ("events" in request) return searchEvents(reading.database, events, request.events)
      if ("follows" in request) return { isBehind: events.work() }
      if (request.plan) return { ...read(request, reading), isBehind: index.isBehind(tables) }
      const isBehind = index.work(tables)
      return { isBehind: isBehind || (request.purge && index.purge()) }
    } finally {
      end()
    }
  } catch (cause) {
    // What failed once is no connection to begin the next search on.
    reading?.close()
    reading = undefined
    if (isOutOfMemory(cause)) throw cause
    const { name, message } = cause instanceof Error ? cause : new Error(reasonText(cause))
    const code = cause instanceof SQLiteError ? cause.code : undefined
    return { failed: { name, code: code ?? "", message: `a search failed: ${message}` } }
  }
}

/** The thread ends, and gives back all it has taken; the next one begins with nothing. */
const isOutOfMemory = (cause: unknown): boolean =>
  cause instanceof RangeError || (cause instanceof SQLiteError && cause.code === "SQLITE_NOMEM")

/** All that belongs to one answer is read from one state of the database. */
function read(request: Search, { all, index }: Connected): Read<unknown> {
  const { plan, limit, offset, most, texts } = request
  const known = candidatesOf(index, request)
  const values = { ...request.values, ...known.byName }
  const run = <Row>(query: Query, more: Values = {}) =>
    all<Row>(query, { ...values, ...more }, known)
  const count = (query: Query) => run<{ total: number }>(query)[0]?.total ?? 0
  const rest = (): Pick<Read<unknown>, "seen"> & { readonly told?: number } => {
    if (!plan.seen || !plan.taken) return {}
    const seen = request.seen ?? known.rows ?? count(plan.seen)
    return { seen, told: seen - count(plan.taken) }
  }
  const counted = request.total ?? (texts?.isUnfiltered ? known.rows : undefined)
  const { seen, told } = counted === undefined ? rest() : { told: counted }
  if (told === undefined || told <= most) {
    const keys = run<{ key: Value }>(plan.keys).map(({ key }) => key)
    if (keys.length <= most) {
      const few = { limit, offset, keys: JSON.stringify(keys) }
      return { total: keys.length, rows: keys.length > 0 ? run(plan.few, few) : [], seen }
    }
  }
  const total = told ?? count(plan.total)
  const behind = total - offset - limit
  if (!plan.back || behind >= offset)
    return { total, rows: run(plan.many, { limit, offset }), seen }
  const left = { limit: Math.min(limit, total - offset), offset: Math.max(0, behind) }
  return { total, rows: left.limit > 0 ? run(plan.back, left) : [], seen }
}

function connect({ file, own, rowsMin }: Request) {
  const database = new Database(file, { readonly: true, strict: true })
  database.run("PRAGMA temp_store = MEMORY")
  database.run("PRAGMA cache_size = -8192")
  const begin = database.prepare("BEGIN")
  const end = database.prepare("COMMIT")
  type Prepared = Statement<unknown, [Record<string, Value>]>
  let prepared = lru<Prepared>(100)
  const index = textIndexOf({ database, file: `${own}-texts`, rowsMin })
  const events = eventIndexOf({ database, file: `${own}-events`, rowsMin })
  return {
    database,
    index,
    events,
    begin: () => void begin.run(),
    // An error of the disk may have ended it already.
    end: () => void (database.inTransaction && end.run()),
    all: <Row>(query: Query, values: Values, known: Candidates) => {
      const { sql, names } = narrowed(query.sql, known)
      let found = prepared.get(sql)
      if (!found) {
        found = database.prepare<unknown, [Record<string, Value>]>(sql)
        prepared.set(sql, found)
      }
      const bound = [...query.parameters, ...names].map((name) => [name, values[name] ?? null])
      // Reason for the cast: a statement's Row type is its caller's word about its columns.
      return found.all(Object.fromEntries(bound)) as readonly Row[]
    },
    rest: () => {
      prepared = lru<Prepared>(100)
      database.run("PRAGMA shrink_memory")
      // Statements are large, and nobody waits now.
      Bun.gc(true)
    },
    hasIndex: () => index.hasFile() || events.hasBlocks(),
    close: () => {
      index.close()
      events.close()
      database.close()
    },
  }
}
