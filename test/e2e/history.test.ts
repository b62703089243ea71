import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { owner } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

const admin = "core.admin.v1.AdminService"
const management = "core.management.v1.ManagementService"

describe.runIf(needs("chromium"))("the history of a resource", () => {
  let service: Service
  let browser: Browser
  let page: Page
  let organizationId = ""
  let projectId = ""
  const complaints: string[] = []

  beforeAll(async () => {
    service = await openService()
    organizationId = (await service.get("ListOrganizations")).result[0].id
    projectId = (await service.get("CreateProject", { organizationId, name: "Intranet" })).projectId
    await service.get("AddProjectRole", { projectId, roleKey: "editor", displayName: "Editor" })
    const ownerId = service.key.userId
    const given = { userId: ownerId, projectId, organizationId, roleKeys: ["editor"] }
    await service.get("CreateAuthorization", given)
    const resource = { organizationId }
    const held = { userId: ownerId, resource, roles: ["ORG_OWNER"] }
    await service
      .get("UpdateAdministrator", held)
      .catch(() => service.get("CreateAdministrator", held))
    const target = { name: "Hook", endpoint: "https://hook.example.com", timeout: "5s" }
    const { id } = await service.get("CreateTarget", { ...target, restWebhook: {} })
    const condition = { request: { service: "core.user.v2.UserService" } }
    await service.get("SetExecution", { condition, targets: [id] })
    const google = { name: "Google", clientId: "c", clientSecret: "s" }
    await service.get(`${admin}/AddGoogleProvider`, google)
    await service.get(`${admin}/SetDefaultLanguage`, { language: "de" })
    await service.get(`${admin}/UpdateLockoutPolicy`, { maxPasswordAttempts: 9 })
    const script = { name: "one", script: "function one() {}" }
    const made = await service.get(`${management}/CreateAction`, script)
    const moment = { flowType: "2", triggerType: "5", actionIds: [made.id] }
    await service.get(`${management}/SetTriggerActions`, moment)
    const words = { language: "en", subject: "Welcome" }
    await service.get(`${admin}/SetDefaultInviteUserMessageText`, words)
    const translations = { password: { title: "Open up" } }
    const everywhere = { instance: true, locale: "en", translations }
    await service.get("SetHostedLoginTranslation", everywhere)
    const globex = await service.get("AddOrganization", { name: "Globex" })
    const granted = { projectId, grantedOrganizationId: globex.organizationId }
    await service.get("CreateProjectGrant", { ...granted, roleKeys: ["editor"] })
    browser = await openBrowser()
    page = await browser.newPage()
    page.setDefaultTimeout(60_000)
    page.on("pageerror", (error) => complaints.push(error.message))
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
    expect(complaints).toEqual([])
  })

  const open = async (path: string) => {
    await page.goto(`${service.url}/ui/console${path}`)
    await page.locator("main.content h1").waitFor()
  }
  const section = (title: string) =>
    page
      .locator("section.section")
      .filter({ has: page.getByRole("heading", { name: title, exact: true, level: 2 }) })
  const dialog = () => page.getByRole("dialog")

  test("is shown below instance settings, with the changes", async () => {
    await open("/administrators")
    const instance = section("History: Instance")
    await instance.getByText("Administrator of the instance added").first().waitFor()
    await instance.getByText("System (setup)").first().waitFor()
    await open("/settings")
    await section("History: Policies").locator("tbody tr").first().waitFor()
    await section("History: Instance").locator("tbody tr").first().waitFor()
    await open("/providers")
    await section("History: Email").getByText("No events yet.").waitFor()
  })

  test("of identity providers can be undone on their page", async () => {
    await open("/identity-providers")
    await page.getByRole("button", { name: "Activate" }).first().click()
    await page.locator("tbody").getByText("Active", { exact: true }).first().waitFor()
    const history = section("History: Identity providers")
    await history.getByText("Identity provider activated").waitFor()
    await history.getByRole("button", { name: /^Undo/ }).first().click()
    await dialog().getByRole("button", { name: "Undo", exact: true }).click()
    await dialog().waitFor({ state: "detached" })
    await page.locator("tbody").getByText("Inactive", { exact: true }).first().waitFor()
    await open(`/organizations/${organizationId}/identity-providers`)
    await section("History").waitFor()
  })

  test.each<[what: string, path: () => string, row: string]>([
    ["a signing key", () => "/signing-keys", "RS256"],
    ["a condition of targets", () => "/targets", "request/core"],
    ["a moment of scripts", () => "/scripts", "Tokens: JWT access tokens"],
    ["an administrator", () => `/organizations/${organizationId}`, ""],
    ["a granted project", () => `/projects/${projectId}`, "Globex"],
    ["a message", () => "/texts?text=invite_user&language=en", "Invitation"],
    ["the sign-in", () => "/texts?text=screen.password&language=en", "Custom texts"],
    ["somebody's roles", () => `/projects/${projectId}`, ""],
  ])("of %s opens from its row", async (_, path, row) => {
    await open(path())
    await page
      .getByRole("button", { name: `History: ${row}` })
      .first()
      .click()
    await dialog().locator("tbody tr").first().waitFor()
    await dialog().getByRole("button", { name: "Close" }).last().click()
    await dialog().waitFor({ state: "detached" })
  })
})
