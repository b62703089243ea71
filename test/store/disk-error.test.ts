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
import { diskFaultOf, diskTroubleOf, readProbe } from "../../src/store/disk-error.ts"
import { readerOf } from "../../src/store/search/reader.ts"
import { readerThread } from "../../src/store/search/thread.ts"
import { temporaryFile } from "./account.ts"

function causeOf(act: () => unknown): unknown {
  try {
    act()
  } catch (cause) {
    return cause
  }
  throw new Error("nothing was refused")
}

/** A database with a table of some pages, and what a statement on it meets. */
const met: Readonly<Record<string, (database: Database, file: string) => unknown>> = {
  full: (database) => {
    database.run("PRAGMA max_page_count = 5")
    return causeOf(() => database.run("INSERT INTO thing VALUES (zeroblob(1000000))"))
  },
  busy: (database, file) => {
    using other = new Database(file)
    other.run("BEGIN EXCLUSIVE")
    return causeOf(() => database.run("INSERT INTO thing VALUES (1)"))
  },
  readonly: (_, file) => {
    using other = new Database(file, { readonly: true })
    return causeOf(() => other.run("INSERT INTO thing VALUES (1)"))
  },
  damaged: (_, file) => {
    copyFileSync(file, `${file}-cut`)
    truncateSync(`${file}-cut`, 6000)
    using other = new Database(`${file}-cut`)
    return causeOf(() => other.query("SELECT * FROM thing").all())
  },
}

test.each(Object.keys(met))("what SQLite meets is told by its name: %s", (kind) => {
  const { file, remove } = temporaryFile()
  using database = new Database(file)
  database.run("CREATE TABLE thing (value)")
  database.run("INSERT INTO thing VALUES (zeroblob(20000))")
  const cause = met[kind]?.(database, file)
  expect(cause).toBeInstanceOf(SQLiteError)
  expect(diskTroubleOf(cause, file)?.kind).toBe(kind)
  const code = kind === "damaged" ? "data_loss" : "unavailable"
  expect(diskFaultOf(cause, file)).toMatchObject({ code, id: `store.disk_${kind}`, cause })
  expect(readdirSync(dirname(file)).filter((name) => name.includes("probe"))).toEqual([])
  remove()
})

/** SQLite's code, what a small write of ours meets, and what that is together. */
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
])("%s where a write says %j is %s", (code, probed, kind) => {
  const cause = Object.assign(new Error(), { name: "SQLiteError", code })
  expect(diskTroubleOf(cause, "/nowhere", () => probed)?.kind).toBe(kind)
})

test("files of the system say it themselves, and nothing else is trouble of the disk", () => {
  const { file, remove } = temporaryFile()
  expect(readProbe(file)).toBe("ENOENT")
  writeFileSync(file, "whole")
  expect([readProbe(file), readProbe(dirname(file))]).toEqual(["", "EISDIR"])
  const full = causeOf(() => writeFileSync("/dev/full", "more"))
  expect(diskTroubleOf(full, file)?.kind).toBe("full")
  expect(
    diskTroubleOf(
      causeOf(() => readFileSync(`${file}/x`)),
      file,
    ),
  ).toBeUndefined()
  expect(diskFaultOf(new Error("a bug"), file)).toBeUndefined()
  remove()
})

/** A search of a table of some pages, as the thread is asked for it. */
const things = (reader: ReturnType<typeof readerOf>, isLate = () => false) => {
  const sql = "SELECT value AS key FROM thing WHERE instance = $instance"
  const none = { back: undefined, seen: undefined, taken: undefined }
  const plan = { keys: sql, total: sql, few: sql, many: sql, ...none }
  const asked = { values: { instance: "i" }, limit: 1, offset: 0, most: 10 }
  return reader.read(
    { plan, ...asked, total: undefined, seen: undefined, texts: undefined },
    { physical: (query) => query.sql, tables: () => ({}), isLate },
  )
}

/** What the disk does to a database that a thread has read before, or reads for the first time. */
const spoiled: Readonly<Record<string, (file: string) => () => void>> = {
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

test.each(Object.keys(spoiled))("so is what a thread that reads meets: %s", async (kind) => {
  const { file, remove } = temporaryFile()
  using database = new Database(file)
  database.run("CREATE TABLE thing (instance, value)")
  database.run("INSERT INTO thing VALUES ('i', zeroblob(20000)), ('i', 1)")
  database.close()
  const reader = readerOf({ file })
  const mend = spoiled[kind]?.(file)
  const cause = await things(reader).catch((error: unknown) => error)
  expect(diskTroubleOf(cause, file)?.kind).toBe(kind)
  mend?.()
  expect((await things(reader)).total).toBe(2)
  await reader.close()
  remove()
})

test("a thread that ends is replaced, and what it was asked is asked once more", async () => {
  const { file, remove } = temporaryFile()
  using database = new Database(file)
  database.run("CREATE TABLE thing (instance, value)")
  let dying = 1
  const thread = () => {
    const started = readerThread()
    if (dying-- > 0) started.terminate()
    return started
  }
  const reader = readerOf({ file, thread })
  expect(await things(reader)).toEqual({ total: 0, rows: [] })
  await reader.close()
  dying = 2
  const both = [things(reader), things(reader)]
  await expect(both[0]).rejects.toMatchObject({ code: "unavailable", id: "search.ended" })
  expect(await both[1]).toEqual({ total: 0, rows: [] })
  await reader.close()
  remove()
})

test("a search that nobody waits for any more is not made", async () => {
  const { file, remove } = temporaryFile()
  const thread = () => {
    throw new Error("nothing is to be read")
  }
  const reader = readerOf({ file, thread })
  const late = things(reader, () => true)
  await expect(late).rejects.toMatchObject({ code: "deadline_exceeded" })
  await reader.close()
  remove()
})
