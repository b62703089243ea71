import { createHash, randomUUID } from "node:crypto"
import { deflateRawSync } from "node:zlib"
import puppeteer, { type Browser, type BrowserContext, type Page } from "puppeteer-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { metadataOf } from "../saml/service-provider.ts"
import { owner } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import { openRedirectingApp, type RedirectingApp } from "../support/redirecting-app.ts"

type Engine = "chromium" | "firefox"

const flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]

const openEngine = (engine: Engine): Promise<Browser> =>
  puppeteer.launch({
    browser: engine === "firefox" ? "firefox" : "chrome",
    executablePath: needs(engine) ?? "",
    args: engine === "firefox" ? [] : flags,
    timeout: 60_000,
  })

const verifier = "v".repeat(43)
const entityId = "https://sp.example.com/metadata"

let service: Service
let app: RedirectingApp
let client = { id: "", secret: "" }

beforeAll(async () => {
  service = await openService()
  app = await openRedirectingApp()
  const organizationId = (await service.get("ListOrganizations")).result[0].id
  const { projectId } = await service.get("CreateProject", { organizationId, name: "Wiki" })
  const made = await service.get("CreateApplication", {
    projectId,
    name: "Wiki",
    oidcConfiguration: {
      redirectUris: [
        `${service.url}/app/callback`,
        "claude://callback",
        `${app.url}/callback`,
        `${app.url}/hop`,
        `${app.url}/claude`,
      ],
      postLogoutRedirectUris: [`${app.url}/hop`],
    },
  })
  const { clientId, clientSecret } = made.oidcConfiguration
  client = { id: clientId, secret: clientSecret }
  for (const path of ["hop", "claude"]) {
    const consumers =
      '<md:AssertionConsumerService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"' +
      ` Location="${app.url}/${path}" index="0" isDefault="true"/>`
    const metadata = metadataOf({ entityId: `${entityId}/${path}`, consumers })
    const metadataXml = Buffer.from(metadata).toString("base64")
    const samlConfiguration = { metadataXml }
    await service.get("CreateApplication", { projectId, name: "Wiki", samlConfiguration })
  }
})
afterAll(async () => {
  app?.close()
  await service?.close()
})

/** The URL of an authorization request. */
function authorizeUrl(redirectUri: string, more: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams({
    client_id: client.id,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "openid",
    state: "s",
    code_challenge_method: "S256",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    ...more,
  })
  return `${service.url}/oauth/v2/authorize?${query}`
}

/** The URL of a SAML request whose response is sent to `path`. */
function samlUrl(path: string): string {
  const xml =
    '<samlp:AuthnRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol"' +
    ` ID="_${randomUUID()}" Version="2.0" IssueInstant="${new Date().toISOString()}">` +
    '<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">' +
    `${entityId}/${path}</saml:Issuer></samlp:AuthnRequest>`
  const SAMLRequest = deflateRawSync(xml).toString("base64")
  return `${service.url}/saml/v2/SSO?${new URLSearchParams({ SAMLRequest })}`
}

const submit = 'main form button[type="submit"]'

/** Fills in a field without triggering the page's scripts. */
const fill = (page: Page, name: string, value: string) =>
  page.$eval(`[name="${name}"]`, (field, text) => field.setAttribute("value", text), value)

/** Clicks, and waits until the page changes. */
async function press(page: Page, selector: string): Promise<void> {
  await Promise.all([page.waitForNavigation({ timeout: 60_000 }), page.click(selector)])
}

/** Opens a URL and continues to the password page. */
async function openPasswordPage(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await fill(page, "loginName", owner.loginName)
  await press(page, submit)
  await page.waitForSelector('[name="password"]')
  await fill(page, "password", owner.password)
}

const passwordButton = 'form[action$="/password"] button[type="submit"]'
const textOf = (page: Page) => page.$eval("main", (main) => main.textContent ?? "")

/** Waits until the application has received such a request after `since`. */
const waitForRequest = (since: number, like: RegExp) =>
  expect.poll(() => app.requests.slice(since).find((each) => like.test(each)), { timeout: 60_000 })

