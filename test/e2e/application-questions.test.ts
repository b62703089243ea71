// A new administrator registers an application with the form alone, previews its claims, and signs
// in to it with a client that reads the ID token only.
import * as openid from "openid-client"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { openSignedIn } from "../support/console-pages.ts"
import { openHttpBrowser } from "../support/http-browser.ts"
import { owner } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

const redirectUri = "https://wiki.example.com/callback"
const scope = "openid profile email"

describe.runIf(needs("chromium"))(
  "an administrator who registers an application with the form",
  () => {
    let service: Service
    let browser: Browser
    let page: Page
    let registered = { clientId: "", clientSecret: "" }
    let shown: Readonly<Record<string, unknown>> = {}

    beforeAll(async () => {
      service = await openService()
      browser = await openBrowser()
      const context = await browser.newContext({ locale: "en" })
      page = await openSignedIn(context, `${service.url}/ui/console/`)
      page.setDefaultTimeout(30_000)
    })
    afterAll(async () => {
      await browser?.close()
      await service?.close()
    })

    const answer = (question: string, name: string) =>
      page.getByRole("group", { name: question }).getByRole("radio", { name })

    test("answers one of two plain questions", async () => {
      await page.getByRole("link", { name: "Applications" }).first().click()
      await page.getByRole("link", { name: "Create application" }).first().click()
      await page.getByLabel("Project name").fill("Intranet")
      await page.getByLabel("Name", { exact: true }).fill("Wiki")
      await page.getByLabel("Redirect URIs", { exact: true }).fill(redirectUri)
      const profile = answer("Does the application read the profile from the ID token only?", "Yes")
      expect(await profile.isChecked()).toBe(true)
      expect(await answer("Does the application need groups or roles?", "No").isChecked()).toBe(
        true,
      )
      await answer("Does the application need groups or roles?", "Yes, in the claim groups").check()
      await page.getByRole("button", { name: "Create application" }).click()
      await page.getByText("Application created").waitFor()
      const clientSecret = await page.locator(".secret code").innerText()
      await page.getByRole("link", { name: "Open application" }).click()
      const connect = page.locator("section.section", { hasText: "Connect" }).first()
      const clientId = await connect
        .getByText(/^\d{18}$/)
        .first()
        .innerText()
      registered = { clientId, clientSecret }
    })

    test("sees in a test sign-in the application's claims, and what is missing", async () => {
      const part = page.locator("section.section", {
        has: page.getByRole("heading", { name: "Test sign-in" }),
      })
      expect(await part.getByLabel("Scope").inputValue()).toBe(`${scope} groups`)
      await part.getByLabel("Scope").fill(scope)
      await part.getByRole("button", { name: "Test sign-in" }).click()
      await page.getByText("The sign-in works").waitFor()
      const claim = (name: string) => page.locator(`dt:text-is("${name}") + dd`)
      await claim("Name").getByText("In the ID token and at userinfo").waitFor()
      await claim("Groups").getByText("The account has no role in the project").waitFor()
      await claim("Roles").getByText("Let the application request the scope roles").waitFor()
      await page.getByText("Access token: opaque").waitFor()
      shown = JSON.parse(await page.locator("pre.snippet").first().innerText())
      expect(shown).toMatchObject({ aud: registered.clientId, email: owner.email, groups: [] })
      // Nothing of it remains, in the URL or in the browser's storage.
      expect(page.url()).not.toMatch(/token|code=/)
      await page.getByRole("link", { name: "Back to the application" }).click()
      await page.getByRole("heading", { name: "Wiki", level: 1 }).waitFor()
    })

    test("signs in with openid-client, which gets the claims that the test showed", async () => {
      const { clientId, clientSecret } = registered
      const auth = openid.ClientSecretBasic(clientSecret)
      const execute = [openid.allowInsecureRequests]
      const config = await openid.discovery(new URL(service.url), clientId, undefined, auth, {
        execute,
      })
      const pkceCodeVerifier = openid.randomPKCECodeVerifier()
      const asked = openid.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope,
        code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: "S256",
      })
      const visitor = openHttpBrowser()
      const { loginName, password } = owner
      const named = await visitor.post(await visitor.get(asked.href), { loginName })
      const end = new URL((await visitor.post(named, { password })).url)
      const tokens = await openid.authorizationCodeGrant(config, end, { pkceCodeVerifier })
      const claims = tokens.claims() ?? {}
      expect(claims).not.toHaveProperty("client_id")
      const known = ["sub", "aud", "azp", "name", "email", "email_verified", "groups", "amr"]
      for (const name of known) expect(claims, name).toHaveProperty(name, shown[name])
    })
  },
)
