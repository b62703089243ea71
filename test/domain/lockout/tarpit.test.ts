import { availableParallelism } from "node:os"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import {
  authenticateWithPassword,
  checkPassword,
  createPassword,
  type PasswordCheckResult,
  preparePasswordChange,
  setPassword,
} from "../../../src/domain/credential/commands.ts"
import { importPassword } from "../../../src/domain/credential/new-password.ts"
import { passwordLoad, verifyNothing } from "../../../src/domain/credential/password.ts"
import { attemptsOf, passwordCheck, runThrottled } from "../../../src/domain/lockout/attempt.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { accountOf } from "../../../src/domain/user-lookup/query.ts"
import { Fault } from "../../../src/kernel/fault.ts"
import { type Allowance, createLimits } from "../../../src/kernel/limit.ts"
import type { Cx } from "../../../src/store/index.ts"
import { callerOf, type TestEnvironment } from "../../support/test-environment.ts"
import { driveClock, loopTurns } from "../../support/wait.ts"
import { createAnna, human, openUserWorld } from "../user/household.ts"

/** A timeout for events that occur on any machine, however slow. */
const longTimeout = { timeout: 60_000 }
const rightPassword = "Correct-Horse-7"
const wrongPassword = "Battery-Staple-8"

let world: TestEnvironment
/** The timers that are unrelated to attempts. */
let idleTimers: number
beforeEach(async () => {
  world = await openUserWorld()
  await createAnna(world.cx(), { password: await createPassword(rightPassword, { names: [] }) })
  idleTimers = world.clock.pending()
})
afterEach(() => world.close())

type Outcome = PasswordCheckResult | "refused"
type AttemptResults = { readonly outcomes: Outcome[]; readonly all: Promise<unknown> }

/** Concurrent attempts; `outcomes` receives each result immediately. */
function tryConcurrently(cx: Cx, account: string, plains: readonly string[]): AttemptResults {
  const outcomes: Outcome[] = []
  const all = plains.map(async (plain) => {
    try {
      outcomes.push(await checkPassword(cx, account, plain))
    } catch (cause) {
      if (!(cause instanceof Fault)) throw cause
      expect(cause.id).toBe("password.too_many_tries")
      expect(cause.retryAfterSeconds).toBeGreaterThan(0)
      outcomes.push("refused")
    }
  })
  return { outcomes, all: Promise.all(all) }
}

/**
 * Waits until nothing changes without advancing the clock. Hashing is sequential: once checks that
 * started later have ended, so have earlier ones, however busy the machine is; their writes are
 * then settled.
 */
async function waitUntilStill(count: () => number): Promise<number> {
  for (let [before, calm] = [-1, 0]; calm < 2; ) {
    await Promise.all(repeatPassword(availableParallelism(), wrongPassword).map(verifyNothing))
    await world.store.log.settle()
    await loopTurns()
    calm = before === count() ? calm + 1 : 0
    before = count()
  }
  return count()
}

/** Advances the clock if an attempt waits for it; checking a password takes no time. */
function advanceIfWaiting(): void {
  if (world.clock.pending() > idleTimers) world.clock.advance(500)
}

/** Advances the clock until everything has ended. */
async function advanceUntil(ended: Promise<unknown>): Promise<void> {
  await driveClock(ended, advanceIfWaiting, { intervalMs: 5 })
}

const repeatPassword = (count: number, plain: string) => Array.from({ length: count }, () => plain)

async function failTimes(cx: Cx, account: string, count: number): Promise<void> {
  for (let index = 0; index < count; index++) await checkPassword(cx, account, wrongPassword)
}

