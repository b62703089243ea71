import type { Searchable } from "./search/condition.ts"
import { type Statement, statement, type Value, type Values } from "./view/statement.ts"
import type { TableLayout, ViewWriter } from "./view/view.ts"

/**
 * A column of a view table; `T` is the type of its values. The codec functions are absent if SQLite
 * stores these values unchanged.
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

/** A boolean, stored as 1 or 0. */
export const bool = (): Column<boolean> => ({
  sql: "INTEGER NOT NULL",
  decode: (stored) => stored === 1,
})

/** A value stored as text. */
export const codec = <T>(encode: (value: T) => string, decode: (text: string) => T): Column<T> => ({
  sql: "TEXT NOT NULL",
  encode,
  decode: (stored) => decode(`${stored}`),
})

export const json = <T>(): Column<T> => codec<T>(JSON.stringify, JSON.parse)

/** Words without spaces, stored as a space-separated text. */
export const wordList = (): Column<readonly string[]> =>
  codec(
    (list) => list.join(" "),
    (stored) => stored.split(" ").filter(Boolean),
  )

/** The same column, but nullable. */
export const nullable = <T>({ sql, encode, decode }: Column<T>): Column<T | null> => ({
  sql: sql.replace(" NOT NULL", ""),
  ...(encode && { encode: (value) => (value === null ? null : encode(value)) }),
  ...(decode && { decode: (stored) => (stored === null ? null : decode(stored)) }),
})

type Columns = Readonly<Record<string, Column<unknown>>>
type ColumnName<C> = keyof C & string
type Row<C> = {
  readonly [Key in keyof C]: C[Key] extends Column<infer T> ? T : never
}

/** The row of a table, without its instance. */
export type RowOf<T extends { readonly columns: Columns }> = Row<T["columns"]>

/** NULL is excluded, because nothing equals NULL in SQL. */
type Condition<C> = { readonly [Key in keyof C]?: NonNullable<Row<C>[Key]> }

type Changes<C> = { readonly [Key in keyof C]?: Row<C>[Key] | undefined }

/** New values of some columns; undefined leaves a column unchanged. */
export type ChangesOf<T extends { readonly columns: Columns }> = Changes<T["columns"]>

type TableOptions<C> = {
  /** The columns of the primary key, after `instance`. */
  readonly key: readonly ColumnName<C>[]
  /** Columns by index name; each index starts with `instance`. */
  readonly indexes?: Readonly<Record<string, readonly ColumnName<C>[]>>
  /** See `TableLayout`. */
  readonly dominant?: Readonly<Record<string, string>>
  /** Unique indexes. They are a safeguard and never replace claims. */
  readonly unique?: Readonly<Record<string, readonly ColumnName<C>[]>>
  /** See `DeclaredTable`. */
  readonly texts?: readonly ColumnName<C>[]
}

/**
 * A view table; every row belongs to the instance of the event or call. Conditions are columns with
 * required values; an empty condition matches all rows of the instance.
 */
export type Table<C extends Columns> = {
  readonly name: string
  readonly columns: C
  readonly layout: TableLayout
  readonly texts: readonly string[]
  readonly insert: (db: ViewWriter, row: Row<C>) => void
  /** Keeps an existing row with the same key. */
  readonly insertIfAbsent: (db: ViewWriter, row: Row<C>) => void
  /** If a row with the same key exists, only the given columns change. */
  readonly upsert: (db: ViewWriter, row: Row<C>, update: readonly ColumnName<C>[]) => void
  readonly update: (db: ViewWriter, where: Condition<C>, changes: Changes<C>) => void
  readonly remove: (db: ViewWriter, where: Condition<C>) => void
  /** Selects columns; `rest` continues after `WHERE instance = $instance`. */
  readonly select: <Key extends ColumnName<C>>(
    columns: readonly Key[] | "*",
    rest?: string,
  ) => Statement<Pick<Row<C>, Key>>
  /** Decodes stored values into those of the row's type; columns of other tables are unchanged. */
  readonly decode: <Read>(row: Read) => Read
  readonly searchable: (spec: SearchableSpec<C>) => Searchable
}

/** `Searchable` with column names checked against the table. */
type SearchableSpec<C> = Omit<Searchable, "table" | "columns" | "owner" | "key" | "sort"> & {
  readonly columns: readonly ColumnName<C>[]
  readonly owner: { readonly [Key in keyof Searchable["owner"]]: ColumnName<C> }
  readonly key: ColumnName<C>
  readonly sort: ColumnName<C>
}

