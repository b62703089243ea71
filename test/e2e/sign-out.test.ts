import { createHash } from "node:crypto"
import { createServer } from "node:http"
import { createRemoteJWKSet, decodeJwt, jwtVerify } from "jose"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { freePort, owner } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

describe.runIf(needs("chromium"))("the end of a session", () => {
  let service: Service
  let browser: Browser
  let application: Application
  let clientId = ""
  let clientSecret = ""

  beforeAll(async () => {
    service = await openService(["--outbound-allow", "localhost"])
    application = await openApplication()
    browser = await openBrowser()
    const { url } = application
    const organizationId = (await service.get("ListOrganizations")).result[0].id
    const { projectId } = await service.get("CreateProject", { organizationId, name: "Wiki" })
    const { oidcConfiguration } = await service.get("CreateApplication", {
      projectId,
      name: "Wiki",
      oidcConfiguration: {
        redirectUris: [`${url}/callback`],
        postLogoutRedirectUris: [`${url}/bye`],
        backChannelLogoutUri: `${url}/backchannel`,
        frontChannelLogout: { uri: `${url}/forget`, sessionRequired: true },
      },
    })
    clientId = oidcConfiguration.clientId
    clientSecret = oidcConfiguration.clientSecret
  })
  afterAll(async () => {
    await browser?.close()
    application?.close()
    await service?.close()
  })

  /** Signs the owner in and returns the ID token. */
  async function enter(page: Page): Promise<string> {
    const verifier = "v".repeat(43)
    const redirect_uri = `${application.url}/callback`
    const query = new URLSearchParams({
      client_id: clientId,
      redirect_uri,
      response_type: "code",
      scope: "openid",
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
    })
    await page.goto(`${service.url}/oauth/v2/authorize?${query}`)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.waitForURL((url) => url.pathname === "/callback")
    const code = new URL(page.url()).searchParams.get("code") ?? ""
    const response = await fetch(`${service.url}/oauth/v2/token`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
      body: new URLSearchParams({
        grant_type: "authorization_code",
        code,
        redirect_uri,
        code_verifier: verifier,
      }),
    })
    const { id_token } = (await response.json()) as { id_token: string }
    return id_token
  }

  test.each([true, false])("is sent to the application (script: %s)", async (javaScriptEnabled) => {
    application.seen.length = 0
    const context = await browser.newContext({ javaScriptEnabled })
    const page = await context.newPage()
    const violations: string[] = []
    page.on("console", (message) => {
      if (/content security policy/i.test(message.text())) violations.push(message.text())
    })
    const id_token_hint = await enter(page)
    const post_logout_redirect_uri = `${application.url}/bye`
    const query = new URLSearchParams({ id_token_hint, post_logout_redirect_uri, state: "s" })
    await page.goto(`${service.url}/oidc/v1/end_session?${query}`, { waitUntil: "commit" })
    if (!javaScriptEnabled) {
      await page.getByRole("link", { name: "Continue" }).waitFor()
      await page.waitForLoadState("load")
    }
    await page.waitForURL(/\/bye\?state=s/, { timeout: 60_000 })
    expect(violations).toEqual([])

    const { sid, sub } = decodeJwt(id_token_hint)
    const expected = new URLSearchParams({ iss: service.url, sid: String(sid) })
    const forgotten = { path: `/forget?${expected}`, body: "" }
    await expect.poll(() => application.seen).toContainEqual(forgotten)
    const told = () => application.seen.find(({ path }) => path === "/backchannel")
    await expect.poll(told, { timeout: 60_000 }).toBeDefined()
    const token = new URLSearchParams(told()?.body).get("logout_token") ?? ""
    const keys = createRemoteJWKSet(new URL(`${service.url}/oauth/v2/keys`))
    const { payload } = await jwtVerify(token, keys, {
      issuer: service.url,
      audience: clientId,
      typ: "logout+jwt",
    })
    expect(payload).toMatchObject({ sub, sid })
    await context.close()
  })
})

type Application = {
  readonly url: string
  readonly seen: { path: string; body: string }[]
  readonly close: () => void
}

/** An application that records how it is notified. */
async function openApplication(): Promise<Application> {
  const seen: { path: string; body: string }[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    seen.push({ path: request.url ?? "", body: Buffer.concat(chunks).toString() })
    response.writeHead(200, { "content-type": "text/html" }).end("<p>here</p>")
  })
  const port = await freePort()
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://localhost:${port}`, seen, close }
}
