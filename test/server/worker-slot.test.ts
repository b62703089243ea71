// A worker's slot: a process that does not start, ends, or does not respond is replaced.
import { getLogger } from "@logtape/logtape"
import { expect, test } from "vitest"
import { type Clock, type ManualClock, manualClock } from "../../src/kernel/clock.ts"
import { Fault } from "../../src/kernel/fault.ts"
import type { WorkerProcess } from "../../src/server/worker/child.ts"
import { createSlot } from "../../src/server/worker/slot.ts"
import type { WorkerStart } from "../../src/server/worker/start-message.ts"
import { waitForQueries } from "../../src/server/worker/workers.ts"

/** A fake process with the given responses. */
function fakeChild(answers: Readonly<Record<string, () => unknown>>) {
  const asked: string[] = []
  const exited = Promise.withResolvers<string>()
  const waiting: ((cause: Fault) => void)[] = []
  const line: WorkerProcess["channel"] = {
    take: () => undefined,
    lost: () => undefined,
    ask: <T>(name: string) => {
      asked.push(name)
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      waiting.push(reject)
      const answer = answers[name]
      // Reason for the cast: it returns the test's response.
      if (answer) resolve(Promise.resolve().then(answer) as Promise<T>)
      return promise
    },
  }
  const end = (mode: string) => {
    const gone = new Fault("unavailable", "worker.gone", "the process exited")
    for (const reject of waiting) reject(gone)
    exited.resolve(mode)
  }
  const child: WorkerProcess = { channel: line, exited: exited.promise, kill: () => end("SIGKILL") }
  return { child, asked, end }
}

const startAnswers = { begin: () => undefined }
const healthyAnswers = {
  ...startAnswers,
  ping: () => undefined,
  hold: () => undefined,
  stop: () => undefined,
}

function openSlot(clock: Clock, children: readonly (ReturnType<typeof fakeChild> | Error)[]) {
  let started = 0
  const start = () => {
    const next = children[started++]
    if (next === undefined) throw new Error("no more of them")
    if (next instanceof Error) throw next
    return next.child
  }
  // Reason for the cast: no test reads the value.
  const createStartMessage = () => ({}) as WorkerStart
  const log = getLogger("slot")
  return {
    slot: createSlot({ part: 1, log, clock, start, createStartMessage }),
    started: () => started,
  }
}

const nextTurn = () => new Promise((done) => setImmediate(done))

/** Advances the clock in steps, so that all due work runs in between. */
async function passTime(clock: ManualClock, ms: number) {
  for (let passed = 0; passed < ms; passed += 100) {
    clock.advance(100)
    await nextTurn()
  }
}

test("a process that can't be started is retried repeatedly", async () => {
  const clock = manualClock(0)
  const [late, early] = [fakeChild(healthyAnswers), new Error("no memory is left")]
  const { slot, started } = openSlot(clock, [early, early, late])
  await slot.begin()
  expect(slot.channel()).toBeUndefined()
  await passTime(clock, 100)
  expect(started()).toBe(2)
  await passTime(clock, 200)
  expect(slot.channel()).toBe(late.child.channel)
})

test("a process that did not start or that ended is replaced", async () => {
  const clock = manualClock(0)
  const dumb = fakeChild({})
  const [first, second] = [fakeChild(healthyAnswers), fakeChild(healthyAnswers)]
  const { slot } = openSlot(clock, [dumb, first, second])
  const begun = slot.begin()
  await passTime(clock, 30_000)
  await begun
  expect(slot.channel()).toBeUndefined()
  await passTime(clock, 100)
  expect(slot.channel()).toBe(first.child.channel)
  first.end("1")
  await nextTurn()
  expect(slot.channel()).toBeUndefined()
  await passTime(clock, 200)
  expect(slot.channel()).toBe(second.child.channel)
})

test("a hanging process is detected even without requests, and replaced", async () => {
  const clock = manualClock(0)
  const [hung, next] = [fakeChild(startAnswers), fakeChild(healthyAnswers)]
  const { slot } = openSlot(clock, [hung, next])
  await slot.begin()
  expect(slot.channel()).toBe(hung.child.channel)
  await passTime(clock, 7900)
  expect(slot.channel()).toBe(hung.child.channel)
  await passTime(clock, 300)
  expect(slot.channel()).toBe(next.child.channel)
  await passTime(clock, 60_000)
  expect(slot.channel()).toBe(next.child.channel)
})

