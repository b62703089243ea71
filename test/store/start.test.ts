import { Database } from "bun:sqlite"
import { readFileSync, writeFileSync } from "node:fs"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { Fault } from "../../src/kernel/fault.ts"
import { aggregate, type Event, statement, systemStatement, view } from "../../src/store/index.ts"
import { openTestEnvironment } from "../support/test-environment.ts"
import { account, modules, openFile, temporaryFile } from "./account.ts"

let file: string
let remove: () => void
beforeEach(() => {
  const made = temporaryFile()
  file = made.file
  remove = made.remove
})
afterEach(() => remove())

/** Modifies a file that a store has created and closed. */
async function withChange(plant: (database: Database) => void): Promise<void> {
  await openFile(file).close()
  const database = new Database(file)
  plant(database)
  database.close()
}

function startError(): string {
  try {
    openFile(file)
    return "opened"
  } catch (cause) {
    if (cause instanceof Fault) return `${cause.id}: ${cause.message}`
    throw cause
  }
}

describe("a start is rejected with one line and no changes", () => {
  const untouched = () => {
    const before = readFileSync(file)
    const said = startError()
    expect(said).not.toContain("\n")
    expect(readFileSync(file).equals(before)).toBe(true)
    return said
  }

  test("for a file that is not a database", () => {
    writeFileSync(file, "This is a letter, not a database. ".repeat(200))
    expect(untouched()).toMatch(/^start\.database_damaged: .*Restore/)
  })

  test("for a database of another program", () => {
    const other = new Database(file)
    other.run("CREATE TABLE song (title TEXT)")
    other.close()
    expect(untouched()).toMatch(/^start\.database_foreign: /)
  })

  test("for a database of a newer version", async () => {
    await withChange((database) => database.run("PRAGMA user_version = 99"))
    expect(untouched()).toMatch(/^start\.database_newer: .*schema 99/)
  })

  test("for an event of an unknown type, which is named", async () => {
    await withChange((database) => {
      database.run("INSERT INTO name VALUES (1, 'account'), (2, 'account.crowned')")
      database.run("INSERT INTO kind VALUES (1, 2, 1, 17)")
    })
    expect(untouched()).toMatch(
      /^store\.event_unreadable: event 17 \(account\.crowned\).*unknown type/,
    )
  })

  test("for an event of a newer revision, which is named", async () => {
    await withChange((database) => {
      database.run("INSERT INTO name VALUES (1, 'account'), (2, 'account.opened')")
      database.run("INSERT INTO kind VALUES (1, 2, 1, 17), (1, 2, 2, 18)")
    })
    expect(untouched()).toMatch(/^store\.event_unreadable: event 18 .*revision 2 is newer/)
  })
})

test("a first start that was killed while creating the file is resumed", async () => {
  writeFileSync(file, "")
  const store = openFile(file)
  expect(store.database.query("PRAGMA auto_vacuum").get()).toEqual({ auto_vacuum: 2 })
  await store.close()
})

test("an unknown type written by a store prevents the next start", async () => {
  const crown = aggregate<Event<"crown.made">, null>({
    stream: "crown",
    initial: null,
    evolve: { "crown.made": () => null },
  })
  const world = openTestEnvironment({ aggregates: [crown], views: [] }, folderOf(file))
  await world.store.transact(world.cx(), (tx) =>
    tx.append(crown, "1", [{ type: "crown.made", data: {} }]),
  )
  await world.store.close()
  expect(startError()).toMatch(/event 1 \(crown\.made\)/)
})

const folderOf = (path: string) => ({ path: path.replace(/\/[^/]*$/, ""), remove: () => undefined })

