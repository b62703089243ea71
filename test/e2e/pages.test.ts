// Requirements for every page: it is accessible, loads quickly, and requests nothing twice.
import { readFileSync } from "node:fs"
import type { Browser, Page, Request } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { instancePages } from "../../ui/console/app/destinations.ts"
import { renderPage } from "../../ui/login/index.ts"
import { openService, type Service } from "../acceptance/service.ts"
import { findViolations } from "../support/axe.ts"
import { openBrowser, waitUntilIdle } from "../support/browser.ts"
import {
  consoleRoutes,
  createConsoleResources,
  fillVariables,
  longResourceNames,
  openSignedIn,
} from "../support/console-pages.ts"
import { beginsAtTop, findUnreachable } from "../support/keyboard.ts"
import { owner } from "../support/latchkey.ts"
import { loginSamples } from "../support/login-sample.tsx"
import { needs } from "../support/prerequisite.ts"
import { navigateTo } from "../support/press-controls.ts"

describe.runIf(needs("chromium"))("every page", () => {
  let service: Service
  let browser: Browser
  let page: Page
  const things: Record<string, string> = {}

  beforeAll(async () => {
    service = await openService()
    Object.assign(things, await createConsoleResources(service, longResourceNames))
    const { result } = await service.get("ListUsers")
    const { userId } = result.find(({ username }: any) => username === owner.loginName)
    const profile = {
      givenName: longResourceNames.person,
      familyName: "Lovelace",
      displayName: longResourceNames.person,
    }
    await service.get("UpdateUser", { userId, human: { profile } })
    browser = await openBrowser()
    const context = await browser.newContext({ locale: "en", bypassCSP: true })
    page = await context.newPage()
    page.setDefaultTimeout(60_000)
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  const flaws = (on = page) => findViolations(on)

  test("of the sign-in is served as checked below", async () => {
    await page.goto(`${service.url}/ui/console`)
    await page.locator('[name="loginName"]').waitFor()
    expect(await flaws()).toEqual([])
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.locator("main.content h1").waitFor()
  })

  /** Each language in one view; `scripts/looks.ts` covers the other views, which takes longer. */
  const spoken = [
    ["en", { width: 1280, scheme: "light" }],
    ["de", { width: 390, scheme: "dark" }],
  ] as const

  test.each(spoken)(
    "of the sign-in, in %s, is accessible by keyboard alone",
    async (language, view) => {
      const context = await browser.newContext({ locale: language, bypassCSP: true })
      const on = await context.newPage()
      await on.goto(`${service.url}/ui/login/loginname`)
      const found: string[] = []
      for (const [name, sample] of Object.entries(
        loginSamples(language, longResourceNames.person),
      )) {
        // These continue automatically, or are one page with different texts.
        if (/^(formPost|signingOut|error\.(?!unexpected).*)$/.test(name)) continue
        const html = JSON.stringify(renderPage(sample))
        await on.evaluate(`{
          const shown = new DOMParser().parseFromString(${html}, "text/html")
          document.title = shown.title
          document.body.replaceWith(shown.body)
        }`)
        const against = [
          ...(await findViolations(on, { views: [view] })),
          ...(await findUnreachable(on)),
        ]
        found.push(...against.map((flaw) => `${name}: ${flaw}`))
      }
      await context.close()
      expect(found).toEqual([])
    },
  )

  const authorizePath = (changes: Readonly<Record<string, string>>) => {
    const redirect_uri = "https://app.example.com/callback"
    const asked = { response_type: "code", scope: "openid email", redirect_uri }
    const whose = { client_id: things.clientId ?? "" }
    return `/oauth/v2/authorize?${new URLSearchParams({ ...asked, ...whose, ...changes })}`
  }

  test("of one rejected request is accessible", async () => {
    await page.goto(`${service.url}${authorizePath({ redirect_uri: "https://elsewhere.example" })}`)
    const number = page.locator("code").filter({ hasText: /^\d{18}$/ })
    const requestId = await number.innerText()
    expect(await flaws()).toEqual([])
    await page.goto(`${service.url}/ui/console/refused-requests/${requestId}`)
    await page.getByText("https://elsewhere.example").first().waitFor()
    expect(await flaws()).toEqual([])
  })

  test("is in the list of checked pages", () => {
    const router = readFileSync("ui/console/app/router.tsx", "utf8")
    const routes = [...router.matchAll(/^ *(?:path: |createPageRoute\(\s*)"(\/[^"]+)"/gm)].map(
      ([, path]) => path?.replace(/\$\w+/g, "$"),
    )
    expect(routes.length).toBeGreaterThan(25)
    const listed = consoleRoutes.map(([path]) =>
      path.replace(/^\/ui(\/console)?/, "").replace(/\$\w+/g, "$"),
    )
    expect(routes.filter((path) => !listed.includes(path ?? ""))).toEqual([])
  })

  type PageCall = { readonly what: string; readonly request: Request }

  /** The minimum interval of live updates, in ms. */
  const liveMs = 2000
  const livePath = /\/List(Messages|Nodes|ScriptRuns|TargetCalls)$/

  /**
   * Opens a page; returns its requests for files and data, and a function that ends the recording.
   */
  async function opened(path: string, heading: string) {
    const asked: PageCall[] = []
    const listen = (request: Request) => {
      // The browser requests the icon at any time.
      if (/\.svg$/.test(request.url())) return
      const { "x-core-orgid": within = "" } = request.headers()
      const what = `${request.method()} ${request.url()} ${within} ${request.postData() ?? ""}`
      asked.push({ what, request })
    }
    page.on("request", listen)
    await page.goto(service.url + fillVariables(path, things))
    await page.getByRole("heading", { name: fillVariables(heading, things), level: 1 }).waitFor()
    await waitUntilIdle(page)
    return { asked, end: () => page.off("request", listen) }
  }

  /** The browser's own timestamp, so that a late event in the test changes nothing. */
  const begun = ({ request }: PageCall) => request.timing().startTime

  /** Requests that were repeated, except live updates at their interval. */
  const repeated = (requested: readonly PageCall[]) =>
    requested.filter((one, index) => {
      const before = requested.slice(0, index).findLast(({ what }) => what === one.what)
      if (!before) return false
      // A request without a response has no start time either.
      const isInTime = begun(one) <= 0 || begun(one) - begun(before) > liveMs / 2
      return !(livePath.test(one.request.url()) && isInTime)
    })

  test("of the console is accessible in German", async () => {
    const context = await browser.newContext({ locale: "de", bypassCSP: true })
    const german = await openSignedIn(context, `${service.url}/ui/console/projects`)
    const found: string[] = []
    // German texts are longer; the colors are those of English, which the test below checks.
    const views = [
      { width: 1280, scheme: "dark" },
      { width: 390, scheme: "light" },
    ] as const
    for (const [path] of consoleRoutes) {
      await navigateTo(german, fillVariables(path, things))
      const against = await findViolations(german, { views })
      found.push(...against.map((flaw) => `${path}: ${flaw}`))
    }
    await context.close()
    expect(found).toEqual([])
  }, 240_000)

  const ofInstance = new Set(instancePages.map((location) => `/ui/console/${location}`))

  test.each(consoleRoutes)(
    "%s is accessible, requests nothing twice, and shows whether it belongs to the instance",
    async (path, heading) => {
      const { asked, end } = await opened(path, heading)
      expect(await page.evaluate(beginsAtTop)).toBe(true)
      const crumbs = page.locator(".crumbs li")
      if (ofInstance.has(path)) expect(await crumbs.first().innerText()).toBe("Instance")
      expect(await flaws()).toEqual([])
      // Requests that were sent while axe ran.
      end()
      expect(repeated(asked).map(({ what }) => what)).toEqual([])
      expect(asked.filter(({ what }) => what.includes("/core.")).length).toBeGreaterThan(0)
    },
  )
})
