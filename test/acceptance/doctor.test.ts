import { chmodSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  freePort,
  type RunningServer,
  run,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"

const folder = temporaryFolder()
const data = join(folder.path, "data")
let server: RunningServer
let port: number
beforeAll(async () => {
  port = await freePort()
  await setUp(data, `http://localhost:${port}`)
  server = await startLatchkey({ data, port })
})
afterAll(async () => {
  await server?.stop()
  folder.remove()
})

/** The findings by check. */
async function doctor() {
  const listen = ["--listen", `127.0.0.1:${port}`, "--grpc-listen", "127.0.0.1:0"]
  const { code, output } = await run(["doctor", "--data", data, ...listen, "--json"])
  const { findings } = JSON.parse(output)
  const states = findings.map((result: Record<string, string>) => [result.check, result.state])
  return { code, states: Object.fromEntries(states), findings }
}

test("reports no problem for a healthy server, which it calls at its public address", async () => {
  const { code, states } = await doctor()
  expect(states).toMatchObject({
    folder: "ok",
    "master key": "ok",
    server: "ok",
    address: "ok",
    name: "ok",
    tls: "ok",
    proxy: "ok",
    addresses: "ok",
    mail: "warning",
    owner: "ok",
    keys: "ok",
  })
  expect(code).toBe(0)
  const { output } = await run(["doctor", "--data", data])
  expect(output).toMatch(/warning {2}mail .*\n +→ add one in the console/)
})

test("reports problems and exits with 3", async () => {
  chmodSync(join(data, "master.key"), 0o644)
  const { code, states } = await doctor()
  expect([code, states["master key"]]).toEqual([3, "wrong"])
  chmodSync(join(data, "master.key"), 0o600)
})

test("reports that no server runs, and whether one could start", async () => {
  await server.stop()
  expect((await doctor()).states).toMatchObject({ server: "warning", ports: "ok" })
  server = await startLatchkey({ data, port })
})

test("returns nothing to other callers of its path", async () => {
  const answer = await fetch(`${server.url}/debug/doctor/guess`, {
    headers: { host: "evil.example" },
  })
  expect(answer.status).not.toBe(204)
})
