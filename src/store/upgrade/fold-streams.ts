import type { Aggregate } from "../aggregate.ts"
import type { AnyEvent } from "../event.ts"
import { createUpcaster } from "../log/event-types.ts"
import { createNames, type EventRow } from "../log/row.ts"
import { openSource, type Source } from "../snapshot.ts"

/** A stream with the state that this version computes. */
export type StreamState<State> = {
  readonly instance: string
  readonly id: string
  readonly owner: string
  readonly state: State
}

/**
 * Folds all streams of an aggregate, one after the other, from a database that may have an older
 * version. Read-only, also next to a running server; takes about a second for 100,000 events.
 */
export function* foldStreams<E extends AnyEvent, State>(
  source: Source,
  kind: Aggregate<E, State>,
): Generator<StreamState<State>> {
  using database = openSource(source)
  const names = createNames(database)
  const code = names.findCode(kind.stream)
  if (code === undefined) return
  const upcast = createUpcaster([kind])
  // Reason for the cast: the type of a stored event is only known when it is read.
  const branches = kind.evolve as Readonly<Record<string, (state: State, event: object) => State>>
  let last: StreamState<State> | undefined
  const rows = database.query<EventRow, [number]>(
    "SELECT * FROM event WHERE stream = ? ORDER BY instance, id, version",
  )
  for (const row of rows.iterate(code)) {
    const { instance, id, version, revision, position, time, owner, correlation } = row
    if (version === 1 && last) yield last
    const event = upcast({
      instance,
      id,
      version,
      revision,
      position,
      time,
      owner,
      correlation,
      stream: kind.stream,
      type: names.name(row.type),
      data: JSON.parse(row.data),
      private: row.private === null ? null : JSON.parse(row.private),
      editor: { user: row.editor_user, client: row.editor_client },
      erase: row.erase === null ? null : JSON.parse(row.erase),
    })
    const before = version === 1 || !last ? { instance, id, owner, state: kind.initial } : last
    last = { ...before, state: branches[event.type]?.(before.state, event) ?? before.state }
  }
  if (last) yield last
}
