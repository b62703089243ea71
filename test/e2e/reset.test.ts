import axe from "axe-core"
import type { Browser, BrowserContextOptions, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { owner } from "../support/latchkey.ts"
import { startMailServer, type TestMailServer } from "../support/mail-server.ts"
import { needs } from "../support/prerequisite.ts"

const oldPassword = "Correct-horse-7-battery"
const newPassword = "Fresh-horse-8-battery"
const email = "grace@example.com"

describe.runIf(needs("chromium"))("a user with a forgotten password", () => {
  let service: Service
  let mails: TestMailServer
  let browser: Browser
  const complaints: string[] = []
  /** Every requested URL and its Referer. */
  const asked: string[] = []

  beforeAll(async () => {
    mails = await startMailServer()
    service = await openService(["--outbound-allow", "127.0.0.1"])
    browser = await openBrowser()
    const smtp = { senderAddress: "id@example.com", senderName: "Acme" }
    const admin = (name: string) => `core.admin.v1.AdminService/${name}`
    const host = `127.0.0.1:${mails.port}`
    const { id } = await service.get(admin("AddEmailProviderSMTP"), { ...smtp, host })
    await service.get(admin("ActivateEmailProvider"), { id })
    const organizationId = (await service.get("ListOrganizations")).result[0].id
    const profile = { givenName: "Grace", familyName: "Hopper" }
    const human = {
      profile,
      password: { password: oldPassword },
      email: { email, sendCode: {} },
    }
    await service.get("CreateUser", { organizationId, username: "grace", human })
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
    await mails?.close()
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

  /** The link in the newest email with that subject. */
  async function linkIn(subject: string, count = 1): Promise<string> {
    const found = () => mails.received.filter(({ mail }) => mail.subject === subject)
    await expect.poll(() => found().length, { timeout: 60_000 }).toBe(count)
    const [link = ""] = /https?:\S+#\S+/.exec(found().at(-1)?.mail.text ?? "") ?? []
    return link
  }

  async function mustBeUsable(page: Page): Promise<void> {
    await page.evaluate(axe.source)
    const found: string[] = await page.evaluate(async () => {
      const engine: typeof axe = Reflect.get(window, "axe")
      const { violations } = await engine.run({
        runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
      })
      return violations.map(({ id }) => id)
    })
    expect(found).toEqual([])
  }

  /** Fills in a field, and presses Enter. */
  async function enter(page: Page, name: string, text: string): Promise<void> {
    await page.fill(`[name="${name}"]`, text)
    await page.press(`[name="${name}"]`, "Enter")
  }

  test("verifies a new address by its link, in a browser without JavaScript", async () => {
    const link = await linkIn("Verify your email address")
    const page = await opened({ javaScriptEnabled: false })
    await page.goto(link)
    await heading(page, "Verify your email address")
    await enter(page, "code", link.split("#")[1] ?? "")
    await heading(page, "Email address verified")
    await page.reload()
    await heading(page, "Email address verified")
    await page.context().close()
    const { result } = await service.get("ListUsers", {})
    const grace = result.find(({ username }: { username: string }) => username === "grace")
    expect(grace.human.email).toMatchObject({ email, isVerified: true })
  })

  test("requests a link from the password page, and sets a new password", async () => {
    const page = await opened()
    await page.goto(`${service.url}/ui/login`)
    await enter(page, "loginName", "grace")
    await heading(page, "Enter your password")
    await page.getByRole("link", { name: "Forgot password?" }).click()
    await heading(page, "Forgot your password?")
    expect(await page.inputValue('[name="loginName"]')).toBe("grace")
    await mustBeUsable(page)
    await page.reload()
    await page.getByRole("button", { name: "Send link" }).click()
    await heading(page, "Check your email")
    await mustBeUsable(page)
    // Nothing to resubmit: the page was reached by a redirect.
    await page.reload()
    await page.goBack()
    await heading(page, "Forgot your password?")
    await page.goForward()
    await heading(page, "Check your email")

    const link = await linkIn("Reset your password")
    const elsewhere = await opened()
    await elsewhere.goto(link)
    await heading(elsewhere, "Choose a new password")
    expect(await elsewhere.getByLabel("Code").isVisible()).toBe(false)
    await mustBeUsable(elsewhere)
    await elsewhere.getByRole("button", { name: "Continue" }).click()
    await elsewhere.getByText("Grace Hopper").waitFor()
    await mustBeUsable(elsewhere)
    await elsewhere.fill('[name="password"]', newPassword)
    await enter(elsewhere, "repeat", newPassword)
    await heading(elsewhere, "Password changed")
    await mustBeUsable(elsewhere)
    await elsewhere.getByRole("link", { name: "Sign in" }).click()
    await enter(elsewhere, "loginName", "grace")
    await enter(elsewhere, "password", newPassword)
    await heading(elsewhere, "You are signed in")
    await elsewhere.context().close()

    await page.goto(link)
    await page.getByRole("button", { name: "Continue" }).click()
    await heading(page, "This link doesn't work")
    await page.getByRole("link", { name: "Request a new link" }).click()
    await heading(page, "Forgot your password?")
    await page.context().close()
    await linkIn("Your password was changed")
  })

  test("resets it without JavaScript, and is signed out everywhere", async () => {
    const before = await opened()
    await before.goto(`${service.url}/ui/login`)
    await enter(before, "loginName", "grace")
    await enter(before, "password", newPassword)
    await heading(before, "You are signed in")
    const page = await opened({ javaScriptEnabled: false })
    await page.goto(`${service.url}/ui/login/password/forgot`)
    await enter(page, "loginName", "grace")
    await heading(page, "Check your email")
    const link = await linkIn("Reset your password", 2)
    await page.goto(link)
    await enter(page, "code", link.split("#")[1] ?? "")
    await page.fill('[name="password"]', oldPassword)
    await enter(page, "repeat", oldPassword)
    await heading(page, "Password changed")
    await page.context().close()
    await before.goto(`${service.url}/ui/login/signedin`)
    await heading(before, "Sign in")
    await before.context().close()
  })

  test("gets a link through the console, by hand or by email", async () => {
    const console = await opened()
    const { result } = await service.get("ListUsers", {})
    const { userId } = result.find(({ username }: { username: string }) => username === "grace")
    await console.goto(`${service.url}/ui/console/users/${userId}`)
    await enter(console, "loginName", owner.loginName)
    await enter(console, "password", owner.password)
    await heading(console, "Grace Hopper")
    await console.getByRole("button", { name: "Send link" }).click()
    const dialog = console.getByRole("dialog")
    await dialog.getByRole("button", { name: "Create link" }).click()
    const link = await dialog.locator("code").innerText()
    await dialog.getByRole("button", { name: "Done" }).click()
    const page = await opened()
    await page.goto(link)
    await page.getByRole("button", { name: "Continue" }).click()
    await page.getByText("Grace Hopper").waitFor()
    await page.context().close()
    await console.getByRole("button", { name: "Send link" }).click()
    await dialog.getByRole("button", { name: "Send by email" }).click()
    await console.getByText("The link for Grace Hopper is being sent").waitFor()
    await linkIn("Reset your password", 3)
    await console.context().close()
  })

  test("no page logged an error, and no URL or Referer contained a code or the name", () => {
    expect(complaints).toEqual([])
    const codes = mails.received.flatMap(({ mail }) => /#(\S+)/.exec(mail.text ?? "")?.[1] ?? [])
    expect(codes).toHaveLength(4)
    for (const secret of [...codes, "grace"]) {
      expect(asked.filter((address) => address.includes(secret))).toEqual([])
    }
  })
})
