// Starts of the built binary on damaged files and disks.
import { execFileSync, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { chmodSync, cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { apiScope, binary, temporaryFolder } from "../support/latchkey.ts"
import { createSingleUseAssertion, newJournal, startLoad } from "../support/load.ts"
import { needs } from "../support/prerequisite.ts"
import { until } from "../support/wait.ts"
import { audit } from "./audit.ts"
import { type Child, isPlainError, launch, serveArgs, setupArgs } from "./bootstrap/process.ts"
import { openServerFolder } from "./server-folder.ts"

const folder = temporaryFolder()
afterAll(() => folder.remove())

let children: Child[] = []
afterEach(async () => {
  await Promise.all(children.map((child) => child.kill()))
  children = []
})

function launchChild(...options: Parameters<typeof launch>): Child {
  const child = launch(...options)
  children.push(child)
  return child
}

describe("on the data directory of a server that was killed under load", () => {
  let data: string
  let copies = 0
  const journal = newJournal()

  beforeAll(async () => {
    const house = await openServerFolder(folder.path)
    const server = await house.start()
    const load = startLoad(await house.client(), journal, { name: "load" })
    await until(() => journal.answers.size >= 100, { limitMs: 60_000 })
    await server.stop("SIGKILL")
    await load.ended
    data = house.data
  })

  /** A copy of the data directory. */
  const copied = () => {
    const copy = join(folder.path, `copy-${copies++}`)
    cpSync(data, copy, { recursive: true, filter: (path) => !path.endsWith(".sock") })
    return { data: copy, file: join(copy, "latchkey.db") }
  }

  test("starts if nothing is missing", async () => {
    const whole = copied()
    const server = launchChild(serveArgs(whole.data))
    expect(await server.ready).toMatch(/^http/)
    expect((await server.kill("SIGTERM")).code).toBe(0)
    expect(await audit(whole.file)).toEqual([])
  })

  const losses: Readonly<Record<string, readonly [lose: (file: string) => void, says: RegExp]>> = {
    "the database": [
      (file) => rmSync(file),
      /latchkey\.db is missing or empty, but .*-mark shows that it existed/,
    ],
    "all of the database": [(file) => truncateSync(file, 0), /is missing or empty, but .*-mark/],
    "the database and the mark": [
      (file) => [file, `${file}-mark`].forEach((path) => void rmSync(path)),
      /is missing or empty, but its WAL, .*, has \d+ bytes of data/,
    ],
    "the WAL": [
      (file) => rmSync(`${file}-wal`),
      /-wal is missing, and with it events up to position \d+/,
    ],
    "the second half of the WAL": [
      (file) => truncateSync(`${file}-wal`, readFileSync(`${file}-wal`).length / 2),
      /-wal is damaged or truncated from byte \d+ on: .* up to position \d+ would be lost/,
    ],
    "a bit in the middle of the WAL": [
      (file) => {
        const bytes = readFileSync(`${file}-wal`)
        const middle = Math.floor(bytes.length / 2)
        bytes.writeUInt8(bytes.readUInt8(middle) ^ 4, middle)
        writeFileSync(`${file}-wal`, bytes)
      },
      /-wal is damaged or truncated from byte \d+ on: .* up to position \d+ would be lost/,
    ],
  }

  test.each(Object.keys(losses))("fails with one line if it lacks %s", async (description) => {
    const [lose, says] = losses[description] ?? [() => undefined, /never/]
    const copy = copied()
    lose(copy.file)
    const end = await launchChild(serveArgs(copy.data)).ended
    expect(end.error).toMatch(says)
    expect(isPlainError(end)).toBe(true)
    // No new file was created beside it, not even by setup.
    const again = await launchChild(setupArgs(folder.path, copy.data)).ended
    expect(again.error).toBe(end.error)
  })

  test("warns about a master key that other users can read", async () => {
    const copy = copied()
    const keyFile = join(copy.data, "master.key")
    chmodSync(keyFile, 0o644)
    const server = launchChild(serveArgs(copy.data))
    await server.ready
    const { error } = await server.kill("SIGTERM")
    expect(error).toMatch(/\[WRN\] latchkey: other users can read the master key .*run chmod 600 /)
  })
})

/** Only root, or a user with a namespace of their own, can mount a disk to fill. */
const canMount = spawnSync("unshare", ["-rm", "true"]).status === 0

describe.runIf(canMount)("on a full disk", () => {
  test("serves reads, is not ready, and writes again with free space", async () => {
    const disk = join(folder.path, "disk")
    const free = join(folder.path, "free")
    const keyFile = join(folder.path, "key.json")
    const script = `
      set -e # a small disk that is filled, and some room as soon as somebody says so
      mkdir -p ${disk}
      mount -t tmpfs -o size=32m none ${disk}
      ${binary} ${setupArgs(folder.path, join(disk, "data")).join(" ")} \\
        --service-key-file ${keyFile} > /dev/null
      cat /dev/zero > ${disk}/fill 2> /dev/null || true
      (for _ in $(seq 300); do [ -e ${free} ] && break; sleep 0.1; done
       rm ${disk}/fill) > /dev/null 2>&1 &
      exec ${binary} ${serveArgs(join(disk, "data")).join(" ")}`
    const server = launchChild(["-rm", "sh", "-c", script], {
      program: "unshare",
      env: { PATH: process.env.PATH ?? "" },
    })
    const url = await server.ready
    const headers = { host: "localhost:8080" }
    const asked = async (path: string) => {
      const answer = await fetch(`${url}${path}`, { headers })
      return [answer.status, (await answer.text()).slice(0, 60)]
    }
    /** Uses an assertion with a jti, and creates an organization with the token. */
    const written = async (name: string) => {
      const key = JSON.parse(readFileSync(keyFile, "utf8"))
      const assertion = await createSingleUseAssertion({ url: "http://localhost:8080", key })
      const grant = { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", scope: apiScope }
      const body = new URLSearchParams({ ...grant, assertion })
      const traded = await fetch(`${url}/oauth/v2/token`, { method: "POST", headers, body })
      const { access_token, error } = await traded.json()
      if (error) return [traded.status, error]
      const made = await fetch(`${url}/core.org.v2.OrganizationService/AddOrganization`, {
        method: "POST",
        headers: {
          ...headers,
          "content-type": "application/json",
          authorization: `Bearer ${access_token}`,
        },
        body: JSON.stringify({ name }),
      })
      return [made.status, Object.keys(await made.json()).includes("organizationId")]
    }
    expect(await asked("/debug/ready")).toEqual([503, expect.stringContaining("the disk is full")])
    expect((await asked("/.well-known/openid-configuration"))[0]).toBe(200)
    expect(await written("Too soon")).toEqual([503, "temporarily_unavailable"])
    writeFileSync(free, "")
    await expect.poll(() => asked("/debug/ready"), { timeout: 60_000 }).toEqual([200, "ok\n"])
    expect(await written("In time")).toEqual([200, true])
    expect((await server.kill("SIGTERM")).code).toBe(0)
  })
})

const isLinuxWithCompiler = process.platform === "linux" && needs("gcc")

describe.runIf(isLinuxWithCompiler)("a disk that always fails", () => {
  const without = join(folder.path, "without")
  const data = join(folder.path, "refused")
  beforeAll(async () => {
    const source = join(import.meta.dirname, "refused-call/without.c")
    execFileSync("gcc", ["-O1", "-Wall", "-o", without, source])
    expect((await launchChild(setupArgs(folder.path, data)).ended).code).toBe(0)
  })

  const backup = /restore .* from a backup/
  test.each([
    ["write", "EDQUOT", /disk quota is exhausted.*; raise it or free some space/],
    ["write", "ENOSPC", /the disk is full.*; free some space/],
    [
      "write",
      "EIO",
      /input\/output error.*; check the disk and the system log.* don't restore a backup/,
    ],
    [
      "read",
      "EIO",
      /input\/output error.*; check the disk and the system log.* don't restore a backup/,
    ],
  ])("is reported at the start, with a remedy: %s %s", async (call, code, says) => {
    const before = contentsOf(data)
    const args = [call, code, binary, ...serveArgs(data)]
    const end = await launchChild(args, { program: without }).ended
    expect(end.error).toMatch(says)
    expect(end.error).not.toMatch(backup)
    expect(isPlainError(end)).toBe(true)
    expect(contentsOf(data)).toEqual(before)
  })
})

/** The hashes of a database's files, without the index of the WAL, which contains no data. */
const contentsOf = (data: string): readonly string[] =>
  ["", "-wal", "-mark"].map((end) =>
    createHash("sha256")
      .update(readFileSync(join(data, `latchkey.db${end}`)))
      .digest("hex"),
  )
