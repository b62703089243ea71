import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { addHuman, openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { owner } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

describe.runIf(needs("chromium"))("an administrator who edits messages and page texts", () => {
  let service: Service
  let browser: Browser
  let page: Page
  let organizationId = ""
  const complaints: string[] = []

  beforeAll(async () => {
    service = await openService()
    organizationId = (await service.get("ListOrganizations")).result[0].id
    browser = await openBrowser()
    const context = await browser.newContext({ locale: "en" })
    page = await context.newPage()
    page.setDefaultTimeout(60_000)
    page.on("pageerror", (error) => complaints.push(error.message))
    await page.goto(`${service.url}/ui/console/texts`)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.getByRole("heading", { name: "Custom texts", level: 1 }).waitFor()
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  const section = (title: string) =>
    page
      .locator("section.section")
      .filter({ has: page.getByRole("heading", { name: title, exact: true, level: 2 }) })

  const edit = (title: string) =>
    section(title)
      .getByRole("button", { name: `Edit: ${title}` })
      .click()

  const preview = () => page.locator(".preview-page")

  test("edits an invitation, previews it, and sees unknown placeholders", async () => {
    await edit("Invitation")
    const subject = page.getByLabel("Subject")
    await subject.fill("Come in, {{.Nobody}}")
    await page.getByText("Unknown variable {{.Nobody}}").waitFor()
    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true)
    await subject.fill("Come in, ")
    await subject.press("End")
    await page.getByRole("button", { name: "{{.FirstName}}" }).click()
    expect(await subject.inputValue()).toBe("Come in, {{.FirstName}}")
    await preview().getByText("Come in, Ada").waitFor()
    await page.getByRole("button", { name: "Save" }).click()
    await section("Invitation").locator("dd").getByText("Come in, {{.FirstName}}").waitFor()
    const { customText } = await service.get(
      "core.admin.v1.AdminService/GetCustomInviteUserMessageText",
      { language: "en" },
    )
    expect(customText).toMatchObject({ subject: "Come in, {{.FirstName}}" })
    expect(customText.text).not.toBe("")
  })

  test("overrides an inherited text in an organization until it is reset", async () => {
    await page.goto(`${service.url}/ui/console/organizations/${organizationId}/texts`)
    const part = section("Invitation")
    await part.locator("dd").getByText("Come in, {{.FirstName}}").waitFor()
    await edit("Invitation")
    await page.getByLabel("Subject").fill("Welcome to Acme")
    await page.getByRole("button", { name: "Save" }).click()
    await part.locator("dd").getByText("Welcome to Acme").waitFor()
    const userId = await addHuman(service, organizationId, "grace")
    await service.get("CreateInviteCode", { userId, sendCode: {} })
    const listed = async () => (await service.get("ListMessages", { userId })).messages ?? []
    await expect.poll(async () => (await listed()).length).toBe(1)
    const [{ id: messageId }] = await listed()
    const { subject } = await service.get("ViewMessage", { userId, messageId })
    expect(subject).toBe("Welcome to Acme")
    await part.getByRole("button", { name: "Reset to default: Invitation" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Reset to default" }).click()
    await part.locator("dd").getByText("Come in, {{.FirstName}}").waitFor()
  })

  test("edits a text of the sign-in, which the page then shows", async () => {
    await page.goto(`${service.url}/ui/console/texts?text=screen.login_name`)
    await edit("Sign-in: login name")
    await page.getByLabel("Heading: Sign in", { exact: true }).fill("Who is there?")
    await preview().getByText("Who is there?").waitFor()
    await page.getByRole("button", { name: "Save" }).click()
    await section("Sign-in: login name").locator("dd").getByText("Who is there?").waitFor()
    const guest = await (await browser.newContext({ locale: "en" })).newPage()
    await guest.goto(`${service.url}/ui/login/loginname`)
    await guest.getByRole("heading", { name: "Who is there?" }).waitFor()
    await guest.context().close()
  })

  test("sees at its field which markup is not allowed", async () => {
    await edit("Sign-in: login name")
    await page
      .getByLabel("Text: to continue to ‹application›", { exact: true })
      .fill("to {$nobody}")
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("alert").getByText("nobody").waitFor()
    await page.getByRole("button", { name: "Cancel" }).click()
  })

  test("no page failed", () => {
    expect(complaints).toEqual([])
  })
})
