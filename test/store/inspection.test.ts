// Data on disk is verified in the background, and damage is reported by location.
import { Database } from "bun:sqlite"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import type { Fault } from "../../src/kernel/fault.ts"
import type { Store } from "../../src/store/index.ts"
import { openTestEnvironment } from "../support/test-environment.ts"
import {
  account,
  accounts,
  eraseAccount,
  moveAccount,
  onInstance,
  openAccount,
  openFile,
  rejectionOf,
  renameAccount,
  storeFile,
  temporaryFile,
} from "./account.ts"
import { beginVisit, day, endVisit, visitModules, visits, writeEntry } from "./visit.ts"

const name = "lovelace"
const inspectOptions = { rest: 0, gone: (): readonly string[] => [] }
const calls = openTestEnvironment({ aggregates: [], views: [] })
let file: string
let remove: () => void
let store: Store
let troubles: Fault[]
const open = () => {
  troubles = []
  store = openFile(file, { trouble: (fault) => troubles.push(fault) })
}
beforeEach(async () => {
  const made = temporaryFile()
  file = made.file
  remove = made.remove
  open()
  for (let n = 0; n < 600; n++) {
    await openAccount(cx(), `${n}`, { name: `name${n}` })
    if (n === 7) await renameAccount(cx(), "7", name)
  }
})
afterEach(async () => {
  await store.close()
  remove()
})
const cx = (instance = "i1") => ({ ...calls.cx(onInstance(instance)), store })

test("intact data has no findings", async () => {
  expect([await store.inspect(inspectOptions), troubles]).toEqual([undefined, []])
})

test("a damaged state is rejected when it is read, and found otherwise", async () => {
  store.database.run("UPDATE state SET state = replace(state, 'lovelace', 'lovelase')")
  expect(await store.inspect(inspectOptions)).toMatchObject({
    code: "data_loss",
    id: "store.damaged",
  })
  expect(troubles.map(({ message }) => message)).toEqual([
    "the state of account 7 is damaged on disk; restore the data directory from a backup",
  ])
  await store.close()
  open()
  expect(() => store.state(cx(), account, "7")).toThrow("the state of account 7 is damaged")
})

/** The findings for one flipped bit in a text, at each position where the file contains it. */
async function findingsFor(text: string): Promise<readonly string[]> {
  await store.close()
  const whole = readFileSync(file)
  const found: string[] = []
  for (let at = whole.indexOf(text); at >= 0; at = whole.indexOf(text, at + 1)) {
    const bytes = Buffer.from(whole)
    bytes[at + 3] = (bytes[at + 3] ?? 0) ^ 1
    writeFileSync(file, bytes)
    open()
    const fault = await store.inspect(inspectOptions)
    found.push(fault?.message.split(" is damaged")[0] ?? "missed")
    expect(troubles).toEqual(fault ? [fault] : [])
    await store.close()
  }
  writeFileSync(file, whole)
  open()
  return found.sort()
}

test("finds a flipped bit anywhere: event, state, claim, row, or index", async () => {
  expect(await findingsFor(name)).toEqual([
    "event 9",
    "the claim name of account 7",
    "the state of account 7",
    "the table accounts_1",
    "the table accounts_1",
  ])
})

test("finds a flipped bit in a blob of a stream", async () => {
  const kept = "a portrait of somebody"
  await storeFile(cx(), "7", kept)
  expect(await findingsFor(kept)).toEqual(["the file portrait of account 7"])
  store.database.run("UPDATE blob SET bytes = x'00'")
  const at = { id: "7", name: "portrait" }
  expect(() => store.blob(cx(), account, at)).toThrow("the file portrait of account 7 is damaged")
})

test("finds a flipped bit in a column without an index", async () => {
  expect(await findingsFor("name300@example.com")).toEqual(["a row of accounts", "event 302"])
})

test.each([
  ["is gone", "DELETE FROM accounts_1 WHERE id = '599'"],
  ["is one too many", "INSERT INTO accounts_1 VALUES ('i9', '1', 'stray', NULL, 0)"],
])("finds a row that %s", async (_, sql) => {
  store.database.run(sql)
  expect(await store.inspect(inspectOptions)).toMatchObject({
    message: "a row of accounts is damaged on disk; restore the data directory from a backup",
  })
})

test("a damaged claim is rejected, not given to another stream", async () => {
  store.database.run("UPDATE claim SET id = '8' WHERE key = 'lovelace'")
  const taking = openAccount(cx(), "new", { name })
  expect(await rejectionOf(taking)).toBe("data_loss store.damaged")
  expect(() => store.log.holder("i1", "name", name, 0)).toThrow("the claim name of account 8 is")
})

/** Inspects while the views are rebuilt at slice `at`. */
function inspectWith(at: number, gone: () => readonly string[] = inspectOptions.gone) {
  const begun = Promise.withResolvers<void>()
  let slices = 0
  const asked = () => {
    slices++
    if (slices === at) begun.resolve()
    return slices < at ? [] : gone()
  }
  return { begun: begun.promise, found: store.inspect({ ...inspectOptions, gone: asked }) }
}

