import axe from "axe-core"
import { TOTP } from "otpauth"
import type { Browser, BrowserContext, CDPSession, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { addHuman, openService, type Service } from "../acceptance/service.ts"
import { openBrowser, waitUntilIdle, withPasskeys } from "../support/browser.ts"
import { owner } from "../support/latchkey.ts"
import { standardLogin } from "../support/login-policy.ts"
import { needs } from "../support/prerequisite.ts"

const password = "Correct-horse-7-battery"
const newPassword = "Better-horse-8-battery"

/** The factors that an organization allows; those not listed are turned off. */
describe.runIf(needs("chromium"))("the account pages", () => {
  let service: Service
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let keys: CDPSession
  let authenticatorId = ""
  let userId = ""
  let secret = ""
  const complaints: string[] = []

  beforeAll(async () => {
    service = await openService()
    const admin = "core.admin.v1.AdminService"
    await service.get(`${admin}/UpdateLoginPolicy`, standardLogin)
    const mailed = { type: "SECOND_FACTOR_TYPE_OTP_EMAIL" }
    await service.get(`${admin}/AddSecondFactorToLoginPolicy`, mailed)
    const { result } = await service.get("ListOrganizations")
    userId = await addHuman(service, result[0].id, "grace")
    await service.get("SetPassword", { userId, newPassword: { password, changeRequired: false } })
    browser = await openBrowser()
    context = await browser.newContext({ locale: "en", bypassCSP: true, acceptDownloads: true })
    page = await opened(context)
    const device = await withPasskeys(page)
    keys = device.keys
    authenticatorId = device.authenticatorId
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  async function opened(of: BrowserContext): Promise<Page> {
    const fresh = await of.newPage()
    fresh.setDefaultTimeout(60_000)
    fresh.on("pageerror", (error) => complaints.push(error.message))
    fresh.on("response", (answer) => {
      if (answer.status() === 403) complaints.push(`403 ${answer.url()}`)
    })
    fresh.on("console", (message) => {
      const isAnswer = message.text().startsWith("Failed to load resource")
      if (message.type() === "error" && !isAnswer) complaints.push(message.text())
    })
    return fresh
  }

  const at = (path: string) => `${service.url}/ui/account${path}`
  const heading = (name: string, on = page) =>
    on.getByRole("heading", { name, level: 1, exact: true }).waitFor()
  const section = (name: string, on = page) =>
    on.locator(".section", { has: on.getByRole("heading", { name, exact: true }) })

  async function signIn(on = page, secret = password, name = "grace"): Promise<void> {
    await on.fill('[name="loginName"]', name)
    await on.click('button[type="submit"]')
    await on.fill('[name="password"]', secret)
    await on.click('button[type="submit"]')
  }

  test("open for a user without administrator roles, through the sign-in and back", async () => {
    await page.goto(at("/security"))
    await signIn()
    await heading("Security")
    expect(new URL(page.url()).pathname).toBe("/ui/account/security")
    expect(await page.getByRole("link", { name: "Console" }).count()).toBe(0)
  })

  test("are linked from the page for signed-in users", async () => {
    await page.goto(`${service.url}/ui/login/signedin`)
    await page.getByRole("link", { name: "Manage your account" }).click()
    await heading("Profile")
    // Also signs in with the domain of the organization.
    await section("Login names").getByText("grace", { exact: true }).waitFor()
    expect(await section("Login names").innerText()).not.toContain("@")
  })

  test("call no operation that is denied to such a user; nor does the console", async () => {
    const paths = ["", "/applications", "/events", "/nodes", "/settings", `/users/${userId}`]
    for (const path of paths) {
      await page.goto(`${service.url}/ui/console${path}`)
      await heading("You don't have access to the console")
      await waitUntilIdle(page)
    }
    await page.getByRole("link", { name: "Your account" }).click()
    await heading("Profile")
    expect(complaints).toEqual([])
  })

  test("report blocked cookies, which make the browser throw", async () => {
    const blocked = await browser.newContext({ locale: "en" })
    await blocked.addInitScript(`for (const kind of ["localStorage", "sessionStorage"]) {
      Object.defineProperty(window, kind, {
        get() { throw new DOMException("Access is denied for this document.", "SecurityError") },
      })
    }`)
    const on = await opened(blocked)
    for (const path of ["/ui/account", "/ui/console/users", "/ui/console/signed-out"]) {
      await on.goto(service.url + path)
      await heading("Cookies are blocked", on)
      expect(await on.locator("main").innerText()).not.toContain("denied")
    }
    await on.goto(`${service.url}/ui/login/loginname`)
    await heading("Sign in", on)
    await blocked.close()
    expect(complaints).toEqual([])
  })

  test.each([2, -2])("open with a clock %i h off the server's, and report it", async (hours) => {
    const late = await browser.newContext({ locale: "en" })
    await late.addInitScript(`{
      const Right = Date
      const now = () => Right.now() + ${hours} * 3_600_000
      globalThis.Date = class extends Right {
        constructor(...given) { given.length > 0 ? super(...given) : super(now()) }
        static now() { return now() }
      }
    }`)
    const on = await opened(late)
    await on.goto(at("/sessions"))
    await signIn(on)
    await heading("Sessions and apps", on)
    await on.getByText(/^The clock of this device is wrong: it shows .+ the server's/).waitFor()
    await section("Sessions", on).getByText("Signed in now").first().waitFor()
    await late.close()
  })

  test("change the names and the language", async () => {
    await section("Details").getByRole("button").click()
    await page.getByLabel("Display name").fill("Grace Hopper")
    await page.getByLabel("Language").selectOption({ label: "German" })
    await page.getByRole("button", { name: "Save" }).click()
    await section("Details").getByText("Grace Hopper").waitFor()
    await section("Details").getByText("German").waitFor()
  })

  /** Waits for the code in the newest email to the new address. */
  async function sentCode(): Promise<string> {
    const last = async () => {
      const { messages = [] } = await service.get("ListMessages", { userId })
      return messages.find(({ kind }: { kind: string }) => kind === "verify_email")?.id ?? ""
    }
    await expect.poll(last).not.toBe("")
    const { link } = await service.get("ViewMessage", { userId, messageId: await last() })
    return decodeURIComponent(new URL(link).hash.slice(1).split("&key=")[0] ?? "")
  }

  test("change the email address by a code sent to it", async () => {
    await section("Email").getByRole("button", { name: "Change" }).click()
    await page.getByLabel("Email").fill("new@example.com")
    await page.getByRole("button", { name: "Send code" }).click()
    await section("Email").getByText("Not verified").waitFor()
    await page.getByLabel("Code").fill("WRONG1")
    await page.getByRole("button", { name: "Verify" }).click()
    await section("Email").getByRole("alert").waitFor()
    await page.getByLabel("Code").fill(await sentCode())
    await page.getByRole("button", { name: "Verify" }).click()
    await section("Email").getByText("Verified", { exact: true }).waitFor()
  })

  test("add a passkey that signs in, and remove it", async () => {
    await page.getByRole("link", { name: "Security" }).click()
    await page.getByRole("button", { name: "Add passkey" }).click()
    await page.getByRole("textbox", { name: /^Name/ }).fill("My laptop")
    await page.getByRole("button", { name: "Continue" }).click()
    await section("Passkeys").getByText("My laptop").waitFor()
    await section("Passkeys").getByText("Never used").waitFor()
    await page.getByRole("button", { name: "Rename: My laptop" }).click()
    await page.getByRole("textbox", { name: /^Name/ }).fill("Work laptop")
    await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click()
    await section("Passkeys").getByText("Work laptop").waitFor()
    await context.clearCookies()
    await page.goto(at("/security"))
    await heading("Security")
    await section("Passkeys").getByText("Last used").waitFor()
    await page.getByRole("button", { name: "Remove: Work laptop" }).click()
    // Otherwise the virtual authenticator offers the key wherever a name is entered.
    await keys.send("WebAuthn.clearCredentials", { authenticatorId })
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click()
    // The current session continues after the removal.
    await section("Passkeys").getByText("No passkeys yet.").waitFor()
  })

  test("list the sessions, and end those on other devices", async () => {
    const other = await browser.newContext({
      locale: "en",
      userAgent: "Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0",
    })
    const elsewhere = await opened(other)
    await elsewhere.goto(at(""))
    await signIn(elsewhere)
    await heading("Profile", elsewhere)
    await page.getByRole("link", { name: "Sessions and apps" }).click()
    const windows = section("Sessions").locator("li", { hasText: "Firefox on Windows" })
    await windows.waitFor()
    await section("Sessions").locator("li", { hasText: "This browser" }).first().waitFor()
    await section("Failed sign-ins").getByText("No failed sign-ins.").waitFor()
    await windows.getByRole("button").click()
    await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click()
    await windows.waitFor({ state: "detached" })
    await other.close()
    await page.getByRole("link", { name: "Security" }).click()
  })

  test("change the password, and reject a wrong one at its field", async () => {
    await page.getByRole("link", { name: "Security" }).click()
    await section("Password").getByRole("button", { name: "Change" }).click()
    await page.getByLabel("Current password").fill("wrong")
    await page.getByLabel("New password").fill(newPassword)
    await page.getByRole("button", { name: "Change password" }).click()
    await section("Password").getByRole("alert").waitFor()
    await page.getByLabel("Current password").fill(password)
    await page.getByRole("button", { name: "Change password" }).click()
    await signIn(page, newPassword)
    await heading("Security")
  })

  test("set up an authenticator app by its code", async () => {
    await page.getByRole("button", { name: "Set up: Authenticator app" }).click()
    const dialog = page.getByRole("dialog")
    secret = (await dialog.locator("code").innerText()).replaceAll(" ", "")
    await dialog.locator('[name="code"]').fill(new TOTP({ secret }).generate())
    await dialog.getByRole("button", { name: "Verify" }).click()
    await page.getByRole("button", { name: "Remove: Authenticator app" }).waitFor()
  })

  test("show recovery codes once", async () => {
    await section("Recovery codes").getByRole("button", { name: "Create codes" }).click()
    const codes = await section("Recovery codes").locator("pre").innerText()
    expect(codes.split("\n")).toHaveLength(10)
    await section("Recovery codes").getByText("10 codes left").waitFor()
    await section("Recovery codes").getByText("Copy, download or print the codes now").waitFor()
    await page.reload()
    // This session has not used the second factor that was added.
    await heading("Verify that it's you")
    // A code works once, and the next one is already valid.
    const code = new TOTP({ secret }).generate({ timestamp: Date.now() + 30_000 })
    await page.fill('[name="code"]', code)
    await page.click('button[type="submit"]')
    await section("Recovery codes").getByRole("button", { name: "Create new codes" }).waitFor()
    expect(await section("Recovery codes").locator("pre").count()).toBe(0)
  })

  test("export the user's data, without secrets", async () => {
    await page.getByRole("link", { name: "Your data" }).click()
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download your data" }).click(),
    ])
    const stream = await download.createReadStream()
    const data = JSON.parse(Buffer.concat(await Array.fromAsync(stream)).toString())
    expect(data.user.user.human.profile.displayName).toBe("Grace Hopper")
    expect(JSON.stringify(data)).not.toContain("argon2")
  })

  /** The axe violations of the current page, for each width and color scheme. */
  async function flaws(): Promise<readonly string[]> {
    const found: string[] = []
    for (const width of [390, 1280]) {
      for (const colorScheme of ["light", "dark"] as const) {
        await page.setViewportSize({ width, height: 900 })
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
        await page.evaluate(axe.source)
        const seen: string[] = await page.evaluate(`axe.run(document, {
          runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
        }).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
          nodes.map(({ html }) => id + ": " + html.slice(0, 160))))`)
        found.push(...seen.map((flaw) => `${width} ${colorScheme} ${flaw}`))
      }
    }
    return found
  }

  test.each(["", "/security", "/sessions", "/data"])("%s is accessible", async (path) => {
    await page.goto(at(path))
    await page.locator(".section").first().waitFor()
    expect(await flaws()).toEqual([])
  })

  test("an administrator sees the user's factors, and removes a lost one", async () => {
    const other = await browser.newContext({ locale: "en" })
    const manager = await opened(other)
    await manager.goto(`${service.url}/ui/console/users/${userId}`)
    await signIn(manager, owner.password, owner.loginName)
    const ways = section("Passkeys and second factors", manager)
    await ways.getByText("Authenticator app", { exact: true }).waitFor()
    await ways.getByRole("button", { name: "Remove: Recovery codes" }).click()
    await manager.getByRole("dialog").getByRole("button", { name: "Remove" }).click()
    await ways.getByText("Recovery codes", { exact: true }).waitFor({ state: "detached" })
    await ways.getByRole("button", { name: "Send passkey link" }).click()
    await manager.getByRole("button", { name: "Create link" }).click()
    await manager.getByText("/ui/login/passkey/set?").waitFor()
    await other.close()
  })

  test("no page logged an error", () => {
    expect(complaints).toEqual([])
  })
})
