import { availableParallelism } from "node:os"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import {
  accountOf,
  attemptsOf,
  changedPassword,
  checkPassword,
  createPassword,
  type PasswordCheck,
} from "../../../src/domain/user/index.ts"
import { verifyNothing } from "../../../src/domain/user/password.ts"
import { Fault } from "../../../src/kernel/fault.ts"
import type { Allowance } from "../../../src/kernel/limit.ts"
import type { Cx } from "../../../src/store/index.ts"
import { callerOf, type World } from "../../support/world.ts"
import { anna, openHousehold } from "./household.ts"

const right = "Correct-Horse-7"
const wrong = "Battery-Staple-8"

let world: World
beforeEach(async () => {
  world = await openHousehold()
  await anna(world.cx(), { password: await createPassword(right, { names: [] }) })
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
    await new Promise((resolve) => setTimeout(resolve, 10))
    calm = before === count() ? calm + 1 : 0
    before = count()
  }
  return count()
}

/** Lets time pass until all of it has ended. */
async function passTime(ended: Promise<unknown>): Promise<void> {
  let over = false
  void ended.finally(() => {
    over = true
  })
  while (!over) {
    world.clock.advance(1000)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
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
    await stillness(() => outcomes.length)
    const seen = outcomes.filter((outcome) => outcome === looked).length
    // Eight at once, and one more for each of the first four that turned out wrong.
    expect(seen).toBeGreaterThanOrEqual(5)
    expect(seen).toBeLessThanOrEqual(12)
    const refused = outcomes.filter((outcome) => outcome === "refused").length
    expect(refused).toBeGreaterThanOrEqual(60 - 12 - 20)
    await passTime(all)
    expect(outcomes.filter((outcome) => outcome === looked).length).toBeLessThanOrEqual(32)
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
      await expect.poll(() => outcomes.length, { timeout: 10_000 }).toBe(done)
    }
    await all
  })

  test("that wait longer than anybody would are refused without being counted", async () => {
    const { store } = world
    await fail(world.cx(), account(), 5)
    const head = store.log.changes()
    const { outcomes, all } = tries(world.cx(), account(), times(40, wrong))
    expect(await stillness(() => count(outcomes, "refused"))).toBe(40 - 1 - 15)
    expect(store.log.changes()).toBe(head)
    await passTime(all)
  })
})

const count = (outcomes: readonly Outcome[], which: Outcome) =>
  outcomes.filter((outcome) => outcome === which).length

test("right passwords at the same moment don't wait", async () => {
  const { outcomes, all } = tries(world.cx(), "u1", times(24, right))
  await all
  expect(count(outcomes, "ok")).toBe(24)
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
  const from = (source: string | undefined) => {
    const allowance: Allowance = { spend: () => {}, refund: () => {}, source: () => source }
    return world.cx({ allowance })
  }
  await fail(world.cx(), "u1", 5)
  const first = tries(from("198.51.100.7"), "u1", times(10, wrong))
  await stillness(() => first.outcomes.length)
  expect(count(first.outcomes, "refused")).toBe(8)
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