test("rows that change or are erased meanwhile are not reported, and no data remains", async () => {
  const changes: Promise<unknown>[] = []
  const change = (n: number) => {
    if (n % 3 === 0) return eraseAccount(cx(), `${n}`)
    return n % 3 === 1
      ? moveAccount(cx(), `${n}`, `moved${n}@example.com`)
      : openAccount(cx(), `more${n}`, { name: `more${n}` })
  }
  let slices = 0
  const gone = () => {
    slices++
    // During the copy and during the comparison.
    if (slices === 3 || slices === 16)
      queueMicrotask(() =>
        changes.push(...Array.from({ length: 90 }, (_, n) => change(slices * 30 + n))),
      )
    return []
  }
  expect([await store.inspect({ ...inspectOptions, gone }), troubles]).toEqual([undefined, []])
  await Promise.all(changes)
  expect(changes.length).toBe(180)
  expect(await store.inspect(inspectOptions)).toBeUndefined()
  expect(readdirSync(dirname(file)).filter((each) => each.includes("inspection"))).toEqual([])
})

/** Counts the rows read since the last call by statements prepared from now on. */
function rowsRead(): { readonly next: () => number; readonly end: () => void } {
  let rows = 0
  const counted = <T extends { all: (...values: never[]) => unknown[] }>(created: T): T => {
    const { all } = created
    const count = (...values: Parameters<typeof all>) => {
      const found = all.apply(created, values)
      rows += found.length
      return found
    }
    return Object.assign(created, { all: count })
  }
  const { prepare, query } = Database.prototype
  const spies = [
    vi.spyOn(Database.prototype, "prepare").mockImplementation(function (this: Database, ...args) {
      return counted(prepare.apply(this, args))
    }),
    // The method caches statements, so that each must be prepared here once.
    vi.spyOn(Database.prototype, "query").mockImplementation(function (this: Database, ...args) {
      return counted(query.apply(this, [`${args[0]} -- ${preparedCount++}`]))
    }),
  ]
  const next = () => {
    const count = rows
    rows = 0
    return count
  }
  return {
    next,
    end: () => {
      for (const spy of spies) spy.mockRestore()
    },
  }
}
let preparedCount = 0

test("no slice reads more than a fixed number of rows", async () => {
  await store.close()
  const read = rowsRead()
  const slices: number[] = []
  try {
    open()
    read.next()
    // Called once in each slice, between the events and the rows.
    const gone = () => {
      slices.push(read.next())
      return []
    }
    expect(await store.inspect({ ...inspectOptions, gone })).toBeUndefined()
  } finally {
    read.end()
  }
  // Fifty events, and fifty rows on each side; all of them were read.
  expect(Math.max(...slices)).toBeLessThanOrEqual(150)
  expect(slices.reduce((sum, rows) => sum + rows, 0)).toBeGreaterThanOrEqual(3 * 600)
})

test("rebuilt views are inspected after their rebuild", async () => {
  await store.close()
  const views = [{ ...accounts, hash: "other" }]
  store = openFile(file, { views, trouble: (fault) => troubles.push(fault) })
  expect(store.rebuilding()).toEqual(["account"])
  expect(await store.inspect(inspectOptions)).toBeUndefined()
  expect(store.rebuilding()).toEqual([])
  store.database.run("UPDATE accounts_2 SET email = 'stray' WHERE id = '3'")
  expect(await store.inspect(inspectOptions)).toMatchObject({ id: "store.damaged" })
})

test("streams that are deleted meanwhile are not reported", async () => {
  await store.close()
  const visiting = { aggregates: [account, ...visitModules.aggregates], views: [accounts, visits] }
  store = openFile(file, visiting)
  for (let n = 0; n < 150; n++) {
    await beginVisit(cx(), `${n}`, { name: `guest ${n}` })
    await endVisit(cx(), `${n}`)
    await writeEntry(cx(), `${n}`, "came")
  }
  await renameAccount(cx(), "1", "newest")
  // By then the copy contains their rows, and nothing has been compared.
  const { begun, found } = inspectWith(21)
  await begun
  const now = calls.clock.now() + 100 * day
  const limits = { now, auditedBefore: now, position: Number.MAX_SAFE_INTEGER }
  const pruned = await store.prune({ ...limits, stopped: () => false })
  expect([pruned.streams, await found]).toEqual([300, undefined])
  expect(await store.inspect(inspectOptions)).toBeUndefined()
})

test("a removed instance is skipped, and the others are inspected", async () => {
  for (let n = 0; n < 120; n++) await openAccount(cx("i0"), `${n}`, { name: `other${n}` })
  const gone = () => ["i0"]
  expect(await store.inspect({ ...inspectOptions, gone })).toBeUndefined()
  const { begun, found } = inspectWith(15, gone)
  await begun
  const keep = { stream: "", view: "" }
  const purged = store.purge({ instance: "i0", keep, stopped: () => false })
  expect([await found, (await purged) > 0]).toEqual([undefined, true])
  store.database.run("UPDATE accounts_1 SET email = 'stray' WHERE id = '3'")
  expect(await store.inspect({ ...inspectOptions, gone })).toMatchObject({ id: "store.damaged" })
})
