import type { Database } from "bun:sqlite"
import { physical, type TableGeneration } from "./generation.ts"
import type { TableLayout } from "./view.ts"

type Row = { readonly tbl: string; readonly idx: string; readonly stat: string }

/**
 * Tells SQLite's planner what all view tables are like: long, and all of one instance. Without it
 * the planner takes `instance = …` for as good as a key, and walks through whole tables beside an
 * index that fits. Nothing is counted, so that a statement has the same plan on every machine.
 */
export function advise(database: Database, generations: readonly TableGeneration[]): void {
  const wanted = generations.flatMap(rowsOf)
  const known = new Map(presentRows(database).map((row) => [row.idx, row.stat]))
  if (wanted.every(({ idx, stat }) => known.get(idx) === stat)) return
  // Makes the table of statistics where there is none, and later has it read again.
  const read = () => database.run("ANALYZE sqlite_schema")
  read()
  const remove = database.prepare("DELETE FROM sqlite_stat1 WHERE idx = ?")
  const insert = database.prepare("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)")
  for (const { tbl, idx, stat } of wanted) {
    remove.run(idx)
    insert.run(tbl, idx, stat)
  }
  read()
}

function presentRows(database: Database): readonly Row[] {
  const isThere = database
    .query("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'")
    .all().length
  return isThere ? database.query<Row, []>("SELECT tbl, idx, stat FROM sqlite_stat1").all() : []
}

function rowsOf({ view, generation }: TableGeneration): readonly Row[] {
  return Object.entries(view.tables).flatMap(([name, table]) => {
    const tbl = physical(name, generation)
    // The key of a table without row ids goes by the name of the table.
    return [
      { tbl, idx: tbl, stat: statistic(table.key, true) },
      ...indexesOf(table).map(([index, columns, isUnique]) => ({
        tbl,
        idx: `${tbl}_${index}`,
        stat: statistic(columns, isUnique),
      })),
    ]
  })
}

const indexesOf = ({ indexes = {}, unique = {} }: TableLayout) => [
  ...Object.entries(indexes).map(([name, columns]) => [name, columns, false] as const),
  ...Object.entries(unique).map(([name, columns]) => [name, columns, true] as const),
]

const rowsInTable = 1_000_000

/** Rows of the table, then rows that are alike in the first column, the first two, … */
function statistic(columns: string, isUnique: boolean): string {
  const count = columns.split(",").length
  const alike = Array.from({ length: count }, (_, at) =>
    isUnique && at === count - 1 ? 1 : at === 0 ? 100 : 10,
  )
  return [rowsInTable, rowsInTable, ...alike].join(" ")
}
