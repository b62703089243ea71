// Administrators of every role see what they can access, see no other action, and get no error.
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { humanInput, openService, type Service } from "../acceptance/service.ts"
import { openBrowser, waitUntilIdle } from "../support/browser.ts"
import { needs } from "../support/prerequisite.ts"
import { type HeldRequest, holdChanges, navigateTo, pressNth } from "../support/press-controls.ts"

const password = "Correct-horse-8-battery"

type Level = "instance" | "organizationId" | "projectId" | "projectGrant"

type Role = {
  readonly role: string
  readonly on: Level
  /** The role is read-only. */
  readonly isReadOnly?: true
}

/** Every role that users can have, with its level. */
const roles: readonly Role[] = [
  { role: "IAM_OWNER", on: "instance" },
  { role: "IAM_OWNER_VIEWER", on: "instance", isReadOnly: true },
  { role: "IAM_ORG_MANAGER", on: "instance" },
  { role: "IAM_USER_MANAGER", on: "instance" },
  { role: "ORG_OWNER", on: "organizationId" },
  { role: "ORG_OWNER_VIEWER", on: "organizationId", isReadOnly: true },
  { role: "ORG_USER_MANAGER", on: "organizationId" },
  { role: "ORG_USER_PERMISSION_EDITOR", on: "organizationId" },
  { role: "ORG_PROJECT_CREATOR", on: "organizationId" },
  { role: "ORG_PROJECT_PERMISSION_EDITOR", on: "organizationId" },
  { role: "ORG_SETTINGS_MANAGER", on: "organizationId" },
  { role: "PROJECT_OWNER", on: "projectId" },
  { role: "PROJECT_OWNER_VIEWER", on: "projectId", isReadOnly: true },
  { role: "PROJECT_GRANT_OWNER", on: "projectGrant" },
  { role: "PROJECT_GRANT_OWNER_VIEWER", on: "projectGrant", isReadOnly: true },
]

type Ids = Readonly<
  Record<
    "organizationId" | "projectId" | "appId" | "userId" | "higherId" | "groupId" | "grantedId",
    string
  >
>

