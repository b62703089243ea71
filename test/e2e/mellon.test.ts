import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { mellonDirectory, samlSnippets } from "../../ui/console/application/saml-snippets.ts"
import { openService, type Service } from "../acceptance/service.ts"
import { type Apache, startApache } from "../support/apache.ts"
import { openBrowser } from "../support/browser.ts"
import { freePort, owner, temporaryFolder } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

const present =
  needs("chromium") !== undefined && needs("apache") !== undefined && needs("mellon") !== undefined

describe.runIf(present)("a page behind Apache's mod_auth_mellon", () => {
  const folder = temporaryFolder()
  let service: Service
  let apache: Apache
  let browser: Browser
  let page: Page
  let base = ""
  let organizationId = ""
  let projectId = ""

  beforeAll(async () => {
    service = await openService([])
    const port = await freePort()
    // Without TLS, its cookies are sent by the same site only.
    base = `http://${new URL(service.url).hostname}:${port}`
    const endpoint = `${base}/mellon`
    const entityId = `urn:example:${port}`
    const metadata = `${service.url}/saml/v2/metadata`
    const options = { cwd: folder.path, stdio: "ignore" } as const
    execFileSync(needs("mellon") ?? "", [entityId, endpoint], options)
    const idp = await (await fetch(metadata)).text()
    writeFileSync(join(folder.path, "idp-metadata.xml"), idp)
    organizationId = (await service.get("ListOrganizations")).result[0].id
    ;({ projectId } = await service.get("CreateProject", { organizationId, name: "Intranet" }))
    for (const roleKey of ["staff", "guest"]) {
      await service.get("AddProjectRole", { projectId, roleKey, displayName: roleKey })
    }
    const own = readFileSync(join(folder.path, `urn_example_${port}.xml`))
    const { applicationId } = await service.get("CreateApplication", {
      projectId,
      name: "Intranet",
      samlConfiguration: { metadataXml: own.toString("base64") },
    })
    const attributes = { rolesAttribute: "groups" }
    await service.get("UpdateApplication", {
      applicationId,
      projectId,
      samlConfiguration: { attributes },
    })
    const consumers = [`${endpoint}/postResponse`, `${endpoint}/artifactResponse`]
    const [snippet] = samlSnippets({ entityId, consumers, metadata, rolesAttribute: "groups" })
    const settings = withStaff(snippet?.text.replaceAll(mellonDirectory, folder.path) ?? "")
    apache = await startApache(folder.path, port, { module: "auth_mellon", settings })
    browser = await openBrowser()
    page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(60_000)
  })
  afterAll(async () => {
    await browser?.close()
    await apache?.stop()
    await service?.close()
    folder.remove()
  })

  /** A page below the other one that requires a role, configured by the suggested line. */
  function withStaff(settings: string): string {
    const below = join(folder.path, "htdocs", "protected", "staff")
    mkdirSync(below, { recursive: true })
    writeFileSync(join(below, "index.html"), "<h1>Staff</h1>")
    const [block = ""] = /<Location "\/protected">.*?<\/Location>/s.exec(settings) ?? []
    const staff = block
      .replace('"/protected"', '"/protected/staff"')
      .replace('# MellonCond "groups" "ROLE"', 'MellonCond "groups" "staff"')
    expect(staff).toContain('\n  MellonCond "groups" "staff"\n')
    return `${settings}\n${staff}\nDirectoryIndex index.shtml index.html`
  }

  async function signIn() {
    await page.goto(`${base}/protected/`)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.getByRole("heading", { name: "Intranet" }).waitFor()
  }

  test("is shown to a user who signs in with a password, by name", async () => {
    await signIn()
    expect(await page.locator("#user").innerText()).toBe(owner.loginName)
    expect(await page.locator("#told").innerText()).not.toBe("(none)")
  })

  test("signs out of both, and returns to the page that requested it", async () => {
    const bye = encodeURIComponent(`${base}/bye.html`)
    await page.goto(`${base}/mellon/logout?ReturnTo=${bye}`)
    await page.getByRole("heading", { name: "Bye" }).waitFor()
    await page.goto(`${base}/protected/`)
    await page.locator('[name="loginName"]').waitFor()
  })

  test("ends when the user signs out here", async () => {
    await signIn()
    await page.goto(`${service.url}/oidc/v1/endsession`)
    await page.click('button[type="submit"]')
    await page.getByText("You are signed out").waitFor()
    await page.goto(`${base}/protected/`)
    await page.locator('[name="loginName"]').waitFor()
  })

  test("requires a role if configured, and reads several roles", async () => {
    const { result } = await service.get("core.user.v2.UserService/ListUsers", {})
    const { userId } = result.find((each: { human?: object }) => each.human)
    const given = { userId, projectId, organizationId }
    const { id } = await service.get("CreateAuthorization", { ...given, roleKeys: ["guest"] })
    await signIn()
    expect((await page.goto(`${base}/protected/staff/`))?.status()).toBe(403)
    await service.get("UpdateAuthorization", { id, roleKeys: ["guest", "staff"] })
    await page.context().clearCookies()
    await signIn()
    await page.goto(`${base}/protected/staff/`)
    await page.getByRole("heading", { name: "Staff" }).waitFor()
  })

  test("logs nothing that requires attention", () => {
    const worries = apache
      .log()
      .split("\n")
      .filter((line) => /:(error|crit|emerg)\]/.test(line))
    expect(worries).toEqual([])
  })
})
