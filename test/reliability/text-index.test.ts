import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { aggregates, views } from "../../src/server/modules.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { openTestEnvironment } from "../support/test-environment.ts"
import { pause } from "../support/wait.ts"
import { countUsers } from "./text-index/count.ts"

/** The last number that a process printed before it was killed. */
async function runAndKill(folder: string, afterMs: number): Promise<number> {
  const script = `${import.meta.dirname}/text-index/child.ts`
  const child = Bun.spawn([process.execPath, script, folder], { stdout: "pipe" })
  const reader = child.stdout.getReader()
  let told = Buffer.from((await reader.read()).value ?? "").toString()
  await pause(afterMs, "the kill must come at any moment, which is what is tested")
  child.kill("SIGKILL")
  await child.exited
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    told += Buffer.from(read.value).toString()
  }
  return Number(told.trim().split("\n").at(-1))
}

test.each([1, 30, 300])(
  "a kill during the indexing of names costs only the index (after %i ms)",
  async (ms) => {
    const folder = temporaryFolder()
    const last = await runAndKill(folder.path, ms)
    const kept = ["latchkey.db", "latchkey.db-mark", "latchkey.db-shm", "latchkey.db-wal"]
    const others = () => readdirSync(folder.path).filter((name) => !kept.includes(name))
    // After it is created and before it is renamed it has no texts yet, and the next process uses
    // it.
    for (const name of others()) {
      expect(name).toBe("latchkey.db-texts")
      expect(readFileSync(join(folder.path, name)).includes("led-")).toBe(false)
    }
    const world = openTestEnvironment({ aggregates, views, textIndexFrom: 0 }, folder)
    // At first there is no index, then a partial one, and then a complete one.
    for (let time = 0; time < 5; time++) {
      for (let count = 0; count <= last; count++) {
        expect(await countUsers(world.cx(), `led-${count}-`), `${count}`).toBe(50)
      }
    }
    expect(others()).toEqual([])
    await world.close()
  },
)
