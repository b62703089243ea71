// How quick the console is in Chromium, on the compiled binary: `bun scripts/bench/console.ts
// [PEOPLE] [ROUNDS]`. A list of so many people, reloads and changes of page, what they transfer,
// and whether anything is asked for twice. Browser and server share the machine: figures count
// where it has nothing else to do, and the load before is told first. Writes a temporary folder.
import { loadavg } from "node:os"
import { join } from "node:path"
import type { Browser, CDPSession, Page } from "playwright-core"
import { connect } from "../../test/acceptance/service.ts"
import { openBrowser } from "../../test/support/browser.ts"
import { consolePlaces, filled, furnished, signedInAt } from "../../test/support/console-place.ts"
import {
  freePort,
  serviceToken,
  setUp,
  start,
  temporaryFolder,
} from "../../test/support/latchkey.ts"
import { orgIdOf, populate } from "./population.ts"

const [people = 5000, rounds = 5] = process.argv.slice(2).map(Number)
const org = orgIdOf(0)

/** In the page: notes when the frame, and the heading of the page, are first there. */
const noteFirsts = `
  window.firsts = { frame: 0, page: 0 }
  const look = () => {
    const now = performance.now()
    const isThere = (selector) => document.querySelector(selector) !== null
    if (isThere(".sidebar .nav-link")) window.firsts.frame ||= now
    if (isThere("main.content:not([aria-busy]) h1")) window.firsts.page ||= now
    if (!window.firsts.page) requestAnimationFrame(look)
  }
  requestAnimationFrame(look)`

const folder = temporaryFolder()
const data = join(folder.path, "data")
const port = await freePort()
const key = await setUp(data, `http://localhost:${port}`)
await populate(join(data, "latchkey.db"), people, 1)
const server = await start({ data, port })
const browser = await openBrowser()
try {
  row("load of the machine before", loadavg()[0]?.toFixed(2) ?? "", "< 1.5")
  await measure(browser)
} finally {
  await browser.close()
  await server.stop()
  folder.remove()
}

async function measure(browser: Browser): Promise<void> {
  const token = await serviceToken(server.url, key)
  const get = async (name: string, request: object = {}) =>
    (await connect(server.url, name, { request, token })).body
  const things = await furnished({ get, url: server.url })
  const context = await browser.newContext({ locale: "de-DE" })
  const home = `${server.url}/ui/console/projects?org=${org}`
  await (await signedInAt(context, home)).close()
  const fresh = await browser.newContext({
    locale: "de-DE",
    storageState: await context.storageState(),
  })
  const page = await fresh.newPage()
  const traffic = await watch(page)
  await page.goto(home)
  await shown(page)
  row("first view, compressed", kilobytes(traffic.taken().bytes), "≤ 180 KB")
  await furtherPages(page, traffic, things)
  await theList(page)
  await reloads(page)
  await changes(page)
}

/** Each page once, as a link leads there: what it loads more, and what it asks for twice. */
async function furtherPages(
  page: Page,
  traffic: Traffic,
  things: Readonly<Record<string, string>>,
) {
  const seen: { path: string; bytes: number; twice: readonly string[] }[] = []
  for (const [place] of consolePlaces) {
    const path = filled(place, things)
    await go(page, `${path}?org=${things.organizationId}`)
    await page.waitForLoadState("networkidle")
    seen.push({ path: place, ...traffic.taken() })
  }
  const [most] = seen.toSorted((a, b) => b.bytes - a.bytes)
  row("further page with most files, compressed", kilobytes(most?.bytes ?? 0), "≤ 40 KB")
  row(`  that is ${most?.path}`, "", "")
  const twice = seen.flatMap(({ path, twice }) => twice.map((one) => `${path}: ${one}`))
  row("asked for twice on one page", String(twice.length), "0")
  for (const one of twice) row(`  ${one.slice(0, 90)}`, "", "")
}

