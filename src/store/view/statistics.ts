import type { Database } from "bun:sqlite"
import { physicalName, type TableGeneration } from "./generation.ts"
import type { TableLayout } from "./view.ts"

type Row = { readonly tbl: string; readonly idx: string; readonly stat: string }

/**
 * Sets fixed statistics for SQLite's planner: all view tables are large and have a single instance.
 * Otherwise the planner considers `instance = …` as selective as a key, and scans whole tables
 * although an index fits. Nothing is measured, so that a statement has the same plan on every
 * machine.
 */
export function setStatistics(database: Database, generations: readonly TableGeneration[]): void {
  const wanted = generations.flatMap(statisticsOf)
  const known = new Map(readRows(database).map((row) => [row.idx, row.stat]))
  if (wanted.every(({ idx, stat }) => known.get(idx) === stat)) return
  // Creates the statistics table if needed, and later makes SQLite read it again.
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

function readRows(database: Database): readonly Row[] {
  const isThere = database
    .query("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'")
    .all().length
  return isThere ? database.query<Row, []>("SELECT tbl, idx, stat FROM sqlite_stat1").all() : []
}

function statisticsOf({ view, generation }: TableGeneration): readonly Row[] {
  return Object.entries(view.tables).flatMap(([name, table]) => {
    const tbl = physicalName(name, generation)
    // The key of a table without row IDs has the name of the table.
    return [
      { tbl, idx: tbl, stat: formatStatistic(table.key, true) },
      ...listIndexes(table).map(([index, columns, isUnique]) => ({
        tbl,
        idx: `${tbl}_${index}`,
        stat: formatStatistic(columns, isUnique),
      })),
    ]
  })
}

const listIndexes = ({ indexes = {}, unique = {} }: TableLayout) => [
  ...Object.entries(indexes).map(([name, columns]) => [name, columns, false] as const),
  ...Object.entries(unique).map(([name, columns]) => [name, columns, true] as const),
]

const assumedRows = 1_000_000

/** Rows in the table, then average rows per value of the first column, the first two, … */
function formatStatistic(columns: string, isUnique: boolean): string {
  const count = columns.split(",").length
  const alike = Array.from({ length: count }, (_, at) =>
    isUnique && at === count - 1 ? 1 : at === 0 ? 100 : 10,
  )
  return [assumedRows, assumedRows, ...alike].join(" ")
}