describe.runIf(needs("chromium"))("an administrator", () => {
  let service: Service
  let browser: Browser

  beforeAll(async () => {
    service = await openService()
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  /**
   * Creates an organization for each role with one of everything, so that tests don't interfere.
   */
  async function household(role: string): Promise<Ids> {
    const { get } = service
    const { organizationId } = await get("AddOrganization", { name: `For ${role}` })
    const { projectId } = await get("CreateProject", { organizationId, name: "Intranet" })
    await get("AddProjectRole", { projectId, roleKey: "editor", displayName: "Editor" })
    const oidcConfiguration = { redirectUris: ["https://app.example.com/callback"] }
    const app = { projectId, name: "Wiki", oidcConfiguration }
    const { applicationId: appId } = await get("CreateApplication", app)
    const human = humanInput(`grace-${role}`.toLowerCase())
    const username = `grace-${role}`.toLowerCase()
    const { id: userId } = await get("CreateUser", { organizationId, username, human })
    const { id: higherId } = await get("CreateUser", {
      organizationId,
      username: `high-${role}`.toLowerCase(),
      human: humanInput(`high-${role}`.toLowerCase()),
    })
    const owning = { userId: higherId, resource: { instance: true }, roles: ["IAM_OWNER"] }
    await get("CreateAdministrator", owning)
    const { id: groupId } = await get("CreateGroup", { organizationId, name: "Finance" })
    await get("AddUsersToGroup", { id: groupId, userIds: [userId] })
    await get("CreateAuthorization", { organizationId, projectId, userId, roleKeys: ["editor"] })
    const grantedId = await grantedTo(organizationId, role)
    return { organizationId, projectId, appId, userId, higherId, groupId, grantedId }
  }

  /** Grants a project of another organization, whose roles the organization can assign. */
  async function grantedTo(grantedOrganizationId: string, role: string): Promise<string> {
    const { get } = service
    const { organizationId } = await get("AddOrganization", { name: `Beside ${role}` })
    const { projectId } = await get("CreateProject", { organizationId, name: "Orders" })
    await get("AddProjectRole", { projectId, roleKey: "clerk", displayName: "Clerk" })
    const roleKeys = ["clerk"]
    await get("CreateProjectGrant", { projectId, grantedOrganizationId, roleKeys })
    return projectId
  }

  async function signedIn(
    { role, on }: Role,
    ids: Ids,
    now: () => string,
  ): Promise<{ readonly page: Page; readonly held: readonly HeldRequest[] }> {
    const { get } = service
    const { organizationId } = ids
    const username = role.toLowerCase()
    const human = { ...humanInput(username), password: { password } }
    const { id: userId } = await get("CreateUser", { organizationId, username, human })
    const { projectId, grantedId } = ids
    const resources: Readonly<Record<Level, object>> = {
      instance: { instance: true },
      organizationId: { organizationId },
      projectId: { projectId },
      projectGrant: { projectGrant: { projectId: grantedId, organizationId } },
    }
    const resource = resources[on]
    await get("CreateAdministrator", { userId, resource, roles: [role] })
    const page = await (await browser.newContext({ locale: "en" })).newPage()
    page.setDefaultTimeout(60_000)
    const held = await holdChanges(page, now)
    await page.goto(`${service.url}/ui/console?org=${organizationId}`)
    await page.fill('[name="loginName"]', username)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', password)
    await page.click('button[type="submit"]')
    await page.locator("main.content h1").waitFor()
    return { page, held }
  }

  /** The targets of pages and actions found by a letter that most names contain. */
  async function foundByName(page: Page): Promise<readonly (string | null)[]> {
    await page.keyboard.press("Control+k")
    await page.getByRole("dialog").getByRole("textbox").fill("e")
    const hits = page
      .locator(".search-hit")
      .filter({ has: page.locator(".badge", { hasText: /^Page$/ }) })
    await page.locator(".search-hit, .search-note").first().waitFor()
    const hrefs = await hits.evaluateAll((all) => all.map((link) => link.getAttribute("href")))
    await page.keyboard.press("Escape")
    return hrefs
  }

  /** The errors on the current page. */
  async function complaints(page: Page): Promise<readonly string[]> {
    const alerts = await page.locator("main.content .alert-danger").allInnerTexts()
    return alerts.map((text) => `${new URL(page.url()).pathname}: ${text}`)
  }

  const isShown = async (page: Page) =>
    (await page.locator("main.content h1").innerText()) !== "This page couldn't be loaded"

  const pathsOf = (ids: Ids) => [
    `/projects/${ids.projectId}`,
    `/applications/${ids.appId}`,
    `/users/${ids.userId}`,
    // A user with more permissions than most roles.
    `/users/${ids.higherId}`,
    `/groups/${ids.groupId}`,
    `/granted-projects/${ids.grantedId}`,
    `/organizations/${ids.organizationId}`,
    `/organizations/${ids.organizationId}/policies`,
    `/organizations/${ids.organizationId}/texts`,
    `/organizations/${ids.organizationId}/identity-providers`,
  ]

  /**
   * Destructive actions come after the others; those that remove the role's own basis come last.
   */
  const harms = [
    /^(?!Delete|Remove|Deactivate|Lock)/,
    /^(?!DeleteProject$|DeleteOrganization$)/,
    /^/,
  ]
  const harmOf = ({ method }: HeldRequest) => harms.findIndex((harm) => harm.test(method))
  const byHarm = (a: HeldRequest, b: HeldRequest) => harmOf(a) - harmOf(b)
  /** It removes the caller's own role, and with it access to all later calls. */
  const isOwnEnd = ({ method }: HeldRequest) => method === "DeleteAdministrator"

  /** The pressed actions that the server would have rejected for missing permissions. */
  async function refused(held: readonly HeldRequest[]): Promise<readonly string[]> {
    const found: string[] = []
    const tried = held.filter((one) => !isOwnEnd(one)).toSorted(byHarm)
    for (const { method, url, headers, body, control: by } of tried) {
      const { authorization = "", "content-type": type = "", "x-core-orgid": org } = headers
      const sent = { authorization, "content-type": type, ...(org && { "x-core-orgid": org }) }
      const answer = await fetch(url, {
        method: "POST",
        headers: sent,
        body: new Uint8Array(body),
      })
      const text = await answer.text()
      // In a list, higher-ranking users are reported on the attempt; on a user's page, beforehand.
      const isSaid = text.includes("org.outranks_you")
      if (answer.status === 403 && !isSaid) found.push(`${by}: ${method}: ${text.slice(0, 200)}`)
    }
    return [...new Set(found)]
  }

  test.concurrent.each(roles)(
    "as $role finds no page and no button that fails",
    async (one) => {
      const { role, isReadOnly: looks } = one
      const ids = await household(role)
      let by = ""
      const { page, held } = await signedIn(one, ids, () => by)
      const links = page.locator(".sidebar a.nav-link")
      await links.first().waitFor()
      await waitUntilIdle(page)
      const hrefs = await links.evaluateAll((all) => all.map((link) => link.getAttribute("href")))
      const places = [...hrefs, ...(await foundByName(page))].map((href) =>
        String(href).replace(/^\/ui\/console|\?.*$/g, ""),
      )
      const found: string[] = []
      let pressed = 0
      for (const path of new Set([...places, ...pathsOf(ids)])) {
        await navigateTo(page, `/ui/console${path}?org=${ids.organizationId}`)
        if (!(await isShown(page))) {
          if (places.includes(path)) found.push(`${path}: is offered, and can't be shown`)
          continue
        }
        found.push(...(await complaints(page)))
        // The owner of the instance has every permission.
        for (let at = 0; role !== "IAM_OWNER" && at < 80; at += 1) {
          by = path
          const name: string | null = await pressNth(page, at)
          if (name === null) break
          pressed += 1
        }
      }
      expect([...found, ...(await refused(held))]).toEqual([])
      const changes = held.filter(({ method }) => method !== "ExportData")
      if (looks)
        expect(changes.map(({ control: path, method }) => `${path}: ${method}`)).toEqual([])
      else if (role !== "IAM_OWNER") expect(pressed).toBeGreaterThan(0)
      await page.context().close()
    },
    240_000,
  )
})
