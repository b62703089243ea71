import type { Browser, BrowserContextOptions, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { addHuman, openService, type Service } from "../acceptance/service.ts"
import { openBrowser, withPasskeys } from "../support/browser.ts"
import { owner } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

const chosen = "Correct-horse-8-battery"
const email = "grace@example.com"

describe.runIf(needs("chromium"))("an invitation", () => {
  let service: Service
  let browser: Browser
  let console: Page
  let link = ""
  const complaints: string[] = []
  /** Every requested URL and its Referer. */
  const asked: string[] = []

  beforeAll(async () => {
    service = await openService()
    browser = await openBrowser()
    console = await opened({ permissions: ["clipboard-read", "clipboard-write"] })
    await console.goto(`${service.url}/ui/console/users`)
    await console.fill('[name="loginName"]', owner.loginName)
    await console.click('button[type="submit"]')
    await console.fill('[name="password"]', owner.password)
    await console.click('button[type="submit"]')
    await console.locator("main.content h1").waitFor()
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  /** A page in a new browser. */
  async function opened(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ locale: "en", ...options })
    const page = await context.newPage()
    page.setDefaultTimeout(60_000)
    page.on("pageerror", (error) => complaints.push(error.message))
    page.on("console", (message) => {
      if (/content security policy/i.test(message.text())) complaints.push(message.text())
    })
    page.on("request", (request) => {
      const { referer = "" } = request.headers()
      asked.push(request.url().split("#")[0] ?? "", referer)
    })
    return page
  }

  const heading = (page: Page, name: string) =>
    page.getByRole("heading", { name, level: 1 }).waitFor()

  test("is created in the console for a user without a password", async () => {
    await console.getByRole("link", { name: "Create user" }).first().click()
    await console.getByLabel("First name").fill("Grace")
    await console.getByLabel("Last name").fill("Hopper")
    await console.getByLabel("Email", { exact: true }).fill(email)
    await console.getByRole("button", { name: "Create user" }).click()
    await console.getByText("Pending · expires in 3 days").waitFor()
    await console.getByText("It isn't shown again").waitFor()
    link = await console.locator("main code").innerText()
    expect(link).toMatch(
      /\/ui\/login\/verify\?userId=\d+&organization=\d+&invite=true#[A-Z2-9]{6}$/,
    )
    const code = console.getByRole("img", { name: "Invitation link as a QR code" })
    // An empty picture must not pass: the three corner patterns alone have 99 modules.
    expect((await code.locator("path").getAttribute("d"))?.split("M").length).toBeGreaterThan(400)
    await console.getByRole("button", { name: "Copy: Invitation link" }).click()
    await console.getByText("Copied").waitFor()
    expect(await console.evaluate(() => navigator.clipboard.readText())).toBe(link)
    await console.getByRole("link", { name: "Open user" }).click()
    await heading(console, "Grace Hopper")
    await console.getByText("Not verified").first().waitFor()
    await console.getByText("No roles in any project.").waitFor()
    await console.getByText("No manager roles.").waitFor()
    await console.getByText("Invitation created").waitFor()
  })

  test("is created again on the user's page, which invalidates the previous one", async () => {
    await console.getByRole("button", { name: "Invite", exact: true }).click()
    const dialog = console.getByRole("dialog")
    await dialog.getByRole("button", { name: "Create link" }).click()
    await dialog.getByText("It isn't shown again").waitFor()
    const before = link
    link = await dialog.locator("code").innerText()
    expect(link).not.toBe(before)
    await dialog.getByRole("button", { name: "Done" }).click()
  })

  test("explains what to do if its code is invalid, and accepts a corrected code", async () => {
    const page = await opened()
    await page.goto(link.replace(/.$/, (last) => (last === "A" ? "B" : "A")))
    await page.getByRole("button", { name: "Continue" }).click()
    await heading(page, "This invitation doesn't work")
    await page.getByLabel("Invitation code").fill(link.split("#")[1]?.toLowerCase() ?? "")
    await page.getByRole("button", { name: "Continue" }).click()
    await heading(page, "Set up your sign-in")
    await page.context().close()
  })

  test("leads from the link to a new password and a session", async () => {
    const page = await opened()
    await page.goto(link)
    await heading(page, "You have been invited")
    expect(await page.getByLabel("Invitation code").isVisible()).toBe(false)
    await page.getByRole("button", { name: "Continue" }).click()
    await page.getByText("Acme has invited you.").waitFor()
    await page.getByText(email).waitFor()
    await page.getByLabel("New password", { exact: true }).fill(chosen)
    await page.getByLabel("Confirm new password").fill(`${chosen}!`)
    await page.getByRole("button", { name: "Save and sign in" }).click()
    await page.getByText("The passwords don't match").waitFor()
    await page.getByLabel("New password", { exact: true }).fill(chosen)
    await page.getByLabel("Confirm new password").fill(chosen)
    await page.getByRole("button", { name: "Save and sign in" }).click()
    await heading(page, "You are signed in")
    await page.getByText("Grace Hopper").waitFor()
    // The console would show nothing to them.
    await page.getByRole("link", { name: "Manage your account" }).waitFor()
    expect(await page.getByRole("link", { name: "Open the console" }).count()).toBe(0)
    await page.context().close()
  })

  test("works once; after that the password signs in", async () => {
    const page = await opened({ javaScriptEnabled: false })
    await page.goto(link)
    await page.getByLabel("Invitation code").fill(link.split("#")[1] ?? "")
    await page.getByRole("button", { name: "Continue" }).click()
    await heading(page, "This invitation doesn't work")
    await page.getByRole("link", { name: "Sign in" }).click()
    await page.fill('[name="loginName"]', email)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', chosen)
    await page.click('button[type="submit"]')
    await heading(page, "You are signed in")
    await page.context().close()
  })

  test("is no longer offered after that, and the address is verified", async () => {
    await console.reload()
    await heading(console, "Grace Hopper")
    await console.getByText("Invitation accepted").waitFor()
    await console.getByRole("button", { name: "Set password" }).waitFor()
    expect(await console.getByRole("button", { name: "Invite", exact: true }).count()).toBe(0)
    const { result } = await service.get("ListUsers", {
      queries: [{ emailQuery: { emailAddress: email } }],
    })
    expect(result[0].human.email).toMatchObject({ isVerified: true })
  })

  test("can be accepted with a passkey if the browser supports it", async () => {
    const { result } = await service.get("ListOrganizations")
    const userId = await addHuman(service, result[0].id, "linus")
    const { inviteCode } = await service.get("CreateInviteCode", { userId, returnCode: {} })
    const at = `/ui/login/verify?userId=${userId}&invite=true#${inviteCode}`
    const bare = await opened({ javaScriptEnabled: false })
    await bare.goto(`${service.url}${at}`)
    await bare.getByLabel("Invitation code").fill(inviteCode)
    await bare.getByRole("button", { name: "Continue" }).click()
    await bare.getByLabel("New password", { exact: true }).waitFor()
    expect(await bare.getByRole("button", { name: "Create a passkey" }).isVisible()).toBe(false)
    await bare.context().close()
    const page = await opened()
    await withPasskeys(page)
    await page.goto(`${service.url}${at}`)
    await page.getByRole("button", { name: "Continue" }).click()
    await page.getByRole("button", { name: "Create a passkey" }).click()
    await heading(page, "You are signed in")
    const { result: keys } = await service.get("ListPasskeys", { userId })
    expect(keys).toMatchObject([{ name: "Chrome on Linux" }])
    await page.context().close()
  })

  test("exposes its code in no URL and no Referer, and violates no policy", () => {
    const code = link.split("#")[1] ?? ""
    expect(asked.length).toBeGreaterThan(50)
    expect(asked.filter((address) => address.includes(code))).toEqual([])
    expect(complaints).toEqual([])
  })
})
