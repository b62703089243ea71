import { createServer, type Server } from "node:http"
import type { Browser, Page, Route } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { freePort, owner } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

describe.runIf(needs("chromium"))("an application with every response mode", () => {
  let service: Service
  let browser: Browser
  let party: Server
  let redirectUri: string
  let clientId: string
  const answers: { readonly method: string; readonly fields: Record<string, string> }[] = []
  const violations: string[] = []

  beforeAll(async () => {
    service = await openService()
    const port = await freePort()
    redirectUri = `http://localhost:${port}/callback`
    party = createServer(async (request, response) => {
      let body = ""
      for await (const chunk of request) body += chunk
      const { pathname, searchParams } = new URL(request.url ?? "", redirectUri)
      const fields = Object.fromEntries(body === "" ? searchParams : new URLSearchParams(body))
      // Browsers also request an icon.
      if (pathname === "/callback") answers.push({ method: request.method ?? "", fields })
      response.writeHead(200, { "content-type": "text/html" }).end("<h1>at the application</h1>")
    })
    await new Promise<void>((done) => party.listen(port, "127.0.0.1", done))
    const { result } = await service.get("ListOrganizations")
    const organizationId = result[0].id
    const { projectId } = await service.get("CreateProject", { organizationId, name: "Intranet" })
    const made = await service.get("CreateApplication", {
      projectId,
      name: "Wiki",
      oidcConfiguration: {
        redirectUris: [redirectUri],
        responseTypes: ["OIDC_RESPONSE_TYPE_CODE", "OIDC_RESPONSE_TYPE_ID_TOKEN_TOKEN"],
        grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_IMPLICIT"],
        developmentMode: true,
      },
    })
    clientId = made.oidcConfiguration.clientId
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    party?.closeAllConnections()
    party?.close()
    await service?.close()
  })

  /** `script` answers requests for the scripts of our pages. */
  async function open(
    changes: Readonly<Record<string, string>>,
    javaScriptEnabled: boolean,
    script?: (route: Route) => Promise<void>,
  ) {
    const context = await browser.newContext({ javaScriptEnabled })
    const page = await context.newPage()
    if (script) {
      await page.route("**/*", (route) =>
        route.request().resourceType() === "script" ? script(route) : route.continue(),
      )
    }
    page.setDefaultTimeout(60_000)
    page.on("console", (message) => {
      if (/content security policy/i.test(message.text())) violations.push(message.text())
    })
    const asked = { response_type: "code", scope: "openid email", state: "s", nonce: "n" }
    const registered = { client_id: clientId, redirect_uri: redirectUri }
    const query = new URLSearchParams({ ...registered, ...asked, ...changes })
    await page.goto(`${service.url}/oauth/v2/authorize?${query}`)
    return page
  }

  async function signIn(page: Page) {
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
  }

  const arrived = async (page: Page) => {
    await page.getByRole("heading", { name: "at the application" }).waitFor()
    return answers.at(-1)
  }

  test.each([true, false])(
    "is allowed or denied by a click, with or without script: %s",
    async (js) => {
      const page = await open({ prompt: "consent" }, js)
      await page.getByText("This application is in development mode.").waitFor()
      await signIn(page)
      await page.getByRole("heading", { name: "Allow Wiki access to your account?" }).waitFor()
      await page.getByText("your email address").waitFor()
      await page.getByRole("button", { name: "Allow" }).click()
      expect(await arrived(page)).toMatchObject({ method: "GET", fields: { state: "s" } })
      expect(answers.at(-1)?.fields).toHaveProperty("code")

      const again = await page.context().newPage()
      const query = { client_id: clientId, redirect_uri: redirectUri, response_type: "code" }
      const asked = new URLSearchParams({ ...query, scope: "openid", prompt: "consent" })
      await again.goto(`${service.url}/oauth/v2/authorize?${asked}`)
      await again.getByRole("button", { name: "Cancel" }).click()
      expect(await arrived(again)).toMatchObject({ fields: { error: "access_denied" } })
      await page.context().close()
    },
  )

  test("gets its response by a form that posts itself", async () => {
    const page = await open({ response_mode: "form_post" }, true)
    await signIn(page)
    expect(await arrived(page)).toMatchObject({ method: "POST", fields: { state: "s" } })
    expect(answers.at(-1)?.fields).toHaveProperty("code")
    await page.context().close()
  })

  test("gets it by a click without script", async () => {
    const page = await open({ response_mode: "form_post" }, false)
    await signIn(page)
    await page.getByRole("button", { name: "Continue" }).click()
    expect(await arrived(page)).toMatchObject({ method: "POST", fields: { state: "s" } })
    await page.context().close()
  })

  test.each<[string, (route: Route) => Promise<void>]>([
    ["does not load", (route) => route.abort()],
    ["fails", (route) => route.fulfill({ contentType: "text/javascript", body: "throw 1" })],
    ["is blocked by an extension", (route) => route.abort("blockedbyclient")],
  ])("gets it by a click if the page's script %s", async (_, answer) => {
    const page = await open({ response_mode: "form_post" }, true, answer)
    await signIn(page)
    const button = page.getByRole("button", { name: "Continue" })
    await button.waitFor()
    await page.getByText("You are signed in").waitFor()
    await button.click()
    expect(await arrived(page)).toMatchObject({ method: "POST", fields: { state: "s" } })
    expect(answers.at(-1)?.fields).toHaveProperty("code")
    await page.context().close()
  })

  test("gets an error by a click, and the page does not call it a sign-in", async () => {
    const block = (route: Route) => route.abort()
    const page = await open({ response_mode: "form_post", prompt: "none" }, true, block)
    await page.getByRole("heading", { name: "Sign-in not completed" }).waitFor()
    expect(await page.getByText("You are signed in").count()).toBe(0)
    await page.getByRole("button", { name: "Continue" }).click()
    expect(await arrived(page)).toMatchObject({ fields: { error: "login_required" } })
    await page.context().close()
  })

  test("gets tokens in the fragment, which is not sent to servers", async () => {
    const page = await open({ response_type: "id_token token" }, true)
    await signIn(page)
    expect(await arrived(page)).toEqual({ method: "GET", fields: {} })
    const fragment = new URLSearchParams(new URL(page.url()).hash.slice(1))
    expect([...fragment.keys()].sort()).toEqual(
      ["access_token", "expires_in", "id_token", "iss", "scope", "state", "token_type"].sort(),
    )
    await page.context().close()
  })

  test("violates no policy of our own pages", () => {
    expect(violations).toEqual([])
  })
})
