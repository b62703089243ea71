// What holds for every page: anybody can use it, it comes quickly, and asks for nothing twice.
import { readFileSync } from "node:fs"
import type { Browser, Page, Request } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { instancePages } from "../../ui/console/app/destinations.ts"
import { renderPage } from "../../ui/login/index.ts"
import { openService, type Service } from "../acceptance/service.ts"
import { flawsOf } from "../support/axe.ts"
import { atRest, openBrowser } from "../support/browser.ts"
import {
  consolePlaces,
  filled,
  furnished,
  longNamed,
  signedInAt,
} from "../support/console-place.ts"
import { beginsAtTop, missedOn } from "../support/keyboard.ts"
import { owner } from "../support/latchkey.ts"
import { loginSamples } from "../support/login-sample.tsx"
import { needs } from "../support/prerequisite.ts"
import { goWithin } from "../support/press.ts"

describe.runIf(needs("chromium"))("every page", () => {
  let service: Service
  let browser: Browser
  let page: Page
  const things: Record<string, string> = {}

  beforeAll(async () => {
    service = await openService()
    Object.assign(things, await furnished(service, longNamed))
    const { result } = await service.get("ListUsers")
    const { userId } = result.find(({ username }: any) => username === owner.loginName)
    const profile = {
      givenName: longNamed.person,
      familyName: "Lovelace",
      displayName: longNamed.person,
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

  const flaws = (on = page) => flawsOf(on)

  test("of the sign-in comes from the server as it is looked at below", async () => {
    await page.goto(`${service.url}/ui/console`)
    await page.locator('[name="loginName"]').waitFor()
    expect(await flaws()).toEqual([])
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.locator("main.content h1").waitFor()
  })

  /** Each language in a view; the other views are for `scripts/looks.ts`, which takes longer. */
  const spoken = [
    ["en", { width: 1280, scheme: "light" }],
    ["de", { width: 390, scheme: "dark" }],
  ] as const

  test.each(spoken)(
    "of the sign-in, in %s, is usable by anybody who has a keyboard alone",
    async (language, view) => {
      const context = await browser.newContext({ locale: language, bypassCSP: true })
      const on = await context.newPage()
      await on.goto(`${service.url}/ui/login/loginname`)
      const found: string[] = []
      for (const [name, sample] of Object.entries(loginSamples(language, longNamed.person))) {
        // These go on by themselves, or are one page with other words.
        if (/^(formPost|signingOut|error\.(?!unexpected).*)$/.test(name)) continue
        const html = JSON.stringify(renderPage(sample))
        await on.evaluate(`{
          const shown = new DOMParser().parseFromString(${html}, "text/html")
          document.title = shown.title
          document.body.replaceWith(shown.body)
        }`)
        const against = [...(await flawsOf(on, { views: [view] })), ...(await missedOn(on))]
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
    const router = readFileSync("ui/console/app/router.tsx", "utf8")
    const routes = [...router.matchAll(/^ *(?:path: |page\(\s*)"(\/[^"]+)"/gm)].map(([, path]) =>
      path?.replace(/\$\w+/g, "$"),
    )
    expect(routes.length).toBeGreaterThan(25)
    const listed = consolePlaces.map(([path]) =>
      path.replace(/^\/ui(\/console)?/, "").replace(/\$\w+/g, "$"),
    )
    expect(routes.filter((path) => !listed.includes(path ?? ""))).toEqual([])
  })

  type Asked = { readonly what: string; readonly request: Request }

  /** What is told anew each few seconds where it is shown, and how soon at the earliest. */
  const liveMs = 2000
  const livePath = /\/List(Messages|Nodes|ScriptRuns|TargetCalls)$/

  /** Opens a page; answers what it asks for, files and readings alike, and how to end that. */
  async function opened(path: string, heading: string) {
    const asked: Asked[] = []
    const listen = (request: Request) => {
      // The icon is asked for by the browser, whenever it likes.
      if (/\.svg$/.test(request.url())) return
      const { "x-core-orgid": within = "" } = request.headers()
      const what = `${request.method()} ${request.url()} ${within} ${request.postData() ?? ""}`
      asked.push({ what, request })
    }
    page.on("request", listen)
    await page.goto(service.url + filled(path, things))
    await page.getByRole("heading", { name: filled(heading, things), level: 1 }).waitFor()
    await atRest(page)
    return { asked, end: () => page.off("request", listen) }
  }

  /** By the clock of the browser, so that a test that hears of it late finds the same. */
  const begun = ({ request }: Asked) => request.timing().startTime

  /** What was asked for once more, but for what is live and came in its time. */
  const repeated = (asked: readonly Asked[]) =>
    asked.filter((one, index) => {
      const before = asked.slice(0, index).findLast(({ what }) => what === one.what)
      if (!before) return false
      // One that has no answer yet has no beginning either.
      const isInTime = begun(one) <= 0 || begun(one) - begun(before) > liveMs / 2
      return !(livePath.test(one.request.url()) && isInTime)
    })

  test("of the console is usable by anybody in German, too", async () => {
    const context = await browser.newContext({ locale: "de", bypassCSP: true })
    const german = await signedInAt(context, `${service.url}/ui/console/projects`)
    const found: string[] = []
    // Its words are longer; the colours are those of English, each of which is looked at below.
    const views = [
      { width: 1280, scheme: "dark" },
      { width: 390, scheme: "light" },
    ] as const
    for (const [path] of consolePlaces) {
      await goWithin(german, filled(path, things))
      const against = await flawsOf(german, { views })
      found.push(...against.map((flaw) => `${path}: ${flaw}`))
    }
    await context.close()
    expect(found).toEqual([])
  }, 240_000)

  const ofInstance = new Set(instancePages.map((place) => `/ui/console/${place}`))

  test.each(consolePlaces)(
    "%s is usable by anybody, asks for nothing twice, and says whether it is of the instance",
    async (path, heading) => {
      const { asked, end } = await opened(path, heading)
      expect(await page.evaluate(beginsAtTop)).toBe(true)
      const crumbs = page.locator(".crumbs li")
      if (ofInstance.has(path)) expect(await crumbs.first().innerText()).toBe("Instance")
      expect(await flaws()).toEqual([])
      // What it asks for late, it has asked for while axe looked.
      end()
      expect(repeated(asked).map(({ what }) => what)).toEqual([])
      expect(asked.filter(({ what }) => what.includes("/core.")).length).toBeGreaterThan(0)
    },
  )
})
