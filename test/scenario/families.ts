// All operations, in every encoding that it has: the rows are data, this runs them.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { listChanges } from "../../src/domain/history/past.ts"
import { readHistory } from "../../src/domain/history/resource.ts"
import texts from "../../src/domain/history/texts/en.json"
import { keyedCollections } from "../../src/domain/history/words.ts"
import type { Cx } from "../../src/store/index.ts"
import { openTestServer, type TestServer } from "./house.ts"
import type { Row } from "./row.ts"
import { type Family, rows } from "./rows/index.ts"
import { encodingsFor, runRow } from "./run.ts"
import { type CallEncoding, closeConnections } from "./ways.ts"

/** Declares the tests of families of rows that share an instance and its history. */
export function testFamilies(families: readonly Family[]): void {
  let house: TestServer
  beforeAll(async () => {
    house = await openTestServer()
  })
  afterAll(async () => {
    closeConnections()
    await house.close()
  })
  const each = families.map((family) => [family, rows[family]] as const)
  describe.each<readonly [Family, readonly Row[]]>(each)("%s", (_, some) => {
    test.each(some.map((row) => [testTitle(row), row] as const))("%s", async (_, row) => {
      for (const [name, way] of encodingsFor(row)) await check(row, name, way, house)
    })
  })
  test("what they changed is told in words, field by field", async () => {
    const told = await changedFields(house.within())
    expect(told.size).toBeGreaterThan(0)
    const known = new Set(Object.keys(texts.fields))
    const isKey = (path: readonly string[], at: number) => keyedCollections.has(path[at - 1] ?? "")
    const wordless = [...told.values()].flatMap((path) =>
      path.filter((part, at) => !known.has(part) && !isKey(path, at)),
    )
    expect([...new Set(wordless)]).toEqual([])
  })
}

/** The changed fields of every resource with a history. */
async function changedFields(cx: Cx): Promise<ReadonlyMap<string, readonly string[]>> {
  const told = new Map<string, readonly string[]>()
  const seen = new Set<string>()
  for (const { stream, id } of await cx.store.log.read(0, 100_000)) {
    const kind = cx.store.kind(stream)
    if (kind?.retention !== "forever" || seen.has(`${stream} ${id}`)) continue
    seen.add(`${stream} ${id}`)
    const part = { from: undefined, asc: true, limit: 1000 }
    for (const { differences } of await listChanges(
      cx,
      { kind, id, history: await readHistory(kind) },
      part,
    ))
      for (const { path } of differences) told.set(path.join(" "), path)
  }
  return told
}

const testTitle = ({ call, name, as = "manager" }: Row) =>
  `${call}${name ? ` ${name}` : ""}, as ${as}`

/** Includes the encoding in what it compares, so that a failure names it. */
async function check(
  row: Row,
  method: string,
  run: CallEncoding,
  house: TestServer,
): Promise<void> {
  const own = row.once ? await openTestServer() : house
  const { code, id, body, events, status, expected } = await runRow(own, row, run)
  if (row.once) await own.close()
  expect({ way: method, code, id, events }).toEqual({
    way: method,
    code: row.code ?? "ok",
    id: row.id,
    events: row.events ?? [],
  })
  if (code === "ok") {
    expect({ way: method, body }).toMatchObject({ way: method, body: expected })
    if (status !== undefined) expect({ way: method, status }).toEqual({ way: method, status: 200 })
  }
}