describe.each(["anna", "nobody-here"])("failed attempts of %s", (name) => {
  const looked = name === "anna" ? "wrong" : "none"
  const account = () => accountOf(world.cx(), name)

  test("are delayed even if they are concurrent", async () => {
    const { outcomes, all } = tryConcurrently(
      world.cx(),
      account(),
      repeatPassword(60, wrongPassword),
    )
    // Two concurrent checks, and one more for each of the first four wrong ones; then none.
    await expect.poll(() => count(outcomes, looked), longTimeout).toBe(6)
    await waitUntilStill(() => outcomes.length)
    expect(count(outcomes, looked)).toBe(6)
    const refused = outcomes.filter((outcome) => outcome === "refused").length
    expect(refused).toBeGreaterThanOrEqual(60 - 6 - 8)
    await advanceUntil(all)
    expect(outcomes.filter((outcome) => outcome === looked).length).toBeLessThanOrEqual(14)
    expect(attemptsOf(world.cx(), account()).failures).toBe(60 - count(outcomes, "refused"))
  })

  test("are checked one by one from the fifth on, each after its delay", async () => {
    await failTimes(world.cx(), account(), 5)
    const { outcomes, all } = tryConcurrently(
      world.cx(),
      account(),
      repeatPassword(3, wrongPassword),
    )
    expect(await waitUntilStill(() => outcomes.length)).toBe(0)
    for (const done of [1, 2, 3]) {
      world.clock.advance(999)
      expect(await waitUntilStill(() => outcomes.length)).toBe(done - 1)
      world.clock.advance(1)
      await expect.poll(() => outcomes.length, { timeout: 60_000 }).toBe(done)
    }
    await all
  })

  test("are rejected without being counted if they would wait too long", async () => {
    const { store } = world
    await failTimes(world.cx(), account(), 5)
    const head = store.log.changes()
    const { outcomes, all } = tryConcurrently(
      world.cx(),
      account(),
      repeatPassword(40, wrongPassword),
    )
    // One is checked, and seven finish in 15 s: four in 1.5 s each, and three in 2.5 s.
    const refused = () => count(outcomes, "refused")
    await expect.poll(refused, longTimeout).toBe(40 - 1 - 7)
    expect(await waitUntilStill(refused)).toBe(40 - 1 - 7)
    expect(store.log.changes()).toBe(head)
    await advanceUntil(all)
  })

  test.each([0, 9, 50])("end in time after %d of them", async (before) => {
    await recordFailures(account(), before)
    const began = world.clock.now()
    const late: number[] = []
    const all = Array.from({ length: 20 }, async (_, index) => {
      const allowance = createLimits(world.clock, 1)({ address: `198.51.100.${index}` })
      await tryConcurrently(world.cx({ allowance }), account(), [wrongPassword]).all
      late.push(world.clock.now() - began)
    })
    await advanceUntil(Promise.all(all))
    expect(Math.max(...late)).toBeLessThanOrEqual(15_000)
    // Attempts that were not rejected immediately waited for others.
    expect(late.filter((ms) => ms > 7000).length).toBeGreaterThan(0)
  })
})

test("are delayed by failures before their start, not by concurrent ones", async () => {
  const ends = Array.from({ length: 6 }, () => Promise.withResolvers<void>())
  let looked = 0
  const all = ends.map(() =>
    runThrottled(world.cx(), { line: "u1", isStranger: false }, async (delay) => {
      await delay
      await ends[looked++]?.promise
      return { value: undefined, isRight: false }
    }),
  )
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  // The fourth and the fifth fail at the same time.
  for (const together of [[0], [1], [2], [3, 4]]) {
    for (const end of together) ends[end]?.resolve()
    await turn()
  }
  expect(looked).toBe(6)
  ends[5]?.resolve()
  await Promise.all(all)
})

const count = (outcomes: readonly Outcome[], which: Outcome) =>
  outcomes.filter((outcome) => outcome === which).length

test.each([[undefined], ["198.51.100.7"]])(
  "concurrent right passwords all succeed (from %s)",
  async (source) => {
    const { outcomes, all } = tryConcurrently(
      callFrom(source),
      "u1",
      repeatPassword(100, rightPassword),
    )
    await all
    expect(count(outcomes, "ok")).toBe(100)
  },
)

/** Calls from an address; undefined for an address that many users can share. */
function callFrom(source: string | undefined): Cx {
  const pace = () => async () => {}
  const allowance: Allowance = { spend: () => {}, refund: () => {}, source: () => source, pace }
  return world.cx({ allowance })
}

/** Records earlier failures without the delay of each. */
const recordFailures = (account: string, failures: number) =>
  world.store.transact(world.cx(), (tx) =>
    tx.append(
      passwordCheck,
      account,
      Array.from({ length: failures }, () => ({
        type: "user.human.password.check.failed",
        data: {},
      })),
    ),
  )

