import { Database } from "bun:sqlite"
import { execFileSync } from "node:child_process"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { assertionOf, type RunningServer, temporaryFolder } from "../support/latchkey.ts"
import { type Client, call, exchangeAssertion, type Reply, sendWrite } from "../support/load.ts"
import { needs } from "../support/prerequisite.ts"
import { until } from "../support/wait.ts"
import { openServerFolder } from "./server-folder.ts"

describe.runIf(needs("prlimit"))("a disk that fails temporarily", () => {
  const folder = temporaryFolder()
  let house: Awaited<ReturnType<typeof openServerFolder>>
  let server: RunningServer
  let client: Client
  beforeAll(async () => {
    house = await openServerFolder(folder.path)
    server = await house.start()
    client = await house.client()
  })
  afterAll(async () => {
    await server?.stop()
    folder.remove()
  })

  const create = (id: string) => sendWrite(client, { kind: "user", id, name: id })
  const read = () => call(client, "org.ListOrganizations", {})
  const ready = async () => {
    const answer = await fetch(`${server.url}/debug/ready`)
    return [answer.status, await answer.text()] as const
  }
  const readyAgain = async () => {
    await until(async () => (await ready())[0] === 200, { limitMs: 60_000 })
  }
  const statuses = (replies: readonly Reply[]) => [...new Set(replies.map(({ status }) => status))]

  test("is retried while another program locks the file, and reads continue", async () => {
    const other = new Database(house.file)
    other.run("BEGIN EXCLUSIVE")
    const writing = Array.from({ length: 40 }, (_, n) => create(`locked-${n}`))
    const began = performance.now()
    const reads: Reply[] = []
    while (performance.now() - began < 1500) reads.push(await read())
    other.run("COMMIT")
    other.close()
    expect([statuses(reads), statuses(await Promise.all(writing))]).toEqual([[200], [200]])
    expect((await ready())[0]).toBe(200)
  })

  test("is reported plainly if it takes too long, and recovers by itself", async () => {
    const other = new Database(house.file)
    other.run("BEGIN EXCLUSIVE")
    const { status, body } = await create("late")
    expect([status, body.code]).toEqual([503, "unavailable"])
    expect(body.message).toMatch(/the database is locked by another program/)
    expect(await ready()).toEqual([
      503,
      expect.stringContaining("database is locked by another program"),
    ])
    other.run("COMMIT")
    other.close()
    await readyAgain()
    expect((await create("late")).status).toBe(200)
  })

  test("is not reported as a client error at any endpoint, and recovers", async () => {
    const limit = (bytes: string) =>
      execFileSync("prlimit", [`--pid=${server.process.pid}`, `--fsize=${bytes}:`])
    limit("4096")
    const { status, body } = await create("limited")
    expect([status, body.code]).toEqual([503, "unavailable"])
    expect(body.message).toMatch(/the database has reached the maximum file size/)
    const token = await exchangeAssertion(client, await assertionOf(client.url, client.key, "one"))
    expect([token.status, token.body.error]).toEqual([503, "temporarily_unavailable"])
    expect((await read()).status).toBe(200)
    expect(await ready()).toEqual([503, expect.stringContaining("maximum file size")])
    limit("unlimited")
    await readyAgain()
    expect((await create("limited")).status).toBe(200)
    expect(server.output()).not.toMatch(/internal error|SQLITE_IOERR.*at /)
  })
})
