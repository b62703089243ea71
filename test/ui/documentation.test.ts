import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import first from "../../ui/console/shell/texts/en.json"
import pages from "../../ui/console/shell/texts/pages.en.json"
import { documented } from "../support/documented.ts"

const docs = join(import.meta.dirname, "../../docs")
const said: ReadonlySet<string> = new Set(Object.values({ ...first, ...pages }))

/** Bold words, but for those with which a paragraph or an item begins: these stress something. */
const bold = /(^|\n\n|\n- |\n\d+\. )?\*\*([^*]+)\*\*/g

function namesIn(page: string): readonly string[] {
  const text = readFileSync(join(docs, page), "utf8")
  return [...text.matchAll(bold)].flatMap(([, lead, words = ""]) =>
    lead === undefined ? [words.replaceAll(/\s+/g, " ")] : [],
  )
}

test("the documentation names what is to be pressed", () => {
  expect(documented.flatMap(namesIn).length).toBeGreaterThan(20)
})

test.each(documented)("docs/%s calls it as the console does", (page) => {
  expect(namesIn(page).filter((name) => !said.has(name))).toEqual([])
})
