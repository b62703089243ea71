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
import { openWorld } from "../support/world.ts"
import { allAccounts, eraseAccount, modules, openAccount, openFile } from "./account.ts"

let file: string
let folder: ReturnType<typeof temporaryFolder>
let places: number
beforeEach(() => {
  folder = temporaryFolder()
  places = 0
  anew()
})
afterEach(() => folder.remove())

/** An empty place: SQLite shares what it knows of a file among all in a process who had it open. */
function anew(): void {
  const place = `${folder.path}/${places++}`
  mkdirSync(place)
  file = `${place}/latchkey.db`
}

const kept = ["", "-wal", "-mark"] as const
const accounts = 40
const frameLength = 24 + 4096

/** Keeps the files as they are now. */
function keep(name: string): void {
  for (const end of kept) copyFileSync(`${file}${end}`, `${folder.path}/${name}${end}`)
}

/** Puts files that were kept, or some of them, into an empty place, as a kill would leave them. */
function become(name: string): void {
  anew()
  for (const end of kept) put(name, end)
}

const put = (name: string, end: (typeof kept)[number]) =>
  copyFileSync(`${folder.path}/${name}${end}`, `${file}${end}`)

const world = () => openWorld(modules, { path: dirname(file), remove: () => undefined })

/** A store with accounts whose process was killed; as it was with half of them is kept, too. */
async function killed(): Promise<void> {
  const { store, cx } = world()
  for (let n = 0; n < accounts; n++) {
    if (n === accounts / 2) keep("half")
    await openAccount(cx(), `${n}`, { name: `name ${n}` })
  }
  keep("whole")
  await store.close()
  become("whole")
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path)
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  writeFileSync(path, bytes)
}

/** Where a frame of the WAL begins; the last that the mark vouches for, unless it is named. */
const frameAt = (frame = Number(readFileSync(`${file}-mark`, "utf8").split(" ")[3])) =>
  32 + (frame - 1) * frameLength

function refusal(): string {
  try {
    openFile(file)
    return "opened"
  } catch (cause) {
    if (cause instanceof Fault) return `${cause.id}: ${cause.message}`
    throw cause
  }
}

async function shown(): Promise<readonly string[]> {
  const { store, cx } = world()
  const rows = store.all(cx(), allAccounts).map(({ id }) => id)
  await store.close()
  return rows
}

const all = Array.from({ length: accounts }, (_, n) => `${n}`).sort()

