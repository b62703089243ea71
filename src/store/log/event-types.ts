import type { Database } from "bun:sqlite"
import { Fault } from "../../kernel/fault.ts"
import type { AnyAggregate, Upcaster } from "../aggregate.ts"
import type { Append, AppendResult, LogEvent, NewEvent } from "./log.ts"
import type { EventRow, Names } from "./row.ts"

/**
 * Records which revisions of which event types the log contains; a record is only kept if its
 * transaction commits.
 */
export type EventTypes = {
  readonly note: (row: Pick<EventRow, "stream" | "type" | "revision" | "position">) => void
  readonly keep: () => void
  /** The number of records that are not kept yet; `forget` returns to it. */
  readonly mark: () => number
  readonly forget: (mark: number) => void
}

type Row = Pick<EventRow, "stream" | "type" | "revision" | "position">

const keyOf = (row: Row) => `${row.stream}/${row.type}/${row.revision}`

const readRows = (database: Database) =>
  database.query<Row, []>("SELECT * FROM kind ORDER BY position").all()

export function createEventTypes(database: Database): EventTypes {
  const recorded = new Set(readRows(database).map(keyOf))
  const insert = database.prepare<unknown, number[]>("INSERT INTO kind VALUES (?, ?, ?, ?)")
  let pending: string[] = []
  return {
    note: (row) => {
      const key = keyOf(row)
      if (recorded.has(key)) return
      insert.run(row.stream, row.type, row.revision, row.position)
      recorded.add(key)
      pending.push(key)
    },
    keep: () => {
      pending = []
    },
    mark: () => pending.length,
    forget: (mark) => {
      for (const key of pending.splice(mark)) recorded.delete(key)
    },
  }
}

/** Counts what was written since the start, including what was rolled back. */
export function createWriteCounter() {
  /** By stream and by event type. */
  const steps = new Map<string, number>()
  const latest = new Map<string, number>()
  const count = (name: string) => steps.set(name, (steps.get(name) ?? 0) + 1)
  const event = ({ stream, type }: Pick<LogEvent, "stream" | "type">, position?: number) => {
    count(stream)
    count(type)
    if (position !== undefined) latest.set(type, position)
  }
  return {
    event,
    note: (step: Append, result: AppendResult) => {
      const position = result.kind === "appended" ? result.position : undefined
      for (const each of step.events) event(each, position)
      for (const { stream } of step.claims) count(stream)
    },
    /** The number of writes of some streams or types; used by every cache. */
    steps: (typeNames: readonly string[]) => {
      let sum = 0
      for (const each of typeNames) sum += steps.get(each) ?? 0
      return sum
    },
    /** The position of the last event of a type. */
    last: (type: string) => latest.get(type) ?? 0,
  }
}

/**
 * Rejects a log with an unknown type or a newer revision, naming the first such event: skipping it
 * would produce wrong state.
 */
export function requireSupportedEventTypes(
  database: Database,
  typeNames: Names,
  aggregates: readonly AnyAggregate[],
): void {
  const byStream = new Map(aggregates.map((aggregate) => [aggregate.stream, aggregate]))
  for (const { stream, type, revision, position } of readRows(database)) {
    const aggregate = byStream.get(typeNames.name(stream))
    requireReadable(aggregate, { type: typeNames.name(type), revision, position })
  }
}

/** Converts payloads to the current revision. */
export function createUpcaster(aggregates: readonly AnyAggregate[]): (event: LogEvent) => LogEvent {
  const byStream = new Map(aggregates.map((aggregate) => [aggregate.stream, aggregate]))
  return (event) => {
    const aggregate = requireReadable(byStream.get(event.stream), event)
    const steps = upcastersOf(aggregate, event.type).slice(event.revision - 1)
    if (steps.length === 0) return event
    // Reason for the cast: payloads are objects by declaration, and upcasters read them.
    let payload = { data: event.data, private: event.private } as ReturnType<Upcaster>
    for (const step of steps) payload = step(payload.data, payload.private)
    return { ...event, ...payload, revision: event.revision + steps.length }
  }
}

/**
 * The revision in which new events of a type are written: one more than the number of upcasters.
 */
export const revisionOf = (aggregate: AnyAggregate, type: string): number =>
  upcastersOf(aggregate, type).length + 1

/** The payload of an event in the second newest revision; undefined without a downcaster. */
export function downcastPayload(
  aggregate: AnyAggregate,
  type: string,
  payload: ReturnType<Upcaster>,
): NewEvent["before"] {
  // Reason for the cast: the registry loses the types of an aggregate, but not its downcasters.
  const all = (aggregate.downcasters ?? noCasters) as Record<string, Upcaster | undefined>
  const before = all[type]?.(payload.data, payload.private)
  return before && { ...before, revision: revisionOf(aggregate, type) - 1 }
}

/** The supported revisions of event types, by `stream/type`. */
export const supportedRevisions = (
  aggregates: readonly AnyAggregate[],
): Readonly<Record<string, number>> =>
  Object.fromEntries(
    aggregates.flatMap((aggregate) =>
      Object.keys(aggregate.evolve).map((type) => [
        `${aggregate.stream}/${type}`,
        revisionOf(aggregate, type),
      ]),
    ),
  )

function upcastersOf(aggregate: AnyAggregate, type: string): readonly Upcaster[] {
  // Reason for the cast: the registry loses the types of an aggregate, but not its upcasters.
  const all = (aggregate.upcasters ?? noCasters) as Record<string, readonly Upcaster[] | undefined>
  return all[type] ?? empty
}
const noCasters = {}
const empty: readonly Upcaster[] = []

type EventRevision = Pick<LogEvent, "type" | "revision" | "position">

function requireReadable(aggregate: AnyAggregate | undefined, event: EventRevision): AnyAggregate {
  if (!aggregate || !Object.hasOwn(aggregate.evolve, event.type)) {
    throw unreadableError(event, "unknown type")
  }
  if (event.revision > revisionOf(aggregate, event.type)) {
    throw unreadableError(event, `revision ${event.revision} is newer than supported`)
  }
  return aggregate
}

function unreadableError(event: EventRevision, reason: string): Fault {
  return new Fault(
    "unavailable",
    "store.event_unreadable",
    `event ${event.position} (${event.type}) can't be read by this version: ${reason}; start ` +
      "the version that wrote it",
  )
}
