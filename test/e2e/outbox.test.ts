import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { addHuman, openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { owner } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

describe.runIf(needs("chromium"))("a new instance without a mail server", () => {
  let service: Service
  let browser: Browser
  let page: Page
  let userId = ""
  let organizationId = ""
  const complaints: string[] = []

  beforeAll(async () => {
    service = await openService()
    organizationId = (await service.get("ListOrganizations")).result[0].id
    userId = await addHuman(service, organizationId, "grace")
    browser = await openBrowser()
    const context = await browser.newContext({ locale: "en" })
    page = await context.newPage()
    page.setDefaultTimeout(60_000)
    page.on("pageerror", (error) => complaints.push(error.message))
    page.on("console", (message) => {
      if (/content security policy/i.test(message.text())) complaints.push(message.text())
    })
    await page.goto(`${service.url}/ui/console/outbox`)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.getByRole("heading", { name: "Outbox", level: 1 }).waitFor()
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  const dialog = () => page.getByRole("dialog")
  const row = () => page.locator("main.content tbody tr").filter({ hasText: "grace@example.com" })

  test("shows that nothing is sent yet, and what the page will list", async () => {
    await page.getByText("No email provider is active").waitFor()
    await page.getByText("No messages").waitFor()
  })

  test("shows a pending invitation on the user's page", async () => {
    await page.goto(`${service.url}/ui/console/users/${userId}`)
    await page.getByRole("button", { name: "Invite" }).click()
    await dialog().getByRole("button", { name: "Send by email" }).click()
    await page.getByText("is being sent").waitFor()
    const sent = page.locator("section.section").filter({
      has: page.getByRole("heading", { name: "Messages", level: 2 }),
    })
    await sent.getByRole("cell", { name: "Invitation", exact: true }).waitFor()
    await sent.getByText("Waiting", { exact: true }).waitFor()
  })

  test("shows its link on request, which is audited, and accepts the user", async () => {
    await page.locator(".sidebar").getByRole("link", { name: "Outbox" }).click()
    await row().getByRole("button", { name: "View: Invitation" }).click()
    expect(await dialog().getByText("/ui/login/verify").count()).toBe(0)
    await dialog().getByRole("button", { name: "Show message" }).click()
    await dialog()
      .getByRole("img", { name: /QR code/ })
      .waitFor()
    const link = await dialog().locator(".snippet code").innerText()
    await dialog().getByRole("button", { name: "Close" }).click()
    const guest = await (await browser.newContext({ locale: "en" })).newPage()
    await guest.goto(link)
    await guest.getByRole("heading", { name: "You have been invited" }).waitFor()
    await guest.context().close()
  })

  test("filters by state and by organization", async () => {
    await page.getByText("Sent", { exact: true }).click()
    await page.getByText("No results").waitFor()
    await page.getByText("Waiting", { exact: true }).first().click()
    await row().waitFor()
    const other = await service.get("AddOrganization", { name: "Bakery" })
    await page.goto(`${service.url}/ui/console/outbox?org=${other.organizationId}`)
    await page.getByText("No messages").waitFor()
  })

  test("no page failed, or violated its content security policy", () => {
    expect(complaints).toEqual([])
  })
})