/** Waits until the browser shows the application's page, which may still be loading. */
async function waitForApplication(page: Page): Promise<void> {
  await page.waitForSelector("h1::-p-text(At the application)", { timeout: 60_000 })
}

type Ending = "landed" | "stays"

/** The end of a sign-in, and whether the browser then shows a page of the application. */
const kinds: Readonly<Record<string, readonly [url: () => string, hop: RegExp, Ending]>> = {
  "another origin": [
    () => authorizeUrl(`${app.url}/callback`),
    /^GET \/callback\?code=[^&]+&state=s&iss=/,
    "landed",
  ],
  "two hops": [() => authorizeUrl(`${app.url}/hop`), /^GET \/landed\?code=/, "landed"],
  "a hop to a custom scheme": [
    () => authorizeUrl(`${app.url}/claude`),
    /^GET \/claude\?code=/,
    "stays",
  ],
  "form_post, then a hop": [
    () => authorizeUrl(`${app.url}/hop`, { response_mode: "form_post" }),
    /^GET \/landed$/,
    "landed",
  ],
  "form_post, then a custom scheme": [
    () => authorizeUrl(`${app.url}/claude`, { response_mode: "form_post" }),
    /^POST \/claude$/,
    "stays",
  ],
  "SAML POST, then a hop": [() => samlUrl("hop"), /^GET \/landed$/, "landed"],
  "SAML POST, then a custom scheme": [() => samlUrl("claude"), /^POST \/claude$/, "stays"],
}

