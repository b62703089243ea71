import { Database } from "bun:sqlite"
import { spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { binary, freePort, owner, run, start, temporaryFolder } from "../support/latchkey.ts"

let home: string
let remove: () => void
let port: number
let url: string
beforeEach(async () => {
  const folder = temporaryFolder()
  home = folder.path
  remove = folder.remove
  port = await freePort()
  url = `http://localhost:${port}`
  writeFileSync(join(home, "password"), `${owner.password}\n`, { mode: 0o600 })
})
afterEach(() => remove())

const keyFile = (name: string) => join(home, `${name}.json`)
const setupArgs = (name: string, data = join(home, "data")) => [
  ...["setup", "--data", data, "--public-url", url, "--org", "Acme"],
  ...["--owner", owner.loginName, "--owner-email", owner.email],
  ...["--owner-password-file", join(home, "password"), "--service-key-file", keyFile(name)],
]

/** How many streams of each kind the database holds. */
function streamsIn(data: string): Readonly<Record<string, number>> {
  const database = new Database(join(data, "latchkey.db"))
  const counts = database
    .query<{ stream: string; n: number }, []>("SELECT stream, count(*) AS n FROM state GROUP BY 1")
    .all()
  database.close()
  return Object.fromEntries(counts.map(({ stream, n }) => [stream, n]))
}

/** One instance, organisation, owner and service user, and a key of each kind. */
const oneOfEach = { instance: 1, org: 1, user: 2, project: 1 }

async function expectServing(data: string): Promise<void> {
  const server = await start({ data, port })
  const { keys } = await (await fetch(`${url}/oauth/v2/keys`)).json()
  expect(keys.map((each: { alg: string }) => each.alg).sort()).toEqual(["ES256", "RS256"])
  await server.stop()
}

describe("a first start (R-08)", () => {
  test("raced by twenty processes makes one instance, and the others say why not", async () => {
    const ends = await Promise.all(
      Array.from({ length: 20 }, (_, racer) => run(setupArgs(`${racer}`))),
    )
    const winners = ends.flatMap(({ code }, racer) => (code === 0 ? [racer] : []))
    expect(winners).toHaveLength(1)
    for (const { output, code } of ends.filter((end) => end.code !== 0)) {
      expect(code).toBe(1)
      expect(output.trim()).toMatch(/^[^\n]*(in use by another|has been done already)[^\n]*$/)
    }
    const data = join(home, "data")
    await expectServing(data)
    expect(streamsIn(data)).toMatchObject(oneOfEach)
    expect(JSON.parse(readFileSync(keyFile(`${winners[0]}`), "utf8")).type).toBe("serviceaccount")
  }, 60_000)

  test("that is killed at any moment can be repeated, or was done", async () => {
    for (const milliseconds of [5, 15, 30, 50, 70, 90, 120, 200]) {
      const data = join(home, `data-${milliseconds}`)
      const name = `killed-${milliseconds}`
      const child = spawn(binary, setupArgs(name, data), { env: {}, stdio: "ignore" })
      const ended = new Promise<number | null>((done) => child.once("exit", done))
      await setTimeout(milliseconds)
      child.kill("SIGKILL")
      const wasDone = (await ended) === 0
      const again = await run(setupArgs(`${name}-again`, data))
      if (again.code !== 0) expect(again.output).toMatch(/has been done already/)
      expect(wasDone && again.code === 0).toBe(false)
      await expectServing(data)
      expect(streamsIn(data)).toMatchObject(oneOfEach)
    }
  }, 60_000)
})

test("a second process on one folder is refused within a second, in one line (R-09)", async () => {
  const data = join(home, "data")
  await run(setupArgs("key"))
  const server = await start({ data, port })
  const started = performance.now()
  const other = ["serve", "--data", data, "--listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0"]
  const { code, output } = await run(other)
  expect(performance.now() - started).toBeLessThan(1000)
  expect(code).toBe(1)
  expect(output.trim()).toMatch(/^[^\n]*in use by another Latchkey process \(pid \d+\)[^\n]*$/)
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
  await server.stop()
})
