// Whoever looks after something sees what they may, is offered nothing else, and nothing fails.
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, personOf, type Service } from "../acceptance/service.ts"
import { atRest, openBrowser } from "../support/browser.ts"
import { needs } from "../support/prerequisite.ts"
import { goWithin, type Held, holdBack, pressNth } from "../support/press.ts"

const password = "Correct-horse-8-battery"

type Level = "instance" | "organizationId" | "projectId" | "projectGrant"

type Role = {
  readonly role: string
  readonly on: Level
  /** It changes nothing. */
  readonly looks?: true
}

/** Every role that people are given, by what it is held on. */
const roles: readonly Role[] = [
  { role: "IAM_OWNER", on: "instance" },
  { role: "IAM_OWNER_VIEWER", on: "instance", looks: true },
  { role: "IAM_ORG_MANAGER", on: "instance" },
  { role: "IAM_USER_MANAGER", on: "instance" },
  { role: "ORG_OWNER", on: "organizationId" },
  { role: "ORG_OWNER_VIEWER", on: "organizationId", looks: true },
  { role: "ORG_USER_MANAGER", on: "organizationId" },
  { role: "ORG_USER_PERMISSION_EDITOR", on: "organizationId" },
  { role: "ORG_PROJECT_CREATOR", on: "organizationId" },
  { role: "ORG_PROJECT_PERMISSION_EDITOR", on: "organizationId" },
  { role: "ORG_SETTINGS_MANAGER", on: "organizationId" },
  { role: "PROJECT_OWNER", on: "projectId" },
  { role: "PROJECT_OWNER_VIEWER", on: "projectId", looks: true },
  { role: "PROJECT_GRANT_OWNER", on: "projectGrant" },
  { role: "PROJECT_GRANT_OWNER_VIEWER", on: "projectGrant", looks: true },
]

type Ids = Readonly<
  Record<
    "organizationId" | "projectId" | "appId" | "userId" | "higherId" | "groupId" | "grantedId",
    string
  >
>

