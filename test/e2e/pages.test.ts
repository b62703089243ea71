// What holds for every page: anybody can use it, it comes quickly, and asks for nothing twice.
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { addPerson, openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { owner } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

const widths = [1280, 390] as const
const schemes = ["light", "dark"] as const

describe.runIf(needs("chromium"))("every page", () => {
  let service: Service
  let browser: Browser
  let page: Page
  const ids: Record<string, string> = {}

  beforeAll(async () => {
    service = await openService()
    const { get } = service
    const organizationId = (await get("ListOrganizations")).result[0].id
    const { projectId } = await get("CreateProject", { organizationId, name: "Intranet" })
    await get("AddProjectRole", { projectId, roleKey: "editor", displayName: "Editor" })
    const oidcConfiguration = { redirectUris: ["https://app.example.com/callback"] }
    const app = { projectId, name: "Wiki", oidcConfiguration }
    const { applicationId } = await get("CreateApplication", app)
    const userId = await addPerson({ get }, organizationId, "grace")
    const { id: groupId } = await get("CreateGroup", { organizationId, name: "Finance" })
    await get("AddUsersToGroup", { id: groupId, userIds: [userId] })
    await get("CreateAuthorization", { organizationId, projectId, userId, roleKeys: ["editor"] })
    Object.assign(ids, { organizationId, projectId, applicationId, userId, groupId })
    browser = await openBrowser()
    const context = await browser.newContext({ locale: "en", bypassCSP: true })
    page = await context.newPage()
    page.setDefaultTimeout(15_000)
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  /** What axe has against the page as it stands, in each width and scheme. */
  async function flaws(): Promise<readonly string[]> {
    const found: string[] = []
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 })
      for (const colorScheme of schemes) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
        await page.evaluate(axe)
        const seen: string[] = await page.evaluate(`axe.run(document, {
          runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
          resultTypes: ["violations"],
        }).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
          nodes.map(({ html, failureSummary }) => id + ": " + html.slice(0, 160) + " " +
            failureSummary.slice(0, 300))))`)
        found.push(...seen.map((flaw) => `${width} ${colorScheme} ${flaw}`))
      }
    }
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.emulateMedia({ colorScheme: "light" })
    return found
  }

  test("of the sign-in is usable by anybody", async () => {
    await page.goto(`${service.url}/ui/console`)
    await page.locator('[name="loginName"]').waitFor()
    expect(await flaws()).toEqual([])
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.locator('[name="password"]').waitFor()
    expect(await flaws()).toEqual([])
    await page.fill('[name="password"]', "wrong")
    await page.click('button[type="submit"]')
    await page.getByRole("alert").first().waitFor()
    expect(await flaws()).toEqual([])
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.locator("main.content").waitFor()
    for (const path of ["/ui/login/signedin", "/ui/login/device", "/setup", "/nowhere"]) {
      await page.goto(`${service.url}${path}`)
      expect([path, ...(await flaws())]).toEqual([path])
    }
  })

  const routes: readonly (readonly [path: string, heading: string])[] = [
    ["/projects", "Projects"],
    ["/projects/$projectId", "Intranet"],
    ["/projects/$projectId/new-application", "Create application"],
    ["/applications", "Applications"],
    ["/applications/new", "Create application"],
    ["/applications/$applicationId", "Wiki"],
    ["/users", "Users"],
    ["/users/new", "Create user"],
    ["/users/$userId", "grace Person"],
    ["/groups", "Groups"],
    ["/groups/$groupId", "Finance"],
    ["/organizations", "Organisations"],
    ["/organizations/$organizationId", "Acme"],
    ["/organizations/$organizationId/policies", "Policies"],
    ["/administrators", "Administrators"],
    ["/refused-requests", "Refused requests"],
    ["/signing-keys", "Signing keys"],
    ["/settings", "Settings"],
  ]

  test.each(routes)(
    "%s is usable by anybody, and asks for nothing twice",
    async (path, heading) => {
      const asked: string[] = []
      const listen = (request: { url(): string; postData(): string | null; method(): string }) => {
        if (request.method() === "POST" && request.url().includes("/core.")) {
          asked.push(`${request.url()} ${request.postData() ?? ""}`)
        }
      }
      page.on("request", listen)
      const at = path.replace(/\$(\w+)/, (_, name) => ids[name] ?? "")
      await page.goto(`${service.url}/ui/console${at}`)
      await page.getByRole("heading", { name: heading, level: 1 }).waitFor()
      await page.waitForLoadState("networkidle")
      page.off("request", listen)
      expect(asked.filter((one, index) => asked.indexOf(one) !== index)).toEqual([])
      expect(asked.length).toBeGreaterThan(0)
      expect(await flaws()).toEqual([])
    },
  )
})
