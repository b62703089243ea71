// Memory is released while the server is idle and has grown, and never under load.
import { expect, test, vi } from "vitest"
import { manualClock } from "../../src/kernel/clock.ts"
import { startMemoryTrim } from "../../src/server/background/memory-trim.ts"
import type { ServerServices } from "../../src/server/services.ts"

const nextTurn = () => new Promise((done) => setImmediate(done))
const megabyte = 1_000_000

/** A server whose rounds run one by one; `round` returns its actions. */
async function openServer() {
  const clock = manualClock(0)
  const done: string[] = []
  let privateBytes = 20 * megabyte
  let cpuMs = 500
  const failing = { now: false }
  const warning = vi.fn()
  const services = {
    clock,
    log: { warning },
    store: {
      endIdleThread: async () => {
        if (failing.now) throw new Error("the thread is stuck")
        done.push("thread")
      },
      shrink: () => done.push("caches"),
    },
  }
  // Reason for the cast: nothing else of the services is used.
  const trimming = startMemoryTrim(services as unknown as ServerServices, {
    cpuMs: () => cpuMs,
    privateBytes: () => privateBytes,
    shrink: () => {
      done.push("heap")
      privateBytes -= 5 * megabyte
    },
    unmap: async () => void done.push("executable"),
  })
  await nextTurn()
  const round = async ({ usedMs = 0, grown = 0 } = {}) => {
    cpuMs += usedMs
    privateBytes += grown * megabyte
    clock.advance(10_000)
    await nextTurn()
    return done.splice(0)
  }
  return { round, clock, failing, warning, stop: trimming.stop }
}

/** The same server after two idle rounds. */
async function openRestingServer() {
  const server = await openServer()
  for (let at = 0; at < 2; at++) expect(await server.round()).toEqual([])
  return server
}

const unmapSteps = ["executable"]
const trimSteps = ["thread", "caches", "heap", ...unmapSteps]

test("trims a server that has grown after three idle rounds", async () => {
  const { round, clock, stop } = await openServer()
  expect(await round({ usedMs: 5000, grown: 20 })).toEqual([])
  for (const usedMs of [99, 99, 100, 99, 99]) expect(await round({ usedMs })).toEqual([])
  expect(await round({ usedMs: 99 })).toEqual(trimSteps)
  expect(await round()).toEqual(unmapSteps)
  await stop()
  expect(clock.pending()).toBe(0)
})

test("does not trim a server that has not grown since the last time", async () => {
  const { round, stop } = await openRestingServer()
  expect(await round({ grown: 20 })).toEqual(trimSteps)
  expect(await round({ grown: 7 })).toEqual(unmapSteps)
  expect(await round({ grown: 7 })).toEqual(unmapSteps)
  expect(await round({ grown: 2 })).toEqual(trimSteps)
  await stop()
})

test("unmaps the executable in each idle round", async () => {
  const { round, stop } = await openRestingServer()
  expect(await round()).toEqual(unmapSteps)
  expect(await round()).toEqual(unmapSteps)
  expect(await round({ usedMs: 5000 })).toEqual([])
  const rest = [await round(), await round(), await round(), await round()]
  expect(rest).toEqual([[], [], unmapSteps, unmapSteps])
  await stop()
})

test("logs a failure and retries in the next round", async () => {
  const { round, failing, warning, stop } = await openRestingServer()
  failing.now = true
  expect(await round({ grown: 20 })).toEqual([])
  expect(warning).toHaveBeenCalledOnce()
  failing.now = false
  expect(await round()).toEqual(trimSteps)
  await stop()
})
