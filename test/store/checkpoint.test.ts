import { Database } from "bun:sqlite"
import { statSync } from "node:fs"
import { describe, expect, test } from "vitest"
import {
  type CheckpointProgress,
  createCheckpointWorker,
  createGate,
  type WalBounds,
} from "../../src/store/log/checkpoint.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { openTestEnvironment } from "../support/test-environment.ts"
import { allAccounts, modules, openAccount, temporaryFile } from "./account.ts"

/** A gate whose copies end under control of the test. */
function gateWithManualCopies(pause?: () => Promise<() => void>, bounds: WalBounds = {}) {
  const copies: ((progress: CheckpointProgress) => void)[] = []
  const cuts: ((isEmpty: boolean) => void)[] = []
  let flushes = 0
  const gate = createGate(
    {
      passive: () => new Promise((resolve) => copies.push(resolve)),
      empty: () => new Promise((resolve) => cuts.push(resolve)),
      close: async () => undefined,
      pause,
    },
    () => void flushes++,
    bounds,
  )
  const finish = async (frames = 1) => {
    copies.shift()?.({ frames, copied: frames, isEmpty: false })
    await new Promise((resolve) => setImmediate(resolve))
  }
  const cut = async (isEmpty: boolean) => {
    cuts.shift()?.(isEmpty)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { gate, copies, cuts, finish, cut, flushes: () => flushes }
}

describe("the checkpoint gate", () => {
  test("stays open for most of the copy, closes for the rest, and opens again", async () => {
    const { gate, copies, finish, flushes } = gateWithManualCopies()
    gate.committed(2999)
    expect(copies).toHaveLength(0)
    gate.committed(1)
    expect([copies.length, gate.open(), flushes()]).toEqual([1, undefined, 0])
    await finish()
    expect([copies.length, flushes()]).toEqual([1, 1])
    const held = gate.open()
    expect(held).toBeInstanceOf(Promise)
    await finish()
    await held
    expect(gate.open()).toBeUndefined()
  })

  test("repeats the copy of new frames before it closes, until little is left", async () => {
    const { gate, copies, finish } = gateWithManualCopies()
    gate.committed(3000)
    for (const frames of [20_000, 23_000]) {
      await finish(frames)
      expect([copies.length, gate.open()]).toEqual([1, undefined])
    }
    await finish(24_024)
    expect([copies.length, gate.open()]).toEqual([1, expect.any(Promise)])
    await finish(24_100)
    expect(gate.open()).toBeUndefined()
  })

  test("closes after three copies if commits are faster", async () => {
    const { gate, finish } = gateWithManualCopies()
    gate.committed(3000)
    for (const frames of [20_000, 40_000, 60_000]) {
      expect(gate.open()).toBeUndefined()
      await finish(frames)
    }
    expect(gate.open()).toBeInstanceOf(Promise)
  })

  test("waits for readers before it closes, and admits new ones when it opens", async () => {
    const readers = Promise.withResolvers<() => void>()
    let isReading = false
    const { gate, copies, finish } = gateWithManualCopies(() => readers.promise)
    gate.committed(3000)
    await finish()
    expect([copies.length, gate.open()]).toEqual([0, undefined])
    readers.resolve(() => {
      isReading = gate.open() === undefined
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect([copies.length, gate.open()]).toEqual([1, expect.any(Promise)])
    await finish()
    expect(isReading).toBe(true)
  })

  test("runs one checkpoint at a time, and the next after as many events again", async () => {
    const { gate, copies, finish } = gateWithManualCopies()
    gate.committed(3000)
    gate.committed(5000)
    expect(copies).toHaveLength(1)
    await finish()
    gate.committed(2999)
    await finish()
    expect(copies).toHaveLength(0)
    gate.committed(1)
    expect(copies).toHaveLength(1)
  })

  test("waits for a long WAL if batched events used little of it", async () => {
    let frames = 0
    const { gate, copies, cuts, finish } = gateWithManualCopies(undefined, { frames: () => frames })
    for (let page = 0; page < 40; page++) gate.committed(500)
    expect(copies).toHaveLength(0)
    frames = 16_384
    gate.committed(499)
    expect(copies).toHaveLength(0)
    gate.committed(1)
    expect(copies).toHaveLength(1)
    await finish()
    await finish()
    frames = 0
    gate.committed(3000)
    expect(copies).toHaveLength(0)
    // Erasure does not wait for a threshold.
    gate.committed(500, true)
    await finish()
    expect(cuts).toHaveLength(1)
  })

  test("counts events if frames can't be counted", () => {
    const { gate, copies } = gateWithManualCopies(undefined, { frames: () => undefined })
    gate.committed(3000)
    expect(copies).toHaveLength(1)
  })

  test("truncates the WAL after an erasure, until that succeeds", async () => {
    const { gate, copies, cuts, finish, cut } = gateWithManualCopies()
    gate.committed(1)
    await gate.scrub()
    expect([copies.length, cuts.length]).toEqual([0, 0])
    gate.committed(1, true)
    for (const isEmpty of [false, true]) {
      const scrubbed = gate.scrub()
      await new Promise((resolve) => setImmediate(resolve))
      await finish()
      expect([copies.length, cuts.length]).toEqual([0, 1])
      expect(gate.open()).toBeInstanceOf(Promise)
      await cut(isEmpty)
      await scrubbed
    }
    await gate.scrub()
    expect([copies.length, cuts.length]).toEqual([0, 0])
  })

  test("truncates an oversized WAL that readers kept growing, until that succeeds", async () => {
    const { gate, copies, cuts, finish, cut } = gateWithManualCopies()
    gate.committed(3000)
    await finish(65_537)
    await finish(65_537)
    expect([copies.length, cuts.length]).toEqual([0, 1])
    await cut(false)
    expect(gate.open()).toBeUndefined()
    // Nothing was written since; the reader has ended.
    const scrubbed = gate.scrub()
    await new Promise((resolve) => setImmediate(resolve))
    await finish(65_537)
    await finish(65_537)
    await cut(true)
    await scrubbed
    gate.committed(3000)
    await finish(65_536)
    await finish(65_536)
    expect([copies.length, cuts.length]).toEqual([1, 0])
  })

  test("waits for a checkpoint before it closes the store", async () => {
    const { gate, finish } = gateWithManualCopies()
    gate.committed(3000)
    let closed = false
    const closing = gate.close().then(() => {
      closed = true
    })
    await finish()
    expect(closed).toBe(false)
    await finish()
    await closing
  })
})

test("the WAL of a busy store is restarted without losing a commit", async () => {
  const folder = temporaryFolder()
  const world = openTestEnvironment(modules, folder)
  const file = `${folder.path}/latchkey.db`
  const sizes: number[] = []
  let n = 0
  const writer = async () => {
    while (n < 8000) {
      const name = `${n++}`
      await openAccount(world.cx(), name, { name })
      if (n % 1000 === 0) sizes.push(statSync(`${file}-wal`).size)
    }
  }
  await Promise.all(Array.from({ length: 64 }, writer))
  expect(statSync(file).size).toBeGreaterThan(1_000_000)
  // 8,000 events without a limit would exceed 200 MB.
  expect(Math.max(...sizes)).toBeLessThan(100_000_000)
  await world.store.close()
  const again = openTestEnvironment(modules, folder)
  expect(again.store.all(again.cx(), allAccounts)).toHaveLength(n)
  expect(again.store.database.query("PRAGMA integrity_check").get()).toEqual({
    integrity_check: "ok",
  })
  await again.close()
})

test("a WAL shrinks after another program stops reading", async () => {
  const { file, remove } = temporaryFile()
  const database = new Database(file)
  database.run("PRAGMA journal_mode = WAL")
  database.run("PRAGMA wal_autocheckpoint = 0")
  database.run("CREATE TABLE thing (value)")
  const failed = (cause: Error) => {
    throw cause
  }
  const gate = createGate(
    createCheckpointWorker(file, { failed, refused: failed }),
    () => undefined,
    { framesMax: 100 },
  )
  const reader = new Database(file, { readonly: true })
  reader.run("BEGIN")
  reader.query("SELECT count(*) FROM thing").get()
  database.run("INSERT INTO thing VALUES (zeroblob(1000000))")
  const size = () => statSync(`${file}-wal`).size
  const peak = size()
  gate.committed(3000)
  await gate.scrub()
  expect(size()).toBe(peak)
  reader.run("COMMIT")
  await gate.scrub()
  expect(size()).toBe(0)
  reader.close()
  await gate.close()
  database.close()
  remove()
})
