import { Database } from "bun:sqlite"
import { readFileSync, writeFileSync } from "node:fs"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { Fault } from "../../src/kernel/fault.ts"
import { aggregate, type Event, statement, systemStatement, view } from "../../src/store/index.ts"
import { openWorld } from "../support/world.ts"
import { account, modules, openFile, temporaryFile } from "./account.ts"

let file: string
let remove: () => void
beforeEach(() => {
  const made = temporaryFile()
  file = made.file
  remove = made.remove
})
afterEach(() => remove())

/** Does something to a file that a store has made and left. */
async function planted(plant: (database: Database) => void): Promise<void> {
  await openFile(file).close()
  const database = new Database(file)
  plant(database)
  database.close()
}

function refusal(): string {
  try {
    openFile(file)
    return "opened"
  } catch (cause) {
    if (cause instanceof Fault) return `${cause.id}: ${cause.message}`
    throw cause
  }
}

describe("a start is refused, with one line and nothing touched,", () => {
  const untouched = () => {
    const before = readFileSync(file)
    const said = refusal()
    expect(said).not.toContain("\n")
    expect(readFileSync(file).equals(before)).toBe(true)
    return said
  }

  test("by a file that is no database", () => {
    writeFileSync(file, "This is a letter, not a database. ".repeat(200))
    expect(untouched()).toMatch(/^start\.database_damaged: .*Restore/)
  })

  test("by somebody else's database", () => {
    const other = new Database(file)
    other.run("CREATE TABLE song (title TEXT)")
    other.close()
    expect(untouched()).toMatch(/^start\.database_foreign: /)
  })

  test("by a database of a newer version", async () => {
    await planted((database) => database.run("PRAGMA user_version = 99"))
    expect(untouched()).toMatch(/^start\.database_newer: .*schema 99/)
  })

  test("by an event whose type is not known, which is named", async () => {
    await planted((database) => {
      database.run("INSERT INTO name VALUES (1, 'account'), (2, 'account.crowned')")
      database.run("INSERT INTO kind VALUES (1, 2, 1, 17)")
    })
    expect(untouched()).toMatch(
      /^store\.event_unreadable: event 17 \(account\.crowned\).*type is not known/,
    )
  })

  test("by an event of a newer revision, which is named", async () => {
    await planted((database) => {
      database.run("INSERT INTO name VALUES (1, 'account'), (2, 'account.opened')")
      database.run("INSERT INTO kind VALUES (1, 2, 1, 17), (1, 2, 2, 18)")
    })
    expect(untouched()).toMatch(/^store\.event_unreadable: event 18 .*revision 2 is newer/)
  })
})

test("a first start that was killed while it made the file is taken up again", async () => {
  writeFileSync(file, "")
  const store = openFile(file)
  expect(store.database.query("PRAGMA auto_vacuum").get()).toEqual({ auto_vacuum: 2 })
  await store.close()
})

test("the unknown type that a store itself has written stops the next start", async () => {
  const crown = aggregate<Event<"crown.made">, null>({
    stream: "crown",
    initial: null,
    evolve: { "crown.made": () => null },
  })
  const world = openWorld({ aggregates: [crown], views: [] }, folderOf(file))
  await world.store.transact(world.cx(), (tx) =>
    tx.append(crown, "1", [{ type: "crown.made", data: {} }]),
  )
  await world.store.close()
  expect(refusal()).toMatch(/event 1 \(crown\.made\)/)
})

const folderOf = (path: string) => ({ path: path.replace(/\/[^/]*$/, ""), remove: () => undefined })

describe("a planted violation stops the start:", () => {
  type E = Event<"pot.filled"> | Event<"pot.broken">
  const evolve = { "pot.filled": () => null, "pot.broken": () => null }
  const open = (parts: Parameters<typeof openFile>[1]) => () => openFile(file, parts)

  test("an event without its evolve branch does not compile", () => {
    const { "pot.broken": _, ...lacking } = evolve
    // @ts-expect-error: pot.broken has no branch.
    const kind = aggregate<E, null>({ stream: "pot", initial: null, evolve: lacking })
    const broken = { ...kind, evolve: { ...lacking, "pot.broken": undefined } }
    expect(open({ aggregates: [broken], views: [] })).toThrow("pot.broken has no evolve branch")
  })

  test("a reducer for an event that there is not does not compile", () => {
    view<E>({
      name: "pot",
      tables: [],
      // @ts-expect-error: there is no such event.
      on: { "pot.filed": () => undefined },
    })
  })

  test("two aggregates that own the same streams", () => {
    const pot = aggregate<E, null>({ stream: "pot", initial: null, evolve })
    expect(open({ aggregates: [pot, pot], views: [] })).toThrow(/two aggregates own streams of pot/)
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

  test("an event that its aggregate does not know, at the append", async () => {
    const world = openWorld(modules)
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
    test(`a statement that is not bound to its instance: ${sql}`, () => {
      expect(() => statement(sql)).toThrow(/must bind every table to \$instance/)
    })

    test(`nor runs where that is not looked at before, as in the binary: ${sql}`, async () => {
      const world = openWorld(modules)
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
    test(`while one that is bound is welcome: ${sql}`, () => {
      expect(statement(sql).parameters).toContain("instance")
    })
  }

  test("a statement across instances without its reason", () => {
    expect(() => systemStatement("SELECT * FROM accounts", "")).toThrow(/needs a reason/)
  })
})
