// Every column for searching or sorting users has an index, to avoid scans of a million rows.
import { afterAll, beforeAll, expect, test } from "vitest"
import { users } from "../../../src/domain/user-lookup/view.ts"
import { aggregates, views } from "../../../src/server/modules.ts"
import { openTestEnvironment, type TestEnvironment } from "../../support/test-environment.ts"

let world: TestEnvironment
beforeAll(() => {
  world = openTestEnvironment({ aggregates, views })
})
afterAll(() => world.close())

test.each([...users.columns])("users by %s", (column) => {
  const { store } = world
  const isThere = [column, `${column}_folded`].some((name) => store.index(users.table, name))
  expect(isThere).toBe(true)
})