describe.runIf(needs("chromium"))("somebody who looks after something", () => {
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

  /** An organisation for each role, with one of everything: what it changes is nobody else's. */
  async function household(role: string): Promise<Ids> {
    const { get } = service
    const { organizationId } = await get("AddOrganization", { name: `For ${role}` })
    const { projectId } = await get("CreateProject", { organizationId, name: "Intranet" })
    await get("AddProjectRole", { projectId, roleKey: "editor", displayName: "Editor" })
    const oidcConfiguration = { redirectUris: ["https://app.example.com/callback"] }
    const app = { projectId, name: "Wiki", oidcConfiguration }
    const { applicationId: appId } = await get("CreateApplication", app)
    const human = personOf(`grace-${role}`.toLowerCase())
    const username = `grace-${role}`.toLowerCase()
    const { id: userId } = await get("CreateUser", { organizationId, username, human })
    const { id: higherId } = await get("CreateUser", {
      organizationId,
      username: `high-${role}`.toLowerCase(),
      human: personOf(`high-${role}`.toLowerCase()),
    })
    const owning = { userId: higherId, resource: { instance: true }, roles: ["IAM_OWNER"] }
    await get("CreateAdministrator", owning)
    const { id: groupId } = await get("CreateGroup", { organizationId, name: "Finance" })
    await get("AddUsersToGroup", { id: groupId, userIds: [userId] })
    await get("CreateAuthorization", { organizationId, projectId, userId, roleKeys: ["editor"] })
    const grantedId = await grantedTo(organizationId, role)
    return { organizationId, projectId, appId, userId, higherId, groupId, grantedId }
  }

  /** A project of somebody else, whose roles the organisation may give. */
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
  ): Promise<{ readonly page: Page; readonly held: readonly Held[] }> {
    const { get } = service
    const { organizationId } = ids
    const username = role.toLowerCase()
    const human = { ...personOf(username), password: { password } }
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
    const held = await holdBack(page, now)
    await page.goto(`${service.url}/ui/console?org=${organizationId}`)
    await page.fill('[name="loginName"]', username)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', password)
    await page.click('button[type="submit"]')
    await page.locator("main.content h1").waitFor()
    return { page, held }
  }

  /** Where the pages and actions lead that are found by a letter which most of them have. */
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

  /** What the page as it stands complains about. */
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
    // Who may do more than most of them.
    `/users/${ids.higherId}`,
    `/groups/${ids.groupId}`,
    `/granted-projects/${ids.grantedId}`,
    `/organizations/${ids.organizationId}`,
    `/organizations/${ids.organizationId}/policies`,
    `/organizations/${ids.organizationId}/texts`,
    `/organizations/${ids.organizationId}/identity-providers`,
  ]

  /** What takes things away comes after the rest, and what all hangs from at the end. */
  const harms = [
    /^(?!Delete|Remove|Deactivate|Lock)/,
    /^(?!DeleteProject$|DeleteOrganization$)/,
    /^/,
  ]
  const harmOf = ({ method }: Held) => harms.findIndex((harm) => harm.test(method))
  const byHarm = (a: Held, b: Held) => harmOf(a) - harmOf(b)
  /** It takes away the role of whoever asks, and with it all that comes after. */
  const isOwnEnd = ({ method }: Held) => method === "DeleteAdministrator"

  /** Of what was pressed, what the server would have refused for want of a permission. */
  async function refused(held: readonly Held[]): Promise<readonly string[]> {
    const found: string[] = []
    const tried = held.filter((one) => !isOwnEnd(one)).toSorted(byHarm)
    for (const { method, url, headers, body, by } of tried) {
      const { authorization = "", "content-type": type = "", "x-core-orgid": org } = headers
      const sent = { authorization, "content-type": type, ...(org && { "x-core-orgid": org }) }
      const answer = await fetch(url, {
        method: "POST",
        headers: sent,
        body: new Uint8Array(body),
      })
      const text = await answer.text()
      // That somebody among many may do more is said where it is tried; of a person, beforehand.
      const isSaid = text.includes("org.outranks_you")
      if (answer.status === 403 && !isSaid) found.push(`${by}: ${method}: ${text.slice(0, 200)}`)
    }
    return [...new Set(found)]
  }

  test.concurrent.each(roles)(
    "as $role finds no page that fails, and no button",
    async (one) => {
      const { role, looks } = one
      const ids = await household(role)
      let by = ""
      const { page, held } = await signedIn(one, ids, () => by)
      const links = page.locator(".sidebar a.nav-link")
      await links.first().waitFor()
      await atRest(page)
      const hrefs = await links.evaluateAll((all) => all.map((link) => link.getAttribute("href")))
      const places = [...hrefs, ...(await foundByName(page))].map((href) =>
        String(href).replace(/^\/ui\/console|\?.*$/g, ""),
      )
      const found: string[] = []
      let pressed = 0
      for (const path of new Set([...places, ...pathsOf(ids)])) {
        await goWithin(page, `/ui/console${path}?org=${ids.organizationId}`)
        if (!(await isShown(page))) {
          if (places.includes(path)) found.push(`${path}: is offered, and can't be shown`)
          continue
        }
        found.push(...(await complaints(page)))
        // Whoever may do everything is refused nothing.
        for (let at = 0; role !== "IAM_OWNER" && at < 80; at += 1) {
          by = path
          const name: string | null = await pressNth(page, at)
          if (name === null) break
          pressed += 1
        }
      }
      expect([...found, ...(await refused(held))]).toEqual([])
      const changes = held.filter(({ method }) => method !== "ExportData")
      if (looks) expect(changes.map(({ by: path, method }) => `${path}: ${method}`)).toEqual([])
      else if (role !== "IAM_OWNER") expect(pressed).toBeGreaterThan(0)
      await page.context().close()
    },
    240_000,
  )
})
