import { createServer, type Server } from "node:http"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { freePort, owner } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import { pause } from "../support/wait.ts"

const ownScheme = "com.example.app:/callback"
const elsewhere = "https://app.example.com/callback"

/** The password form leads to the application's redirect URI, whatever its scheme and host. */
describe.runIf(needs("chromium"))("the redirect from the password to the application", () => {
  let service: Service
  let browser: Browser
  let party: Server
  let port = 0
  let clientId = ""
  /** The delay of the application's response, in ms. */
  let lateMs = 0
  const complaints: string[] = []
  /** The requests at the application, with their Referer. */
  const asked: { readonly url: string; readonly referer: string | undefined }[] = []

  beforeAll(async () => {
    service = await openService()
    party = createServer(({ url = "", headers }, response) => {
      if (url.startsWith("/callback")) asked.push({ url, referer: headers.referer })
      response.writeHead(200, { "content-type": "text/html" })
      // timer: the application responds late on purpose
      setTimeout(() => response.end("<h1>at the application</h1>"), lateMs)
    })
    port = await freePort()
    await new Promise<void>((done) => party.listen(port, "127.0.0.1", done))
    const { result } = await service.get("ListOrganizations")
    const organizationId = result[0].id
    const { projectId } = await service.get("CreateProject", { organizationId, name: "Phones" })
    const made = await service.get("CreateApplication", {
      projectId,
      name: "Notes",
      oidcConfiguration: {
        redirectUris: [
          "http://127.0.0.1/callback",
          "http://[::1]/callback",
          "http://localhost/callback",
          ownScheme,
          elsewhere,
        ],
        applicationType: "OIDC_APP_TYPE_NATIVE",
        authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE",
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

  /** A page at the password step, in a new browser. */
  async function opened(redirectUri: string, javaScriptEnabled: boolean): Promise<Page> {
    const context = await browser.newContext({ javaScriptEnabled })
    // Not every machine has IPv6, and the other hosts don't exist: the test observes the requests.
    context.on("request", (request) => {
      if (!/^(https:\/\/app\.example\.com|http:\/\/\[::1\])/.test(request.url())) return
      const { pathname, search } = new URL(request.url())
      asked.push({ url: pathname + search, referer: request.headers().referer })
    })
    const page = await context.newPage()
    page.setDefaultTimeout(60_000)
    page.on("console", (message) => {
      if (/content security policy/i.test(message.text())) complaints.push(message.text())
    })
    const query = new URLSearchParams({
      client_id: clientId,
      redirect_uri: redirectUri,
      response_type: "code",
      scope: "openid",
      state: "s",
      code_challenge: "c".repeat(43),
      code_challenge_method: "S256",
    })
    await page.goto(`${service.url}/oauth/v2/authorize?${query}`)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', owner.password)
    return page
  }

  describe.each([true, false])("with script or without: %s", (script) => {
    test.each([
      ["on this machine, by IPv4", () => `http://127.0.0.1:${port}/callback`],
      ["on this machine, by IPv6", () => `http://[::1]:${port}/callback`],
      ["on this machine, by name", () => `http://localhost:${port}/callback`],
      ["elsewhere", () => elsewhere],
    ])("leads to an application %s, which receives only the response", async (_, uri) => {
      const page = await opened(uri(), script)
      const before = asked.length
      await page.click('button[type="submit"]')
      await expect.poll(() => asked.length).toBeGreaterThan(before)
      const [answer] = asked.slice(before)
      expect(answer?.url).toMatch(/^\/callback\?code=[^&]+&state=s&iss=/)
      expect(answer?.referer).toBeUndefined()
      await page.context().close()
    })

    test("leads to an application with its own URI scheme", async () => {
      const page = await opened(ownScheme, script)
      // No program here handles such URLs: the test observes the browser's navigation.
      const frames = await page.context().newCDPSession(page)
      await frames.send("Page.enable")
      const left = new Promise<string>((done) => {
        frames.on("Page.frameRequestedNavigation", ({ url }) => {
          if (!url.startsWith("http")) done(url)
        })
      })
      await page.click('button[type="submit"]')
      expect(await left).toMatch(/^com\.example\.app:\/callback\?code=/)
      await page.context().close()
    })
  })

  // The second click comes before the first response, or before the application has loaded.
  test.each([0, 20, 60, 150])("survives a double click, %s ms apart", async (apart) => {
    lateMs = 400
    const page = await opened(`http://localhost:${port}/callback`, false)
    // The button moves until the style sheets are loaded.
    await page.waitForLoadState()
    const box = await page.locator('button[type="submit"]').first().boundingBox()
    if (!box) throw new Error("the button is not there")
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
    for (const clickCount of [1, 2]) {
      await page.mouse.down({ clickCount })
      await page.mouse.up({ clickCount })
      await pause(apart, "the time between two clicks is what is tested")
    }
    await page.getByRole("heading", { name: "at the application" }).waitFor()
    expect(page.url()).toMatch(/\/callback\?code=[^&]+&state=s&iss=/)
    lateMs = 0
    await page.context().close()
  })

  test("violates no policy of our own pages", () => {
    expect(complaints).toEqual([])
  })
})
