import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import first from "../../ui/console/shell/texts/en.json"
import pages from "../../ui/console/shell/texts/pages.en.json"
import development from "../../ui/development/texts/en.json"
import { documentedPages } from "../support/documentation.ts"

const docs = join(import.meta.dirname, "../../docs")
const consoleTexts: ReadonlySet<string> = new Set(
  Object.values({ ...first, ...pages, ...development }),
)

/** Bold text, except at the start of a paragraph or list item, where it is emphasis. */
const bold = /(^|\n\n|\n- |\n\d+\. )?\*\*([^*]+)\*\*/g

function namesIn(page: string): readonly string[] {
  const text = readFileSync(join(docs, page), "utf8")
  return [...text.matchAll(bold)].flatMap(([, lead, words = ""]) =>
    lead === undefined ? [words.replaceAll(/\s+/g, " ")] : [],
  )
}

test("the documentation uses the names of controls", () => {
  expect(documentedPages.flatMap(namesIn).length).toBeGreaterThan(20)
})

test.each(documentedPages)("docs/%s uses the names in the console", (page) => {
  expect(namesIn(page).filter((name) => !consoleTexts.has(name))).toEqual([])
})
