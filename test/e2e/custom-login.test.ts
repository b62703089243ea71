import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { connect, openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { customLoginServer } from "../support/custom-login-server.ts"
import { freePort } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import { type RelyingParty, startRelyingParty } from "../support/relying-party.ts"

const password = "Correct-Horse-7"

describe.runIf(needs("chromium"))("a user at a custom login page", () => {
  let service: Service
  let browser: Browser
  let page: Page
  let party: RelyingParty
  let theirs: Awaited<ReturnType<typeof customLoginServer>>
  let userId = ""

  beforeAll(async () => {
    service = await openService()
    party = await startRelyingParty(await freePort())
    const [organizationId, token] = await openPage()
    const ask = (name: string, request: object) => connect(service.url, name, { request, token })
    theirs = await customLoginServer(await freePort(), ask)
    userId = await addPerson(organizationId)
    const { clientId, clientSecret } = await addApplication(organizationId)
    await party.register(service.url, clientId, clientSecret)
    browser = await openBrowser()
    page = await browser.newPage()
    page.setDefaultTimeout(60_000)
  })
  afterAll(async () => {
    await browser?.close()
    party?.close()
    theirs?.close()
    await service?.close()
  })

  /** The login page's service account with its role and a token. */
  async function openPage(): Promise<readonly [organizationId: string, token: string]> {
    const { result } = await service.get("ListOrganizations", {})
    const organizationId = result[0].id
    const machine = { name: "Their page" }
    const made = { organizationId, username: "their-page", machine }
    const { id } = await service.get("CreateUser", made)
    const seat = { userId: id, resource: { instance: true }, roles: ["IAM_LOGIN_CLIENT"] }
    await service.get("CreateAdministrator", seat)
    const expirationDate = new Date(Date.now() + 86_400_000).toISOString()
    const { token } = await service.get("AddPersonalAccessToken", { userId: id, expirationDate })
    return [organizationId, token]
  }

  async function addPerson(organizationId: string): Promise<string> {
    const human = {
      profile: { givenName: "Grace", familyName: "Hopper" },
      email: { email: "grace@example.com", isVerified: true },
      password: { password },
    }
    return (await service.get("CreateUser", { organizationId, username: "grace", human })).id
  }

  async function addApplication(organizationId: string) {
    const { projectId } = await service.get("CreateProject", { organizationId, name: "Intranet" })
    const oidc = {
      redirectUris: [party.redirectUri],
      loginVersion: { loginV2: { baseUri: theirs.url } },
    }
    const wanted = { projectId, name: "Wiki", oidcConfiguration: oidc }
    const { oidcConfiguration } = await service.get("CreateApplication", wanted)
    return oidcConfiguration
  }

  const fill = async (plain: string) => {
    await page.getByLabel("Name").fill("grace")
    await page.getByLabel("Password").fill(plain)
    await page.getByLabel("Password").press("Enter")
  }

  test("is redirected there, and signs in after a wrong and the right password", async () => {
    const arrived = party.next()
    await page.goto(party.url)
    await page.getByRole("heading", { name: "Their page" }).waitFor()
    expect(page.url()).toMatch(/\/login\?authRequest=V2_\d+$/)
    await fill("Wrong-Horse-8")
    await page.getByText("Name or password is wrong.").waitFor()
    await fill(password)
    await page.getByText(`hello ${userId}`).waitFor()
    const { claims, userinfo } = await arrived
    expect(claims).toMatchObject({ sub: userId, amr: ["pwd"] })
    expect(userinfo).toMatchObject({ email: "grace@example.com" })
  })

  test("is not asked the next time", async () => {
    const arrived = party.next()
    await page.goto(party.url)
    await page.getByText(`hello ${userId}`).waitFor()
    expect((await arrived).claims.sub).toBe(userId)
  })

  test("is asked again after the session was terminated", async () => {
    const queries = [{ userIdQuery: { id: userId } }]
    const { sessions } = await service.get("ListSessions", { queries })
    expect(sessions[0].userAgent).toMatchObject({ ip: "203.0.113.7" })
    for (const { id: sessionId } of sessions) await service.get("DeleteSession", { sessionId })
    await page.goto(party.url)
    await page.getByRole("heading", { name: "Their page" }).waitFor()
    const arrived = party.next()
    await fill(password)
    await page.getByText(`hello ${userId}`).waitFor()
    expect((await arrived).claims.sub).toBe(userId)
  })
})
