import type { Database } from "bun:sqlite"
import type { AnyAggregate } from "../aggregate.ts"
import { toDiskFault } from "../disk-error.ts"
import { requireSupportedSchema } from "../log/database.ts"
import { requireSupportedEventTypes } from "../log/event-types.ts"
import { createNames, headOf } from "../log/row.ts"
import { schemaVersion } from "../log/schema.ts"
import { maxSnapshotSize, openSource, type Source } from "../snapshot.ts"
import { findStaleStates } from "../state/rebuild.ts"
import type { View } from "../view/view.ts"
import { hasTable, listSteps, type UpgradeStep } from "./steps.ts"

/** What the first start of this version changes in a database. */
export type Upgrade = {
  /** The schema versions of the database and of this program. */
  readonly schema: { readonly from: number; readonly to: number }
  /** The position of the newest event. */
  readonly position: number
  /** The size of the backup copy in bytes. */
  readonly bytes: number
  /** Streams whose states are folded again before the first request. */
  readonly states: readonly string[]
  /** Lists that are rebuilt in the background, while their old rows are served. */
  readonly views: readonly string[]
  /** Each change with its extent. */
  readonly steps: readonly UpgradeStep[]
}

type Declarations = {
  readonly aggregates: readonly AnyAggregate[]
  readonly views: readonly View[]
}

/**
 * Determines what a start would change, read-only, also next to a running server. Throws like a
 * start for a database that is damaged, foreign or from a newer version.
 */
export function inspectUpgrade(source: Source, { aggregates, views }: Declarations): Upgrade {
  try {
    using database = openSource(source)
    const { schema: from } = requireSupportedSchema(database)
    requireSupportedEventTypes(database, createNames(database), aggregates)
    const states = hasTable(database, "fold")
      ? findStaleStates(database, aggregates)
      : streamsOf(aggregates)
    // The migration to version 4 folds all states again.
    const folded = from < 4 ? streamsOf(aggregates) : states
    const stale = findStaleViews(database, views)
    return {
      schema: { from, to: schemaVersion },
      position: headOf(database),
      bytes: maxSnapshotSize(source),
      states: folded,
      views: stale,
      steps: listSteps(database, { from, states: folded, views: stale }),
    }
  } catch (cause) {
    throw toDiskFault(cause, source.file) ?? cause
  }
}

const streamsOf = (aggregates: readonly AnyAggregate[]) => aggregates.map(({ stream }) => stream)

function findStaleViews(database: Database, views: readonly View[]): readonly string[] {
  const rows = hasTable(database, "view")
    ? database.query<{ name: string; hash: string }, []>("SELECT name, hash FROM view").all()
    : []
  const made = new Map(rows.map(({ name, hash }) => [name, hash]))
  return views.filter(({ name, hash }) => made.get(name) !== hash).map(({ name }) => name)
}
