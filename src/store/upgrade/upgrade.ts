import type { Database } from "bun:sqlite"
import type { AnyAggregate } from "../aggregate.ts"
import { diskFaultOf } from "../disk-error.ts"
import { checkOwn } from "../log/database.ts"
import { checkEventTypes } from "../log/event-types.ts"
import { headOf, namesOf } from "../log/row.ts"
import { schemaVersion } from "../log/schema.ts"
import { openSource, type Source, snapshotSize } from "../snapshot.ts"
import { staleStates } from "../state/rebuild.ts"
import type { View } from "../view/view.ts"
import { hasTable, stepsOf, type UpgradeStep } from "./steps.ts"

/** What the first start of this version on a database does to it. */
export type Upgrade = {
  /** Versions of the tables: that of the database, and ours. */
  readonly schema: { readonly from: number; readonly to: number }
  /** Position of the newest event. */
  readonly position: number
  /** What a backup copies, in bytes. */
  readonly bytes: number
  /** Kinds of streams whose states are folded anew before anybody is answered. */
  readonly states: readonly string[]
  /** Lists that are made anew in the background; what they were serves meanwhile. */
  readonly views: readonly string[]
  /** Each of these changes, with how much it is about. */
  readonly steps: readonly UpgradeStep[]
}

type Code = { readonly aggregates: readonly AnyAggregate[]; readonly views: readonly View[] }

/**
 * Says what a start would change, by reading alone, also beside a server. Faults as that would:
 * with what is damaged, another's, or of a newer version.
 */
export function upgradeOf(source: Source, { aggregates, views }: Code): Upgrade {
  try {
    using database = openSource(source)
    const { schema: from } = checkOwn(database)
    checkEventTypes(database, namesOf(database), aggregates)
    const states = hasTable(database, "fold")
      ? staleStates(database, aggregates)
      : allOf(aggregates)
    // The step to version 4 folds all states again, whatever they were.
    const folded = from < 4 ? allOf(aggregates) : states
    const stale = staleViews(database, views)
    return {
      schema: { from, to: schemaVersion },
      position: headOf(database),
      bytes: snapshotSize(source),
      states: folded,
      views: stale,
      steps: stepsOf(database, { from, states: folded, views: stale }),
    }
  } catch (cause) {
    throw diskFaultOf(cause, source.file) ?? cause
  }
}

const allOf = (aggregates: readonly AnyAggregate[]) => aggregates.map(({ stream }) => stream)

function staleViews(database: Database, views: readonly View[]): readonly string[] {
  const rows = hasTable(database, "view")
    ? database.query<{ name: string; hash: string }, []>("SELECT name, hash FROM view").all()
    : []
  const made = new Map(rows.map(({ name, hash }) => [name, hash]))
  return views.filter(({ name, hash }) => made.get(name) !== hash).map(({ name }) => name)
}
