import { spawn, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  binary,
  freePort,
  type RunningServer,
  run,
  serviceToken,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { type Client, call, isAcknowledged, newJournal, startLoad } from "../support/load.ts"
import { pause, until } from "../support/wait.ts"
import { openServerFolder } from "./server-folder.ts"

const folder = temporaryFolder()
const pathOf = (name: string) => join(folder.path, name)
const journal = newJournal()
let serverFolder: Awaited<ReturnType<typeof openServerFolder>>
let server: RunningServer
let client: Client
/** Created while eight writers ran. */
const backupFile = pathOf("backup.tar.zst")
let manifest: { readonly position: number; readonly newest: string }

beforeAll(async () => {
  serverFolder = await openServerFolder(folder.path)
  server = await serverFolder.start()
  client = await serverFolder.client()
  const load = startLoad(client, journal, { name: "load" })
  await until(() => journal.answers.size > 200, { limitMs: 60_000 })
  const { code, output } = await latchkey("backup", backupFile, "--include-master-key", "--json")
  const before = journal.answers.size
  await until(() => journal.answers.size > before + 50)
  load.stop()
  await load.ended
  expect(code, output).toBe(0)
  manifest = JSON.parse(output)
})
afterAll(async () => {
  await server.stop()
  folder.remove()
})

const latchkey = (command: string, ...args: string[]) =>
  run([command, ...args, ...(args.includes("--data") ? [] : ["--data", serverFolder.data])])

const listPartFiles = (path: string) => readdirSync(path).filter((name) => name.endsWith(".part"))

describe("a backup created under writes (R-13, R-14)", () => {
  test("contains all writes acknowledged before its position, and nothing else", async () => {
    const data = pathOf("restored")
    const restored = await latchkey("restore", backupFile, "--data", data)
    expect(restored).toMatchObject({ code: 0 })
    expect(restored.output).toContain(`All events up to ${manifest.position} (`)
    const before = [...journal.answers].filter(([deed]) => isAcknowledged(journal, deed))
    const users = before.filter(([deed]) => deed.kind === "user")
    const early = users.filter(([, { position }]) => position <= manifest.position)
    const late = users.filter(([, { position }]) => position > manifest.position)
    expect([early.length > 20, late.length > 0]).toEqual([true, true])

    await server.stop()
    const other = await startLatchkey({ data, port: Number(new URL(client.url).port) })
    // With the token that was issued before.
    const statusOf = async (one: (typeof users)[number]) =>
      (await call(client, "user.GetUserByID", { userId: idOf(one) })).status
    for (const one of early) expect(await statusOf(one)).toBe(200)
    for (const one of late) expect(await statusOf(one)).toBe(404)
    expect(await other.stop()).toBe(0)
    server = await serverFolder.start()
  })

  test("passes a verification, which leaves nothing behind", async () => {
    const work = pathOf("drill")
    mkdirSync(work)
    const { code, output } = await latchkey("restore", backupFile, "--drill", "--work-folder", work)
    expect(output).toContain("All events and rows are intact; 1 instances opened, 2 signing keys")
    expect(code).toBe(0)
    expect(readdirSync(work)).toEqual([])
  })

  test("can be written to standard output, and read by tar", async () => {
    const file = pathOf("piped.tar.zst")
    const piped = spawnSync("sh", [
      "-c",
      `${binary} backup - --data ${serverFolder.data} > ${file}`,
    ])
    expect(piped.stderr.toString()).toBe("")
    expect(spawnSync("tar", ["--zstd", "-tf", file]).stdout.toString()).toContain("latchkey.db")
    expect((await latchkey("restore", file, "--check")).output).toContain("Without the master key")
  })

  test("can be created from a stopped server's data directory, also after a kill", async () => {
    await server.stop("SIGKILL")
    const file = pathOf("offline.tar.zst")
    expect(await latchkey("backup", file)).toMatchObject({ code: 0 })
    server = await serverFolder.start()
    expect((await latchkey("restore", file, "--check")).code).toBe(0)
  })
})

describe("interrupted by kill -9", () => {
  test("a backup does not affect the server and the next backup", async () => {
    for (const ms of [150, 250, 350, 500]) {
      const file = pathOf(`killed-${ms}`)
      const child = spawn(binary, ["backup", file, "--data", serverFolder.data], { env: {} })
      await pause(ms, "the kill must come at any moment, which is what is tested")
      child.kill("SIGKILL")
      if (!existsSync(file)) continue
      expect((await latchkey("restore", file, "--check")).code).toBe(0)
    }
    expect((await latchkey("backup", pathOf("after-kill"))).code).toBe(0)
    expect(listPartFiles(serverFolder.data)).toEqual([])
  })

  test("a restore can be repeated, or has completed", async () => {
    for (const ms of [80, 120, 160, 240]) {
      const data = pathOf(`kill-restore-${ms}`)
      const child = spawn(binary, ["restore", backupFile, "--data", data], { env: {} })
      const ended = new Promise((done) => child.once("close", done))
      await pause(ms, "the kill must come at any moment, which is what is tested")
      child.kill("SIGKILL")
      await ended
      const isThere = existsSync(join(data, "latchkey.db")) && listPartFiles(data).length === 0
      if (!isThere)
        expect(await latchkey("restore", backupFile, "--data", data)).toMatchObject({ code: 0 })
      const again = await startLatchkey({ data, port: await freePort() })
      await again.stop()
    }
  })
})

describe("on a disk with a limit", () => {
  test("a file size limit leaves no partial backup", async () => {
    const file = pathOf("limited")
    const limited = spawnSync("bash", [
      "-c",
      `trap '' XFSZ; ulimit -f 100; ${binary} backup ${file} --data ${serverFolder.data}`,
    ])
    expect(limited.stderr.toString()).toMatch(
      /^latchkey: [^\n]*(full|maximum file size|files of this size)/,
    )
    expect(limited.status).toBe(1)
    expect([existsSync(file), existsSync(`${file}.part`)]).toEqual([false, false])
    expect(listPartFiles(serverFolder.data)).toEqual([])
  })

  test("a file size limit leaves no partial restore", () => {
    const data = pathOf("limited-restore")
    const limited = spawnSync("bash", [
      "-c",
      `trap '' XFSZ; ulimit -f 100; ${binary} restore ${backupFile} --data ${data}`,
    ])
    expect(limited.stderr.toString()).toMatch(
      /^latchkey: [^\n]*not allowed to write files of this size/,
    )
    expect(limited.status).toBe(1)
    expect(existsSync(data)).toBe(false)
  })

  test("the server keeps running throughout", async () => {
    const token = await serviceToken(client.url, client.key)
    expect(token).not.toBe("")
    expect(server.output()).not.toMatch(/\[(error|fatal)\]/)
  })
})

const idOf = ([deed]: readonly [unknown, unknown]): string => {
  const { id } = { id: "", ...(deed as object) }
  return id
}
