import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { Page } from "playwright-core"

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

type View = { readonly width: number; readonly scheme: "light" | "dark" }

const everyView: readonly View[] = [1280, 390].flatMap((width) => [
  { width, scheme: "light" as const },
  { width, scheme: "dark" as const },
])

type AxeOptions = {
  /** By default every rule in every view. */
  readonly views?: readonly View[]
  /** Called in each view, before axe runs. */
  readonly beforeEach?: (view: string) => Promise<unknown>
}

/** All of WCAG 2.2 AA. */
const everyRule = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
/** The rules about colors, which are all that the schemes differ in. */
const colorRules = ["color-contrast", "link-in-text-block"]

/**
 * The axe violations of a page (WCAG 2.2 AA), in each width and scheme: all rules the first time
 * for a width, then the color rules. The page's context bypasses its CSP, which would block the
 * script.
 */
export async function findViolations(
  page: Page,
  { beforeEach: looked, views = everyView }: AxeOptions = {},
): Promise<readonly string[]> {
  const violations: string[] = []
  const widths = new Set<number>()
  for (const { width, scheme } of views) {
    const only = widths.has(width) ? { type: "rule", values: colorRules } : everyRule
    widths.add(width)
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" })
    await looked?.(`${width}-${scheme}`)
    if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe)
    const checkedWidths: string[] = await page.evaluate(`axe.run(document, {
        runOnly: ${JSON.stringify(only)},
        resultTypes: ["violations"],
        selectors: false,
      }).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => id + ": " + html.slice(0, 160) + " " +
          failureSummary.slice(0, 300))))`)
    // WCAG 2.2 §1.4.10: reading must not require horizontal scrolling.
    const beyond = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
    if (Number(beyond) > 0) violations.push(`${width} ${scheme} ${beyond} px beyond the edge`)
    violations.push(...checkedWidths.map((flaw) => `${width} ${scheme} ${flaw}`))
  }
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.emulateMedia({ colorScheme: "light" })
  return violations
}
