// Takes screenshots of every page: `bun scripts/looks.ts FOLDER [PATTERN]`. Console and account
// pages come from the compiled binary: empty, with one item of each kind and the longest possible
// names, and with 5,000 users. The sign-in pages are rendered alone. Each page is 390 and 1280 px
// wide, light and dark, in English and German. Prints accessibility violations that axe finds (WCAG
// 2.2 AA). With a PATTERN, only screenshots with a matching name are taken: "data-de.*settings".
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { uiAssets, uiEntry } from "../src/gen/ui-assets.ts"
import { openService, type Service } from "../test/acceptance/service.ts"
import { findViolations } from "../test/support/axe.ts"
import { openBrowser } from "../test/support/browser.ts"
import {
  consoleRoutes,
  createConsoleResources,
  fillVariables,
  longResourceNames,
  openSignedIn,
  type ResourceIds,
} from "../test/support/console-pages.ts"
import { loginSamples } from "../test/support/login-sample.tsx"
import { waitUntilSettled } from "../test/support/press-controls.ts"
import { renderPage } from "../ui/login/index.ts"
import { orgIdOf, populate } from "./bench/population.ts"

const [folder = "", pattern = ""] = process.argv.slice(2)
if (folder === "") throw new Error("folder is required: bun scripts/looks.ts FOLDER")
mkdirSync(folder, { recursive: true })

const userCount = 5000
const languages = ["en", "de"] as const
const isSelected = (name: string) => new RegExp(pattern).test(name)
let violations = 0

const browser = await openBrowser()
try {
  await consolePages(browser, "empty")
  await consolePages(browser, "data")
  await consolePages(browser, "many")
  await loginPages(browser)
} finally {
  await browser.close()
}
console.log(violations === 0 ? "axe found no violations" : `axe found ${violations} violations`)

/** The data of an instance: none, one item of each kind, or also very many users. */
type State = "empty" | "data" | "many"

/** The console and account pages of an instance with that data. */
async function consolePages(browser: Browser, state: State): Promise<void> {
  const places = consoleRoutes.flatMap(([path]) => {
    const all = languages.map((language) => nameOf(state, language, path))
    return all.some(isSelected) ? [path] : []
  })
  if (places.length === 0) return
  const isMany = state === "many"
  const fill = isMany ? (database: string) => populate(database, userCount, 1) : undefined
  const service = await openService([], fill)
  try {
    const things =
      state === "empty"
        ? await emptyInstance(service)
        : await createConsoleResources(service, longResourceNames)
    // An empty instance has no items, and therefore no detail pages.
    const existing = places.filter((path) =>
      (path.match(/\$\w+/g) ?? []).every((name) => fillVariables(name, things)),
    )
    for (const language of languages) {
      const context = await browser.newContext({ locale: language, bypassCSP: true })
      const page = await openSignedIn(context, `${service.url}/ui/console/projects`)
      for (const path of existing) {
        const name = nameOf(state, language, path)
        const within = isMany && path.startsWith("/ui/console") ? `?org=${orgIdOf(0)}` : ""
        await takeScreenshots(page, {
          name,
          address: service.url + fillVariables(path, things) + within,
        })
      }
      await context.close()
    }
  } finally {
    await service.close()
  }
}

async function emptyInstance({ get }: Service): Promise<ResourceIds> {
  return { organizationId: (await get("ListOrganizations")).result[0].id }
}

/** Every page of the sign-in, from a server without other data. */
async function loginPages(browser: Browser): Promise<void> {
  const pages = new Map<string, string>(
    languages.flatMap((language) => {
      const samples = loginSamples(language, longResourceNames.person, uiEntry)
      return Object.entries(samples).map(
        ([name, page]) => [`/${nameOf("login", language, name)}`, renderPage(page)] as const,
      )
    }),
  )
  const answer = ({ url }: Request): Response => {
    const { pathname } = new URL(url)
    const asset = Object.entries(uiAssets).find(([path]) => path === pathname)?.[1]
    const headers = { "content-type": asset?.type ?? "text/html" }
    if (!asset) return new Response(pages.get(pathname), { headers })
    return new Response(Bun.file(asset.br), { headers: { ...headers, "content-encoding": "br" } })
  }
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer })
  const page = await browser.newPage({ bypassCSP: true })
  for (const path of pages.keys()) {
    const name = path.slice(1)
    // These redirect immediately.
    if (!/-(formPost|signingOut)$/.test(name))
      await takeScreenshots(page, { name, address: `${server.url.origin}${path}` })
  }
  await server.stop(true)
}

type PageTarget = { readonly name: string; readonly address: string }

/** Takes one page in each width and color scheme, and runs axe on it. */
async function takeScreenshots(page: Page, { name, address }: PageTarget): Promise<void> {
  if (!isSelected(name)) return
  await page.goto(address)
  await page.locator("main h1").first().waitFor()
  if (address.includes("/ui/")) {
    // The last navigation link is shown once the permissions are loaded, and all buttons with it.
    const lastLink = /^(Settings|Einstellungen|Console|Konsole)$/
    await page.locator(".sidebar .nav-link", { hasText: lastLink }).waitFor({ state: "attached" })
    await waitUntilSettled(page)
  }
  const axeResult = await findViolations(page, {
    beforeEach: (view) =>
      page.screenshot({ path: join(folder, `${name}-${view}.png`), fullPage: true }),
  })
  violations += axeResult.length
  for (const violation of axeResult) console.log(`${name}: ${violation}`)
}

function nameOf(state: string, language: string, path: string): string {
  return `${state}-${language}-${path.replace(/^\/ui\//, "").replaceAll(/[^\w.]+/g, "-")}`
}
