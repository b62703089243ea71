import { Database } from "bun:sqlite"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { temporaryFolder } from "../support/latchkey.ts"
import { call, newJournal, startLoad } from "../support/load.ts"
import { until } from "../support/wait.ts"
import { audit, findRebuildDifferences } from "./audit.ts"
import { fillDatabase } from "./replay/population.ts"
import { openServerFolder } from "./server-folder.ts"

const events = 50_000

/** Takes seconds, which become minutes on a busy machine. */
const timeoutMs = 240_000

describe(`replaying a log of ${events} events with erasures (R-10)`, () => {
  const folder = temporaryFolder()
  let file: string

  beforeAll(async () => {
    const house = await openServerFolder(folder.path)
    file = house.file
    const server = await house.start()
    const client = await house.client()
    const journal = newJournal()
    const load = startLoad(client, journal, { name: "served" })
    await until(() => journal.answers.size > 500, { limitMs: 120_000 })
    load.stop()
    await load.ended
    const half = journal.sent.filter((_, at) => at % 2 === 0)
    for (const deed of half) {
      if (deed.kind === "user") await call(client, "user.DeleteUser", { userId: deed.id })
      if (deed.kind === "project")
        await call(client, "project.DeleteProject", { projectId: deed.id })
    }
    await server.stop()
    await fillDatabase(file, events)
  }, 240_000)
  afterAll(() => folder.remove())

  test("has erasures, and the expected length", () => {
    const database = new Database(file)
    const count = (sql: string) => database.query<{ n: number }, []>(sql).get()?.n
    expect(count("SELECT count(*) AS n FROM event")).toBeGreaterThanOrEqual(events)
    const erased = `SELECT count(*) AS n FROM event JOIN name ON name.code = event.type
      WHERE name.name = 'user.human.added' AND private IS NULL`
    expect(count(erased)).toBeGreaterThan(100)
    database.close()
  })

  test(
    "produces the state rows, without gaps and damage",
    async () => {
      expect(await audit(file)).toEqual([])
    },
    timeoutMs,
  )

  test(
    "produces the rows of every view, three times",
    async () => {
      for (let time = 0; time < 3; time++) expect(await findRebuildDifferences(file)).toEqual([])
    },
    timeoutMs,
  )

  test(
    "reports rows that differ from the events, so these tests can fail",
    async () => {
      const database = new Database(file)
      const users = database.query<{ n: number }, []>(
        "SELECT generation AS n FROM view WHERE name = 'user'",
      )
      const table = `users_${users.get()?.n}`
      database.run(`UPDATE ${table} SET given_name = 'stray' WHERE id = 'person-1'`)
      const [stray = "", lost = ""] = database
        .query<{ id: string }, []>("SELECT id FROM state WHERE stream = 'user' LIMIT 2")
        .all()
        .map(({ id }) => id)
      database.run("UPDATE state SET state = '{}' WHERE id = ?", [stray])
      database.run("DELETE FROM state WHERE id = ?", [lost])
      database.run("DELETE FROM event WHERE position = 4711")
      database.close()
      expect(await findRebuildDifferences(file)).toContain("users")
      const found = await audit(file)
      expect(found).toContainEqual(expect.stringMatching(/^\d+ events up to position \d+$/))
      expect(found).toContain(`the state of ["1","user","${stray}"] is not what its events say`)
      expect(found).toContain(`["1","user","${lost}"] has no state, or not that of its event`)
    },
    timeoutMs,
  )
})
