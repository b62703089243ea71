// A column that people are searched or sorted by has an index, or a million are walked over.
import { afterAll, beforeAll, expect, test } from "vitest"
import { users } from "../../../src/domain/user/view.ts"
import { aggregates, views } from "../../../src/server/rooms.ts"
import { openWorld, type World } from "../../support/world.ts"

let world: World
beforeAll(() => {
  world = openWorld({ aggregates, views })
})
afterAll(() => world.close())

test.each([...users.columns])("users by %s", (column) => {
  const own = world.store.index(users.table, column)
  const folded = world.store.index(users.table, `${column}_folded`)
  expect(own ?? (folded?.raw === column ? folded : undefined)).toBeDefined()
})

test("what people are looked for by lies side by side", () => {
  expect(world.store.index(users.table, "display_name_folded")?.beside).toEqual([
    "user_name_folded",
    "email_folded",
  ])
})
