// Data directories set up by earlier versions: latchkey.db, both files of the master key, and the
// key of the service account. Each is named after its schema version.
import { execFileSync, spawn } from "node:child_process"
import { cpSync, existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { readSnapshot } from "../../src/store/index.ts"
import { supportedSchema } from "../../src/store/snapshot.ts"
import {
  binary,
  freePort,
  run,
  serviceToken,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { pause } from "../support/wait.ts"

const archiveFolder = join(import.meta.dirname, "earlier")
const earlier = readdirSync(archiveFolder).map(
  (name) => [name.replace(".tar.gz", ""), name] as const,
)

let folder: ReturnType<typeof temporaryFolder>
let data = ""
let database = ""
beforeEach(() => {
  folder = temporaryFolder()
  data = folder.path
  database = join(data, "latchkey.db")
})
afterEach(() => folder.remove())

/** Unpacks one; returns its content. */
function unpack(name = "schema-3.tar.gz") {
  execFileSync("tar", ["-xzf", join(archiveFolder, name), "-C", data])
  return readSnapshot(database)
}

/** The credentials from the earlier version still work. */
async function expectComplete(data = folder.path): Promise<void> {
  const key = JSON.parse(readFileSync(join(data, "service-key.json"), "utf8"))
  const port = await freePort()
  const args = ["--public-url", `http://localhost:${port}`]
  const server = await startLatchkey({ data, port, args })
  try {
    expect(await serviceToken(server.url, key)).toContain(".")
  } finally {
    expect(await server.stop()).toBe(0)
  }
  expect(readSnapshot(join(data, "latchkey.db")).schema).toBe(supportedSchema)
}

describe("a data directory of an earlier version", () => {
  test.each(earlier)("opens (%s), and can be downgraded", async (_, name) => {
    const before = unpack(name)
    expect(before.schema).toBeLessThan(supportedSchema)
    await expectComplete()
    expect(readSnapshot(`${database}-before`)).toEqual(before)
    const { code, output } = await run(["upgrade", "undo", "--data", data])
    expect([code, output]).toEqual([
      0,
      expect.stringContaining("The data is restored to the " + "state before the upgrade"),
    ])
    expect(readSnapshot(database)).toEqual(before)
    expect((await run(["upgrade", "undo", "--data", data])).code).toBe(1)
  })
})

describe("with a new master key after the upgrade", () => {
  test.each(earlier)(
    "a data directory (%s) can be downgraded, and upgraded again",
    async (_, name) => {
      const before = unpack(name)
      await expectComplete()
      expect((await run(["keys", "rotate-master", "--data", data])).code).toBe(0)
      expect((await run(["upgrade", "undo", "--data", data])).code).toBe(0)
      expect(readSnapshot(database)).toEqual(before)
      await expectComplete()
    },
  )

  test("whose upgrade is killed at any moment opens, and can be downgraded", async () => {
    const before = unpack("schema-6.tar.gz")
    await expectComplete()
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
      expect([code, output]).toEqual([
        0,
        expect.stringContaining("The data is restored to the state before the " + "upgrade"),
      ])
      expect(readSnapshot(join(other.path, "latchkey.db"))).toEqual(before)
      await expectComplete(other.path)
      other.remove()
    }
    expect(ended).toContain(null)
    await expectComplete()
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
  await expectComplete()
  expect(readSnapshot(database).position).toBeGreaterThanOrEqual(before.position)
  expect(readSnapshot(`${database}-before`)).toEqual(before)
})

test("without free space nothing is changed, which is reported", async () => {
  const before = unpack()
  const pages = Math.ceil(readFileSync(database).length / 1024)
  const ended: string[] = []
  // With space for the copy only, in the middle of the changes, and with enough space.
  for (const blocks of [40, pages - 8, pages + 8, pages + 200]) {
    const { code, said } = await startLimited(blocks)
    ended.push(said)
    if (code === 0) break
    expect([code, said]).toEqual([
      1,
      expect.stringMatching(/the maximum file size|The data was restored to its previous state/),
    ])
    expect(readSnapshot(database)).toEqual(before)
    expect(existsSync(`${database}-before`)).toBe(false)
  }
  expect(ended.length).toBeGreaterThan(1)
  await expectComplete()
})

/** Starts with a file size limit, in blocks of 1 KiB; stops it when it responds. */
async function startLimited(blocks: number) {
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
