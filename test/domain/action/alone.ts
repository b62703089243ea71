// Runs scripts in a process of its own, of which alone it measures what they leave behind.
//   alone.ts rest SCRIPT: ends when the threads compute nothing any more
//   alone.ts memory SCRIPT: prints how many bytes the process has grown by, in ten more runs
import { newPool } from "../../../src/domain/action/script/pool.ts"
import type { Outcome } from "../../../src/domain/action/script/wire.ts"
import { pause, until } from "../../support/wait.ts"

const [mode = "", script = ""] = process.argv.slice(2)
const pool = newPool()
const input = { shape: "token", data: { claims: { sub: "pat" }, clientId: "client" } } as const
const run = (text: string, timeoutMs = 60_000): Promise<Outcome> =>
  pool.run({
    job: { name: "f", script: text, input, timeoutMs, workMs: 200, pagesMax: 512 },
    answers: {},
    whose: "acme",
  })
const harmless = "function f(ctx, api) { api.v1.claims.setClaim('a', 1) }"

/** The part of a core that this process uses. */
async function use(): Promise<number> {
  const before = process.cpuUsage()
  const begun = performance.now()
  await pause(200, "the work that is done meanwhile is what is measured")
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / (performance.now() - begun)
}

await run(harmless)
if (mode === "rest") {
  const { failed } = await run(script, 1000)
  await until(async () => (await use()) < 0.3, { what: "a thread at rest" })
  console.log(failed?.by)
} else {
  await run(script)
  const before = process.memoryUsage.rss()
  for (let count = 0; count < 10; count++) await run(script)
  for (let count = 0; count < 5; count++) await run(harmless)
  console.log(process.memoryUsage.rss() - before)
}
process.exit(0)
