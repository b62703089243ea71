// The place of a worker: whoever does not begin, ends or says nothing there is followed by another.
import { getLogger } from "@logtape/logtape"
import { expect, test } from "vitest"
import { type Clock, type ManualClock, manualClock } from "../../src/kernel/clock.ts"
import { Fault } from "../../src/kernel/fault.ts"
import type { Beginning } from "../../src/server/worker/beginning.ts"
import type { Child } from "../../src/server/worker/child.ts"
import { restOf } from "../../src/server/worker/keep.ts"
import { slotOf } from "../../src/server/worker/slot.ts"

/** A process that answers what it is told to, and else nothing. */
function childThat(answers: Readonly<Record<string, () => unknown>>) {
  const asked: string[] = []
  const exited = Promise.withResolvers<string>()
  const waiting: ((cause: Fault) => void)[] = []
  const line: Child["line"] = {
    take: () => undefined,
    lost: () => undefined,
    ask: <T>(name: string) => {
      asked.push(name)
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      waiting.push(reject)
      const answer = answers[name]
      // Reason for the cast: it answers what the test says.
      if (answer) resolve(Promise.resolve().then(answer) as Promise<T>)
      return promise
    },
  }
  const end = (how: string) => {
    const gone = new Fault("unavailable", "worker.gone", "it has ended")
    for (const reject of waiting) reject(gone)
    exited.resolve(how)
  }
  const child: Child = { line, exited: exited.promise, kill: () => end("SIGKILL") }
  return { child, asked, end }
}

const begins = { begin: () => undefined }
const sound = { ...begins, ping: () => undefined, hold: () => undefined, stop: () => undefined }

function openSlot(clock: Clock, children: readonly (ReturnType<typeof childThat> | Error)[]) {
  let started = 0
  const start = () => {
    const next = children[started++]
    if (next === undefined) throw new Error("no more of them")
    if (next instanceof Error) throw next
    return next.child
  }
  // Reason for the cast: nobody here reads what it is told.
  const beginning = () => ({}) as Beginning
  const log = getLogger("slot")
  return { slot: slotOf({ part: 1, log, clock, start, beginning }), started: () => started }
}

const turn = () => new Promise((done) => setImmediate(done))

/** Lets time pass as it does: all that is due is done before more of it passes. */
async function pass(clock: ManualClock, ms: number) {
  for (let passed = 0; passed < ms; passed += 100) {
    clock.advance(100)
    await turn()
  }
}

test("one that can't be started is tried again, and again", async () => {
  const clock = manualClock(0)
  const [late, early] = [childThat(sound), new Error("no memory is left")]
  const { slot, started } = openSlot(clock, [early, early, late])
  await slot.begin()
  expect(slot.line()).toBeUndefined()
  await pass(clock, 100)
  expect(started()).toBe(2)
  await pass(clock, 200)
  expect(slot.line()).toBe(late.child.line)
})

test("one that did not begin, and one that ends, are followed by another", async () => {
  const clock = manualClock(0)
  const dumb = childThat({})
  const [first, second] = [childThat(sound), childThat(sound)]
  const { slot } = openSlot(clock, [dumb, first, second])
  const begun = slot.begin()
  await pass(clock, 30_000)
  await begun
  expect(slot.line()).toBeUndefined()
  await pass(clock, 100)
  expect(slot.line()).toBe(first.child.line)
  first.end("1")
  await turn()
  expect(slot.line()).toBeUndefined()
  await pass(clock, 200)
  expect(slot.line()).toBe(second.child.line)
})

test("one that hangs is noticed, also where nobody asks it, and followed by another", async () => {
  const clock = manualClock(0)
  const [hung, next] = [childThat(begins), childThat(sound)]
  const { slot } = openSlot(clock, [hung, next])
  await slot.begin()
  expect(slot.line()).toBe(hung.child.line)
  await pass(clock, 7900)
  expect(slot.line()).toBe(hung.child.line)
  await pass(clock, 300)
  expect(slot.line()).toBe(next.child.line)
  await pass(clock, 60_000)
  expect(slot.line()).toBe(next.child.line)
})

