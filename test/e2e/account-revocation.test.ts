import type { Browser, BrowserContext, CDPSession, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { addHuman, openService, type Service } from "../acceptance/service.ts"
import { openBrowser, withPasskeys } from "../support/browser.ts"
import { freePort } from "../support/latchkey.ts"
import { standardLogin } from "../support/login-policy.ts"
import { needs } from "../support/prerequisite.ts"
import { type RelyingParty, startRelyingParty } from "../support/relying-party.ts"

const password = "Correct-horse-7-battery"

describe.runIf(needs("chromium"))("access that is revoked", () => {
  let service: Service
  let party: RelyingParty
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let keys: CDPSession
  let authenticatorId = ""
  let userId = ""

  beforeAll(async () => {
    service = await openService()
    party = await startRelyingParty(await freePort())
    await service.get("core.admin.v1.AdminService/UpdateLoginPolicy", standardLogin)
    const { result } = await service.get("ListOrganizations")
    const organizationId = result[0].id
    userId = await addHuman(service, organizationId, "grace")
    await service.get("SetPassword", { userId, newPassword: { password, changeRequired: false } })
    const { projectId } = await service.get("CreateProject", { organizationId, name: "Intranet" })
    const oidcConfiguration = { redirectUris: [party.redirectUri] }
    const wanted = { projectId, name: "Wiki", oidcConfiguration }
    const made = (await service.get("CreateApplication", wanted)).oidcConfiguration
    await party.register(service.url, made.clientId, made.clientSecret)
    browser = await openBrowser()
    context = await browser.newContext({ locale: "en" })
    page = await context.newPage()
    page.setDefaultTimeout(60_000)
    const device = await withPasskeys(page)
    keys = device.keys
    authenticatorId = device.authenticatorId
  })
  afterAll(async () => {
    await browser?.close()
    party?.close()
    await service?.close()
  })

  const section = (name: string) =>
    page.locator(".section", { has: page.getByRole("heading", { name, exact: true }) })

  async function signIn(): Promise<void> {
    await page.fill('[name="loginName"]', "grace")
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', password)
    await page.click('button[type="submit"]')
  }

  const userinfo = async (accessToken: string) => {
    const headers = { authorization: `Bearer ${accessToken}` }
    return (await fetch(`${service.url}/oidc/v1/userinfo`, { headers })).status
  }

  test("ends for a disconnected application", async () => {
    const arrived = party.next()
    await page.goto(party.url)
    await signIn()
    await page.getByText(`hello ${userId}`).waitFor()
    const { accessToken } = await arrived
    expect(await userinfo(accessToken)).toBe(200)
    await page.goto(`${service.url}/ui/account/sessions`)
    const wiki = section("Connected applications").locator("li", { hasText: "Wiki" }).first()
    await wiki.getByText("Can see your email address").waitFor()
    await wiki.getByRole("button", { name: "Revoke access" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Revoke access" }).click()
    await section("Connected applications").getByText("No application has access").waitFor()
    expect(await userinfo(accessToken)).toBe(401)
    // It can request access again, and the user is still signed in here.
    const again = party.next()
    await page.goto(party.url)
    await page.getByText(`hello ${userId}`).waitFor()
    expect(await userinfo((await again).accessToken)).toBe(200)
  })

  test("is no longer offered by the browser for a passkey removed here", async () => {
    await page.goto(`${service.url}/ui/account/security`)
    await page.getByRole("button", { name: "Add passkey" }).click()
    await page.getByRole("textbox", { name: /^Name/ }).fill("Lost phone")
    await page.getByRole("button", { name: "Continue" }).click()
    await section("Passkeys").getByText("Lost phone").waitFor()
    const { result } = await service.get("ListPasskeys", { userId })
    await service.get("RemovePasskey", { userId, passkeyId: result[0].id })
    const held = async () =>
      (await keys.send("WebAuthn.getCredentials", { authenticatorId })).credentials.length
    expect(await held()).toBe(1)
    await context.clearCookies()
    // The page offers the passkey where a name is entered, the server rejects it, and the page
    // shows the error.
    await page.goto(`${service.url}/ui/account`)
    await page.locator("[data-unknown-key]").waitFor({ state: "attached" })
    await expect.poll(held, { timeout: 60_000 }).toBe(0)
    await signIn()
    await page.getByRole("heading", { name: "Profile", level: 1 }).waitFor()
  })
})
