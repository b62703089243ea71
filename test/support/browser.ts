import { type Browser, type CDPSession, chromium, type Page, type Request } from "playwright-core"
import { useFastLocators } from "./fast-locators.ts"
import { needs } from "./prerequisite.ts"
import { until } from "./wait.ts"

/** Generous, so that a busy machine does not fail tests. */
const waitLimitMs = 60_000

/** Headless Chromium without background network traffic; `hosts` resolve to this machine. */
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
      // No page lives long enough to benefit from optimized scripts.
      "--js-flags=--no-maglev,--no-opt",
      ...(hosts === undefined ? [] : [`--host-resolver-rules=MAP ${hosts} 127.0.0.1`]),
    ],
  })
  browser.on("context", (context) => {
    context.setDefaultTimeout(waitLimitMs)
    context.on("page", (page) => {
      useFastLocators(page)
      trackRequests(page)
    })
  })
  return browser
}

/** The pending requests of each page. */
const pendingRequests = new WeakMap<Page, Set<Request>>()

function trackRequests(page: Page): void {
  const asked = new Set<Request>()
  pendingRequests.set(page, asked)
  page.on("request", (request) => asked.add(request))
  page.on("requestfinished", (request) => asked.delete(request))
  page.on("requestfailed", (request) => asked.delete(request))
}

/** Waits until a page of `openBrowser` has no pending requests, is rendered, and stays idle. */
export async function waitUntilIdle(page: Page): Promise<void> {
  const asked = pendingRequests.get(page)
  if (!asked) throw new Error("no request of the page is recorded")
  const what = () => `the answers to ${[...asked].map((request) => request.url()).join(", ")}`
  const isAtRest = async () => {
    if (asked.size > 0) return false
    return (await isDrawn(page)) && asked.size === 0
  }
  await until(isAtRest, { what, intervalMs: 5 })
}

/** Waits until a page is rendered; false if it navigates meanwhile. */
async function isDrawn(page: Page): Promise<boolean> {
  try {
    await page.evaluate(renderedScript)
    return true
  } catch (error) {
    if (String(error).includes("most likely because of a navigation")) return false
    throw error
  }
}

/** In the page: two frames are rendered, and the browser is idle. */
const renderedScript = `new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(() => requestIdleCallback(done)))
})`

/** Adds a virtual authenticator with user verification to a page; `keys` can add others. */
export async function withPasskeys(page: Page): Promise<{
  readonly keys: CDPSession
  readonly authenticatorId: string
}> {
  const keys = await page.context().newCDPSession(page)
  await keys.send("WebAuthn.enable")
  return { keys, authenticatorId: await newAuthenticator(keys) }
}

/** An internal authenticator with user verification. */
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