test("one that hangs holds up what all are asked for no longer than said", async () => {
  const clock = manualClock(0)
  const hung = childThat({ ...begins, ping: () => undefined })
  const { slot } = openSlot(clock, [hung, childThat(sound)])
  await slot.begin()
  let isOver = false
  const asked = slot.ask("hold", 5).finally(() => {
    isOver = true
  })
  await pass(clock, 4900)
  expect(isOver).toBe(false)
  await pass(clock, 100)
  expect([isOver, await asked]).toEqual([true, undefined])
  expect(await hung.child.exited).toBe("SIGKILL")
})

test("one that fails at what it must do is followed by another", async () => {
  const clock = manualClock(0)
  const broken = () => {
    throw new Error("a bug")
  }
  const [faulty, next] = [childThat({ ...sound, hold: broken }), childThat(sound)]
  const { slot } = openSlot(clock, [faulty, next])
  await slot.begin()
  expect(await slot.ask("hold", 5)).toBeUndefined()
  await pass(clock, 100)
  expect(slot.line()).toBe(next.child.line)
})

/** The clock of a machine that stops now and then: what fell due meanwhile is done then, once. */
function stoppingClock() {
  let now = 0
  let due: { readonly at: number; readonly call: () => void }[] = []
  const clock: Clock = {
    now: () => now,
    began: 0,
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

test("where the machine stood still nobody hung: what was said is heard later", async () => {
  const { clock, pass } = stoppingClock()
  const heard = Promise.withResolvers<void>()
  const slow = childThat({ ...begins, ping: () => heard.promise })
  const { slot } = openSlot(clock, [slow])
  await slot.begin()
  for (const ms of [1000, 3_600_000, 3_600_000]) {
    pass(ms)
    await turn()
  }
  heard.resolve()
  await turn()
  for (let second = 0; second < 20; second++) {
    pass(1000)
    await turn()
  }
  expect(slot.line()).toBe(slow.child.line)
})

test("all end when they are stopped, also whoever hangs or has not begun", async () => {
  for (const answers of [sound, { ...begins, ping: () => undefined }, {}]) {
    const clock = manualClock(0)
    const worker = childThat(answers)
    const { slot, started } = openSlot(clock, [worker])
    const begun = slot.begin()
    await turn()
    let isOver = false
    const stopped = slot.stop().finally(() => {
      isOver = true
    })
    if (answers === sound) worker.end("0")
    await pass(clock, 7000)
    expect(isOver).toBe(true)
    await stopped
    await pass(clock, 30_000)
    await begun
    expect([started(), clock.pending()]).toEqual([1, 0])
  }
})

test("searches that take long have nobody wait, and no worker ended", async () => {
  const clock = manualClock(0)
  const searching = childThat(sound)
  const { slot } = openSlot(clock, [searching])
  await slot.begin()
  const resting = restOf([slot], clock)
  await pass(clock, 5000)
  const { hold, readOn } = await resting
  await hold()
  readOn()
  expect(searching.asked.filter((name) => name !== "ping")).toEqual(["begin", "rest", "go"])
  expect(slot.line()).toBe(searching.child.line)
})

test("those that rest are held, all of them, and then go on", async () => {
  const clock = manualClock(0)
  const all = [1, 2].map(() => childThat({ ...sound, rest: () => undefined, go: () => undefined }))
  const slots = all.map((each) => openSlot(clock, [each]).slot)
  await Promise.all(slots.map((slot) => slot.begin()))
  const { hold, readOn } = await restOf(slots, clock)
  await hold()
  readOn()
  for (const { asked } of all) {
    expect(asked.filter((name) => name !== "ping")).toEqual(["begin", "rest", "hold", "go"])
  }
})
