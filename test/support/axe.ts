import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { Page } from "playwright-core"

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

type View = { readonly width: number; readonly scheme: "light" | "dark" }

const everyView: readonly View[] = [1280, 390].flatMap((width) => [
  { width, scheme: "light" as const },
  { width, scheme: "dark" as const },
])

type Looking = {
  /** Each in each where it is not said. */
  readonly views?: readonly View[]
  /** Called in each view, before axe looks. */
  readonly looked?: (view: string) => Promise<unknown>
}

/** All of WCAG 2.2 AA. */
const everyRule = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
/** What is about colours, which are all that the schemes differ in. */
const colorRules = ["color-contrast", "link-in-text-block"]

/**
 * What axe has against a page as it stands (WCAG 2.2 AA), in each width and scheme: everything the
 * first time that a width is looked at, then what is about colours. The context of the page
 * bypasses its CSP, which lets no script of others in.
 */
export async function flawsOf(
  page: Page,
  { looked, views = everyView }: Looking = {},
): Promise<readonly string[]> {
  const found: string[] = []
  const widths = new Set<number>()
  for (const { width, scheme } of views) {
    const only = widths.has(width) ? { type: "rule", values: colorRules } : everyRule
    widths.add(width)
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" })
    await looked?.(`${width}-${scheme}`)
    if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe)
    const seen: string[] = await page.evaluate(`axe.run(document, {
        runOnly: ${JSON.stringify(only)},
        resultTypes: ["violations"],
        selectors: false,
      }).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => id + ": " + html.slice(0, 160) + " " +
          failureSummary.slice(0, 300))))`)
    // WCAG 2.2 §1.4.10: nobody has to scroll sideways to read.
    const beyond = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
    if (Number(beyond) > 0) found.push(`${width} ${scheme} ${beyond} px beyond the edge`)
    found.push(...seen.map((flaw) => `${width} ${scheme} ${flaw}`))
  }
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.emulateMedia({ colorScheme: "light" })
  return found
}
