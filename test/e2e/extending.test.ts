// Calls to other services: how an administrator sets them up, sees their responses, and removes
// them.
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openReceiver, type Receiver, status } from "../domain/target/receiver.ts"
import { openBrowser } from "../support/browser.ts"
import { openSignedIn } from "../support/console-pages.ts"
import { needs } from "../support/prerequisite.ts"

describe.runIf(needs("chromium"))("an administrator who extends the service", () => {
  let service: Service
  let browser: Browser
  let page: Page
  let receiver: Receiver

  beforeAll(async () => {
    receiver = await openReceiver()
    service = await openService(["--outbound-allow", "127.0.0.1,localhost"])
    browser = await openBrowser()
    const context = await browser.newContext({ locale: "en" })
    page = await openSignedIn(context, `${service.url}/ui/console/targets`)
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
    await receiver?.close()
  })

  const dialog = () => page.getByRole("dialog")
  const row = (name: string) => page.locator("main.content tbody tr").filter({ hasText: name })
  const closed = () => dialog().waitFor({ state: "detached" })

  test("creates a target, and sees its signing key once", async () => {
    await page.getByRole("button", { name: "Create webhook" }).click()
    await dialog().getByLabel("Name").fill("Ledger")
    await dialog().getByLabel("Endpoint").fill("ftp://ledger.example")
    await dialog().getByRole("button", { name: "Create webhook" }).click()
    await dialog().getByRole("alert").waitFor()
    await dialog().getByLabel("Endpoint").fill(`${receiver.url}/ledger`)
    await dialog().getByRole("button", { name: "Create webhook" }).click()
    await closed()
    await page.getByRole("heading", { name: "Signing key" }).waitFor()
    await row("Ledger").getByText("Notify").waitFor()
  })

  test("calls it for an event, and sees its response", async () => {
    receiver.answer("/ledger", status(500))
    await page.getByRole("button", { name: "Add trigger" }).click()
    await dialog().getByText("After an operation").click()
    await dialog().getByLabel("Operation or service").fill("core.project.v2.ProjectService")
    await dialog().getByLabel("Add").selectOption("Ledger")
    await dialog().getByRole("button", { name: "Add trigger" }).click()
    await closed()
    await row("core.project.v2.ProjectService").getByText("Ledger").waitFor()
    await service.get("ListProjects")
    await row("Ledger").getByText("500", { exact: true }).waitFor()
  })

  test("sees that a failing target is suspended, and repairs it", async () => {
    for (let tries = 0; tries < 5; tries += 1) await service.get("ListProjects")
    await page.reload()
    await page.getByText("Paused after repeated failures").waitFor()
    await page.getByRole("link", { name: "Ledger" }).click()
    await page.getByRole("heading", { name: "Ledger", level: 1 }).waitFor()
    await page.getByRole("button", { name: "Edit: Details" }).click()
    await page.getByLabel("Endpoint").fill(`${receiver.url}/mended`)
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByText("Paused after repeated failures").waitFor({ state: "detached" })
  })

  test("replaces its signing key, and stops calling it", async () => {
    await page.getByRole("button", { name: "Rotate signing key" }).click()
    await dialog().getByRole("button", { name: "Rotate signing key" }).click()
    await closed()
    await page.getByRole("heading", { name: "Signing key" }).waitFor()
    await page.getByRole("button", { name: "Delete webhook" }).click()
    await dialog().getByRole("textbox").fill("Ledger")
    await dialog().getByRole("button", { name: "Delete webhook" }).click()
    await page.getByText("No webhooks yet.").waitFor()
    const { executions } = await service.get("core.action.v2.ActionService/ListExecutions")
    expect(executions).toBeUndefined()
  })

  test("writes a script, tests it for a user, and sees the line that fails", async () => {
    await page.goto(`${service.url}/ui/console/scripts`)
    await page.getByRole("button", { name: "Create script" }).click()
    await dialog().getByLabel("Name").fill("welcome")
    await dialog().getByRole("button", { name: "Create script" }).click()
    await page.getByRole("heading", { name: "welcome", level: 1 }).waitFor()
    const code = page.getByLabel("Script", { exact: true })
    const said = (line: string) => `function welcome(ctx, { v1 }) {\n  ${line}\n}\n`
    await code.fill(said("throw new Error('not yet')"))
    await page.getByRole("button", { name: "Test" }).click()
    await dialog().getByRole("radio").first().check()
    await dialog().getByRole("button", { name: "Run" }).click()
    await dialog().getByText("Line 2", { exact: true }).waitFor()
    await dialog().getByRole("button", { name: "Cancel" }).click()
    await page.locator(".code-wrong", { hasText: "2" }).waitFor()
    await code.fill(said("v1.claims.setClaim('team', 'red')"))
    await page.getByRole("button", { name: "Test" }).click()
    await dialog().getByRole("radio").first().check()
    await dialog().getByRole("button", { name: "Run" }).click()
    await dialog().getByText('claim("team", "red")').waitFor()
    await dialog().getByRole("button", { name: "Cancel" }).click()
    await page.getByRole("button", { name: "Save" }).click()
    const save = (state: string) => page.locator(`form button[type=submit]:${state}`).waitFor()
    await save("disabled")
    await code.press("Control+End")
    await code.press("Enter")
    await save("enabled")
    await code.press("Backspace")
    await save("disabled")
  })

  test("saves a script without a timeout, and one with a fractional timeout", async () => {
    const [id = ""] = /\d+$/.exec(page.url()) ?? []
    const script = "core.management.v1.ManagementService"
    const timeout = async () => (await service.get(`${script}/GetAction`, { id })).action.timeout
    const renamed = async (name: string) => {
      await page.reload()
      await page.getByLabel("Name").fill(name)
      await page.getByRole("button", { name: "Save" }).click()
      await page.getByRole("heading", { name, level: 1 }).waitFor()
    }
    const none = await timeout()
    await renamed("greeting")
    expect(await timeout()).toBe(none)
    const { action } = await service.get(`${script}/GetAction`, { id })
    const { name, script: code } = action
    await service.get(`${script}/UpdateAction`, { id, name, script: code, timeout: "0.500s" })
    await renamed("welcome")
    expect(await timeout()).toBe("0.500s")
    // Later tests run the script, and the machine may be busy.
    await service.get(`${script}/UpdateAction`, {
      id,
      name: "welcome",
      script: code,
      timeout: "10s",
    })
  })

  test("indents with Tab, and leaves the editor with Escape", async () => {
    const code = page.getByLabel("Script", { exact: true })
    await code.focus()
    await page.keyboard.press("Control+Home")
    await page.keyboard.press("Tab")
    expect(await code.inputValue()).toMatch(/^ {2}function/)
    await page.keyboard.press("Shift+Tab")
    expect(await code.inputValue()).toMatch(/^function/)
    await page.keyboard.press("Escape")
    await page.keyboard.press("Tab")
    expect(await code.evaluate((element) => element === document.activeElement)).toBe(false)
  })

  test("runs it for userinfo", async () => {
    await page.goto(`${service.url}/ui/console/scripts`)
    const moment = row("userinfo, introspection and ID tokens")
    await moment.getByRole("button", { name: /^Edit/ }).click()
    await dialog().getByLabel("Add").selectOption("welcome")
    await dialog().getByRole("button", { name: "Save" }).click()
    await closed()
    await moment.getByText("welcome").waitFor()
  })

  test("sees its latest runs, and the sections below them", async () => {
    const headers = { authorization: `Bearer ${service.token}` }
    for (let at = 0; at < 11; at += 1) {
      const answer = await fetch(`${service.url}/oidc/v1/userinfo`, { headers })
      expect(await answer.json()).toMatchObject({ team: "red" })
    }
    await row("welcome").getByRole("link", { name: "welcome" }).click()
    await page.getByText("1–10 of").waitFor()
    expect(await row("welcome").filter({ hasText: "Done" }).count()).toBe(10)
  })

  test("browses all events, and sees new ones", async () => {
    await page.goto(`${service.url}/ui/console/events`)
    await page.getByLabel("Event type").fill("group.added")
    await page.getByRole("button", { name: "Apply filters" }).click()
    await page.getByText("No results").waitFor()
    await page.getByLabel("Follow new events").check()
    const organizationId: string = (await service.get("ListOrganizations")).result[0].id
    await service.get("CreateGroup", { organizationId, name: "Finance" })
    await row("group.added").waitFor()
    // The page shows a translated text; the event type is for machines.
    expect(await row("group.added").innerText()).toMatch(/\bGroup\s+Finance\b/)
    await row("group.added").getByText("Details").click()
    expect(await row("group.added").innerText()).toMatch(/\bID\s+\d{15,}/)
    const names = Array.from({ length: 51 }, (_, at) => `Group ${at}`)
    await Promise.all(names.map((name) => service.get("CreateGroup", { organizationId, name })))
    await page.goto(`${service.url}/ui/console/events`)
    await page.getByText("Oldest first").click()
    await row("instance.added").waitFor()
    await page.getByRole("button", { name: "Next" }).click()
    await page.getByRole("button", { name: "Back to the first page" }).waitFor()
    await page.goBack()
    await row("instance.added").waitFor()
  })

  test("finds events by names and dates, and by IDs", async () => {
    await page.goto(`${service.url}/ui/console/events`)
    const dialog = page.getByRole("dialog")
    await page.getByRole("button", { name: /^Choose: Resource/ }).click()
    await dialog.getByText("Organizations", { exact: true }).click()
    await dialog.getByRole("searchbox").fill("acm")
    await dialog.getByRole("radio", { name: /^Acme/ }).click()
    await page.getByRole("button", { name: "Apply filters" }).click()
    await row("org.added").getByText("Acme", { exact: true }).waitFor()
    const organizationId = new URL(page.url()).searchParams.get("id") ?? ""
    await page.getByLabel("From").fill("2999-01-01")
    await page.getByRole("button", { name: "Apply filters" }).click()
    await page.getByText("No results").waitFor()
    await page.goto(`${service.url}/ui/console/events`)
    await page.getByRole("button", { name: /^Choose: Resource/ }).click()
    await dialog.getByRole("searchbox").fill(organizationId)
    await dialog.getByRole("radio", { name: organizationId }).click()
    await page.getByRole("button", { name: "Apply filters" }).click()
    await row("org.added").getByText("Acme", { exact: true }).waitFor()
  })
})
