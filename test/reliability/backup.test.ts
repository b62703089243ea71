import { spawn, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  binary,
  freePort,
  type Running,
  run,
  serviceToken,
  start,
  temporaryFolder,
} from "../support/latchkey.ts"
import { type Client, call, isAcknowledged, newJournal, startLoad } from "../support/load.ts"
import { pause, until } from "../support/wait.ts"
import { openHouse } from "./house.ts"

const folder = temporaryFolder()
const at = (name: string) => join(folder.path, name)
const journal = newJournal()
let house: Awaited<ReturnType<typeof openHouse>>
let server: Running
let client: Client
/** Made while eight writers wrote. */
const saved = at("backup.tar.zst")
let manifest: { readonly position: number; readonly newest: string }

beforeAll(async () => {
  house = await openHouse(folder.path)
  server = await house.start()
  client = await house.client()
  const load = startLoad(client, journal, { name: "load" })
  await until(() => journal.answers.size > 200, { limitMs: 60_000 })
  const { code, output } = await latchkey("backup", saved, "--include-master-key", "--json")
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
  run([command, ...args, ...(args.includes("--data") ? [] : ["--data", house.data])])

const leftIn = (path: string) => readdirSync(path).filter((name) => name.endsWith(".part"))

describe("a backup made while many write (R-13, R-14)", () => {
  test("holds all that was acknowledged before its position, and nothing else", async () => {
    const data = at("restored")
    const restored = await latchkey("restore", saved, "--data", data)
    expect(restored).toMatchObject({ code: 0 })
    expect(restored.output).toContain(`up to event ${manifest.position}`)
    const before = [...journal.answers].filter(([deed]) => isAcknowledged(journal, deed))
    const users = before.filter(([deed]) => deed.kind === "user")
    const early = users.filter(([, { position }]) => position <= manifest.position)
    const late = users.filter(([, { position }]) => position > manifest.position)
    expect([early.length > 20, late.length > 0]).toEqual([true, true])

    await server.stop()
    const other = await start({ data, port: Number(new URL(client.url).port) })
    // With the token that was given before.
    const statusOf = async (one: (typeof users)[number]) =>
      (await call(client, "user.GetUserByID", { userId: idOf(one) })).status
    for (const one of early) expect(await statusOf(one)).toBe(200)
    for (const one of late) expect(await statusOf(one)).toBe(404)
    expect(await other.stop()).toBe(0)
    server = await house.start()
  })

  test("passes a drill, which leaves nothing", async () => {
    const work = at("drill")
    mkdirSync(work)
    const { code, output } = await latchkey("restore", saved, "--drill", "--work-folder", work)
    expect(output).toContain("Every event and every row is whole; 1 instances opened, 2 keys")
    expect(code).toBe(0)
    expect(readdirSync(work)).toEqual([])
  })

  test("goes to standard output, and is read by tar", async () => {
    const file = at("piped.tar.zst")
    const piped = spawnSync("sh", ["-c", `${binary} backup - --data ${house.data} > ${file}`])
    expect(piped.stderr.toString()).toBe("")
    expect(spawnSync("tar", ["--zstd", "-tf", file]).stdout.toString()).toContain("latchkey.db")
    expect((await latchkey("restore", file, "--check")).output).toContain("Without the master key")
  })

  test("is made of a folder that no server runs on, after a kill too", async () => {
    await server.stop("SIGKILL")
    const file = at("offline.tar.zst")
    expect(await latchkey("backup", file)).toMatchObject({ code: 0 })
    server = await house.start()
    expect((await latchkey("restore", file, "--check")).code).toBe(0)
  })
})

describe("cut off by kill -9", () => {
  test("a backup leaves the server and the next backup in peace", async () => {
    for (const ms of [150, 250, 350, 500]) {
      const file = at(`killed-${ms}`)
      const child = spawn(binary, ["backup", file, "--data", house.data], { env: {} })
      await pause(ms, "the kill must come at any moment, which is what is tested")
      child.kill("SIGKILL")
      if (!existsSync(file)) continue
      expect((await latchkey("restore", file, "--check")).code).toBe(0)
    }
    expect((await latchkey("backup", at("after-kill"))).code).toBe(0)
    expect(leftIn(house.data)).toEqual([])
  })

  test("a restore is made again, or has come to its end", async () => {
    for (const ms of [80, 120, 160, 240]) {
      const data = at(`kill-restore-${ms}`)
      const child = spawn(binary, ["restore", saved, "--data", data], { env: {} })
      const ended = new Promise((done) => child.once("close", done))
      await pause(ms, "the kill must come at any moment, which is what is tested")
      child.kill("SIGKILL")
      await ended
      const isThere = existsSync(join(data, "latchkey.db")) && leftIn(data).length === 0
      if (!isThere)
        expect(await latchkey("restore", saved, "--data", data)).toMatchObject({ code: 0 })
      const again = await start({ data, port: await freePort() })
      await again.stop()
    }
  })
})

describe("on a disk that lacks something", () => {
  test("too small a file limit leaves nothing of a backup", async () => {
    const file = at("limited")
    const limited = spawnSync("bash", [
      "-c",
      `trap '' XFSZ; ulimit -f 100; ${binary} backup ${file} --data ${house.data}`,
    ])
    expect(limited.stderr.toString()).toMatch(/^latchkey: [^\n]*(full|largest size|of that size)/)
    expect(limited.status).toBe(1)
    expect([existsSync(file), existsSync(`${file}.part`)]).toEqual([false, false])
    expect(leftIn(house.data)).toEqual([])
  })

  test("too small a file limit leaves nothing of a restore", () => {
    const data = at("limited-restore")
    const limited = spawnSync("bash", [
      "-c",
      `trap '' XFSZ; ulimit -f 100; ${binary} restore ${saved} --data ${data}`,
    ])
    expect(limited.stderr.toString()).toMatch(/^latchkey: [^\n]*of that size/)
    expect(limited.status).toBe(1)
    expect(existsSync(data)).toBe(false)
  })

  test("the server goes on through all of it", async () => {
    const token = await serviceToken(client.url, client.key)
    expect(token).not.toBe("")
    expect(server.output()).not.toMatch(/\[(error|fatal)\]/)
  })
})

const idOf = ([deed]: readonly [unknown, unknown]): string => {
  const { id } = { id: "", ...(deed as object) }
  return id
}
