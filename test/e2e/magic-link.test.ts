// Signing in with an emailed link instead of a password.
import type { Browser, BrowserContextOptions, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { addHuman, openService, type Service } from "../acceptance/service.ts"
import { findViolations } from "../support/axe.ts"
import { openBrowser } from "../support/browser.ts"
import { standardLogin } from "../support/login-policy.ts"
import { startMailServer, type TestMailServer } from "../support/mail-server.ts"
import { needs } from "../support/prerequisite.ts"

describe.runIf(needs("chromium"))("a user who signs in with an emailed link", () => {
  let service: Service
  let mails: TestMailServer
  let browser: Browser
  let clientId = ""

  beforeAll(async () => {
    mails = await startMailServer()
    service = await openService(["--outbound-allow", "127.0.0.1"])
    browser = await openBrowser()
    const { get } = service
    const admin = (name: string) => `core.admin.v1.AdminService/${name}`
    const smtp = { senderAddress: "id@example.com", senderName: "Acme" }
    const host = `127.0.0.1:${mails.port}`
    const { id } = await get(admin("AddEmailProviderSMTP"), { ...smtp, host })
    await get(admin("ActivateEmailProvider"), { id })
    await get(admin("UpdateLoginPolicy"), { ...standardLogin, allowMagicLink: true })
    const organizationId = (await get("ListOrganizations")).result[0].id
    await addHuman({ get }, organizationId, "grace")
    const { projectId } = await get("CreateProject", { organizationId, name: "Intranet" })
    const oidcConfiguration = { redirectUris: [`${service.url}/callback`] }
    const app = { projectId, name: "Wiki", oidcConfiguration }
    clientId = (await get("CreateApplication", app)).oidcConfiguration.clientId
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
    await mails?.close()
  })

  const authorizePath = () => {
    const redirect_uri = `${service.url}/callback`
    const asked = { response_type: "code", scope: "openid", redirect_uri, client_id: clientId }
    return `${service.url}/oauth/v2/authorize?${new URLSearchParams(asked)}`
  }

  const opened = async (options: BrowserContextOptions = {}): Promise<Page> => {
    const context = await browser.newContext({ locale: "en", bypassCSP: true, ...options })
    const page = await context.newPage()
    page.setDefaultTimeout(60_000)
    return page
  }

  const heading = (page: Page, name: string) =>
    page.getByRole("heading", { name, level: 1 }).waitFor()

  /** Requests a link with the keyboard only. */
  async function ask(page: Page, button = "Email me a sign-in link instead"): Promise<void> {
    await page.fill('[name="loginName"]', "grace")
    await page.press('[name="loginName"]', "Enter")
    await page.getByRole("button", { name: button }).focus()
    await page.keyboard.press("Enter")
  }

  /** The link and the code of the newest email. */
  async function mailed(count: number, subject = "Your sign-in link") {
    const found = () => mails.received.filter(({ mail }) => mail.subject === subject)
    await expect.poll(() => found().length, { timeout: 60_000 }).toBe(count)
    const [link = ""] = /https?:\S+#\S+/.exec(found().at(-1)?.mail.text ?? "") ?? []
    return { link, code: decodeURIComponent(link.split("#")[1] ?? "") }
  }

  const arrived = (page: Page) => page.waitForURL((url) => url.pathname === "/callback")

  test("opens it in the same browser, presses the button, and is signed in", async () => {
    const page = await opened()
    await page.goto(authorizePath())
    await ask(page)
    await heading(page, "Check your email")
    expect(await findViolations(page)).toEqual([])
    await page.reload()
    await heading(page, "Check your email")
    const { link } = await mailed(1)
    const tab = await page.context().newPage()
    await tab.goto(link)
    await heading(tab, "Almost there")
    expect(await tab.getByLabel("Code").isVisible()).toBe(false)
    expect(await findViolations(tab)).toEqual([])
    await tab.getByRole("button", { name: "Sign in" }).click()
    await arrived(tab)
    expect(new URL(tab.url()).searchParams.get("code")).not.toBeNull()
    // The page that stayed open continues the same way.
    await page.fill('[name="code"]', "12345678")
    await page.getByRole("button", { name: "Sign in" }).click()
    await arrived(page)
    await page.context().close()
  })

  test("opens it on another device, which shows the code to enter", async () => {
    const page = await opened()
    await page.goto(authorizePath())
    await ask(page)
    await heading(page, "Check your email")
    const { link, code } = await mailed(2)
    const phone = await opened({ viewport: { width: 390, height: 844 }, colorScheme: "dark" })
    await phone.goto(link)
    await heading(phone, "Continue in the other browser")
    expect(await phone.locator("code").innerText()).toBe(code)
    expect(await findViolations(phone)).toEqual([])
    await phone.goto(`${service.url}/ui/login/signedin`)
    await heading(phone, "Sign in")
    await phone.context().close()
    await page.fill('[name="code"]', "0")
    await page.keyboard.press("Enter")
    await page.getByRole("alert").or(page.locator('[aria-invalid="true"]')).first().waitFor()
    expect(await findViolations(page)).toEqual([])
    await page.fill('[name="code"]', code)
    await page.keyboard.press("Enter")
    await arrived(page)
    await page.context().close()
  })

  test("does so in German and without JavaScript", async () => {
    const page = await opened({ locale: "de", javaScriptEnabled: false })
    await page.goto(authorizePath())
    await ask(page, "Stattdessen einen Link per E-Mail senden")
    await heading(page, "Prüfe deine E-Mails")
    const { link, code } = await mailed(3)
    await page.goto(link)
    await heading(page, "Du bist fast angemeldet")
    await page.fill('[name="code"]', code)
    await page.keyboard.press("Enter")
    await arrived(page)
    await page.context().close()
  })
})
