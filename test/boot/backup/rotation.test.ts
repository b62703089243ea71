// Automatic backups.
import { spawnSync } from "node:child_process"
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { folderLocation } from "../../../src/boot/backup/location.ts"
import {
  backupName,
  findLabel,
  getLabel,
  listBackups,
  listBackupsUntil,
} from "../../../src/boot/backup/rotation.ts"
import { checkBackups } from "../../../src/boot/doctor/backup.ts"
import { folderAt } from "../../../src/boot/folder/folder.ts"
import { type ManualClock, manualClock } from "../../../src/kernel/clock.ts"
import { parseConfig } from "../../../src/kernel/config.ts"
import { systemRandom } from "../../../src/kernel/crypto/random.ts"
import { type CreateBackup, startBackups } from "../../../src/server/background/backups.ts"
import { temporaryFolder } from "../../support/latchkey.ts"

const hourMs = 3_600_000
const label = "0a1b2c3d"
let place: ReturnType<typeof temporaryFolder>
let clock: ManualClock
let logged: string[]
let to = ""
beforeEach(() => {
  place = temporaryFolder()
  to = join(place.path, "backups")
  clock = manualClock(Date.UTC(2026, 0, 1))
  logged = []
})
afterEach(() => place.remove())

const log = { error: (_: string, values: object) => logged.push(JSON.stringify(values)) }
const settle = async () => {
  for (let turn = 0; turn < 10; turn++) await new Promise((done) => setImmediate(done))
}
const advanceHours = async (count: number) => {
  for (let minute = 0; minute < count * 60; minute += 30) {
    clock.advance(30 * 60_000)
    await settle()
  }
}
const startRotation = async (save: CreateBackup) => {
  const keeping = startBackups(
    { clock, log },
    { place: folderLocation(to), label, backupEveryHours: 24, backupKeep: 3 },
    save,
  )
  await settle()
  return keeping
}
const writeEmptyFile: CreateBackup = async (file) => writeFileSync(file, "")

describe("an automatic backup", () => {
  test("is created daily; the newest three are kept, and other files stay", async () => {
    const keeping = await startRotation(writeEmptyFile)
    writeFileSync(join(to, "latchkey-mine.backup"), "")
    expect(await listBackups({ place: folderLocation(to), label })).toHaveLength(1)
    await advanceHours(23)
    expect(await listBackups({ place: folderLocation(to), label })).toHaveLength(1)
    await advanceHours(24 * 6)
    expect(await listBackups({ place: folderLocation(to), label })).toHaveLength(3)
    expect(readdirSync(to)).toContain("latchkey-mine.backup")
    expect(
      clock.now() - ((await listBackups({ place: folderLocation(to), label }))[0]?.made ?? 0),
    ).toBeLessThan(25 * hourMs)
    await keeping.stop()
    // A restart creates no additional backup.
    const again = await startRotation(() => Promise.reject(new Error("asked")))
    expect(logged).toEqual([])
    await again.stop()
  })

  test("does not wait because of a backup with a future timestamp", async () => {
    mkdirSync(to)
    const ahead = join(to, backupName(label, Date.UTC(2027, 0, 1)))
    writeFileSync(ahead, "")
    const keeping = await startRotation(writeEmptyFile)
    await advanceHours(24 * 6)
    await keeping.stop()
    const made = await listBackups({ place: folderLocation(to), label })
    expect(made.filter(({ name }) => join(to, name) !== ahead)).toHaveLength(3)
    expect(existsSync(ahead)).toBe(true)
    expect(logged).toEqual([])
  })

  test("continues after the clock was ahead, whatever happened in between", async () => {
    let offset = 0
    const shifted = { ...clock, now: () => clock.now() + offset }
    let isFull = false
    const wanted = { place: folderLocation(to), label, backupEveryHours: 24, backupKeep: 3 }
    const keeping = startBackups({ clock: shifted, log }, wanted, async (file, stopping) => {
      if (isFull) throw new Error("the disk is full")
      return writeEmptyFile(file, stopping)
    })
    await settle()
    const newest = async () => (await listBackupsUntil(wanted, clock.now()))[0]?.made ?? 0
    for (const [year, fails] of [
      [2030, false],
      [2031, true],
    ] as const) {
      offset = Date.UTC(year, 0, 1) - clock.now()
      isFull = fails
      await advanceHours(2)
      offset = 0
      isFull = false
      await advanceHours(24)
      expect(clock.now() - (await newest())).toBeLessThan(25 * hourMs)
    }
    await keeping.stop()
    expect(readdirSync(to).join()).toContain(`latchkey-${label}-2030`)
    expect(logged.join()).toContain("the disk is full")
  })

  test("is created soon if all were removed", async () => {
    const keeping = await startRotation(writeEmptyFile)
    await advanceHours(2)
    for (const name of readdirSync(to)) rmSync(join(to, name))
    await advanceHours(2)
    expect(await listBackups({ place: folderLocation(to), label })).toHaveLength(1)
    await keeping.stop()
    expect(logged).toEqual([])
  })

  test("is logged and retried after an hour if it fails; the old ones stay", async () => {
    let isFull = false
    let tries = 0
    const keeping = await startRotation(async (file, stopping) => {
      tries++
      if (isFull) throw new Error("the disk is full")
      return writeEmptyFile(file, stopping)
    })
    isFull = true
    await advanceHours(26)
    expect(tries).toBeGreaterThanOrEqual(3)
    expect(tries).toBeLessThanOrEqual(4)
    expect(logged[0]).toContain("the disk is full")
    expect(await listBackups({ place: folderLocation(to), label })).toHaveLength(1)
    isFull = false
    await advanceHours(2)
    expect(await listBackups({ place: folderLocation(to), label })).toHaveLength(2)
    await keeping.stop()
  })

  test("is canceled when the server stops", async () => {
    let isEnded = false
    const keeping = await startRotation(async (_, stopping) => {
      await stopping
      isEnded = true
      throw new Error("the backup process was terminated")
    })
    await keeping.stop()
    expect(isEnded).toBe(true)
    expect(logged).toEqual([])
  })
})

