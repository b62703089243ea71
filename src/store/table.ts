import type { Searchable } from "./search/condition.ts"
import { type Statement, statement, type Value, type Values } from "./view/statement.ts"
import type { TableLayout, ViewWriter } from "./view/view.ts"

/**
 * A column of a view table; `T` is the type of its values in rows. A codec is only there where
 * SQLite does not take or return these values as they are.
 */
export type Column<T> = {
  /** Its type and constraint in the DDL. */
  readonly sql: string
  encode?(value: T): Value
  decode?(stored: Value): T
}

export const text = <T extends string = string>(): Column<T> => ({ sql: "TEXT NOT NULL" })
export const integer = (): Column<number> => ({ sql: "INTEGER NOT NULL" })
export const blob = (): Column<Uint8Array> => ({ sql: "BLOB NOT NULL" })

/** True or false, stored as 1 or 0. */
export const bool = (): Column<boolean> => ({
  sql: "INTEGER NOT NULL",
  decode: (stored) => stored === 1,
})

/** A value that is stored as text. */
export const coded = <T>(encode: (value: T) => string, decode: (text: string) => T): Column<T> => ({
  sql: "TEXT NOT NULL",
  encode,
  decode: (stored) => decode(`${stored}`),
})

export const json = <T>(): Column<T> => coded<T>(JSON.stringify, JSON.parse)

/** Words without spaces, stored with a space between them. */
export const words = (): Column<readonly string[]> =>
  coded(
    (list) => list.join(" "),
    (stored) => stored.split(" ").filter(Boolean),
  )

/** The same column, which can be NULL. */
export const nullable = <T>({ sql, encode, decode }: Column<T>): Column<T | null> => ({
  sql: sql.replace(" NOT NULL", ""),
  ...(encode && { encode: (value) => (value === null ? null : encode(value)) }),
  ...(decode && { decode: (stored) => (stored === null ? null : decode(stored)) }),
})

type Columns = Readonly<Record<string, Column<unknown>>>
type Name<C> = keyof C & string
type Row<C> = {
  readonly [Key in keyof C]: C[Key] extends Column<infer T> ? T : never
}

/** The row of a table, without its instance. */
export type RowOf<T extends { readonly columns: Columns }> = Row<T["columns"]>

/** In SQL nothing equals NULL. */
type Condition<C> = { readonly [Key in keyof C]?: NonNullable<Row<C>[Key]> }

type Changes<C> = { readonly [Key in keyof C]?: Row<C>[Key] | undefined }

/** New values of columns of a table; undefined leaves the column as it is. */
export type ChangesOf<T extends { readonly columns: Columns }> = Changes<T["columns"]>

type TableOptions<C> = {
  /** Columns of the primary key, which begins with `instance`. */
  readonly key: readonly Name<C>[]
  /** Columns by index name; each index begins with `instance`. */
  readonly indexes?: Readonly<Record<string, readonly Name<C>[]>>
  /** See `TableLayout`. */
  readonly dominant?: Readonly<Record<string, string>>
  /** Unique indexes. They back up claims and never replace them. */
  readonly unique?: Readonly<Record<string, readonly Name<C>[]>>
  /** See `DeclaredTable`. */
  readonly texts?: readonly Name<C>[]
}

/**
 * Every row belongs to the instance of the event or call. Conditions are columns with the value
 * that they must equal; an empty condition is true for all rows of the instance.
 */
export type Table<C extends Columns> = {
  readonly name: string
  readonly columns: C
  readonly layout: TableLayout
  readonly texts: readonly string[]
  readonly insert: (db: ViewWriter, row: Row<C>) => void
  /** Keeps the row that is there with the same key. */
  readonly insertIfAbsent: (db: ViewWriter, row: Row<C>) => void
  /** Where there is a row with the same key, only the given columns of it change. */
  readonly upsert: (db: ViewWriter, row: Row<C>, update: readonly Name<C>[]) => void
  readonly update: (db: ViewWriter, where: Condition<C>, changes: Changes<C>) => void
  readonly remove: (db: ViewWriter, where: Condition<C>) => void
  /** Reads columns; `rest` continues after `WHERE instance = $instance`. */
  readonly select: <Key extends Name<C>>(
    columns: readonly Key[] | "*",
    rest?: string,
  ) => Statement<Pick<Row<C>, Key>>
  /** Turns stored values of a row into those of its type; columns of other tables stay. */
  readonly decode: <Read>(row: Read) => Read
  readonly searchable: (spec: SearchableSpec<C>) => Searchable
}

/** `Searchable` with names of columns that the table has. */
type SearchableSpec<C> = Omit<Searchable, "table" | "columns" | "owner" | "key" | "sort"> & {
  readonly columns: readonly Name<C>[]
  readonly owner: { readonly [Key in keyof Searchable["owner"]]: Name<C> }
  readonly key: Name<C>
  readonly sort: Name<C>
}

