import { chmodSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { freePort, type Running, run, setUp, start, temporaryFolder } from "../support/latchkey.ts"

const folder = temporaryFolder()
const data = join(folder.path, "data")
let server: Running
let port: number
beforeAll(async () => {
  port = await freePort()
  await setUp(data, `http://localhost:${port}`)
  server = await start({ data, port })
})
afterAll(async () => {
  await server?.stop()
  folder.remove()
})

/** What it found, by check. */
async function doctor() {
  const listen = ["--listen", `127.0.0.1:${port}`, "--grpc-listen", "127.0.0.1:0"]
  const { code, output } = await run(["doctor", "--data", data, ...listen, "--json"])
  const { findings } = JSON.parse(output)
  const states = findings.map((found: Record<string, string>) => [found.check, found.state])
  return { code, states: Object.fromEntries(states), findings }
}

test("finds nothing wrong with a server that it asks through its public address", async () => {
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

test("finds what is wrong, and ends with 3", async () => {
  chmodSync(join(data, "master.key"), 0o644)
  const { code, states } = await doctor()
  expect([code, states["master key"]]).toEqual([3, "wrong"])
  chmodSync(join(data, "master.key"), 0o600)
})

test("says that no server runs, and whether one could", async () => {
  await server.stop()
  expect((await doctor()).states).toMatchObject({ server: "warning", ports: "ok" })
  server = await start({ data, port })
})

test("nobody else learns anything at its path", async () => {
  const answer = await fetch(`${server.url}/debug/doctor/guess`, {
    headers: { host: "evil.example" },
  })
  expect(answer.status).not.toBe(204)
})
