import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { checkClocks } from "../../../src/boot/doctor/deep/clock.ts"
import { checkDiskSpace, type FreeSpace } from "../../../src/boot/doctor/deep/disk-space.ts"
import { runTimed } from "../../../src/boot/doctor/deep/progress.ts"
import { checkRestore } from "../../../src/boot/doctor/deep/restore.ts"
import { totpOf } from "../../../src/boot/doctor/deep/sign-in.ts"
import { type Finding, formatFindings, ok } from "../../../src/boot/doctor/finding.ts"
import { dropDoctorCopy, takeDoctorLock } from "../../../src/boot/folder/doctor-copy.ts"
import { folderAt } from "../../../src/boot/folder/folder.ts"
import { readConfig } from "../../../src/boot/settings.ts"
import { manualClock } from "../../../src/kernel/clock.ts"
import { systemRandom } from "../../../src/kernel/crypto/random.ts"
import { Fault } from "../../../src/kernel/fault.ts"
import { temporaryFolder } from "../../support/latchkey.ts"
import { driveClock } from "../../support/wait.ts"

const start = 1_795_000_000_000
const summarizeFindings = (findings: readonly Finding[]) =>
  findings.map(({ check, state, said }) => `${state} ${check}: ${said}`)

function fakeStorage(size: number) {
  const { path, remove } = temporaryFolder()
  const folder = folderAt(join(path, "data"))
  const backups = join(path, "backups")
  for (const each of [folder.path, backups]) mkdirSync(each, { mode: 0o700 })
  writeFileSync(folder.database, Buffer.alloc(size))
  writeFileSync(join(backups, "newest.backup"), Buffer.alloc(size))
  const flags = { "--data": folder.path, "--backup-folder": backups }
  return { folder, backups, remove, config: readConfig({ flags, env: {} }) }
}

test("requires disk space for the copy and the next backup, and inodes", () => {
  const { folder, backups, config, remove } = fakeStorage(10_000_000)
  const look = (rooms: Readonly<Record<string, FreeSpace>>) =>
    checkDiskSpace({
      folder,
      config,
      newest: "newest.backup",
      roomAt: (path) => rooms[path] ?? { bytes: 1e12, files: undefined },
    })
  expect(summarizeFindings(look({})).map((line) => line.slice(0, 14))).toEqual([
    "ok disk space:",
    "ok disk space:",
  ])
  const full = summarizeFindings(look({ [folder.path]: { bytes: 9e6, files: undefined } }))
  expect(full[0]).toBe(
    "wrong disk space: the database copy of the next backup requires 10 MB in " +
      `${folder.path}; 9 MB are free`,
  )
  const tight = summarizeFindings(look({ [backups]: { bytes: 13e6, files: 1e6 } }))
  expect(tight[1]).toMatch(/^warning disk space: the next backup requires 12 MB .* 13 MB are free$/)
  const inodes = summarizeFindings(look({ [backups]: { bytes: 1e12, files: 3 } }))
  expect(inodes[1]).toBe(`wrong disk space: only 3 inodes are free in ${backups}`)
  remove()
})

test("restores no backup if the copy would fill the disk of the server", async () => {
  const { folder, config, backups, remove } = fakeStorage(10_000_000)
  const unused = () => Promise.reject(new Error("nothing is restored"))
  const [finding] = await checkRestore({
    folder,
    config,
    random: systemRandom,
    opening: {},
    drill: unused,
    from: join(backups, "newest.backup"),
    roomAt: () => ({ bytes: 290e6, files: undefined }),
  })
  expect(finding).toMatchObject({ state: "warning", check: "restore" })
  expect(finding?.said).toMatch(/^not tested: the copy requires 296 MB in .*, but 290 MB are free$/)
  expect(finding?.remedy).toMatch(
    /^run latchkey restore .*newest\.backup --drill --work-folder DIR/,
  )
  remove()
})

test("compares the clock with the database and with the public address", async () => {
  const look = (ahead: number, send: () => Promise<Response>, database?: number | Fault) =>
    checkClocks({
      clock: manualClock(start + ahead),
      network: { send: Object.assign(send, { preconnect: () => {} }) },
      publicUrls: ["https://id.example.com"],
      databaseNow: async () => {
        if (database instanceof Fault) throw database
        return database
      },
    })
  const dated = async () => new Response(null, { headers: { date: new Date(start).toUTCString() } })
  const address = "the Date header of https://id.example.com (which a proxy can set)"
  expect(summarizeFindings(await look(900, dated, start + 100))).toEqual([
    "ok clock: same time as PostgreSQL",
    `ok clock: same time as ${address}`,
  ])
  expect(summarizeFindings(await look(90_000, dated, start + 86_000))).toEqual([
    "warning clock: 4 s ahead of PostgreSQL",
    `wrong clock: 90 s ahead of ${address}`,
  ])
  const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" })
  const away = new Fault("unavailable", "store.unreachable", "the database does not answer")
  expect(summarizeFindings(await look(0, () => Promise.reject(refused), away))).toEqual([
    "wrong clock: the clock of PostgreSQL can't be read: the database does not answer",
    `warning clock: not compared with ${address} (ECONNREFUSED)`,
  ])
})

test("reports progress after two seconds, and the duration", async () => {
  const clock = manualClock(start)
  const lines: string[] = []
  const done = Promise.withResolvers<readonly Finding[]>()
  const tell = (line: string) => {
    lines.push(line)
    if (lines.length === 2) done.resolve([ok("restore", "whole"), ok("restore", "more")])
  }
  const work = runTimed({ clock, tell }, "restoring the backup", () => done.promise)
  const findings = await driveClock(work, () => clock.advance(500))
  expect(lines.slice(0, 2)).toEqual([
    "  restoring the backup … 2 s",
    "  restoring the backup … 4 s",
  ])
  expect(findings[0]?.ms).toBeGreaterThanOrEqual(4000)
  expect(formatFindings(findings)).toMatch(/restore +whole \(\d\.\d s\)\n.*restore +more$/)
})

test("codes of an authenticator app match RFC 6238, appendix B", () => {
  const key = Buffer.from("12345678901234567890").toString("base64url")
  const at = [59, 1_111_111_109, 1_234_567_890, 20_000_000_000]
  expect(at.map((seconds) => totpOf(key, seconds * 1000))).toEqual([
    "287082",
    "081804",
    "005924",
    "353130",
  ])
})

test("runs one self-check at a time; the copy of a running one is left alone", () => {
  const { folder, remove } = fakeStorage(1)
  const lock = takeDoctorLock(folder)
  mkdirSync(folder.doctorCopy)
  expect(() => takeDoctorLock(folder)).toThrow(
    /another latchkey doctor --deep is running on this directory/,
  )
  dropDoctorCopy(folder)
  expect(() => mkdirSync(folder.doctorCopy)).toThrow(/EEXIST/)
  lock.release()
  dropDoctorCopy(folder)
  mkdirSync(folder.doctorCopy)
  remove()
})
