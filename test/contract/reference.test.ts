// The reference in a release is complete.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type DescMethod, fromJson } from "@bufbuild/protobuf"
import { expect, test } from "vitest"
import { reference, writeReference } from "../../scripts/reference.ts"
import { allServices } from "../../src/api/book.ts"
import { isOfVersion2 } from "../../src/api/openapi/connect-document.ts"
import { keyNames, keys } from "../../src/kernel/config.ts"
import { gauges } from "../../src/server/metrics/gauges.ts"
import { aggregates } from "../../src/server/modules.ts"
import { temporaryFolder } from "../support/latchkey.ts"

const docs = join(import.meta.dirname, "../../docs")

const folder = temporaryFolder()
await writeReference(folder.path)
const pages = new Map(
  [...reference.keys()].map((name) => [name, readFileSync(join(folder.path, name), "utf8")]),
)
folder.remove()

const missingFrom = (name: string, expected: readonly string[]) =>
  expected.filter((each) => !pages.get(name)?.includes(`\`${each}\``))

test("contains every setting in the spelling of the environment", () => {
  expect(missingFrom("configuration.md", Object.keys(keys).map(keyNames.env))).toEqual([])
})

test("the documentation contains every setting in the spelling of the file and the environment", () => {
  const page = readFileSync(join(docs, "install/configuration.md"), "utf8")
  for (const name of Object.keys(keys)) {
    expect(page).toContain(`\`${keyNames.env(name)}\``)
  }
})

test("contains every operation and its permission", () => {
  const names = allServices.flatMap(({ methods }) => methods.map(({ name }) => name))
  expect(missingFrom("api.md", names)).toEqual([])
  const rows = pages.get("api.md")?.match(/^\| `.*$/gm) ?? []
  expect(rows).toHaveLength(names.length)
  expect(rows.filter((row) => / \|\s*\|$/.test(row))).toEqual([])
})

test("operations of version 2 have fields, a valid example request, and errors", () => {
  const methods = allServices.flatMap((service): DescMethod[] =>
    service.methods.filter(isOfVersion2),
  )
  expect(methods.length).toBeGreaterThan(200)
  const sections = new Map(
    [...pages].flatMap(([file, text]) =>
      file.startsWith("api-v2-") ? text.split("\n## ").map((each) => [nameIn(each), each]) : [],
    ),
  )
  for (const method of methods) {
    const name = `${method.parent.typeName}/${method.name}`
    const section = sections.get(name) ?? ""
    expect(section, name).toContain("\nRequires ")
    expect(section, name).toContain("| 400 | `invalid_argument` |")
    for (const field of method.input.fields)
      expect(section, name).toContain(`| \`${field.jsonName}\` | `)
    const sent = JSON.parse(/--json '(.*?)' \\\n/s.exec(section)?.[1] ?? "")
    const answer = JSON.parse(/```json\n(.*?)\n```/s.exec(section)?.[1] ?? "")
    expect(() => fromJson(method.input, sent), name).not.toThrow()
    expect(() => fromJson(method.output, answer), name).not.toThrow()
  }
  expect(pages.get("api-v2.md")).toContain("(api-v2-user.md)")
})

/** The operation that a section calls. */
const nameIn = (section: string): string =>
  /https:\/\/id\.example\.com\/(\S+)/.exec(section)?.[1] ?? ""

test("contains every command with its flags and exit codes", () => {
  const page = pages.get("commands.md") ?? ""
  const list = readFileSync(join(docs, "reference/command-line.md"), "utf8")
  const rows = list.match(/^\| `latchkey .*$/gm) ?? []
  const named = rows.flatMap((row) => row.split(" | ")[0]?.match(/`[^`]+`/g) ?? [])
  const names = named.map((each) => each.slice(1, -1).replace(/^latchkey /, ""))
  const typed = names.map((name) => name.replace(/ (?:[A-Z…-].*|bash)$/, ""))
  const heads = [...page.matchAll(/^## latchkey (.*)$/gm)].map(([, name]) => name)
  expect(heads.toSorted()).toEqual(typed.toSorted())
  expect(page.match(/^USAGE /gm)).toHaveLength(heads.length)
  expect(page.match(/^EXIT CODES$/gm)).toHaveLength(heads.length)
})

test("contains every event type and every metric", () => {
  const types = aggregates.flatMap(({ evolve }) => Object.keys(evolve))
  expect(missingFrom("events.md", types)).toEqual([])
  expect(
    missingFrom(
      "metrics.md",
      gauges.map(({ name }) => name),
    ),
  ).toEqual([])
  expect(missingFrom("metrics.md", ["latchkey_sign_in_checks_total"])).toEqual([])
})