test.each([4, 20])(
  "a new address comes before %d addresses that guess continuously",
  async (addresses) => {
    await recordFailures("u1", 50)
    const guessing = new Set<number>()
    const guess = async (index: number) => {
      guessing.add(index)
      await tryConcurrently(callFrom(`198.51.100.${index}`), "u1", [wrongPassword]).all
      guessing.delete(index)
    }
    const failures = () => attemptsOf(world.cx(), "u1").failures
    // One is checked every seven seconds; the others try again.
    const turn = async (isOver: () => boolean) => {
      const ended = () => {
        if (isOver()) return true
        for (let index = 0; index < addresses; index++) if (!guessing.has(index)) void guess(index)
        advanceIfWaiting()
        return false
      }
      await expect.poll(ended, { timeout: 60_000, interval: 5 }).toBe(true)
    }
    // Until each of them was checked.
    for (let turns = 0; turns <= addresses; turns++) {
      const before = failures()
      await turn(() => failures() > before)
    }
    const person = tryConcurrently(callFrom("203.0.113.9"), "u1", [rightPassword])
    const before = failures()
    await turn(() => failures() > before)
    await turn(() => person.outcomes.length > 0)
    expect(person.outcomes).toEqual(["ok"])
    await advanceUntil(expect.poll(() => guessing.size, { timeout: 60_000 }).toBe(0))
  },
)

test.each([
  ["the newest", 9, "wrong", "refused"],
  ["the one that came first", 1, "refused", "wrong"],
])("a random one gives way if there is one too many: %s", async (_, items, first, newest) => {
  await recordFailures("u1", 50)
  const drawing = (value: number) => ({ random: { bytes: () => new Uint8Array(4).fill(value) } })
  const inside = tryConcurrently(callFrom("198.51.100.1"), "u1", [wrongPassword])
  const waiting = tryConcurrently({ ...callFrom("198.51.100.2"), ...drawing(5) }, "u1", [
    wrongPassword,
  ])
  const late = tryConcurrently({ ...callFrom("198.51.100.3"), ...drawing(items) }, "u1", [
    wrongPassword,
  ])
  await advanceUntil(Promise.all([inside.all, waiting.all, late.all]))
  expect([waiting.outcomes, late.outcomes]).toEqual([[first], [newest]])
})

test.each([
  ["nobody", undefined],
  ["u1", undefined],
  ["u1", { memoryCost: 8, timeCost: 1 }],
  ["u1", { memoryCost: 65_536, timeCost: 1 }],
])("a failed attempt of %s takes the same time, whatever was checked (%j)", async (id, cost) => {
  const cx = world.cx({ allowance: createLimits(world.clock, 1)({ address: "198.51.100.7" }) })
  const algorithm = "argon2id"
  const hash = cost && (await Bun.password.hash(rightPassword, { algorithm, ...cost }))
  if (hash) await setPassword(cx, "u1", importPassword(hash, false))
  let isTold = false
  const told = checkPassword(cx, id, wrongPassword).finally(() => {
    isTold = true
  })
  const failures = () => attemptsOf(cx, id).failures
  await expect.poll(failures, { timeout: 60_000, interval: 5 }).toBe(1)
  await world.store.log.settle()
  world.clock.advance(499)
  await loopTurns()
  expect(isTold).toBe(false)
  world.clock.advance(1)
  expect(await told).toBe(id === "u1" ? "wrong" : "none")
})

test("with a slow imported hash, no failed attempt is answered before one with it", async () => {
  const cx = world.cx({ allowance: createLimits(world.clock, 1)({ address: "198.51.100.7" }) })
  const dear = { algorithm: "argon2id", memoryCost: 65_536, timeCost: 1 } as const
  const hash = await Bun.password.hash(rightPassword, dear)
  await setPassword(cx, "u1", importPassword(hash, false))
  const toldAfter = async (id: string, busyMs: number) => {
    let isTold = false
    const told = checkPassword(cx, id, wrongPassword).finally(() => {
      isTold = true
    })
    // The event loop has other work first.
    await loopTurns()
    world.clock.advance(busyMs)
    await expect.poll(() => attemptsOf(cx, id).failures, longTimeout).toBe(1)
    await world.store.log.settle()
    let waited = busyMs
    for (; !isTold; waited += 100) {
      world.clock.advance(100)
      await loopTurns()
    }
    await told
    return waited
  }
  expect(await toldAfter("nobody", 0)).toBe(500)
  expect(await toldAfter("u1", 700)).toBe(1000)
  expect(await toldAfter("nobody else", 0)).toBe(1000)
  world.clock.advance(10 * 60_000)
  expect(await toldAfter("still nobody else", 0)).toBe(500)
})

