import type { Database } from "bun:sqlite"
import type { AnyAggregate } from "../aggregate.ts"
import type { Envelope } from "../event.ts"
import type { FoldedStream, LogEvent, NewEvent } from "../log/log.ts"
import {
  damagedError,
  decodeEvent,
  type EventRow,
  isStateWhole,
  type Names,
  type SummedState,
  stateName,
  stateSum,
} from "../log/row.ts"
import { createRowCache } from "./row-cache.ts"

/**
 * The folded state of a stream with its metadata. Version 0 means that the stream doesn't exist.
 */
export type StateRow = {
  readonly version: number
  readonly position: number
  readonly created: number
  readonly changed: number
  readonly owner: string
  readonly state: unknown
}

type Fold = (state: unknown, event: unknown) => unknown

/**
 * The states of streams, updated by `evolve` in the transaction itself: a row for each stream that
 * has more than one event, or expires. For other streams, the first event is sufficient: most users
 * are created and never changed, and a row for each of them would be a seventh of all writes and a
 * quarter of the storage.
 */
export type States = {
  readonly read: (instance: string, kind: AnyAggregate, id: string) => StateRow
  /** The same from the cache, which takes a twentieth of the time. */
  readonly readCached: (instance: string, kind: AnyAggregate, id: string) => StateRow
  /** Clears the cache: a transaction or group may have been rolled back. */
  readonly clearCache: () => void
  /** The same for one stream, which another process has written. */
  readonly invalidate: (instance: string, stream: string, id: string) => void
  readonly fold: (state: unknown, event: NewEvent) => unknown
  readonly apply: (event: LogEvent, folded?: readonly FoldedStream[]) => void
  readonly known: (type: string) => AnyAggregate | undefined
  /** The aggregate by stream name. */
  readonly kind: (stream: string) => AnyAggregate | undefined
  /** All streams and all event types. */
  readonly names: { readonly streams: readonly string[]; readonly types: readonly string[] }
  readonly drop: (instance: string, stream: string, id: string) => void
  /** Folds one stream from its first event, and writes its row once. */
  readonly folding: (kind: AnyAggregate) => StreamFold
}

export type StreamFold = { readonly add: (event: LogEvent) => void; readonly write: () => void }

export type StateParts = {
  readonly database: Database
  readonly names: Names
  readonly aggregates: readonly AnyAggregate[]
  readonly upcast: (event: LogEvent) => LogEvent
  /** Called before anything is read from the tables. */
  readonly reading?: (() => void) | undefined
}

export function createStates(parts: StateParts): States {
  const { database, names, aggregates, upcast, reading } = parts
  const byStream = new Map(aggregates.map((kind) => [kind.stream, kind]))
  const branches = collectBranches(aggregates)
  const rows = createRowStore(database)
  const firstEvent = createFirstEventReader(parts)

  const fold = (state: unknown, event: NewEvent | (NewEvent & Pick<Envelope, "position">)) => {
    const branch = branches.get(event.type)
    if (!branch || branch.stream !== event.stream) {
      throw new Error(`no evolve branch for ${event.type} in stream ${event.stream}`)
    }
    return branch.fold(state, event)
  }
  const apply = (event: LogEvent, folded: readonly FoldedStream[] = []) => {
    const kind = byStream.get(event.stream)
    if (!kind) throw new Error(`no aggregate for stream ${event.stream}`)
    const after = folded.find(({ stream, id }) => stream === event.stream && id === event.id)
    if (after) {
      // One row for all events of a stream in the transaction.
      if (after.version === event.version) rows.set(kind, event, after)
      return
    }
    const { instance, id, time } = event
    const before = event.version === 1 ? undefined : read(instance, kind, id)
    const state = fold(before ? before.state : kind.initial, event)
    rows.set(kind, event, { state, created: before?.created ?? time, owner: before?.owner })
  }
  const folding = (kind: AnyAggregate): StreamFold => {
    let createRow: FoldedState = { state: kind.initial, created: 0, owner: undefined }
    let last: LogEvent | undefined
    return {
      add: (event) => {
        const { created, owner } = last ? createRow : { created: event.time, owner: event.owner }
        createRow = { state: fold(createRow.state, event), created, owner }
        last = event
      },
      write: () => last && rows.set(kind, last, createRow),
    }
  }
  const read = (instance: string, kind: AnyAggregate, id: string): StateRow => {
    reading?.()
    const first = hasRowFromStart(kind) ? undefined : firstEvent(instance, kind.stream, id)
    // Without a first event there is no row either: a new stream costs one lookup.
    const row = first || hasRowFromStart(kind) ? rows.get(instance, kind.stream, id) : undefined
    if (row) {
      const { version, position, created, changed, owner } = row
      return { version, position, created, changed, owner, state: JSON.parse(row.state) }
    }
    if (first) {
      const event = upcast(decodeEvent(first, names))
      return { ...rowAfterFirst(event), state: fold(kind.initial, event) }
    }
    return initialRow(kind)
  }
  return {
    read,
    readCached: (instance, kind, id) =>
      rows.recall(instance, kind.stream, id) ??
      rows.keep(instance, kind.stream, id, read(instance, kind, id)),
    clearCache: rows.forget,
    invalidate: rows.outdated,
    fold,
    apply,
    kind: (stream) => byStream.get(stream),
    known: (type) => byStream.get(branches.get(type)?.stream ?? ""),
    names: { streams: [...byStream.keys()].sort(), types: [...branches.keys()].sort() },
    drop: rows.drop,
    folding,
  }
}

