// Who looks after an instance on two nodes sees both of them, and that one of them is gone.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openBrowser } from "../support/browser.ts"
import { signedInAt } from "../support/console-place.ts"
import { freePort, type Running, setUp, start, temporaryFolder } from "../support/latchkey.ts"
import { type Postgres, startPostgres } from "../support/postgres.ts"
import { needs } from "../support/prerequisite.ts"
import { type RoundRobin, roundRobin } from "../support/round-robin.ts"

describe.runIf(needs("chromium") && needs("postgres"))("two nodes, in the console", () => {
  const folder = temporaryFolder()
  let postgres: Postgres
  let proxy: RoundRobin
  let browser: Browser
  let page: Page
  const nodes: Running[] = []

  beforeAll(async () => {
    postgres = startPostgres()
    proxy = roundRobin(await freePort())
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
    for (const data of folders) nodes.push(await start({ data, port: await freePort() }))
    proxy.lead(nodes.map((node) => Number(new URL(node.url).port)))
    browser = await openBrowser()
    page = await signedInAt(await browser.newContext({ locale: "en" }), `${url}/ui/console/nodes`)
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

  test("are listed, with how far they are and which of them works", async () => {
    await page.getByRole("heading", { name: "Nodes", level: 1 }).waitFor()
    await expect.poll(rows).toHaveLength(2)
    const found = await rows()
    expect(found[0]).toMatch(/^Node 0/)
    expect(found[1]).toMatch(/^Node 1/)
    expect(found.filter((row) => /this one/.test(row))).toHaveLength(1)
    expect(found.filter((row) => works.test(row))).toHaveLength(1)
    // Each says within a second what it has come to have by this sign-in.
    for (const at of [0, 1]) {
      const row = async () => (await rows())[at]
      await expect.poll(row).toMatch(/\b\d+\s+0\s+(now|this minute)\s+\d+\.\d+/)
    }
  })

  test("are told apart once one of them is gone, and another one works", async () => {
    const [first] = (await rows()).flatMap((row, at) => (works.test(row) ? [at] : []))
    const [gone, left] = first === 0 ? [0, 1] : [1, 0]
    await nodes[gone]?.stop("SIGKILL")
    const row = async (at: number) => (await rows())[at]
    await expect.poll(() => row(gone), { timeout: 60_000 }).toMatch(/Not responding/)
    await expect.poll(() => row(left)).toMatch(works)
  })
})
