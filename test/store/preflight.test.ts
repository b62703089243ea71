import { Database } from "bun:sqlite"
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { dirname } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { Fault } from "../../src/kernel/fault.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { openTestEnvironment } from "../support/test-environment.ts"
import { allAccounts, eraseAccount, modules, openAccount, openFile } from "./account.ts"

let file: string
let folder: ReturnType<typeof temporaryFolder>
let places: number
beforeEach(() => {
  folder = temporaryFolder()
  places = 0
  switchToNewPath()
})
afterEach(() => folder.remove())

/** An empty path: SQLite shares its knowledge of a file within a process. */
function switchToNewPath(): void {
  const place = `${folder.path}/${places++}`
  mkdirSync(place)
  file = `${place}/latchkey.db`
}

const fileSuffixes = ["", "-wal", "-mark"] as const
const accounts = 40
const frameLength = 24 + 4096

/** Saves the current files. */
function saveFiles(name: string): void {
  for (const end of fileSuffixes) copyFileSync(`${file}${end}`, `${folder.path}/${name}${end}`)
}

/** Restores saved files, or some of them, in an empty path, as after a kill. */
function restoreFiles(name: string): void {
  switchToNewPath()
  for (const end of fileSuffixes) putFile(name, end)
}

const putFile = (name: string, end: (typeof fileSuffixes)[number]) =>
  copyFileSync(`${folder.path}/${name}${end}`, `${file}${end}`)

const world = () => openTestEnvironment(modules, { path: dirname(file), remove: () => undefined })

/** A store whose process was killed; its state with half of the accounts is saved, too. */
async function createKilledStore(): Promise<void> {
  const { store, cx } = world()
  for (let n = 0; n < accounts; n++) {
    if (n === accounts / 2) saveFiles("half")
    await openAccount(cx(), `${n}`, { name: `name ${n}` })
  }
  saveFiles("whole")
  await store.close()
  restoreFiles("whole")
}

function flipBit(path: string, at: number): void {
  const bytes = readFileSync(path)
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  writeFileSync(path, bytes)
}

/** The start of a WAL frame; by default the last one that the marker confirms. */
const frameAt = (frame = Number(readFileSync(`${file}-mark`, "utf8").split(" ")[3])) =>
  32 + (frame - 1) * frameLength

function startError(): string {
  try {
    openFile(file)
    return "opened"
  } catch (cause) {
    if (cause instanceof Fault) return `${cause.id}: ${cause.message}`
    throw cause
  }
}

async function accountsAfterStart(): Promise<readonly string[]> {
  const { store, cx } = world()
  const rows = store.all(cx(), allAccounts).map(({ id }) => id)
  await store.close()
  return rows
}

const allNames = Array.from({ length: accounts }, (_, n) => `${n}`).sort()

/** Damage to the files of a killed process, and the message of the next start. */
const damages: Readonly<Record<string, readonly [lose: () => void, says: RegExp]>> = {
  "a byte in the middle of the WAL": [
    () => flipBit(`${file}-wal`, frameAt(31) + 2000),
    /^start\.wal_damaged: .*byte 123632 on: 30 of the \d+ synced .*to position 40 would be lost/,
  ],
  "a byte of the salts of a frame": [
    () => flipBit(`${file}-wal`, frameAt(31) + 9),
    /^start\.wal_damaged: .*: 30 of the/,
  ],
  "a byte of the last frame that was acknowledged": [
    () => flipBit(`${file}-wal`, frameAt() + 100),
    /^start\.wal_damaged: .*move .*latchkey\.db-mark away first/,
  ],
  "a byte of the WAL's header": [
    () => flipBit(`${file}-wal`, 17),
    /^start\.wal_damaged: .*from byte 0 on: 0 of/,
  ],
  "the end of the WAL": [
    () => truncateSync(`${file}-wal`, frameAt() + 4000),
    /^start\.wal_damaged: .*position 40/,
  ],
  "what the WAL holds": [
    () => truncateSync(`${file}-wal`, 0),
    /^start\.wal_missing: .*up to position 40; .*or restore/,
  ],
  "the WAL": [() => rmSync(`${file}-wal`), /^start\.wal_missing: /],
  "the database": [() => rmSync(file), /^start\.database_missing: .*-mark shows that it existed/],
  "what the database holds": [() => truncateSync(file, 0), /^start\.database_missing: /],
  "the database and the mark": [
    () => void [file, `${file}-mark`].map((path) => rmSync(path)),
    /^start\.database_missing: .*its WAL, .*-wal, has \d+ bytes of data/,
  ],
  "the database and the WAL": [
    () => void [file, `${file}-wal`].map((path) => rmSync(path)),
    /^start\.database_missing: .*to start over, choose an empty data directory/,
  ],
  "the database's bytes, for zeros": [
    () => writeFileSync(file, new Uint8Array(statSync(file).size)),
    /^start\.database_damaged: .*Restore/,
  ],
  "the newer half of it all, but for the mark": [
    () => putFile("half", "-wal"),
    /^start\.wal_damaged: /,
  ],
  "a byte of the mark": [
    () => flipBit(`${file}-mark`, 40),
    /^start\.mark_damaged: .*-mark, .*move that file away/,
  ],
}

