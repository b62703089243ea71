import type { Database } from "bun:sqlite"
import type { AnyAggregate } from "../aggregate.ts"
import type { Names } from "../log/row.ts"
import { headOf } from "../log/row.ts"
import type { ExpiredStream, StreamRemoval } from "../shared/shared-log.ts"
import type { States } from "../state/state.ts"
import type { EventValues } from "../view/handle.ts"
import type { BackgroundChunk } from "../view/rebuild.ts"
import type { Views } from "../view/views.ts"
import type { Horizon } from "./horizon.ts"

/** What may be pruned: times are ms UTC. */
export type PruneLimits = {
  readonly now: number
  /** Audit streams without changes since then. */
  readonly auditedBefore: number
  /** The same for instances with a shorter retention; read rarely. */
  readonly auditedSooner?: () => ReadonlyMap<string, number>
  /** Only streams that end at or before this position: every reactor has seen them. */
  readonly position: number
  readonly stopped: () => boolean
  /** Whether another node prunes the shared log; then only local data is pruned. */
  readonly isFollowing?: boolean
}

/** What was pruned. */
export type PruneResult = {
  readonly streams: number
  readonly events: number
  readonly claims: number
  /** Pages returned to the file system. */
  readonly pages: number
}

export type PruneParts = {
  readonly database: Database
  readonly names: Names
  readonly aggregates: readonly AnyAggregate[]
  readonly states: States
  readonly views: Views
  readonly chunk: BackgroundChunk
  /** Called with pruned streams, to invalidate caches. */
  readonly dropped: (streams: readonly (EventValues & { readonly stream: string })[]) => void
  readonly horizon: Horizon
  /** The shared log, if any: it is pruned first and notifies all nodes. */
  readonly shared?: SharedPruning | undefined
}

/** Resolves when this node has pruned it, too. */
export type SharedPruning = {
  readonly drop: (streams: readonly StreamRemoval[]) => Promise<void>
  readonly dropClaims: (before: number, limit: number) => Promise<number>
  readonly purge: (instance: string, keep: string, limit: number) => Promise<number>
  /** Removes records of pruned data once all nodes have them; returns their number. */
  readonly trim: (limit: number) => Promise<number>
}

/** Tolerance for clock corrections, so that expired data doesn't become valid again. */
const clockToleranceMs = 3_600_000
/** Each chunk takes about two milliseconds. */
const chunkStreams = 20
const chunkClaims = 100
const chunkPages = 50
/**
 * Shorter audit retention requires a scan of all audit streams: this many per chunk, at this
 * interval.
 */
const scanRows = 500
const scanIntervalMs = 3_600_000
/** Free pages to keep for growth: a minimum, or a fraction of the file. */
const pageReserve = { pages: 256, share: 16 }

/**
 * Prunes expired data: whole streams with their states and view rows, and claims. Uses many small
 * transactions, in turn with other work. The newest event stays, because the next position is
 * derived from it; nothing is pruned while a view is being rebuilt, which would otherwise show
 * pruned data.
 * A pruned stream is as if it had never existed: a new one with the same ID starts at version 1
 * from the initial state, and a transaction decided on the old one conflicts.
 */
export function createPrune(parts: PruneParts): (limits: PruneLimits) => Promise<PruneResult> {
  const { chunk, aggregates, database } = parts
  const sql = prepareStatements(database)
  const kinds = aggregates.filter(({ retention, expires }) => retention === "audit" || expires)
  let lastScan = Number.NEGATIVE_INFINITY
  return async (limits) => {
    const count = { streams: 0, events: 0, claims: 0, pages: 0 }
    // First, so that data pruned while the clock is ahead again is covered.
    await chunk(() => parts.horizon.storeCorrection(limits.now), Boolean)
    const sharedKinds = limits.isFollowing ? [] : kinds
    for (const kind of sharedKinds) await pruneStreams(parts, sql, { kind, limits, count })
    if (!limits.isFollowing && limits.auditedSooner && limits.now - lastScan >= scanIntervalMs) {
      lastScan = limits.now
      const shorterRetention = limits.auditedSooner()
      const audits =
        shorterRetention.size > 0 ? kinds.filter(({ retention }) => retention === "audit") : []
      for (const kind of audits)
        await pruneShorterRetention(parts, sql, { kind, limits, count, sooner: shorterRetention })
    }
    const before = limits.now - clockToleranceMs
    const dropClaims = database.transaction(() => {
      const { changes } = sql.claims.run(before, chunkClaims)
      if (changes > 0) parts.horizon.recordPruned(before)
      return changes
    })
    // Each node prunes its own: expired data has no effect anywhere.
    if (parts.shared) await pruneShared(parts.shared, before, limits)
    count.claims = await repeatChunks(chunk, limits, () => dropClaims())
    count.pages = await repeatChunks(chunk, limits, () => vacuum(database))
    return count
  }
}

