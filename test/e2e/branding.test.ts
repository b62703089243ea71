// Branding files from the upload form to the pages that show them, and the accessibility of the
// pages for branding, texts and messages.
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { findViolations } from "../support/axe.ts"
import { openBrowser } from "../support/browser.ts"
import { owner } from "../support/latchkey.ts"
import { pngOf, svgWith } from "../support/picture.ts"
import { needs } from "../support/prerequisite.ts"

describe.runIf(needs("chromium"))("the branding of an instance", () => {
  let service: Service
  let browser: Browser
  let page: Page
  let authorization = ""
  let organizationId = ""
  const complaints: string[] = []

  beforeAll(async () => {
    service = await openService()
    organizationId = (await service.get("ListOrganizations")).result[0].id
    browser = await openBrowser()
    page = await (await browser.newContext({ locale: "en", bypassCSP: true })).newPage()
    page.setDefaultTimeout(60_000)
    page.on("request", (request) => {
      authorization ||= request.headers().authorization ?? ""
    })
    await page.goto(`${service.url}/ui/console/settings`)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.getByRole("heading", { name: "Settings", level: 1 }).waitFor()
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  const look = () =>
    page.locator("section.section").filter({
      has: page.getByRole("heading", { name: "Branding", exact: true, level: 2 }),
    })
  const file = (label: string) => look().locator(`input[type=file][aria-label="${label}"]`)
  const row = (label: string) => look().locator("li.look-file").filter({ hasText: label })
  const png = (side: number) => ({
    name: "logo.png",
    mimeType: "image/png",
    buffer: pngOf({ width: side * 4, height: side }),
  })
  const drawing = (inside: string) => ({
    name: "logo.svg",
    mimeType: "image/svg+xml",
    buffer: svgWith(inside),
  })

  /** The first sign-in page as an anonymous user sees it, under the current policy. */
  async function stranger<Answer>(read: (on: Page) => Promise<Answer>): Promise<Answer> {
    const context = await browser.newContext({ locale: "en", colorScheme: "dark" })
    const on = await context.newPage()
    on.on("console", (message) => {
      if (/content security policy/i.test(message.text())) complaints.push(message.text())
    })
    await on.goto(`${service.url}/ui/login/loginname`)
    const answer = await read(on)
    await context.close()
    return answer
  }

  const logoOf = (on: Page) =>
    on.evaluate(`[...document.querySelectorAll("header .logo")]
      .filter((logo) => logo.checkVisibility() && logo.naturalWidth > 0)
      .map((logo) => logo.getAttribute("src"))`)

  test("is previewed: other users don't see an uploaded file", async () => {
    await file("Logo, light").setInputFiles(png(20))
    await look().getByText("You have unpublished changes").waitFor()
    await row("Logo, light").getByRole("img", { name: "Logo, light" }).waitFor()
    await look().locator(".preview-page .logo").first().waitFor()
    expect(await stranger(logoOf)).toEqual([])
    expect(await findViolations(page)).toEqual([])
  })

  test("rejects an invalid file with an explanation", async () => {
    await file("Logo, dark").setInputFiles(drawing("<script>alert(1)</script>"))
    await row("Logo, dark").getByText("<script>").waitFor()
    await file("Font").setInputFiles(png(20))
    await row("Font").getByText("the file is not a valid font").waitFor()
  })

  test("applies to all users after activation, in light and dark mode", async () => {
    await file("Logo, dark").setInputFiles(drawing('<rect width="10" height="10" fill="#fff"/>'))
    await file("Icon, light").setInputFiles(png(16))
    await row("Icon, light").getByRole("img").waitFor()
    await look().getByRole("button", { name: "Publish" }).click()
    await look().getByText("You have unpublished changes").waitFor({ state: "detached" })
    await expect.poll(() => stranger(logoOf)).toEqual([expect.stringContaining(".svg")])
    const icon = await stranger((on) => on.locator('link[rel="icon"]').getAttribute("href"))
    expect((await fetch(`${service.url}${icon}`)).headers.get("content-type")).toBe("image/png")
    expect(complaints).toEqual([])
  })

  test("shows the name again after the logo is removed", async () => {
    for (const label of ["Logo, light", "Logo, dark"]) {
      await look()
        .getByRole("button", { name: `${label}: Remove` })
        .click()
      await row(label).getByText("Uploaded").waitFor({ state: "detached" })
    }
    await look().getByRole("button", { name: "Publish" }).click()
    await look().getByText("You have unpublished changes").waitFor({ state: "detached" })
    expect(await stranger(logoOf)).toEqual([])
  })

  test("is the organization's own once it has one, and offers no files before that", async () => {
    await page.goto(`${service.url}/ui/console/organizations/${organizationId}/policies`)
    await look().getByText("Override the branding first").waitFor()
    expect(await look().getByRole("button", { name: "Choose file" }).count()).toBe(0)
    await look().getByRole("button", { name: "Override" }).click()
    await look().getByLabel("Accent, light", { exact: true }).fill("#0b6e4f")
    await look().getByRole("button", { name: "Save" }).click()
    await file("Logo, light").setInputFiles(png(24))
    await look().getByText("You have unpublished changes").waitFor()
    expect(await findViolations(page)).toEqual([])
  })

  test("an avatar is shown beside the user's name until it is removed", async () => {
    const form = new FormData()
    form.append("file", new Blob([new Uint8Array(pngOf({ width: 64, height: 64 }))]))
    const sent = await fetch(`${service.url}/assets/v1/users/me/avatar`, {
      method: "POST",
      headers: { authorization },
      body: form,
    })
    expect(sent.status).toBe(200)
    await page.goto(`${service.url}/ui/console/users`)
    const picture = page.locator("tbody img.avatar")
    await picture.waitFor()
    expect(await picture.evaluate("document.querySelector('tbody img.avatar').naturalWidth")).toBe(
      64,
    )
    await page.locator(".sidebar img.avatar").first().waitFor()
    expect(await findViolations(page)).toEqual([])
    await page
      .locator("tbody tr")
      .filter({ has: page.locator("img.avatar") })
      .getByRole("link")
      .first()
      .click()
    await page.getByRole("button", { name: /^Remove picture/ }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Remove picture" }).click()
    await page.locator("main img.avatar").waitFor({ state: "detached" })
  })

  test.each([
    ["/texts", "Custom texts"],
    ["/outbox", "Outbox"],
  ])("the page %s is accessible", async (path, heading) => {
    await page.goto(`${service.url}/ui/console${path}`)
    await page.getByRole("heading", { name: heading, level: 1 }).waitFor()
    expect(await findViolations(page)).toEqual([])
  })
})
