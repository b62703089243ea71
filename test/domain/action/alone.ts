// Runs scripts in a separate process, so that only their memory is measured.
//   alone.ts rest SCRIPT: ends when the threads are idle
//   alone.ts memory SCRIPT: prints the growth of the process in bytes over ten more runs

import type { Outcome } from "../../../src/domain/action/script/messages.ts"
import { createPool } from "../../../src/domain/action/script/pool.ts"
import { pause, until } from "../../support/wait.ts"

const [mode = "", script = ""] = process.argv.slice(2)
const pool = createPool()
const input = { shape: "token", data: { claims: { sub: "pat" }, clientId: "client" } } as const
const run = (text: string, timeoutMs = 60_000): Promise<Outcome> =>
  pool.run({
    job: { name: "f", script: text, input, timeoutMs, workMs: 200, pagesMax: 512 },
    answers: {},
    owner: "acme",
  })
const harmlessScript = "function f(ctx, api) { api.v1.claims.setClaim('a', 1) }"

/** The share of a core that this process uses. */
async function measureCpuShare(): Promise<number> {
  const before = process.cpuUsage()
  const begun = performance.now()
  await pause(200, "the work that is done meanwhile is what is measured")
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / (performance.now() - begun)
}

await run(harmlessScript)
if (mode === "rest") {
  const { failed } = await run(script, 1000)
  await until(async () => (await measureCpuShare()) < 0.3, { what: "a thread at rest" })
  console.log(failed?.by)
} else {
  await run(script)
  const before = process.memoryUsage.rss()
  for (let count = 0; count < 10; count++) await run(script)
  for (let count = 0; count < 5; count++) await run(harmlessScript)
  console.log(process.memoryUsage.rss() - before)
}
process.exit(0)
