// SimpleSAMLphp as our identity provider, and as our application.
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { owner } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import { person, type SimpleSamlPhp, startSimpleSamlPhp } from "../support/simplesamlphp.ts"

const present = needs("chromium") !== undefined && needs("simplesamlphp") !== undefined

describe.runIf(present)("SimpleSAMLphp", () => {
  let service: Service
  let peer: SimpleSamlPhp
  let browser: Browser
  let application = { applicationId: "", projectId: "" }

  beforeAll(async () => {
    service = await openService(["--outbound-allow", "127.0.0.1,::1,localhost"])
    const own = `${service.url}/saml/v2/metadata`
    peer = await startSimpleSamlPhp(own)
    browser = await openBrowser()
    const admin = "core.admin.v1.AdminService"
    const { id: idpId } = await service.get(`${admin}/AddSAMLProvider`, {
      name: "Simple",
      metadataUrl: peer.idpMetadata,
      binding: "SAML_BINDING_REDIRECT",
      withSignedRequest: true,
      nameIdFormat: "SAML_NAME_ID_FORMAT_PERSISTENT",
      federatedLogoutEnabled: true,
      providerOptions: {
        isLinkingAllowed: true,
        isCreationAllowed: true,
        isAutoCreation: true,
      },
    })
    await service.get(`${admin}/AddIDPToLoginPolicy`, { idpId })
    const textAt = async (url: string) => (await fetch(url)).text()
    peer.addPeer("provider", await textAt(own))
    peer.addPeer("consumer", await textAt(`${service.url}/idps/${idpId}/saml/metadata`))
    const { projectId } = await service.get("CreateProject", {
      organizationId: (await service.get("ListOrganizations")).result[0].id,
      name: "Intranet",
    })
    const consumer = await textAt(peer.spMetadata)
    // It encrypts assertions for the binary.
    expect(consumer).toContain('use="encryption"')
    const metadataXml = Buffer.from(consumer).toString("base64")
    const { applicationId } = await service.get("CreateApplication", {
      projectId,
      name: "Intranet",
      samlConfiguration: { metadataXml },
    })
    application = { applicationId, projectId }
  })
  afterAll(async () => {
    await browser?.close()
    await peer?.stop()
    await service?.close()
  })

  async function newPage(): Promise<Page> {
    const page = await (await browser.newContext({ locale: "en" })).newPage()
    page.setDefaultTimeout(60_000)
    return page
  }

  const heading = (page: Page, name: string) =>
    page.getByRole("heading", { name, level: 1 }).waitFor()

  async function signInThere(page: Page): Promise<void> {
    await page.goto(`${service.url}/ui/account`)
    await page.getByRole("link", { name: "Sign in with Simple" }).click()
    await page.fill('[name="username"]', person.name)
    await page.fill('[name="password"]', person.password)
    await page.press('[name="password"]', "Enter")
    await heading(page, "Profile")
  }

  async function signInHere(page: Page): Promise<void> {
    await page.goto(peer.application)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await heading(page, "Application")
  }

  test("as identity provider signs users in, and provides their profile", async () => {
    const page = await newPage()
    await signInThere(page)
    await page.getByText("nora@simple.example").first().waitFor()
    expect(await page.getByText("Nora Berg").first().isVisible()).toBe(true)
  })

  test("as identity provider is signed out by the sign-out here", async () => {
    const page = await newPage()
    await signInThere(page)
    await page.goto(`${service.url}/oidc/v1/end_session`)
    await page.locator('form button[type="submit"]').first().click()
    await page.waitForURL(/signedout/)
    await page.goto(`${service.url}/ui/account`)
    await page.getByRole("link", { name: "Sign in with Simple" }).click()
    await page.locator('[name="username"]').waitFor()
  })

  test("as application gets the signed-in user's name", async () => {
    const page = await newPage()
    await signInHere(page)
    expect(await page.locator("pre").innerText()).toContain(owner.loginName)
  })

  test("as application maps LDAP attribute names by its own table", async () => {
    const attributes = { names: "SAML_ATTRIBUTE_NAMES_OID" }
    await service.get("UpdateApplication", { ...application, samlConfiguration: { attributes } })
    const page = await newPage()
    await signInHere(page)
    const told = JSON.parse(await page.locator("pre").innerText())
    expect(told).toMatchObject({ uid: [owner.loginName], givenName: ["ada"], sn: ["ada"] })
  })

  test("as application gets the roles, each as a separate value", async () => {
    const { projectId } = application
    const organizationId = (await service.get("ListOrganizations")).result[0].id
    const { result } = await service.get("core.user.v2.UserService/ListUsers", {})
    const named = (each: { username: string }) => each.username === owner.loginName
    const { userId } = result.find(named)
    const roleKeys = ["editor", "staff"]
    for (const roleKey of roleKeys) {
      await service.get("AddProjectRole", { projectId, roleKey, displayName: roleKey })
    }
    await service.get("CreateAuthorization", { userId, projectId, organizationId, roleKeys })
    const attributes = { rolesAttribute: "urn:oid:1.3.6.1.4.1.5923.1.5.1.1" }
    await service.get("UpdateApplication", { ...application, samlConfiguration: { attributes } })
    const page = await newPage()
    await signInHere(page)
    const told = JSON.parse(await page.locator("pre").innerText())
    expect(told.isMemberOf.toSorted()).toEqual(roleKeys)
  })

  test("as application signs out of both, and returns to its own page", async () => {
    const page = await newPage()
    await signInHere(page)
    await page.goto(`${peer.application}?out=1`)
    await heading(page, "Bye")
    await page.goto(peer.application)
    await page.locator('[name="loginName"]').waitFor()
  })

  test("as application is signed out by the sign-out here", async () => {
    const page = await newPage()
    await signInHere(page)
    await page.goto(`${service.url}/oidc/v1/endsession`)
    await page.click('button[type="submit"]')
    await page.getByText("You are signed out").waitFor()
    await page.goto(peer.application)
    await page.locator('[name="loginName"]').waitFor()
  })
})
