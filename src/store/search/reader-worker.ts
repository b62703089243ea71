import { Database, SQLiteError, type Statement } from "bun:sqlite"
import { systemClock } from "../../kernel/clock.ts"
import { errorText } from "../../kernel/fault.ts"
import { lru } from "../../kernel/lru.ts"
import { lowerThreadPriority } from "../../runtime/thread.ts"
import type { Value, Values } from "../view/statement.ts"
import { createEventIndex } from "./event/event-index.ts"
import { searchEvents } from "./event/event-search.ts"
import type { ReadAnswer, ReadRequest, SearchRows } from "./reader-request.ts"
import { type Candidates, findCandidates, narrowStatement } from "./text/candidates.ts"
import { createTextIndex } from "./text/text-index.ts"

// The reader thread: runs searches one after the other, and writes nothing.
declare const self: Worker

// Lower priority than sign-ins.
lowerThreadPriority(5)

type Request = Exclude<ReadRequest, { close: true } | { endIfIdle: true }>
type Search = Extract<Request, { limit: number }>
type Query = Search["plan"]["keys"]
type ReaderConnection = ReturnType<typeof connect>

let connection: ReaderConnection | undefined
let idleTimer: { readonly stop: () => void } | undefined
/** Idle time after which caches are released. */
const idleMs = 2000

self.onmessage = (event: MessageEvent<ReadRequest>) => {
  if ("close" in event.data) return endThread()
  if ("endIfIdle" in event.data) {
    if (connection?.hasIndex()) self.postMessage({ isBehind: false } satisfies ReadAnswer)
    else endThread()
    return
  }
  idleTimer?.stop()
  self.postMessage(handleRequest(event.data))
  idleTimer = systemClock.after(idleMs, () => connection?.rest())
}

function endThread(): void {
  connection?.close()
  process.exit(0)
}

function handleRequest(request: Request): ReadAnswer {
  try {
    connection ??= connect(request)
    const { begin, end, index, events } = connection
    const tables = Object.values(request.tables)
    begin()
    try {
      if ("events" in request) return searchEvents(connection.database, events, request.events)
      if ("follows" in request) return { isBehind: events.work() }
      if (request.plan)
        return { ...runSearch(request, connection), isBehind: index.isBehind(tables) }
      const isBehind = index.work(tables)
      return { isBehind: isBehind || (request.purge && index.purge()) }
    } finally {
      end()
    }
  } catch (cause) {
    // After a failure, the next search uses a new connection.
    connection?.close()
    connection = undefined
    if (isOutOfMemory(cause)) throw cause
    const { name, message } = cause instanceof Error ? cause : new Error(errorText(cause))
    const code = cause instanceof SQLiteError ? cause.code : undefined
    return { failed: { name, code: code ?? "", message: `search failed: ${message}` } }
  }
}

/** The thread ends and releases its memory; the next one starts fresh. */
const isOutOfMemory = (cause: unknown): boolean =>
  cause instanceof RangeError || (cause instanceof SQLiteError && cause.code === "SQLITE_NOMEM")

/** Everything in one response is read from one snapshot. */
function runSearch(request: Search, { all, index }: ReaderConnection): SearchRows<unknown> {
  const { plan, limit, offset, most, texts } = request
  const known = findCandidates(index, request)
  const values = { ...request.values, ...known.byName }
  const run = <Row>(query: Query, more: Values = {}) =>
    all<Row>(query, { ...values, ...more }, known)
  const count = (query: Query) => run<{ total: number }>(query)[0]?.total ?? 0
  const remaining = (): Pick<SearchRows<unknown>, "seen"> & { readonly told?: number } => {
    if (!plan.seen || !plan.taken) return {}
    const seen = request.seen ?? known.rows ?? count(plan.seen)
    return { seen, told: seen - count(plan.taken) }
  }
  const visibleCount = request.total ?? (texts?.isUnfiltered ? known.rows : undefined)
  const { seen, told: knownTotal } =
    visibleCount === undefined ? remaining() : { told: visibleCount }
  if (knownTotal === undefined || knownTotal <= most) {
    const keys = run<{ key: Value }>(plan.keys).map(({ key }) => key)
    if (keys.length <= most) {
      const few = { limit, offset, keys: JSON.stringify(keys) }
      return { total: keys.length, rows: keys.length > 0 ? run(plan.few, few) : [], seen }
    }
  }
  const total = knownTotal ?? count(plan.total)
  const behind = total - offset - limit
  if (!plan.back || behind >= offset)
    return { total, rows: run(plan.many, { limit, offset }), seen }
  const left = { limit: Math.min(limit, total - offset), offset: Math.max(0, behind) }
  return { total, rows: left.limit > 0 ? run(plan.back, left) : [], seen }
}

function connect({ file, own: indexPrefix, rowsMin }: Request) {
  const database = new Database(file, { readonly: true, strict: true })
  database.run("PRAGMA temp_store = MEMORY")
  database.run("PRAGMA cache_size = -8192")
  const begin = database.prepare("BEGIN")
  const end = database.prepare("COMMIT")
  type Prepared = Statement<unknown, [Record<string, Value>]>
  let prepared = lru<Prepared>(100)
  const index = createTextIndex({ database, file: `${indexPrefix}-texts`, rowsMin })
  const events = createEventIndex({ database, file: `${indexPrefix}-events`, rowsMin })
  return {
    database,
    index,
    events,
    begin: () => void begin.run(),
    // A disk error may already have ended the transaction.
    end: () => void (database.inTransaction && end.run()),
    all: <Row>(query: Query, values: Values, candidates: Candidates) => {
      const { sql, names } = narrowStatement(query.sql, candidates)
      let found = prepared.get(sql)
      if (!found) {
        found = database.prepare<unknown, [Record<string, Value>]>(sql)
        prepared.set(sql, found)
      }
      const bound = [...query.parameters, ...names].map((name) => [name, values[name] ?? null])
      // Reason for the cast: the caller declares the row type of its statement.
      return found.all(Object.fromEntries(bound)) as readonly Row[]
    },
    rest: () => {
      prepared = lru<Prepared>(100)
      database.run("PRAGMA shrink_memory")
      // Statements are large, and nothing is waiting now.
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
