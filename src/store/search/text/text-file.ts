import { Database } from "bun:sqlite"
import { rmSync } from "node:fs"

/** A range of the keys of a table within an instance, by where it begins. */
export type Range = { readonly table: string; readonly instance: string; readonly first: string }

/** A range that has blocks, one for each column. */
export type Blocks = { readonly id: number; readonly first: string; readonly rows: number }

/** The file of an index of texts. */
export type BlockFile = ReturnType<typeof openBlockFile>

/** Makes a file that goes with this process: it loses its name as soon as it is there. */
export function openBlockFile(file: string) {
  rmSync(file, { force: true })
  const database = new Database(file, { create: true, strict: true })
  for (const pragma of [
    // What goes with the process needs no journal on disk, and no sync.
    ...["locking_mode = EXCLUSIVE", "journal_mode = MEMORY", "synchronous = OFF"],
    // What is erased is overwritten.
    ...["page_size = 16384", "cache_size = -1024", "secure_delete = ON"],
  ]) {
    database.run(`PRAGMA ${pragma}`)
  }
  database.run(
    `CREATE TABLE range (id INTEGER PRIMARY KEY, source TEXT, instance TEXT, first TEXT,
       rows INTEGER, UNIQUE (source, instance, first))`,
  )
  database.run("CREATE TABLE block (id INTEGER PRIMARY KEY, texts BLOB)")
  const close = () => {
    database.close()
    rmSync(file, { force: true })
  }
  // An open file keeps its name there, until it is closed.
  if (process.platform !== "win32") rmSync(file)
  return { ...statementsOf(database), close }
}

/** A table has fewer columns. */
const columnsMax = 1000

function statementsOf(database: Database) {
  // Not `prepare`: what is open of that keeps the file, and the room it takes, after `close`.
  const query = <Row>(sql: string) => database.query<Row, (string | number | Uint8Array)[]>(sql)
  const within = "source = ? AND instance = ?"
  const sql = {
    all: query<Blocks>(`SELECT id, first, rows FROM range WHERE ${within} ORDER BY first`),
    at: query<Blocks>(
      `SELECT id, first, rows FROM range WHERE ${within} AND first <= ?
       ORDER BY first DESC LIMIT 1`,
    ),
    next: query<Pick<Range, "first">>(
      `SELECT first FROM range WHERE ${within} AND first > ? ORDER BY first LIMIT 1`,
    ),
    instances: query<Pick<Range, "instance">>(
      "SELECT DISTINCT instance FROM range WHERE source = ?",
    ),
    texts: query<{ texts: Uint8Array }>("SELECT texts FROM block WHERE id = ?"),
    add: query<{ id: number }>(
      "INSERT INTO range (source, instance, first, rows) VALUES (?, ?, ?, ?) RETURNING id",
    ),
    write: query("INSERT INTO block VALUES (?, ?)"),
    remove: query("DELETE FROM range WHERE id = ?"),
    removeBlocks: query("DELETE FROM block WHERE id BETWEEN ? AND ?"),
  }
  return {
    all: ({ table, instance }: Omit<Range, "first">) => sql.all.all(table, instance),
    /** What has a key in its range. */
    at: ({ table, instance, first }: Range) => sql.at.get(table, instance, first) ?? undefined,
    /** Where the next range begins. */
    next: ({ table, instance, first }: Range) =>
      sql.next.get(table, instance, first)?.first ?? null,
    instances: (table: string) => sql.instances.all(table).map(({ instance }) => instance),
    /** What the rows have in a column, by its number. */
    texts: ({ id }: Blocks, column: number) =>
      sql.texts.get(id * columnsMax + column)?.texts ?? new Uint8Array(),
    write: (
      { table, instance, first }: Range,
      { rows, columns }: { readonly rows: number; readonly columns: readonly Uint8Array[] },
    ) => {
      const id = sql.add.get(table, instance, first, rows)?.id ?? 0
      for (const [at, texts] of columns.entries()) sql.write.run(id * columnsMax + at, texts)
    },
    remove: ({ id }: Blocks) => {
      sql.remove.run(id)
      sql.removeBlocks.run(id * columnsMax, id * columnsMax + columnsMax - 1)
    },
    within: (work: () => void) => database.transaction(work)(),
  }
}
