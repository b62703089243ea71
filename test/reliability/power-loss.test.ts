import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { temporaryFolder } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import type { Loss } from "./power-loss/image.ts"
import { type RecordedRun, recordRun, runTrial } from "./power-loss/trial.ts"

const losses: readonly Loss[] = ["all", "random", "torn"]
const images = 51

describe.runIf(needs("gcc"))("after a power failure (R-02)", () => {
  const workshop = temporaryFolder()
  let trials: RecordedRun
  beforeAll(() => {
    trials = recordRun(workshop.path)
  })
  afterAll(() => workshop.remove())

  test("the recording contains our syncs, and checkpoints that restart the WAL", () => {
    const { operations } = trials
    const count = (isMeant: (index: number) => boolean) =>
      operations.filter((_, index) => isMeant(index)).length
    const restarts = count((index) => {
      const each = operations[index]
      return each?.kind === "write" && each.file === "latchkey.db-wal" && each.at === 0
    })
    expect(restarts).toBeGreaterThan(2)
    const syncs = count((index) => operations[index]?.kind === "sync ends")
    expect(syncs).toBeGreaterThan(50)
    const marks = count((index) => {
      const each = operations[index]
      return each?.kind === "write" && each.file === "latchkey.db-mark"
    })
    expect(marks).toBeGreaterThan(50)
  })

  for (const loss of losses) {
    test(`acknowledged events are present when the disk loses ${loss} of the rest`, async () => {
      for (let seed = 1; seed <= images / losses.length; seed++) {
        expect(await runTrial(trials, seed, loss), `seed ${seed}`).toEqual([])
      }
    })
  }

  test("a disk that ignores syncs is detected, so these trials can fail", async () => {
    const found = await runTrial(trials, 1, "synced too")
    expect(found).toContainEqual(expect.stringContaining("was acknowledged and is lost"))
  })
})