async function pruneShared(
  shared: SharedPruning,
  before: number,
  limits: PruneLimits,
): Promise<void> {
  const drop = () => shared.dropClaims(before, chunkClaims)
  // Each node reports its progress.
  const trim = () => shared.trim(chunkClaims)
  for (const work of limits.isFollowing ? [trim] : [drop, trim]) {
    let count = chunkClaims
    while (count === chunkClaims && !limits.stopped()) count = await work()
  }
}

/** Runs chunks until nothing is left; returns the total. */
async function repeatChunks(
  chunk: BackgroundChunk,
  { stopped }: PruneLimits,
  work: () => number,
): Promise<number> {
  let sum = 0
  while (!stopped()) {
    const count = await chunk(work, isPositive)
    if (count === 0) break
    sum += count
  }
  return sum
}

const isPositive = (count: number) => count > 0

type DueRow = {
  readonly instance: string
  readonly stream: string
  readonly id: string
  readonly version: number
  readonly position: number
  readonly time: number
  readonly owner: string
  readonly expires: number
}

type PruneKindOptions = {
  readonly kind: AnyAggregate
  readonly limits: PruneLimits
  readonly count: { streams: number; events: number }
}

/** Prunes due streams, oldest first; stops at the first chunk in which nothing may be pruned. */
async function pruneStreams(
  parts: PruneParts,
  sql: Statements,
  { kind, limits, count }: PruneKindOptions,
): Promise<void> {
  const { database, views } = parts
  const before = (kind.retention === "audit" ? limits.auditedBefore : limits.now) - clockToleranceMs
  let last = { expires: -1, instance: "", id: "" }
  const select = () => {
    if (views.rebuilding().length > 0) return []
    const newest = headOf(database)
    const from = [last.expires, last.instance, last.id] as const
    const rows = sql.due.all(kind.stream, ...from, before, chunkStreams)
    const free = rows.filter(({ position }) => position < newest && position <= limits.position)
    if (free.length > 0) last = rows.at(-1) ?? last
    return free
  }
  count.streams += await pruneSelected(parts, sql, { select, limits, count })
}

type PruneSelection = Omit<PruneKindOptions, "kind"> & { readonly select: () => readonly DueRow[] }

/** Prunes the selected streams until none is left; returns their number. */
async function pruneSelected(
  parts: PruneParts,
  sql: Statements,
  { select, limits, count }: PruneSelection,
): Promise<number> {
  const { chunk, shared } = parts
  if (!shared) {
    return repeatChunks(chunk, limits, () => {
      const free = select()
      if (free.length === 0) return 0
      count.events += pruneAll(parts, sql, free)
      parts.dropped(free)
      return free.length
    })
  }
  let streams = 0
  while (!limits.stopped()) {
    const free = await chunk(select, () => false)
    if (free.length === 0) break
    count.events += free.reduce((sum, { version }) => sum + version, 0)
    await shared.drop(free)
    streams += free.length
  }
  return streams
}

/** Prunes a stream that the shared log has pruned; part of the transaction that records it. */
export function createForget(parts: Omit<PruneParts, "shared">): (stream: ExpiredStream) => void {
  const sql = prepareStatements(parts.database)
  const find = parts.database.prepare<DueRow, [string, string, string]>(
    `SELECT instance, stream, id, version, position, changed AS time, owner, expires FROM state
     WHERE instance = ? AND stream = ? AND id = ?`,
  )
  return ({ instance, stream, id, expires }) => {
    parts.horizon.recordPruned(expires)
    // A node that was behind has not received the stream, or not its end.
    const row = find.get(instance, stream, id)
    if (!row) return
    pruneStream(parts, sql, row)
    parts.dropped([row])
  }
}

