import { afterEach, beforeEach, expect, test } from "vitest"
import { parseSeal } from "../../src/boot/audit/chain.ts"
import { removeInstance } from "../../src/domain/instance/index.ts"
import type { OutboundRequest } from "../../src/kernel/port/outbound.ts"
import {
  type CollectorHandle,
  startCollecting,
} from "../../src/server/background/audit-collector.ts"
import { openProvider, type Provider } from "../oauth/provider.ts"
import { pause } from "../support/wait.ts"

let provider: Provider
let collecting: CollectorHandle
let sent: OutboundRequest[]
let status: number
/** The first response codes. */
let firstStatuses: number[]
let isLeading: boolean
let instance: string

beforeEach(async () => {
  provider = await openProvider()
  ;[sent, status, firstStatuses, isLeading] = [[], 200, [], true]
  instance = provider.cx().instance
  collecting = startCollector()
})
afterEach(async () => {
  await collecting.stop()
  await provider.close()
})

const startCollector = () => {
  const { store, clock } = provider
  const outbound = async (request: OutboundRequest) => {
    sent.push(request)
    return { status: firstStatuses.shift() ?? status, body: "" }
  }
  const call = (instance: string, name: string) =>
    provider.cx({ instance, caller: { kind: "system", name } })
  const lead = { holds: () => isLeading, begin: async () => {}, stop: async () => {} }
  const log = { info: () => {}, warning: () => {} }
  return startCollecting(
    { store, clock, call, lead, outbound, log },
    { url: "https://logs.example.com/in" },
  )
}

/** Advances the clock and waits for due work. */
async function passTime(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    provider.clock.advance(500)
    await pause(ms > 60_000 ? 0 : 20, "what one tick begins has no end that it signals")
  }
}
async function until(holds: () => boolean): Promise<void> {
  for (let turns = 0; !holds(); turns++) {
    if (turns > 200) throw new Error("it did not come true")
    await passTime(500)
  }
}
const durable = () => provider.store.log.durable()
const linesOf = (request?: OutboundRequest) => (request?.body ?? "").trimEnd().split("\n")
const sealedPosition = (request?: OutboundRequest) =>
  parseSeal(linesOf(request).at(-1) ?? "")?.seal.position

test("failed requests are retried unchanged with increasing delays", async () => {
  await until(() => collecting.collectedPosition() === durable())
  status = 500
  const before = sent.length
  await provider.addPerson("pat")
  await passTime(500)
  await expect.poll(() => sent.length).toBe(before + 1)
  await expect
    .poll(() => collecting.uncollected())
    .toMatchObject([
      { instance: "i1", why: "the collector returned status 500", since: expect.any(Number) },
    ])
  await passTime(30_000)
  // After 1, 2, 4, 8, and 16 seconds.
  expect(sent.length - before).toBeGreaterThanOrEqual(4)
  expect(sent.length - before).toBeLessThanOrEqual(6)
  expect(new Set(sent.slice(before).map(({ body }) => body)).size).toBe(1)
  await provider.addPerson("later")
  status = 200
  await until(() => collecting.uncollected().length === 0)
  await until(() => collecting.collectedPosition() === durable())
  expect(new Set(sent.slice(before, -1).map(({ body }) => body)).size).toBe(1)
  expect(sent.at(-1)?.headers?.["idempotency-key"]).not.toBe(
    sent[before]?.headers?.["idempotency-key"],
  )
})

test("events that were not accepted are kept for a day", async () => {
  status = 500
  await until(() => collecting.uncollected().length === 1)
  expect(collecting.collectedPosition()).toBeLessThan(durable())
  provider.clock.advance(86_400_000)
  await passTime(500)
  await expect.poll(() => collecting.collectedPosition()).toBe(Number.MAX_SAFE_INTEGER)
})

test("a collector that accepts some requests delays deletion by at most a day", async () => {
  await until(() => collecting.collectedPosition() === durable())
  status = 500
  for (let count = 0; count < 250; count++) await provider.addPerson(`pat${count}`)
  await until(() => collecting.uncollected().length === 1)
  for (let hour = 0; hour < 23; hour++) provider.clock.advance(3_600_000)
  expect(collecting.collectedPosition()).toBeLessThan(durable())
  // One part of several is accepted, which resets the failure state; then it fails again.
  const before = collecting.collectedPosition()
  firstStatuses = [200]
  await until(() => collecting.collectedPosition() > before)
  await until(() => collecting.uncollected().length === 1)
  expect(collecting.collectedPosition()).toBeLessThan(durable())
  provider.clock.advance(2 * 3_600_000)
  await expect.poll(() => collecting.collectedPosition()).toBe(Number.MAX_SAFE_INTEGER)
})

