// The layout of every view table and the hash of its view in data directories. A changed hash makes
// data directories rebuild the list, which `latchkey upgrade check` reports.
import { expect, test } from "vitest"
import { views } from "../../src/server/modules.ts"
import { handwrittenHashes } from "../../src/store/view/stored-hash.ts"
import { createTableStatements } from "../../src/store/view/view.ts"
import { tableOf } from "../contract/table.ts"

const collapseSpaces = (sql: string) => sql.replaceAll(/\s+/g, " ")

const declared = views.flatMap(({ name: view, hash, tables }) =>
  Object.entries(tables).map(([table, layout]) =>
    [table, view, hash, createTableStatements(table, layout).map(collapseSpaces).join("; ")].join(
      "\t",
    ),
  ),
)

const listed = tableOf("test/store/table-hashes.tsv").map(({ table, view, hash, ddl }) =>
  [table, view, hash, ddl].join("\t"),
)

test("each table has the layout, and each view the hash, of data directories", () => {
  expect(declared.sort()).toEqual(listed.sort())
})

test("the hash of a handwritten table is listed only while its view is unchanged", () => {
  const hashes = new Set(views.map(({ hash }) => hash))
  expect(Object.values(handwrittenHashes).filter((hash) => !hashes.has(hash))).toEqual([])
})
