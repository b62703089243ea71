import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { type Apache, apacheUris, settingsFor, startApache } from "../support/apache.ts"
import { openBrowser } from "../support/browser.ts"
import { freePort, owner, temporaryFolder } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import { startCgi } from "../support/proxy.ts"

const present = needs("chromium") !== undefined && needs("apache") !== undefined
const modules = "/usr/lib/apache2/modules"

describe.runIf(present)("a page behind Apache's mod_auth_openidc", () => {
  const folder = temporaryFolder()
  let service: Service
  let apache: Apache
  let cgi: Awaited<ReturnType<typeof startCgi>> | undefined
  let browser: Browser
  let page: Page

  beforeAll(async () => {
    // Apache runs on this machine, which is not called unless allowed.
    service = await openService(["--outbound-allow", "127.0.0.1,localhost"])
    const port = await freePort()
    const { redirectUri, postLogoutRedirectUri, backChannelLogoutUri } = apacheUris(port)
    const project = await service.get("CreateProject", {
      organizationId: await findOrgId(service),
      name: "Intranet",
    })
    const app = await service.get("CreateApplication", {
      projectId: project.projectId,
      name: "Intranet",
      oidc: {
        redirectUris: [redirectUri],
        postLogoutRedirectUris: [postLogoutRedirectUri],
        backChannelLogoutUri,
        grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE"],
        responseTypes: ["OIDC_RESPONSE_TYPE_CODE"],
        applicationType: "OIDC_APP_TYPE_WEB",
        authMethodType: "OIDC_AUTH_METHOD_TYPE_BASIC",
      },
    })
    const { clientId, clientSecret } = app.oidcConfiguration ?? app.oidc
    const registration = { issuer: service.url, clientId, clientSecret }
    cgi = needs("python") ? await startCgi("python", folder.path) : undefined
    const settings = `${settingsFor(registration, redirectUri)}
LoadModule proxy_module ${modules}/mod_proxy.so
LoadModule proxy_http_module ${modules}/mod_proxy_http.so
${cgi ? `ProxyPass /protected/program http://${cgi.host}` : ""}`
    apache = await startApache(folder.path, port, { module: "auth_openidc", settings })
    browser = await openBrowser()
    page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(60_000)
  })
  afterAll(async () => {
    await browser?.close()
    await apache?.stop()
    await cgi?.stop()
    await service?.close()
    folder.remove()
  })

  async function signIn() {
    await page.goto(`${apache.url}/protected/`)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.getByRole("heading", { name: "Intranet" }).waitFor()
  }

  test("requires a sign-in", async () => {
    const answer = await fetch(`${apache.url}/protected/`, { redirect: "manual" })
    expect(answer.status).toBe(302)
    expect(answer.headers.get("location")).toContain(`${service.url}/oauth/v2/authorize?`)
  })

  test("is shown to a user who signs in with a password, by name", async () => {
    await signIn()
    expect(await page.locator("#user").innerText()).toBe(owner.loginName)
    expect(await page.locator("#name").innerText()).not.toBe("(none)")
  })

  test.runIf(needs("python"))("passes no claims of the client to a WSGI program", async () => {
    const names = ["preferred_username", "sub", "groups"].flatMap((claim) =>
      ["_", "-"].flatMap((sign) => {
        const name = `OIDC_CLAIM_${claim}`.replaceAll("_", sign)
        return [name, name.toLowerCase(), name.replace("CLAIM_", "CLAIM-")]
      }),
    )
    for (const name of names) {
      const headers = { [name]: "forged" }
      const answer = await page.request.get(`${apache.url}/protected/program`, { headers })
      const received: Record<string, string> = await answer.json()
      expect(received).toMatchObject({ HTTP_OIDC_CLAIM_PREFERRED_USERNAME: owner.loginName })
      const forged = Object.keys(received).filter((key) => received[key]?.includes("forged"))
      expect([name, ...forged]).toEqual([name])
    }
  })

  test("signs out of both, and returns to the page that requested it", async () => {
    const bye = encodeURIComponent(`${apache.url}/bye.html`)
    await page.goto(`${apache.url}/protected/callback?logout=${bye}`)
    await page.getByRole("heading", { name: "Bye" }).waitFor()
    expect(new URL(page.url()).pathname).toBe("/bye.html")
    await page.goto(`${apache.url}/protected/`)
    await page.locator('[name="loginName"]').waitFor()
  })

  test("ends when the user signs out elsewhere (Back-Channel Logout)", async () => {
    await signIn()
    const elsewhere = await page.context().newPage()
    await elsewhere.goto(`${service.url}/oidc/v1/endsession`)
    await elsewhere.click('button[type="submit"]')
    await elsewhere.getByText("You are signed out").waitFor()
    await expect
      .poll(async () => {
        await page.goto(`${apache.url}/protected/`)
        return page.locator('[name="loginName"]').count()
      })
      .toBe(1)
  })

  test("logs nothing that requires attention", () => {
    const worries = apache
      .log()
      .split("\n")
      .filter((line) => /:(error|crit|emerg)\]/.test(line))
    expect(worries).toEqual([])
  })
})

const findOrgId = async (service: Service): Promise<string> =>
  (await service.get("ListOrganizations")).result[0].id