test("a hanging process delays a request to all workers only up to the limit", async () => {
  const clock = manualClock(0)
  const hung = fakeChild({ ...startAnswers, ping: () => undefined })
  const { slot } = openSlot(clock, [hung, fakeChild(healthyAnswers)])
  await slot.begin()
  let isOver = false
  const asked = slot.request("hold", 5).finally(() => {
    isOver = true
  })
  await passTime(clock, 4900)
  expect(isOver).toBe(false)
  await passTime(clock, 100)
  expect([isOver, await asked]).toEqual([true, undefined])
  expect(await hung.child.exited).toBe("SIGKILL")
})

test("a process that fails a mandatory task is replaced", async () => {
  const clock = manualClock(0)
  const broken = () => {
    throw new Error("a bug")
  }
  const [faulty, next] = [fakeChild({ ...healthyAnswers, hold: broken }), fakeChild(healthyAnswers)]
  const { slot } = openSlot(clock, [faulty, next])
  await slot.begin()
  expect(await slot.request("hold", 5)).toBeUndefined()
  await passTime(clock, 100)
  expect(slot.channel()).toBe(next.child.channel)
})

/** The clock of a machine that pauses: missed timers run afterwards, once. */
function stoppingClock() {
  let now = 0
  let due: { readonly at: number; readonly call: () => void }[] = []
  const clock: Clock = {
    now: () => now,
    startedAt: 0,
    after: (ms, call) => {
      const entry = { at: now + ms, call }
      due.push(entry)
      return { stop: () => void (due = due.filter((other) => other !== entry)) }
    },
  }
  const pass = (ms: number) => {
    now += ms
    const fallen = due.filter(({ at }) => at <= now)
    due = due.filter(({ at }) => at > now)
    for (const { call } of fallen) call()
  }
  return { clock, pass }
}

test("no process is considered hanging after the machine was suspended", async () => {
  const { clock, pass } = stoppingClock()
  const heard = Promise.withResolvers<void>()
  const slow = fakeChild({ ...startAnswers, ping: () => heard.promise })
  const { slot } = openSlot(clock, [slow])
  await slot.begin()
  for (const ms of [1000, 3_600_000, 3_600_000]) {
    pass(ms)
    await nextTurn()
  }
  heard.resolve()
  await nextTurn()
  for (let second = 0; second < 20; second++) {
    pass(1000)
    await nextTurn()
  }
  expect(slot.channel()).toBe(slow.child.channel)
})

test("all end when they are stopped, even hanging and unstarted ones", async () => {
  for (const answers of [healthyAnswers, { ...startAnswers, ping: () => undefined }, {}]) {
    const clock = manualClock(0)
    const worker = fakeChild(answers)
    const { slot, started } = openSlot(clock, [worker])
    const begun = slot.begin()
    await nextTurn()
    let isOver = false
    const stopped = slot.stop().finally(() => {
      isOver = true
    })
    if (answers === healthyAnswers) worker.end("0")
    await passTime(clock, 7000)
    expect(isOver).toBe(true)
    await stopped
    await passTime(clock, 30_000)
    await begun
    expect([started(), clock.pending()]).toEqual([1, 0])
  }
})

test("long searches neither block requests nor end a worker", async () => {
  const clock = manualClock(0)
  const searching = fakeChild(healthyAnswers)
  const { slot } = openSlot(clock, [searching])
  await slot.begin()
  const resting = waitForQueries([slot], clock)
  await passTime(clock, 5000)
  const { hold, readOn } = await resting
  await hold()
  readOn()
  expect(searching.asked.filter((name) => name !== "ping")).toEqual(["begin", "rest", "go"])
  expect(slot.channel()).toBe(searching.child.channel)
})

test("idle ones are all held and then continue", async () => {
  const clock = manualClock(0)
  const all = [1, 2].map(() =>
    fakeChild({ ...healthyAnswers, rest: () => undefined, go: () => undefined }),
  )
  const slots = all.map((each) => openSlot(clock, [each]).slot)
  await Promise.all(slots.map((slot) => slot.begin()))
  const { hold, readOn } = await waitForQueries(slots, clock)
  await hold()
  readOn()
  for (const { asked } of all) {
    expect(asked.filter((name) => name !== "ping")).toEqual(["begin", "rest", "hold", "go"])
  }
})
