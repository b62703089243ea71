import { type Browser, type CDPSession, chromium, type Page, type Request } from "playwright-core"
import { needs } from "./prerequisite.ts"
import { lookQuickly } from "./quick-look.ts"
import { until } from "./wait.ts"

/** A machine with much to do is no reason to fail. */
const waitLimitMs = 60_000

/** Headless Chromium with nothing of its own going out to the network; `hosts` are this machine. */
export async function openBrowser(hosts?: string): Promise<Browser> {
  const executablePath = needs("chromium")
  if (!executablePath) throw new Error("no chromium on this machine")
  const browser = await chromium.launch({
    executablePath,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // No page lives long enough to earn back what it costs to optimize its scripts.
      "--js-flags=--no-maglev,--no-opt",
      ...(hosts === undefined ? [] : [`--host-resolver-rules=MAP ${hosts} 127.0.0.1`]),
    ],
  })
  browser.on("context", (context) => {
    context.setDefaultTimeout(waitLimitMs)
    context.on("page", (page) => {
      lookQuickly(page)
      noteRequests(page)
    })
  })
  return browser
}

/** What each page has asked for and has not got yet. */
const underWay = new WeakMap<Page, Set<Request>>()

function noteRequests(page: Page): void {
  const asked = new Set<Request>()
  underWay.set(page, asked)
  page.on("request", (request) => asked.add(request))
  page.on("requestfinished", (request) => asked.delete(request))
  page.on("requestfailed", (request) => asked.delete(request))
}

/** Waits until a page of `openBrowser` has what it asked for, has drawn it, and asks no more. */
export async function atRest(page: Page): Promise<void> {
  const asked = underWay.get(page)
  if (!asked) throw new Error("nobody has noted what the page asks for")
  const what = () => `the answers to ${[...asked].map((request) => request.url()).join(", ")}`
  const isAtRest = async () => {
    if (asked.size > 0) return false
    return (await isDrawn(page)) && asked.size === 0
  }
  await until(isAtRest, { what, intervalMs: 5 })
}

/** Waits until a page is drawn; false where it leaves meanwhile. */
async function isDrawn(page: Page): Promise<boolean> {
  try {
    await page.evaluate(drawn)
    return true
  } catch (error) {
    if (String(error).includes("most likely because of a navigation")) return false
    throw error
  }
}

/** In the page: two frames are drawn, and nothing more is to be done. */
const drawn = `new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(() => requestIdleCallback(done)))
})`

/** Gives the device of a page an authenticator, which sees who uses it; `keys` makes others. */
export async function withPasskeys(page: Page): Promise<{
  readonly keys: CDPSession
  readonly authenticatorId: string
}> {
  const keys = await page.context().newCDPSession(page)
  await keys.send("WebAuthn.enable")
  return { keys, authenticatorId: await newAuthenticator(keys) }
}

/** A key of the device itself, that sees who uses it. */
export async function newAuthenticator(keys: CDPSession): Promise<string> {
  const options = {
    ...({ protocol: "ctap2", transport: "internal" } as const),
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
    automaticPresenceSimulation: true,
  }
  return (await keys.send("WebAuthn.addVirtualAuthenticator", { options })).authenticatorId
}
