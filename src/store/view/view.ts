import { hash } from "node:crypto"
import type { AnyEvent, Recorded } from "../event.ts"
import type { Statement, Value, Values } from "./statement.ts"
import { storedHash } from "./stored-hash.ts"

/**
 * Writes of a reducer. Beside its own parameters each statement may use those of the event:
 * `$instance`, `$id` (of the stream), `$version`, `$position`, `$time`, `$owner`.
 */
export type ViewWriter = {
  readonly run: (statement: Statement, values?: Values) => void
  readonly get: <Row>(statement: Statement<Row>, values?: Values) => Row | undefined
  readonly all: <Row>(statement: Statement<Row>, values?: Values) => readonly Row[]
  /**
   * Runs a statement with the values of its parameters in their order: those before `$instance` and
   * those after it. None is taken from the event.
   */
  readonly write: (statement: Statement, before: readonly Value[], after: readonly Value[]) => void
}

/** How a table lies in the database. The hash of its view is computed from it. */
export type TableLayout = {
  /** Column definitions and constraints; `instance TEXT NOT NULL` is put before them. */
  readonly columns: string
  /** Columns of the primary key after `instance`. */
  readonly key: string
  /** Column lists after `instance`, by index name. */
  readonly indexes?: Readonly<Record<string, string>>
  /**
   * By the name of an index, the dominant value of its first column, a text that nearly all rows
   * have. They are not in it, so that it costs nothing to write them; searches know that all others
   * have that value. After the columns that are sorted by, such an index has the one that lists are
   * sorted by.
   */
  readonly dominant?: Readonly<Record<string, string>>
  /** Unique indexes, likewise. They back up claims and never replace them. */
  readonly unique?: Readonly<Record<string, string>>
}

/** What a view needs to know of its tables; `store/table.ts` declares them. */
export type DeclaredTable = {
  readonly name: string
  readonly layout: TableLayout
  /**
   * Columns with texts that people look for anywhere in them: where such a table is long it gets an
   * index of these. Its rows have one column as key, the id of the stream whose events alone change
   * them.
   */
  readonly texts: readonly string[]
}

export type ViewSpec<E extends AnyEvent> = {
  readonly name: string
  /** Raised when reducers change in a way that the tables don't show; the view is then rebuilt. */
  readonly revision?: number
  readonly tables: readonly DeclaredTable[]
  /** One pure reducer for each event type this view cares about; runs in the append transaction. */
  readonly on: {
    readonly [Type in E["type"]]?: (
      db: ViewWriter,
      event: Recorded<Extract<E, { type: Type }>>,
    ) => void
  }
  /**
   * Takes away what was made of a stream that is dropped, by the kind of stream; pure, as a reducer
   * is. Needed where `on` has events of streams that are not kept forever, or a view made anew
   * would not be the one that was there.
   */
  readonly dropped?: Dropping
}

/** Each gets the id of the stream. */
type Dropping = Readonly<Record<string, (db: ViewWriter, stream: { readonly id: string }) => void>>

export type View = {
  readonly name: string
  readonly tables: Readonly<Record<string, TableLayout>>
  /** By a table, its columns with texts; only tables that have some. */
  readonly texts: Readonly<Record<string, readonly string[]>>
  readonly hash: string
  readonly reducers: ReadonlyMap<string, Reducer>
  readonly dropped: Dropping
}
export type Reducer = (db: ViewWriter, event: Recorded<AnyEvent>) => void

/** Declares a read model: its tables and, beside them, how events change them. */
export function view<E extends AnyEvent>(spec: ViewSpec<E>): View {
  const tables = Object.fromEntries(spec.tables.map(({ name, layout }) => [name, layout]))
  const shape = JSON.stringify([spec.revision ?? 1, tables, Object.keys(spec.on).sort()])
  const withTexts = spec.tables.filter(({ texts }) => texts.length > 0)
  return {
    name: spec.name,
    tables,
    texts: Object.fromEntries(withTexts.map(({ name, texts }) => [name, texts])),
    hash: storedHash(hash("sha256", shape, "hex")),
    // The map forgets which payload belongs to which type; the store calls by type only.
    reducers: new Map(Object.entries(spec.on) as [string, Reducer][]),
    dropped: spec.dropped ?? {},
  }
}

/** DDL of one table under its physical name. */
export function createTable(physical: string, table: TableLayout): readonly string[] {
  const index =
    (unique: string) =>
    ([name, columns]: [string, string]) =>
      `CREATE ${unique}INDEX ${physical}_${name} ON ${physical} (instance, ${columns})` +
      without(table, name)
  return [
    `CREATE TABLE ${physical} (instance TEXT NOT NULL, ${table.columns},
      PRIMARY KEY (instance, ${table.key})) WITHOUT ROWID`,
    ...Object.entries(table.indexes ?? {}).map(index("")),
    ...Object.entries(table.unique ?? {}).map(index("UNIQUE ")),
  ]
}

/** Which rows an index has, as SQL after its columns; empty where it has all. */
export function without({ indexes = {}, dominant = {} }: TableLayout, index: string): string {
  const value = dominant[index]
  if (value === undefined) return ""
  const [column = ""] = (indexes[index] ?? "").split(",")
  return ` WHERE ${column} <> ${literal(value)}`
}

export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/**
 * The parameters a statement uses, taken from its own values and the event's. The instance is
 * always the handle's, whatever the values say.
 */
export function bound(
  statement: Statement,
  fixed: Values,
  values: Values | undefined,
): Record<string, Value> {
  const result: Record<string, Value> = {}
  for (const name of statement.parameters) {
    const own = name === "instance" ? undefined : values?.[name]
    const value = own === undefined ? fixed[name] : own
    if (value === undefined) throw new Error(`no value for $${name} in: ${statement.sql}`)
    result[name] = value
  }
  return result
}
