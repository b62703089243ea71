import { hash } from "node:crypto"
import type { AnyEvent, PersistedEvent } from "../event.ts"
import type { Statement, Value, Values } from "./statement.ts"
import { toStoredHash } from "./stored-hash.ts"

/**
 * Writes of a reducer. Besides its own parameters, a statement can use those of the event:
 * `$instance`, `$id` (of the stream), `$version`, `$position`, `$time`, `$owner`.
 */
export type ViewWriter = {
  readonly run: (statement: Statement, values?: Values) => void
  readonly get: <Row>(statement: Statement<Row>, values?: Values) => Row | undefined
  readonly all: <Row>(statement: Statement<Row>, values?: Values) => readonly Row[]
  /**
   * Runs a statement with its parameter values in order: those before `$instance` and those after
   * it. Uses no values of the event.
   */
  readonly write: (statement: Statement, before: readonly Value[], after: readonly Value[]) => void
}

/** The layout of a table in the database, from which the hash of its view is computed. */
export type TableLayout = {
  /** Column definitions and constraints; `instance TEXT NOT NULL` precedes them. */
  readonly columns: string
  /** Columns of the primary key after `instance`. */
  readonly key: string
  /** Column lists after `instance`, by index name. */
  readonly indexes?: Readonly<Record<string, string>>
  /**
   * By index name, the dominant value of its first column: a text that nearly all rows have. These
   * rows are excluded from the index, so that writing them costs nothing; searches know that all
   * other rows have that value. After the sorted column, such an index contains the default sort
   * column.
   */
  readonly dominant?: Readonly<Record<string, string>>
  /** Unique indexes, likewise. They are a safeguard and never replace claims. */
  readonly unique?: Readonly<Record<string, string>>
}

/** What a view needs to know about its tables; `store/table.ts` declares them. */
export type DeclaredTable = {
  readonly name: string
  readonly layout: TableLayout
  /**
   * Columns whose texts are searched for substrings: large tables get a text index of them. Their
   * rows have a single key column, the ID of the stream whose events alone change them.
   */
  readonly texts: readonly string[]
}

export type ViewSpec<E extends AnyEvent> = {
  readonly name: string
  /**
   * Increment it when reducers change in a way that the tables don't show; the view is then
   * rebuilt.
   */
  readonly revision?: number
  readonly tables: readonly DeclaredTable[]
  /** One pure reducer for each event type of the view; runs in the append transaction. */
  readonly on: {
    readonly [Type in E["type"]]?: (
      db: ViewWriter,
      event: PersistedEvent<Extract<E, { type: Type }>>,
    ) => void
  }
  /**
   * Removes what was derived from a pruned stream, by stream name; pure, like a reducer. Required
   * if `on` contains events of streams that expire, because a rebuilt view would otherwise differ.
   */
  readonly onPruned?: PruneReducers
}

/** Each receives the ID of the stream. */
type PruneReducers = Readonly<
  Record<string, (db: ViewWriter, stream: { readonly id: string }) => void>
>

export type View = {
  readonly name: string
  readonly tables: Readonly<Record<string, TableLayout>>
  /** The text columns by table; only tables that have some. */
  readonly texts: Readonly<Record<string, readonly string[]>>
  readonly hash: string
  readonly reducers: ReadonlyMap<string, Reducer>
  readonly onPruned: PruneReducers
}
export type Reducer = (db: ViewWriter, event: PersistedEvent<AnyEvent>) => void

/** Declares a read model: its tables and how events change them. */
export function view<E extends AnyEvent>(spec: ViewSpec<E>): View {
  const tables = Object.fromEntries(spec.tables.map(({ name, layout }) => [name, layout]))
  const layoutText = JSON.stringify([spec.revision ?? 1, tables, Object.keys(spec.on).sort()])
  const withTexts = spec.tables.filter(({ texts }) => texts.length > 0)
  return {
    name: spec.name,
    tables,
    texts: Object.fromEntries(withTexts.map(({ name, texts }) => [name, texts])),
    hash: toStoredHash(hash("sha256", layoutText, "hex")),
    // The map loses the relation between type and payload; the store calls reducers by type only.
    reducers: new Map(Object.entries(spec.on) as [string, Reducer][]),
    onPruned: spec.onPruned ?? {},
  }
}

/** The DDL of one table under its physical name. */
export function createTableStatements(physical: string, table: TableLayout): readonly string[] {
  const index =
    (unique: string) =>
    ([name, columns]: [string, string]) =>
      `CREATE ${unique}INDEX ${physical}_${name} ON ${physical} (instance, ${columns})` +
      partialIndexCondition(table, name)
  return [
    `CREATE TABLE ${physical} (instance TEXT NOT NULL, ${table.columns},
      PRIMARY KEY (instance, ${table.key})) WITHOUT ROWID`,
    ...Object.entries(table.indexes ?? {}).map(index("")),
    ...Object.entries(table.unique ?? {}).map(index("UNIQUE ")),
  ]
}

/** The SQL condition for the rows in an index; empty if it contains all. */
export function partialIndexCondition(
  { indexes = {}, dominant = {} }: TableLayout,
  index: string,
): string {
  const value = dominant[index]
  if (value === undefined) return ""
  const [column = ""] = (indexes[index] ?? "").split(",")
  return ` WHERE ${column} <> ${sqlLiteral(value)}`
}

export const sqlLiteral = (text: string): string => `'${text.replaceAll("'", "''")}'`

/**
 * The parameters of a statement, from its own values and the event's. The instance always comes
 * from the handle.
 */
export function bindParameters(
  statement: Statement,
  fixed: Values,
  values: Values | undefined,
): Record<string, Value> {
  const result: Record<string, Value> = {}
  for (const name of statement.parameters) {
    const own = name === "instance" ? undefined : values?.[name]
    const value = own === undefined ? fixed[name] : own
    if (value === undefined) throw new Error(`missing value for $${name} in: ${statement.sql}`)
    result[name] = value
  }
  return result
}
