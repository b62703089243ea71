import axe from "axe-core"
import type { Browser, BrowserContextOptions, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser, withPasskeys } from "../support/browser.ts"
import { openSignedIn } from "../support/console-pages.ts"
import { freePort, owner } from "../support/latchkey.ts"
import { allowRegistration } from "../support/login-policy.ts"
import { startMailServer, type TestMailServer } from "../support/mail-server.ts"
import { needs } from "../support/prerequisite.ts"
import { type RelyingParty, startRelyingParty } from "../support/relying-party.ts"

const password = "Correct-horse-7-battery"

describe.runIf(needs("chromium"))("a user without an account", () => {
  let service: Service
  let mails: TestMailServer
  let browser: Browser
  let party: RelyingParty
  const complaints: string[] = []

  beforeAll(async () => {
    mails = await startMailServer()
    service = await openService(["--outbound-allow", "127.0.0.1"])
    browser = await openBrowser()
    party = await startRelyingParty(await freePort())
    await allowRegistration(service.get)
    const admin = (name: string) => `core.admin.v1.AdminService/${name}`
    const smtp = { senderAddress: "id@example.com", senderName: "Acme" }
    const host = `127.0.0.1:${mails.port}`
    const { id } = await service.get(admin("AddEmailProviderSMTP"), { ...smtp, host })
    await service.get(admin("ActivateEmailProvider"), { id })
    const organizationId = (await service.get("ListOrganizations")).result[0].id
    const { projectId } = await service.get("CreateProject", { organizationId, name: "Shop" })
    const oidcConfiguration = {
      redirectUris: [party.redirectUri],
      responseTypes: ["OIDC_RESPONSE_TYPE_CODE"],
      grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE"],
      applicationType: "OIDC_APP_TYPE_WEB",
      authMethodType: "OIDC_AUTH_METHOD_TYPE_BASIC",
      developmentMode: true,
    }
    const app = { projectId, name: "The shop", oidcConfiguration }
    const made = await service.get("CreateApplication", app)
    const { clientId, clientSecret } = made.oidcConfiguration
    await party.register(service.url, clientId, clientSecret)
  })
  afterAll(async () => {
    await browser?.close()
    party?.close()
    await service?.close()
    await mails?.close()
  })

  async function opened(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ locale: "en", ...options })
    const page = await context.newPage()
    page.setDefaultTimeout(60_000)
    page.on("pageerror", (error) => complaints.push(error.message))
    page.on("console", (message) => {
      if (/content security policy/i.test(message.text())) complaints.push(message.text())
    })
    return page
  }

  const heading = (page: Page, name: string) =>
    page.getByRole("heading", { name, level: 1 }).waitFor()

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

  async function mailTo(address: string, subject: string): Promise<string> {
    const found = () =>
      mails.received.find(({ mail }) => {
        const to = JSON.stringify(mail.to)
        return mail.subject === subject && to.includes(address)
      })
    await expect.poll(found, { timeout: 60_000 }).toBeDefined()
    return found()?.mail.text ?? ""
  }

  const linkIn = (text: string) => /https?:\S+#\S+/.exec(text)?.[0] ?? ""
  const codeIn = (text: string) => linkIn(text).split("#")[1] ?? ""

  async function typeIn(page: Page, email: string): Promise<void> {
    await page.getByLabel("Email address").fill(email)
    await page.getByLabel("First name").fill("Rita")
    await page.getByLabel("Last name").fill("Roth")
    await page.keyboard.press("Enter")
  }

  test("registers from the application, and returns signed in", async () => {
    const page = await opened()
    await page.goto(party.url)
    await heading(page, "Sign in")
    await page.getByRole("link", { name: "Create account" }).click()
    await heading(page, "Create account")
    await mustBeUsable(page)
    await typeIn(page, "rita@example.net")
    await heading(page, "Check your email")
    await mustBeUsable(page)
    // Back and forward resubmit nothing.
    await page.reload()
    await page.goBack()
    await heading(page, "Create account")
    await page.goForward()
    await heading(page, "Check your email")
    const code = codeIn(await mailTo("rita@example.net", "Activate your account"))
    await page.getByLabel("Code").fill("AAAAAA")
    await page.keyboard.press("Enter")
    await heading(page, "This link doesn't work")
    await mustBeUsable(page)
    await page.getByLabel("Code").fill(code.toLowerCase())
    await page.keyboard.press("Enter")
    await heading(page, "Choose your password")
    await mustBeUsable(page)
    await page.reload()
    const signedIn = party.next()
    await page.fill('[name="password"]', password)
    await page.fill('[name="repeat"]', password)
    await page.keyboard.press("Enter")
    const { claims, userinfo } = await signedIn
    expect(userinfo).toMatchObject({ email: "rita@example.net", email_verified: true })
    expect(claims.amr).toContain("pwd")
    await page.context().close()
  })

  test("signs up with a link, and is invited after an administrator's approval", async () => {
    const organizationId = (await service.get("ListOrganizations")).result[0].id
    const expirationDate = new Date(Date.now() + 86_400_000).toISOString()
    const terms = { useLimit: 1, expirationDate, requireApproval: true }
    const { url } = await service.get("CreateSignUpLink", { organizationId, ...terms })
    const page = await opened()
    await page.goto(url)
    await heading(page, "Create account")
    expect(await page.getByLabel("Code").isVisible()).toBe(false)
    await mustBeUsable(page)
    await page.getByRole("button", { name: "Continue" }).click()
    await page.getByText("You are joining Acme.").waitFor()
    await mustBeUsable(page)
    await typeIn(page, "lin@example.net")
    await heading(page, "Check your email")
    await page.goto(linkIn(await mailTo("lin@example.net", "Activate your account")))
    await page.getByRole("button", { name: "Continue" }).click()
    await heading(page, "Your request was sent")
    await mustBeUsable(page)
    const told = await mailTo(owner.email, "A sign-up is waiting for approval")
    const list = /https?:\S+sign-ups/.exec(told)?.[0] ?? ""
    const administrator = await openSignedIn(await browser.newContext({ locale: "en" }), list)
    await administrator.getByText("lin@example.net").waitFor()
    await administrator.getByRole("button", { name: "Approve" }).click()
    await administrator.getByText("No sign-ups to approve.").waitFor()
    const invitation = linkIn(await mailTo("lin@example.net", "You have been invited to Acme"))
    await page.goto(invitation)
    await page.getByRole("button", { name: "Continue" }).click()
    await heading(page, "Set up your sign-in")
    await administrator.context().close()
    await page.context().close()
  })

  test("registers a passkey instead of a password, and signs in with it alone", async () => {
    const page = await opened()
    await withPasskeys(page)
    await page.goto(`${service.url}/ui/login/register`)
    await typeIn(page, "pia@example.net")
    const text = await mailTo("pia@example.net", "Activate your account")
    await page.getByLabel("Code").fill(codeIn(text))
    await page.keyboard.press("Enter")
    await heading(page, "Choose your password")
    const choice = page.getByRole("button", { name: "Use a passkey instead" })
    await choice.waitFor()
    await mustBeUsable(page)
    // Nothing is offered while the user stays on the page.
    expect(page.url()).toContain("/register/password")
    await choice.press("Enter")
    await heading(page, "You are signed in")
    await page.goto("about:blank")
    await page.context().clearCookies()
    // The browser offers the passkey at the login name field.
    const back = party.next()
    await page.goto(party.url)
    const { claims, userinfo } = await back
    expect(claims.amr).toEqual(["pop", "user", "mfa"])
    expect(userinfo).toMatchObject({ email: "pia@example.net", email_verified: true })
    await page.context().close()
  })

  test("registers by the emailed link without JavaScript, in German and dark mode", async () => {
    const page = await opened({ javaScriptEnabled: false, locale: "de", colorScheme: "dark" })
    await page.goto(`${service.url}/ui/login/register`)
    await page.fill('[name="email"]', "hans@example.net")
    await page.fill('[name="givenName"]', "Hans")
    await page.fill('[name="familyName"]', "Roth")
    await page.press('[name="familyName"]', "Enter")
    const text = await mailTo("hans@example.net", "Aktiviere dein Konto")
    await page.goto(linkIn(text))
    await page.fill('[name="code"]', codeIn(text))
    await page.press('[name="code"]', "Enter")
    expect(await page.locator("form:visible").count()).toBe(1)
    await page.fill('[name="password"]', password)
    await page.fill('[name="repeat"]', password)
    await page.press('[name="repeat"]', "Enter")
    await heading(page, "Du bist angemeldet")
    await page.context().close()
  })

  test("who has one learns it by email, and from no page", async () => {
    const page = await opened()
    await page.goto(`${service.url}/ui/login/register`)
    await typeIn(page, "rita@example.net")
    await heading(page, "Check your email")
    const text = await mailTo("rita@example.net", "You already have an account")
    expect(text).toContain("rita@example.net")
    await page.context().close()
  })

  test("no page logged an error", () => expect(complaints).toEqual([]))
})
