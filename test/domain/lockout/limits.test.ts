// Every limit against guessing, with its number and its window: the last try that passes, the first
// that does not, and the first that passes again.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { countFailure, recentFailures } from "../../../src/domain/lockout/attempt.ts"
import { countWrong, mayTryFactor } from "../../../src/domain/lockout/check-count.ts"
import {
  countCodeFailure,
  countRequest,
  isKeyValid,
  isRequestedOften,
  isTypedValid,
  mayTryCode,
} from "../../../src/domain/lockout/code-count.ts"
import { failedSignIns } from "../../../src/domain/lockout/failure.ts"
import { countFailedTry } from "../../../src/domain/lockout/lockout.ts"
import { addPolicy } from "../../../src/domain/policy/commands.ts"
import { changeGenerator } from "../../../src/domain/policy/generator.ts"
import { lockout } from "../../../src/domain/policy/index.ts"
import { unlockUser } from "../../../src/domain/user/commands.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import type { Transaction } from "../../../src/store/index.ts"
import type { World } from "../../support/world.ts"
import { anna, openHousehold } from "../user/household.ts"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

let world: World
beforeEach(async () => {
  world = await openHousehold()
  await anna(world.cx())
})
afterEach(() => world.close())

const from = (address: string) => ({ from: { address, userAgent: "Firefox" } })

/** A step; what faults is answered by its id and the seconds to wait. */
const step = async (decide: (tx: Transaction) => unknown, call = from("203.0.113.1")) => {
  try {
    return (await world.store.transact(world.cx(call), decide)).value ?? "counted"
  } catch (cause) {
    const { id, retryAfterSeconds } = cause as { id?: string; retryAfterSeconds?: number }
    return [id, retryAfterSeconds]
  }
}

async function times(count: number, decide: (tx: Transaction) => unknown, call?: typeof from) {
  for (let at = 0; at < count; at++) await step(decide, call?.(`198.51.${at}.1`))
}

const status = () => world.store.state(world.cx(), user, "u1").status

describe("passwords of an account", () => {
  test("are delayed by failures for 15 minutes after the last", async () => {
    await times(5, (tx) => countFailure(tx, "u1"))
    world.clock.advance(10 * minute)
    await step((tx) => countFailure(tx, "u1"))
    expect(recentFailures(world.cx(), "u1")).toBe(6)
    world.clock.advance(15 * minute - 1)
    expect(recentFailures(world.cx(), "u1")).toBe(6)
    world.clock.advance(1)
    expect(recentFailures(world.cx(), "u1")).toBe(0)
    await step((tx) => countFailure(tx, "u1"))
    expect(recentFailures(world.cx(), "u1")).toBe(7)
  })

  test.each([
    [365 * day - 1, "locked"],
    [365 * day, "active"],
  ])("lock their user by the policy, %d ms after the last: %s", async (later, expected) => {
    const say = () => ({ maxPasswordAttempts: 2 })
    await addPolicy(world.cx(), "org1", { policy: lockout, say })
    await step((tx) => countFailedTry(tx, "u1"))
    world.clock.advance(later)
    await step((tx) => countFailedTry(tx, "u1"))
    expect(status()).toBe(expected)
  })

  test("are counted anew once they have locked", async () => {
    const say = () => ({ maxPasswordAttempts: 2 })
    await addPolicy(world.cx(), "org1", { policy: lockout, say })
    await times(2, (tx) => countFailedTry(tx, "u1"))
    await unlockUser(world.cx(), "u1")
    await step((tx) => countFailedTry(tx, "u1"))
    expect(status()).toBe("active")
    await step((tx) => countFailedTry(tx, "u1"))
    expect(status()).toBe("locked")
  })
})

describe("second factors and passkeys of a user", () => {
  const wrong = (tx: Transaction) => countWrong(tx, "u1", "totp")
  const mayTry = (tx: Transaction) => mayTryFactor(tx, "u1")

  test("are refused after 10 wrong ones within an hour of the first, of all kinds", async () => {
    await times(5, wrong)
    world.clock.advance(hour / 2)
    await times(4, (tx) => countWrong(tx, "u1", "passkey"))
    expect(await step(mayTry)).toBe("counted")
    await step((tx) => countWrong(tx, "u1", "recovery_code"))
    expect(await step(mayTry)).toEqual(["user.too_many_factor_tries", 1800])
    world.clock.advance(hour / 2 - 1)
    expect(await step(mayTry)).toEqual(["user.too_many_factor_tries", 1])
    world.clock.advance(1)
    expect(await step(mayTry)).toBe("counted")
  })

  test("are refused after 30 wrong ones within a day of the first", async () => {
    for (let round = 0; round < 3; round++) {
      world.clock.advance(hour)
      await times(10, wrong)
    }
    world.clock.advance(hour)
    expect(await step(mayTry)).toEqual(["user.too_many_factor_tries", 21 * 3600])
    world.clock.advance(21 * hour)
    expect(await step(mayTry)).toBe("counted")
  })

  test.each([
    [365 * day - 1, "locked"],
    [365 * day, "active"],
  ])("lock their user by the policy, %d ms after the last: %s", async (later, expected) => {
    await addPolicy(world.cx(), "org1", { policy: lockout, say: () => ({ maxOtpAttempts: 2 }) })
    await step(wrong)
    world.clock.advance(later)
    await step(wrong)
    expect(status()).toBe(expected)
  })

  test("are counted anew once they have locked", async () => {
    await addPolicy(world.cx(), "org1", { policy: lockout, say: () => ({ maxOtpAttempts: 2 }) })
    await times(2, wrong)
    await unlockUser(world.cx(), "u1")
    await step(wrong)
    expect(status()).toBe("active")
    await step(wrong)
    expect(status()).toBe("locked")
  })
})

