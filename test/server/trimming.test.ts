// Memory is given back while the server is at rest and has grown, and never under load.
import { expect, test, vi } from "vitest"
import { manualClock } from "../../src/kernel/clock.ts"
import { keepTrimming } from "../../src/server/background/trimming.ts"
import type { ServerServices } from "../../src/server/services.ts"

const settled = () => new Promise((done) => setImmediate(done))
const megabyte = 1_000_000

/** A server whose rounds are run one by one; `round` returns what was done in it. */
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
  // Reason for the cast: this is all that is asked of the services.
  const trimming = keepTrimming(services as unknown as ServerServices, {
    cpuMs: () => cpuMs,
    privateBytes: () => privateBytes,
    shrink: () => {
      done.push("heap")
      privateBytes -= 5 * megabyte
    },
    unmap: async () => void done.push("executable"),
  })
  await settled()
  const round = async ({ usedMs = 0, grown = 0 } = {}) => {
    cpuMs += usedMs
    privateBytes += grown * megabyte
    clock.advance(10_000)
    await settled()
    return done.splice(0)
  }
  return { round, clock, failing, warning, stop: trimming.stop }
}

/** The same server, two rounds of rest later. */
async function openRestingServer() {
  const server = await openServer()
  for (let at = 0; at < 2; at++) expect(await server.round()).toEqual([])
  return server
}

const unmapped = ["executable"]
const trimmed = ["thread", "caches", "heap", ...unmapped]

test("a server that has grown is trimmed after three rounds at rest", async () => {
  const { round, clock, stop } = await openServer()
  expect(await round({ usedMs: 5000, grown: 20 })).toEqual([])
  for (const usedMs of [99, 99, 100, 99, 99]) expect(await round({ usedMs })).toEqual([])
  expect(await round({ usedMs: 99 })).toEqual(trimmed)
  expect(await round()).toEqual(unmapped)
  await stop()
  expect(clock.pending()).toBe(0)
})

test("a server that has not grown since the last time is left alone", async () => {
  const { round, stop } = await openRestingServer()
  expect(await round({ grown: 20 })).toEqual(trimmed)
  expect(await round({ grown: 7 })).toEqual(unmapped)
  expect(await round({ grown: 7 })).toEqual(unmapped)
  expect(await round({ grown: 2 })).toEqual(trimmed)
  await stop()
})

test("what is mapped of the executable is given up in each round at rest", async () => {
  const { round, stop } = await openRestingServer()
  expect(await round()).toEqual(unmapped)
  expect(await round()).toEqual(unmapped)
  expect(await round({ usedMs: 5000 })).toEqual([])
  const rest = [await round(), await round(), await round(), await round()]
  expect(rest).toEqual([[], [], unmapped, unmapped])
  await stop()
})

test("a failure is logged, and the next round tries again", async () => {
  const { round, failing, warning, stop } = await openRestingServer()
  failing.now = true
  expect(await round({ grown: 20 })).toEqual([])
  expect(warning).toHaveBeenCalledOnce()
  failing.now = false
  expect(await round()).toEqual(trimmed)
  await stop()
})
