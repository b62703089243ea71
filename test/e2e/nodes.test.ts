// The console shows both nodes of an instance, and reports a stopped one.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openBrowser } from "../support/browser.ts"
import { openSignedIn } from "../support/console-pages.ts"
import {
  freePort,
  type RunningServer,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { type Postgres, startPostgres } from "../support/postgres.ts"
import { needs } from "../support/prerequisite.ts"
import { type RoundRobin, startRoundRobin } from "../support/round-robin.ts"

describe.runIf(needs("chromium") && needs("postgres"))("two nodes, in the console", () => {
  const folder = temporaryFolder()
  let postgres: Postgres
  let proxy: RoundRobin
  let browser: Browser
  let page: Page
  const nodes: RunningServer[] = []

  beforeAll(async () => {
    postgres = startPostgres()
    proxy = startRoundRobin(await freePort())
    const database = await postgres.database()
    const key = join(folder.path, "key")
    writeFileSync(key, Buffer.alloc(32, 7).toString("base64"), { mode: 0o600 })
    const folders = ["one", "two"].map((name) => join(folder.path, name))
    for (const data of folders) {
      mkdirSync(data, { mode: 0o700 })
      const settings = `database = "${database}"\nmaster_key_file = "${key}"\n`
      writeFileSync(join(data, "latchkey.toml"), settings)
    }
    const url = `http://localhost:${proxy.port}`
    await setUp(folders[0] ?? "", url)
    for (const data of folders) nodes.push(await startLatchkey({ data, port: await freePort() }))
    proxy.setPorts(nodes.map((node) => Number(new URL(node.url).port)))
    browser = await openBrowser()
    page = await openSignedIn(await browser.newContext({ locale: "en" }), `${url}/ui/console/nodes`)
  })
  afterAll(async () => {
    await browser?.close()
    await Promise.all(nodes.map((node) => node.stop("SIGKILL")))
    await proxy?.stop()
    postgres?.remove()
    folder.remove()
  })

  const rows = () => page.locator("main.content tbody tr").allInnerTexts()
  const works = /Leader/

  test("are listed with their position and the leader", async () => {
    await page.getByRole("heading", { name: "Nodes", level: 1 }).waitFor()
    await expect.poll(rows).toHaveLength(2)
    const found = await rows()
    expect(found[0]).toMatch(/^Node 0/)
    expect(found[1]).toMatch(/^Node 1/)
    expect(found.filter((row) => /this one/.test(row))).toHaveLength(1)
    expect(found.filter((row) => works.test(row))).toHaveLength(1)
    // Each node reports within a second the position that includes this sign-in.
    for (const at of [0, 1]) {
      const row = async () => (await rows())[at]
      await expect.poll(row).toMatch(/\b\d+\s+0\s+(now|this minute)\s+\d+\.\d+/)
    }
  })

  test("are distinguished after one has stopped and the other leads", async () => {
    const [first] = (await rows()).flatMap((row, at) => (works.test(row) ? [at] : []))
    const [gone, left] = first === 0 ? [0, 1] : [1, 0]
    await nodes[gone]?.stop("SIGKILL")
    const row = async (at: number) => (await rows())[at]
    await expect.poll(() => row(gone), { timeout: 60_000 }).toMatch(/Not responding/)
    await expect.poll(() => row(left)).toMatch(works)
  })
})