test.each(Object.keys(damages))("rejects a start without %s, and changes nothing", async (of) => {
  await createKilledStore()
  const [lose, says] = damages[of] ?? [() => undefined, /never/]
  lose()
  // An empty WAL equals a missing one.
  const files = () =>
    readdirSync(dirname(file))
      .filter((name) => !name.endsWith("-shm"))
      .map((name) => [name, readFileSync(`${dirname(file)}/${name}`, "base64")])
      .filter(([name, bytes]) => bytes !== "" || name === "latchkey.db")
  const before = files()
  const said = startError()
  expect(said).toMatch(says)
  expect(said).toMatch(/^[^\n]*nothing was changed[^\n]*$/)
  expect(files()).toEqual(before)
})

describe("after a clean end, a start is rejected", () => {
  /** A store that was closed, with its database from before the second half. */
  beforeEach(async () => {
    const { store, cx } = world()
    await openAccount(cx(), "1", { name: "one" })
    await store.close()
    saveFiles("older")
    const later = world()
    await openAccount(later.cx(), "2", { name: "two" })
    await later.store.close()
    saveFiles("newer")
    restoreFiles("newer")
  })

  test("for an older database, unless the marker is moved away", async () => {
    putFile("older", "")
    expect(startError()).toMatch(
      /^start\.database_behind: .*ends at position 1, but .* position 2 had/,
    )
    rmSync(`${file}-mark`)
    expect(await accountsAfterStart()).toEqual(["1"])
  })

  test("for one without tables", () => {
    rmSync(file)
    const bare = new Database(file)
    bare.run("PRAGMA journal_mode = WAL")
    bare.close()
    expect(startError()).toMatch(/^start\.database_missing: /)
  })

  test("for a missing one", () => {
    rmSync(file)
    expect(startError()).toMatch(/^start\.database_missing: /)
  })
})

