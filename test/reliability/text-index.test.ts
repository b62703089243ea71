import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { aggregates, views } from "../../src/server/modules.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { pause } from "../support/wait.ts"
import { openWorld } from "../support/world.ts"
import { countOf } from "./text-index/look.ts"

/** The last number that a process has told before it is killed. */
async function killed(folder: string, afterMs: number): Promise<number> {
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
  "a kill while names are indexed costs the index (after %i ms)",
  async (ms) => {
    const folder = temporaryFolder()
    const last = await killed(folder.path, ms)
    const kept = ["latchkey.db", "latchkey.db-mark", "latchkey.db-shm", "latchkey.db-wal"]
    const others = () => readdirSync(folder.path).filter((name) => !kept.includes(name))
    // Between its making and the loss of its name it has no texts yet, and the next one takes it.
    for (const name of others()) {
      expect(name).toBe("latchkey.db-texts")
      expect(readFileSync(join(folder.path, name)).includes("led-")).toBe(false)
    }
    const world = openWorld({ aggregates, views, textIndexFrom: 0 }, folder)
    // At first there is no index, then one in the making, and then a whole one.
    for (let time = 0; time < 5; time++) {
      for (let count = 0; count <= last; count++) {
        expect(await countOf(world.cx(), `led-${count}-`), `${count}`).toBe(50)
      }
    }
    expect(others()).toEqual([])
    await world.close()
  },
)
