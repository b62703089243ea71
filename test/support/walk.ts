import type { Browser, Page } from "playwright-core"
import { expect } from "vitest"
import { atRest } from "./browser.ts"

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

/** A person with a browser of their own, who looks at each page that they come to. */
export type Walker = {
  readonly page: Page
  /** Checks the page as it is now; `step` names it in failures and pictures. */
  readonly sees: (step: string) => Promise<void>
  /** Has answers of a status to some requests be no complaint. */
  readonly expects: (status: number, path: RegExp) => void
  /** Signs in on the page that is open. */
  readonly signsIn: (loginName: string, password: string) => Promise<void>
}

type Options = { readonly name: string; readonly view: View }

export async function walkerIn(browser: Browser, { name, view }: Options): Promise<Walker> {
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
      await atRest(page)
      expect(complaints, step).toEqual([])
      const beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
      expect(await page.evaluate(beyond), `pixels beyond the edge of ${step}`).toBe(0)
      const onward = page.locator("main").locator("a[href]:visible, button:enabled:visible")
      expect(await onward.count(), `ways on from ${step}`).toBeGreaterThan(0)
      await keepPicture(page, `${name}-${step}`, view)
    },
    signsIn: async (loginName, password) => {
      await page.fill('[name="loginName"]', loginName)
      await page.press('[name="loginName"]', "Enter")
      await page.fill('[name="password"]', password)
      await page.press('[name="password"]', "Enter")
    },
  }
}

/** What a page has against how it is served, until now. */
function complaintsOf(
  page: Page,
  isExpected: (status: number, path: string) => boolean,
): readonly string[] {
  const complaints: string[] = []
  page.on("pageerror", ({ message }) => complaints.push(message))
  page.on("console", (message) => {
    // Chromium writes one for each answer that is listed below, too.
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
    // A page that is left asks no more.
    if (errorText !== "net::ERR_ABORTED") complaints.push(`${errorText} ${request.url()}`)
  })
  return complaints
}

/** With LOOK_AT, keeps a picture by day and one by night in that folder. */
async function keepPicture(page: Page, name: string, { width, scheme }: View): Promise<void> {
  const folder = process.env.LOOK_AT
  if (!folder) return
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme })
    // What sticks to the top of the window would be in the middle of the picture.
    await page.evaluate("window.scrollTo(0, 0)")
    await atRest(page)
    const path = `${folder}/${name}-${width}-${colorScheme}.png`
    await page.screenshot({ path, fullPage: true })
  }
  await page.emulateMedia({ colorScheme: scheme })
}
