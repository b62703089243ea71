import { Database, SQLiteError } from "bun:sqlite"
import { copyFileSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { expect, test } from "vitest"
import { diskFaultOf, diskTroubleOf, readProbe } from "../../src/store/disk-error.ts"
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