describe.each([
  ["email", "verify_email_code"],
  ["phone", "verify_phone_code"],
  ["invite", "init_code"],
  ["password", "password_reset_code"],
  ["passkey", "passwordless_init_code"],
  ["magic_link", "otp_email"],
] as const)("codes for %s", (of, generator) => {
  const mayTry = (tx: Transaction) => mayTryCode(tx, "u1", of)
  const wrong = (tx: Transaction) => countCodeFailure(tx, "u1", of)
  beforeEach(async () => {
    await changeGenerator(world.cx(), generator, { length: 9, includeDigits: true })
  })

  test("are refused after 10 requests within an hour of the first", async () => {
    const request = (tx: Transaction) => countRequest(tx, "u1", of)
    const isOften = (tx: Transaction) => isRequestedOften(tx, "u1", of)
    await times(9, request)
    world.clock.advance(hour / 2)
    expect(await step(isOften)).toBe(false)
    expect(await step(request)).toBe("counted")
    expect(await step(request)).toEqual(["user.too_many_codes", 1800])
    expect(await step(isOften)).toBe(true)
    world.clock.advance(hour / 2)
    expect(await step(isOften)).toBe(false)
    expect(await step(request)).toBe("counted")
  })

  test("are refused to a caller after 10 wrong ones within an hour of the first", async () => {
    await times(9, wrong)
    world.clock.advance(hour / 2)
    expect(await step(mayTry)).toBe("counted")
    await step(wrong)
    expect(await step(mayTry)).toEqual(["user.too_many_codes", 1800])
    expect(await step(mayTry, from("198.51.100.1"))).toBe("counted")
    world.clock.advance(hour / 2)
    expect(await step(mayTry)).toBe("counted")
  })

  test("are refused to everybody after 100 wrong ones within an hour of the first", async () => {
    await times(99, wrong, from)
    expect(await step(mayTry)).toBe("counted")
    await step(wrong, from("192.0.2.1"))
    expect(await step(mayTry)).toEqual(["user.too_many_codes", 3600])
    world.clock.advance(hour)
    expect(await step(mayTry)).toBe("counted")
  })

  test("below 28 bits are refused to everybody after 20 wrong ones", async () => {
    const digits = { includeLowerLetters: false, includeUpperLetters: false, includeDigits: true }
    await changeGenerator(world.cx(), generator, { ...digits, length: 8 })
    await times(19, wrong, from)
    expect(await step(mayTry)).toBe("counted")
    await step(wrong, from("192.0.2.1"))
    expect(await step(mayTry)).toEqual(["user.too_many_codes", 3600])
  })

  test("are wrong without their link after 100 wrong ones over their life", async () => {
    const code = { id: "code", expires: world.clock.now() + 30 * day }
    const guess = (tx: Transaction) => countCodeFailure(tx, "u1", of, { code })
    const isValid = (tx: Transaction) => isTypedValid(tx, "u1", of, "code")
    await times(99, guess, from)
    world.clock.advance(20 * day)
    expect(await step(isValid)).toBe(true)
    await step(guess)
    expect(await step(isValid)).toBe(false)
    expect(await step((tx) => isTypedValid(tx, "u1", of, "another"))).toBe(true)
    expect(await step((tx) => isKeyValid(tx, "u1", of, "code"))).toBe(true)
  })

  test("are limited with their link after 50 wrong ones over their life", async () => {
    const code = { id: "code", expires: world.clock.now() + 30 * day }
    const guess = (tx: Transaction) => countCodeFailure(tx, "u1", of, { code, hasKey: true })
    const isValid = (tx: Transaction) => isKeyValid(tx, "u1", of, "code")
    await times(49, guess, from)
    world.clock.advance(20 * day)
    expect(await step(isValid)).toBe(true)
    await step(guess)
    expect(await step(isValid)).toBe(false)
    expect(await step((tx) => isKeyValid(tx, "u1", of, "another"))).toBe(true)
    expect(await step((tx) => isTypedValid(tx, "u1", of, "code"))).toBe(true)
    // They count for nothing else.
    expect(await step(mayTry)).toBe("counted")
  })
})

describe("failed sign-ins", () => {
  const page = { offset: 0, limit: 1000, asc: false }
  const listed = () => failedSignIns(world.cx(), "u1", page).rows.length

  test("are listed for a day with a wrong password", async () => {
    await step((tx) => countFailure(tx, "u1"))
    world.clock.advance(day - 1)
    expect(listed()).toBe(1)
    world.clock.advance(1)
    expect(listed()).toBe(0)
  })

  test("are listed for a year with a wrong second factor", async () => {
    await step((tx) => countWrong(tx, "u1", "totp"))
    world.clock.advance(365 * day - 1)
    expect(listed()).toBe(1)
    world.clock.advance(1)
    expect(listed()).toBe(0)
  })

  test("are listed up to 50 of each device", async () => {
    await times(60, (tx) => countFailure(tx, "u1"))
    expect(listed()).toBe(50)
    await times(60, (tx) => countWrong(tx, "u1", "totp"))
    expect(listed()).toBe(100)
  })
})
