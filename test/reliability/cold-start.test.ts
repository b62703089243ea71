import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
} from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { binary, freePort, temporaryFolder } from "../support/latchkey.ts"
import { type Client, call, sendWrite } from "../support/load.ts"
import { measureTime } from "../support/scaled-time.ts"
import {
  type Child,
  type LaunchOptions,
  launch,
  serveArgs,
  setupArgs,
} from "./bootstrap/process.ts"
import { fillDatabase } from "./replay/population.ts"
import { openClient, openServerFolder } from "./server-folder.ts"

/**
 * The time to the first response, in ms; the best of five, because other processes use the machine
 * too.
 */
async function measureColdStart(data: () => string): Promise<number> {
  const took: number[] = []
  for (let time = 0; time < 5; time++) {
    const folder = data()
    const [{ server, url }, ms] = await measureTime(async () => {
      const server = launch(serveArgs(folder))
      const url = await server.ready
      expect((await fetch(`${url}/healthz`)).status).toBe(200)
      return { server, url }
    })
    took.push(ms)
    // A monitor of the process may not know its public URL.
    for (const path of ["healthz", "ready"]) {
      const answer = await fetch(`${url}/debug/${path}`, { headers: { host: "10.0.0.7" } })
      expect([answer.status, await answer.text()]).toEqual([200, "ok\n"])
    }
    await server.kill("SIGTERM")
  }
  return Math.min(...took)
}

describe("a cold start (R-32)", () => {
  const folder = temporaryFolder()
  afterAll(() => folder.remove())

  test("on an empty data directory responds within 500 ms", async () => {
    let count = 0
    expect(await measureColdStart(() => join(folder.path, `empty-${count++}`))).toBeLessThan(500)
  })

  test("with 50,000 events responds within two seconds", async () => {
    const house = await openServerFolder(folder.path)
    await fillDatabase(house.file, 50_000)
    expect(await measureColdStart(() => house.data)).toBeLessThan(2000)
  })
})

const nobody = 65_534
const isRoot = process.getuid?.() === 0

describe("from a read-only directory, as nobody, with unusual locale settings (R-32)", () => {
  const folder = temporaryFolder()
  const place = join(folder.path, "place")
  const home = join(folder.path, "home")
  const data = join(home, "data")
  const keyFile = join(home, "key.json")
  const surroundings: LaunchOptions = {
    program: join(place, "latchkey"),
    cwd: place,
    env: { TZ: "Pacific/Apia", LC_ALL: "tr_TR.UTF-8", LANG: "tr_TR.UTF-8" },
    ...(isRoot ? { uid: nobody, gid: nobody } : {}),
  }
  let server: Child
  let client: Client

  beforeAll(async () => {
    for (const path of [place, home]) mkdirSync(path)
    copyFileSync(binary, join(place, "latchkey"))
    for (const path of [join(place, "latchkey"), place]) chmodSync(path, 0o555)
    chmodSync(folder.path, 0o755)
    if (isRoot) chownSync(home, nobody, nobody)
    const port = await freePort()
    const url = `http://localhost:${port}`
    const setup = [...setupArgs(folder.path, data, url), "--service-key-file", keyFile]
    const { code, error } = await launch(setup, surroundings).ended
    expect([code, error]).toEqual([0, ""])
    server = launch([...serveArgs(data), "--listen", `127.0.0.1:${port}`], surroundings)
    expect(await server.ready).toBeDefined()
    client = await openClient(url, JSON.parse(readFileSync(keyFile, "utf8")))
  })
  afterAll(async () => {
    await server?.kill("SIGTERM")
    chmodSync(place, 0o755)
    folder.remove()
  })

  test("it writes to its data directory only", async () => {
    expect(readdirSync(place)).toEqual(["latchkey"])
    expect(readdirSync(home).sort()).toEqual(["data", "key.json"])
    expect(statSync(join(data, "latchkey.db")).uid).toBe(isRoot ? nobody : process.getuid?.())
  })

  test("it hashes passwords, folds names as everywhere else, and prints times in UTC", async () => {
    const user = { kind: "user", id: "odd", name: "DIYARBAKIR-istanbul" } as const
    const made = await sendWrite(client, user)
    expect(made.status).toBe(200)
    expect(made.body.creationDate).toMatch(/Z$/)
    expect(Math.abs(Date.parse(made.body.creationDate) - Date.now())).toBeLessThan(60_000)
    const password = { kind: "password", id: "odd", password: "Turkish-password-1" } as const
    expect((await sendWrite(client, password)).status).toBe(200)
    // In Turkish the lower case of I is another letter.
    const loginName = "diyarbakir-ISTANBUL"
    const queries = [
      { loginNameQuery: { loginName, method: "TEXT_QUERY_METHOD_EQUALS_IGNORE_CASE" } },
    ]
    const { body } = await call(client, "user.ListUsers", { queries })
    expect(body.result?.map((each: any) => each.userId)).toEqual(["odd"])
  })
})
