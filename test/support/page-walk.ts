import type { Browser, Page } from "playwright-core"
import { expect } from "vitest"
import { waitUntilIdle } from "./browser.ts"

export type View = {
  readonly width: number
  readonly height: number
  readonly scheme: "light" | "dark"
}

/** A phone and a laptop. */
export const views: readonly View[] = [
  { width: 390, height: 844, scheme: "dark" },
  { width: 1280, height: 900, scheme: "light" },
]

/** A user with a new browser, who checks each page. */
export type PageWalk = {
  readonly page: Page
  /** Checks the current page; `step` names it in failures and screenshots. */
  readonly sees: (step: string) => Promise<void>
  /** Accepts responses of a status to some requests. */
  readonly expects: (status: number, path: RegExp) => void
  /** Signs in on the open page. */
  readonly signsIn: (loginName: string, password: string) => Promise<void>
}

type WalkOptions = { readonly name: string; readonly view: View }

export async function startPageWalk(
  browser: Browser,
  { name, view }: WalkOptions,
): Promise<PageWalk> {
  const { scheme, ...viewport } = view
  const context = await browser.newContext({
    locale: "en",
    viewport,
    colorScheme: scheme,
    reducedMotion: "reduce",
  })
  const page = await context.newPage()
  const expected: { readonly status: number; readonly path: RegExp }[] = []
  const complaints = complaintsOf(page, (status, path) =>
    expected.some((each) => each.status === status && each.path.test(path)),
  )
  return {
    page,
    expects: (status, path) => void expected.push({ status, path }),
    sees: async (step) => {
      await expect
        .poll(() => page.locator("h1:visible").count(), { message: `headings of ${step}` })
        .toBe(1)
      await waitUntilIdle(page)
      expect(complaints, step).toEqual([])
      const beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
      expect(await page.evaluate(beyond), `pixels beyond the edge of ${step}`).toBe(0)
      const onward = page.locator("main").locator("a[href]:visible, button:enabled:visible")
      expect(await onward.count(), `ways on from ${step}`).toBeGreaterThan(0)
      await saveScreenshot(page, `${name}-${step}`, view)
    },
    signsIn: async (loginName, password) => {
      await page.fill('[name="loginName"]', loginName)
      await page.press('[name="loginName"]', "Enter")
      await page.fill('[name="password"]', password)
      await page.press('[name="password"]', "Enter")
    },
  }
}

/** The errors of a page so far: requests, console messages and exceptions. */
function complaintsOf(
  page: Page,
  isExpected: (status: number, path: string) => boolean,
): readonly string[] {
  const complaints: string[] = []
  page.on("pageerror", ({ message }) => complaints.push(message))
  page.on("console", (message) => {
    // Chromium also logs a message for each response that is listed below.
    const isAnswer = message.text().startsWith("Failed to load resource")
    if (message.type() === "error" && !isAnswer) complaints.push(message.text())
  })
  page.on("response", (response) => {
    const { pathname } = new URL(response.url())
    const status = response.status()
    if (status >= 400 && !isExpected(status, pathname)) complaints.push(`${status} ${pathname}`)
  })
  page.on("requestfailed", (request) => {
    const { errorText = "" } = request.failure() ?? {}
    // A page that is left cancels its requests.
    if (errorText !== "net::ERR_ABORTED") complaints.push(`${errorText} ${request.url()}`)
  })
  return complaints
}

/** With LOOK_AT, saves a screenshot in light mode and one in dark mode in that directory. */
async function saveScreenshot(page: Page, name: string, { width, scheme }: View): Promise<void> {
  const folder = process.env.LOOK_AT
  if (!folder) return
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme })
    // Sticky elements would otherwise appear in the middle of the screenshot.
    await page.evaluate("window.scrollTo(0, 0)")
    await waitUntilIdle(page)
    const path = `${folder}/${name}-${width}-${colorScheme}.png`
    await page.screenshot({ path, fullPage: true })
  }
  await page.emulateMedia({ colorScheme: scheme })
}
