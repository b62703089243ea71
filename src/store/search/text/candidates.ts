import { SQLiteError } from "bun:sqlite"
import type { Values } from "../../view/statement.ts"
import type { Reading, Texts, TextTables } from "../reader-request.ts"
import type { TextIndex, TextView } from "./text-index.ts"

/** What a text index answers about a search. */
export type Candidates = {
  /** How many rows its instance has, where the caller can see all of them. */
  readonly rows?: number | undefined
  /** By the names of its conditions, the keys of rows that may meet them, as JSON. */
  readonly byName: Values
  /** The column of these keys. */
  readonly column: string
}

type CandidatesInput = Pick<Reading, "texts" | "values"> & { readonly tables: TextTables }

/** Of more candidates a statement finds the page faster along an index. */
const candidatesMax = 20_000

const none: Candidates = { byName: {}, column: "" }

/** Without an index, or when its file can't be read, a search only takes longer. */
export function candidatesOf(
  index: TextIndex,
  { texts, tables, values }: CandidatesInput,
): Candidates {
  const table = texts && tables[texts.table]
  if (!table) return none
  try {
    const view = index.of(table.table, `${values.instance}`)
    return view ? { ...foundIn(view, texts), column: table.key } : none
  } catch (cause) {
    if (!isFileError(cause)) throw cause
    index.close()
    return none
  }
}

/** SQLITE_ERROR is a wrong statement, which no other file would mend. */
const isFileError = (cause: unknown): boolean =>
  cause instanceof SQLiteError && cause.code !== "SQLITE_ERROR"

function foundIn(view: TextView, { conditions, isAll }: Texts): Omit<Candidates, "column"> {
  const byName = conditions.flatMap((condition) => {
    const keys = view.find(condition, candidatesMax)
    return keys ? [[condition.name, JSON.stringify([...keys, ...view.changed])] as const] : []
  })
  return {
    rows: isAll && view.changed.length === 0 ? view.rows() : undefined,
    byName: Object.fromEntries(byName),
  }
}

/** A statement that compares only the candidates of those of its conditions that have some. */
export function narrowed(sql: string, { byName, column }: Candidates) {
  const names: string[] = []
  const narrow = (_: string, name: string) => {
    if (byName[name] === undefined) return ""
    names.push(name)
    return `${column} IN (SELECT value FROM json_each($${name})) AND `
  }
  return { sql: sql.replace(/\{(t\d+)\}/g, narrow), names }
}