describe("a start succeeds", () => {
  test("after a kill, with all confirmed writes", async () => {
    await createKilledStore()
    expect(await accountsAfterStart()).toEqual(allNames)
  })

  test("with data after the last known sync: the tail of a power failure", async () => {
    await createKilledStore()
    // The marker is not synced, so that a power failure can leave an older one.
    putFile("half", "-mark")
    const half = frameAt()
    flipBit(`${file}-wal`, half + 3 * frameLength + 200)
    const rows = await accountsAfterStart()
    expect(rows.length).toBeGreaterThanOrEqual(accounts / 2)
    expect(rows.length).toBeLessThan(accounts)
  })

  test("without a marker, as in older versions; it gets one", async () => {
    await createKilledStore()
    rmSync(`${file}-mark`)
    expect(await accountsAfterStart()).toEqual(allNames)
    expect(existsSync(`${file}-mark`)).toBe(true)
    rmSync(file)
    expect(startError()).toMatch(/^start\.database_missing: /)
  })

  test.each([
    ["an empty mark, of a start that was killed", 0],
    ["a mark of zeros, of a start that lost its power", 128],
  ])("with %s while creating it", async (_, length) => {
    await createKilledStore()
    writeFileSync(`${file}-mark`, new Uint8Array(length))
    expect(await accountsAfterStart()).toEqual(allNames)
    expect(readFileSync(`${file}-mark`, "utf8")).toMatch(/^latchkey 1 /)
  })

  test("while another program reads an older state, which the marker reflects", async () => {
    await createKilledStore()
    rmSync(`${file}-mark`)
    const other = new Database(file)
    other.run("BEGIN")
    other.query("SELECT count(*) FROM event").get()
    const writer = new Database(file)
    writer.run("INSERT INTO meta (key, value) VALUES ('later', 1)")
    const store = openFile(file)
    expect(readFileSync(`${file}-mark`, "utf8")).toMatch(/^latchkey 1 0{16} 0 0 cut /)
    other.run("COMMIT")
    other.close()
    writer.close()
    await store.close()
    expect(await accountsAfterStart()).toEqual(allNames)
  })

  test("after another program has copied and removed the WAL", async () => {
    await createKilledStore()
    const other = new Database(file)
    expect(other.query("SELECT count(*) AS n FROM event").get()).toEqual({ n: accounts })
    other.close()
    expect(existsSync(`${file}-wal`)).toBe(false)
    expect(await accountsAfterStart()).toEqual(allNames)
  })

  test("without the WAL only if the database has all of it", async () => {
    await createKilledStore()
    const other = new Database(file)
    other.run("PRAGMA wal_checkpoint(PASSIVE)")
    saveFiles("copied")
    other.close()
    const bytes = readFileSync(`${folder.path}/copied`)
    restoreFiles("copied")
    truncateSync(`${file}-wal`, 0)
    expect(await accountsAfterStart()).toEqual(allNames)
    // Left by an interrupted checkpoint.
    restoreFiles("copied")
    writeFileSync(file, bytes.fill(0, bytes.length - 5 * 4096))
    truncateSync(`${file}-wal`, 0)
    expect(startError()).toMatch(/^start\.(wal_missing|database_damaged): /)
  })

  test("when it is killed right before or after the WAL is truncated or restarted", async () => {
    const { store, cx } = world()
    for (let n = 0; n < accounts; n++) await openAccount(cx(), `${n}`, { name: `name ${n}` })
    const mayBeCut = () => readFileSync(`${file}-mark`, "utf8").includes(" cut ")
    expect(mayBeCut()).toBe(false)
    saveFiles("before")
    await eraseAccount(cx(), "0")
    await store.scrub()
    expect([mayBeCut(), statSync(`${file}-wal`).size]).toEqual([true, 0])
    saveFiles("cut")
    await openAccount(cx(), "x", { name: "x" })
    expect(mayBeCut()).toBe(false)
    saveFiles("after")
    await store.close()
    const most = allNames.slice(1)
    restoreFiles("cut")
    expect(await accountsAfterStart()).toEqual(most)
    // Between the first commit of the new WAL and its marker.
    restoreFiles("after")
    putFile("cut", "-mark")
    expect(await accountsAfterStart()).toEqual([...most, "x"])
    restoreFiles("after")
    flipBit(`${file}-wal`, frameAt() + 100)
    expect(startError()).toMatch(/^start\.wal_damaged: /)
  })

  test("when it is killed after a checkpoint restarted the WAL", async () => {
    const { store, cx } = world()
    await openAccount(cx(), "0", { name: "0" })
    copyFileSync(`${file}-mark`, `${folder.path}/first-mark`)
    const salts = () => readFileSync(`${file}-wal`).toString("hex", 16, 20)
    const first = salts()
    const add = () => openAccount(cx(), `${n}`, { name: `${n++}` })
    let n = 1
    await Promise.all(Array.from({ length: 3000 }, add))
    while (salts() === first) await add()
    saveFiles("later")
    await store.close()
    restoreFiles("later")
    putFile("first", "-mark")
    expect(await accountsAfterStart()).toHaveLength(n)
  })
})
