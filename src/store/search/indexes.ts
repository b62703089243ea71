import type { Database } from "bun:sqlite"
import { type Placement, physical } from "../placement.ts"
import { without } from "../view.ts"

/** An index under its physical name, which has the rows of a table in the order of a column. */
export type Index = {
  readonly name: string
  /** The value that nearly all rows have there, and which are not in it; undefined for none. */
  readonly dominant: string | undefined
}

/** By `table.column`; of several that begin with the same column the first one counts. */
export type Indexes = ReadonlyMap<string, Index>

/**
 * Indexes that are there: while a view is made anew its old tables may lack one, or have it with
 * another value in mind.
 */
export function indexesOf(database: Database, placements: readonly Placement[]): Indexes {
  const present = new Map(
    database
      .query<{ name: string; sql: string | null }, []>(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index'",
      )
      .all()
      .map(({ name, sql }) => [name, sql ?? ""] as const),
  )
  const declared = placements.flatMap(({ view, generation }) =>
    Object.entries(view.tables).flatMap(([table, declaration]) =>
      Object.entries(declaration.indexes ?? {}).map(([index, columns]) => ({
        name: `${physical(table, generation)}_${index}`,
        key: `${table}.${columns.split(",")[0]?.trim()}`,
        end: `${columns})${without(declaration, index)}`,
        dominant: declaration.dominant?.[index],
      })),
    ),
  )
  const found = new Map<string, Index>()
  for (const { name, key, end, dominant } of declared) {
    if (present.get(name)?.endsWith(end) && !found.has(key)) found.set(key, { name, dominant })
  }
  return found
}
