// A column that people are searched or sorted by has an index, or a million are walked over.
import { afterAll, beforeAll, expect, test } from "vitest"
import { users } from "../../../src/domain/user-lookup/view.ts"
import { aggregates, views } from "../../../src/server/modules.ts"
import { openWorld, type World } from "../../support/world.ts"

let world: World
beforeAll(() => {
  world = openWorld({ aggregates, views })
})
afterAll(() => world.close())

test.each([...users.columns])("users by %s", (column) => {
  const { store } = world
  const isThere = [column, `${column}_folded`].some((name) => store.index(users.table, name))
  expect(isThere).toBe(true)
})
