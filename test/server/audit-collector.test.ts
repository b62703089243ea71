import { afterEach, beforeEach, expect, test } from "vitest"
import { readSeal } from "../../src/boot/audit/chain.ts"
import { removeInstance } from "../../src/domain/instance/index.ts"
import type { OutboundRequest } from "../../src/kernel/port/outbound.ts"
import { type Collecting, keepCollecting } from "../../src/server/background/audit-collector.ts"
import { openProvider, type Provider } from "../oauth/provider.ts"
import { pause } from "../support/wait.ts"

let provider: Provider
let collecting: Collecting
let sent: OutboundRequest[]
let status: number
/** What is answered before that. */
let first: number[]
let isLeading: boolean
let instance: string

beforeEach(async () => {
  provider = await openProvider()
  ;[sent, status, first, isLeading] = [[], 200, [], true]
  instance = provider.cx().instance
  collecting = begin()
})
afterEach(async () => {
  await collecting.stop()
  await provider.close()
})

const begin = () => {
  const { store, clock } = provider
  const outbound = async (request: OutboundRequest) => {
    sent.push(request)
    return { status: first.shift() ?? status, body: "" }
  }
  const call = (instance: string, name: string) =>
    provider.cx({ instance, caller: { kind: "system", name } })
  const lead = { holds: () => isLeading, begin: async () => {}, stop: async () => {} }
  const log = { info: () => {}, warning: () => {} }
  return keepCollecting(
    { store, clock, call, lead, outbound, log },
    { url: "https://logs.example.com/in" },
  )
}

/** Lets time pass, and what is due then be done. */
async function passing(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    provider.clock.advance(500)
    await pause(ms > 60_000 ? 0 : 20, "what one tick begins has no end that it signals")
  }
}
async function until(holds: () => boolean): Promise<void> {
  for (let turns = 0; !holds(); turns++) {
    if (turns > 200) throw new Error("it did not come true")
    await passing(500)
  }
}
const durable = () => provider.store.log.durable()
const linesOf = (request?: OutboundRequest) => (request?.body ?? "").trimEnd().split("\n")
const upTo = (request?: OutboundRequest) => readSeal(linesOf(request).at(-1) ?? "")?.seal.position

test("what failed waits longer each time, and is sent again as it was", async () => {
  await until(() => collecting.passed() === durable())
  status = 500
  const before = sent.length
  await provider.addPerson("pat")
  await passing(500)
  await expect.poll(() => sent.length).toBe(before + 1)
  await expect
    .poll(() => collecting.untaken())
    .toMatchObject([{ instance: "i1", why: "it was answered with 500", since: expect.any(Number) }])
  await passing(30_000)
  // After 1, 2, 4, 8 and 16 seconds.
  expect(sent.length - before).toBeGreaterThanOrEqual(4)
  expect(sent.length - before).toBeLessThanOrEqual(6)
  expect(new Set(sent.slice(before).map(({ body }) => body)).size).toBe(1)
  await provider.addPerson("later")
  status = 200
  await until(() => collecting.untaken().length === 0)
  await until(() => collecting.passed() === durable())
  expect(new Set(sent.slice(before, -1).map(({ body }) => body)).size).toBe(1)
  expect(sent.at(-1)?.headers?.["idempotency-key"]).not.toBe(
    sent[before]?.headers?.["idempotency-key"],
  )
})

test("nothing is dropped that was not taken, for a day", async () => {
  status = 500
  await until(() => collecting.untaken().length === 1)
  expect(collecting.passed()).toBeLessThan(durable())
  provider.clock.advance(86_400_000)
  await passing(500)
  await expect.poll(() => collecting.passed()).toBe(Number.MAX_SAFE_INTEGER)
})

test("what takes a part now and then keeps nothing for more than a day", async () => {
  await until(() => collecting.passed() === durable())
  status = 500
  for (let count = 0; count < 250; count++) await provider.addPerson(`pat${count}`)
  await until(() => collecting.untaken().length === 1)
  for (let hour = 0; hour < 23; hour++) provider.clock.advance(3_600_000)
  expect(collecting.passed()).toBeLessThan(durable())
  // One part of several is taken, which mends what had failed; then it is as before.
  const before = collecting.passed()
  first = [200]
  await until(() => collecting.passed() > before)
  await until(() => collecting.untaken().length === 1)
  expect(collecting.passed()).toBeLessThan(durable())
  provider.clock.advance(2 * 3_600_000)
  await expect.poll(() => collecting.passed()).toBe(Number.MAX_SAFE_INTEGER)
})