/** What is done to the files of a killed process, and what the next start says. */
const losses: Readonly<Record<string, readonly [lose: () => void, says: RegExp]>> = {
  "a byte in the middle of the WAL": [
    () => flip(`${file}-wal`, frameAt(31) + 2000),
    /^start\.wal_damaged: .*from byte 123632 on: 30 of the \d+ frames .*position 40 would be lost/,
  ],
  "a byte of the salts of a frame": [
    () => flip(`${file}-wal`, frameAt(31) + 9),
    /^start\.wal_damaged: .*: 30 of the/,
  ],
  "a byte of the last frame that was acknowledged": [
    () => flip(`${file}-wal`, frameAt() + 100),
    /^start\.wal_damaged: .*move .*latchkey\.db-mark away first/,
  ],
  "a byte of the WAL's header": [
    () => flip(`${file}-wal`, 17),
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
  "the database": [() => rmSync(file), /^start\.database_missing: .*-mark says that there was one/],
  "what the database holds": [() => truncateSync(file, 0), /^start\.database_missing: /],
  "the database and the mark": [
    () => void [file, `${file}-mark`].map((path) => rmSync(path)),
    /^start\.database_missing: .*its WAL, .*-wal, has \d+ bytes of data/,
  ],
  "the database and the WAL": [
    () => void [file, `${file}-wal`].map((path) => rmSync(path)),
    /^start\.database_missing: .*to begin anew, choose an empty data folder/,
  ],
  "the database's bytes, for zeros": [
    () => writeFileSync(file, new Uint8Array(statSync(file).size)),
    /^start\.database_damaged: .*Restore/,
  ],
  "the newer half of it all, but for the mark": [
    () => put("half", "-wal"),
    /^start\.wal_damaged: /,
  ],
  "a byte of the mark": [
    () => flip(`${file}-mark`, 40),
    /^start\.mark_damaged: .*-mark, .*move that file away/,
  ],
}

test.each(Object.keys(losses))(
  "a start is refused that lacks %s, and changes nothing",
  async (of) => {
    await killed()
    const [lose, says] = losses[of] ?? [() => undefined, /never/]
    lose()
    // An empty WAL is one that is not there.
    const files = () =>
      readdirSync(dirname(file))
        .filter((name) => !name.endsWith("-shm"))
        .map((name) => [name, readFileSync(`${dirname(file)}/${name}`, "base64")])
        .filter(([name, bytes]) => bytes !== "" || name === "latchkey.db")
    const before = files()
    const said = refusal()
    expect(said).toMatch(says)
    expect(said).toMatch(/^[^\n]*nothing was changed[^\n]*$/)
    expect(files()).toEqual(before)
  },
)

describe("after a clean end a start is refused", () => {
  /** A store that ended, with the database of before its second half beside it. */
  beforeEach(async () => {
    const { store, cx } = world()
    await openAccount(cx(), "1", { name: "one" })
    await store.close()
    keep("older")
    const later = world()
    await openAccount(later.cx(), "2", { name: "two" })
    await later.store.close()
    keep("newer")
    become("newer")
  })

  test("by an older database, unless the mark is moved away", async () => {
    put("older", "")
    expect(refusal()).toMatch(
      /^start\.database_behind: .*ends at position 1, but .* position 2 had/,
    )
    rmSync(`${file}-mark`)
    expect(await shown()).toEqual(["1"])
  })

  test("by one without tables", () => {
    rmSync(file)
    const bare = new Database(file)
    bare.run("PRAGMA journal_mode = WAL")
    bare.close()
    expect(refusal()).toMatch(/^start\.database_missing: /)
  })

  test("by none", () => {
    rmSync(file)
    expect(refusal()).toMatch(/^start\.database_missing: /)
  })
})

describe("a start is not refused", () => {
  test("after a kill, with all that was acknowledged", async () => {
    await killed()
    expect(await shown()).toEqual(all)
  })

  test("by what comes after the last sync that is known: the tail of a power cut", async () => {
    await killed()
    // The mark itself is not synced, so a power cut may leave an older one.
    put("half", "-mark")
    const half = frameAt()
    flip(`${file}-wal`, half + 3 * frameLength + 200)
    const rows = await shown()
    expect(rows.length).toBeGreaterThanOrEqual(accounts / 2)
    expect(rows.length).toBeLessThan(accounts)
  })

  test("without a mark, as older versions left it; it gets one", async () => {
    await killed()
    rmSync(`${file}-mark`)
    expect(await shown()).toEqual(all)
    expect(existsSync(`${file}-mark`)).toBe(true)
    rmSync(file)
    expect(refusal()).toMatch(/^start\.database_missing: /)
  })

  test.each([
    ["an empty mark, of a start that was killed", 0],
    ["a mark of zeros, of a start that lost its power", 128],
  ])("with %s while it made it", async (_, length) => {
    await killed()
    writeFileSync(`${file}-mark`, new Uint8Array(length))
    expect(await shown()).toEqual(all)
    expect(readFileSync(`${file}-mark`, "utf8")).toMatch(/^latchkey 1 /)
  })

  test("while another program reads an older state, and the mark promises no more", async () => {
    await killed()
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
    expect(await shown()).toEqual(all)
  })

  test("after another program has copied all of the WAL and removed it", async () => {
    await killed()
    const other = new Database(file)
    expect(other.query("SELECT count(*) AS n FROM event").get()).toEqual({ n: accounts })
    other.close()
    expect(existsSync(`${file}-wal`)).toBe(false)
    expect(await shown()).toEqual(all)
  })

  test("without the WAL, where the database has all of it, and nothing else", async () => {
    await killed()
    const other = new Database(file)
    other.run("PRAGMA wal_checkpoint(PASSIVE)")
    keep("copied")
    other.close()
    const bytes = readFileSync(`${folder.path}/copied`)
    become("copied")
    truncateSync(`${file}-wal`, 0)
    expect(await shown()).toEqual(all)
    // What a checkpoint leaves that was broken off.
    become("copied")
    writeFileSync(file, bytes.fill(0, bytes.length - 5 * 4096))
    truncateSync(`${file}-wal`, 0)
    expect(refusal()).toMatch(/^start\.(wal_missing|database_damaged): /)
  })

  test("when it is killed right before or after the WAL is cut, or begun anew", async () => {
    const { store, cx } = world()
    for (let n = 0; n < accounts; n++) await openAccount(cx(), `${n}`, { name: `name ${n}` })
    const mayBeCut = () => readFileSync(`${file}-mark`, "utf8").includes(" cut ")
    expect(mayBeCut()).toBe(false)
    keep("before")
    await eraseAccount(cx(), "0")
    await store.scrub()
    expect([mayBeCut(), statSync(`${file}-wal`).size]).toEqual([true, 0])
    keep("cut")
    await openAccount(cx(), "x", { name: "x" })
    expect(mayBeCut()).toBe(false)
    keep("after")
    await store.close()
    const most = all.slice(1)
    become("cut")
    expect(await shown()).toEqual(most)
    // Between the first commit of the new WAL and its mark.
    become("after")
    put("cut", "-mark")
    expect(await shown()).toEqual([...most, "x"])
    become("after")
    flip(`${file}-wal`, frameAt() + 100)
    expect(refusal()).toMatch(/^start\.wal_damaged: /)
  })

  test("when it is killed where a checkpoint has begun the WAL anew", async () => {
    const { store, cx } = world()
    await openAccount(cx(), "0", { name: "0" })
    copyFileSync(`${file}-mark`, `${folder.path}/first-mark`)
    const salts = () => readFileSync(`${file}-wal`).toString("hex", 16, 20)
    const first = salts()
    const add = () => openAccount(cx(), `${n}`, { name: `${n++}` })
    let n = 1
    await Promise.all(Array.from({ length: 3000 }, add))
    while (salts() === first) await add()
    keep("later")
    await store.close()
    become("later")
    put("first", "-mark")
    expect(await shown()).toHaveLength(n)
  })
})
