// Measures the console in Chromium, with the compiled binary: `bun scripts/bench/console.ts [USERS]
// [ROUNDS]`. Opens a list of USERS users, reloads and changes pages; prints the transferred bytes
// and duplicate requests. Browser and server share the machine: the figures are only meaningful on
// an idle machine, and the load is printed first. Writes a temporary folder.
import { loadavg } from "node:os"
import { join } from "node:path"
import type { Browser, CDPSession, Page } from "playwright-core"
import { connect } from "../../test/acceptance/service.ts"
import { openBrowser } from "../../test/support/browser.ts"
import {
  consoleRoutes,
  createConsoleResources,
  fillVariables,
  openSignedIn,
} from "../../test/support/console-pages.ts"
import {
  freePort,
  serviceToken,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../../test/support/latchkey.ts"
import { orgIdOf, populate } from "./population.ts"

const [userCount = 5000, rounds = 5] = process.argv.slice(2).map(Number)
const org = orgIdOf(0)

/** Runs in the page: records when the frame and the page heading first appear. */
const recordFirstPaints = `
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
await populate(join(data, "latchkey.db"), userCount, 1)
const server = await startLatchkey({ data, port })
const browser = await openBrowser()
try {
  row("machine load before", loadavg()[0]?.toFixed(2) ?? "", "< 1.5")
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
  const things = await createConsoleResources({ get, url: server.url })
  const context = await browser.newContext({ locale: "de-DE" })
  const home = `${server.url}/ui/console/projects?org=${org}`
  await (await openSignedIn(context, home)).close()
  const fresh = await browser.newContext({
    locale: "de-DE",
    storageState: await context.storageState(),
  })
  const page = await fresh.newPage()
  const traffic = await recordTraffic(page)
  await page.goto(home)
  await waitUntilShown(page)
  row("first view, compressed", kilobytes(traffic.take().bytes), "≤ 180 KB")
  await measureFurtherPages(page, traffic, things)
  await measureList(page)
  await measureReloads(page)
  await measurePageChanges(page)
}

/** Opens each page once from a link; prints what it loads in addition, and duplicate requests. */
async function measureFurtherPages(
  page: Page,
  traffic: Traffic,
  things: Readonly<Record<string, string>>,
) {
  const loaded: { path: string; bytes: number; twice: readonly string[] }[] = []
  for (const [place] of consoleRoutes) {
    const path = fillVariables(place, things)
    await navigate(page, `${path}?org=${things.organizationId}`)
    await page.waitForLoadState("networkidle")
    loaded.push({ path: place, ...traffic.take() })
  }
  const [largest] = loaded.toSorted((a, b) => b.bytes - a.bytes)
  row(
    "largest additional transfer of a page, compressed",
    kilobytes(largest?.bytes ?? 0),
    "≤ 40 KB",
  )
  row(`  for ${largest?.path}`, "", "")
  const twice = loaded.flatMap(({ path, twice }) => twice.map((one) => `${path}: ${one}`))
  row("duplicate requests on one page", String(twice.length), "0")
  for (const one of twice) row(`  ${one.slice(0, 90)}`, "", "")
}

/** From the click on the link until the page shows fifty rows. */
async function measureList(page: Page): Promise<void> {
  const times: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    await navigate(page, `/ui/console/groups?org=${org}`)
    // Otherwise the page would show cached data without a request.
    await page.reload()
    await waitUntilShown(page)
    times.push(await timeOf(page, { path: "/ui/console/users", until: "tbody tr:nth-child(50)" }))
  }
  row(`list of ${userCount} users, median`, ms(median(times)), "< 300 ms")
  row("  worst", ms(Math.max(...times)), "")
}

/** From the start of a reload until the frame is painted, and until the heading is shown. */
async function measureReloads(page: Page): Promise<void> {
  const frames: number[] = []
  const pages: number[] = []
  await page.addInitScript(recordFirstPaints)
  for (let round = 0; round < rounds; round += 1) {
    await page.reload()
    await waitUntilShown(page)
    const marks: { frame: number; page: number } = await page.evaluate("window.firsts")
    frames.push(marks.frame)
    pages.push(marks.page)
  }
  row("reload until the frame is painted, median", ms(median(frames)), "< 200 ms")
  row("  until the content is shown", ms(median(pages)), "")
}

/** Opens each page of the navigation from its link. */
async function measurePageChanges(page: Page): Promise<void> {
  const links = page.locator(".sidebar .nav-link")
  const paths = await links.evaluateAll((all) => all.map((link) => link.getAttribute("href") ?? ""))
  const times: { path: string; took: number }[] = []
  for (let round = 0; round <= rounds; round += 1) {
    for (const path of paths) {
      const until = "main.content:not([aria-busy]) h1"
      const took = await timeOf(page, { path: path.replace(/\?.*/, ""), until })
      await page.waitForLoadState("networkidle")
      // The first round loads the scripts of the pages.
      if (round > 0) times.push({ path, took })
    }
  }
  row("page change, median", ms(median(times.map(({ took }) => took))), "< 100 ms")
  const worst = times.toSorted((a, b) => b.took - a.took)[0]
  row(`  slowest, ${worst?.path.replace(/\?.*/, "")}`, ms(worst?.took ?? 0), "")
}

type NavigationTarget = { readonly path: string; readonly until: string }

/** Clicks the navigation link to a page; returns the milliseconds until `until` is painted. */
function timeOf(page: Page, { path, until }: NavigationTarget): Promise<number> {
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

/** Navigates within the console as a link does, without reloading the document. */
async function navigate(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState({}, "", "${path}")`)
  await page.waitForURL(`**${path}`)
  await waitUntilShown(page)
}

function waitUntilShown(page: Page): Promise<void> {
  return page.locator("main.content:not([aria-busy]) h1").waitFor()
}

type Traffic = {
  /** The bytes and duplicate requests since the last call. */
  readonly take: () => { readonly bytes: number; readonly twice: readonly string[] }
}

async function recordTraffic(page: Page): Promise<Traffic> {
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
    take: () => {
      const take = { bytes, twice: asked.filter((one, at) => asked.indexOf(one) !== at) }
      bytes = 0
      asked = []
      return take
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

function row(label: string, figure: string, aim: string): void {
  console.log(`${label.padEnd(60)}${figure.padStart(12)}   ${aim}`)
}
