// mod_auth_openidc without a userinfo endpoint: only the ID token names the user.
import { createServer } from "node:http"
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { type Apache, apacheUris, settingsFor, startApache } from "../support/apache.ts"
import { openBrowser } from "../support/browser.ts"
import { freePort, owner, temporaryFolder } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

const present = needs("chromium") !== undefined && needs("apache") !== undefined

describe.runIf(present)("Apache's mod_auth_openidc without a userinfo endpoint", () => {
  const folder = temporaryFolder()
  let service: Service
  let apache: Apache
  let browser: Browser
  let metadata: Awaited<ReturnType<typeof serveMetadata>>

  beforeAll(async () => {
    service = await openService()
    const port = await freePort()
    const { redirectUri } = apacheUris(port)
    const { result } = await service.get("ListOrganizations")
    const organizationId = result[0].id
    const { projectId } = await service.get("CreateProject", { organizationId, name: "Intranet" })
    const { oidcConfiguration: registered } = await service.get("CreateApplication", {
      projectId,
      name: "Intranet",
      oidcConfiguration: { redirectUris: [redirectUri], idTokenUserinfoAssertion: true },
    })
    metadata = await serveMetadata(service)
    const { clientId, clientSecret } = registered
    const registration = { issuer: service.url, clientId, clientSecret }
    const settings = settingsFor(registration, redirectUri)
    apache = await startApache(folder.path, port, {
      module: "auth_openidc",
      settings: settings.replace(/(?<=^OIDCProviderMetadataURL ).*$/m, metadata.url),
    })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await apache?.stop()
    await service?.close()
    metadata?.close()
    folder.remove()
  })

  test("gets the user's name and login name", async () => {
    const page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(60_000)
    await page.goto(`${apache.url}/protected/`)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.getByRole("heading", { name: "Intranet" }).waitFor()
    expect(await page.locator("#user").innerText()).toBe(owner.loginName)
    expect(await page.locator("#name").innerText()).not.toBe("(none)")
  })
})

/** Our discovery document without the userinfo endpoint. */
async function serveMetadata(service: Service) {
  const found = await fetch(`${service.url}/.well-known/openid-configuration`)
  const { userinfo_endpoint: _, ...document } = await found.json()
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document))
  })
  const port = await freePort()
  await new Promise<void>((done) => server.listen(port, "localhost", done))
  return { url: `http://localhost:${port}/`, close: () => server.close() }
}
