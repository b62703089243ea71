// From an empty folder to somebody who is signed in to an application, by what the console shows.
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type Apache, apacheUris, startApache } from "../support/apache.ts"
import { openBrowser } from "../support/browser.ts"
import { freePort, owner, type Running, start, temporaryFolder } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

const present = needs("chromium") !== undefined && needs("apache") !== undefined

/** What the walk may take a person; here it takes as long as the machine does. */
const fiveMinutesMs = 5 * 60_000

describe.runIf(present)("whoever starts with an empty folder", () => {
  const folder = temporaryFolder()
  const beside = temporaryFolder()
  const startedAt = Date.now()
  let port = 0
  let server: Running
  let apache: Apache
  let browser: Browser
  let page: Page
  let settings = ""

  beforeAll(async () => {
    port = await freePort()
    server = await start({ data: folder.path, port: await freePort() })
    browser = await openBrowser()
    const context = await browser.newContext({ locale: "en" })
    await context.grantPermissions(["clipboard-read", "clipboard-write"])
    page = await context.newPage()
    page.setDefaultTimeout(15_000)
  })
  afterAll(async () => {
    await browser?.close()
    await apache?.stop()
    await server?.stop()
    folder.remove()
    beside.remove()
  })

  test("sets it up by the printed link, and is shown the first steps", async () => {
    await page.goto(/http:\S+\/setup#\S+/.exec(server.output())?.[0] ?? "")
    await page.getByLabel("Organisation").fill("Acme")
    await page.getByLabel("First name").fill("Ada")
    await page.getByLabel("Last name").fill("Lovelace")
    await page.getByLabel("E-mail").fill(owner.email)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.getByRole("heading", { name: "First steps" }).waitFor()
  })

  test("creates the application, and copies what Apache wants to be told", async () => {
    await page.getByRole("link", { name: "Create an application" }).click()
    await page.getByLabel("Name of the project").fill("Intranet")
    await page.getByLabel("Name", { exact: true }).fill("Handbook")
    await page.getByLabel("Redirect URIs", { exact: true }).fill(apacheUris(port).redirectUri)
    await page.getByRole("button", { name: "Create application" }).click()
    await page.getByText("The application is ready").waitFor()
    await page.getByText("Apache", { exact: true }).click()
    await page.locator(".snippet", { hasText: "OIDCClientID" }).waitFor()
    await page.getByRole("button", { name: "Copy: Apache" }).click()
    settings = await page.evaluate(() => navigator.clipboard.readText())
    expect(settings).toContain("OIDCClientSecret")
  })

  test("signs in to the page behind Apache, and has the step ticked", async () => {
    apache = await startApache(beside.path, port, { module: "auth_openidc", settings })
    const visitor = await (await browser.newContext({ locale: "en" })).newPage()
    visitor.setDefaultTimeout(15_000)
    await visitor.goto(`${apache.url}/protected/`)
    await visitor.fill('[name="loginName"]', owner.loginName)
    await visitor.click('button[type="submit"]')
    await visitor.fill('[name="password"]', owner.password)
    await visitor.click('button[type="submit"]')
    await visitor.getByRole("heading", { name: "Intranet" }).waitFor()
    expect(await visitor.locator("#user").innerText()).toBe(owner.loginName)
    await page.goto(`${server.url}/ui/console/`)
    const step = page.locator(".step-done", { hasText: "Sign in to the application once" })
    await step.waitFor()
    expect(Date.now() - startedAt).toBeLessThan(fiveMinutesMs)
  })
})
