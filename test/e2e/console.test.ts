import { generateKeyPairSync, randomUUID } from "node:crypto"
import type { Browser, Locator, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openBrowser, waitUntilIdle } from "../support/browser.ts"
import {
  freePort,
  owner,
  type RunningServer,
  type ServiceKey,
  serviceToken,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import { pause } from "../support/wait.ts"

const redirectUri = "https://wiki.example.org/callback"
const viewer = { loginName: "grace@example.com", password: "Correct-horse-8-battery" } as const

describe.runIf(needs("chromium"))("an owner at the console", () => {
  const folder = temporaryFolder()
  let server: RunningServer
  let key: ServiceKey
  let browser: Browser
  let page: Page
  let clientId = ""
  let applicationUrl = ""
  let requestId = ""
  const secrets: string[] = []
  const complaints: string[] = []

  beforeAll(async () => {
    const port = await freePort()
    key = await setUp(folder.path, `http://localhost:${port}`)
    server = await startLatchkey({ data: folder.path, port })
    browser = await openBrowser()
    page = await signedIn(owner)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
    folder.remove()
  })

  type Person = { readonly loginName: string; readonly password: string }

  /** Signs in with a new browser and opens a page. */
  async function signedIn(
    person: Person,
    { url = `${server.url}/ui/console`, locale = "en" } = {},
  ): Promise<Page> {
    const context = await browser.newContext({ locale })
    const fresh = await context.newPage()
    fresh.setDefaultTimeout(60_000)
    fresh.on("pageerror", (error) => complaints.push(error.message))
    fresh.on("console", (message) => {
      if (/content security policy/i.test(message.text())) complaints.push(message.text())
    })
    await fresh.goto(url)
    await fresh.fill('[name="loginName"]', person.loginName)
    await fresh.click('button[type="submit"]')
    await fresh.fill('[name="password"]', person.password)
    await fresh.click('button[type="submit"]')
    await fresh.locator("main.content h1").waitFor()
    return fresh
  }

  const section = (title: string) =>
    page
      .locator("section.section")
      .filter({ has: page.getByRole("heading", { name: title, exact: true }) })

  /** The token endpoint's response to a client secret. */
  async function toldWith(secret: string): Promise<string> {
    const credentials = Buffer.from(`${clientId}:${secret}`).toString("base64")
    const parameters = { grant_type: "authorization_code", code: randomUUID() }
    const answer = await fetch(`${server.url}/oauth/v2/token`, {
      method: "POST",
      headers: { authorization: `Basic ${credentials}` },
      body: new URLSearchParams({ ...parameters, redirect_uri: redirectUri }),
    })
    return (await answer.json()).error
  }

  test("creates a project and an application that stays signed in", async () => {
    await page.getByRole("button", { name: "Create project" }).last().click()
    await page.getByLabel("Name", { exact: true }).fill("Intranet")
    await page.getByRole("dialog").getByRole("button", { name: "Create project" }).click()
    await page.getByText("No applications yet").waitFor()
    await page.getByRole("link", { name: "Create application" }).click()
    await page.getByLabel("Name", { exact: true }).fill("Wiki")
    await page.getByLabel("Redirect URIs", { exact: true }).fill(redirectUri)
    await page.getByLabel(/^Refresh token/).check()
    await page.getByRole("button", { name: "Create application" }).click()
    await page.getByText("Application created").waitFor()
    secrets.push((await page.locator(".secret code").innerText()).trim())
    const settings = section("Connect").locator(".snippet")
    await settings.waitFor()
    expect(await settings.innerText()).toContain(`OIDC_CLIENT_SECRET=${secrets[0]}\n`)
    expect(await section("Test sign-in").count()).toBe(0)
    await page.getByRole("link", { name: "Open application" }).click()
    await section("Grant types and client authentication").getByText("Refresh token").waitFor()
    clientId = await section("Connect")
      .getByText(/^\d{18}$/)
      .first()
      .innerText()
    applicationUrl = page.url()
    expect(await settings.innerText()).toContain("OIDC_CLIENT_SECRET=YOUR_CLIENT_SECRET\n")
    const connect = section("Connect")
    await connect.getByText("Endpoints").click()
    for (const name of ["Discovery", "Authorization", "Token", "Userinfo", "Public keys (JWKS)"]) {
      await connect.getByRole("button", { name: `Copy: ${name}`, exact: true }).waitFor()
    }
    for (const name of ["Grafana", "Apache", "curl"]) {
      await connect.getByText(name, { exact: true }).click()
      await connect.getByRole("button", { name: `Copy: ${name}`, exact: true }).waitFor()
      expect(await settings.innerText()).toContain(clientId)
    }
    await connect.getByText("oauth2-proxy", { exact: true }).click()
    await connect.getByText("https://wiki.example.org/oauth2/callback").first().waitFor()
    expect(await toldWith(secrets[0] ?? "")).toBe("invalid_grant")
  })

  test("creates a second secret while the first stays valid, then removes the first", async () => {
    const part = section("Client secrets")
    await part.getByRole("button", { name: "Create new secret" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Existing secrets").selectOption("Keep valid for 1 week")
    await dialog.getByRole("button", { name: "Create new secret" }).click()
    await dialog.waitFor({ state: "detached" })
    secrets.push((await part.locator(".secret code").innerText()).trim())
    const [old = "", fresh = ""] = secrets
    expect(fresh).not.toBe(old)
    expect([await toldWith(old), await toldWith(fresh)]).toEqual(["invalid_grant", "invalid_grant"])

    await part.getByText("in 7 days").waitFor()
    await part
      .getByRole("button", { name: /^Remove/ })
      .first()
      .click()
    await dialog.getByRole("button", { name: "Remove" }).click()
    await dialog.waitFor({ state: "detached" })
    expect([await toldWith(old), await toldWith(fresh)]).toEqual([
      "invalid_client",
      "invalid_grant",
    ])
  })

  test("creates a key, whose file is shown once and can be downloaded", async () => {
    const part = section("Keys")
    await part.getByRole("button", { name: "Create key" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click()
    await page.getByRole("dialog").waitFor({ state: "detached" })
    const file = JSON.parse(await part.locator(".secret code").innerText())
    expect(file).toMatchObject({ type: "application", clientId })
    expect(file.key).toContain("PRIVATE KEY")
    const saved = page.waitForEvent("download")
    await part.getByRole("link", { name: "Download" }).click()
    expect((await saved).suggestedFilename()).toBe(`${file.keyId}.json`)
    await page.reload()
    await part.getByText(file.keyId).waitFor()
    await waitUntilAbsent(page.locator(".secret"))
  })

  test("changes the grant types, and gets a warning about the implicit grant", async () => {
    const part = section("Grant types and client authentication")
    await part.getByRole("button", { name: "Edit" }).click()
    await part.getByLabel("Implicit").check()
    await part.getByText("The implicit grant stores tokens").waitFor()
    await part.getByLabel("Device code").check()
    await part.getByRole("button", { name: "Save" }).click()
    await part.getByText("id_token token").waitFor()
    await page.getByText("Not recommended").waitFor()
    await part.getByRole("button", { name: "Edit" }).click()
    await part.getByLabel("Implicit").uncheck()
    await part.getByRole("button", { name: "Save" }).click()
    await waitUntilAbsent(page.getByText("Not recommended"))
    await part.getByRole("button", { name: "Edit" }).waitFor()
    await part.getByText("Device code").waitFor()
    const rule = "Require the selected client authentication method"
    for (const isOn of [true, false]) {
      await part.getByRole("button", { name: "Edit" }).click()
      if (isOn) await part.getByText("Request rules").click()
      await part.getByLabel(rule).setChecked(isOn)
      await part.getByRole("button", { name: "Save" }).click()
      await part.getByRole("button", { name: "Edit" }).waitFor()
      expect(await part.getByText(rule).count()).toBe(isOn ? 1 : 0)
    }
  })

  test("validates redirect URIs during input, and shows where sign-in is rejected", async () => {
    const part = section("Redirect URIs")
    const edit = part.getByRole("button", { name: "Edit" })
    const field = part.getByLabel("Redirect URIs", { exact: true })
    const isFocused = (at: Locator) => at.evaluate((element) => element === document.activeElement)
    await edit.focus()
    await page.keyboard.press("Enter")
    await expect.poll(() => isFocused(field)).toBe(true)
    await part.getByRole("button", { name: "Cancel" }).click()
    await expect.poll(() => isFocused(edit)).toBe(true)
    await edit.click()
    await field.fill(`${redirectUri}\nhttp://grafana.lan:3000/cb\nhttps://wiki.example.org/#top`)
    const verdicts = part.locator(".verdicts").first().locator("li")
    expect(await verdicts.locator(".badge").allInnerTexts()).toEqual([
      "Valid",
      "Sign-in will be rejected",
      "Invalid",
    ])
    expect(await part.getByRole("button", { name: "Save" }).isDisabled()).toBe(true)
    await field.fill(`${redirectUri}\nhttp://grafana.lan:3000/cb`)
    await part.getByRole("button", { name: "Save" }).click()
    const refused = page.locator(".alert-danger", { hasText: "Sign-in will be rejected" })
    await refused.waitFor()
    await part.getByRole("button", { name: "Edit" }).click()
    await part.getByLabel("Plain http on private networks").check()
    await verdicts.getByText("Not recommended").waitFor()
    await part.getByRole("button", { name: "Save" }).click()
    await waitUntilAbsent(refused)
    await part.getByRole("button", { name: "Edit" }).click()
    await field.fill(redirectUri)
    await part.getByLabel("Plain http on private networks").uncheck()
    await part.getByRole("button", { name: "Save" }).click()
    await part.getByRole("button", { name: "Edit" }).waitFor()
  })

  test("sets the token lifetimes, and resets them", async () => {
    const tokens = section("Tokens")
    await tokens.getByRole("button", { name: "Edit" }).click()
    await tokens.getByText("Lifetimes, signatures and claims").click()
    await tokens.getByLabel("Access token lifetime", { exact: true }).fill("20")
    await tokens.getByLabel("Access token lifetime: unit").selectOption("Minutes")
    await tokens.getByLabel("Clock skew", { exact: true }).fill("6")
    await tokens.getByRole("button", { name: "Save" }).click()
    await tokens.getByText("Clock skew: enter 0 to 5 seconds").waitFor()
    await tokens.getByLabel("Clock skew", { exact: true }).fill("5")
    await tokens.getByRole("button", { name: "Save" }).click()
    await tokens.getByText("20 minutes").waitFor()
    await tokens.getByRole("button", { name: "Edit" }).click()
    await tokens.getByText("Lifetimes, signatures and claims").click()
    await tokens.getByLabel("Access token lifetime", { exact: true }).fill("")
    await tokens.getByRole("button", { name: "Save" }).click()
    await tokens.getByRole("button", { name: "Edit" }).waitFor()
    await tokens.getByText("5 seconds").waitFor()
    await waitUntilAbsent(tokens.getByText("20 minutes"))
  })

  test("shows the saved values once the form closes, however late the reload is", async () => {
    const slowly = "**/core.application.v2.ApplicationService/GetApplication"
    await page.route(slowly, async (route) => {
      await pause(400, "the answer must come well after the form is gone")
      await route.continue()
    })
    const ends = section("Logout")
    const told = "https://wiki.example.org/told"
    for (const address of [told, ""]) {
      await ends.getByRole("button", { name: "Edit" }).click()
      await ends.getByLabel("Back-channel logout").fill(address)
      await ends.getByLabel("Front-channel logout").fill(address)
      await ends.getByRole("button", { name: "Save" }).click()
      await ends.getByRole("button", { name: "Edit" }).waitFor()
      expect(await ends.getByText(told).count()).toBe(address === "" ? 0 : 2)
    }
    await page.unroute(slowly)
  })

  test("finds the cause of a rejected request by its ID", async () => {
    const visitor = await browser.newPage()
    const asked = { response_type: "code", scope: "openid", redirect_uri: `${redirectUri}/` }
    const query = new URLSearchParams({ ...asked, client_id: clientId })
    await visitor.goto(`${server.url}/oauth/v2/authorize?${query}`)
    const text = await visitor
      .locator("code")
      .filter({ hasText: /^\d{18}$/ })
      .innerText()
    requestId = /\d{18}/.exec(text)?.[0] ?? ""
    await visitor.close()

    await page.getByRole("link", { name: "Rejected requests" }).click()
    await page.getByRole("textbox", { name: "Request ID" }).fill(requestId)
    await page.getByRole("button", { name: "Find" }).click()
    await page.getByRole("heading", { name: "Rejected request", exact: true }).waitFor()
    const found = page.locator("details.refused[open]")
    await found.getByText("Only the slash at the end differs").waitFor()
    expect(await found.locator(".differs-received").innerText()).toBe("/")
    await found.locator(".gap-expected").waitFor()
    await found.getByRole("link", { name: "Wiki" }).click()
    const part = section("Rejected requests")
    await part.getByText("Only the slash at the end differs").waitFor()
    await part.getByRole("button", { name: "Add this redirect URI" }).click()
    await page.getByRole("dialog").getByText("Anyone can send a request").waitFor()
    await page.getByRole("dialog").getByRole("button", { name: "Add this" }).click()
    const focused = () => page.evaluate(() => document.activeElement?.textContent)
    await expect.poll(focused).toContain("Redirect URI registered")
    await section("Redirect URIs").getByText(`${redirectUri}/`).waitFor()
    await waitUntilAbsent(page.getByRole("dialog"))
  })

  test("runs a test sign-in, and sees the claims for the application", async () => {
    await page.goto(applicationUrl)
    await section("Test sign-in").getByRole("button", { name: "Test sign-in" }).click()
    await page.getByText("The sign-in works").waitFor()
    const claims = await page.locator("pre.snippet").allInnerTexts()
    expect(claims.map((text) => JSON.parse(text))).toMatchObject([
      { azp: clientId },
      { preferred_username: owner.loginName },
    ])
    await page.getByRole("link", { name: "Back to the application" }).click()
    await page.getByRole("heading", { name: "Wiki", level: 1 }).waitFor()
  })

  test("finds the request from any page by pasting its ID into the search", async () => {
    await page.keyboard.press("Control+k")
    await page.getByRole("dialog").getByRole("textbox").fill(requestId)
    await page
      .getByRole("dialog")
      .getByRole("link", { name: /Rejected request/ })
      .click()
    await page.getByText("Only the slash at the end differs").waitFor()
  })

  test("reads the cause in German if the browser requests German", async () => {
    const url = `${server.url}/ui/console/refused-requests/${requestId}`
    const other = await signedIn(owner, { url, locale: "de-DE" })
    await other.getByText("Nur der Schrägstrich am Ende ist anders").waitFor()
    await other.context().close()
  })

  test("grants a user a role on the project", async () => {
    await page.goto(applicationUrl)
    await page.getByRole("link", { name: "Intranet" }).click()
    await section("Roles").locator(".empty").getByRole("button").click()
    const key = page.getByLabel("Key", { exact: true })
    // The browser's own validation accepts this.
    await key.fill("edi\u2028tor")
    await page.getByRole("dialog").getByRole("button", { name: "Create role" }).click()
    await page.locator(".field", { has: key }).getByRole("alert").waitFor()
    await key.fill("editor")
    await page.getByRole("dialog").getByRole("button", { name: "Create role" }).click()
    const part = section("Users with roles")
    await part.locator(".empty").getByRole("button").click()
    await page.getByRole("dialog").getByText(owner.loginName).click()
    await page.getByRole("dialog").getByLabel("editor").check()
    await page.getByRole("dialog").getByRole("button", { name: "Assign roles" }).click()
    await part.locator(".badge").getByText("editor").waitFor()
    await part.getByRole("row").filter({ hasText: "editor" }).getByRole("link").click()
    const theirs = section("Roles in applications")
    await theirs.getByRole("row").filter({ hasText: "Intranet" }).getByText("editor").waitFor()
  })

  test("registers a SAML application by its service provider's metadata", async () => {
    const service = "https://crm.example.org/saml"
    await page.goto(`${server.url}/ui/console/applications`)
    await page.getByRole("link", { name: "Create application" }).click()
    await page.getByLabel(/^SAML application/).check()
    await page.getByLabel("Name", { exact: true }).fill("CRM")
    await page.getByLabel("Metadata of the service provider").fill(metadataOf(service))
    await page.getByRole("button", { name: "Create application" }).click()
    await page.getByText("Application created.", { exact: true }).waitFor()
    await section("Registered settings").getByText(`${service}/acs`).waitFor()
    await section("Connect").getByText(`${server.url}/saml/v2/SSO`, { exact: true }).waitFor()
    await section("Connect").locator(".snippet", { hasText: "MellonUser" }).waitFor()
    const start = page.getByRole("link", { name: "Sign in to the application" })
    expect(await start.getAttribute("href")).toBe(
      `/saml/v2/SSO?providerId=${encodeURIComponent(service)}`,
    )
    await section("Test sign-in").getByRole("button", { name: "Test sign-in" }).click()
    await page.getByText("The sign-in works.").waitFor()
    expect(await page.locator(".snippet").innerText()).toContain(`Recipient="${service}/acs"`)
    await page.getByRole("link", { name: "Back to the application" }).click()
    await section("Test sign-in").waitFor()
  })

  test("adds a secret, a token and a key to a service account", async () => {
    await page.goto(`${server.url}/ui/console/users/new`)
    await page.getByText("Service account", { exact: true }).click()
    await page.getByLabel("Name", { exact: true }).fill("Backup")
    await page.getByLabel(/^Login name/).fill("backup")
    await page.getByRole("button", { name: "Create user" }).click()
    await section("Client secret").getByRole("button", { name: "Create secret" }).click()
    const secret = (await page.locator(".secret code").innerText()).trim()
    const answer = await fetch(`${server.url}/oauth/v2/token`, {
      method: "POST",
      headers: { authorization: `Basic ${Buffer.from(`backup:${secret}`).toString("base64")}` },
      body: new URLSearchParams({ grant_type: "client_credentials", scope: "openid" }),
    })
    expect(await answer.json()).toMatchObject({ token_type: "Bearer" })

    const tokens = section("Personal access tokens")
    await tokens.getByRole("button", { name: "Create token" }).click()
    await page.getByLabel("Name", { exact: true }).fill("Nightly copy")
    await page.getByRole("dialog").getByRole("button", { name: "Create token" }).click()
    await tokens.getByRole("cell", { name: "Nightly copy", exact: true }).waitFor()
    const token = (await tokens.locator(".secret code").innerText()).trim()
    const askedBy = () =>
      fetch(`${server.url}/auth/v1/users/me`, { headers: { authorization: `Bearer ${token}` } })
    expect((await askedBy()).status).toBe(200)
    await tokens.getByRole("button", { name: "Remove: Nightly copy" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click()
    await tokens.getByText("No tokens.").waitFor()
    expect((await askedBy()).status).toBe(401)

    const keys = section("Keys")
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
    const pem = publicKey.export({ type: "spki", format: "pem" }).toString()
    await keys.getByRole("button", { name: "Create key" }).click()
    await page.getByRole("dialog").getByText("Use your own key").click()
    await page.getByLabel("Public key").fill(pem)
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click()
    await page.getByRole("dialog").waitFor({ state: "detached" })
    await keys.getByText("in 12 months").waitFor()
    await waitUntilAbsent(keys.locator(".secret"))
  })

  test("creates a signing key, and enables the metadata", async () => {
    await page.getByRole("link", { name: "Signing keys" }).click()
    await page.getByText("Keys rotate automatically").waitFor()
    await page.getByRole("button", { name: "Create key" }).click()
    await page.getByRole("dialog").getByLabel("Algorithm").selectOption("EdDSA · Ed25519")
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click()
    const row = page.getByRole("row").filter({ hasText: "EdDSA" })
    await row.getByRole("button", { name: "Activate" }).click()
    await row.getByText("Active", { exact: true }).waitFor()

    const metadata = `${server.url}/.well-known/oauth-authorization-server`
    expect((await fetch(metadata)).status).toBe(404)
    await page.getByRole("link", { name: "Settings" }).click()
    await page.getByLabel("OAuth metadata").click()
    await page.getByLabel("OAuth metadata").and(page.locator(":checked:enabled")).waitFor()
    expect((await fetch(metadata)).status).toBe(200)
  })

  test("a viewer sees no instance pages and no actions", async () => {
    await createViewer(server.url, await serviceToken(server.url, key))
    const other = await signedIn(viewer, { url: applicationUrl })
    await other.getByRole("heading", { name: "Wiki" }).waitFor()
    await other.getByRole("link", { name: "Rejected requests" }).waitFor()
    await waitUntilAbsent(other.getByRole("link", { name: "Signing keys" }))
    await other.getByText("Client ID").first().waitFor()
    await waitUntilIdle(other)
    for (const name of ["Deactivate", "Edit", "Rename", "New secret"]) {
      expect(await other.getByRole("button", { name }).count(), name).toBe(0)
    }
    await other.goto(`${server.url}/ui/console/signing-keys`)
    await other.getByRole("heading", { name: "This page couldn't be loaded" }).waitFor()
    await other.getByText("Permission denied: iam.web_key.read is required").waitFor()
    await other.context().close()
  })

  test("no page failed, or violated its content security policy", () => {
    expect(complaints).toEqual([])
  })
})

/** The shortest valid metadata of a service provider. */
const metadataOf = (entityId: string) => `
<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entityId}">
  <SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
    <AssertionConsumerService index="0" Location="${entityId}/acs"
      Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"/>
  </SPSSODescriptor>
</EntityDescriptor>`

/** Waits until no element matches, also after late responses. */
const waitUntilAbsent = (locator: Locator) => expect.poll(() => locator.count()).toBe(0)

/** Creates a user who can view the organization, and nothing else. */
async function createViewer(url: string, token: string): Promise<void> {
  const call = async (method: string, body: unknown) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
    const wanted = { method: "POST", headers, body: JSON.stringify(body) }
    const answer = await fetch(`${url}/${method}`, wanted)
    expect(answer.status, method).toBe(200)
    return answer.json()
  }
  const { result } = await call("core.org.v2.OrganizationService/ListOrganizations", {})
  const organizationId = result[0].id
  const human = {
    profile: { givenName: "Grace", familyName: "Hopper" },
    email: { email: viewer.loginName, isVerified: true },
    password: { password: viewer.password },
  }
  const made = await call("core.user.v2.UserService/CreateUser", { organizationId, human })
  await call("core.internal_permission.v2.InternalPermissionService/CreateAdministrator", {
    userId: made.id,
    resource: { organizationId },
    roles: ["ORG_OWNER_VIEWER"],
  })
}
