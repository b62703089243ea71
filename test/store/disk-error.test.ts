import { Database, SQLiteError } from "bun:sqlite"
import {
  copyFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { dirname } from "node:path"
import { expect, test } from "vitest"
import { classifyDiskFailure, readProbe, toDiskFault } from "../../src/store/disk-error.ts"
import { createReader } from "../../src/store/search/reader.ts"
import { readerThread } from "../../src/store/search/thread.ts"
import { temporaryFile } from "./account.ts"

function errorOf(act: () => unknown): unknown {
  try {
    act()
  } catch (cause) {
    return cause
  }
  throw new Error("nothing was rejected")
}

/** Statements that fail on a database with a table of several pages. */
const failures: Readonly<Record<string, (database: Database, file: string) => unknown>> = {
  full: (database) => {
    database.run("PRAGMA max_page_count = 5")
    return errorOf(() => database.run("INSERT INTO thing VALUES (zeroblob(1000000))"))
  },
  busy: (database, file) => {
    using other = new Database(file)
    other.run("BEGIN EXCLUSIVE")
    return errorOf(() => database.run("INSERT INTO thing VALUES (1)"))
  },
  readonly: (_, file) => {
    using other = new Database(file, { readonly: true })
    return errorOf(() => other.run("INSERT INTO thing VALUES (1)"))
  },
  damaged: (_, file) => {
    copyFileSync(file, `${file}-cut`)
    truncateSync(`${file}-cut`, 6000)
    using other = new Database(`${file}-cut`)
    return errorOf(() => other.query("SELECT * FROM thing").all())
  },
}

test.each(Object.keys(failures))("SQLite errors are classified by name: %s", (kind) => {
  const { file, remove } = temporaryFile()
  using database = new Database(file)
  database.run("CREATE TABLE thing (value)")
  database.run("INSERT INTO thing VALUES (zeroblob(20000))")
  const cause = failures[kind]?.(database, file)
  expect(cause).toBeInstanceOf(SQLiteError)
  expect(classifyDiskFailure(cause, file)?.kind).toBe(kind)
  const code = kind === "damaged" ? "data_loss" : "unavailable"
  expect(toDiskFault(cause, file)).toMatchObject({ code, id: `store.disk_${kind}`, cause })
  expect(readdirSync(dirname(file)).filter((name) => name.includes("probe"))).toEqual([])
  remove()
})

/** SQLite's code, the error of a small test write, and the combined diagnosis. */
test.each([
  ["SQLITE_IOERR_WRITE", "EDQUOT", "quota"],
  ["SQLITE_IOERR_WRITE", "EFBIG", "limit"],
  ["SQLITE_IOERR_WRITE", "EROFS", "readonly"],
  ["SQLITE_IOERR_SHMSIZE", "ENOSPC", "full"],
  ["SQLITE_IOERR_WRITE", "EIO", "broken"],
  ["SQLITE_IOERR_READ", "", "broken"],
  ["SQLITE_FULL", "EDQUOT", "quota"],
  ["SQLITE_FULL", "", "full"],
  ["SQLITE_BUSY_RECOVERY", "", "busy"],
  ["SQLITE_CONSTRAINT_UNIQUE", "ENOSPC", undefined],
])("%s and %j at a test write is %s", (code, probed, kind) => {
  const cause = Object.assign(new Error(), { name: "SQLiteError", code })
  expect(classifyDiskFailure(cause, "/nowhere", () => probed)?.kind).toBe(kind)
})

test("file system errors are classified by code, and no others are disk errors", () => {
  const { file, remove } = temporaryFile()
  expect(readProbe(file)).toBe("ENOENT")
  writeFileSync(file, "whole")
  expect([readProbe(file), readProbe(dirname(file))]).toEqual(["", "EISDIR"])
  const full = errorOf(() => writeFileSync("/dev/full", "more"))
  expect(classifyDiskFailure(full, file)?.kind).toBe("full")
  expect(
    classifyDiskFailure(
      errorOf(() => readFileSync(`${file}/x`)),
      file,
    ),
  ).toBeUndefined()
  expect(toDiskFault(new Error("a bug"), file)).toBeUndefined()
  remove()
})

/** A search of a table of several pages in the reader thread. */
const searchThings = (reader: ReturnType<typeof createReader>, isLate = () => false) => {
  const sql = "SELECT value AS key FROM thing WHERE instance = $instance"
  const none = { back: undefined, seen: undefined, taken: undefined }
  const plan = { keys: sql, total: sql, few: sql, many: sql, ...none }
  const asked = { values: { instance: "i" }, limit: 1, offset: 0, most: 10 }
  return reader.read(
    { plan, ...asked, total: undefined, seen: undefined, texts: undefined },
    { physical: (query) => query.sql, tables: () => ({}), isLate },
  )
}

/** Disk failures of a database that a thread has read before or reads for the first time. */
const diskFailures: Readonly<Record<string, (file: string) => () => void>> = {
  busy: (file) => {
    const other = new Database(file)
    other.run("PRAGMA locking_mode = EXCLUSIVE")
    other.run("BEGIN EXCLUSIVE")
    return () => other.close()
  },
  readonly: (file) => {
    renameSync(file, `${file}-away`)
    return () => renameSync(`${file}-away`, file)
  },
  damaged: (file) => {
    copyFileSync(file, `${file}-whole`)
    truncateSync(file, 6000)
    return () => renameSync(`${file}-whole`, file)
  },
}

test.each(Object.keys(diskFailures))(
  "errors in a reader thread are classified as well: %s",
  async (kind) => {
    const { file, remove } = temporaryFile()
    using database = new Database(file)
    database.run("CREATE TABLE thing (instance, value)")
    database.run("INSERT INTO thing VALUES ('i', zeroblob(20000)), ('i', 1)")
    database.close()
    const reader = createReader({ file })
    const mend = diskFailures[kind]?.(file)
    const cause = await searchThings(reader).catch((error: unknown) => error)
    expect(classifyDiskFailure(cause, file)?.kind).toBe(kind)
    mend?.()
    expect((await searchThings(reader)).total).toBe(2)
    await reader.close()
    remove()
  },
)

test("a thread that ends is replaced, and its search is repeated once", async () => {
  const { file, remove } = temporaryFile()
  using database = new Database(file)
  database.run("CREATE TABLE thing (instance, value)")
  let dying = 1
  const thread = () => {
    const started = readerThread()
    if (dying-- > 0) started.terminate()
    return started
  }
  const reader = createReader({ file, thread })
  expect(await searchThings(reader)).toEqual({ total: 0, rows: [] })
  await reader.close()
  dying = 2
  const both = [searchThings(reader), searchThings(reader)]
  await expect(both[0]).rejects.toMatchObject({ code: "unavailable", id: "search.ended" })
  expect(await both[1]).toEqual({ total: 0, rows: [] })
  await reader.close()
  remove()
})

test("a canceled search is not run", async () => {
  const { file, remove } = temporaryFile()
  const thread = () => {
    throw new Error("nothing is to be read")
  }
  const reader = createReader({ file, thread })
  const late = searchThings(reader, () => true)
  await expect(late).rejects.toMatchObject({ code: "deadline_exceeded" })
  await reader.close()
  remove()
})
