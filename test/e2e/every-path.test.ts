// Every way to sign in, by a driver without page definitions: it fills in the visible fields and
// presses Enter.
import { TOTP } from "otpauth"
import type { Browser, BrowserContextOptions, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { humanInput, openService, type Service } from "../acceptance/service.ts"
import { findViolations } from "../support/axe.ts"
import { openBrowser } from "../support/browser.ts"
import { freePort } from "../support/latchkey.ts"
import { allowRegistration } from "../support/login-policy.ts"
import { startMailServer, type TestMailServer } from "../support/mail-server.ts"
import { needs } from "../support/prerequisite.ts"
import { startRelyingParty } from "../support/relying-party.ts"

const password = "Correct-horse-7-battery"
const newPassword = "Fresh-horse-8-battery"

/** The value of each field; a function is called when its page is open. */
type FieldValues = Readonly<Record<string, string | ((page: Page) => Promise<string>)>>

describe.runIf(needs("chromium"))("a driver that fills in the visible fields signs in", () => {
  let service: Service
  let mails: TestMailServer
  let browser: Browser
  let organizationId = ""
  let address = ""
  let party: Awaited<ReturnType<typeof startRelyingParty>>
  const admin = (name: string) => `core.admin.v1.AdminService/${name}`
  /** The pages that axe has already checked. */
  const seen = new Set<string>()

  beforeAll(async () => {
    mails = await startMailServer()
    service = await openService(["--outbound-allow", "127.0.0.1"])
    browser = await openBrowser()
    party = await startRelyingParty(await freePort())
    const { get } = service
    await allowRegistration(get)
    const smtp = { senderAddress: "id@example.com", senderName: "Acme" }
    const { id } = await get(admin("AddEmailProviderSMTP"), {
      ...smtp,
      host: `127.0.0.1:${mails.port}`,
    })
    await get(admin("ActivateEmailProvider"), { id })
    const named = { type: "SECOND_FACTOR_TYPE_OTP_EMAIL" }
    await get(admin("AddSecondFactorToLoginPolicy"), named)
    organizationId = (await get("ListOrganizations")).result[0].id
    const { projectId } = await get("CreateProject", { organizationId, name: "Shop" })
    const oidcConfiguration = {
      redirectUris: [party.redirectUri],
      responseTypes: ["OIDC_RESPONSE_TYPE_CODE"],
      grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE"],
      applicationType: "OIDC_APP_TYPE_WEB",
      authMethodType: "OIDC_AUTH_METHOD_TYPE_BASIC",
      developmentMode: true,
    }
    const made = await get("CreateApplication", { projectId, name: "Shop", oidcConfiguration })
    const { clientId, clientSecret } = made.oidcConfiguration
    await party.register(service.url, clientId, clientSecret)
    address = party.url
  })
  afterAll(async () => {
    await browser?.close()
    party?.close()
    await service?.close()
    await mails?.close()
  })

  async function add(username: string, secret: object = { password: { password } }) {
    const human = { ...humanInput(username), ...secret }
    const { id } = await service.get("CreateUser", { organizationId, username, human })
    return String(id)
  }

  async function opened(options: BrowserContextOptions): Promise<Page> {
    const context = await browser.newContext({ locale: "en", bypassCSP: true, ...options })
    const page = await context.newPage()
    page.setDefaultTimeout(60_000)
    return page
  }

  const title = (page: Page) => page.locator("h1").first().innerText()
  const isAtHome = (page: Page) => page.url().startsWith(service.url)

  /**
   * One step: fills in the visible fields and presses Enter; without fields, presses the first
   * button.
   */
  async function step(page: Page, values: FieldValues): Promise<void> {
    const fields = page.locator("main input:visible")
    let last = ""
    for (const input of await fields.all()) {
      const name = (await input.getAttribute("name")) ?? ""
      if ((await input.getAttribute("type")) === "checkbox") {
        await input.check()
        continue
      }
      const value = values[name]
      if (value === undefined) throw new Error(`no value for the field ${name}`)
      await input.fill(typeof value === "string" ? value : await value(page))
      last = name
    }
    if (last === "") await page.locator("main form button[type=submit]:visible").first().click()
    else await page.locator(`main [name="${last}"]:visible`).press("Enter")
    await page.waitForLoadState()
    // The last page continues automatically, without input.
    await page.waitForURL(({ pathname }) => !pathname.endsWith("/authorize/callback"))
  }

  /** Reloads each page, and navigates back and forward: neither posts anything or loses state. */
  async function mustBeSafe(page: Page): Promise<void> {
    const posted: string[] = []
    const note = (request: { method: () => string; url: () => string }) => {
      if (request.method() === "POST") posted.push(request.url())
    }
    page.on("request", note)
    const here = await title(page)
    await page.reload()
    expect(await title(page)).toBe(here)
    await page.goBack()
    await page.goForward()
    expect([await title(page), posted]).toEqual([here, []])
    page.off("request", note)
  }

  /** Continues until `isDone` returns true. */
  async function drive(page: Page, values: FieldValues, isDone: () => Promise<boolean>) {
    for (let count = 0; count < 12; count++) {
      if (await isDone()) return
      const here = await title(page)
      await mustBeSafe(page)
      if (!seen.has(here) && (await page.evaluate("typeof document")) === "object") {
        seen.add(here)
        expect(await findViolations(page), here).toEqual([])
      }
      await step(page, values)
    }
    throw new Error(`the driver is stuck at ${page.url()}: ${await title(page)}`)
  }

  const isBack = (page: Page) => async () => !isAtHome(page)
  const isAt = (page: Page, path: string) => async () => page.url().startsWith(service.url + path)

  /** The newest email to a user after the first `before` ones. */
  async function mailTo(name: string, before = 0): Promise<string> {
    const found = () =>
      mails.received.filter(({ mail }) => JSON.stringify(mail.to).includes(`${name}@example.com`))
    await expect.poll(() => found().length, { timeout: 60_000 }).toBeGreaterThan(before)
    return found().at(-1)?.mail.text ?? ""
  }

  const linkIn = (text: string) => /https?:\S+#\S+/.exec(text)?.[0] ?? ""
  const codeIn = (text: string) => decodeURIComponent(linkIn(text).split("#")[1] ?? "")

  const ways = [true, false].map((javaScriptEnabled) => ({
    javaScriptEnabled,
    of: javaScriptEnabled ? "js" : "plain",
  }))

  describe.each(ways)("with $of pages", ({ javaScriptEnabled, of }) => {
    const visit = () => opened({ javaScriptEnabled })

    test("by a password, also after a wrong one", async () => {
      const loginName = `ann-${of}`
      await add(loginName)
      const page = await visit()
      await page.goto(address)
      await step(page, { loginName })
      await step(page, { password: "wrong" })
      expect(await page.locator("[role=alert]").count()).toBe(1)
      await mustBeSafe(page)
      // Back from the error leads to the previous page, without a resubmission.
      await page.goBack()
      await drive(page, { loginName, password }, isBack(page))
      await page.goBack()
      await page.context().close()
    })

    test("by a password and an authenticator app", async () => {
      const loginName = `otto-${of}`
      const userId = await add(loginName)
      const { secret } = await service.get("RegisterTOTP", { userId })
      const code = (late = 0) =>
        new TOTP({ secret }).generate({ timestamp: Date.now() + late * 30_000 })
      await service.get("VerifyTOTPRegistration", { userId, code: code(-1) })
      const page = await visit()
      await page.goto(address)
      await drive(page, { loginName, password, code: async () => code() }, isBack(page))
      await page.context().close()
    })

    test("by a password and a code sent by email", async () => {
      const loginName = `eve-${of}`
      await service.get("AddOTPEmail", { userId: await add(loginName) })
      const code = async () => /\b\d{6,8}\b/.exec(await mailTo(loginName))?.[0] ?? ""
      const page = await visit()
      await page.goto(address)
      await drive(page, { loginName, password, code }, isBack(page))
      await page.context().close()
    })

    test("by a recovery code instead of the app", async () => {
      const loginName = `rob-${of}`
      const userId = await add(loginName)
      const { secret } = await service.get("RegisterTOTP", { userId })
      const code = new TOTP({ secret }).generate()
      await service.get("VerifyTOTPRegistration", { userId, code })
      const { recoveryCodes } = await service.get("GenerateRecoveryCodes", { userId })
      const page = await visit()
      await page.goto(address)
      await step(page, { loginName })
      await step(page, { password })
      await page.getByRole("link", { name: "Recovery code" }).click()
      await drive(page, { code: recoveryCodes[0] }, isBack(page))
      await page.context().close()
    })

    test("by a password that must be changed", async () => {
      const loginName = `cora-${of}`
      await add(loginName, { password: { password, changeRequired: true } })
      const page = await visit()
      await page.goto(address)
      await step(page, { loginName })
      await step(page, { password })
      await drive(page, { password: newPassword, repeat: newPassword }, isBack(page))
      await page.context().close()
    })

    test("by an invitation", async () => {
      const userId = await add(`ines-${of}`, {})
      const { inviteCode } = await service.get("CreateInviteCode", { userId, returnCode: {} })
      const page = await visit()
      const query = new URLSearchParams({ userId, organization: organizationId, invite: "true" })
      await page.goto(`${service.url}/ui/login/verify?${query}#${inviteCode}`)
      const known = { code: inviteCode, password, repeat: password }
      await drive(page, known, isAt(page, "/ui/login/signedin"))
      await page.context().close()
    })

    test("by resetting a forgotten password, from the application and back", async () => {
      const loginName = `fred-${of}`
      await add(loginName)
      const page = await visit()
      await page.goto(address)
      await step(page, { loginName })
      await page.getByRole("link", { name: "Forgot password?" }).click()
      await drive(page, { loginName }, isAt(page, "/ui/login/password/forgot/sent"))
      const link = linkIn(await mailTo(loginName))
      await page.goto(link)
      const chosen = { code: link.split("#")[1] ?? "", password: newPassword, repeat: newPassword }
      await drive(page, chosen, isAt(page, "/ui/login/password/done"))
      await page.getByRole("link", { name: "Sign in" }).click()
      await drive(page, { loginName, password: newPassword }, isBack(page))
      await page.context().close()
    })

    test("by registering an account", async () => {
      const name = `rita-${of}`
      const page = await visit()
      await page.goto(address)
      await page.getByRole("link", { name: "Create account" }).click()
      const known = {
        email: `${name}@example.com`,
        givenName: "Rita",
        familyName: "Roth",
        password,
        repeat: password,
        code: async () => codeIn(await mailTo(name)),
      }
      await drive(page, known, isBack(page))
      await page.context().close()
    })
  })
})