test("another node keeps what is not taken yet, and no more than that", async () => {
  const told = () => progressPassed(false)
  await until(() => collecting.passed() === durable())
  await passing(12_000)
  expect(told()).toBe(durable())
  status = 500
  const taken = durable()
  await provider.addPerson("pat")
  await passing(12_000)
  expect(told()).toBe(taken)
  // This node was the one that sends, a day ago: what it knew then says nothing.
  isLeading = false
  await passing(1000)
  provider.clock.advance(90_000_000)
  expect(collecting.passed()).toBe(taken)
  isLeading = true
  expect(collecting.passed()).toBeLessThanOrEqual(taken)
})

function progressPassed(leading: boolean): number {
  const before = isLeading
  isLeading = leading
  try {
    return collecting.passed()
  } finally {
    isLeading = before
  }
}

test("a process that begins goes on where the one before it was", async () => {
  await until(() => collecting.passed() === durable())
  await collecting.stop()
  const last = sent.at(-1)
  sent = []
  await provider.addPerson("meanwhile")
  collecting = begin()
  await until(() => collecting.passed() === durable())
  expect(linesOf(sent[0])[0]).toMatch(/^\{"previous":/)
  expect(JSON.parse(linesOf(sent[0])[0] ?? "").position).toBe((upTo(last) ?? 0) + 1)
})

test("where another node has gone on, new lines begin behind what it sent", async () => {
  await until(() => collecting.passed() === durable())
  isLeading = false
  sent = []
  await provider.addPerson("elsewhere")
  await passing(2000)
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

test("of what expired before it was taken the rest is sent, by another key", async () => {
  await until(() => collecting.passed() === durable())
  const before = upTo(sent.at(-1)) ?? 0
  status = 500
  sent = []
  await provider.addPerson("pat")
  await until(() => sent.length === 1)
  provider.store.database.run("DELETE FROM event WHERE position = ?", [before + 1])
  status = 200
  await until(() => collecting.untaken().length === 0)
  const [first, second] = sent
  expect(second?.headers?.["idempotency-key"]).not.toBe(first?.headers?.["idempotency-key"])
  expect(JSON.parse(linesOf(second)[0] ?? "").position).toBe(before + 2)
})

const remove = () => removeInstance(provider.cx(), instance)
const types = () =>
  sent.flatMap(linesOf).flatMap((line) => (JSON.parse(line).type as string | undefined) ?? [])

test("what a removed instance did last is taken, and that it went", async () => {
  await until(() => collecting.passed() === durable())
  status = 500
  await provider.addPerson("pat")
  await remove()
  const removed = durable()
  await passing(500)
  expect(collecting.passed()).toBeLessThan(removed)
  await expect.poll(() => collecting.untaken()).toMatchObject([{ instance }])
  sent = []
  status = 200
  await until(() => collecting.passed() === Number.MAX_SAFE_INTEGER)
  expect(types()).toContain("user.human.added")
  expect(types().at(-1)).toBe("instance.removed")
  expect(upTo(sent.at(-1))).toBe(removed)
  expect(collecting.untaken()).toEqual([])
  const { length } = sent
  await passing(2000)
  expect(sent.length).toBe(length)
})

test("it is taken once, and by the next process where this one did not come to it", async () => {
  await until(() => collecting.passed() === durable())
  await collecting.stop()
  await remove()
  sent = []
  collecting = begin()
  expect(collecting.passed()).toBeLessThan(durable())
  await until(() => collecting.passed() === Number.MAX_SAFE_INTEGER)
  expect(types()).toEqual(["instance.removed"])
  await collecting.stop()
  sent = []
  collecting = begin()
  expect(collecting.passed()).toBe(Number.MAX_SAFE_INTEGER)
  await passing(2000)
  expect(sent).toEqual([])
})
