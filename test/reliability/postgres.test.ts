// A node whose log is in PostgreSQL: killed, and without its data directory.
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { run, startLatchkey, temporaryFolder } from "../support/latchkey.ts"
import { call } from "../support/load.ts"
import { type Postgres, startPostgres } from "../support/postgres.ts"
import { needs } from "../support/prerequisite.ts"
import { type KillLoopResult, runKillLoop } from "./kill-loop/loop.ts"
import { openServerFolder } from "./server-folder.ts"

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

  describe("a server killed under load, which loses its data directory every other time", () => {
    let outcome: KillLoopResult
    beforeAll(async () => {
      const losesFolder = (round: number) => round % 2 === 1
      outcome = await runKillLoop(join(folder.path, "killed"), rounds, {
        settings: await settings(),
        losesFolder,
      })
    })

    test("was under load", () => {
      // The number depends on the load of the machine.
      expect(outcome.acknowledged).toBeGreaterThan(rounds * 5)
    })

    test("has all acknowledged writes, and its rows equal a replay of the log", () => {
      expect(outcome.complaints).toEqual([])
    })
  })

  test("moves a data directory into PostgreSQL, and back", async () => {
    const house = await openServerFolder(join(folder.path, "moved"))
    const alone = await house.start()
    const client = await house.client()
    const deed = { organizationId: client.orgId, name: "Kept" }
    const { projectId } = (await call(client, "project.CreateProject", deed)).body
    const kept = async () => {
      const { body } = await call(client, "project.GetProject", { projectId })
      return body.project?.name
    }
    const url = await postgres.database()
    const move = (...methods: readonly string[]) => run(["move", "--data", house.data, ...methods])
    expect(await move("--to", url)).toMatchObject({ code: 1 })
    await alone.stop()
    expect(await move("--to", url)).toMatchObject({
      code: 0,
      output: expect.stringMatching(/Moved and verified \d+ events/),
    })
    expect((await run(["serve", "--data", house.data])).output).toMatch(
      /this data directory belongs to a log in PostgreSQL/,
    )
    const { port } = new URL(client.url)
    const node = await startLatchkey({
      data: house.data,
      port: Number(port),
      args: ["--database", url],
    })
    expect(await kept()).toBe("Kept")
    await call(client, "project.UpdateProject", { projectId, name: "Changed" })
    await node.stop()
    expect(await move("--from", url)).toMatchObject({ code: 0 })
    const again = await house.start()
    expect(await kept()).toBe("Changed")
    await again.stop()
    const gone = await run(["serve", "--data", house.data, "--database", url])
    expect(gone.code).toBe(1)
  })

  test("reports plainly why it can't start", async () => {
    const data = join(folder.path, "third")
    const key = join(folder.path, "key")
    const started = (url: string) =>
      run(["serve", "--data", data, "--database", url, "--master-key-file", key])
    const nowhere = await started("postgres://latchkey@127.0.0.1:1/none")
    expect([nowhere.code, nowhere.output]).toEqual([
      1,
      expect.stringMatching(/the database does not respond/),
    ])
    const odd = await started("mysql://localhost/none")
    expect([odd.code, odd.output]).toEqual([1, expect.stringMatching(/--database must be/)])
  })
})
