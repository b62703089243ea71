import type { Database } from "bun:sqlite"
import { physical, type TableGeneration } from "./generation.ts"
import { without } from "./view.ts"

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
export function indexesOf(database: Database, generations: readonly TableGeneration[]): Indexes {
  const present = new Map(
    database
      .query<{ name: string; sql: string | null }, []>(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index'",
      )
      .all()
      .map(({ name, sql }) => [name, sql ?? ""] as const),
  )
  const declared = generations.flatMap(({ view, generation }) =>
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

/** A table whose texts are looked for anywhere in them. */
export type TextTable = {
  /** Its physical name. */
  readonly table: string
  /** The column after the instance that tells its rows apart: the id of the stream they are of. */
  readonly key: string
  /** The columns that have its texts. */
  readonly columns: readonly string[]
  /** The types of the events that change its rows. */
  readonly types: readonly string[]
}

/** By their names. */
export const textTablesOf = (
  generations: readonly TableGeneration[],
): Readonly<Record<string, TextTable>> =>
  Object.fromEntries(
    generations.flatMap(({ view, generation }) =>
      Object.entries(view.texts).map(([name, columns]) => {
        const [table, key] = [physical(name, generation), view.tables[name]?.key ?? ""]
        return [name, { table, key, columns, types: [...view.reducers.keys()] }]
      }),
    ),
  )
