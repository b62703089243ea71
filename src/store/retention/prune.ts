import type { Database } from "bun:sqlite"
import type { AnyAggregate } from "../aggregate.ts"
import type { Names } from "../log/row.ts"
import { headOf } from "../log/row.ts"
import type { Dropping, Expired } from "../shared/shared-log.ts"
import type { States } from "../state/state.ts"
import type { Standing } from "../view/handle.ts"
import type { BackgroundChunk } from "../view/rebuild.ts"
import type { Views } from "../view/views.ts"
import type { Horizon } from "./horizon.ts"

/** What may go: times are ms UTC. */
export type PruneLimits = {
  readonly now: number
  /** Audit streams that have not changed since then. */
  readonly auditedBefore: number
  /** The same of instances that keep them less long; asked for seldom. */
  readonly auditedSooner?: () => ReadonlyMap<string, number>
  /** Streams that end at this position or before: every reactor has seen them. */
  readonly position: number
  readonly stopped: () => boolean
  /** Whether another node drops from the log that is shared; then only what is here goes. */
  readonly isFollowing?: boolean
}

/** What has gone. */
export type Pruned = {
  readonly streams: number
  readonly events: number
  readonly claims: number
  /** Pages that the file system has back. */
  readonly pages: number
}

export type PruneParts = {
  readonly database: Database
  readonly names: Names
  readonly aggregates: readonly AnyAggregate[]
  readonly states: States
  readonly views: Views
  readonly chunk: BackgroundChunk
  /** Streams were dropped: what was computed from their rows is of no use any more. */
  readonly dropped: (streams: readonly (Standing & { readonly stream: string })[]) => void
  readonly horizon: Horizon
  /** The log that other nodes share, where there is one: it drops first, and tells all of them. */
  readonly shared?: SharedDrops | undefined
}

/** Resolves when this node has dropped it, too. */
export type SharedDrops = {
  readonly drop: (streams: readonly Dropping[]) => Promise<void>
  readonly dropClaims: (before: number, limit: number) => Promise<number>
  readonly purge: (instance: string, keep: string, limit: number) => Promise<number>
  /** Drops notes of what was dropped, once all nodes have them; answers how many. */
  readonly trim: (limit: number) => Promise<number>
}

/** What a clock may be set back by, and nothing that has expired counts again. */
const slackMs = 3_600_000
/** Each chunk is about two milliseconds. */
const chunkStreams = 20
const chunkClaims = 100
const chunkPages = 50
/** Who keeps audits less long is looked for among all others: so many at a time, and so often. */
const chunkLook = 500
const soonerEveryMs = 3_600_000
/** Free pages that are kept for what comes: so many, or one of so many. */
const reserve = { pages: 256, share: 16 }

/**
 * Drops what has expired: streams whole, with their state and their rows in views, and claims. It
 * takes many small transactions, and others have their turn between them. The newest event stays,
 * because the next position follows from it; so does everything while a view is made anew, which
 * would otherwise show what was dropped behind its back.
 *
 * A dropped stream is as if it had never been: one with the same id begins at version 1, from the
 * initial state, and a step that was decided on the old one conflicts.
 */
