import type { Database } from "bun:sqlite"
import { physicalName, type TableGeneration } from "./generation.ts"
import { partialIndexCondition } from "./view.ts"

/** A physical index with the rows of a table in the order of a column. */
export type Index = {
  readonly name: string
  /** The value that nearly all rows have, which the index excludes; undefined if there is none. */
  readonly dominant: string | undefined
}

/** By `table.column`; the first one is used if several start with the same column. */
export type Indexes = ReadonlyMap<string, Index>

/**
 * The existing indexes: during a rebuild, the old tables may lack one, or have one with another
 * dominant value.
 */
export function findIndexes(database: Database, generations: readonly TableGeneration[]): Indexes {
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
        name: `${physicalName(table, generation)}_${index}`,
        key: `${table}.${columns.split(",")[0]?.trim()}`,
        end: `${columns})${partialIndexCondition(declaration, index)}`,
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

/** A table whose texts are searched for substrings. */
export type TextTable = {
  /** Its physical name. */
  readonly table: string
  /** The key column after the instance: the ID of the row's stream. */
  readonly key: string
  /** The columns with texts. */
  readonly columns: readonly string[]
  /** The types of the events that change its rows. */
  readonly types: readonly string[]
}

/** The tables with texts by name. */
export const listTextTables = (
  generations: readonly TableGeneration[],
): Readonly<Record<string, TextTable>> =>
  Object.fromEntries(
    generations.flatMap(({ view, generation }) =>
      Object.entries(view.texts).map(([name, columns]) => {
        const [table, key] = [physicalName(name, generation), view.tables[name]?.key ?? ""]
        return [name, { table, key, columns, types: [...view.reducers.keys()] }]
      }),
    ),
  )