describe.each<Engine>(["chromium", "firefox"])(
  "form submissions and redirects, in %s",
  (engine) => {
    describe.runIf(needs(engine))("with this browser", () => {
      let browser: Browser
      const violations: string[] = []
      beforeAll(async () => {
        browser = await openEngine(engine)
      })
      afterAll(() => browser?.close())

      /** A page in a new browser context. Firefox can't disable scripts, so none is loaded. */
      async function opened(scripts: boolean): Promise<{ context: BrowserContext; page: Page }> {
        const context = await browser.createBrowserContext()
        const page = await context.newPage()
        page.setDefaultTimeout(60_000)
        page.on("console", (message) => {
          if (/content security policy/i.test(message.text())) violations.push(message.text())
        })
        if (scripts) return { context, page }
        if (engine === "chromium") await page.setJavaScriptEnabled(false)
        else {
          await page.setRequestInterception(true)
          page.on("request", (request) => {
            void (request.url().endsWith(".js") ? request.abort() : request.continue())
          })
        }
        return { context, page }
      }

      describe.each([
        ["on", true],
        ["off", false],
      ])("scripts %s", (_, scripts) => {
        test.each(Object.entries(kinds))("leads to %s", async (_kind, [url, hop, ending]) => {
          const { context, page } = await opened(scripts)
          const since = app.requests.length
          await openPasswordPage(page, url())
          const isPosted = hop.source.includes("POST") || hop.source.endsWith("landed$")
          if (isPosted && !scripts) {
            await press(page, passwordButton)
            await page.click(submit)
          } else await page.click(passwordButton)
          await waitForRequest(since, hop).toBeDefined()
          if (ending === "landed") {
            await expect.poll(() => page.url()).toContain(app.url.slice(-5))
            await waitForApplication(page)
          } else if (page.url().startsWith(service.url)) {
            // No program here opens such a URL: our page stays, and offers to try again.
            const wayOn = `main a[href^="${app.url}"], ${submit}`
            await page.waitForSelector(wayOn, { timeout: 60_000 })
            expect(await page.$(passwordButton)).toBeNull()
          }
          expect(violations.splice(0)).toEqual([])
          await context.close()
        })

        test("redirects to its own origin", async () => {
          const { context, page } = await opened(scripts)
          await openPasswordPage(page, authorizeUrl(`${service.url}/app/callback`))
          await page.click(passwordButton)
          await expect.poll(() => page.url()).toMatch(/\/app\/callback\?code=/)
          await context.close()
        })

        test("offers a link to an application on the device", async () => {
          const { context, page } = await opened(scripts)
          await openPasswordPage(page, authorizeUrl("claude://callback"))
          await page.click(passwordButton)
          await page.waitForSelector('a[href^="claude://callback?code="]')
          expect(await textOf(page)).toContain("You are signed in")
          await context.close()
        })

        test("continues from consent, account selection and both kinds of sign-out", async () => {
          const { context, page } = await opened(scripts)
          const landed = /^GET \/landed\?code=/
          let since = app.requests.length
          await openPasswordPage(page, authorizeUrl(`${app.url}/hop`, { prompt: "consent" }))
          await press(page, passwordButton)
          await page.waitForSelector('button[value="allow"]')
          await page.click('button[value="allow"]')
          await waitForRequest(since, landed).toBeDefined()
          await waitForApplication(page)
          const code = new URL(page.url()).searchParams.get("code") ?? ""

          since = app.requests.length
          await page.goto(authorizeUrl(`${app.url}/hop`, { prompt: "select_account" }))
          await page.click('button[name="session"]')
          await waitForRequest(since, landed).toBeDefined()
          await waitForApplication(page)

          const left = { post_logout_redirect_uri: `${app.url}/hop`, state: "bye" }
          const byHint = { ...left, id_token_hint: await idTokenOf(code) }
          since = app.requests.length
          await page.goto(`${service.url}/oidc/v1/end_session?${new URLSearchParams(byHint)}`)
          await waitForRequest(since, /^GET \/landed\?state=bye/).toBeDefined()
          await waitForApplication(page)

          await openPasswordPage(page, authorizeUrl(`${app.url}/hop`))
          await page.click(passwordButton)
          await expect.poll(() => page.url()).toContain("/landed?code")
          await waitForApplication(page)
          since = app.requests.length
          const asked = new URLSearchParams({ ...left, client_id: client.id })
          await page.goto(`${service.url}/oidc/v1/end_session?${asked}`)
          await page.click(submit)
          await waitForRequest(since, /^GET \/landed\?state=bye/).toBeDefined()
          await expect.poll(() => page.url()).toContain("/landed?state=bye")
          await waitForApplication(page)
          // The session has ended: Back leads to the application again.
          since = app.requests.length
          await page.goBack()
          if (await page.$(submit)) await page.click(submit)
          await waitForRequest(since, /^GET \/hop\?state=bye/).toBeDefined()
          await context.close()
        })

        test("issues one code for a double click, and offers to continue after Back", async () => {
          const { context, page } = await opened(scripts)
          const since = app.requests.length
          await openPasswordPage(page, authorizeUrl(`${app.url}/hop`))
          await page.click(passwordButton, { count: 2, delay: 20 }).catch(() => undefined)
          await waitForRequest(since, /^GET \/landed\?code=/).toBeDefined()
          await expect.poll(() => page.url()).toContain("/landed?code=")
          const codes = app.requests
            .slice(since)
            .flatMap((each) => /code=([^&]+)/.exec(each)?.[1] ?? [])
          expect(new Set(codes).size).toBe(1)
          await idTokenOf(codes[0] ?? "")
          // The second click's navigation has finished as well; it would replace the previous page.
          await waitForApplication(page)
          await page.waitForNetworkIdle({ idleTime: 200 })
          await page.goBack()
          await page.waitForSelector(`main a[href="${app.url}/"], ${passwordButton}`)
          // A browser may restore the page as it was: its button works too.
          if (await page.$(passwordButton)) await press(page, passwordButton)
          await page.waitForSelector(`main a[href="${app.url}/"]`)
          expect(await textOf(page)).toContain("This sign-in is finished")
          await press(page, `main a[href="${app.url}/"]`)
          expect(page.url()).toBe(`${app.url}/`)
          await context.close()
        })
      })
    })
  },
)

/** Redeems a code, which works once. */
async function idTokenOf(code: string): Promise<string> {
  const response = await fetch(`${service.url}/oauth/v2/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}` },
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code,
      redirect_uri: `${app.url}/hop`,
      code_verifier: verifier,
    }),
  })
  expect(response.status).toBe(200)
  const { id_token } = (await response.json()) as { id_token: string }
  return id_token
}
