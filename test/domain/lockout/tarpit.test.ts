import { availableParallelism } from "node:os"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import {
  changedPassword,
  checkPassword,
  createPassword,
  importPassword,
  type PasswordCheck,
  provePassword,
  setPassword,
} from "../../../src/domain/credential/commands.ts"
import { passwordLoad, verifyNothing } from "../../../src/domain/credential/password.ts"
import { attemptsOf, inTurn, passwordCheck } from "../../../src/domain/lockout/attempt.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { accountOf } from "../../../src/domain/user-lookup/query.ts"
import { Fault } from "../../../src/kernel/fault.ts"
import { type Allowance, limitsOf } from "../../../src/kernel/limit.ts"
import type { Cx } from "../../../src/store/index.ts"
import { driveClock, loopTurns } from "../../support/wait.ts"
import { callerOf, type World } from "../../support/world.ts"
import { anna, human, openHousehold } from "../user/household.ts"

/** For what comes in any case, however slow the machine is. */
const patience = { timeout: 60_000 }
const right = "Correct-Horse-7"
const wrong = "Battery-Staple-8"

let world: World
/** Timers that have nothing to do with tries. */
let idle: number
beforeEach(async () => {
  world = await openHousehold()
  await anna(world.cx(), { password: await createPassword(right, { names: [] }) })
  idle = world.clock.pending()
})
afterEach(() => world.close())

type Outcome = PasswordCheck | "refused"
type Tries = { readonly outcomes: Outcome[]; readonly all: Promise<unknown> }