/** From the press of the link until fifty rows stand there. */
async function theList(page: Page): Promise<void> {
  const times: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    await go(page, `/ui/console/groups?org=${org}`)
    // What was read a moment ago would be shown without asking.
    await page.reload()
    await shown(page)
    times.push(await timeOf(page, { path: "/ui/console/users", until: "tbody tr:nth-child(50)" }))
  }
  row(`list of ${people} people, median`, ms(median(times)), "< 300 ms")
  row("  worst", ms(Math.max(...times)), "")
}

/** From the start of a reload until the frame is drawn, and until the page has its heading. */
async function reloads(page: Page): Promise<void> {
  const frames: number[] = []
  const pages: number[] = []
  await page.addInitScript(noteFirsts)
  for (let round = 0; round < rounds; round += 1) {
    await page.reload()
    await shown(page)
    const noted: { frame: number; page: number } = await page.evaluate("window.firsts")
    frames.push(noted.frame)
    pages.push(noted.page)
  }
  row("reload until a page is drawn, median", ms(median(frames)), "< 200 ms")
  row("  until it has its content", ms(median(pages)), "")
}

/** Each place of the navigation, by its link. */
async function changes(page: Page): Promise<void> {
  const links = page.locator(".sidebar .nav-link")
  const paths = await links.evaluateAll((all) => all.map((link) => link.getAttribute("href") ?? ""))
  const times: { path: string; took: number }[] = []
  for (let round = 0; round <= rounds; round += 1) {
    for (const path of paths) {
      const until = "main.content:not([aria-busy]) h1"
      const took = await timeOf(page, { path: path.replace(/\?.*/, ""), until })
      await page.waitForLoadState("networkidle")
      // The first round loads the pages themselves.
      if (round > 0) times.push({ path, took })
    }
  }
  row("change of page, median", ms(median(times.map(({ took }) => took))), "< 100 ms")
  const worst = times.toSorted((a, b) => b.took - a.took)[0]
  row(`  worst, ${worst?.path.replace(/\?.*/, "")}`, ms(worst?.took ?? 0), "")
}

type Timed = { readonly path: string; readonly until: string }

/** Clicks the link to a place; answers after how long what is waited for was painted. */
function timeOf(page: Page, { path, until }: Timed): Promise<number> {
  return page.evaluate(`new Promise((done, fail) => {
    const link = [...document.querySelectorAll(".sidebar .nav-link")].find(
      (one) => new URL(one.href).pathname === "${path}",
    )
    if (!link) return fail(new Error("no link to ${path}"))
    const before = performance.now()
    link.click()
    const look = () => {
      const isThere = location.pathname === "${path}" && document.querySelector("${until}")
      const took = performance.now() - before
      if (isThere || took > 10_000) done(took)
      else requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
  })`)
}

/** Within the console, as a link does it: nothing is loaded anew. */
async function go(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState({}, "", "${path}")`)
  await page.waitForURL(`**${path}`)
  await shown(page)
}

function shown(page: Page): Promise<void> {
  return page.locator("main.content:not([aria-busy]) h1").waitFor()
}

type Traffic = {
  /** What has come since the last time, and what of it was asked for twice. */
  readonly taken: () => { readonly bytes: number; readonly twice: readonly string[] }
}

async function watch(page: Page): Promise<Traffic> {
  const session: CDPSession = await page.context().newCDPSession(page)
  await session.send("Network.enable")
  const files = new Set<string>()
  let bytes = 0
  let asked: string[] = []
  session.on("Network.requestWillBeSent", ({ requestId, request }) => {
    const { method, url, postData = "", headers } = request
    if (/\/ui\/(assets|console)/.test(url)) files.add(requestId)
    asked.push(`${method} ${url} ${headers["x-core-orgid"] ?? ""} ${postData}`)
  })
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    if (files.has(requestId)) bytes += encodedDataLength
  })
  return {
    taken: () => {
      const taken = { bytes, twice: asked.filter((one, at) => asked.indexOf(one) !== at) }
      bytes = 0
      asked = []
      return taken
    },
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function ms(value: number): string {
  return `${value.toFixed(0)} ms`
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KB`
}

function row(what: string, figure: string, aim: string): void {
  console.log(`${what.padEnd(60)}${figure.padStart(12)}   ${aim}`)
}
