import { Database } from "bun:sqlite"
import { rmSync } from "node:fs"
import { normalize, trigramQuery } from "./trigram.ts"

/** The rows of a table in one instance. */
export type TablePart = { readonly table: string; readonly instance: string }

/** The file of a text index. */
export type TextFile = ReturnType<typeof openTextFile>

/** Each part has its own range of this many IDs, so that a query only reads its own entries. */
const idsPerPart = 2 ** 32

/**
 * Creates the file of a text index and unlinks it immediately, so that it disappears with the
 * process and is never damaged, outdated or part of a backup.
 */
export function openTextFile(file: string) {
  rmSync(file, { force: true })
  const database = new Database(file, { create: true, strict: true })
  for (const pragma of [
    // A temporary file needs no journal on disk, and no sync.
    "locking_mode = EXCLUSIVE",
    "journal_mode = MEMORY",
    "synchronous = OFF",
    // Deleted content is overwritten.
    "cache_size = -4096",
    "secure_delete = ON",
  ]) {
    database.run(`PRAGMA ${pragma}`)
  }
  database.run(`
    CREATE TABLE part (number INTEGER PRIMARY KEY, source TEXT, instance TEXT, rows INTEGER,
      UNIQUE (source, instance));
    CREATE TABLE document (id INTEGER PRIMARY KEY, part INTEGER, key TEXT, texts TEXT,
      UNIQUE (part, key));
    CREATE VIRTUAL TABLE trigram USING fts5(texts, content = '', columnsize = 0, detail = none,
      tokenize = 'trigram case_sensitive 1');
    INSERT INTO trigram (trigram, rank) VALUES ('secure-delete', 1);
  `)
  const close = () => {
    database.close()
    rmSync(file, { force: true })
  }
  // Windows keeps the name of an open file.
  if (process.platform !== "win32") rmSync(file)
  return { ...createEntries(database), close }
}

type Document = { readonly id: number; readonly texts: string }

function prepareStatements(database: Database) {
  // Not `prepare`: its open statements keep the file, and its disk space, after `close`.
  const query = <Row>(sql: string) => database.query<Row, (string | number)[]>(sql)
  return {
    part: query<{ number: number; rows: number }>(
      "SELECT number, rows FROM part WHERE source = ? AND instance = ?",
    ),
    addPart: query<{ number: number }>(
      "INSERT INTO part (source, instance, rows) VALUES (?, ?, 0) RETURNING number",
    ),
    count: query("UPDATE part SET rows = rows + ? WHERE number = ?"),
    parts: query<TablePart>(
      "SELECT source AS 'table', instance FROM part WHERE source = ? AND rows > 0",
    ),
    some: query<{ key: string }>("SELECT key FROM document WHERE id BETWEEN ? AND ? LIMIT ?"),
    document: query<Document>("SELECT id, texts FROM document WHERE part = ? AND key = ?"),
    last: query<{ id: number | null }>(
      "SELECT max(id) AS id FROM document WHERE id BETWEEN ? AND ?",
    ),
    add: query("INSERT INTO document (id, part, key, texts) VALUES (?, ?, ?, ?)"),
    replace: query("UPDATE document SET texts = ? WHERE id = ?"),
    remove: query("DELETE FROM document WHERE id = ?"),
    addTrigrams: query("INSERT INTO trigram (rowid, texts) VALUES (?, ?)"),
    removeTrigrams: query("INSERT INTO trigram (trigram, rowid, texts) VALUES ('delete', ?, ?)"),
    matching: query<{ id: number }>(
      `SELECT rowid AS id FROM trigram WHERE trigram MATCH ? AND rowid BETWEEN ? AND ? LIMIT ?`,
    ),
    containing: query<{ id: number }>(
      `SELECT id FROM document WHERE id BETWEEN ? AND ? AND instr(texts, ?) > 0 LIMIT ?`,
    ),
    keys: query<{ key: string }>(
      "SELECT key FROM document WHERE id IN (SELECT value FROM json_each(?))",
    ),
  }
}

function createEntries(database: Database) {
  const sql = prepareStatements(database)
  const partOf = ({ table, instance }: TablePart) => sql.part.get(table, instance) ?? undefined
  const idsIn = (part: number) => [part * idsPerPart, (part + 1) * idsPerPart - 1] as const
  const add = (part: number, key: string, texts: string) => {
    const last = sql.last.get(...idsIn(part))?.id ?? part * idsPerPart
    sql.add.run(last + 1, part, key, texts)
    sql.addTrigrams.run(last + 1, texts)
  }
  const replace = ({ id, texts }: Document, bounds: string) => {
    sql.removeTrigrams.run(id, texts)
    sql.replace.run(bounds, id)
    sql.addTrigrams.run(id, bounds)
  }
  const idsOf = (value: string, [first, last]: readonly [number, number], maxRows: number) => {
    const query = trigramQuery(value)
    return query === undefined
      ? sql.containing.all(first, last, normalize(value), maxRows)
      : sql.matching.all(query, first, last, maxRows)
  }
  const remove = (at: TablePart, key: string) => {
    const number = partOf(at)?.number ?? 0
    const before = sql.document.get(number, key)
    if (!before) return
    sql.removeTrigrams.run(before.id, before.texts)
    sql.remove.run(before.id)
    sql.count.run(-1, number)
  }
  return {
    rows: (part: TablePart): number => partOf(part)?.rows ?? 0,
    /** The parts of a table that have rows. */
    parts: (table: string): readonly TablePart[] => sql.parts.all(table),
    /** Sets the indexed texts of a row. */
    set: (at: TablePart, key: string, texts: string) => {
      const { number } = partOf(at) ?? sql.addPart.get(at.table, at.instance) ?? { number: 0 }
      const before = sql.document.get(number, key)
      if (before?.texts === texts) return
      if (before) return replace(before, texts)
      add(number, key, texts)
      sql.count.run(1, number)
    },
    /** Removes every trace of a row. */
    remove,
    /** Removes up to `most` rows of a part. */
    purge: (at: TablePart, maxRows: number) => {
      const some = sql.some.all(...idsIn(partOf(at)?.number ?? 0), maxRows)
      database.transaction(() => {
        for (const { key } of some) remove(at, key)
      })()
    },
    /** The keys of all rows that may contain a text; undefined if there are more than `most`. */
    find: (at: TablePart, value: string, maxRows: number): readonly string[] | undefined => {
      const part = partOf(at)
      if (!part) return []
      const ids = idsOf(value, idsIn(part.number), maxRows + 1).map(({ id }) => id)
      return ids.length > maxRows
        ? undefined
        : sql.keys.all(JSON.stringify(ids)).map(({ key }) => key)
    },
    within: (work: () => void) => database.transaction(work)(),
  }
}
