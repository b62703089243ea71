// Backups that are made by themselves.
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
import { folderPlace } from "../../../src/boot/backup/place.ts"
import {
  backupName,
  backupsIn,
  backupsUntil,
  knownLabel,
  labelOf,
} from "../../../src/boot/backup/rotation.ts"
import { checkBackups } from "../../../src/boot/doctor/backup.ts"
import { folderAt } from "../../../src/boot/folder/folder.ts"
import { type ManualClock, manualClock } from "../../../src/kernel/clock.ts"
import { configOf } from "../../../src/kernel/config.ts"
import { systemRandom } from "../../../src/kernel/crypto/random.ts"
import { keepBackups, type Save } from "../../../src/server/background/backups.ts"
import { temporaryFolder } from "../../support/latchkey.ts"

const hourMs = 3_600_000
const label = "0a1b2c3d"
let place: ReturnType<typeof temporaryFolder>
let clock: ManualClock
let told: string[]
let to = ""
beforeEach(() => {
  place = temporaryFolder()
  to = join(place.path, "backups")
  clock = manualClock(Date.UTC(2026, 0, 1))
  told = []
})
afterEach(() => place.remove())

const log = { error: (_: string, values: object) => told.push(JSON.stringify(values)) }
const settle = async () => {
  for (let turn = 0; turn < 10; turn++) await new Promise((done) => setImmediate(done))
}
const hours = async (count: number) => {
  for (let minute = 0; minute < count * 60; minute += 30) {
    clock.advance(30 * 60_000)
    await settle()
  }
}
const keep = async (save: Save) => {
  const keeping = keepBackups(
    { clock, log },
    { place: folderPlace(to), label, backupEveryHours: 24, backupKeep: 3 },
    save,
  )
  await settle()
  return keeping
}
const written: Save = async (file) => writeFileSync(file, "")

describe("a backup by itself", () => {
  test("is made each day; the newest three are kept, and what is somebody's stays", async () => {
    const keeping = await keep(written)
    writeFileSync(join(to, "latchkey-mine.backup"), "")
    expect(await backupsIn({ place: folderPlace(to), label })).toHaveLength(1)
    await hours(23)
    expect(await backupsIn({ place: folderPlace(to), label })).toHaveLength(1)
    await hours(24 * 6)
    expect(await backupsIn({ place: folderPlace(to), label })).toHaveLength(3)
    expect(readdirSync(to)).toContain("latchkey-mine.backup")
    expect(
      clock.now() - ((await backupsIn({ place: folderPlace(to), label }))[0]?.made ?? 0),
    ).toBeLessThan(25 * hourMs)
    await keeping.stop()
    // A restart makes none too many.
    const again = await keep(() => Promise.reject(new Error("asked")))
    expect(told).toEqual([])
    await again.stop()
  })

  test("waits for none that a clock which was ahead has named", async () => {
    mkdirSync(to)
    const ahead = join(to, backupName(label, Date.UTC(2027, 0, 1)))
    writeFileSync(ahead, "")
    const keeping = await keep(written)
    await hours(24 * 6)
    await keeping.stop()
    const made = await backupsIn({ place: folderPlace(to), label })
    expect(made.filter(({ name }) => join(to, name) !== ahead)).toHaveLength(3)
    expect(existsSync(ahead)).toBe(true)
    expect(told).toEqual([])
  })

  test("goes on after a clock that was ahead, whatever happened meanwhile", async () => {
    let offset = 0
    const shifted = { ...clock, now: () => clock.now() + offset }
    let isFull = false
    const wanted = { place: folderPlace(to), label, backupEveryHours: 24, backupKeep: 3 }
    const keeping = keepBackups({ clock: shifted, log }, wanted, async (file, stopping) => {
      if (isFull) throw new Error("the disk is full")
      return written(file, stopping)
    })
    await settle()
    const newest = async () => (await backupsUntil(wanted, clock.now()))[0]?.made ?? 0
    for (const [year, fails] of [
      [2030, false],
      [2031, true],
    ] as const) {
      offset = Date.UTC(year, 0, 1) - clock.now()
      isFull = fails
      await hours(2)
      offset = 0
      isFull = false
      await hours(24)
      expect(clock.now() - (await newest())).toBeLessThan(25 * hourMs)
    }
    await keeping.stop()
    expect(readdirSync(to).join()).toContain(`latchkey-${label}-2030`)
    expect(told.join()).toContain("the disk is full")
  })

  test("is made soon where somebody has removed them all", async () => {
    const keeping = await keep(written)
    await hours(2)
    for (const name of readdirSync(to)) rmSync(join(to, name))
    await hours(2)
    expect(await backupsIn({ place: folderPlace(to), label })).toHaveLength(1)
    await keeping.stop()
    expect(told).toEqual([])
  })

  test("that fails is told, and tried again in an hour; the old ones stay", async () => {
    let isFull = false
    let tries = 0
    const keeping = await keep(async (file, stopping) => {
      tries++
      if (isFull) throw new Error("the disk is full")
      return written(file, stopping)
    })
    isFull = true
    await hours(26)
    expect(tries).toBeGreaterThanOrEqual(3)
    expect(tries).toBeLessThanOrEqual(4)
    expect(told[0]).toContain("the disk is full")
    expect(await backupsIn({ place: folderPlace(to), label })).toHaveLength(1)
    isFull = false
    await hours(2)
    expect(await backupsIn({ place: folderPlace(to), label })).toHaveLength(2)
    await keeping.stop()
  })

  test("that is under way is ended with the server", async () => {
    let isEnded = false
    const keeping = await keep(async (_, stopping) => {
      await stopping
      isEnded = true
      throw new Error("it was ended")
    })
    await keeping.stop()
    expect(isEnded).toBe(true)
    expect(told).toEqual([])
  })
})

