// The wordings that the interface and the documentation avoid, tried on texts that have them.
import { readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { describe, expect, test } from "vitest"
import { glossaryTerms, oddWordings, unusedExceptions } from "./support/tidy-texts.ts"

const root = join(import.meta.dirname, "..")

/** A text, or a catalog of texts at any depth, by their keys. */
type Catalog = string | { readonly [key: string]: Catalog }

type Text = readonly [path: string, text: string]

const read = (path: string) => readFileSync(join(root, path), "utf8")

const catalogs = [
  "ui/console/shell/texts/en.json",
  "ui/console/shell/texts/pages.en.json",
  "ui/development/texts/en.json",
  "ui/login/texts/en.json",
  "src/domain/history/texts/en.json",
  "src/domain/text/standard/en.json",
]

const documents = readdirSync(join(root, "docs"), { recursive: true, withFileTypes: true })
  .filter(({ name }) => name.endsWith(".md"))
  .map(({ parentPath, name }) => relative(root, join(parentPath, name)))
  .concat("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")

const textsIn = (catalog: Catalog, key: string): readonly Text[] =>
  typeof catalog === "string"
    ? [[key, catalog]]
    : Object.entries(catalog).flatMap(([part, below]) =>
        textsIn(below, key.includes(" ") ? `${key}.${part}` : `${key} ${part}`),
      )

const catalogTexts = catalogs.flatMap((path) => textsIn(JSON.parse(read(path)), path))
const pages = documents.map((path): Text => [path, read(path)])

const oddIn = (texts: readonly Text[]) =>
  texts
    .flatMap(([path, text]) => oddWordings(path, text))
    .map(({ path, line, found, instead }) => `${path}:${line}: “${found}”; write ${instead}`)

test("every English catalog is read", () => {
  const english = readdirSync(join(root, "ui"), { recursive: true, encoding: "utf8" })
    .map((path) => `ui/${path}`)
    .concat(
      readdirSync(join(root, "src/domain"), { recursive: true, encoding: "utf8" }).map(
        (path) => `src/domain/${path}`,
      ),
    )
    .filter((path) => /(^|[/.])en\.json$/.test(path) && !path.startsWith("ui/dist/"))
  expect(english.toSorted()).toEqual(catalogs.toSorted())
  expect(catalogTexts.length).toBeGreaterThan(3000)
})

test("no text of the interface has a wording that is avoided", () => {
  expect(oddIn(catalogTexts)).toEqual([])
})

test("no page of the documentation has one", () => {
  expect(oddIn(pages)).toEqual([])
})

test("every exception is needed", () => {
  expect(unusedExceptions([...catalogTexts, ...pages])).toEqual([])
})

test("the glossary names words to avoid, and has each term once", () => {
  expect(glossaryTerms.length).toBeGreaterThan(15)
  const terms = [...read("docs/glossary.md").matchAll(/^\| ([^|]+) \|/gm)].map(([, term]) => term)
  expect(terms.length).toBeGreaterThan(30)
  expect(new Set(terms).size).toBe(terms.length)
})

describe("the rule finds", () => {
  test.each([
    ["Whoever signs in here needs a second factor", "Whoever"],
    ["Nobody is called so.", "Nobody"],
    ["Somebody's account", "Somebody's"],
    ["Users register by themselves.", "by themselves"],
    ["It stands in the history.", "stands"],
    ["A password counts for 10 days.", "counts for"],
    ["The old token stays good for 1 hour.", "stays good"],
    ["Enter the password anew.", "anew"],
    ["There is no such user.", "no such"],
    ["The client was told that it failed. The client is told so.", "is told so"],
    ["The values are so already.", "are so already"],
    ["The request was refused.", "refused"],
    ["Enter your e-mail address.", "e-mail"],
    ["The sign-in was cancelled.", "cancelled"],
    ["Log in to continue.", "Log in"],
    ["You are logged in.", "logged in"],
    ["Create an organisation.", "organisation"],
    ["Who authorised it?", "authorised"],
    ["Colours of the pages", "Colour"],
    ["A service user has no password.", "service user"],
    ["Ways back of an application", "Ways back"],
  ])("%s", (text, result) => {
    expect(oddWordings("docs/a.md", text).map((each) => each.found)).toContain(result)
  })

  test("the line", () => {
    expect(oddWordings("docs/a.md", "Fine.\n\nFine, but\nanew.")).toMatchObject([{ line: 4 }])
  })
})

test.each([
  "The log in PostgreSQL, and an event log in a file.",
  "Users with a count of 3 understand the standard.",
  "The command `latchkey nobody` and\n```\nnobody\n```\nand [a page](nobody.md).",
  "Synchronize the organization, analyze it, and promise no surprise.",
  "Sign in again, then sign out.",
])("the rule passes: %s", (text) => {
  expect(oddWordings("docs/a.md", text)).toEqual([])
})

test("an exception is for its own text and words", () => {
  const path = "ui/console/shell/texts/pages.en.json providers.cause.connection_refused"
  const text = "{$host} refused the connection"
  expect(oddWordings(path, text)).toEqual([])
  expect(oddWordings("docs/a.md", text)).toHaveLength(1)
  expect(oddWordings(path, "{$host} refused the password")).toHaveLength(1)
})
