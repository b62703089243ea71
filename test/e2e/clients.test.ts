import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { owner } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

const redirectUri = "https://wiki.example.org/callback"
const resource = "https://mcp.example.com/mcp"
const secret = "Chosen-0123456789-abcdefghijklmn"

describe.runIf(needs("chromium"))("an application that exists elsewhere", () => {
  let service: Service
  let browser: Browser
  let page: Page
  let projectId = ""

  beforeAll(async () => {
    service = await openService()
    const organizationId = (await service.get("ListOrganizations")).result[0].id
    const made = await service.get("CreateProject", { organizationId, name: "Intranet" })
    projectId = made.projectId
    browser = await openBrowser()
    page = await (await browser.newContext({ locale: "en" })).newPage()
    page.setDefaultTimeout(60_000)
    await page.goto(`${service.url}/ui/console/projects/${projectId}/new-application`)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.locator("main.content h1").waitFor()
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  const section = (title: string) =>
    page
      .locator("section.section")
      .filter({ has: page.getByRole("heading", { name: title, exact: true }) })

  const authorized = (more: Readonly<Record<string, string>>) => {
    const asked = { response_type: "code", scope: "openid", redirect_uri: redirectUri, ...more }
    const query = new URLSearchParams({ ...asked, client_id: "wiki.example" })
    return fetch(`${service.url}/oauth/v2/authorize?${query}`, { redirect: "manual" })
  }
  const errorOf = (response: Response) =>
    new URL(response.headers.get("location") ?? "", service.url).searchParams.get("error")

  test("keeps its client ID and its secret, which is not shown", async () => {
    await page.getByLabel("Name", { exact: true }).fill("Wiki")
    await page.getByLabel("Redirect URIs", { exact: true }).fill(redirectUri)
    await page.getByLabel("Require PKCE").check()
    await page.getByText("Choose client ID and secret").click()
    await page.getByLabel(/^Client ID/).fill("12")
    await page.getByLabel(/^Client secret/).fill(secret)
    await page.getByRole("button", { name: "Create application" }).click()
    await page.getByText("must have 3 to 100 characters").waitFor()
    const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }))
    expect(kept).toContain("Wiki")
    expect(kept).not.toContain(secret)
    await page.getByLabel(/^Client ID/).fill("wiki.example")
    await page.getByRole("button", { name: "Create application" }).click()
    await page.getByText("Application created").waitFor()
    expect(await page.getByText(secret).count()).toBe(0)
    const authorization = `Basic ${Buffer.from(`wiki.example:${secret}`).toString("base64")}`
    const response = await fetch(`${service.url}/oauth/v2/introspect`, {
      method: "POST",
      headers: { authorization },
      body: new URLSearchParams({ token: "x" }),
    })
    expect([response.status, await response.json()]).toEqual([200, { active: false }])
    await page.getByRole("link", { name: "Open application" }).click()
    await section("Connect").getByText("wiki.example", { exact: true }).first().waitFor()
  })

  test("must use PKCE, and its page says so", async () => {
    expect(errorOf(await authorized({}))).toBe("invalid_request")
    const flows = section("Grant types and client authentication")
    await flows.getByText("Required", { exact: true }).waitFor()
    await flows.getByRole("button", { name: "Edit" }).click()
    await flows.getByLabel("PKCE", { exact: true }).selectOption("Optional")
    await flows.getByRole("button", { name: "Save" }).click()
    await flows.getByText("Optional", { exact: true }).waitFor()
    expect(errorOf(await authorized({}))).toBeNull()
  })

  test("requires PKCE without a notice if only a proxy signs in", async () => {
    const wiki = page.url()
    for (const [name, uris] of [
      ["Proxied", "https://files.example.org/.latchkey/callback"],
      ["Both", "https://files.example.com/.latchkey/callback\nhttps://files.example.com/cb"],
    ] as const) {
      await page.goto(`${service.url}/ui/console/projects/${projectId}/new-application`)
      await page.getByLabel("Name", { exact: true }).fill(name)
      await page.getByLabel("Redirect URIs", { exact: true }).fill(uris)
      await page.getByRole("button", { name: "Create application" }).click()
      await page.getByText("Application created").waitFor()
      // Only the other variant shows a secret.
      expect(await page.getByText(/Copy the client secret now/).count()).toBe(
        name === "Both" ? 1 : 0,
      )
      expect(await page.locator(".secret code").count()).toBe(name === "Both" ? 1 : 0)
    }
    const filters = [{ projectIdFilter: { projectId } }]
    const { applications } = await service.get("ListApplications", { filters })
    const named = (expected: string) =>
      applications.find(({ name }: { name: string }) => name === expected)
    const pkceOf = (expected: string) => named(expected).oidcConfiguration.pkce
    expect(pkceOf("Proxied")).toBe("OIDC_PKCE_REQUIREMENT_REQUIRED")
    expect(pkceOf("Both")).toBeUndefined()
    await page.goto(`${service.url}/ui/console/applications/${named("Proxied").applicationId}`)
    const upstream = service.url.replace("http://", "")
    await section("Connect").getByText(`Latchkey listens at http://${upstream}`).waitFor()
    expect(await page.getByText(/YOUR_CLIENT_SECRET|Client secrets/).count()).toBe(0)
    await page.goto(wiki)
  })

  test("shows what introspection accepts, beside the endpoint", async () => {
    const connect = section("Connect")
    await connect.getByText("Endpoints").click()
    await connect.getByText("Client authentication at introspection").waitFor()
    await connect.getByText("client_secret_basic", { exact: true }).waitFor()
  })

  test("gets JWT access tokens as a resource server of Spring needs them", async () => {
    const tokens = section("Tokens")
    await tokens.getByRole("button", { name: "Edit" }).click()
    await tokens.getByText("JWT", { exact: true }).click()
    await tokens.getByLabel("JWT header (typ)").selectOption("JWT")
    await tokens.getByLabel("JWT access token signing algorithm").selectOption("RS256")
    await tokens.getByText(/Spring Boot with issuer-uri alone/).waitFor()
    await tokens.getByText(/algorithms=\["RS256"\]/).waitFor()
    await tokens.getByRole("button", { name: "Save" }).click()
    await tokens.getByRole("button", { name: "Edit" }).waitFor()
    await tokens.getByText("RS256", { exact: true }).waitFor()
    const { applications } = await service.get("ListApplications", {
      filters: [{ clientIdFilter: { clientId: "wiki.example" } }],
    })
    expect(applications[0].oidcConfiguration).toMatchObject({
      accessTokenType: "OIDC_TOKEN_TYPE_JWT",
      tokenSettings: { accessTokenJwtType: "JWT", accessTokenSigningAlgorithm: "RS256" },
    })
  })

  test("has a resource registered with one click after its request was rejected", async () => {
    expect(errorOf(await authorized({ resource }))).toBe("invalid_target")
    const refused = section("Rejected requests")
    await refused.getByRole("button", { name: "Reload" }).click()
    await refused.getByText("under Resource URIs of the API").first().waitFor()
    await refused.getByRole("button", { name: "Create API mcp.example.com" }).first().click()
    await refused.getByText("Resource registered. Try again.").first().waitFor()
    expect(errorOf(await authorized({ resource }))).toBeNull()

    const second = "https://mcp.example.com/other"
    expect(errorOf(await authorized({ resource: second }))).toBe("invalid_target")
    await refused.getByRole("button", { name: "Reload" }).click()
    await refused.getByRole("button", { name: "Register at mcp.example.com" }).first().click()
    await expect.poll(async () => errorOf(await authorized({ resource: second }))).toBeNull()
    expect(errorOf(await authorized({ resource }))).toBeNull()
  })

  test("is called by a service account with its own token format", async () => {
    const organizationId = (await service.get("ListOrganizations")).result[0].id
    const machine = { name: "Robot", accessTokenType: "ACCESS_TOKEN_TYPE_JWT" }
    const { id: userId } = await service.get("CreateUser", { organizationId, machine })
    await page.goto(`${service.url}/ui/console/users/${userId}`)
    const format = section("Access tokens")
    await format.getByLabel("JWT header (typ)").selectOption("JWT")
    await format.getByLabel("JWT access token signing algorithm").selectOption("RS256")
    const formatOf = async () => (await service.get("GetUserByID", { userId })).user.machine
    await expect.poll(formatOf).toMatchObject({
      accessTokenJwtType: "JWT",
      accessTokenSigningAlgorithm: "RS256",
    })
  })

  test("follows the defaults of its organization", async () => {
    const organizationId = (await service.get("ListOrganizations")).result[0].id
    await page.goto(`${service.url}/ui/console/organizations/${organizationId}`)
    const defaults = section("Application defaults")
    await defaults.getByRole("button", { name: "Edit" }).click()
    await defaults.getByLabel("Require PKCE").check()
    await defaults.getByRole("button", { name: "Save" }).click()
    await defaults.getByText("Required", { exact: true }).waitFor()
    const [organization] = (await service.get("ListOrganizations")).result
    expect(organization.oidcSettings).toEqual({ pkceRequired: true })
  })
})
