// Whoever looks after something sees what they may, is offered nothing else, and nothing fails.
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, personOf, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { needs } from "../support/prerequisite.ts"

const password = "Correct-horse-8-battery"

type Held = "instance" | "organizationId" | "projectId"

/** Every role that people are given, by what it is held on. */
const roles: Readonly<Record<string, Held>> = {
  ...{ IAM_OWNER: "instance", IAM_OWNER_VIEWER: "instance" },
  ...{ IAM_ORG_MANAGER: "instance", IAM_USER_MANAGER: "instance" },
  ...{ ORG_OWNER: "organizationId", ORG_OWNER_VIEWER: "organizationId" },
  ...{ ORG_USER_MANAGER: "organizationId", ORG_USER_PERMISSION_EDITOR: "organizationId" },
  ...{ ORG_PROJECT_CREATOR: "organizationId", ORG_PROJECT_PERMISSION_EDITOR: "organizationId" },
  ...{ ORG_SETTINGS_MANAGER: "organizationId" },
  ...{ PROJECT_OWNER: "projectId", PROJECT_OWNER_VIEWER: "projectId" },
}

describe.runIf(needs("chromium"))("somebody who looks after something", () => {
  let service: Service
  let browser: Browser
  let organizationId = ""
  let projectId = ""

  beforeAll(async () => {
    service = await openService()
    const { get } = service
    organizationId = (await get("ListOrganizations")).result[0].id
    projectId = (await get("CreateProject", { organizationId, name: "Intranet" })).projectId
    const oidcConfiguration = { redirectUris: ["https://app.example.com/callback"] }
    await get("CreateApplication", { projectId, name: "Wiki", oidcConfiguration })
    await get("CreateGroup", { organizationId, name: "Finance" })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  async function signedIn(role: string, on: Held): Promise<Page> {
    const { get } = service
    const username = role.toLowerCase()
    const human = { ...personOf(username), password: { password } }
    const { id: userId } = await get("CreateUser", { organizationId, username, human })
    const held = { instance: true, organizationId, projectId }[on]
    await get("CreateAdministrator", { userId, resource: { [on]: held }, roles: [role] })
    const page = await (await browser.newContext({ locale: "en" })).newPage()
    page.setDefaultTimeout(15_000)
    await page.goto(`${service.url}/ui/console`)
    await page.fill('[name="loginName"]', username)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', password)
    await page.click('button[type="submit"]')
    await page.locator("main.content h1").waitFor()
    return page
  }

  /** What the page as it stands complains about. */
  async function complaints(page: Page): Promise<readonly string[]> {
    await page.locator("main.content h1").waitFor()
    await page.waitForLoadState("networkidle")
    const title = await page.locator("main.content h1").innerText()
    const alerts = await page.locator("main.content .alert-danger").allInnerTexts()
    const failed = title === "This can't be shown" ? [title] : []
    return [...failed, ...alerts].map((text) => `${new URL(page.url()).pathname}: ${text}`)
  }

  test.each(Object.entries(roles))(
    "as %s finds nothing that fails on any page it is led to",
    async (role, on) => {
      const page = await signedIn(role, on)
      const found: string[] = []
      const links = page.locator(".sidebar .nav-link")
      await links.first().waitFor()
      await page.waitForLoadState("networkidle")
      const places = await links.evaluateAll((all) => all.map((link) => link.getAttribute("href")))
      for (const place of places) {
        await page.goto(`${service.url}${place}`)
        found.push(...(await complaints(page)))
        const first = page.locator("main.content tbody td:first-child a").first()
        if ((await first.count()) === 0) continue
        await first.click()
        await page.waitForURL((url) => url.pathname !== place)
        found.push(...(await complaints(page)))
      }
      expect(found).toEqual([])
      await page.context().close()
    },
  )
})