/** Scans the audit streams of all instances, and prunes those with a shorter retention. */
async function pruneShorterRetention(
  parts: PruneParts,
  sql: Statements,
  {
    kind,
    limits,
    count,
    sooner: shorterRetention,
  }: PruneKindOptions & { readonly sooner: ReadonlyMap<string, number> },
): Promise<void> {
  const { database, views } = parts
  const newestDue = Math.max(...shorterRetention.values()) - clockToleranceMs
  const isDue = ({ instance, expires, position }: DueRow) =>
    expires <= (shorterRetention.get(instance) ?? Number.NEGATIVE_INFINITY) - clockToleranceMs &&
    position <= limits.position
  let last = { expires: -1, instance: "", id: "" }
  let isOver = false
  const select = () => {
    if (views.rebuilding().length > 0) return []
    const newest = headOf(database)
    const from = [last.expires, last.instance, last.id] as const
    const rows = sql.due.all(kind.stream, ...from, newestDue, scanRows)
    const due = rows.filter((row) => isDue(row) && row.position < newest)
    const some = due.slice(0, chunkStreams)
    last = (due.length > some.length ? some.at(-1) : rows.at(-1)) ?? last
    isOver = rows.length === 0
    return some
  }
  // A batch may have nothing to prune while later ones do.
  while (!isOver && !limits.stopped()) {
    const streams = await pruneSelected(parts, sql, { select, limits, count })
    count.streams += streams
    if (views.rebuilding().length > 0) break
  }
}

/** Prunes all or, on a disk failure, none. */
function pruneAll(parts: PruneParts, sql: Statements, rows: readonly DueRow[]): number {
  return parts.database.transaction(() => {
    parts.horizon.recordPruned(Math.max(...rows.map(({ expires }) => expires)))
    return rows.reduce((sum, row) => sum + pruneStream(parts, sql, row), 0)
  })()
}

/** Prunes one stream; returns the number of its events. */
function pruneStream(
  { names, states, views }: Omit<PruneParts, "shared">,
  sql: Statements,
  row: DueRow,
): number {
  const { instance, stream, id } = row
  views.drop(row)
  const { changes } = sql.events.run(instance, names.code(stream), id)
  sql.note.run(changes)
  states.drop(instance, stream, id)
  return changes
}

type Statements = ReturnType<typeof prepareStatements>

const prepareStatements = (database: Database) => ({
  due: database.prepare<DueRow, [string, number, string, string, number, number]>(
    `SELECT instance, stream, id, version, position, changed AS time, owner, expires FROM state
     WHERE stream = ? AND (expires, instance, id) > (?, ?, ?) AND expires <= ?
     ORDER BY expires, instance, id LIMIT ?`,
  ),
  events: database.prepare<unknown, [string, number, string]>(
    "DELETE FROM event WHERE instance = ? AND stream = ? AND id = ?",
  ),
  // Positions of pruned events: together with the stored ones they are complete.
  note: database.prepare<unknown, [number]>(
    `INSERT INTO meta (key, value) VALUES ('pruned', ?)
     ON CONFLICT DO UPDATE SET value = value + excluded.value`,
  ),
  claims: database.prepare<unknown, [number, number]>(
    `DELETE FROM claim WHERE (instance, kind, key) IN
       (SELECT instance, kind, key FROM claim WHERE expires <= ? LIMIT ?)`,
  ),
})

/** Returns free pages to the file system, except a reserve for future growth. */
function vacuum(database: Database): number {
  const of = (pragma: "freelist_count" | "page_count") =>
    database.query<Record<string, number>, []>(`PRAGMA ${pragma}`).all()[0]?.[pragma] ?? 0
  const pages = of("page_count")
  const surplusPages = of("freelist_count") - Math.max(pageReserve.pages, pages / pageReserve.share)
  if (surplusPages < chunkPages) return 0
  database.run(`PRAGMA incremental_vacuum(${chunkPages})`)
  return pages - of("page_count")
}