/** The state of a stream without events. */
export const initialRow = ({ initial }: AnyAggregate): StateRow => ({
  version: 0,
  position: 0,
  created: 0,
  changed: 0,
  owner: "",
  state: initial,
})

/** Whether the first event already needs a row: the pruner uses it to find expired streams. */
const hasRowFromStart = ({ retention }: AnyAggregate) => retention !== "forever"

const rowAfterFirst = ({ version, position, time, owner }: LogEvent) => ({
  version,
  position,
  created: time,
  changed: time,
  owner,
})

/** Reads the first event of a stream as stored. */
function createFirstEventReader({ database, names }: StateParts) {
  const get = database.prepare<EventRow, [string, number, string]>(
    "SELECT * FROM event WHERE instance = ? AND stream = ? AND id = ? AND version = 1",
  )
  return (instance: string, stream: string, id: string): EventRow | undefined => {
    const code = names.findCode(stream)
    return code === undefined ? undefined : (get.get(instance, code, id) ?? undefined)
  }
}

/** The table itself. `set` receives the last event in the state. */
function createRowStore(database: Database) {
  const get = database.prepare<SummedState, [string, string, string]>(
    "SELECT * FROM state WHERE instance = ? AND stream = ? AND id = ?",
  )
  const set = database.prepare(
    `INSERT INTO state (instance, stream, id, version, position, created, changed, owner, state,
       expires, sum)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET version = excluded.version, position = excluded.position,
       created = excluded.created, changed = excluded.changed, owner = excluded.owner,
       state = excluded.state, expires = excluded.expires, sum = excluded.sum`,
  )
  // SQLite doesn't write an index if the statement changes none of its columns.
  const change = database.prepare(
    `UPDATE state SET version = ?, position = ?, created = ?, changed = ?, owner = ?, state = ?,
       sum = ?
     WHERE instance = ? AND stream = ? AND id = ? AND expires = ?`,
  )
  const remove = database.prepare("DELETE FROM state WHERE instance = ? AND stream = ? AND id = ?")
  let known = createRowCache<StateRow>(maxCachedRows)
  const keep = (instance: string, stream: string, id: string, row: StateRow) => {
    if (id.length <= maxCachedIdLength) known.set(instance, stream, id, row)
    return row
  }
  return {
    get: (...key: [string, string, string]) => {
      const row = get.get(...key)
      if (row && !isStateWhole(row)) throw damagedError(stateName(row))
      return row ?? undefined
    },
    recall: (instance: string, stream: string, id: string) => known.get(instance, stream, id),
    keep,
    forget: () => {
      known = createRowCache<StateRow>(maxCachedRows)
    },
    outdated: (instance: string, stream: string, id: string) => known.delete(instance, stream, id),
    set: (
      kind: AnyAggregate,
      last: LogEvent,
      { state, created, owner = last.owner }: FoldedState,
    ) => {
      const { instance, stream, id, version, position, time: changed } = last
      if (version === 1 && !hasRowFromStart(kind)) {
        // If kept for no reader, thousands of these would only prolong garbage collection.
        known.delete(instance, stream, id)
        return
      }
      const before = known.get(instance, stream, id)
      keep(instance, stream, id, { version, position, created, changed, owner, state })
      const expires = expiryTimeOf(kind, state, changed)
      const text = JSON.stringify(state)
      const createRow = { created, changed, owner, state: text, expires }
      const sum = stateSum({ instance, stream, id, version, position, ...createRow })
      const values = [version, position, created, changed, owner, text] as const
      const expired = before && expiryTimeOf(kind, before.state, before.changed)
      const isChanged =
        expires !== null &&
        expires === expired &&
        change.run(...values, sum, instance, stream, id, expires).changes > 0
      if (!isChanged) set.run(instance, stream, id, ...values, expires, sum)
    },
    drop: (instance: string, stream: string, id: string) => {
      remove.run(instance, stream, id)
      known.delete(instance, stream, id)
    },
  }
}

/** Rows in the cache, at most twice as many: a few megabytes. */
const maxCachedRows = 4096

/**
 * None of our IDs is this long. Callers can send arbitrary IDs, and missing rows are cached, too.
 */
const maxCachedIdLength = 1000

/** A state, with the metadata from the first event of its stream. */
type FoldedState = {
  readonly state: unknown
  readonly created: number
  readonly owner: string | undefined
}

/**
 * When a stream expires. For audit streams, the time of the last change; their retention is
 * configured.
 */
function expiryTimeOf(kind: AnyAggregate, state: unknown, time: number): number | null {
  if (kind.retention === "audit") return time
  // Reason for the cast: the registry finds aggregates by stream name, so the types match.
  return kind.expires?.(state as never) ?? null
}

/** Every event type belongs to one aggregate and has an evolve branch. */
function collectBranches(kinds: readonly AnyAggregate[]) {
  const branches = new Map<string, { stream: string; fold: Fold }>()
  const streams = new Set<string>()
  for (const kind of kinds) {
    if (streams.has(kind.stream)) throw new Error(`two aggregates for stream ${kind.stream}`)
    streams.add(kind.stream)
    for (const [type, fold] of Object.entries(kind.evolve)) {
      if (typeof fold !== "function") throw new Error(`no evolve branch for ${type}`)
      if (branches.has(type)) throw new Error(`two aggregates have events of type ${type}`)
      branches.set(type, { stream: kind.stream, fold })
    }
  }
  return branches
}
