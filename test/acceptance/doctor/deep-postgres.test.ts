import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  freePort,
  type RunningServer,
  run,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../../support/latchkey.ts"
import { type Postgres, startPostgres } from "../../support/postgres.ts"
import { needs } from "../../support/prerequisite.ts"
import type { Finding } from "./proxied-server.ts"

describe.runIf(needs("postgres"))("with the event log in PostgreSQL", () => {
  const folder = temporaryFolder()
  const data = join(folder.path, "data")
  let postgres: Postgres
  let server: RunningServer | undefined
  let port = 0
  let database = ""

  beforeAll(async () => {
    postgres = startPostgres()
    port = await freePort()
    mkdirSync(data, { mode: 0o700 })
    const key = join(folder.path, "key")
    writeFileSync(key, Buffer.alloc(32, 7).toString("base64"), { mode: 0o600 })
    database = await postgres.database()
    const settings = [
      `database = "${database}"`,
      `master_key_file = "${key}"`,
      `listen = "127.0.0.1:${port}"`,
      'grpc_listen = "127.0.0.1:0"',
    ]
    writeFileSync(join(data, "latchkey.toml"), settings.join("\n"), { mode: 0o600 })
    await setUp(data, `http://localhost:${port}`)
  })
  afterAll(async () => {
    await server?.stop()
    postgres?.remove()
    folder.remove()
  })

  const deep = async () => {
    const { output } = await run(["doctor", "--deep", "--json", "--data", data])
    const findings: readonly Finding[] = JSON.parse(output.slice(output.indexOf("{\n"))).findings
    const about = (check: string) =>
      findings.filter((each) => each.check === check).map(({ state, said }) => `${state}: ${said}`)
    return { signIn: about("sign-in"), clock: about("clock"), cleanUp: about("clean-up") }
  }
  const works = "ok: password, tokens, introspection, userinfo and sign-out work"

  test("while no server runs", async () => {
    const { signIn, clock, cleanUp } = await deep()
    expect(signIn).toEqual([works])
    expect(clock).toContain("ok: same time as PostgreSQL")
    expect(cleanUp).toEqual([])
  })

  test("the check before an upgrade includes PostgreSQL", async () => {
    const { code, output } = await run(["upgrade", "check", "--data", data])
    expect(code, output).toBe(0)
    expect(output).toMatch(/database +PostgreSQL already has the schema of this version \(\d+\)/)
  })

  /** A node registered for slightly longer than the test. */
  const beside = (version: string) =>
    asked(
      `INSERT INTO latchkey.node (part, folder, run, seen, version)
       VALUES (9, 'other', 'other', clock_timestamp() + interval '1 minute', '${version}')`,
    )
  const gone = () => asked("DELETE FROM latchkey.node WHERE part = 9")
  const asked = async (text: string) => {
    const sql = postgres.sql(database)
    await sql.unsafe(text)
    await sql.close()
  }
  const waits = /^warning: not tested while nodes run different versions/

  test("creates no user while a node of another version could read its events", async () => {
    await beside("0.0.1")
    expect((await deep()).signIn).toEqual([expect.stringMatching(waits)])
    server = await startLatchkey({ data, port })
    expect((await deep()).signIn).toEqual([expect.stringMatching(waits)])
    await server.stop()
    await gone()
  })

  test("while the server runs", async () => {
    server = await startLatchkey({ data, port })
    const { signIn, clock, cleanUp } = await deep()
    expect(signIn).toEqual([works])
    expect(clock).toContain("ok: same time as PostgreSQL")
    expect(cleanUp).toEqual([])
  })
})
