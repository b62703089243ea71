import type { Database } from "bun:sqlite"
import type { AnyAggregate } from "../aggregate.ts"
import type { Envelope } from "../event.ts"
import type { Folded, LogEvent, NewEvent } from "../log/log.ts"
import {
  damagedError,
  decode,
  type EventRow,
  isStateWhole,
  type Names,
  type SummedState,
  stateName,
  stateSum,
} from "../log/row.ts"
import { recalled } from "./recalled.ts"

/** The folded state of a stream, with where it stands. Version 0: there is no such stream. */
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
 * Where streams stand, kept by `evolve` in the step itself: a row for each that has more than one
 * event, or expires. What has one event is what that says: most users are created and left alone,
 * and a row for each of them would be a seventh of what is written, and a quarter of what is kept.
 */
export type States = {
  readonly read: (instance: string, kind: AnyAggregate, id: string) => StateRow
  /** The same, from memory where it was read lately: that costs a twentieth. */
  readonly recall: (instance: string, kind: AnyAggregate, id: string) => StateRow
  /** Makes `recall` read anew: what it knows of a step or a group may have been undone. */
  readonly forget: () => void
  /** The same of one stream, which another process has written. */
  readonly outdated: (instance: string, stream: string, id: string) => void
  readonly fold: (state: unknown, event: NewEvent) => unknown
  readonly apply: (event: LogEvent, folded?: readonly Folded[]) => void
  readonly known: (type: string) => AnyAggregate | undefined
  /** By the name of its streams. */
  readonly kind: (stream: string) => AnyAggregate | undefined
  /** Of all kinds of streams, and of all types of events. */
  readonly names: { readonly streams: readonly string[]; readonly types: readonly string[] }
  readonly drop: (instance: string, stream: string, id: string) => void
  /** Folds one stream from its first event, and writes its row once. */
  readonly folding: (kind: AnyAggregate) => Folding
}

export type Folding = { readonly add: (event: LogEvent) => void; readonly write: () => void }

export type StateParts = {
  readonly database: Database
  readonly names: Names
  readonly aggregates: readonly AnyAggregate[]
  readonly upcast: (event: LogEvent) => LogEvent
  /** Called before anything is read from the tables. */
  readonly reading?: (() => void) | undefined
}

export function statesOf(parts: StateParts): States {
  const { database, names, aggregates, upcast, reading } = parts
  const byStream = new Map(aggregates.map((kind) => [kind.stream, kind]))
  const branches = branchesOf(aggregates)
  const rows = rowsOf(database)
  const firstEvent = firstEventOf(parts)

  const fold = (state: unknown, event: NewEvent | (NewEvent & Pick<Envelope, "position">)) => {
    const branch = branches.get(event.type)
    if (!branch || branch.stream !== event.stream) {
      throw new Error(`no evolve branch for ${event.type} in streams of ${event.stream}`)
    }
    return branch.fold(state, event)
  }
  const apply = (event: LogEvent, folded: readonly Folded[] = []) => {
    const kind = byStream.get(event.stream)
    if (!kind) throw new Error(`no aggregate owns streams of ${event.stream}`)
    const after = folded.find(({ stream, id }) => stream === event.stream && id === event.id)
    if (after) {
      // One row for all events that the step has for a stream.
      if (after.version === event.version) rows.set(kind, event, after)
      return
    }
    const { instance, id, time } = event
    const before = event.version === 1 ? undefined : read(instance, kind, id)
    const state = fold(before ? before.state : kind.initial, event)
    rows.set(kind, event, { state, created: before?.created ?? time, owner: before?.owner })
  }
  const folding = (kind: AnyAggregate): Folding => {
    let standing: Standing = { state: kind.initial, created: 0, owner: undefined }
    let last: LogEvent | undefined
    return {
      add: (event) => {
        const { created, owner } = last ? standing : { created: event.time, owner: event.owner }
        standing = { state: fold(standing.state, event), created, owner }
        last = event
      },
      write: () => last && rows.set(kind, last, standing),
    }
  }
  const read = (instance: string, kind: AnyAggregate, id: string): StateRow => {
    reading?.()
    const first = hasRowAtOnce(kind) ? undefined : firstEvent(instance, kind.stream, id)
    // Without a first event there is no row either: a stream that begins costs one look.
    const row = first || hasRowAtOnce(kind) ? rows.get(instance, kind.stream, id) : undefined
    if (row) {
      const { version, position, created, changed, owner } = row
      return { version, position, created, changed, owner, state: JSON.parse(row.state) }
    }
    if (first) {
      const event = upcast(decode(first, names))
      return { ...afterFirst(event), state: fold(kind.initial, event) }
    }
    return unbegun(kind)
  }
  return {
    read,
    recall: (instance, kind, id) =>
      rows.recall(instance, kind.stream, id) ??
      rows.keep(instance, kind.stream, id, read(instance, kind, id)),
    forget: rows.forget,
    outdated: rows.outdated,
    fold,
    apply,
    kind: (stream) => byStream.get(stream),
    known: (type) => byStream.get(branches.get(type)?.stream ?? ""),
    names: { streams: [...byStream.keys()].sort(), types: [...branches.keys()].sort() },
    drop: rows.drop,
    folding,
  }
}

