import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openBrowser } from "../support/browser.ts"
import {
  freePort,
  owner,
  type RunningServer,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import { type RelyingParty, startRelyingParty } from "../support/relying-party.ts"

describe.runIf(needs("chromium"))("from setup to a signed-in application", () => {
  const folder = temporaryFolder()
  let server: RunningServer
  let browser: Browser
  let page: Page
  let party: RelyingParty
  let clientId = ""
  let clientSecret = ""
  const violations: string[] = []

  beforeAll(async () => {
    server = await startLatchkey({ data: folder.path, port: await freePort() })
    party = await startRelyingParty(await freePort())
    browser = await openBrowser()
    page = await browser.newPage()
    page.setDefaultTimeout(60_000)
    page.on("console", (message) => {
      if (/content security policy/i.test(message.text())) violations.push(message.text())
    })
  })
  afterAll(async () => {
    await browser?.close()
    party?.close()
    await server?.stop()
    folder.remove()
  })

  test("a browser without the link sees where to find it", async () => {
    await page.goto(server.url)
    await page.getByText("latchkey setup-link").waitFor()
  })

  test("the printed link opens the form, which signs the owner in", async () => {
    const link = /http:\S+\/setup#\S+/.exec(server.output())?.[0]
    expect(link).toBeDefined()
    await page.goto(link ?? "")
    await expect.poll(() => page.inputValue('[name="publicUrl"]')).toBe(server.url)
    await page.fill('[name="organization"]', "Acme")
    await page.fill('[name="firstName"]', "Ada")
    await page.fill('[name="lastName"]', "Lovelace")
    await page.fill('[name="email"]', owner.email)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.getByRole("heading", { name: "Projects", level: 1 }).waitFor()
  })

  test("the link works once", async () => {
    const other = await browser.newPage()
    const link = /http:\S+\/setup#\S+/.exec(server.output())?.[0] ?? ""
    const answer = await other.goto(link)
    expect(answer?.status()).toBe(404)
    await other.close()
  })

  test("the owner creates a project and an application, whose secret is shown once", async () => {
    await page.getByRole("button", { name: "Create project" }).last().click()
    await page.getByLabel("Name", { exact: true }).fill("Intranet")
    await page.getByRole("dialog").getByRole("button", { name: "Create project" }).click()
    await page.getByRole("heading", { name: "Intranet" }).waitFor()
    // The empty list has loaded: it contains the action, which the heading no longer shows.
    await page.getByText("No applications yet").waitFor()
    await page.getByRole("link", { name: "Create application" }).click()
    await page.getByText("Web application", { exact: true }).click()
    await page.getByLabel("Name", { exact: true }).fill("Wiki")
    await page.getByLabel("Redirect URIs", { exact: true }).fill(party.redirectUri)
    await page.getByLabel(/Post-logout redirect URIs/).fill(party.postLogoutRedirectUri)
    await page.getByRole("button", { name: "Create application" }).click()
    await page.getByText("Application created").waitFor()
    const facts = await page.locator("dl.facts").first().innerText()
    clientId = /Client ID\s+(\d{18})/.exec(facts)?.[1] ?? ""
    clientSecret = (await page.locator(".secret code").innerText()).trim()
    expect(clientId).toMatch(/^\d{18}$/)
    expect(clientSecret).toMatch(/^[\w-]{64}$/)
  })

  test("openid-client signs the user in with a password and reads userinfo", async () => {
    await party.register(server.url, clientId, clientSecret)
    const visitor = await browser.newContext({ javaScriptEnabled: false })
    const visit = await visitor.newPage()
    const completed = party.next()
    await visit.goto(party.url)
    await visit.getByText("Wiki").first().waitFor()
    await visit.fill('[name="loginName"]', owner.loginName)
    await visit.click('button[type="submit"]')
    await visit.fill('[name="password"]', owner.password)
    await visit.click('button[type="submit"]')
    const { claims, userinfo } = await completed
    expect(claims.iss).toBe(server.url)
    // The console creates confidential clients, whose ID token contains the user's claims.
    expect(claims).toMatchObject({ aud: clientId, name: "Ada Lovelace", email: owner.email })
    expect(userinfo).toMatchObject({
      sub: claims.sub,
      name: "Ada Lovelace",
      email: owner.email,
      email_verified: true,
    })
    await visitor.close()
  })

  test("a browser with a session signs in without interaction", async () => {
    const completed = party.next()
    await page.goto(party.url)
    const answer = await Promise.race([
      completed.then(() => "signed in"),
      page
        .locator('button[type="submit"]')
        .first()
        .waitFor()
        .then(() => "asked"),
    ])
    // With one session the user is not asked; no other page of ours ran.
    expect(answer).toBe("signed in")
  })

  test("no page violated its content security policy", () => {
    expect(violations).toEqual([])
  })
})
