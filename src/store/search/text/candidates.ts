import { SQLiteError } from "bun:sqlite"
import type { Values } from "../../view/statement.ts"
import type { SearchRequest, TextSearch, TextTables } from "../reader-request.ts"
import type { TextIndex, TextView } from "./text-index.ts"

/** The candidates that a text index returns for a search. */
export type Candidates = {
  /** The number of rows in the instance, if the caller can see all of them. */
  readonly rows?: number | undefined
  /** By condition name: the keys of rows that may match, as JSON. */
  readonly byName: Values
  /** The column of these keys. */
  readonly column: string
}

type CandidatesInput = Pick<SearchRequest, "texts" | "values"> & { readonly tables: TextTables }

/** With more candidates, walking along an index finds the page faster. */
const maxCandidates = 20_000

const noCandidates: Candidates = { byName: {}, column: "" }

/** Without an index, or if its file can't be read, a search only takes longer. */
export function findCandidates(
  index: TextIndex,
  { texts, tables, values }: CandidatesInput,
): Candidates {
  const table = texts && tables[texts.table]
  if (!table) return noCandidates
  try {
    const view = index.of(table.table, `${values.instance}`)
    return view ? { ...queryView(view, texts), column: table.key } : noCandidates
  } catch (cause) {
    if (!isFileError(cause)) throw cause
    index.close()
    return noCandidates
  }
}

/** SQLITE_ERROR means an invalid statement, which a new file would not fix. */
const isFileError = (cause: unknown): boolean =>
  cause instanceof SQLiteError && cause.code !== "SQLITE_ERROR"

function queryView(view: TextView, { conditions, isAll }: TextSearch): Omit<Candidates, "column"> {
  const byName = conditions.flatMap((condition) => {
    const keys = view.find(condition, maxCandidates)
    return keys ? [[condition.name, JSON.stringify([...keys, ...view.changedKeys])] as const] : []
  })
  return {
    rows: isAll && view.changedKeys.length === 0 ? view.rows() : undefined,
    byName: Object.fromEntries(byName),
  }
}

/** A statement that only compares the candidates of its conditions, where there are some. */
export function narrowStatement(sql: string, { byName, column }: Candidates) {
  const names: string[] = []
  const narrow = (_: string, name: string) => {
    if (byName[name] === undefined) return ""
    names.push(name)
    return `${column} IN (SELECT value FROM json_each($${name})) AND `
  }
  return { sql: sql.replace(/\{(t\d+)\}/g, narrow), names }
}