/** Tries at the same moment; how each ended stands in `outcomes` as soon as it has. */
function tries(cx: Cx, account: string, plains: readonly string[]): Tries {
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
 * Until nothing moves any more without time passing. Hashing takes turns: where checks that were
 * asked for later have ended, so have those before, however busy the machine is; what they wrote
 * is then settled.
 */
async function stillness(count: () => number): Promise<number> {
  for (let [before, calm] = [-1, 0]; calm < 2; ) {
    await Promise.all(times(availableParallelism(), wrong).map(verifyNothing))
    await world.store.log.settle()
    await loopTurns()
    calm = before === count() ? calm + 1 : 0
    before = count()
  }
  return count()
}

/** Lets time pass where somebody waits for that: looking at a password takes none. */
function tick(): void {
  if (world.clock.pending() > idle) world.clock.advance(500)
}

/** Lets time pass until all of it has ended. */
async function passTime(ended: Promise<unknown>): Promise<void> {
  await driveClock(ended, tick, { intervalMs: 5 })
}

const times = (count: number, plain: string) => Array.from({ length: count }, () => plain)

async function fail(cx: Cx, account: string, count: number): Promise<void> {
  for (let index = 0; index < count; index++) await checkPassword(cx, account, wrong)
}

describe.each(["anna", "nobody-here"])("failed tries of %s", (name) => {
  const looked = name === "anna" ? "wrong" : "none"
  const account = () => accountOf(world.cx(), name)

  test("at the same moment don't slip past the delay", async () => {
    const { outcomes, all } = tries(world.cx(), account(), times(60, wrong))
    // Two at once, and one more for each of the first four that turned out wrong; then no more.
    await expect.poll(() => count(outcomes, looked), patience).toBe(6)
    await stillness(() => outcomes.length)
    expect(count(outcomes, looked)).toBe(6)
    const refused = outcomes.filter((outcome) => outcome === "refused").length
    expect(refused).toBeGreaterThanOrEqual(60 - 6 - 8)
    await passTime(all)
    expect(outcomes.filter((outcome) => outcome === looked).length).toBeLessThanOrEqual(14)
    expect(attemptsOf(world.cx(), account()).failures).toBe(60 - count(outcomes, "refused"))
  })

  test("are looked at one by one from the fifth on, each after its delay", async () => {
    await fail(world.cx(), account(), 5)
    const { outcomes, all } = tries(world.cx(), account(), times(3, wrong))
    expect(await stillness(() => outcomes.length)).toBe(0)
    for (const done of [1, 2, 3]) {
      world.clock.advance(999)
      expect(await stillness(() => outcomes.length)).toBe(done - 1)
      world.clock.advance(1)
      await expect.poll(() => outcomes.length, { timeout: 60_000 }).toBe(done)
    }
    await all
  })

  test("that wait longer than anybody would are refused without being counted", async () => {
    const { store } = world
    await fail(world.cx(), account(), 5)
    const head = store.log.changes()
    const { outcomes, all } = tries(world.cx(), account(), times(40, wrong))
    // One is looked at, and seven are done in 15 s: four in 1.5 s each, and three in 2.5 s.
    const refused = () => count(outcomes, "refused")
    await expect.poll(refused, patience).toBe(40 - 1 - 7)
    expect(await stillness(refused)).toBe(40 - 1 - 7)
    expect(store.log.changes()).toBe(head)
    await passTime(all)
  })

  test.each([0, 9, 50])("end for everybody in time, after %d of them", async (before) => {
    await haveFailed(account(), before)
    const began = world.clock.now()
    const late: number[] = []
    const all = Array.from({ length: 20 }, async (_, index) => {
      const allowance = limitsOf(world.clock, 1)({ address: `198.51.100.${index}` })
      await tries(world.cx({ allowance }), account(), [wrong]).all
      late.push(world.clock.now() - began)
    })
    await passTime(Promise.all(all))
    expect(Math.max(...late)).toBeLessThanOrEqual(15_000)
    // Whoever was not sent away at once waited for others.
    expect(late.filter((ms) => ms > 7000).length).toBeGreaterThan(0)
  })
})

test("is delayed by what had failed when it was let in, not by what fails with it", async () => {
  const ends = Array.from({ length: 6 }, () => Promise.withResolvers<void>())
  let looked = 0
  const all = ends.map(() =>
    inTurn(world.cx(), { line: "u1", isStranger: false }, async (delay) => {
      await delay
      await ends[looked++]?.promise
      return { value: undefined, isRight: false }
    }),
  )
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  // The fourth and the fifth fail at the same moment.
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
  "right passwords at the same moment all get in (from %s)",
  async (source) => {
    const { outcomes, all } = tries(from(source), "u1", times(100, right))
    await all
    expect(count(outcomes, "ok")).toBe(100)
  },
)

/** Calls from an address; undefined for one that may be many people's. */
function from(source: string | undefined): Cx {
  const pace = () => async () => {}
  const allowance: Allowance = { spend: () => {}, refund: () => {}, source: () => source, pace }
  return world.cx({ allowance })
}

/** So many have failed before, without the wait that each of them would cost. */
const haveFailed = (account: string, failures: number) =>
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
  "who has had no turn comes before %d addresses that guess all the time",
  async (addresses) => {
    await haveFailed("u1", 50)
    const guessing = new Set<number>()
    const guess = async (index: number) => {
      guessing.add(index)
      await tries(from(`198.51.100.${index}`), "u1", [wrong]).all
      guessing.delete(index)
    }
    const failures = () => attemptsOf(world.cx(), "u1").failures
    // One is looked at every seven seconds; all that are not try again.
    const turn = async (isOver: () => boolean) => {
      const ended = () => {
        if (isOver()) return true
        for (let index = 0; index < addresses; index++) if (!guessing.has(index)) void guess(index)
        tick()
        return false
      }
      await expect.poll(ended, { timeout: 60_000, interval: 5 }).toBe(true)
    }
    // Until each of them has had one.
    for (let turns = 0; turns <= addresses; turns++) {
      const before = failures()
      await turn(() => failures() > before)
    }
    const person = tries(from("203.0.113.9"), "u1", [right])
    const before = failures()
    await turn(() => failures() > before)
    await turn(() => person.outcomes.length > 0)
    expect(person.outcomes).toEqual(["ok"])
    await passTime(expect.poll(() => guessing.size, { timeout: 60_000 }).toBe(0))
  },
)

test.each([
  ["the newest", 9, "wrong", "refused"],
  ["the one that came first", 1, "refused", "wrong"],
])("chance says who goes where one is too many: %s", async (_, lot, first, newest) => {
  await haveFailed("u1", 50)
  const drawing = (value: number) => ({ random: { bytes: () => new Uint8Array(4).fill(value) } })
  const inside = tries(from("198.51.100.1"), "u1", [wrong])
  const waiting = tries({ ...from("198.51.100.2"), ...drawing(5) }, "u1", [wrong])
  const late = tries({ ...from("198.51.100.3"), ...drawing(lot) }, "u1", [wrong])
  await passTime(Promise.all([inside.all, waiting.all, late.all]))
  expect([waiting.outcomes, late.outcomes]).toEqual([[first], [newest]])
})

test.each([
  ["nobody", undefined],
  ["u1", undefined],
  ["u1", { memoryCost: 8, timeCost: 1 }],
  ["u1", { memoryCost: 65_536, timeCost: 1 }],
])("a failed try of %s is told at the same pace, whatever was looked at (%j)", async (id, cost) => {
  const cx = world.cx({ allowance: limitsOf(world.clock, 1)({ address: "198.51.100.7" }) })
  const algorithm = "argon2id"
  const hash = cost && (await Bun.password.hash(right, { algorithm, ...cost }))
  if (hash) await setPassword(cx, "u1", importPassword(hash, false))
  let isTold = false
  const told = checkPassword(cx, id, wrong).finally(() => {
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

test("where an imported hash takes long, no failed try is told before one with it", async () => {
  const cx = world.cx({ allowance: limitsOf(world.clock, 1)({ address: "198.51.100.7" }) })
  const dear = { algorithm: "argon2id", memoryCost: 65_536, timeCost: 1 } as const
  const hash = await Bun.password.hash(right, dear)
  await setPassword(cx, "u1", importPassword(hash, false))
  const toldAfter = async (id: string, busyMs: number) => {
    let isTold = false
    const told = checkPassword(cx, id, wrong).finally(() => {
      isTold = true
    })
    // The machine has others to do for first.
    await loopTurns()
    world.clock.advance(busyMs)
    await expect.poll(() => attemptsOf(cx, id).failures, patience).toBe(1)
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

test("an imported hash is looked at though strangers try seventeen others at once", async () => {
  const cx = world.cx()
  const dear = { algorithm: "argon2id", memoryCost: 65_536, timeCost: 1 } as const
  const hash = await Bun.password.hash(right, dear)
  await setPassword(cx, "u1", importPassword(hash, false))
  const others = Array.from({ length: 17 }, (_, index) => `other${index}`)
  for (const userName of others) {
    await createUser(cx, userName, human({ userName, password: importPassword(hash, false) }))
    await haveFailed(userName, 1)
  }
  // Two of each account are looked at together: one more than may wait for the lane.
  const flood = [...others, ...others].map((account) =>
    checkPassword(cx, account, wrong).catch(({ id }) => id),
  )
  await expect.poll(() => passwordLoad().foreign, { interval: 1 }).toEqual({ busy: 1, waiting: 32 })
  expect(await checkPassword(cx, "u1", right)).toBe("ok")
  expect((await Promise.all(flood)).filter((end) => end === "password.busy")).toHaveLength(2)
})

describe("from a device that somebody has signed in from before", () => {
  const tryFrom = (plain: string, device: string | undefined, cx = world.cx()) =>
    provePassword(cx, { account: "u1", plain, device }, async (admit) => {
      const { value } = await cx.store.transact(cx, admit)
      return value
    })

  test("a try does not wait behind those of strangers, nor forgives theirs", async () => {
    await haveFailed("u1", 50)
    const { outcomes, all } = tries(world.cx(), "u1", times(30, wrong))
    expect(await tryFrom(right, "d1")).toBe("ok")
    expect(count(outcomes, "wrong")).toBe(0)
    expect(attemptsOf(world.cx(), "u1").failures).toBe(50)
    await passTime(all)
  })

  test("tries that fail slow each other down, and nobody else", async () => {
    for (let failed = 0; failed < 5; failed++) expect(await tryFrom(wrong, "d1")).toBe("wrong")
    expect(attemptsOf(world.cx(), "u1").failures).toBe(0)
    let ended = false
    const slow = tryFrom(wrong, "d1").finally(() => (ended = true))
    expect(await tryFrom(right, "d2")).toBe("ok")
    expect(await tryFrom(right, undefined)).toBe("ok")
    await stillness(() => Number(ended))
    expect(ended).toBe(false)
    world.clock.advance(1000)
    expect(await slow).toBe("wrong")
  })
})

test("a right password ends the delay, and other accounts have none", async () => {
  const cx = world.cx()
  await fail(cx, "u1", 5)
  expect(await checkPassword(cx, accountOf(cx, "somebody else"), wrong)).toBe("none")
  const slow = checkPassword(cx, "u1", right)
  await stillness(() => attemptsOf(cx, "u1").failures)
  world.clock.advance(1000)
  expect(await slow).toBe("ok")
  expect(await checkPassword(cx, "u1", wrong)).toBe("wrong")
})

test("a quarter of an hour later nothing waits", async () => {
  const cx = world.cx()
  await fail(cx, "u1", 5)
  world.clock.advance(15 * 60_000)
  expect(await checkPassword(cx, "u1", right)).toBe("ok")
})

test("from one address one try waits, so that others find a place", async () => {
  await fail(world.cx(), "u1", 5)
  const first = tries(from("198.51.100.7"), "u1", times(10, wrong))
  await expect.poll(() => count(first.outcomes, "refused"), patience).toBe(8)
  expect(await stillness(() => count(first.outcomes, "refused"))).toBe(8)
  const other = tries(from("198.51.100.8"), "u1", [right])
  expect(await stillness(() => other.outcomes.length)).toBe(0)
  const shared = tries(from(undefined), "u1", times(3, wrong))
  expect(await stillness(() => shared.outcomes.length)).toBe(0)
  await passTime(Promise.all([first.all, other.all, shared.all]))
  expect(other.outcomes).toEqual(["ok"])
})

test("guesses at the current password of a change wait in the same line", async () => {
  await fail(world.cx(), "u1", 5)
  const own = world.cx({ caller: callerOf("u1") })
  let ended = false
  const guess = { wanted: { plain: "Other-Horse-9", changeRequired: false } }
  const change = changedPassword(own, "u1", { ...guess, proof: { current: wrong } })
  const outcome = change.catch((cause) => cause).finally(() => (ended = true))
  await stillness(() => Number(ended))
  expect(ended).toBe(false)
  world.clock.advance(1000)
  expect(await outcome).toMatchObject({ id: "user.password_wrong" })
})
