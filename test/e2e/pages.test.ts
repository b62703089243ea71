// What holds for every page: anybody can use it, it comes quickly, and asks for nothing twice.
import { readFileSync } from "node:fs"
import type { Browser, Page, Request } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, personOf, type Service } from "../acceptance/service.ts"
import { flawsOf } from "../support/axe.ts"
import { openBrowser } from "../support/browser.ts"
import { consolePlaces, filled, furnished, longNamed } from "../support/console-place.ts"
import { owner } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

describe.runIf(needs("chromium"))("every page", () => {
  let service: Service
  let browser: Browser
  let page: Page
  const things: Record<string, string> = {}

  beforeAll(async () => {
    service = await openService()
    Object.assign(things, await furnished(service, longNamed))
    browser = await openBrowser()
    const context = await browser.newContext({ locale: "en", bypassCSP: true })
    page = await context.newPage()
    page.setDefaultTimeout(15_000)
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  const flaws = (on = page) => flawsOf(on)

  test("of the sign-in is usable by anybody", async () => {
    await page.goto(`${service.url}/ui/console`)
    await page.locator('[name="loginName"]').waitFor()
    expect(await flaws()).toEqual([])
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.locator('[name="password"]').waitFor()
    expect(await flaws()).toEqual([])
    await page.fill('[name="password"]', "wrong")
    await page.click('button[type="submit"]')
    await page.getByRole("alert").first().waitFor()
    expect(await flaws()).toEqual([])
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.locator("main.content h1").waitFor()
    const paths = [
      ...["/ui/login/signedin", "/ui/login/device", "/setup", "/nowhere"],
      ...["/ui/login/password/forgot", "/ui/login/password/forgot/sent"],
      ...["/ui/login/password/set?userId=1", "/ui/login/password/done"],
      ...["/ui/login/verify?userId=1", "/ui/login/verified?of=email"],
    ]
    for (const path of paths) {
      await page.goto(`${service.url}${path}`)
      expect([path, ...(await flaws())]).toEqual([path])
    }
  }, 60_000)

  const authorizePath = (changes: Readonly<Record<string, string>>) => {
    const redirect_uri = "https://app.example.com/callback"
    const asked = { response_type: "code", scope: "openid email", redirect_uri }
    const whose = { client_id: things.clientId ?? "" }
    return `/oauth/v2/authorize?${new URLSearchParams({ ...asked, ...whose, ...changes })}`
  }

  test("of the question what an application may learn is usable by anybody", async () => {
    await page.goto(`${service.url}${authorizePath({ prompt: "consent" })}`)
    await page.getByRole("heading", { name: filled("Let $application in?", things) }).waitFor()
    expect(await flaws()).toEqual([])
  })

  test("of an invitation is usable by anybody", async () => {
    const { get } = service
    const { userId, organizationId } = things
    const { inviteCode } = await get("CreateInviteCode", { userId, returnCode: {} })
    const invited = await (await browser.newContext({ locale: "en", bypassCSP: true })).newPage()
    const search = `userId=${userId}&organization=${organizationId}&invite=true`
    await invited.goto(`${service.url}/ui/login/verify?${search}#${inviteCode}`)
    await invited.getByRole("heading", { name: "You have been invited" }).waitFor()
    expect(await flaws(invited)).toEqual([])
    await invited.getByRole("button", { name: "Continue" }).click()
    await invited.getByRole("heading", { name: "Choose your password" }).waitFor()
    expect(await flaws(invited)).toEqual([])
    await invited.context().close()
  })

  test("of a password that must be changed is usable by anybody", async () => {
    const { organizationId } = things
    const password = { password: "Correct-horse-8-battery", changeRequired: true }
    const human = { ...personOf("linus"), password }
    await service.get("CreateUser", { organizationId, username: "linus", human })
    const linus = await (await browser.newContext({ locale: "en", bypassCSP: true })).newPage()
    await linus.goto(`${service.url}/ui/console`)
    await linus.fill('[name="loginName"]', "linus")
    await linus.click('button[type="submit"]')
    await linus.fill('[name="password"]', password.password)
    await linus.click('button[type="submit"]')
    await linus.getByRole("heading", { name: "Choose a new password" }).waitFor()
    expect(await flaws(linus)).toEqual([])
    await linus.context().close()
  })

  test("of one refused request is usable by anybody", async () => {
    await page.goto(`${service.url}${authorizePath({ redirect_uri: "https://elsewhere.example" })}`)
    const number = page.locator("code").filter({ hasText: /^\d{18}$/ })
    const requestId = await number.innerText()
    expect(await flaws()).toEqual([])
    await page.goto(`${service.url}/ui/console/refused-requests/${requestId}`)
    await page.getByText("https://elsewhere.example").first().waitFor()
    expect(await flaws()).toEqual([])
  })

  test("stands in the list of those that are looked at here", () => {
    const router = readFileSync("ui/console/shell/router.tsx", "utf8")
    const routes = [...router.matchAll(/^ *(?:path: |page\(\s*)"(\/[^"]+)"/gm)].map(([, path]) =>
      path?.replace(/\$\w+/g, "$"),
    )
    expect(routes.length).toBeGreaterThan(25)
    const listed = consolePlaces.map(([path]) =>
      path.replace(/^\/ui(\/console)?/, "").replace(/\$\w+/g, "$"),
    )
    expect(routes.filter((path) => !listed.includes(path ?? ""))).toEqual([])
  })

  /** Everything that a page asks for while it comes, files and readings alike. */
  async function askedOn(path: string, heading: string): Promise<readonly string[]> {
    const asked: string[] = []
    const listen = (request: Request) => {
      // The icon is asked for by the browser, whenever it likes.
      if (/\.svg$/.test(request.url())) return
      const { "x-core-orgid": within = "" } = request.headers()
      asked.push(`${request.method()} ${request.url()} ${within} ${request.postData() ?? ""}`)
    }
    page.on("request", listen)
    await page.goto(service.url + filled(path, things))
    await page.getByRole("heading", { name: filled(heading, things), level: 1 }).waitFor()
    await page.waitForLoadState("networkidle")
    page.off("request", listen)
    return asked
  }

  test.each(consolePlaces)(
    "%s is usable by anybody, and asks for nothing twice",
    async (path, heading) => {
      const asked = await askedOn(path, heading)
      expect(asked.filter((one, index) => asked.indexOf(one) !== index)).toEqual([])
      expect(asked.filter((one) => one.includes("/core.")).length).toBeGreaterThan(0)
      expect(await flaws()).toEqual([])
    },
  )
})
