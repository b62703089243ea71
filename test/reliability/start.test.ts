// Starts on files and disks that are not as they should be, by the built binary.
import { spawnSync } from "node:child_process"
import { chmodSync, cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { binary, temporaryFolder } from "../support/latchkey.ts"
import { newJournal, startLoad } from "../support/load.ts"
import { audit } from "./audit.ts"
import { type Child, isPlainRefusal, launch, serveArgs, setupArgs } from "./bootstrap/process.ts"
import { openHouse } from "./house.ts"

const folder = temporaryFolder()
afterAll(() => folder.remove())

let children: Child[] = []
afterEach(async () => {
  await Promise.all(children.map((child) => child.kill()))
  children = []
})

function launched(...how: Parameters<typeof launch>): Child {
  const child = launch(...how)
  children.push(child)
  return child
}

describe("on the folder of a server that was killed under load", () => {
  let data: string
  let copies = 0
  const journal = newJournal()

  beforeAll(async () => {
    const house = await openHouse(folder.path)
    const server = await house.start()
    const load = startLoad(await house.client(), journal, { name: "load" })
    while (journal.answers.size < 100) await Bun.sleep(20)
    await server.stop("SIGKILL")
    await load.ended
    data = house.data
  }, 120_000)

  /** The folder, in another place. */
  const copied = () => {
    const copy = join(folder.path, `copy-${copies++}`)
    cpSync(data, copy, { recursive: true, filter: (path) => !path.endsWith(".sock") })
    return { data: copy, file: join(copy, "latchkey.db") }
  }

  test("goes on where nothing is missing", async () => {
    const whole = copied()
    const server = launched(serveArgs(whole.data))
    expect(await server.greeted).toMatch(/^http/)
    expect((await server.kill("SIGTERM")).code).toBe(0)
    expect(await audit(whole.file)).toEqual([])
  })

  const losses: Readonly<Record<string, readonly [lose: (file: string) => void, says: RegExp]>> = {
    "the database": [(file) => rmSync(file), /latchkey\.db is gone or empty, but .*-mark says/],
    "all of the database": [(file) => truncateSync(file, 0), /is gone or empty, but .*-mark/],
    "the database and the mark": [
      (file) => [file, `${file}-mark`].forEach((path) => void rmSync(path)),
      /is gone or empty, but its WAL, .*, has \d+ bytes of data/,
    ],
    "the WAL": [(file) => rmSync(`${file}-wal`), /-wal is gone, and the database lacks/],
    "the second half of the WAL": [
      (file) => truncateSync(`${file}-wal`, readFileSync(`${file}-wal`).length / 2),
      /-wal is damaged or cut from byte \d+ on: .* up to position \d+ would be lost/,
    ],
    "a bit in the middle of the WAL": [
      (file) => {
        const bytes = readFileSync(`${file}-wal`)
        const middle = Math.floor(bytes.length / 2)
        bytes.writeUInt8(bytes.readUInt8(middle) ^ 4, middle)
        writeFileSync(`${file}-wal`, bytes)
      },
      /-wal is damaged or cut from byte \d+ on: .* up to position \d+ would be lost/,
    ],
  }

  test.each(Object.keys(losses))("is refused in one line where it lacks %s", async (what) => {
    const [lose, says] = losses[what] ?? [() => undefined, /never/]
    const copy = copied()
    lose(copy.file)
    const end = await launched(serveArgs(copy.data)).ended
    expect(end.error).toMatch(says)
    expect(isPlainRefusal(end)).toBe(true)
    // Nothing was begun beside it, by setting up neither.
    const again = await launched(setupArgs(folder.path, copy.data)).ended
    expect(again.error).toBe(end.error)
  })

  test("warns of a master key that others may read", async () => {
    const copy = copied()
    const keyFile = join(copy.data, "master.key")
    chmodSync(keyFile, 0o644)
    const server = launched(serveArgs(copy.data))
    await server.greeted
    const { error } = await server.kill("SIGTERM")
    expect(error).toMatch(/\[WRN\] latchkey: others may use the master key .*run chmod 600 /)
  })
})

/** Only who may mount has a disk to fill: root, or who may have a namespace of their own. */
const mayMount = spawnSync("unshare", ["-rm", "true"]).status === 0

describe.runIf(mayMount)("on a full disk", () => {
  test("serves reads, is not ready, and is again when there is room", async () => {
    const disk = join(folder.path, "disk")
    const free = join(folder.path, "free")
    const script = `
      set -e # a small disk that is filled, and some room as soon as somebody says so
      mkdir -p ${disk}
      mount -t tmpfs -o size=32m none ${disk}
      ${binary} ${setupArgs(folder.path, join(disk, "data")).join(" ")} > /dev/null
      cat /dev/zero > ${disk}/fill 2> /dev/null || true
      (for _ in $(seq 300); do [ -e ${free} ] && break; sleep 0.1; done
       rm ${disk}/fill) > /dev/null 2>&1 &
      exec ${binary} ${serveArgs(join(disk, "data")).join(" ")}`
    const server = launched(["-rm", "sh", "-c", script], {
      program: "unshare",
      env: { PATH: process.env.PATH ?? "" },
    })
    const url = await server.greeted
    const headers = { host: "localhost:8080" }
    const asked = async (path: string) => {
      const answer = await fetch(`${url}${path}`, { headers })
      return [answer.status, (await answer.text()).slice(0, 60)]
    }
    expect(await asked("/debug/ready")).toEqual([503, expect.stringContaining("the disk is full")])
    expect((await asked("/.well-known/openid-configuration"))[0]).toBe(200)
    writeFileSync(free, "")
    await expect.poll(() => asked("/debug/ready")).toEqual([200, "ok\n"])
    expect((await server.kill("SIGTERM")).code).toBe(0)
  })
})
