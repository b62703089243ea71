import type { Database } from "bun:sqlite"
import { Fault } from "../../kernel/fault.ts"
import type { AnyAggregate, Upcaster } from "../aggregate.ts"
import type { Append, Appended, LogEvent, NewEvent } from "./log.ts"
import type { EventRow, Names } from "./row.ts"

/** Which revisions of which event types the log holds; a note is kept only if its step commits. */
export type EventTypes = {
  readonly note: (row: Pick<EventRow, "stream" | "type" | "revision" | "position">) => void
  readonly keep: () => void
  /** How many are not kept yet; `forget` goes back to there. */
  readonly mark: () => number
  readonly forget: (mark: number) => void
}

type Row = Pick<EventRow, "stream" | "type" | "revision" | "position">

const keyOf = (row: Row) => `${row.stream}/${row.type}/${row.revision}`

const allOf = (database: Database) =>
  database.query<Row, []>("SELECT * FROM kind ORDER BY position").all()

export function eventTypesOf(database: Database): EventTypes {
  const known = new Set(allOf(database).map(keyOf))
  const insert = database.prepare<unknown, number[]>("INSERT INTO kind VALUES (?, ?, ?, ?)")
  let fresh: string[] = []
  return {
    note: (row) => {
      const key = keyOf(row)
      if (known.has(key)) return
      insert.run(row.stream, row.type, row.revision, row.position)
      known.add(key)
      fresh.push(key)
    },
    keep: () => {
      fresh = []
    },
    mark: () => fresh.length,
    forget: (mark) => {
      for (const key of fresh.splice(mark)) known.delete(key)
    },
  }
}

/** What was written since the start, whether it stands or was undone. */
export function writtenOf() {
  /** By the kind of stream and by the type of event. */
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
    note: (step: Append, result: Appended) => {
      const position = result.kind === "appended" ? result.position : undefined
      for (const each of step.events) event(each, position)
      for (const { stream } of step.claims) count(stream)
    },
    /** How often some were; every answer that is kept asks. */
    steps: (names: readonly string[]) => {
      let sum = 0
      for (const each of names) sum += steps.get(each) ?? 0
      return sum
    },
    /** Where a type was written last. */
    last: (type: string) => latest.get(type) ?? 0,
  }
}

/**
 * Refuses a log that holds an unknown type or a newer revision, and names the first such event:
 * whoever skipped it would show a world that never was.
 */
export function checkEventTypes(
  database: Database,
  names: Names,
  aggregates: readonly AnyAggregate[],
): void {
  const byStream = new Map(aggregates.map((aggregate) => [aggregate.stream, aggregate]))
  for (const { stream, type, revision, position } of allOf(database)) {
    const aggregate = byStream.get(names.name(stream))
    readable(aggregate, { type: names.name(type), revision, position })
  }
}

/** Brings payloads to today's revision. */
export function upcaster(aggregates: readonly AnyAggregate[]): (event: LogEvent) => LogEvent {
  const byStream = new Map(aggregates.map((aggregate) => [aggregate.stream, aggregate]))
  return (event) => {
    const aggregate = readable(byStream.get(event.stream), event)
    const steps = stepsOf(aggregate, event.type).slice(event.revision - 1)
    if (steps.length === 0) return event
    // Reason for the cast: a payload is an object by its declaration, and an upcaster its reader.
    let payload = { data: event.data, private: event.private } as ReturnType<Upcaster>
    for (const step of steps) payload = step(payload.data, payload.private)
    return { ...event, ...payload, revision: event.revision + steps.length }
  }
}

/** The revision that new events of a type are written in: one more than its upcasters. */
export const revisionOf = (aggregate: AnyAggregate, type: string): number =>
  stepsOf(aggregate, type).length + 1

/** The payload of an event in the revision before the newest; undefined without a downcaster. */
export function payloadBefore(
  aggregate: AnyAggregate,
  type: string,
  payload: ReturnType<Upcaster>,
): NewEvent["before"] {
  // Reason for the cast: the registry forgets the types of an aggregate, not its downcasters.
  const all = (aggregate.downcasters ?? none) as Record<string, Upcaster | undefined>
  const before = all[type]?.(payload.data, payload.private)
  return before && { ...before, revision: revisionOf(aggregate, type) - 1 }
}

/** The revisions of event types that can be read, by `stream/type`. */
export const readsOf = (aggregates: readonly AnyAggregate[]): Readonly<Record<string, number>> =>
  Object.fromEntries(
    aggregates.flatMap((aggregate) =>
      Object.keys(aggregate.evolve).map((type) => [
        `${aggregate.stream}/${type}`,
        revisionOf(aggregate, type),
      ]),
    ),
  )

function stepsOf(aggregate: AnyAggregate, type: string): readonly Upcaster[] {
  // Reason for the cast: the registry forgets the types of an aggregate, not its upcasters.
  const all = (aggregate.upcasters ?? none) as Record<string, readonly Upcaster[] | undefined>
  return all[type] ?? empty
}
const none = {}
const empty: readonly Upcaster[] = []

type Named = Pick<LogEvent, "type" | "revision" | "position">

function readable(aggregate: AnyAggregate | undefined, event: Named): AnyAggregate {
  if (!aggregate || !Object.hasOwn(aggregate.evolve, event.type)) {
    throw unreadableError(event, "its type is not known")
  }
  if (event.revision > revisionOf(aggregate, event.type)) {
    throw unreadableError(event, `its revision ${event.revision} is newer`)
  }
  return aggregate
}

function unreadableError(event: Named, why: string): Fault {
  return new Fault(
    "unavailable",
    "store.event_unreadable",
    `event ${event.position} (${event.type}) can't be read by this version: ${why}; ` +
      "start the version that wrote it",
  )
}