test("several servers have one place for theirs, and each keeps its own alone", async () => {
  const [one, other] = ["one", "other"].map((name) => {
    mkdirSync(join(place.path, name))
    return labelOf(folderAt(join(place.path, name)), systemRandom)
  })
  expect(labelOf(folderAt(join(place.path, "one")), systemRandom)).toBe(one)
  expect(one).not.toBe(other)
  const wanted = { place: folderPlace(to), backupEveryHours: 24, backupKeep: 2 }
  const both = [one, other].map((each = "") =>
    keepBackups({ clock, log }, { ...wanted, label: each }, written),
  )
  await settle()
  await hours(24 * 5)
  await Promise.all(both.map((each) => each.stop()))
  const shelves = [one, other].map((each = "") => ({ place: folderPlace(to), label: each }))
  const held = (await Promise.all(shelves.map(backupsIn))).map(({ length }) => length)
  expect([held, readdirSync(to).length]).toEqual([[2, 2], 4])
})

test("a copy of a data folder has a label of its own, and the first keeps its", () => {
  const folders = ["first", "copy"].map((name) => folderAt(join(place.path, name)))
  const [first, copy] = folders
  if (!first || !copy) throw new Error("no folders")
  mkdirSync(first.path)
  const mine = labelOf(first, systemRandom)
  const { birthtimeNs: born } = statSync(first.backupLabel, { bigint: true })
  const why = `${place.path} is on a file system that tells no birth times, which this goes by`
  expect(born, why).not.toBe(0n)
  const copied = spawnSync("cp", ["-a", first.path, copy.path])
  expect(copied.status).toBe(0)
  expect(readFileSync(copy.backupLabel)).toEqual(readFileSync(first.backupLabel))
  expect(knownLabel(copy)).toBeUndefined()
  const its = labelOf(copy, systemRandom)
  expect(its).not.toBe(mine)
  expect([knownLabel(first), knownLabel(copy)]).toEqual([mine, its])
  renameSync(first.path, join(place.path, "moved"))
  expect(labelOf(folderAt(join(place.path, "moved")), systemRandom)).toBe(mine)
})

test("a label that says all of itself is not written again", () => {
  const folder = folderAt(place.path)
  const label = labelOf(folder, systemRandom)
  const { ino, mtimeNs } = statSync(folder.backupLabel, { bigint: true })
  // Nothing could be written beside it.
  mkdirSync(`${folder.backupLabel}.new`)
  expect(labelOf(folder, systemRandom)).toBe(label)
  expect(statSync(folder.backupLabel, { bigint: true })).toMatchObject({ ino, mtimeNs })
})

test("a label stays where the one that is to replace it can't be written", () => {
  const folder = folderAt(place.path)
  // Of a version before, without when it was made.
  writeFileSync(folder.backupLabel, `${label}\n`)
  symlinkSync("/dev/full", `${folder.backupLabel}.new`)
  expect(() => labelOf(folder, systemRandom)).toThrow(/no space|full/i)
  expect(readFileSync(folder.backupLabel, "utf8")).toBe(`${label}\n`)
  rmSync(`${folder.backupLabel}.new`)
  // Whoever has the file open, or another name of it, has a whole one.
  linkSync(folder.backupLabel, join(place.path, "before"))
  expect(labelOf(folder, systemRandom)).toBe(label)
  expect(readFileSync(join(place.path, "before"), "utf8")).toBe(`${label}\n`)
  expect([knownLabel(folder), labelOf(folder, systemRandom)]).toEqual([label, label])
})

test("the doctor says how old the newest is", async () => {
  const flags = { "--backup-folder": to, "--data": place.path }
  const config = configOf({ flags, env: {}, file: {} })
  expect(await checkBackups(config, clock.now())).toMatchObject([{ state: "warning" }])
  writeFileSync(folderAt(place.path).backupLabel, `${label}\n`)
  const keeping = await keep(written)
  await keeping.stop()
  expect(existsSync(join(to, backupName(label, clock.now())))).toBe(true)
  expect(await checkBackups(config, clock.now())).toMatchObject([{ state: "ok" }])
  expect(await checkBackups(config, clock.now() + 49 * hourMs)).toMatchObject([
    { state: "warning" },
  ])
})
