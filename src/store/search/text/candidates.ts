import type { Values } from "../../view/statement.ts"
import type { Countable, Reading, Texts, TextTables } from "../reader.ts"
import type { TextCondition, TextIndex, TextView } from "./text-index.ts"

/** What an index of texts tells of a search. */
export type Candidates = {
  /** Its total. */
  readonly total?: number | undefined
  /** Counts that, where statements find out more quickly whether it is a small one. */
  readonly count?: (() => number | undefined) | undefined
  /** The keys of all that it finds. */
  readonly keys?: readonly string[] | undefined
  /** How many rows its instance has. */
  readonly rows?: number | undefined
  /** By the names of its conditions, the keys of rows that may fulfil them, as JSON. */
  readonly byName: Values
  /** The column that has these. */
  readonly column: string
}

type Requested = Pick<Reading, "texts" | "values" | "most" | "total"> & {
  readonly tables: TextTables
}

/** As many as are told in less time than it takes to look for them along an index. */
const candidatesMax = 20_000

const nothing: Candidates = { byName: {}, column: "" }

/** Where there is no index, or it fails, a search takes longer and nothing else. */
export function candidatesOf(index: TextIndex, requested: Requested): Candidates {
  const { texts, tables, values } = requested
  const table = texts && tables[texts.table]
  if (!table) return nothing
  const ifPossible = <T>(work: () => T): T | undefined => {
    try {
      return work()
    } catch {
      index.close()
      return undefined
    }
  }
  const found = ifPossible(() => {
    const view = index.of(table.table, `${values.instance}`)
    return view && { ...foundIn(view, requested, texts), column: table.key }
  })
  if (!found) return nothing
  const { count } = found
  return { ...found, count: count && (() => ifPossible(count)) }
}

function foundIn(
  view: TextView,
  { most, total }: Requested,
  { conditions, isAll, countable: requested }: Texts,
): Omit<Candidates, "column"> {
  const countable = isAll && view.changed.length === 0 ? requested : undefined
  const rows = countable && view.rows()
  const isCounted = countable !== undefined && total === undefined
  const how = { most: Math.max(most, candidatesMax), isCounted }
  const find = (condition: TextCondition) => view.find(condition, how)
  const found = conditions.flatMap((condition) =>
    condition.isAnywhere ? [{ name: condition.name, ...find(condition) }] : [],
  )
  const byName = found.flatMap(({ name, keys }) =>
    keys ? [[name, JSON.stringify([...keys, ...view.changed])] as const] : [],
  )
  const [only] = conditions
  const count = only && (() => found[0]?.total ?? find(only).total)
  return {
    rows,
    ...(isCounted && countsOf(countable, { rows, count, isFound: found.length > 0 })),
    keys: countable === "found" ? found[0]?.keys : undefined,
    byName: Object.fromEntries(byName),
  }
}

type Counts = {
  readonly rows: number | undefined
  readonly count: (() => number) | undefined
  readonly isFound: boolean
}

function countsOf(
  countable: Countable,
  { rows, count, isFound }: Counts,
): Pick<Candidates, "total" | "count"> {
  if (countable === "all") return { total: rows }
  if (countable === "others")
    return { total: count && rows !== undefined ? rows - count() : undefined }
  return isFound ? { total: count?.() } : { count }
}

/** A statement that looks at the candidates of its conditions alone, where there are some. */
export function narrowed(sql: string, { byName, column }: Candidates) {
  const names: string[] = []
  const narrow = (_: string, name: string) => {
    if (byName[name] === undefined) return ""
    names.push(name)
    return `${column} IN (SELECT value FROM json_each($${name})) AND `
  }
  return { sql: sql.replace(/\{(t\d+)\}/g, narrow), names }
}
