// The reference that a release brings along leaves nothing out.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { reference, writeReference } from "../../scripts/reference.ts"
import { book } from "../../src/api/book.ts"
import { keys, spelling } from "../../src/kernel/config.ts"
import { temporaryFolder } from "../support/latchkey.ts"

const folder = temporaryFolder()
writeReference(folder.path)
const pages = new Map(
  [...reference.keys()].map((name) => [name, readFileSync(join(folder.path, name), "utf8")]),
)
folder.remove()

const missing = (name: string, wanted: readonly string[]) =>
  wanted.filter((each) => !pages.get(name)?.includes(`\`${each}\``))

test("every setting is in it, as the environment spells it", () => {
  expect(missing("configuration.md", Object.keys(keys).map(spelling.env))).toEqual([])
})

test("every operation is in it, and says what it needs", () => {
  const names = book.flatMap(({ methods }) => methods.map(({ name }) => name))
  expect(missing("api.md", names)).toEqual([])
  const rows = pages.get("api.md")?.match(/^\| `.*$/gm) ?? []
  expect(rows).toHaveLength(names.length)
  expect(rows.filter((row) => / \|\s*\|$/.test(row))).toEqual([])
})
