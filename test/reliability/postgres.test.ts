// A node whose log is in PostgreSQL, in service: killed, robbed of its folder, taken over from.
import { cpSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { freePort, run, start, temporaryFolder } from "../support/latchkey.ts"
import { call } from "../support/load.ts"
import { type Postgres, startPostgres } from "../support/postgres.ts"
import { needs } from "../support/prerequisite.ts"
import { openHouse } from "./house.ts"
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

  test("a second node waits, and takes over what the first one was told", async () => {
    const house = await openHouse(join(folder.path, "first"), await settings())
    const first = await house.start()
    const client = await house.client()
    const deed = { organizationId: client.orgId, name: "Kept" }
    const made = await call(client, "project.CreateProject", deed)
    expect(made.status).toBe(200)

    const other = settingsOf(house.data, join(folder.path, "second"))
    const port = await freePort()
    const waiting = start({ data: other, port, args: ["--public-url", client.url] })
    await Bun.sleep(1500)
    // It must not answer while the first one does.
    await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow()
    await first.stop()
    const second = await waiting
    const { projectId } = made.body
    const headers = { host: new URL(client.url).host }
    const found = await fetch(`http://127.0.0.1:${port}/debug/ready`, { headers })
    expect([found.status, await found.text()]).toEqual([200, "ok\n"])
    expect(projectId).toBeTruthy()
    await second.stop()
    // And the first one again, which has missed nothing.
    const again = await house.start()
    const kept = await call(client, "project.GetProject", { projectId })
    expect(kept.body.project).toMatchObject({ name: "Kept" })
    await again.stop()
  }, 60_000)

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

/** The settings of one folder for another one. */
function settingsOf(data: string, folder: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  cpSync(join(data, "latchkey.toml"), join(folder, "latchkey.toml"))
  return folder
}
