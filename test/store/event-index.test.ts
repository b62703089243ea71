// The event index finds what the log finds, however much is indexed.
import { Database } from "bun:sqlite"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type EventWindow, findPositions } from "../../src/store/log/event-window.ts"
import { schema } from "../../src/store/log/schema.ts"
import { createEventIndex, type EventIndex } from "../../src/store/search/event/event-index.ts"
import { searchEvents } from "../../src/store/search/event/event-search.ts"
import { temporaryFolder } from "../support/latchkey.ts"

const [types, streams] = [
  ["one", "two", "three", "rare"],
  ["user", "org", "session"],
]
/** More than one block of the index. */
const total = 80_000
const started = 1_700_000_000_000

let folder: ReturnType<typeof temporaryFolder>
let database: Database
let index: EventIndex
beforeAll(() => {
  folder = temporaryFolder()
  database = new Database(join(folder.path, "log.db"), { create: true, strict: true })
  for (const statement of schema) database.run(statement)
  const names = [...types, ...streams]
  for (const [at, name] of names.entries())
    database.run("INSERT INTO name VALUES (?, ?)", [at + 1, name])
  add(1, total)
  index = createEventIndex({ database, file: join(folder.path, "events"), rowsMin: 1000 })
})
afterAll(() => {
  index.close()
  database.close()
  folder.remove()
})

/** Every thirteenth position was never written. */
function add(from: number, to: number): void {
  const insert = database.prepare(
    `INSERT INTO event (position, instance, stream, id, version, type, revision, data, time,
       editor_user, editor_client, owner, correlation, sum)
     VALUES (?, ?, ?, ?, 1, ?, 1, '{}', ?, ?, '', ?, '', 0)`,
  )
  database.transaction(() => {
    for (let position = from; position <= to; position++) {
      if (position % 13 === 0) continue
      const type = position % 9973 === 0 ? 4 : 1 + (hash(position) % 3)
      insert.run(
        position,
        `i${hash(position + 1) % 2}`,
        5 + (hash(position + 2) % 3),
        `${position}`,
        type,
        started + position * 10,
        `editor${hash(position + 3) % 500}`,
        `org${hash(position + 4) % 7}`,
      )
    }
  })()
}

const hash = (value: number) => Number(Bun.hash.xxHash32(`${value}`))

const filters: readonly Partial<EventWindow>[] = [
  {},
  { types: ["rare"] },
  { types: ["one", "rare"], streams: ["org"] },
  { editor: "editor77" },
  { editor: "editor77", types: ["two"], owner: "org3" },
  { editor: "nobody" },
  { types: ["never.written"] },
  { owner: "org1", since: started + 400_000, until: started + 402_000 },
  { since: started + 790_000 },
  { until: started + 900, streams: ["session", "user"] },
  { types: ["one"], editor: "editor3", since: started + 100_000, until: started + 700_000 },
]

/** Continues like a caller until there is enough or nothing left. */
function search(filter: Partial<EventWindow>, asc: boolean, limit: number): readonly number[] {
  let [after, upTo] = [filter.after ?? 0, filter.upTo ?? total]
  const found: number[] = []
  while (after < upTo && found.length < limit) {
    const left = { ...filter, asc, instance: "i0", limit: limit - found.length, after, upTo }
    const { positions, reached } = searchEvents(database, index, left)
    found.push(...positions)
    if (asc) after = reached
    else upTo = reached
  }
  return found
}

function expectSame(): void {
  for (const filter of filters) {
    for (const asc of [true, false]) {
      for (const [limit, part] of [
        [5, {}],
        [400, { after: 30_000, upTo: 65_537 }],
        [3000, { upTo: 65_536 }],
      ] as const) {
        const window = { after: 0, upTo: total, ...filter, ...part, instance: "i0", asc, limit }
        expect({ ...filter, found: search({ ...filter, ...part }, asc, limit) }).toEqual({
          ...filter,
          found: findPositions(database, window),
        })
      }
    }
  }
}

test("before, during, and after indexing", () => {
  expectSame()
  expect(index.isBehind()).toBe(true)
  while (index.upTo() < 50_000) index.work()
  expectSame()
  while (index.work()) {}
  expect(index.isBehind()).toBe(false)
  expect(index.upTo()).toBe(total)
  expectSame()
})

test("events that were deleted from the log are not found or searched again", () => {
  database.run("DELETE FROM event WHERE position % 3 = 0 OR position BETWEEN 20000 AND 70000")
  expectSame()
  const window = { instance: "i0", after: 20_000, upTo: 69_999, asc: true, limit: 1000 }
  while (index.candidates(window).positions.length > 0) {
    const { reached } = searchEvents(database, index, window)
    expect(reached).toBeGreaterThan(20_000)
  }
})

test("later events are found, too", () => {
  add(total + 1, total + 500)
  const late = { after: total, upTo: total + 500 }
  expect(search({ ...late, types: ["one"] }, true, 1000)).toEqual(
    findPositions(database, { ...late, types: ["one"], instance: "i0", asc: true, limit: 1000 }),
  )
  while (index.work()) {}
  expect(index.upTo()).toBe(total + 500)
  expect(search(late, false, 1000).length).toBeGreaterThan(200)
})
