// From an empty data directory to a user signed in to an application, with only the information
// that the console shows.
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type Apache, apacheUris, startApache } from "../support/apache.ts"
import { openBrowser } from "../support/browser.ts"
import {
  freePort,
  owner,
  type RunningServer,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

const present = needs("chromium") !== undefined && needs("apache") !== undefined

/** The time the walk may take a user; here it depends on the machine. */
const fiveMinutesMs = 5 * 60_000

describe.runIf(present)("an administrator who starts with an empty data directory", () => {
  const folder = temporaryFolder()
  const beside = temporaryFolder()
  const startedAt = Date.now()
  let port = 0
  let server: RunningServer
  let apache: Apache
  let browser: Browser
  let page: Page
  let settings = ""

  beforeAll(async () => {
    port = await freePort()
    server = await startLatchkey({ data: folder.path, port: await freePort() })
    browser = await openBrowser()
    const context = await browser.newContext({ locale: "en" })
    await context.grantPermissions(["clipboard-read", "clipboard-write"])
    page = await context.newPage()
    page.setDefaultTimeout(60_000)
  })
  afterAll(async () => {
    await browser?.close()
    await apache?.stop()
    await server?.stop()
    folder.remove()
    beside.remove()
  })

  test("sets up the instance by the printed link, and sees the first steps", async () => {
    await page.goto(/http:\S+\/setup#\S+/.exec(server.output())?.[0] ?? "")
    await page.getByLabel("Organization").fill("Acme")
    await page.getByLabel("First name").fill("Ada")
    await page.getByLabel("Last name").fill("Lovelace")
    await page.getByLabel("Email").fill(owner.email)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.getByRole("heading", { name: "First steps" }).waitFor()
  })

  test("creates the application, and copies the settings for Apache", async () => {
    await page.getByRole("link", { name: "Create an application" }).click()
    await page.getByLabel("Project name").fill("Intranet")
    await page.getByLabel("Name", { exact: true }).fill("Handbook")
    await page.getByLabel("Redirect URIs", { exact: true }).fill(apacheUris(port).redirectUri)
    await page.getByRole("button", { name: "Create application" }).click()
    await page.getByText("Application created").waitFor()
    await page.getByText("Apache", { exact: true }).click()
    await page.locator(".snippet", { hasText: "OIDCClientID" }).waitFor()
    await page.getByRole("button", { name: "Copy: Apache" }).click()
    settings = await page.evaluate(() => navigator.clipboard.readText())
    expect(settings).toContain("OIDCClientSecret")
  })

  test("signs in to the page behind Apache, which completes the step", async () => {
    apache = await startApache(beside.path, port, { module: "auth_openidc", settings })
    const visitor = await (await browser.newContext({ locale: "en" })).newPage()
    visitor.setDefaultTimeout(60_000)
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

  test("sees the users of the application, also before deleting it", async () => {
    await page.getByRole("link", { name: "Sign in to the application once" }).click()
    await page.getByRole("link", { name: "Handbook" }).click()
    await page.getByRole("button", { name: "Deactivate: Handbook" }).click()
    await page.getByRole("dialog").getByText("1 user this week").waitFor()
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click()
    await page.getByRole("link", { name: "Users" }).first().click()
    await page.getByRole("link", { name: "Ada Lovelace" }).first().click()
    const used = page.locator("section.section", { hasText: "Applications used" })
    await used.getByRole("link", { name: "Handbook" }).waitFor()
  })

  test("invites a user, saves the master key, and has completed all steps", async () => {
    await page.goto(`${server.url}/ui/console/`)
    await page.getByRole("link", { name: "Invite a user" }).click()
    await page.getByLabel("First name").fill("Grace")
    await page.getByLabel("Last name").fill("Hopper")
    await page.getByLabel("Email", { exact: true }).fill("grace@example.com")
    await page.getByLabel("Email address is verified").check()
    await page.getByRole("button", { name: "Create user" }).click()
    await page.getByText("Pending · expires in 3 days").waitFor()
    await page.getByRole("link", { name: "Open user" }).click()
    await page.getByRole("heading", { name: "Grace Hopper", level: 1 }).waitFor()
    await page.getByText("Verified", { exact: true }).first().waitFor()
    await page.goto(`${server.url}/ui/console/`)
    await page.locator(".step-done", { hasText: "Invite a user" }).waitFor()
    const copy = page.getByLabel("I've backed up master.key")
    expect(await copy.isChecked()).toBe(false)
    await copy.check()
    await page.getByText("All steps are done. You can dismiss this list.").waitFor()
    await page.reload()
    await copy.and(page.locator(":checked")).waitFor()
    await page.getByRole("button", { name: "Dismiss" }).click()
    await expect.poll(() => copy.count()).toBe(0)
    await page.reload()
    await page.getByRole("link", { name: "Intranet" }).waitFor()
    expect(await copy.count()).toBe(0)
  })
})
