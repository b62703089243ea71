import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { pageLanguages } from "../../src/kernel/text/language.ts"
import { humanInput, openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { owner } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

describe.runIf(needs("chromium"))("an owner who manages others", () => {
  let service: Service
  let browser: Browser
  let page: Page
  let organizationId = ""
  let projectId = ""
  let userId = ""
  const complaints: string[] = []

  beforeAll(async () => {
    service = await openService()
    organizationId = (await service.get("ListOrganizations")).result[0].id
    const project = { organizationId, name: "Intranet" }
    projectId = (await service.get("CreateProject", project)).projectId
    await service.get("AddProjectRole", { projectId, roleKey: "editor", displayName: "Editor" })
    const human = {
      profile: { givenName: "Grace", familyName: "Hopper" },
      email: { email: "grace@example.com", isVerified: false },
      password: { password: "Correct-horse-8-battery" },
    }
    const username = "grace@example.com"
    userId = (await service.get("CreateUser", { organizationId, username, human })).id
    browser = await openBrowser()
    page = await browser.newPage()
    page.setDefaultTimeout(60_000)
    page.on("pageerror", (error) => complaints.push(error.message))
    page.on("console", (message) => {
      if (/content security policy/i.test(message.text())) complaints.push(message.text())
    })
    await page.goto(`${service.url}/ui/console`)
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

  const open = async (path: string, heading: string) => {
    await page.goto(`${service.url}/ui/console${path}`)
    await page.getByRole("heading", { name: heading, level: 1 }).waitFor()
  }

  const section = (title: string) =>
    page
      .locator("section.section")
      .filter({ has: page.getByRole("heading", { name: title, exact: true, level: 2 }) })

  const dialog = () => page.getByRole("dialog")

  /** Confirms a dialog, and waits until it closes and the change is shown. */
  const answer = async (name: string) => {
    await dialog().getByRole("button", { name, exact: true }).click()
    await dialog().waitFor({ state: "detached" })
  }

  test("creates an organization, renames it and works in it", async () => {
    await page.getByRole("link", { name: "Organizations" }).click()
    await page.getByRole("button", { name: "Create organization" }).click()
    await dialog().getByLabel("Name").fill("Bakery")
    await dialog().getByRole("button", { name: "Create organization" }).click()
    await page.getByRole("heading", { name: "Bakery", level: 1 }).waitFor()
    await page.getByRole("button", { name: "Rename" }).click()
    await page.getByLabel("Name", { exact: true }).fill("Bäckerei Müller")
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("heading", { name: "Bäckerei Müller", level: 1 }).waitFor()
    await section("History").getByText("Organization renamed").waitFor()
    await page.getByRole("button", { name: "Switch to organization" }).click()
    await page.getByRole("link", { name: "Organization", exact: true }).and(chosen()).waitFor()
    await page.getByLabel("Organization", { exact: true }).selectOption("Acme")
  })

  const chosen = () => page.locator('[aria-current="page"]')

  test("grants a project to it with a role, deactivates the grant and deletes it", async () => {
    await open(`/projects/${projectId}`, "Intranet")
    const part = section("Organizations with access")
    await part.getByRole("button", { name: "Grant access" }).click()
    await dialog().getByLabel("Organization").first().fill("müller")
    await dialog().getByText("Bäckerei Müller").click()
    await answer("Grant access")
    const row = part.getByRole("row").filter({ hasText: "Bäckerei Müller" })
    await row.getByText("None").waitFor()
    await row.getByRole("button", { name: /^Edit/ }).click()
    await dialog().getByLabel("editor").check()
    await answer("Save")
    expect(await row.locator(".badge").allInnerTexts()).toEqual(["editor", "Active"])

    await page.getByLabel("Organization", { exact: true }).selectOption("Bäckerei Müller")
    await page.getByRole("link", { name: "Projects" }).first().click()
    await page.getByRole("row").filter({ hasText: "Granted" }).getByRole("link").click()
    const people = section("Users with roles")
    await people.locator(".empty").getByRole("button", { name: "Assign roles" }).click()
    await dialog().getByText("Grace Hopper").click()
    await dialog().getByLabel("editor").check()
    await answer("Assign roles")
    await people.getByRole("row").filter({ hasText: "Grace Hopper" }).getByText("editor").waitFor()
    await page.getByLabel("Organization", { exact: true }).selectOption("Acme")

    await open(`/projects/${projectId}`, "Intranet")
    await row.getByRole("button", { name: "Deactivate" }).click()
    await answer("Deactivate")
    await row.getByText("Inactive").waitFor()
    await page.locator(".notice").getByRole("button", { name: "Undo" }).click()
    await row.getByText("Active", { exact: true }).waitFor()
    await row.getByRole("button", { name: /^Remove/ }).click()
    await answer("Remove")
    await part.getByText("No other organization has access to this project").waitFor()
  })

  test("creates a group, changes it and removes it", async () => {
    await page.getByRole("link", { name: "Groups" }).click()
    await page.locator(".empty").getByRole("button", { name: "Create group" }).click()
    await dialog().getByLabel("Name").fill("Finance")
    await answer("Create group")
    await page.getByRole("button", { name: "Edit: Finance" }).click()
    await dialog().getByLabel("Name").fill("Controlling")
    await dialog()
      .getByLabel(/^Description/)
      .fill("Counts twice")
    await answer("Save")
    await page.getByRole("row").filter({ hasText: "Controlling" }).getByText("Counts").waitFor()
    await page.getByRole("link", { name: "Controlling" }).click()
    await page.getByRole("heading", { name: "Controlling", level: 1 }).waitFor()
    const people = section("Members")
    await people.getByRole("button", { name: "Add member" }).click()
    await dialog().getByText("Grace Hopper").click()
    await answer("Add member")
    await people.getByRole("link", { name: "Grace Hopper" }).click()
    await section("Groups").getByRole("link", { name: "Controlling" }).click()
    await people.getByRole("button", { name: "Remove: Grace Hopper" }).click()
    await answer("Remove")
    await people.getByText("This group has no members yet").waitFor()
    await page.getByRole("link", { name: "Groups" }).first().click()
    await page.getByRole("button", { name: "Remove: Controlling" }).click()
    await answer("Remove")
    await page.getByText("No groups yet").waitFor()
  })

  test("creates a role and grants it to a user of the organization", async () => {
    await page.getByRole("link", { name: "Administrators" }).click()
    await section("Manager roles").getByRole("button", { name: "Create role" }).click()
    await dialog().getByLabel("Key", { exact: true }).fill("HELP_DESK")
    await dialog()
      .locator("summary")
      .filter({ hasText: /^user / })
      .click()
    await dialog().getByLabel("user.read", { exact: true }).check()
    await answer("Create role")
    const role = page.getByRole("row").filter({ hasText: "HELP_DESK" })
    await role.getByRole("cell", { name: "1", exact: true }).waitFor()

    await open(`/organizations/${organizationId}`, "Acme")
    const part = section("Administrators")
    await part.getByRole("button", { name: "Add administrator" }).click()
    await dialog().getByText("Grace Hopper").click()
    await dialog().getByLabel("HELP_DESK").check()
    await answer("Add administrator")
    await part.getByRole("row").filter({ hasText: "Grace" }).getByText("HELP_DESK").waitFor()
    await part.getByRole("button", { name: "Remove: Grace Hopper" }).click()
    await answer("Remove")
    await expect.poll(() => part.getByText("Grace Hopper").count()).toBe(0)
  })

  test("adds a domain, and sees how to verify it", async () => {
    await open(`/organizations/${organizationId}`, "Acme")
    const part = section("Domains")
    for (const domain of ["example.com", "our.localhost"]) {
      await part.getByRole("button", { name: "Add domain" }).click()
      await dialog().getByLabel("Domain").fill(domain)
      await answer("Add domain")
    }
    const trusted = part.getByRole("row").filter({ hasText: "example.com" })
    await trusted.getByText("Not verified").waitFor()
    await trusted.getByRole("button", { name: "Verify" }).waitFor()
    expect(await trusted.getByRole("button", { name: "Make primary" }).count()).toBe(0)

    const unproven = part.getByRole("row").filter({ hasText: "our.localhost" })
    await unproven.getByRole("button", { name: "Verify" }).click()
    await dialog().getByRole("button", { name: "Show instructions" }).click()
    await dialog().getByText("_core-challenge.our.localhost").waitFor()
    await dialog().getByRole("button", { name: "Check now" }).click()
    await dialog().getByText("No TXT record with the token found at").waitFor()
    await dialog().getByRole("button", { name: "Close" }).click()
    await unproven.getByRole("button", { name: "Check now" }).waitFor()
  })

  test("changes a user's contact data, adds a metadata entry, and sees who did what", async () => {
    await open(`/users/${userId}`, "Grace Hopper")
    await section("Details").getByRole("button", { name: "Edit" }).click()
    await page.getByLabel("Display name").fill("Admiral Hopper")
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("heading", { name: "Admiral Hopper", level: 1 }).waitFor()

    const contact = section("Contact")
    await contact.getByRole("button", { name: "Edit" }).click()
    await contact.getByLabel("Email address is verified").check()
    await contact.getByLabel(/^Phone/).fill("+49 30 1234567")
    await contact.getByRole("button", { name: "Save" }).click()
    await contact.getByRole("button", { name: "Edit" }).waitFor()
    expect(await contact.locator(".badge").allInnerTexts()).toEqual(["Verified", "Not verified"])

    const metadata = section("Metadata")
    await metadata.getByRole("button", { name: "Add entry" }).click()
    await dialog().getByLabel("Key").fill("department")
    await dialog().getByLabel("Value").fill("Flight")
    await answer("Add entry")
    await metadata.getByText("Flight").waitFor()

    await section("Password").getByRole("button", { name: "Set password" }).click()
    await dialog().getByRole("textbox", { name: "New password" }).fill("Correct-horse-9-battery")
    await answer("Set password")
    const rows = section("History").locator("tbody tr")
    expect((await rows.first().innerText()).startsWith("Password changed")).toBe(true)
    const noted = rows.filter({ hasText: "Metadata changed" })
    await noted.getByRole("link", { name: /^ada/ }).waitFor()
    await section("History").getByRole("button", { name: "Show more" }).click()
    await rows.filter({ hasText: "User created" }).waitFor()
    await rows.filter({ hasText: "Phone › Number" }).first().waitFor()
    await noted.getByRole("button", { name: "Compare with current" }).click()
    await dialog().getByText("No changes since this event.").waitFor()
    await answer("Close")

    await page.getByRole("link", { name: "Explain access" }).click()
    await page.getByLabel("Permission", { exact: true }).fill("user.write")
    await page.getByRole("button", { name: "Explain" }).click()
    await page.getByText("no role of the user includes this permission").waitFor()
    await page.getByRole("radio").first().click()
    await page.getByText("The user can sign in to the application.").waitFor()
  })

  test("sees the sessions of a user, and failed sign-ins", async () => {
    const theirs = await browser.newContext({ locale: "en" })
    const login = await theirs.newPage()
    await login.goto(`${service.url}/ui/login/loginname`)
    await login.fill('[name="loginName"]', "grace@example.com")
    await login.click('button[type="submit"]')
    await login.fill('[name="password"]', "Wrong-horse-9-battery")
    await login.click('button[type="submit"]')
    await login.getByRole("alert").first().waitFor()
    await login.fill('[name="password"]', "Correct-horse-9-battery")
    await login.click('button[type="submit"]')
    await login.waitForURL(/password|signedin/)

    await open(`/users/${userId}`, "Admiral Hopper")
    const failed = section("Failed sign-ins")
    for (const text of ["Unknown device", "127.0.0.1", "Password", /Chrome/]) {
      await failed.getByText(text).first().waitFor()
    }
    await theirs.close()
    const person = await service.get("ListUsers", {
      queries: [{ loginNameQuery: { loginName: owner.loginName } }],
    })
    await page.goto(`${service.url}/ui/console/users/${person.result[0].userId}`)
    await section("Sessions").getByRole("row").nth(1).waitFor()
  })

  test("ends a user's session, who must then sign in again", async () => {
    const password = "Correct-horse-5-battery"
    const username = "linus"
    const human = { ...humanInput(username), password: { password } }
    const { id } = await service.get("CreateUser", { organizationId, username, human })
    const theirs = await (await browser.newContext({ locale: "en" })).newPage()
    await theirs.goto(`${service.url}/ui/login/loginname`)
    await theirs.fill('[name="loginName"]', username)
    await theirs.click('button[type="submit"]')
    await theirs.fill('[name="password"]', password)
    await theirs.click('button[type="submit"]')
    await theirs.getByRole("heading", { name: "You are signed in" }).waitFor()

    await open(`/users/${id}`, "linus Person")
    await section("Sessions").getByRole("button", { name: "Sign out: session" }).click()
    await answer("Sign out")
    await section("Sessions").getByText("No active sessions").waitFor()
    await theirs.goto(`${service.url}/ui/console`)
    await theirs.locator('[name="loginName"], [name="password"]').first().waitFor()
    await theirs.context().close()
  })

  test("locks a user, who sees it at sign-in, and unlocks them", async () => {
    const password = "Correct-horse-6-battery"
    const username = "ken"
    const human = { ...humanInput(username), password: { password } }
    const { id } = await service.get("CreateUser", { organizationId, username, human })
    const theirs = await (await browser.newContext({ locale: "en" })).newPage()
    const signIn = async () => {
      await theirs.goto(`${service.url}/ui/login/loginname`)
      await theirs.fill('[name="loginName"]', username)
      await theirs.click('button[type="submit"]')
      await theirs.fill('[name="password"]', password)
      await theirs.click('button[type="submit"]')
    }
    const signedIn = theirs.getByRole("heading", { name: "You are signed in" })
    await signIn()
    await signedIn.waitFor()

    await open(`/users/${id}`, "ken Person")
    await page.getByRole("button", { name: "Lock: ken Person" }).click()
    await dialog().getByText("ended sessions are not restored").waitFor()
    await answer("Lock")
    await page.locator(".page-head .badge-warning").getByText("Locked").waitFor()
    await theirs.goto(`${service.url}/ui/login/signedin`)
    await theirs.locator("main h1").first().waitFor()
    expect(await signedIn.count()).toBe(0)
    await signIn()
    await theirs.getByText("Your account is locked").waitFor()
    expect(await signedIn.count()).toBe(0)

    await page.locator(".notice").getByRole("button", { name: "Undo" }).click()
    await page.locator(".page-head").getByText("Active", { exact: true }).waitFor()
    await theirs.goto(`${service.url}/ui/login/signedin`)
    await theirs.locator("main h1").first().waitFor()
    expect(await signedIn.count()).toBe(0)
    await signIn()
    await signedIn.waitFor()
    await theirs.context().close()
  })

  test("sees a rejected value at its field, and can continue", async () => {
    await open(`/users/${userId}`, "Admiral Hopper")
    await section("Details").getByRole("button", { name: "Edit" }).click()
    const name = page.getByLabel("Display name")
    // The browser's own validation accepts this.
    await name.fill("Admiral\u2028Hopper")
    await page.getByRole("button", { name: "Save" }).click()
    const note = page.locator(".field", { has: name }).getByRole("alert")
    await note.waitFor()
    expect(await note.innerText()).toMatch(/^Must have/)
    expect(await name.evaluate((input) => input === document.activeElement)).toBe(true)
    await name.fill("Admiral Hopper")
    await page.getByRole("button", { name: "Save" }).click()
    await section("Details").getByRole("button", { name: "Edit" }).waitFor()
  })

  test("sees it at the field if the server uses another name", async () => {
    await open("/users/new", "Create user")
    const first = page.getByLabel("First name")
    await first.fill("Al\u2028an")
    await page.getByLabel("Last name").fill("Turing")
    await page.getByLabel("Email", { exact: true }).fill("alan@example.com")
    await page.getByRole("button", { name: "Create user" }).click()
    const note = page.locator(".field", { has: first }).getByRole("alert")
    await note.waitFor()
    expect(await note.innerText()).toMatch(/^Must have/)
    expect(await first.evaluate((input) => input === document.activeElement)).toBe(true)
    await page.getByRole("button", { name: "Cancel" }).click()
  })

  test("adds and removes the resource identifiers of an API", async () => {
    const { get } = service
    const organizationId = (await get("ListOrganizations")).result[0].id
    const { projectId } = await get("CreateProject", { organizationId, name: "Interfaces" })
    const apiConfiguration = { authMethodType: "API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT" }
    const wanted = { projectId, name: "Orders API", apiConfiguration }
    const { applicationId } = await get("CreateApplication", wanted)
    const configured = async () =>
      (await get("GetApplication", { applicationId })).application.apiConfiguration
    await open(`/applications/${applicationId}`, "Orders API")
    const part = section("Resource URIs of the API")
    const say = async (text: string) => {
      await part.getByRole("button", { name: "Edit" }).click()
      await part.getByLabel("Resource URIs").fill(text)
      await part.getByRole("button", { name: "Save" }).click()
    }
    await say("http://orders.example.com")
    await part.getByText("Enter up to 20 https addresses").waitFor()
    await part.getByLabel("Resource URIs").fill("https://orders.example.com/mcp")
    await part.getByRole("button", { name: "Save" }).click()
    await part.locator("code").getByText("https://orders.example.com/mcp").waitFor()
    const resources = { uris: ["https://orders.example.com/mcp"] }
    expect(await configured()).toMatchObject({ ...apiConfiguration, resources })
    await say("")
    await part.getByText("No resource URIs.").waitFor()
    expect((await configured()).resources?.uris ?? []).toEqual([])
  })

  test("restricts the languages of the login pages, and removes the restriction", async () => {
    await open("/settings", "Settings")
    const part = section("Sign-in pages")
    await part.getByText("All: English, German").waitFor()
    await part.getByRole("button", { name: "Edit" }).click()
    const named = new Intl.DisplayNames("en", { type: "language" })
    const names = pageLanguages.map((language) => named.of(language) ?? language)
    for (const name of names) await part.getByLabel(name, { exact: true }).uncheck()
    expect(await part.getByRole("button", { name: "Save" }).isDisabled()).toBe(true)
    await part.getByLabel("German").check()
    await part.getByLabel("Allow self-service registration").uncheck()
    await part.getByRole("button", { name: "Save" }).click()
    await part.getByText("German", { exact: true }).waitFor()
    await part.getByText("Not allowed").waitFor()
    const strangers = await browser.newContext({ locale: "en-GB" })
    const login = await strangers.newPage()
    await login.goto(`${service.url}/ui/console`)
    await login.fill('[name="loginName"]', "")
    expect(await login.locator("html").getAttribute("lang")).toBe("de")
    await strangers.close()

    await part.getByRole("button", { name: "Edit" }).click()
    for (const name of names) await part.getByLabel(name, { exact: true }).check()
    await part.getByLabel("Allow self-service registration").check()
    await part.getByRole("button", { name: "Save" }).click()
    await part.getByText("All: English, German").waitFor()
    await part.getByText("Allowed", { exact: true }).waitFor()
    expect(await service.get("core.admin.v1.AdminService/GetRestrictions", {})).not.toHaveProperty(
      "allowedLanguages",
    )
  })

  test("sees in the confirmation that an owner must remain", async () => {
    const { administrators } = await service.get("ListAdministrators", {
      filters: [{ resource: { instance: true } }],
    })
    expect(administrators).toHaveLength(2)
    await open("/administrators", "Administrators")
    const rows = section("Administrators").locator("tbody tr")
    const adas = rows.filter({ hasText: "Ada" })
    await rows
      .filter({ hasNotText: "Ada" })
      .getByRole("button", { name: /^Remove/ })
      .click()
    await answer("Remove")
    await adas.getByRole("button", { name: /^Remove/ }).click()
    await dialog().getByRole("button", { name: "Remove" }).click()
    await dialog()
      .getByRole("alert")
      .getByText(/make another user an owner first/i)
      .waitFor()
    expect(await page.locator(".alert-danger:not(dialog *)").count()).toBe(0)
    await dialog().getByRole("button", { name: "Cancel" }).click()
    await adas.getByText("IAM_OWNER", { exact: true }).waitFor()
  })

  test("no page failed, or violated its content security policy", () => {
    expect(complaints).toEqual([])
  })
})
