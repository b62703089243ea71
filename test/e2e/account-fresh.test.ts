import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { session } from "../../src/domain/session/index.ts"
import { manualClock } from "../../src/kernel/clock.ts"
import { createIds } from "../../src/kernel/id.ts"
import { aggregates, views } from "../../src/server/modules.ts"
import { openStore } from "../../src/store/index.ts"
import { openBrowser } from "../support/browser.ts"
import {
  freePort,
  owner,
  type RunningServer,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

const minute = 60_000

describe.runIf(needs("chromium"))("a sign-in older than 15 minutes", () => {
  const folder = temporaryFolder()
  const data = `${folder.path}/data`
  let port: number
  let server: RunningServer
  let browser: Browser
  let page: Page

  beforeAll(async () => {
    port = await freePort()
    await setUp(data, `http://localhost:${port}`)
    server = await startLatchkey({ data, port })
    browser = await openBrowser()
    page = await (await browser.newContext({ locale: "en" })).newPage()
    page.setDefaultTimeout(60_000)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
    folder.remove()
  })

  async function typePassword(): Promise<void> {
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
  }

  /** Ages every session of the instance by `ms` while no server runs. */
  async function aged(ms: number): Promise<void> {
    await server.stop()
    const bug = (cause: unknown) => {
      throw cause
    }
    const file = `${data}/latchkey.db`
    const store = openStore({ aggregates, views, file, fatal: bug, notReady: bug })
    const clock = manualClock(Date.now() - ms)
    const signedIn = (await store.log.find(0, 10_000, ["session.password.checked"])).events
    for (const { instance, id, data: noted } of signedIn) {
      const call = { ...base, store, clock, instance, ids: createIds(clock) }
      await store.transact(call as never, (tx) =>
        tx.append(session, id, [{ type: "session.password.checked", data: noted as never }]),
      )
    }
    await store.close()
    server = await startLatchkey({ data, port })
  }
  const base = {
    caller: { kind: "system", name: "test" },
    requestId: "test",
    languages: [],
    warn: () => {},
    scope: { all: true, orgs: [], projects: [], grants: [] },
  }

  test("must be repeated before changes to credentials, which then continue", async () => {
    await page.goto(`${server.url}/ui/account/security`)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await typePassword()
    await page.getByRole("heading", { name: "Security", level: 1 }).waitFor()
    await aged(20 * minute)
    // The earlier tokens contain the earlier sign-in time; new ones use the aged session.
    await page.evaluate(() => sessionStorage.clear())
    await page.goto(`${server.url}/ui/account/security`)
    const setUpApp = page.getByRole("button", { name: "Set up: Authenticator app" })
    await setUpApp.click()
    await page.getByRole("button", { name: "Sign in again" }).click()
    await typePassword()
    await page.getByRole("heading", { name: "Security", level: 1 }).waitFor()
    expect(page.url()).toContain("/ui/account/security")
    await setUpApp.click()
    await page.getByRole("dialog").locator("code").waitFor()
  })
})
