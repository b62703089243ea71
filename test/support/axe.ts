import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { Page } from "playwright-core"

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

const widths = [1280, 390] as const
const schemes = ["light", "dark"] as const

/** What a scheme changes is colours: in the second of them, the rules on those are asked alone. */
const ruledBy = {
  light: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
  dark: { type: "rule", values: ["color-contrast", "link-in-text-block"] },
} as const

/**
 * What axe has against a page as it stands (WCAG 2.2 AA), in each width and scheme. The context of
 * the page bypasses its CSP, which lets no script of others in. `looked` is called in each.
 */
export async function flawsOf(
  page: Page,
  looked?: (view: string) => Promise<unknown>,
): Promise<readonly string[]> {
  const found: string[] = []
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe)
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 })
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
      await looked?.(`${width}-${colorScheme}`)
      const seen: string[] = await page.evaluate(`axe.run(document, {
        runOnly: ${JSON.stringify(ruledBy[colorScheme])},
        resultTypes: ["violations"],
      }).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => id + ": " + html.slice(0, 160) + " " +
          failureSummary.slice(0, 300))))`)
      // WCAG 2.2 §1.4.10: nobody has to scroll sideways to read.
      const beyond = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
      if (Number(beyond) > 0) found.push(`${width} ${colorScheme} ${beyond} px beyond the edge`)
      found.push(...seen.map((flaw) => `${width} ${colorScheme} ${flaw}`))
    }
  }
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.emulateMedia({ colorScheme: "light" })
  return found
}
