// From the metadata that Synapse publishes to a user who is signed in there, through the console.
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { openSignedIn } from "../support/console-pages.ts"
import { owner } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import { type PySaml2, startPySaml2 } from "../support/pysaml2.ts"

const views = [
  { name: "1280", colorScheme: "light", viewport: { width: 1280, height: 900 } },
  { name: "390 dark", colorScheme: "dark", viewport: { width: 390, height: 844 } },
] as const

const isHere = needs("chromium") !== undefined && needs("pysaml2") !== undefined

describe.runIf(isHere)("pysaml2 with Synapse's configuration", () => {
  let service: Service
  let peer: PySaml2
  let browser: Browser

  beforeAll(async () => {
    service = await openService()
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await peer?.stop()
    await service?.close()
  })

  test.each(views)("is connected with forms only, and signs a user in: $name", async (look) => {
    await peer?.stop()
    peer = await startPySaml2(`${service.url}/saml/v2/metadata`)
    const { name, ...how } = look
    const context = await browser.newContext({ ...how, locale: "en" })
    const page = await openSignedIn(context, `${service.url}/ui/console/applications/new`)
    page.setDefaultTimeout(20_000)
    try {
      await create(page, `Chat ${name}`)
      expect(await signedIn(page)).toMatchObject({ error: expect.stringContaining("uid") })
      await page.goto(await applicationOf(`Chat ${name}`))
      await acceptProposal(page)
      expect(await signedIn(page)).toMatchObject({
        uid: owner.loginName,
        ava: { displayName: ["ada ada"], email: [owner.loginName] },
        relay_state: "unused",
      })
      expect(peer.log()).not.toContain("Traceback")
    } finally {
      await context.close()
    }
  })

  const format = (name: string, version = "2.0") =>
    `urn:oasis:names:tc:SAML:${version}:nameid-format:${name}`
  const passwords = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport"

  test.each([
    ["allow_unsolicited and a persistent name", { name_id_format: format("persistent") }],
    ["an email address as the name", { name_id_format: format("emailAddress", "1.1") }],
    [
      "a requested context and an unspecified name",
      {
        name_id_format: format("unspecified", "1.1"),
        requested_authn_context: { authn_context_class_ref: [passwords], comparison: "exact" },
      },
    ],
    ["signed responses", { want_response_signed: true, want_assertions_signed: true }],
  ] as const)("signs a user in with %s, whichever side starts", async (name, own) => {
    await peer?.stop()
    const metadata = `${service.url}/saml/v2/metadata`
    peer = await startPySaml2(metadata, { ...own, allow_unsolicited: true })
    await register(`With ${name}`)
    const context = await browser.newContext({ locale: "en" })
    const page = await openSignedIn(context, `${service.url}/ui/console/applications`)
    page.setDefaultTimeout(20_000)
    try {
      const told = await signedIn(page)
      expect(told).toMatchObject({ uid: owner.loginName, relay_state: "unused" })
      if ("name_id_format" in own) expect(told.format).toBe(own.name_id_format)
      const query = new URLSearchParams({ providerId: peer.entityId, target: "begun here" })
      await page.goto(`${service.url}/saml/v2/SSO?${query}`)
      await page.waitForURL(/authn_response$/)
      const begun = JSON.parse(await page.locator("body").innerText())
      expect(begun).toMatchObject({ uid: owner.loginName, relay_state: "begun here" })
    } finally {
      await context.close()
    }
  })

  async function register(name: string) {
    const organizationId = (await service.get("ListOrganizations")).result[0].id
    const { projectId } = await service.get("CreateProject", { organizationId, name })
    const metadataXml = Buffer.from(peer.metadata).toString("base64")
    const attributes = { names: "SAML_ATTRIBUTE_NAMES_OID" }
    const samlConfiguration = { metadataXml }
    const created = { projectId, name, samlConfiguration }
    const { applicationId } = await service.get("CreateApplication", created)
    await service.get("UpdateApplication", {
      applicationId,
      projectId,
      samlConfiguration: { attributes },
    })
  }

  async function create(page: Page, name: string) {
    await page.locator('[name="name"]').waitFor()
    const project = page.locator('[name="projectId"]')
    if (await project.isVisible()) await project.selectOption("")
    await page.locator('[name="projectName"]').fill(`Project of ${name}`)
    await page.getByLabel("SAML application").check()
    await page.locator('[name="name"]').fill(name)
    await page.locator('[name="metadata"]').fill(peer.metadata)
    await shown(page, "create")
    await page.getByRole("button", { name: "Create application" }).click()
    await page.getByText("Application created.").waitFor()
    await shown(page, "created")
  }

  async function acceptProposal(page: Page) {
    await page.getByText("Requested in its metadata").waitFor()
    await page.getByRole("button", { name: "Edit: Assertions" }).click()
    await page.getByRole("button", { name: "Add requested attributes" }).click()
    const lines = page.locator('[name="mappings"]')
    expect(await lines.inputValue()).toBe(
      [
        "urn:oid:0.9.2342.19200300.100.1.1 = userName",
        "urn:oid:2.16.840.1.113730.3.1.241 = displayName",
        "urn:oid:1.2.840.113549.1.9.1.1 = email",
      ].join("\n"),
    )
    await shown(page, "proposal")
    await page.locator('form:has([name="mappings"]) button[type="submit"]').click()
    await lines.waitFor({ state: "detached" })
    await shown(page, "saved")
  }

  /** The attributes that Synapse receives about the signed-in user. */
  async function signedIn(page: Page) {
    await page.goto(peer.login)
    await page.waitForURL(/authn_response$/)
    return JSON.parse(await page.locator("body").innerText())
  }

  async function applicationOf(name: string): Promise<string> {
    const { applications } = await service.get("ListApplications", {})
    const found = applications.find((each: { name: string }) => each.name === name)
    return `${service.url}/ui/console/applications/${found.applicationId}`
  }

  /**
   * Requires that the page is no wider than its window; with LOOK_AT, saves a screenshot in that
   * directory.
   */
  async function shown(page: Page, name: string) {
    const beyond = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    )
    expect(beyond, name).toBe(0)
    const folder = process.env.LOOK_AT
    const size = page.viewportSize()?.width
    if (folder) await page.screenshot({ path: `${folder}/${name}-${size}.png`, fullPage: true })
  }
})