describe("a violation prevents the start:", () => {
  type E = Event<"pot.filled"> | Event<"pot.broken">
  const evolve = { "pot.filled": () => null, "pot.broken": () => null }
  const open = (parts: Parameters<typeof openFile>[1]) => () => openFile(file, parts)

  test("an event without its evolve branch does not compile", () => {
    const { "pot.broken": _, ...lacking } = evolve
    // @ts-expect-error: pot.broken has no branch.
    const kind = aggregate<E, null>({ stream: "pot", initial: null, evolve: lacking })
    const broken = { ...kind, evolve: { ...lacking, "pot.broken": undefined } }
    expect(open({ aggregates: [broken], views: [] })).toThrow("no evolve branch for pot.broken")
  })

  test("a reducer for an unknown event does not compile", () => {
    view<E>({
      name: "pot",
      tables: [],
      // @ts-expect-error: the event is unknown.
      on: { "pot.filed": () => undefined },
    })
  })

  test("two aggregates that own the same streams", () => {
    const pot = aggregate<E, null>({ stream: "pot", initial: null, evolve })
    expect(open({ aggregates: [pot, pot], views: [] })).toThrow(/two aggregates for stream pot/)
  })

  test("two aggregates with an event type in common", () => {
    const pot = aggregate<E, null>({ stream: "pot", initial: null, evolve })
    const pan = aggregate<E, null>({ stream: "pan", initial: null, evolve })
    expect(open({ aggregates: [pot, pan], views: [] })).toThrow(
      /two aggregates have events of type/,
    )
  })

  test("two views with one table", () => {
    const [one] = modules.views
    expect(open({ views: [one, { ...one, name: "other" }] })).toThrow(/two views declare/)
  })

  test("an event unknown to its aggregate, at the append", async () => {
    const world = openTestEnvironment(modules)
    const odd = world.store.transact(world.cx(), (tx) =>
      tx.append(account, "1", [{ type: "pot.filled", data: {} }]),
    )
    await expect(odd).rejects.toThrow("no evolve branch for pot.filled")
    await world.close()
  })

  for (const sql of [
    "SELECT * FROM accounts",
    "SELECT * FROM accounts WHERE id = $id",
    "SELECT * FROM accounts WHERE instance = $other",
    "SELECT a.id FROM accounts a JOIN names n ON n.id = a.id WHERE a.instance = $instance",
    "SELECT id FROM accounts WHERE instance = $instance AND id IN (SELECT id FROM names)",
    "UPDATE accounts SET name = $name WHERE id = $id",
    "DELETE FROM accounts",
    "INSERT INTO accounts (id, instance) VALUES ($id, $other)",
    "INSERT INTO accounts (instance, id) SELECT $instance, id FROM names",
  ]) {
    test(`a statement without an instance condition: ${sql}`, () => {
      expect(() => statement(sql)).toThrow(/must bind every table to \$instance/)
    })

    test(`and does not run without the check, as in the binary: ${sql}`, async () => {
      const world = openTestEnvironment(modules)
      const late = statement(sql, true)
      expect(() => world.store.all(world.cx(), late)).toThrow(/must bind every table to|no such/)
      expect(() => late.parameters).toThrow(/must bind every table to \$instance/)
      await world.close()
    })
  }

  for (const sql of [
    "SELECT * FROM accounts WHERE instance = $instance",
    `SELECT a.id FROM accounts a JOIN names n ON n.instance = a.instance AND n.id = a.id
     WHERE a.instance = $instance`,
    `INSERT INTO accounts (instance, id) VALUES ($instance, $id)
     ON CONFLICT DO UPDATE SET id = excluded.id`,
    `WITH own AS (SELECT id FROM names WHERE instance = $instance)
     SELECT id FROM accounts WHERE instance = $instance AND id IN (SELECT id FROM own)
       AND name IN (SELECT value FROM json_each($names))`,
  ]) {
    test(`while a statement with one is accepted: ${sql}`, () => {
      expect(statement(sql).parameters).toContain("instance")
    })
  }

  test("a statement across instances without its reason", () => {
    expect(() => systemStatement("SELECT * FROM accounts", "")).toThrow(
      /a statement across instances requires a reason/,
    )
  })
})
