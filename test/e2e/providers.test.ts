import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { owner } from "../support/latchkey.ts"
import { startMailServer, type TestMailServer } from "../support/mail-server.ts"
import { needs } from "../support/prerequisite.ts"

describe.runIf(needs("chromium"))("an administrator who sets up message delivery", () => {
  let service: Service
  let browser: Browser
  let page: Page
  let mail: TestMailServer
  const complaints: string[] = []

  beforeAll(async () => {
    mail = await startMailServer()
    service = await openService(["--outbound-allow", "127.0.0.1,localhost"])
    browser = await openBrowser()
    const context = await browser.newContext({ locale: "en" })
    page = await context.newPage()
    page.setDefaultTimeout(60_000)
    page.on("pageerror", (error) => complaints.push(error.message))
    await page.goto(`${service.url}/ui/console/providers`)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.getByRole("heading", { name: "Email & SMS", level: 1 }).waitFor()
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
    await mail?.close()
  })

  const dialog = () => page.getByRole("dialog")
  const row = (name: string) => page.locator("main.content tbody tr").filter({ hasText: name })

  const closed = () => dialog().waitFor({ state: "detached" })

  test("adds an SMTP server, and sees errors at its fields", async () => {
    await page.getByRole("button", { name: "Add email provider" }).click()
    await dialog().getByLabel("Description").fill("Our server")
    await dialog().getByLabel("Server", { exact: true }).fill("not a host")
    await dialog().getByLabel("Require TLS").uncheck()
    await dialog().getByLabel("Sender address").fill("accounts@example.org")
    await dialog().getByLabel("Sender name").fill("Acme")
    await dialog().getByLabel("Authentication").selectOption("None")
    await dialog().getByRole("button", { name: "Save" }).click()
    await dialog().getByRole("alert").getByText("Must be a host").waitFor()
    await dialog().getByLabel("Server", { exact: true }).fill("127.0.0.1:1")
    await dialog().getByRole("button", { name: "Save" }).click()
    await closed()
    await row("Our server").getByText("Inactive").waitFor()
  })

  test("tests it: sees the failed step and its remedy, then all steps", async () => {
    await row("Our server").getByRole("button", { name: "Test: Our server" }).click()
    await dialog().getByRole("button", { name: "Send test mail" }).click()
    await dialog().getByText("127.0.0.1:1 refused the connection").waitFor()
    await dialog().getByText("Host name resolved").waitFor()
    await dialog().getByText("Check the port").waitFor()
    await dialog().getByRole("button", { name: "Cancel" }).click()
    await row("Our server").getByRole("button", { name: "Edit: Our server" }).click()
    await dialog().getByLabel("Server", { exact: true }).fill(`127.0.0.1:${mail.port}`)
    await dialog().getByRole("button", { name: "Save" }).click()
    await closed()
    await row("Our server").getByRole("button", { name: "Test: Our server" }).click()
    await dialog().getByRole("button", { name: "Send test mail" }).click()
    await dialog().getByText("Message accepted").waitFor()
    await dialog().getByRole("button", { name: "Cancel" }).click()
  })

  test("activates it, deactivates it after a confirmation, and undoes that", async () => {
    await row("Our server").getByRole("button", { name: "Activate" }).click()
    await row("Our server").getByText("Active", { exact: true }).waitFor()
    await row("Our server").getByRole("button", { name: "Deactivate: Our server" }).click()
    await dialog().getByRole("button", { name: "Deactivate" }).click()
    await closed()
    await row("Our server").getByText("Inactive").waitFor()
    await page.locator(".notice").getByRole("button", { name: "Undo" }).click()
    await row("Our server").getByText("Active", { exact: true }).waitFor()
  })

  test("adds an SMS service, whose key is shown once, and removes it", async () => {
    await page.getByRole("button", { name: "Add SMS provider" }).click()
    await dialog().getByText("HTTP service", { exact: true }).click()
    await dialog().getByLabel("Description").fill("Our gateway")
    await dialog().getByLabel("Endpoint").fill("https://sms.example.org/send")
    await dialog().getByRole("button", { name: "Save" }).click()
    await closed()
    await page.getByRole("heading", { name: "Signing key" }).waitFor()
    expect((await page.locator(".secret code").innerText()).trim()).toMatch(/^[\w-]{43}$/)
    await row("Our gateway").getByRole("button", { name: "Remove: Our gateway" }).click()
    await dialog().getByRole("button", { name: "Remove" }).click()
    await closed()
    await page.getByText("No text messages are sent yet").waitFor()
  })

  test("adds Twilio, and changes only its token", async () => {
    await page.getByRole("button", { name: "Add SMS provider" }).click()
    await dialog().getByLabel("Account SID").fill("AC123")
    await dialog().getByLabel("Auth token").fill("first token")
    await dialog().getByLabel("Sender number").fill("+41791234567")
    await dialog().getByRole("button", { name: "Save" }).click()
    await closed()
    await row("AC123").getByRole("button", { name: "New password: AC123" }).click()
    await dialog().getByLabel("Password or token").fill("second token")
    await dialog().getByRole("button", { name: "Save" }).click()
    await closed()
    const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage }))
    expect(kept).not.toContain("token")
  })

  test("no page failed", () => {
    expect(complaints).toEqual([])
  })
})