test("an imported hash is checked although strangers try seventeen others concurrently", async () => {
  const cx = world.cx()
  const dear = { algorithm: "argon2id", memoryCost: 65_536, timeCost: 1 } as const
  const hash = await Bun.password.hash(rightPassword, dear)
  await setPassword(cx, "u1", importPassword(hash, false))
  const others = Array.from({ length: 17 }, (_, index) => `other${index}`)
  for (const userName of others) {
    await createUser(cx, userName, human({ userName, password: importPassword(hash, false) }))
    await recordFailures(userName, 1)
  }
  // Two of each account are checked together: one more than can wait for the slot.
  const flood = [...others, ...others].map((account) =>
    checkPassword(cx, account, wrongPassword).catch(({ id }) => id),
  )
  await expect.poll(() => passwordLoad().foreign, { interval: 1 }).toEqual({ busy: 1, waiting: 32 })
  expect(await checkPassword(cx, "u1", rightPassword)).toBe("ok")
  expect((await Promise.all(flood)).filter((end) => end === "password.busy")).toHaveLength(2)
})

describe("from a known device", () => {
  const tryFrom = (plain: string, device: string | undefined, cx = world.cx()) =>
    authenticateWithPassword(cx, { account: "u1", plain, device }, async (admit) => {
      const { value } = await cx.store.transact(cx, admit)
      return value
    })

  test("an attempt neither waits behind those of strangers nor resets their delay", async () => {
    await recordFailures("u1", 50)
    const { outcomes, all } = tryConcurrently(world.cx(), "u1", repeatPassword(30, wrongPassword))
    expect(await tryFrom(rightPassword, "d1")).toBe("ok")
    expect(count(outcomes, "wrong")).toBe(0)
    expect(attemptsOf(world.cx(), "u1").failures).toBe(50)
    await advanceUntil(all)
  })

  test("failed attempts delay each other only", async () => {
    for (let failed = 0; failed < 5; failed++)
      expect(await tryFrom(wrongPassword, "d1")).toBe("wrong")
    expect(attemptsOf(world.cx(), "u1").failures).toBe(0)
    let ended = false
    const slow = tryFrom(wrongPassword, "d1").finally(() => (ended = true))
    expect(await tryFrom(rightPassword, "d2")).toBe("ok")
    expect(await tryFrom(rightPassword, undefined)).toBe("ok")
    await waitUntilStill(() => Number(ended))
    expect(ended).toBe(false)
    world.clock.advance(1000)
    expect(await slow).toBe("wrong")
  })
})

test("a right password ends the delay, and other accounts have none", async () => {
  const cx = world.cx()
  await failTimes(cx, "u1", 5)
  expect(await checkPassword(cx, accountOf(cx, "somebody else"), wrongPassword)).toBe("none")
  const slow = checkPassword(cx, "u1", rightPassword)
  await waitUntilStill(() => attemptsOf(cx, "u1").failures)
  world.clock.advance(1000)
  expect(await slow).toBe("ok")
  expect(await checkPassword(cx, "u1", wrongPassword)).toBe("wrong")
})

test("nothing is delayed a quarter of an hour later", async () => {
  const cx = world.cx()
  await failTimes(cx, "u1", 5)
  world.clock.advance(15 * 60_000)
  expect(await checkPassword(cx, "u1", rightPassword)).toBe("ok")
})

test("one attempt from each address waits, which leaves room for others", async () => {
  await failTimes(world.cx(), "u1", 5)
  const first = tryConcurrently(callFrom("198.51.100.7"), "u1", repeatPassword(10, wrongPassword))
  await expect.poll(() => count(first.outcomes, "refused"), longTimeout).toBe(8)
  expect(await waitUntilStill(() => count(first.outcomes, "refused"))).toBe(8)
  const other = tryConcurrently(callFrom("198.51.100.8"), "u1", [rightPassword])
  expect(await waitUntilStill(() => other.outcomes.length)).toBe(0)
  const shared = tryConcurrently(callFrom(undefined), "u1", repeatPassword(3, wrongPassword))
  expect(await waitUntilStill(() => shared.outcomes.length)).toBe(0)
  await advanceUntil(Promise.all([first.all, other.all, shared.all]))
  expect(other.outcomes).toEqual(["ok"])
})

test("current password checks for a change wait in the same queue", async () => {
  await failTimes(world.cx(), "u1", 5)
  const own = world.cx({ caller: callerOf("u1") })
  let ended = false
  const guess = { password: { plain: "Other-Horse-9", changeRequired: false } }
  const change = preparePasswordChange(own, "u1", { ...guess, proof: { current: wrongPassword } })
  const outcome = change.catch((cause) => cause).finally(() => (ended = true))
  await waitUntilStill(() => Number(ended))
  expect(ended).toBe(false)
  world.clock.advance(1000)
  expect(await outcome).toMatchObject({ id: "user.password_wrong" })
})
