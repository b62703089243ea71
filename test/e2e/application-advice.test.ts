// The page of an application shows what its sign-ins reveal: missing claims, and scopes that are
// not granted.
import * as openid from "openid-client"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { openSignedIn } from "../support/console-pages.ts"
import { openHttpBrowser } from "../support/http-browser.ts"
import { owner } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

const redirectUri = "https://app.example.com/callback"
const missing = "The application might not receive the name and email address"
const dropped = "The application requests scopes that it doesn't get"

describe.runIf(needs("chromium"))("an application that never reads userinfo", () => {
  let service: Service
  let browser: Browser
  let page: Page

  beforeAll(async () => {
    service = await openService()
    const { result } = await service.get("ListOrganizations")
    const { projectId } = await service.get("CreateProject", {
      organizationId: result[0].id,
      name: "Intranet",
    })
    const made = await service.get("CreateApplication", {
      projectId,
      name: "Node-RED",
      oidcConfiguration: { redirectUris: [redirectUri] },
    })
    browser = await openBrowser()
    const context = await browser.newContext({ locale: "en" })
    const path = `/ui/console/applications/${made.applicationId}`
    page = await openSignedIn(context, service.url + path)
    await page.getByRole("heading", { name: "Node-RED", level: 1 }).waitFor()
    expect(await page.getByText(missing).count()).toBe(0)
    await signIn(made.oidcConfiguration)
    await page.reload()
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  /** Signs in as the application, which reads the ID token only. */
  async function signIn({ clientId, clientSecret }: Readonly<Record<string, string>>) {
    const auth = openid.ClientSecretBasic(clientSecret)
    const execute = [openid.allowInsecureRequests]
    const url = new URL(service.url)
    const config = await openid.discovery(url, clientId ?? "", undefined, auth, { execute })
    const pkceCodeVerifier = openid.randomPKCECodeVerifier()
    const asked = openid.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: "openid profile email offline_access",
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256",
    })
    const visitor = openHttpBrowser()
    const { loginName, password } = owner
    const named = await visitor.post(await visitor.get(asked.href), { loginName })
    const end = new URL((await visitor.post(named, { password })).url)
    const tokens = await openid.authorizationCodeGrant(config, end, { pkceCodeVerifier })
    expect(tokens.claims()).not.toHaveProperty("email")
    expect(tokens.scope).toBe("openid profile email")
  }

  test("is reported to lack name and email, until the ID token has them", async () => {
    await page.getByText(missing).waitFor()
    await page.getByRole("button", { name: "Edit: Tokens" }).click()
    await page.getByText("Lifetimes, signatures and claims").click()
    await page.getByLabel("Profile in ID tokens").check()
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByText(missing).waitFor({ state: "detached" })
  })

  test("is shown the scopes that it requests and doesn't get, and their requirements", async () => {
    const advice = page.locator(".alert", { hasText: dropped })
    await advice.getByText("offline_access", { exact: true }).waitFor()
    await advice.getByText("offline_access requires the grant type “Refresh token”.").waitFor()
  })
})