export function prunerOf(parts: PruneParts): (limits: PruneLimits) => Promise<Pruned> {
  const { chunk, aggregates, database } = parts
  const sql = statements(database)
  const kinds = aggregates.filter(({ retention, expires }) => retention === "audit" || expires)
  let soonerAt = Number.NEGATIVE_INFINITY
  return async (limits) => {
    const count = { streams: 0, events: 0, claims: 0, pages: 0 }
    // First of all: what is dropped with a clock that is ahead again counts from then on.
    await chunk(() => parts.horizon.keep(limits.now), Boolean)
    const led = limits.isFollowing ? [] : kinds
    for (const kind of led) await dropStreams(parts, sql, { kind, limits, count })
    if (!limits.isFollowing && limits.auditedSooner && limits.now - soonerAt >= soonerEveryMs) {
      soonerAt = limits.now
      const sooner = limits.auditedSooner()
      const audits = sooner.size > 0 ? kinds.filter(({ retention }) => retention === "audit") : []
      for (const kind of audits) await dropSooner(parts, sql, { kind, limits, count, sooner })
    }
    const before = limits.now - slackMs
    const dropClaims = database.transaction(() => {
      const { changes } = sql.claims.run(before, chunkClaims)
      if (changes > 0) parts.horizon.reached(before)
      return changes
    })
    // Each node drops its own: what has expired counts nowhere.
    if (parts.shared) await dropShared(parts.shared, before, limits)
    count.claims = await repeat(chunk, limits, () => dropClaims())
    count.pages = await repeat(chunk, limits, () => vacuum(database))
    return count
  }
}

async function dropShared(shared: SharedDrops, before: number, limits: PruneLimits): Promise<void> {
  const drop = () => shared.dropClaims(before, chunkClaims)
  // Each node says how far it has come.
  const trim = () => shared.trim(chunkClaims)
  for (const work of limits.isFollowing ? [trim] : [drop, trim]) {
    let count = chunkClaims
    while (count === chunkClaims && !limits.stopped()) count = await work()
  }
}

/** Chunk after chunk, until there is nothing left; answers how much there was. */
async function repeat(
  chunk: BackgroundChunk,
  { stopped }: PruneLimits,
  work: () => number,
): Promise<number> {
  let sum = 0
  while (!stopped()) {
    const count = await chunk(work, isSome)
    if (count === 0) break
    sum += count
  }
  return sum
}

const isSome = (count: number) => count > 0

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

type DroppingKind = {
  readonly kind: AnyAggregate
  readonly limits: PruneLimits
  readonly count: { streams: number; events: number }
}

/** Goes along what is due, oldest first; where nothing of a chunk may go yet, nothing later may. */
async function dropStreams(
  parts: PruneParts,
  sql: Statements,
  { kind, limits, count }: DroppingKind,
): Promise<void> {
  const { database, views } = parts
  const before = (kind.retention === "audit" ? limits.auditedBefore : limits.now) - slackMs
  let last = { expires: -1, instance: "", id: "" }
  const pick = () => {
    if (views.rebuilding().length > 0) return []
    const newest = headOf(database)
    const from = [last.expires, last.instance, last.id] as const
    const rows = sql.due.all(kind.stream, ...from, before, chunkStreams)
    const free = rows.filter(({ position }) => position < newest && position <= limits.position)
    if (free.length > 0) last = rows.at(-1) ?? last
    return free
  }
  count.streams += await dropPicked(parts, sql, { pick, limits, count })
}

type Picking = Omit<DroppingKind, "kind"> & { readonly pick: () => readonly DueRow[] }

/** Drops what is picked until nothing is; answers how many streams. */
async function dropPicked(
  parts: PruneParts,
  sql: Statements,
  { pick, limits, count }: Picking,
): Promise<number> {
  const { chunk, shared } = parts
  if (!shared) {
    return repeat(chunk, limits, () => {
      const free = pick()
      if (free.length === 0) return 0
      count.events += dropAll(parts, sql, free)
      parts.dropped(free)
      return free.length
    })
  }
  let streams = 0
  while (!limits.stopped()) {
    const free = await chunk(pick, () => false)
    if (free.length === 0) break
    count.events += free.reduce((sum, { version }) => sum + version, 0)
    await shared.drop(free)
    streams += free.length
  }
  return streams
}

