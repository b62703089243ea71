import { TOTP } from "otpauth"
import type { Browser, BrowserContext, CDPSession, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { newAuthenticator, openBrowser, waitUntilIdle, withPasskeys } from "../support/browser.ts"
import { owner } from "../support/latchkey.ts"
import { standardLogin } from "../support/login-policy.ts"
import { needs } from "../support/prerequisite.ts"

/** The login policy; factors not listed are turned off. */
const policy = { ...standardLogin, forceMfa: true }

describe.runIf(needs("chromium"))("factors and passkeys", () => {
  let service: Service
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let keys: CDPSession
  let authenticatorId = ""
  const complaints: string[] = []

  beforeAll(async () => {
    service = await openService()
    await service.get("core.admin.v1.AdminService/UpdateLoginPolicy", policy)
    browser = await openBrowser()
    context = await browser.newContext({ locale: "en" })
    page = await context.newPage()
    page.setDefaultTimeout(60_000)
    page.on("pageerror", (error) => complaints.push(error.message))
    page.on("console", (message) => {
      if (/content security policy/i.test(message.text())) complaints.push(message.text())
    })
    const device = await withPasskeys(page)
    keys = device.keys
    authenticatorId = device.authenticatorId
  })

  /** An authorization request like the console's. */
  let request = ""
  beforeAll(async () => {
    const other = await browser.newPage()
    other.on("request", (each) => {
      if (each.url().includes("/oauth/v2/authorize?")) request = each.url()
    })
    await other.goto(`${service.url}/ui/console/users`)
    await other.locator('[name="loginName"]').waitFor()
    await other.close()
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  const heading = (name: string) => page.getByRole("heading", { name, level: 1 }).waitFor()
  const console = () => page.locator("main.content").waitFor()

  async function typePassword(): Promise<void> {
    await page.fill('[name="loginName"]', owner.loginName)
    await page.getByRole("button", { name: "Continue" }).click()
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
  }

  /** Signs out everywhere; the console would otherwise redirect while it loads. */
  async function leave(): Promise<void> {
    await waitUntilIdle(page)
    await page.goto("about:blank")
    await context.clearCookies()
  }

  test("a passkey is set up if a factor is required, and signs in immediately", async () => {
    await page.goto(`${service.url}/ui/console/users`)
    await typePassword()
    await heading("Protect your account")
    await page.getByRole("button", { name: "Passkey" }).click()
    await heading("Passkey")
    await page.getByRole("button", { name: "Continue" }).click()
    await console()
  })

  test("a passkey signs in from the first page, without a name or a password", async () => {
    await leave()
    // The browser offers the passkey at the login name field; no name is entered.
    await page.goto(`${service.url}/ui/console/users`)
    await console()
  })

  test("a passkey signs in by the button if the browser offers none", async () => {
    await leave()
    await page.addInitScript(() => {
      PublicKeyCredential.isConditionalMediationAvailable = async () => false
    })
    await page.goto(`${service.url}/ui/console/users`)
    await page.getByRole("button", { name: "Sign in with a passkey" }).click()
    await console()
  })

  test("a passkey is required after the password; the page says if it is missing", async () => {
    await context.clearCookies()
    await page.goto(`${service.url}/ui/console/users`)
    await typePassword()
    await heading("Verify that it's you")
    await keys.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: false })
    await keys.send("WebAuthn.removeVirtualAuthenticator", { authenticatorId })
    authenticatorId = await newAuthenticator(keys)
    await page.getByRole("button", { name: "Use passkey or security key" }).click()
    await page.getByText("That didn't work.").waitFor()
  })

  test("an authenticator app is set up and used without script", async () => {
    const { userId } = (await service.get("ListUsers")).result.find(
      (each: any) => each.preferredLoginName === owner.loginName,
    )
    const { result } = await service.get("ListPasskeys", { userId })
    expect(result).toHaveLength(1)
    await service.get("RemovePasskey", { userId, passkeyId: result[0].id })
    const still = await browser.newContext({
      locale: "en",
      javaScriptEnabled: false,
      colorScheme: "dark",
    })
    const plain = await still.newPage()
    plain.setDefaultTimeout(60_000)
    await plain.goto(request)
    const signIn = async () => {
      await plain.fill('[name="loginName"]', owner.loginName)
      await plain.getByRole("button", { name: "Continue" }).click()
      await plain.fill('[name="password"]', owner.password)
      await plain.click('button[type="submit"]')
    }
    await signIn()
    await plain.getByRole("button", { name: "Authenticator app" }).click()
    // A camera must be able to read it in dark mode as well.
    const ground = await plain
      .getByRole("img")
      .evaluate((picture) => getComputedStyle(picture).backgroundColor)
    expect(ground).toBe("rgb(255, 255, 255)")
    const secret = (await plain.locator("main code").innerText()).replaceAll(" ", "")
    await plain.fill('[name="code"]', new TOTP({ secret }).generate())
    await plain.getByRole("button", { name: "Continue" }).click()
    await expect.poll(() => plain.url()).toContain("code=")
    await still.clearCookies()
    await plain.goto(request)
    await signIn()
    await plain.getByText("from your authenticator app").waitFor()
    // The current code was used; the next one is already valid.
    const next = new TOTP({ secret }).generate({ timestamp: Date.now() + 30_000 })
    await plain.fill('[name="code"]', next)
    await plain.getByRole("button", { name: "Continue" }).click()
    await expect.poll(() => plain.url()).toContain("code=")
    await still.close()
  })

  test("no page violated its content security policy", () => {
    expect(complaints).toEqual([])
  })
})
