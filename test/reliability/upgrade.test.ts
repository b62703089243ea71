// Folders that versions before ours have set up: latchkey.db, both files of the master key, and the
// key of the service user. Each is named by the version of its tables.
import { execFileSync, spawn } from "node:child_process"
import { cpSync, existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { inSnapshot } from "../../src/store/index.ts"
import { newestSchema } from "../../src/store/snapshot.ts"
import { binary, freePort, run, serviceToken, start, temporaryFolder } from "../support/latchkey.ts"
import { pause } from "../support/wait.ts"

const kept = join(import.meta.dirname, "earlier")
const earlier = readdirSync(kept).map((name) => [name.replace(".tar.gz", ""), name] as const)

let folder: ReturnType<typeof temporaryFolder>
let data = ""
let database = ""
beforeEach(() => {
  folder = temporaryFolder()
  data = folder.path
  database = join(data, "latchkey.db")
})
afterEach(() => folder.remove())

/** Unpacks one; answers what is in it. */
function unpack(name = "schema-3.tar.gz") {
  execFileSync("tar", ["-xzf", join(kept, name), "-C", data])
  return inSnapshot(database)
}

/** Somebody comes in by what the version before gave them. */
async function expectWhole(data = folder.path): Promise<void> {
  const key = JSON.parse(readFileSync(join(data, "service-key.json"), "utf8"))
  const port = await freePort()
  const args = ["--public-url", `http://localhost:${port}`]
  const server = await start({ data, port, args })
  try {
    expect(await serviceToken(server.url, key)).toContain(".")
  } finally {
    expect(await server.stop()).toBe(0)
  }
  expect(inSnapshot(join(data, "latchkey.db")).schema).toBe(newestSchema)
}

describe("a folder of an earlier version", () => {
  test.each(earlier)("opens (%s), and goes back", async (_, name) => {
    const before = unpack(name)
    expect(before.schema).toBeLessThan(newestSchema)
    await expectWhole()
    expect(inSnapshot(`${database}-before`)).toEqual(before)
    const { code, output } = await run(["upgrade", "undo", "--data", data])
    expect([code, output]).toEqual([0, expect.stringContaining("again as it was before")])
    expect(inSnapshot(database)).toEqual(before)
    expect((await run(["upgrade", "undo", "--data", data])).code).toBe(1)
  })
})

describe("with a new master key after the upgrade", () => {
  test.each(earlier)("a folder (%s) goes back, and opens", async (_, name) => {
    const before = unpack(name)
    await expectWhole()
    expect((await run(["keys", "rotate-master", "--data", data])).code).toBe(0)
    expect((await run(["upgrade", "undo", "--data", data])).code).toBe(0)
    expect(inSnapshot(database)).toEqual(before)
    await expectWhole()
  })

  test("whose coming is killed at any moment, it opens, and goes back", async () => {
    const before = unpack("schema-6.tar.gz")
    await expectWhole()
    const began = performance.now()
    expect((await run(["keys", "rotate-master", "--data", data])).code).toBe(0)
    const whole = performance.now() - began
    const ended = new Set<number | null>()
    for (let part = 2; part <= 11; part++) {
      const child = spawn(binary, ["keys", "rotate-master", "--data", data], { env: {} })
      const end = new Promise<number | null>((done) => child.once("exit", done))
      await pause((whole * part) / 10, "the kill must come at any moment, which is what is tested")
      child.kill("SIGKILL")
      ended.add(await end)
      const other = temporaryFolder()
      cpSync(data, other.path, { recursive: true })
      const { code, output } = await run(["upgrade", "undo", "--data", other.path])
      expect([code, output]).toEqual([0, expect.stringContaining("again as it was before")])
      expect(inSnapshot(join(other.path, "latchkey.db"))).toEqual(before)
      await expectWhole(other.path)
      other.remove()
    }
    expect(ended).toContain(null)
    await expectWhole()
  })
})

test("a start that is killed at any moment loses nothing", async () => {
  const before = unpack()
  for (const ms of [20, 35, 45, 55, 65, 75, 90, 110, 150]) {
    const port = await freePort()
    const listening = ["--listen", `127.0.0.1:${port}`, "--grpc-listen", "127.0.0.1:0"]
    const child = spawn(binary, ["serve", "--data", data, ...listening], { env: {} })
    const ended = new Promise((done) => child.once("exit", done))
    await pause(ms, "the kill must come at any moment, which is what is tested")
    child.kill("SIGKILL")
    await ended
  }
  await expectWhole()
  expect(inSnapshot(database).position).toBeGreaterThanOrEqual(before.position)
  expect(inSnapshot(`${database}-before`)).toEqual(before)
})

test("where there is no room, nothing is changed, and the word says so", async () => {
  const before = unpack()
  const pages = Math.ceil(readFileSync(database).length / 1024)
  const ended: string[] = []
  // Beside the copy alone, in the midst of the changes, and with room enough.
  for (const blocks of [40, pages - 8, pages + 8, pages + 200]) {
    const { code, said } = await limited(blocks)
    ended.push(said)
    if (code === 0) break
    expect([code, said]).toEqual([
      1,
      expect.stringMatching(/the largest size|It is again as it was/),
    ])
    expect(inSnapshot(database)).toEqual(before)
    expect(existsSync(`${database}-before`)).toBe(false)
  }
  expect(ended.length).toBeGreaterThan(1)
  await expectWhole()
})

/** Starts where no file may be larger than so many KiB; ends it when it answers. */
async function limited(blocks: number) {
  const port = await freePort()
  const listening = `--listen 127.0.0.1:${port} --grpc-listen 127.0.0.1:0`
  const serve = `${binary} serve --data ${data} ${listening}`
  const child = spawn("bash", ["-c", `trap '' XFSZ; ulimit -f ${blocks}; exec ${serve}`], {
    env: {},
  })
  let said = ""
  child.stdout.on("data", (chunk) => {
    said += chunk
    if (said.includes("ready in")) child.kill("SIGTERM")
  })
  child.stderr.on("data", (chunk) => (said += chunk))
  const code = await new Promise<number | null>((done) => child.once("close", done))
  return { code, said }
}
