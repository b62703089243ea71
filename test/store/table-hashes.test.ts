// The layout of every view table and the hash of its view, as data folders have them. A changed
// hash means that folders build the list again, which `latchkey upgrade check` says.
import { expect, test } from "vitest"
import { views } from "../../src/server/modules.ts"
import { handwrittenHashes } from "../../src/store/view/stored-hash.ts"
import { createTable } from "../../src/store/view/view.ts"
import { tableOf } from "../contract/table.ts"

const flat = (sql: string) => sql.replaceAll(/\s+/g, " ")

const declared = views.flatMap(({ name: view, hash, tables }) =>
  Object.entries(tables).map(([table, layout]) =>
    [table, view, hash, createTable(table, layout).map(flat).join("; ")].join("\t"),
  ),
)

const listed = tableOf("test/store/table-hashes.tsv").map(({ table, view, hash, ddl }) =>
  [table, view, hash, ddl].join("\t"),
)

test("each table has the layout and each view the hash that data folders have", () => {
  expect(declared.sort()).toEqual(listed.sort())
})

test("a hash of a handwritten table is listed only as long as its view is unchanged", () => {
  const hashes = new Set(views.map(({ hash }) => hash))
  expect(Object.values(handwrittenHashes).filter((hash) => !hashes.has(hash))).toEqual([])
})
