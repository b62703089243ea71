// A node whose log is in PostgreSQL, in service: killed, robbed of its folder.
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { run, temporaryFolder } from "../support/latchkey.ts"
import { type Postgres, startPostgres } from "../support/postgres.ts"
import { needs } from "../support/prerequisite.ts"
import { type KillLoop, killLoop } from "./kill-loop/loop.ts"

const rounds = 4

describe.runIf(needs("postgres"))("with its log in PostgreSQL", () => {
  const folder = temporaryFolder()
  let postgres: Postgres
  beforeAll(() => {
    postgres = startPostgres()
    const key = Buffer.alloc(32, 7).toString("base64")
    writeFileSync(join(folder.path, "key"), key, { mode: 0o600 })
  })
  afterAll(() => {
    postgres.remove()
    folder.remove()
  })
  const settings = async () =>
    `database = "${await postgres.database()}"\nmaster_key_file = "${join(folder.path, "key")}"\n`

  describe("a server that is killed under load, and loses its folder every other time", () => {
    let outcome: KillLoop
    beforeAll(async () => {
      const losesFolder = (round: number) => round % 2 === 1
      outcome = await killLoop(join(folder.path, "killed"), rounds, {
        ...{ settings: await settings(), losesFolder },
      })
    }, 180_000)

    test("was under load", () => {
      expect(outcome.acknowledged).toBeGreaterThan(rounds * 50)
    })

    test("has all that it acknowledged, and its rows are what a replay makes of the log", () => {
      expect(outcome.complaints).toEqual([])
    })
  })

  test("says in plain words what keeps it from starting", async () => {
    const data = join(folder.path, "third")
    const key = join(folder.path, "key")
    const started = (url: string) =>
      run(["serve", "--data", data, "--database", url, "--master-key-file", key])
    const nowhere = await started("postgres://latchkey@127.0.0.1:1/none")
    expect([nowhere.code, nowhere.output]).toEqual([1, expect.stringMatching(/does not answer/)])
    const odd = await started("mysql://localhost/none")
    expect([odd.code, odd.output]).toEqual([1, expect.stringMatching(/--database must be/)])
  })
})