/** Declares a table of a view. Everything else about its columns is derived from this. */
export function table<C extends Columns>(
  name: string,
  columns: C,
  { texts = [], ...options }: TableOptions<C>,
): Table<C> {
  const all = Object.keys(columns)
  const statements = createStatements(name, all)
  const stored = createEncoder(name, columns)
  const rowOf = (row: object) => {
    const names = Object.keys(row)
    // With more names than columns, one of them is unknown and rejected.
    return stored(row, names.length > all.length ? names : all)
  }
  const decode = createDecoder(columns)
  const decoding = decode && { decode }
  return {
    name,
    columns,
    texts,
    layout: createLayout(columns, options),
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
    select: <Key extends ColumnName<C>>(read: readonly Key[] | "*", rest = "") =>
      Object.assign(statement<Pick<Row<C>, Key>>(statements.select(read, rest)), decoding),
    searchable: (spec) => ({ ...spec, ...decoding, table: name }),
  }
}

function createLayout<C extends Columns>(
  columns: C,
  { key, indexes, dominant, unique }: Omit<TableOptions<C>, "texts">,
): TableLayout {
  const lists = (columnsByIndex: Readonly<Record<string, readonly string[]>>) =>
    Object.fromEntries(
      Object.entries(columnsByIndex).map(([index, names]) => [index, names.join(", ")]),
    )
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

/** The statements of a table, each created on first use: a start needs few of them. */
function createStatements(name: string, columns: readonly string[]) {
  const insertOr = (conflict: string) => {
    const values = columns.map((column) => `, $${column}`).join("")
    const into = `INSERT INTO ${name} (${["instance", ...columns].join(", ")})`
    return `${into} VALUES ($instance${values})${conflict}`
  }
  const condition = (by: readonly string[]) =>
    ["instance = $instance", ...by.map((column) => `${column} = $by_${column}`)].join(" AND ")
  return {
    insert: cacheStatements(() => insertOr("")),
    insertIfAbsent: cacheStatements(() => insertOr(" ON CONFLICT DO NOTHING")),
    upsert: cacheStatements((update) => {
      const changes = update.map((column) => `${column} = excluded.${column}`).join(", ")
      return insertOr(` ON CONFLICT DO UPDATE SET ${changes}`)
    }),
    update: cacheStatements((changed, by) => {
      const changes = changed.map((column) => `${column} = $${column}`).join(", ")
      return `UPDATE ${name} SET ${changes} WHERE ${condition(by)}`
    }),
    remove: cacheStatements((by) => `DELETE FROM ${name} WHERE ${condition(by)}`),
    select: (read: readonly string[] | "*", rest: string) => {
      const list = (read === "*" ? columns : read).join(", ")
      return `SELECT ${list} FROM ${name} WHERE instance = $instance ${rest}`
    },
  }
}

/** One statement for each combination of columns; reducers use few. */
function cacheStatements(sql: (first: Names, second: Names) => string) {
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

/** Encodes values of columns for storage. */
function createEncoder(name: string, columns: Columns) {
  const declared = new Map(Object.entries(columns))
  return (values: object, combinationCache: Names): readonly Value[] =>
    combinationCache.map((each) => {
      const column = declared.get(each)
      if (!column) throw new Error(`unknown column ${each} of table ${name}`)
      const value = valueIn(values, each)
      if (value === undefined) throw new Error(`missing value for ${each} of table ${name}`)
      return column.encode ? column.encode(value) : value
    })
}

const isChanged = (changes: object, column: string): boolean =>
  valueIn(changes, column) !== undefined

/** Reason for the cast: columns without a codec have values that SQLite accepts. */
const valueIn = (values: object, column: string): Value | undefined => (values as Values)[column]

/** Decodes the columns that have a codec; undefined if there are none. */
function createDecoder(columns: Columns): (<Read>(row: Read) => Read) | undefined {
  const coded = Object.entries(columns).filter(([, { decode }]) => decode)
  if (coded.length === 0) return undefined
  return <Read>(row: Read): Read => {
    // Reason for the casts: rows are untyped objects, whose type is that of the decoded row.
    const decoded = { ...row } as Record<string, Value>
    for (const [name, column] of coded) {
      const stored = decoded[name]
      // A statement may select only some columns.
      if (stored !== undefined) decoded[name] = column.decode?.(stored) as Value
    }
    return decoded as Read
  }
}
