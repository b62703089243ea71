// A data directory of an earlier version: four users, one of whom must not be found, a project with
// an application, and a group.
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { afterEach, beforeEach, expect, test } from "vitest"
import { apps } from "../../src/domain/app/view.ts"
import { groups } from "../../src/domain/group/view.ts"
import { orgs } from "../../src/domain/org/view.ts"
import { projects } from "../../src/domain/project/index.ts"
import { firstInstance } from "../../src/domain/setup/index.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { users } from "../../src/domain/user-lookup/view.ts"
import { aggregates, views } from "../../src/server/modules.ts"
import { type Filter, type Searchable, search } from "../../src/store/index.ts"
import { audit } from "../reliability/audit.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"

let folder: ReturnType<typeof temporaryFolder>
let world: TestEnvironment
beforeEach(() => {
  folder = temporaryFolder()
  const kept = join(import.meta.dirname, "earlier-version", "latchkey.db.gz")
  writeFileSync(join(folder.path, "latchkey.db"), gunzipSync(readFileSync(kept)))
  world = openTestEnvironment({ aggregates, views, textIndexFrom: 0 }, folder)
})
afterEach(() => world.close())

const cx = () => world.cx({ instance: firstInstance })

async function searchValues(
  searchable: Searchable,
  column: string,
  ...filters: Filter[]
): Promise<string[]> {
  const page = { offset: 0, limit: 100, asc: true }
  const { rows } = await search<Record<string, string>>(cx(), searchable, {
    page,
    sort: column,
    filters,
  })
  return rows.map((row) => `${row[column]}`)
}

const contains = (text: string, value: string): Filter => ({ text, method: "contains", value })

const names = ["mueller", "nguyen", "obrien", "strasse"]
const people = (filter: Filter) =>
  searchValues(users, "user_name", { equals: "kind", value: "human" }, filter)

test("everything is found while its lists are rebuilt and afterwards", async () => {
  expect(await searchValues(users, "user_name", contains("email", "@example.com"))).toEqual(
    expect.arrayContaining(names),
  )
  await world.store.rebuilt()
  for (const each of [1, 2]) {
    expect(await people(contains("display_name_folded", "MULLER")), `${each}`).toEqual(["mueller"])
    expect(await people(contains("display_name_folded", "strassburg anne"))).toEqual(["strasse"])
    expect(await people(contains("family_name_folded", "nguyen"))).toEqual(["nguyen"])
    expect(await people(contains("user_name", "gone"))).toEqual([])
    expect(await searchValues(orgs, "name")).toEqual(["Acme"])
    expect(await searchValues(projects, "name", contains("name", "Ledger"))).toEqual([
      "Ledger of old",
    ])
    expect(await searchValues(apps, "name", contains("name", "Spa"))).toEqual(["Spa of old"])
    expect(await searchValues(groups, "name")).toEqual(["Group of old"])
  }
  for (const name of names) expect(findByLoginName(cx(), name), name).toBeDefined()
  expect(findByLoginName(cx(), "gone")).toBeUndefined()
})

test("it is intact after it was opened", async () => {
  await world.store.rebuilt()
  await world.store.close()
  expect(await audit(join(folder.path, "latchkey.db"))).toEqual([])
  world = openTestEnvironment({ aggregates, views }, folder)
})
