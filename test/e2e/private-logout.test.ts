import { decodeJwt } from "jose"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { owner } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import { until } from "../support/wait.ts"

describe.runIf(needs("chromium"))("an application on the same machine as the service", () => {
  let service: Service
  let application: ReturnType<typeof Bun.serve>
  let browser: Browser
  let page: Page
  let client = { clientId: "", clientSecret: "", applicationId: "" }
  let answers = 200
  const notices: string[] = []
  const origin = () => `http://127.0.0.1:${application.port}`

  beforeAll(async () => {
    service = await openService()
    application = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        if (request.method === "GET") return new Response("welcome")
        notices.push(new URLSearchParams(await request.text()).get("logout_token") ?? "")
        return new Response(null, { status: answers })
      },
    })
    const organizationId = (await service.get("ListOrganizations")).result[0].id
    const { projectId } = await service.get("CreateProject", { organizationId, name: "Home" })
    const made = await service.get("CreateApplication", {
      projectId,
      name: "Photos",
      oidc: {
        redirectUris: [`${origin()}/callback`],
        responseTypes: ["OIDC_RESPONSE_TYPE_CODE"],
        authMethodType: "OIDC_AUTH_METHOD_TYPE_BASIC",
      },
    })
    client = { ...(made.oidcConfiguration ?? made.oidc), applicationId: made.applicationId }
    browser = await openBrowser()
    page = await (await browser.newContext({ locale: "en" })).newPage()
    page.setDefaultTimeout(60_000)
    await page.goto(`${service.url}/ui/console/applications/${client.applicationId}`)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.getByRole("heading", { name: "Photos" }).waitFor()
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
    await application?.stop(true)
  })

  const section = () =>
    page.locator("section.section").filter({ has: page.getByRole("heading", { name: "Logout" }) })

  const save = () => section().getByRole("button", { name: "Save" }).click()

  /** Signs in to the application, and signs out again in the same browser. */
  async function comeAndGo(): Promise<{ readonly sid: string }> {
    const visitor = await (await browser.newContext()).newPage()
    const query = new URLSearchParams({
      client_id: client.clientId,
      redirect_uri: `${origin()}/callback`,
      response_type: "code",
      scope: "openid",
    })
    await visitor.goto(`${service.url}/oauth/v2/authorize?${query}`)
    await visitor.fill('[name="loginName"]', owner.loginName)
    await visitor.click('button[type="submit"]')
    await visitor.fill('[name="password"]', owner.password)
    await visitor.click('button[type="submit"]')
    await visitor.getByText("welcome").waitFor()
    const code = new URL(visitor.url()).searchParams.get("code") ?? ""
    const answer = await fetch(`${service.url}/oauth/v2/token`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${client.clientId}:${client.clientSecret}`)}` },
      body: new URLSearchParams({
        grant_type: "authorization_code",
        code,
        redirect_uri: `${origin()}/callback`,
      }),
    })
    const { id_token } = await answer.json()
    await visitor.goto(`${service.url}/oidc/v1/endsession?id_token_hint=${id_token}`)
    await visitor.getByText("You are signed out").waitFor()
    await visitor.context().close()
    return { sid: String(decodeJwt(id_token).sid) }
  }

  test("can't be this service itself", async () => {
    await section().getByRole("button", { name: /^Edit/ }).click()
    await page.fill('[name="back"]', `${service.url.replace("localhost", "127.0.0.1")}/x`)
    await save()
    await section().getByText("Nothing can be sent to this address").waitFor()
  })

  test("is notified once an administrator has allowed its address", async () => {
    await page.fill('[name="back"]', `${origin()}/out`)
    await save()
    await section().getByText("This address is in a private network").waitFor()
    await section().getByLabel("Allow this address in a private network").check()
    await save()
    await section().getByText(`Allowed for ${origin()}`).waitFor()
    const { sid } = await comeAndGo()
    await until(() => notices.length > 0, { what: "a notice" })
    expect(notices.map((token) => decodeJwt(token).sid)).toEqual([sid])
  })

  test("must be allowed again at another port", async () => {
    await section().getByRole("button", { name: /^Edit/ }).click()
    await page.fill('[name="back"]', `http://127.0.0.1:${(application.port ?? 0) + 1}/out`)
    expect(await section().getByLabel("Allow this address").isChecked()).toBe(false)
    await save()
    await section().getByText("This address is in a private network").waitFor()
    await section().getByRole("button", { name: "Cancel" }).click()
  })

  test("is shown with the notifications that it has not received", async () => {
    answers = 503
    await comeAndGo()
    await until(
      async () => {
        await page.reload()
        await section().getByRole("heading").first().waitFor()
        return await section().getByText("1 logout notification").isVisible()
      },
      { what: "the failure on the page", intervalMs: 500 },
    )
    await section().getByText("the response had the status 503").waitFor()
    await section().getByText("Next attempt").waitFor()
  })
})
