// Every operation, in every encoding that it has: the rows are data, this runs them.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type House, openHouse } from "./house.ts"
import type { Row } from "./row.ts"
import { type Family, rows } from "./rows/index.ts"
import { runRow, waysTo } from "./run.ts"
import { closeWays, type Way } from "./ways.ts"

/** Declares the tests of some families of rows, which share an instance. */
export function testFamilies(families: readonly Family[]): void {
  let house: House
  beforeAll(async () => {
    house = await openHouse()
  })
  afterAll(async () => {
    closeWays()
    await house.close()
  })
  const each = families.map((family) => [family, rows[family]] as const)
  describe.each<readonly [Family, readonly Row[]]>(each)("%s", (_, some) => {
    test.each(some.map((row) => [titleOf(row), row] as const))("%s", async (_, row) => {
      for (const [name, way] of waysTo(row)) await check(row, name, way, house)
    })
  })
}

const titleOf = ({ call, name, as = "manager" }: Row) =>
  `${call}${name ? ` ${name}` : ""}, as ${as}`

/** Names the way in what it compares, so that a failure says which encoding is another. */
async function check(row: Row, way: string, run: Way, house: House): Promise<void> {
  const own = row.once ? await openHouse() : house
  const { code, id, body, events, status, expected } = await runRow(own, row, run)
  if (row.once) await own.close()
  expect({ way, code, id, events }).toEqual({
    way,
    code: row.code ?? "ok",
    id: row.id,
    events: row.events ?? [],
  })
  if (code === "ok") {
    expect({ way, body }).toMatchObject({ way, body: expected })
    if (status !== undefined) expect({ way, status }).toEqual({ way, status: 200 })
  }
}