/** Where a stream stands that has no event. */
export const unbegun = ({ initial }: AnyAggregate): StateRow => ({
  version: 0,
  position: 0,
  created: 0,
  changed: 0,
  owner: "",
  state: initial,
})

/** Whether one event is enough for a row: the pruner finds what expires by it. */
const hasRowAtOnce = ({ retention }: AnyAggregate) => retention !== "forever"

const afterFirst = ({ version, position, time, owner }: LogEvent) => ({
  version,
  position,
  created: time,
  changed: time,
  owner,
})

/** Reads the first event of a stream as it is written. */
function firstEventOf({ database, names }: StateParts) {
  const get = database.prepare<EventRow, [string, number, string]>(
    "SELECT * FROM event WHERE instance = ? AND stream = ? AND id = ? AND version = 1",
  )
  return (instance: string, stream: string, id: string): EventRow | undefined => {
    const code = names.known(stream)
    return code === undefined ? undefined : (get.get(instance, code, id) ?? undefined)
  }
}

/** The table itself. `set` is told the last event that the state has in it. */
function rowsOf(database: Database) {
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
  // An index that no column of the statement is in is not written.
  const change = database.prepare(
    `UPDATE state SET version = ?, position = ?, created = ?, changed = ?, owner = ?, state = ?,
       sum = ?
     WHERE instance = ? AND stream = ? AND id = ? AND expires = ?`,
  )
  const remove = database.prepare("DELETE FROM state WHERE instance = ? AND stream = ? AND id = ?")
  let known = recalled<StateRow>(rowsMax)
  const keep = (instance: string, stream: string, id: string, row: StateRow) => {
    if (id.length <= idMax) known.set(instance, stream, id, row)
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
      known = recalled<StateRow>(rowsMax)
    },
    outdated: (instance: string, stream: string, id: string) => known.delete(instance, stream, id),
    set: (kind: AnyAggregate, last: LogEvent, { state, created, owner = last.owner }: Standing) => {
      const { instance, stream, id, version, position, time: changed } = last
      if (version === 1 && !hasRowAtOnce(kind)) {
        // Kept for nobody, thousands of these would only make the garbage collector stop longer.
        known.delete(instance, stream, id)
        return
      }
      const before = known.get(instance, stream, id)
      keep(instance, stream, id, { version, position, created, changed, owner, state })
      const expires = expiryOf(kind, state, changed)
      const text = JSON.stringify(state)
      const standing = { created, changed, owner, state: text, expires }
      const sum = stateSum({ instance, stream, id, version, position, ...standing })
      const values = [version, position, created, changed, owner, text] as const
      const expired = before && expiryOf(kind, before.state, before.changed)
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

/** Rows that are kept in memory, at most twice as many: a few megabytes. */
const rowsMax = 4096

/** No id of ours is nearly as long. Strangers make up others; what is not there is kept, too. */
const idMax = 1000

/** A state, and what the first event of its stream says of it. */
type Standing = {
  readonly state: unknown
  readonly created: number
  readonly owner: string | undefined
}

/** When a stream may go. An audit stream says when it last changed; its time is configured. */
function expiryOf(kind: AnyAggregate, state: unknown, time: number): number | null {
  if (kind.retention === "audit") return time
  // Reason for the cast: the registry keys states by stream name, so the type is the kind's.
  return kind.expires?.(state as never) ?? null
}

/** Every event type belongs to one aggregate, and every type has its branch. */
function branchesOf(kinds: readonly AnyAggregate[]) {
  const branches = new Map<string, { stream: string; fold: Fold }>()
  const streams = new Set<string>()
  for (const kind of kinds) {
    if (streams.has(kind.stream)) throw new Error(`two aggregates own streams of ${kind.stream}`)
    streams.add(kind.stream)
    for (const [type, fold] of Object.entries(kind.evolve)) {
      if (typeof fold !== "function") throw new Error(`${type} has no evolve branch`)
      if (branches.has(type)) throw new Error(`two aggregates have events of type ${type}`)
      branches.set(type, { stream: kind.stream, fold })
    }
  }
  return branches
}