/** Drops a stream that the shared log has dropped; part of the transaction that notes that. */
export function forgetting(parts: Omit<PruneParts, "shared">): (stream: Expired) => void {
  const sql = statements(parts.database)
  const find = parts.database.prepare<DueRow, [string, string, string]>(
    `SELECT instance, stream, id, version, position, changed AS time, owner, expires FROM state
     WHERE instance = ? AND stream = ? AND id = ?`,
  )
  return ({ instance, stream, id, expires }) => {
    parts.horizon.reached(expires)
    // A node that was behind has not heard of it, or not of its end.
    const row = find.get(instance, stream, id)
    if (!row) return
    drop(parts, sql, row)
    parts.dropped([row])
  }
}

/** Goes along the audits of all instances, and drops those of who keeps them less long. */
async function dropSooner(
  parts: PruneParts,
  sql: Statements,
  { kind, limits, count, sooner }: DroppingKind & { readonly sooner: ReadonlyMap<string, number> },
): Promise<void> {
  const { database, views } = parts
  const newestDue = Math.max(...sooner.values()) - slackMs
  const isDue = ({ instance, expires, position }: DueRow) =>
    expires <= (sooner.get(instance) ?? Number.NEGATIVE_INFINITY) - slackMs &&
    position <= limits.position
  let last = { expires: -1, instance: "", id: "" }
  let isOver = false
  const pick = () => {
    if (views.rebuilding().length > 0) return []
    const newest = headOf(database)
    const from = [last.expires, last.instance, last.id] as const
    const rows = sql.due.all(kind.stream, ...from, newestDue, chunkLook)
    const due = rows.filter((row) => isDue(row) && row.position < newest)
    const some = due.slice(0, chunkStreams)
    last = (due.length > some.length ? some.at(-1) : rows.at(-1)) ?? last
    isOver = rows.length === 0
    return some
  }
  // There may be nothing to drop among many, and something after them.
  while (!isOver && !limits.stopped()) {
    const streams = await dropPicked(parts, sql, { pick, limits, count })
    count.streams += streams
    if (views.rebuilding().length > 0) break
  }
}

/** All of them or, where the disk refuses it, none. */
function dropAll(parts: PruneParts, sql: Statements, rows: readonly DueRow[]): number {
  return parts.database.transaction(() => {
    parts.horizon.reached(Math.max(...rows.map(({ expires }) => expires)))
    return rows.reduce((sum, row) => sum + drop(parts, sql, row), 0)
  })()
}

/** Drops one stream, and answers how many events it had. */
function drop(
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

type Statements = ReturnType<typeof statements>

const statements = (database: Database) => ({
  due: database.prepare<DueRow, [string, number, string, string, number, number]>(
    `SELECT instance, stream, id, version, position, changed AS time, owner, expires FROM state
     WHERE stream = ? AND (expires, instance, id) > (?, ?, ?) AND expires <= ?
     ORDER BY expires, instance, id LIMIT ?`,
  ),
  events: database.prepare<unknown, [string, number, string]>(
    "DELETE FROM event WHERE instance = ? AND stream = ? AND id = ?",
  ),
  // Positions that are gone for good: with those that are there they are all there were.
  note: database.prepare<unknown, [number]>(
    `INSERT INTO meta (key, value) VALUES ('pruned', ?)
     ON CONFLICT DO UPDATE SET value = value + excluded.value`,
  ),
  claims: database.prepare<unknown, [number, number]>(
    `DELETE FROM claim WHERE (instance, kind, key) IN
       (SELECT instance, kind, key FROM claim WHERE expires <= ? LIMIT ?)`,
  ),
})

/** Gives free pages back, but for a reserve: what grows and shrinks takes them again at once. */
function vacuum(database: Database): number {
  const of = (pragma: "freelist_count" | "page_count") =>
    database.query<Record<string, number>, []>(`PRAGMA ${pragma}`).all()[0]?.[pragma] ?? 0
  const pages = of("page_count")
  const surplus = of("freelist_count") - Math.max(reserve.pages, pages / reserve.share)
  if (surplus < chunkPages) return 0
  database.run(`PRAGMA incremental_vacuum(${chunkPages})`)
  return pages - of("page_count")
}