test("several servers share one location, and each keeps only its own backups", async () => {
  const [one, other] = ["one", "other"].map((name) => {
    mkdirSync(join(place.path, name))
    return getLabel(folderAt(join(place.path, name)), systemRandom)
  })
  expect(getLabel(folderAt(join(place.path, "one")), systemRandom)).toBe(one)
  expect(one).not.toBe(other)
  const wanted = { place: folderLocation(to), backupEveryHours: 24, backupKeep: 2 }
  const both = [one, other].map((each = "") =>
    startBackups({ clock, log }, { ...wanted, label: each }, writeEmptyFile),
  )
  await settle()
  await advanceHours(24 * 5)
  await Promise.all(both.map((each) => each.stop()))
  const shelves = [one, other].map((each = "") => ({ place: folderLocation(to), label: each }))
  const held = (await Promise.all(shelves.map(listBackups))).map(({ length }) => length)
  expect([held, readdirSync(to).length]).toEqual([[2, 2], 4])
})

test("a copy of a data directory gets its own label, and the first keeps its own", () => {
  const folders = ["first", "copy"].map((name) => folderAt(join(place.path, name)))
  const [first, copy] = folders
  if (!first || !copy) throw new Error("no folders")
  mkdirSync(first.path)
  const mine = getLabel(first, systemRandom)
  const { birthtimeNs: born } = statSync(first.backupLabel, { bigint: true })
  const why = `${place.path} is on a file system that tells no birth times, which this goes by`
  expect(born, why).not.toBe(0n)
  const copied = spawnSync("cp", ["-a", first.path, copy.path])
  expect(copied.status).toBe(0)
  expect(readFileSync(copy.backupLabel)).toEqual(readFileSync(first.backupLabel))
  expect(findLabel(copy)).toBeUndefined()
  const its = getLabel(copy, systemRandom)
  expect(its).not.toBe(mine)
  expect([findLabel(first), findLabel(copy)]).toEqual([mine, its])
  renameSync(first.path, join(place.path, "moved"))
  expect(getLabel(folderAt(join(place.path, "moved")), systemRandom)).toBe(mine)
})

test("a complete label is not rewritten", () => {
  const folder = folderAt(place.path)
  const label = getLabel(folder, systemRandom)
  const { ino, mtimeNs } = statSync(folder.backupLabel, { bigint: true })
  // The new label could not be written next to it.
  mkdirSync(`${folder.backupLabel}.new`)
  expect(getLabel(folder, systemRandom)).toBe(label)
  expect(statSync(folder.backupLabel, { bigint: true })).toMatchObject({ ino, mtimeNs })
})

test("a label stays if its replacement can't be written", () => {
  const folder = folderAt(place.path)
  // The label of an earlier version, without its creation time.
  writeFileSync(folder.backupLabel, `${label}\n`)
  symlinkSync("/dev/full", `${folder.backupLabel}.new`)
  expect(() => getLabel(folder, systemRandom)).toThrow(/no space|full/i)
  expect(readFileSync(folder.backupLabel, "utf8")).toBe(`${label}\n`)
  rmSync(`${folder.backupLabel}.new`)
  // A program that has the file open, or another link to it, keeps the complete old file.
  linkSync(folder.backupLabel, join(place.path, "before"))
  expect(getLabel(folder, systemRandom)).toBe(label)
  expect(readFileSync(join(place.path, "before"), "utf8")).toBe(`${label}\n`)
  expect([findLabel(folder), getLabel(folder, systemRandom)]).toEqual([label, label])
})

test("the doctor reports the age of the newest backup", async () => {
  const flags = { "--backup-folder": to, "--data": place.path }
  const config = parseConfig({ flags, env: {}, file: {} })
  expect(await checkBackups(config, clock.now())).toMatchObject([{ state: "warning" }])
  writeFileSync(folderAt(place.path).backupLabel, `${label}\n`)
  const keeping = await startRotation(writeEmptyFile)
  await keeping.stop()
  expect(existsSync(join(to, backupName(label, clock.now())))).toBe(true)
  expect(await checkBackups(config, clock.now())).toMatchObject([{ state: "ok" }])
  expect(await checkBackups(config, clock.now() + 49 * hourMs)).toMatchObject([
    { state: "warning" },
  ])
})
