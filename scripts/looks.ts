// Pictures of every page, to be looked at: `bun scripts/looks.ts FOLDER [PATTERN]`. Console and
// account on the compiled binary, empty, with one of everything, whose names are as long as names
// get, and among 5,000 people; the pages of the sign-in as they are rendered. Each 390 and 1280 px
// wide, light and dark, in English and German. What axe has against a page is printed (WCAG 2.2
// AA). With a pattern only pictures are taken whose name is like that: "data-de.*settings".
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { uiAssets, uiEntry } from "../src/gen/ui-assets.ts"
import { openService, type Service } from "../test/acceptance/service.ts"
import { flawsOf } from "../test/support/axe.ts"
import { openBrowser } from "../test/support/browser.ts"
import {
  consolePlaces,
  filled,
  furnished,
  longNamed,
  signedInAt,
  type Things,
} from "../test/support/console-place.ts"
import { loginSamples } from "../test/support/login-sample.tsx"
import { settled } from "../test/support/press.ts"
import { renderPage } from "../ui/login/index.ts"
import { orgIdOf, populate } from "./bench/population.ts"

const [folder = "", pattern = ""] = process.argv.slice(2)
if (folder === "") throw new Error("say where the pictures go: bun scripts/looks.ts FOLDER")
mkdirSync(folder, { recursive: true })

const people = 5000
const languages = ["en", "de"] as const
const isWanted = (name: string) => new RegExp(pattern).test(name)
let flaws = 0

const browser = await openBrowser()
try {
  await consolePages(browser, "empty")
  await consolePages(browser, "data")
  await consolePages(browser, "many")
  await loginPages(browser)
} finally {
  await browser.close()
}
console.log(flaws === 0 ? "axe finds nothing" : `axe finds ${flaws}`)

/** What an instance has: nothing yet, one of everything, or that and very many people. */
type State = "empty" | "data" | "many"

/** The console and the account, of an instance that has so much. */
async function consolePages(browser: Browser, state: State): Promise<void> {
  const places = consolePlaces.flatMap(([path]) => {
    const all = languages.map((language) => nameOf(state, language, path))
    return all.some(isWanted) ? [path] : []
  })
  if (places.length === 0) return
  const isMany = state === "many"
  const fill = isMany ? (database: string) => populate(database, people, 1) : undefined
  const service = await openService([], fill)
  try {
    const things = state === "empty" ? await bare(service) : await furnished(service, longNamed)
    // An empty instance has no things to have pages of.
    const there = places.filter((path) =>
      (path.match(/\$\w+/g) ?? []).every((name) => filled(name, things)),
    )
    for (const language of languages) {
      const context = await browser.newContext({ locale: language, bypassCSP: true })
      const page = await signedInAt(context, `${service.url}/ui/console/projects`)
      for (const path of there) {
        const name = nameOf(state, language, path)
        const within = isMany && path.startsWith("/ui/console") ? `?org=${orgIdOf(0)}` : ""
        await look(page, { name, address: service.url + filled(path, things) + within })
      }
      await context.close()
    }
  } finally {
    await service.close()
  }
}

async function bare({ get }: Service): Promise<Things> {
  return { organizationId: (await get("ListOrganizations")).result[0].id }
}

/** Every page of the sign-in, from a server that has nothing else. */
async function loginPages(browser: Browser): Promise<void> {
  const pages = new Map<string, string>(
    languages.flatMap((language) => {
      const samples = loginSamples(language, longNamed.person, uiEntry)
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
    // These go on by themselves.
    if (!/-(formPost|signingOut)$/.test(name))
      await look(page, { name, address: `${server.url.origin}${path}` })
  }
  await server.stop(true)
}

type Looked = { readonly name: string; readonly address: string }

/** One page in each width and scheme, with what axe has against it. */
async function look(page: Page, { name, address }: Looked): Promise<void> {
  if (!isWanted(name)) return
  await page.goto(address)
  await page.locator("main h1").first().waitFor()
  if (address.includes("/ui/")) {
    // The last place, and with it every button, comes once it is known what one may do.
    const last = /^(Settings|Einstellungen|Console|Konsole)$/
    await page.locator(".sidebar .nav-link", { hasText: last }).waitFor({ state: "attached" })
    await settled(page)
  }
  const found = await flawsOf(page, {
    looked: (view) =>
      page.screenshot({ path: join(folder, `${name}-${view}.png`), fullPage: true }),
  })
  flaws += found.length
  for (const flaw of found) console.log(`${name}: ${flaw}`)
}

function nameOf(state: string, language: string, path: string): string {
  return `${state}-${language}-${path.replace(/^\/ui\//, "").replaceAll(/[^\w.]+/g, "-")}`
}