test("another node keeps only events that were not accepted yet", async () => {
  const told = () => progressPassed(false)
  await until(() => collecting.collectedPosition() === durable())
  await passTime(12_000)
  expect(told()).toBe(durable())
  status = 500
  const taken = durable()
  await provider.addPerson("pat")
  await passTime(12_000)
  expect(told()).toBe(taken)
  // This node was the sender a day ago: its knowledge is outdated.
  isLeading = false
  await passTime(1000)
  provider.clock.advance(90_000_000)
  expect(collecting.collectedPosition()).toBe(taken)
  isLeading = true
  expect(collecting.collectedPosition()).toBeLessThanOrEqual(taken)
})

function progressPassed(leading: boolean): number {
  const before = isLeading
  isLeading = leading
  try {
    return collecting.collectedPosition()
  } finally {
    isLeading = before
  }
}

test("a new process continues where the previous one stopped", async () => {
  await until(() => collecting.collectedPosition() === durable())
  await collecting.stop()
  const last = sent.at(-1)
  sent = []
  await provider.addPerson("meanwhile")
  collecting = startCollector()
  await until(() => collecting.collectedPosition() === durable())
  expect(linesOf(sent[0])[0]).toMatch(/^\{"previous":/)
  expect(JSON.parse(linesOf(sent[0])[0] ?? "").position).toBe((sealedPosition(last) ?? 0) + 1)
})

test("new lines start after those that another node sent", async () => {
  await until(() => collecting.collectedPosition() === durable())
  isLeading = false
  sent = []
  await provider.addPerson("elsewhere")
  await passTime(2000)
  expect(sent).toEqual([])
  provider.store.database.run("UPDATE reactor SET position = ? WHERE name LIKE 'collector/%'", [
    durable(),
  ])
  const theirs = durable()
  await provider.addPerson("here")
  isLeading = true
  await until(() => sent.length > 0)
  const [first = "", second = ""] = linesOf(sent[0])
  expect(JSON.parse(first)).toMatchObject({ latchkey: "events", after: theirs })
  expect(JSON.parse(second).position).toBe(theirs + 1)
})

test("after events expired unsent, the rest is sent with another key", async () => {
  await until(() => collecting.collectedPosition() === durable())
  const before = sealedPosition(sent.at(-1)) ?? 0
  status = 500
  sent = []
  await provider.addPerson("pat")
  await until(() => sent.length === 1)
  provider.store.database.run("DELETE FROM event WHERE position = ?", [before + 1])
  status = 200
  await until(() => collecting.uncollected().length === 0)
  const [first, second] = sent
  expect(second?.headers?.["idempotency-key"]).not.toBe(first?.headers?.["idempotency-key"])
  expect(JSON.parse(linesOf(second)[0] ?? "").position).toBe(before + 2)
})

const removeTestInstance = () => removeInstance(provider.cx(), instance)
const sentTypes = () =>
  sent.flatMap(linesOf).flatMap((line) => (JSON.parse(line).type as string | undefined) ?? [])

test("the last events of a removed instance and its removal are sent", async () => {
  await until(() => collecting.collectedPosition() === durable())
  status = 500
  await provider.addPerson("pat")
  await removeTestInstance()
  const removed = durable()
  await passTime(500)
  expect(collecting.collectedPosition()).toBeLessThan(removed)
  await expect.poll(() => collecting.uncollected()).toMatchObject([{ instance }])
  sent = []
  status = 200
  await until(() => collecting.collectedPosition() === Number.MAX_SAFE_INTEGER)
  expect(sentTypes()).toContain("user.human.added")
  expect(sentTypes().at(-1)).toBe("instance.removed")
  expect(sealedPosition(sent.at(-1))).toBe(removed)
  expect(collecting.uncollected()).toEqual([])
  const { length } = sent
  await passTime(2000)
  expect(sent.length).toBe(length)
})

test("they are sent once, by the next process if this one could not", async () => {
  await until(() => collecting.collectedPosition() === durable())
  await collecting.stop()
  await removeTestInstance()
  sent = []
  collecting = startCollector()
  expect(collecting.collectedPosition()).toBeLessThan(durable())
  await until(() => collecting.collectedPosition() === Number.MAX_SAFE_INTEGER)
  expect(sentTypes()).toEqual(["instance.removed"])
  await collecting.stop()
  sent = []
  collecting = startCollector()
  expect(collecting.collectedPosition()).toBe(Number.MAX_SAFE_INTEGER)
  await passTime(2000)
  expect(sent).toEqual([])
})
