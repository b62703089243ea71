// Every upgrade step is counted in advance and has a documented undo.
import { Database } from "bun:sqlite"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { upgradeCommands } from "../../src/boot/command/upgrade.ts"
import { firstInstance } from "../../src/domain/setup/index.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { userView } from "../../src/domain/user-lookup/view.ts"
import { user } from "../../src/domain/user-model/model.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { aggregates, views } from "../../src/server/modules.ts"
import { planUpgrade } from "../../src/server/operator/upgrade.ts"
import { undoMethods } from "../../src/store/index.ts"
import { migrations } from "../../src/store/log/schema.ts"
import { supportedSchema } from "../../src/store/snapshot.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { openTestEnvironment } from "../support/test-environment.ts"

const docs = readFileSync("docs/operate/upgrade.md", "utf8")

let folder: ReturnType<typeof temporaryFolder>
let file = ""
beforeEach(() => {
  folder = temporaryFolder()
  file = join(folder.path, "latchkey.db")
  const kept = join(import.meta.dirname, "../server/earlier-version/latchkey.db.gz")
  writeFileSync(file, gunzipSync(readFileSync(kept)))
})
afterEach(() => folder.remove())

const upgradeSteps = () => planUpgrade({ file, isInUse: false }).steps

function inDatabase<T>(read: (database: Database) => T): T {
  const database = new Database(file)
  try {
    return read(database)
  } finally {
    database.close()
  }
}

const countOf = (sql: string): number =>
  inDatabase((database) => database.query<{ count: number }, []>(sql).get()?.count ?? -1)

test("every table version has a step to the next one", () => {
  const versions = Array.from({ length: supportedSchema - 1 }, (_, at) => at + 1)
  expect([...migrations.keys()]).toEqual(versions)
})

describe.each([...migrations])("the tables of version %d", (version, { description, table }) => {
  test("are counted before the change", () => {
    const rows = table ? countOf(`SELECT count(*) AS count FROM ${table}`) : 0
    if (table) expect(rows).toBeGreaterThan(0)
    inDatabase((database) => database.run(`PRAGMA user_version = ${version}`))
    const name = `${version} to ${version + 1}`
    expect(upgradeSteps().find((step) => step.name === name)).toEqual({
      kind: "tables",
      name,
      description,
      count: rows,
      unit: "rows",
    })
    const tables = upgradeSteps().filter(({ kind }) => kind === "tables")
    expect(tables).toHaveLength(supportedSchema - version)
  })

  test("have a documented undo", () => {
    const row =
      `| tables ${version} to ${version + 1} | ${description} | ` + `\`${undoMethods.tables}\` |`
    expect(docs).toContain(row)
  })
})

test("states and lists have a documented undo", () => {
  for (const kind of ["states", "lists"] as const)
    expect(docs).toMatch(new RegExp(`^\\| ${kind} \\| .* \\| ${undoMethods[kind]} \\|$`, "m"))
})

test("states are counted by their events, all of them for older tables", () => {
  const states = upgradeSteps().filter(({ kind }) => kind === "states")
  expect(states.map(({ name }) => name)).toEqual(aggregates.map(({ stream }) => stream))
  const events = states.reduce((sum, { count }) => sum + count, 0)
  expect(events).toBe(countOf("SELECT count(*) AS count FROM event"))
})

test("lists are counted by their rows", () => {
  const generation = inDatabase((database) =>
    database.query<{ generation: number }, []>("SELECT * FROM view WHERE name = 'org'").get(),
  )?.generation
  const rows = ["orgs", "org_domains"].map((table) =>
    countOf(`SELECT count(*) AS count FROM ${table}_${generation}`),
  )
  expect(upgradeSteps()).toContainEqual({
    kind: "lists",
    name: "org",
    unit: "rows",
    description: "the list org is rebuilt in the background",
    count: rows.reduce((sum, count) => sum + count, 0),
  })
})

test("the command prints each step with its number and its undo", async () => {
  const command = upgradeCommands({
    env: {},
    random: systemRandom,
    clock: systemClock,
    server: async () => ({ planUpgrade }),
  })
  const text = (await command["upgrade check"]?.run({ "--data": folder.path }))?.text ?? ""
  const claims = countOf("SELECT count(*) AS count FROM claim")
  expect(text).toContain(`4 to 5: reserved names get checksums (${claims} rows)`)
  expect(text).toMatch(/states +rebuilt: .*user \(\d+ events\)/)
  expect(text).toMatch(/lists +rebuilt next to the old ones: .*user \(\d+ rows\)/)
  for (const way of Object.values(undoMethods)) expect(text).toContain(`to go back: ${way}`)
})

test("the previous version recomputes its own states and lists", async () => {
  const later = {
    aggregates: aggregates.map((kind) =>
      kind.stream === user.stream ? { ...kind, revision: 99 } : kind,
    ),
    views: views.map((view) =>
      view === userView ? { ...userView, hash: "of a later version" } : view,
    ),
  }
  const name = async (modules: Parameters<typeof openTestEnvironment>[0]) => {
    const world = openTestEnvironment({ ...modules, textIndexFrom: 0 }, folder)
    await world.store.rebuilt()
    const found = findByLoginName(world.cx({ instance: firstInstance }), "mueller")
    await world.store.close()
    return found
  }
  const before = await name({ aggregates, views })
  expect(before).toBeDefined()
  expect(await name(later)).toBe(before)
  const counted = upgradeSteps().filter(({ count }) => count > 0)
  expect(counted.map(({ kind, name }) => `${kind} ${name}`)).toEqual(["states user", "lists user"])
  expect(await name({ aggregates, views })).toBe(before)
  expect(upgradeSteps()).toEqual([])
})
