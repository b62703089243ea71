import { Database } from "bun:sqlite"
import { statSync } from "node:fs"
import { describe, expect, test } from "vitest"
import {
  checkpointGate,
  checkpointWorker,
  type Progress,
  type WalBounds,
} from "../../src/store/log/checkpoint.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { openWorld } from "../support/world.ts"
import { allAccounts, modules, openAccount, temporaryFile } from "./account.ts"

/** A gate whose copies end when the test says so. */
function gated(pause?: () => Promise<() => void>, bounds: WalBounds = {}) {
  const copies: ((progress: Progress) => void)[] = []
  const cuts: ((isEmpty: boolean) => void)[] = []
  let flushes = 0
  const gate = checkpointGate(
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
  test("stays open while most is copied, is shut for the rest, and opens again", async () => {
    const { gate, copies, finish, flushes } = gated()
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

  test("copies what came meanwhile, too, before it is shut: until little is left", async () => {
    const { gate, copies, finish } = gated()
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

  test("is shut after three copies where commits come faster than they are copied", async () => {
    const { gate, finish } = gated()
    gate.committed(3000)
    for (const frames of [20_000, 40_000, 60_000]) {
      expect(gate.open()).toBeUndefined()
      await finish(frames)
    }
    expect(gate.open()).toBeInstanceOf(Promise)
  })

  test("lets readers come to an end before it is shut, and begin when it is open", async () => {
    const readers = Promise.withResolvers<() => void>()
    let isReading = false
    const { gate, copies, finish } = gated(() => readers.promise)
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
    const { gate, copies, finish } = gated()
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

  test("waits for a long WAL where events that came together have taken little of it", async () => {
    let frames = 0
    const { gate, copies, cuts, finish } = gated(undefined, { frames: () => frames })
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
    // What was erased waits for nothing.
    gate.committed(500, true)
    await finish()
    expect(cuts).toHaveLength(1)
  })

  test("goes by events where nobody can count the frames", () => {
    const { gate, copies } = gated(undefined, { frames: () => undefined })
    gate.committed(3000)
    expect(copies).toHaveLength(1)
  })

  test("cuts the WAL where something was erased, until that has worked", async () => {
    const { gate, copies, cuts, finish, cut } = gated()
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

  test("cuts a WAL that grew beyond measure while others read, until that has worked", async () => {
    const { gate, copies, cuts, finish, cut } = gated()
    gate.committed(3000)
    await finish(65_537)
    await finish(65_537)
    expect([copies.length, cuts.length]).toEqual([0, 1])
    await cut(false)
    expect(gate.open()).toBeUndefined()
    // Nobody has written since; who reads has gone.
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

  test("lets a checkpoint end before it closes", async () => {
    const { gate, finish } = gated()
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

test("a busy store's WAL is copied and begun anew, and no commit is lost by it", async () => {
  const folder = temporaryFolder()
  const world = openWorld(modules, folder)
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
  // 8,000 events unbounded would come to more than 200 MB.
  expect(Math.max(...sizes)).toBeLessThan(100_000_000)
  await world.store.close()
  const again = openWorld(modules, folder)
  expect(again.store.all(again.cx(), allAccounts)).toHaveLength(n)
  expect(again.store.database.query("PRAGMA integrity_check").get()).toEqual({
    integrity_check: "ok",
  })
  await again.close()
})

test("a WAL gives back what it grew to while another program read", async () => {
  const { file, remove } = temporaryFile()
  const database = new Database(file)
  database.run("PRAGMA journal_mode = WAL")
  database.run("PRAGMA wal_autocheckpoint = 0")
  database.run("CREATE TABLE thing (value)")
  const failed = (cause: Error) => {
    throw cause
  }
  const gate = checkpointGate(
    checkpointWorker(file, { failed, refused: failed }),
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
