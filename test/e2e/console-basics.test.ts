import type { Browser, BrowserContext, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { addHuman, connect } from "../acceptance/service.ts"
import { openBrowser, waitUntilIdle } from "../support/browser.ts"
import {
  freePort,
  owner,
  type RunningServer,
  serviceToken,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import { pause } from "../support/wait.ts"

describe.runIf(needs("chromium"))("the basics of every console page", () => {
  const folder = temporaryFolder()
  let port = 0
  let server: RunningServer
  let token = ""
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let organizationId = ""
  let userId = ""
  const complaints: string[] = []

  const get = async (name: string, request: object = {}) => {
    const { status, body } = await connect(server.url, name, { request, token })
    if (status !== 200) throw new Error(`${name} answered ${status}: ${JSON.stringify(body)}`)
    return body
  }

  beforeAll(async () => {
    port = await freePort()
    const data = `${folder.path}/data`
    const key = await setUp(data, `http://localhost:${port}`)
    server = await startLatchkey({ data, port })
    token = await serviceToken(server.url, key)
    const { result } = await get("ListOrganizations")
    organizationId = result[0].id
    await get("AddOrganization", { name: "Zenith" })
    for (let index = 10; index < 70; index++) await addHuman({ get }, organizationId, `p${index}`)
    userId = await addHuman({ get }, organizationId, "grace")
    browser = await openBrowser()
    context = await browser.newContext({ locale: "en" })
    page = await signedIn(context, "/users")
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
    folder.remove()
  })

  const at = (path: string) => `${server.url}/ui/console${path}`

  async function opened(of: BrowserContext): Promise<Page> {
    const fresh = await of.newPage()
    fresh.setDefaultTimeout(60_000)
    fresh.on("pageerror", (error) => complaints.push(error.message))
    return fresh
  }

  async function signedIn(of: BrowserContext, path: string): Promise<Page> {
    const fresh = await opened(of)
    await fresh.goto(at(path))
    await signIn(fresh)
    await fresh.locator("main.content h1").waitFor()
    return fresh
  }

  async function signIn(fresh: Page, loginName: string = owner.loginName): Promise<void> {
    await fresh.fill('[name="loginName"]', loginName)
    await fresh.click('button[type="submit"]')
    await fresh.fill('[name="password"]', owner.password)
    await fresh.click('button[type="submit"]')
  }

  const names = (of: Page) => of.locator("tbody td:first-child").allInnerTexts()
  const parameters = (of: Page) => Object.fromEntries(new URL(of.url()).searchParams)

  test("Back returns to the previous search, filter, order and page", async () => {
    await page.locator("main label", { hasText: /^Users$/ }).click()
    await page.getByRole("searchbox").fill("person")
    // A search starts at its first page, after the typing pause.
    await page.waitForURL(/[?&]q=person/)
    await page.getByRole("button", { name: "Name" }).click()
    await page.getByText("p69 Person").waitFor()
    await page.getByRole("button", { name: "Next" }).click()
    await page.getByText("51–61 of 61").waitFor()
    expect(parameters(page)).toMatchObject({ q: "person", show: "people", down: "1", at: "50" })
    const shown = await names(page)
    await page.getByRole("link", { name: "grace Person" }).click()
    await page.getByRole("heading", { name: "grace Person", level: 1 }).waitFor()
    await page.goBack()
    await page.getByText("51–61 of 61").waitFor()
    expect(await names(page)).toEqual(shown)
    expect(await page.getByRole("searchbox").inputValue()).toBe("person")
    expect(await page.getByLabel("Users", { exact: true }).isChecked()).toBe(true)
    await page.goBack()
    await page.getByText("1–50 of 61").waitFor()
  })

  test("a link opens the same rows of the same organization for a colleague", async () => {
    await page.goto(at(`/users?org=${organizationId}&q=p6&down=1&show=people`))
    await page.getByText("p69 Person").waitFor()
    const shown = await names(page)
    expect(shown).toHaveLength(10)
    const other = await browser.newContext({ locale: "en" })
    const theirs = await signedIn(other, "/projects?org=none")
    await theirs.getByLabel("Organization", { exact: true }).selectOption("Zenith")
    await theirs.goto(page.url())
    await theirs.getByText("p69 Person").waitFor()
    expect(await names(theirs)).toEqual(shown)
    expect(await theirs.getByLabel("Organization", { exact: true }).inputValue()).toBe(
      organizationId,
    )
    await other.close()
  })

  test("applications belong to the selected organization, which follows the page", async () => {
    const { organizationId: nadir } = await get("AddOrganization", { name: "Nadir" })
    const { projectId } = await get("CreateProject", { organizationId: nadir, name: "Lagoon" })
    const oidcConfiguration = { redirectUris: ["https://app.example.com/callback"] }
    const wanted = { projectId, name: "Gondola", oidcConfiguration }
    const { applicationId } = await get("CreateApplication", wanted)
    const picker = page.getByLabel("Organization", { exact: true })
    const gondola = page.getByRole("link", { name: "Gondola" })
    await page.goto(at("/applications"))
    await picker.selectOption("Nadir")
    await gondola.waitFor()
    for (const path of [`/projects/${projectId}`, `/applications/${applicationId}`]) {
      await page.goto(at("/applications"))
      await gondola.waitFor()
      await picker.selectOption(organizationId)
      // The organization has no applications, and those of the instance itself are not listed.
      await page.locator(".empty").waitFor()
      await page.goto(at(path))
      await page.waitForURL(new RegExp(`[?&]org=${nadir}`))
      expect(await picker.inputValue()).toBe(nadir)
    }
    await picker.selectOption(organizationId)
    await page.waitForURL(new RegExp(`[?&]org=${organizationId}`))
  })

  test("input survives a reload, except passwords", async () => {
    await page.goto(at("/users/new"))
    await page.getByLabel("First name").fill("Edsger")
    await page.getByLabel("Last name").fill("Dijkstra")
    await page.getByLabel("Email", { exact: true }).fill("edsger@example.com")
    await page.locator('[name="password"]').fill("Correct-horse-9-battery")
    await page.reload()
    await page.getByText("Your earlier input was restored").waitFor()
    expect(await page.getByLabel("First name").inputValue()).toBe("Edsger")
    expect(await page.locator('[name="password"]').inputValue()).toBe("")
    const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage }))
    expect(kept).toContain("Edsger")
    expect(kept).not.toContain("Correct-horse")
  })

  test("an unavailable server is reported, and the form is sent once it is back", async () => {
    await server.stop()
    await page.getByRole("button", { name: "Create user" }).click()
    await page.getByText("Your input is kept, and").waitFor()
    expect(await page.getByLabel("First name").inputValue()).toBe("Edsger")
    server = await startLatchkey({ data: server.data, port })
    await expect.poll(() => page.getByText("Your input is kept, and").count()).toBe(0)
    await page.getByRole("button", { name: "Create user" }).click()
    await page.getByRole("heading", { name: "Edsger Dijkstra", level: 1 }).waitFor()
    const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage }))
    expect(kept).not.toContain("Edsger")
  })

  test("the button of an empty list is never duplicated or removed", async () => {
    const buttons = page.getByRole("button", { name: "Create project" })
    const { promise, resolve } = Promise.withResolvers<void>()
    await page.route("**/ListProjects", async (route) => {
      await promise
      await route.continue()
    })
    await page.goto(at("/projects"))
    await page.getByRole("heading", { name: "Projects", level: 1 }).waitFor()
    await page.locator("main.content").getByRole("status", { name: "Loading" }).first().waitFor()
    expect(await buttons.count()).toBe(0)
    resolve()
    await page.locator(".empty").waitFor()
    expect(await buttons.count()).toBe(1)
    await page.unroute("**/ListProjects")
  })

  test("the page renders while the tokens are being renewed", async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await page.route("**/oauth/v2/authorize?*", async (route) => {
      await promise
      await route.continue()
    })
    await page.goto(at("/projects"))
    await page.locator(".sidebar").getByText("Users").waitFor()
    // The permissions are not loaded yet.
    expect(await page.locator(".sidebar").getByRole("link").count()).toBe(0)
    await page.locator("main.content").getByRole("status", { name: "Loading" }).waitFor()
    resolve()
    await page.getByRole("heading", { name: "Projects", level: 1 }).waitFor()
    await page.unroute("**/oauth/v2/authorize?*")
  })

  test.each([
    ["Settings", "/settings"],
    ["Rejected requests", "/refused-requests"],
  ])("the current menu item is visible, also in a low window: %s", async (name, path) => {
    // The permissions in the organization load last.
    await page.route("**/ListMyCorePermissions", async (route) => {
      await pause(300, "the answer must come after the rest of the page")
      await route.continue()
    })
    await page.setViewportSize({ width: 1280, height: 420 })
    await page.goto(at(path))
    const place = page.locator(".sidebar").getByRole("link", { name })
    const isInView = () =>
      place.evaluate((link) => {
        const { top, bottom } = link.getBoundingClientRect()
        const list = link.closest(".nav-links")?.getBoundingClientRect()
        return list !== undefined && top >= list.top && bottom <= list.bottom + 1
      })
    await page.locator(".sidebar").getByRole("link", { name: "Projects" }).waitFor()
    await expect.poll(isInView).toBe(true)
    await page.unroute("**/ListMyCorePermissions")
    await page.setViewportSize({ width: 1280, height: 720 })
  })

  test("a renewal that failed because of the network is repeated", async () => {
    const last = page.getByRole("button", { name: "Create project" }).last()
    await page.goto(at("/projects"))
    // While the list is empty, it contains the action itself.
    await page.locator(".empty").getByRole("button", { name: "Create project" }).click()
    await page.getByLabel("Name", { exact: true }).fill("Lighthouse")
    await endSession()
    await page.route("**/oauth/v2/authorize?*", (route) => route.abort())
    await last.click()
    await page.getByText("Your input is kept, and").waitFor()
    await page.unroute("**/oauth/v2/authorize?*")
    await expect.poll(() => page.getByText("Your input is kept, and").count()).toBe(0)
    await last.click()
    await page.getByRole("heading", { name: "Your session has ended" }).waitFor()
    await signInElsewhere()
    await page.getByRole("heading", { name: "Lighthouse", level: 1 }).waitFor()
  })

  test("a rejected token is replaced without an error message", async () => {
    const exchange = page.waitForRequest("**/oauth/v2/token")
    const asked = page.waitForRequest("**/ListProjects")
    await page.goto(at("/projects"))
    const client_id = new URLSearchParams((await exchange).postData() ?? "").get("client_id") ?? ""
    const { authorization = "" } = await (await asked).allHeaders()
    // A parallel request of the page would notice the rejected token first, and replace it.
    await waitUntilIdle(page)
    const body = new URLSearchParams({ client_id, token: authorization.replace("Bearer ", "") })
    const { ok } = await fetch(`${server.url}/oauth/v2/revoke`, { method: "POST", body })
    expect(ok).toBe(true)
    const refused = page.waitForResponse(
      (answer) => /ListGroups$/.test(answer.url()) && answer.status() === 401,
    )
    await page.locator(".sidebar").getByRole("link", { name: "Groups" }).click()
    await refused
    await page.locator("main.content .empty").waitFor()
    expect(await page.locator(".alert-danger").count()).toBe(0)
  })

  test("an ended session opens a sign-in in another tab, and the page continues", async () => {
    await page.goto(at("/projects"))
    await page.getByRole("button", { name: "Create project" }).last().click()
    await page.getByLabel("Name", { exact: true }).fill("Harbour")
    await endSession()
    await page.getByRole("dialog").getByRole("button", { name: "Create project" }).click()
    await page.getByRole("heading", { name: "Your session has ended" }).waitFor()
    await signInElsewhere()
    await page.getByRole("heading", { name: "Harbour", level: 1 }).waitFor()
  })

  async function signInElsewhere(): Promise<void> {
    const opening = context.waitForEvent("page")
    await page.getByRole("link", { name: "Sign in again" }).click()
    const other = await opening
    await signIn(other)
    await other.getByRole("heading", { name: "You are signed in again" }).waitFor()
    await other.close()
  }

  /** Ends the session like an administrator would; the tab is not notified. */
  async function endSession(): Promise<void> {
    const users = await get("ListUsers", {
      queries: [{ loginNameQuery: { loginName: owner.loginName } }],
    })
    const [{ userId: ownerId }] = users.result
    await get("DeactivateUser", { userId: ownerId })
    await get("ReactivateUser", { userId: ownerId })
  }

  test("deactivating asks for confirmation; Undo reactivates the user", async () => {
    await page.goto(at(`/users/${userId}`))
    await page.getByRole("button", { name: "Deactivate: grace Person" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByText("ended sessions are not restored").waitFor()
    expect((await get("GetUserByID", { userId })).user.state).toBe("USER_STATE_ACTIVE")
    await dialog.getByRole("button", { name: "Deactivate" }).click()
    await page.getByText("grace Person is deactivated").waitFor()
    expect((await get("GetUserByID", { userId })).user.state).toBe("USER_STATE_INACTIVE")
    await page.locator(".notice").getByRole("button", { name: "Undo" }).click()
    await page.locator(".page-head").getByText("Active", { exact: true }).waitFor()
    expect((await get("GetUserByID", { userId })).user.state).toBe("USER_STATE_ACTIVE")
  })

  test("deleting is the last action, requires the name, and has no Undo", async () => {
    expect(await page.locator("main.content h2").last().innerText()).toBe("Delete")
    await page.getByRole("button", { name: "Delete user" }).click()
    const dialog = page.getByRole("dialog")
    const button = dialog.getByRole("button", { name: "Delete user" })
    await dialog.getByRole("textbox").fill("grace")
    expect(await button.isDisabled()).toBe(true)
    await dialog.getByRole("textbox").fill("grace Person")
    await button.click()
    await page.waitForURL(/\/users(\?|$)/)
    expect(await page.locator(".notice").getByRole("button", { name: "Undo" }).count()).toBe(0)
  })

  test("a rule that locks users out asks for confirmation, and Undo reverts it", async () => {
    const { projectId } = await get("CreateProject", { organizationId, name: "Pier" })
    const isHeld = async () =>
      (await get("GetProject", { projectId })).project.authorizationRequired === true
    await page.goto(at(`/projects/${projectId}`))
    const rule = page.getByLabel("Require a role to sign in").and(page.getByRole("checkbox"))
    await rule.click()
    const dialog = page.getByRole("dialog")
    await dialog.getByText("Users without a role in this project can't sign in").waitFor()
    expect(await isHeld()).toBe(false)
    await dialog.getByRole("button", { name: "Turn on" }).click()
    await dialog.waitFor({ state: "detached" })
    expect(await isHeld()).toBe(true)
    await page.locator(".notice").getByRole("button", { name: "Undo" }).click()
    await rule.and(page.locator(":not(:checked):enabled")).waitFor()
    expect(await isHeld()).toBe(false)
  })

  test("keyboard users can skip to the content, and find pages and actions by name", async () => {
    await page.goto(at("/users"))
    await page.getByRole("heading", { name: "Users", level: 1 }).waitFor()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("content")
    await page.keyboard.press("Control+k")
    await page.getByRole("dialog").getByRole("textbox").fill("create proj")
    await page.getByRole("dialog").getByText("Create project").waitFor()
    await page.keyboard.press("Enter")
    await page.getByRole("dialog").getByLabel("Name", { exact: true }).waitFor()
    await page.keyboard.press("Escape")
    await expect.poll(() => page.getByRole("dialog").count()).toBe(0)
  })

  test("a search that starts while the page loads stays open", async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await page.route("**/ListGroups", async (route) => {
      await promise
      await route.continue()
    })
    await page.goto(at("/groups"))
    await page.locator("main.content").getByRole("status", { name: "Loading" }).first().waitFor()
    await page.keyboard.press("Control+k")
    const words = page.getByRole("dialog").getByRole("textbox")
    await words.fill("settings")
    resolve()
    await page.locator("main.content .empty").waitFor()
    expect(await words.inputValue()).toBe("settings")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Settings", level: 1 }).waitFor()
    await page.unroute("**/ListGroups")
  })

  describe("every kind of resource has a list", () => {
    beforeAll(async () => {
      const name = "Quayside"
      const { projectId } = await get("CreateProject", { organizationId, name })
      const oidcConfiguration = { redirectUris: ["https://app.example.com/callback"] }
      await get("CreateApplication", { projectId, name, oidcConfiguration })
      await get("CreateGroup", { organizationId, name })
      await get("AddOrganization", { name })
    })

    test.each([
      ["/projects", "Projects"],
      ["/applications", "Applications"],
      ["/groups", "Groups"],
      ["/organizations", "Organizations"],
    ])("the search of %s is in the URL, for Back and for links", async (path, heading) => {
      await page.goto(at(`${path}?org=${organizationId}&q=quay&down=1`))
      const found = page.locator("tbody tr")
      await found.first().waitFor()
      expect(await found.count()).toBe(1)
      expect(await page.getByRole("searchbox").inputValue()).toBe("quay")
      await found.getByRole("link").first().click()
      await page.getByRole("heading", { name: "Quayside", level: 1 }).waitFor()
      await page.goBack()
      await page.getByRole("heading", { name: heading, level: 1 }).waitFor()
      expect(parameters(page)).toMatchObject({ q: "quay", down: "1" })
      expect(await page.getByRole("searchbox").inputValue()).toBe("quay")
      expect(await found.count()).toBe(1)
    })
  })

  test("so are the search of a section, and the filter of events", async () => {
    const roles = page.locator("section.section", {
      has: page.getByRole("heading", { name: "Manager roles", level: 2 }),
    })
    await page.goto(at("/administrators"))
    await roles.getByRole("searchbox").fill("viewer")
    await page.waitForURL(/[?&]\w+-q=viewer/)
    await page.goto(at("/events"))
    await page.getByLabel("Event type").fill("org.added")
    await page.getByRole("button", { name: "Apply filters" }).click()
    await page.waitForURL(/[?&]type=org.added/)
    await page.locator(".sidebar").getByRole("link", { name: "Groups" }).click()
    await page.getByRole("heading", { name: "Groups", level: 1 }).waitFor()
    await page.goBack()
    await page.getByRole("heading", { name: "Audit log", level: 1 }).waitFor()
    expect(await page.getByLabel("Event type").inputValue()).toBe("org.added")
    const rows = page.getByRole("row")
    await rows.filter({ hasText: "org.added" }).first().waitFor()
    expect(await rows.filter({ hasText: "token.issued" }).count()).toBe(0)
    await page.goBack()
    await page.goBack()
    await roles.getByText("IAM_OWNER_VIEWER").waitFor()
    expect(await roles.getByRole("searchbox").inputValue()).toBe("viewer")
    expect(await roles.getByText("IAM_LOGIN_CLIENT").count()).toBe(0)
  })

  test("a URL of a missing resource shows the error, and keeps the navigation", async () => {
    await page.goto(at(`/users/1?org=${organizationId}`))
    await page.getByRole("button", { name: "Try again" }).waitFor()
    await page.locator(".sidebar").getByRole("link", { name: "Groups" }).click()
    await page.getByRole("heading", { name: "Groups", level: 1 }).waitFor()
  })

  test("the setup page of an instance that is set up redirects to the console", async () => {
    await page.goto(`${server.url}/setup`)
    await page.getByRole("heading", { name: "Already set up" }).waitFor()
    await page.getByRole("link", { name: "Sign in" }).click()
    await page.getByRole("heading", { name: "Projects", level: 1 }).waitFor()
  })

  test("signing out in one tab prompts in the others, and deletes drafts", async () => {
    await page.goto(at("/users/new"))
    await page.getByLabel("First name").fill("Tony")
    const other = await opened(context)
    await other.goto(at("/users"))
    await other.locator(".sidebar .menu summary").click()
    await other.getByRole("button", { name: "Sign out" }).click()
    await other.getByRole("heading", { name: "You are signed out" }).waitFor()
    await page.getByRole("heading", { name: "You are signed out" }).waitFor()
    const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage }))
    expect(kept).not.toContain("Tony")
    await other.close()
  })

  test("a new user finds nothing of the previous user's session", async () => {
    const { password } = owner
    const joan = await addHuman({ get }, organizationId, "joan")
    await get("SetPassword", { userId: joan, newPassword: { password, changeRequired: false } })
    const theirs = await browser.newContext({ locale: "en" })
    const left = await signedIn(theirs, "/users/new")
    await left.getByLabel("First name").fill("Barbara")
    const kept = () => left.evaluate(() => JSON.stringify({ ...sessionStorage }))
    await expect.poll(kept).toContain("Barbara")
    await theirs.clearCookies()
    await left.reload()
    await left.waitForURL(/\/ui\/login\//)
    await signIn(left, "joan")
    await left.waitForURL(/\/ui\/console\/users\/new/)
    await left.getByRole("heading", { name: "You don't have access to the console" }).waitFor()
    expect(await kept()).not.toContain("Barbara")
    await theirs.close()
  })

  test("no page failed", () => {
    expect(complaints).toEqual([])
  })
})