/** Declares a table of a view. Everything else about its columns is derived from this. */
export function table<C extends Columns>(
  name: string,
  columns: C,
  { texts = [], ...options }: TableOptions<C>,
): Table<C> {
  const all = Object.keys(columns)
  const statements = statementsOf(name, all)
  const stored = encoderOf(name, columns)
  const rowOf = (row: object) => {
    const names = Object.keys(row)
    // Where there are more than the table has, one of them is unknown and refused.
    return stored(row, names.length > all.length ? names : all)
  }
  const decode = decoderOf(columns)
  const decoding = decode && { decode }
  return {
    name,
    columns,
    texts,
    layout: layoutOf(columns, options),
    decode: decode ?? ((row) => row),
    insert: (db, row) => db.write(statements.insert(), [], rowOf(row)),
    insertIfAbsent: (db, row) => db.write(statements.insertIfAbsent(), [], rowOf(row)),
    upsert: (db, row, update) => db.write(statements.upsert(update), [], rowOf(row)),
    update: (db, where, changes) => {
      const changed = Object.keys(changes).filter((column) => isChanged(changes, column))
      if (changed.length === 0) return
      const by = Object.keys(where)
      db.write(statements.update(changed, by), stored(changes, changed), stored(where, by))
    },
    remove: (db, where) => {
      const by = Object.keys(where)
      db.write(statements.remove(by), [], stored(where, by))
    },
    select: <Key extends Name<C>>(read: readonly Key[] | "*", rest = "") =>
      Object.assign(statement<Pick<Row<C>, Key>>(statements.select(read, rest)), decoding),
    searchable: (spec) => ({ ...spec, ...decoding, table: name }),
  }
}

function layoutOf<C extends Columns>(
  columns: C,
  { key, indexes, dominant, unique }: Omit<TableOptions<C>, "texts">,
): TableLayout {
  const lists = (named: Readonly<Record<string, readonly string[]>>) =>
    Object.fromEntries(Object.entries(named).map(([index, names]) => [index, names.join(", ")]))
  return {
    columns: Object.entries(columns)
      .map(([column, { sql }]) => `${column} ${sql}`)
      .join(", "),
    key: key.join(", "),
    ...(indexes && { indexes: lists(indexes) }),
    ...(dominant && { dominant }),
    ...(unique && { unique: lists(unique) }),
  }
}

/** The statements of a table, each declared at its first use: a start uses few of them. */
function statementsOf(name: string, columns: readonly string[]) {
  const insertOr = (conflict: string) => {
    const values = columns.map((column) => `, $${column}`).join("")
    const into = `INSERT INTO ${name} (${["instance", ...columns].join(", ")})`
    return `${into} VALUES ($instance${values})${conflict}`
  }
  const condition = (by: readonly string[]) =>
    ["instance = $instance", ...by.map((column) => `${column} = $by_${column}`)].join(" AND ")
  return {
    insert: declaredOnce(() => insertOr("")),
    insertIfAbsent: declaredOnce(() => insertOr(" ON CONFLICT DO NOTHING")),
    upsert: declaredOnce((update) => {
      const changes = update.map((column) => `${column} = excluded.${column}`).join(", ")
      return insertOr(` ON CONFLICT DO UPDATE SET ${changes}`)
    }),
    update: declaredOnce((changed, by) => {
      const changes = changed.map((column) => `${column} = $${column}`).join(", ")
      return `UPDATE ${name} SET ${changes} WHERE ${condition(by)}`
    }),
    remove: declaredOnce((by) => `DELETE FROM ${name} WHERE ${condition(by)}`),
    select: (read: readonly string[] | "*", rest: string) => {
      const list = (read === "*" ? columns : read).join(", ")
      return `SELECT ${list} FROM ${name} WHERE instance = $instance ${rest}`
    },
  }
}

/** One statement for each combination of columns; the reducers of a view use few. */
function declaredOnce(sql: (first: Names, second: Names) => string) {
  const declared = new Map<string, Statement>()
  return (first: Names = [], second: Names = []): Statement => {
    let combination = ""
    for (const column of first) combination += `${column},`
    combination += ";"
    for (const column of second) combination += `${column},`
    const found = declared.get(combination) ?? statement(sql(first, second))
    declared.set(combination, found)
    return found
  }
}

type Names = readonly string[]

/** Values of columns as they are stored. */
function encoderOf(name: string, columns: Columns) {
  const declared = new Map(Object.entries(columns))
  return (values: object, of: Names): readonly Value[] =>
    of.map((each) => {
      const column = declared.get(each)
      if (!column) throw new Error(`the table ${name} has no column ${each}`)
      const value = valueIn(values, each)
      if (value === undefined) throw new Error(`no value for ${each} of the table ${name}`)
      return column.encode ? column.encode(value) : value
    })
}

const isChanged = (changes: object, column: string): boolean =>
  valueIn(changes, column) !== undefined

/** Reason for the cast: columns without a codec have values that SQLite takes. */
const valueIn = (values: object, column: string): Value | undefined => (values as Values)[column]

/** Decodes the columns that have a codec; undefined where none has. */
function decoderOf(columns: Columns): (<Read>(row: Read) => Read) | undefined {
  const coded = Object.entries(columns).filter(([, { decode }]) => decode)
  if (coded.length === 0) return undefined
  return <Read>(row: Read): Read => {
    // Reason for the casts: a row is an object of SQLite's, whose type is that of the decoded one.
    const decoded = { ...row } as Record<string, Value>
    for (const [name, column] of coded) {
      const stored = decoded[name]
      // A statement may read some of the columns.
      if (stored !== undefined) decoded[name] = column.decode?.(stored) as Value
    }
    return decoded as Read
  }
}
