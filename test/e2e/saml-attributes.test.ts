// An administrator maps the attributes that a SAML application's metadata requests.
import { SAML } from "@node-saml/node-saml"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { openSignedIn } from "../support/console-pages.ts"
import { needs } from "../support/prerequisite.ts"
import { createSynapseMetadata } from "../support/saml-metadata.ts"

const baseUrl = "https://synapse.example.com/saml2"

describe.runIf(needs("chromium"))("the assertions of a SAML application", () => {
  let service: Service
  let browser: Browser
  let page: Page
  let applicationId = ""

  beforeAll(async () => {
    service = await openService()
    const { result } = await service.get("ListOrganizations")
    const organizationId = result[0].id
    const { projectId } = await service.get("CreateProject", { organizationId, name: "Chat" })
    const metadataXml = Buffer.from(createSynapseMetadata(baseUrl)).toString("base64")
    const created = { projectId, name: "Synapse", samlConfiguration: { metadataXml } }
    applicationId = (await service.get("CreateApplication", created)).applicationId
    browser = await openBrowser()
    const context = await browser.newContext({ locale: "en" })
    page = await openSignedIn(context, `${service.url}/ui/console/projects`)
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  /** The assertion as node-saml parses it, in the same browser. */
  async function assertion() {
    const idpCert = await (await fetch(`${service.url}/saml/v2/certificate`)).text()
    const issuer = `${baseUrl}/metadata.xml`
    const sp = new SAML({
      callbackUrl: `${baseUrl}/authn_response`,
      entryPoint: `${service.url}/saml/v2/SSO`,
      issuer,
      audience: issuer,
      idpCert,
      identifierFormat: null,
      wantAuthnResponseSigned: true,
      wantAssertionsSigned: true,
    })
    const posted = page.waitForRequest(`${baseUrl}/authn_response`)
    await page.route(`${baseUrl}/**`, (route) => route.fulfill({ body: "at the application" }))
    await page.goto(await sp.getAuthorizeUrlAsync("", "", {}))
    const form = new URLSearchParams((await posted).postData() ?? "")
    const { profile } = await sp.validatePostResponseAsync(Object.fromEntries(form))
    return profile?.attributes
  }

  test("contain the requested attributes after the form is saved", async () => {
    await page.goto(`${service.url}/ui/console/applications/${applicationId}`)
    await page.getByText("uid, mail, givenName, urn:x-unknown").waitFor()
    await page.getByRole("button", { name: "Edit: Assertions" }).click()
    await page.getByRole("button", { name: "Add requested attributes" }).click()
    const lines = page.locator('[name="mappings"]')
    const save = page.locator('form:has([name="mappings"]) button[type="submit"]')
    expect(await lines.inputValue()).toBe(
      [
        "uid = userName",
        "urn:oid:0.9.2342.19200300.100.1.3 = email",
        "urn:oid:2.5.4.42 = firstName",
      ].join("\n"),
    )
    expect(await page.getByRole("button", { name: "Add requested attributes" }).count()).toBe(0)
    await lines.fill(`${await lines.inputValue()}\ntier = "gold"\nurn:b (basic) = metadata badge`)
    await page.locator('[name="roles"]').fill("groups")
    await page.getByLabel("Enforce the requested sign-in method").check()
    await save.click()
    await page.getByText("each mapping requires one of").waitFor()
    await lines.fill(
      (await lines.inputValue()).replace(
        "urn:b (basic) = metadata badge",
        "urn:b = metadata badge (basic)",
      ),
    )
    await save.click()
    await lines.waitFor({ state: "detached" })
    const { application } = await service.get("GetApplication", { applicationId })
    const { samlConfiguration } = application
    expect(samlConfiguration.enforceRequestedContext).toBe(true)
    expect(samlConfiguration.attributes).toEqual({
      names: "SAML_ATTRIBUTE_NAMES_SHORT",
      rolesAttribute: "groups",
      mappings: [
        {
          name: "uid",
          format: "SAML_ATTRIBUTE_FORMAT_BASIC",
          userField: "SAML_USER_FIELD_USER_NAME",
        },
        {
          name: "urn:oid:0.9.2342.19200300.100.1.3",
          format: "SAML_ATTRIBUTE_FORMAT_URI",
          userField: "SAML_USER_FIELD_EMAIL",
        },
        {
          name: "urn:oid:2.5.4.42",
          format: "SAML_ATTRIBUTE_FORMAT_URI",
          userField: "SAML_USER_FIELD_FIRST_NAME",
        },
        { name: "tier", format: "SAML_ATTRIBUTE_FORMAT_BASIC", text: "gold" },
        { name: "urn:b", format: "SAML_ATTRIBUTE_FORMAT_BASIC", metadataKey: "badge" },
      ],
    })
    expect(await assertion()).toMatchObject({ uid: "ada@example.com", tier: "gold" })
  })
})
