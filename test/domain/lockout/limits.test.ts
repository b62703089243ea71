// Every guessing limit with its number and window: the last permitted attempt, the first rejected
// one, and the first permitted one afterwards.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { countFailure, recentFailures } from "../../../src/domain/lockout/attempt.ts"
import {
  countFactorFailure,
  requireFactorAllowed,
} from "../../../src/domain/lockout/check-count.ts"
import {
  countCodeFailure,
  countRequest,
  isCodeAloneAccepted,
  isLinkKeyAccepted,
  isRequestedOften,
  requireCodeAttemptAllowed,
} from "../../../src/domain/lockout/code-count.ts"
import { listFailedSignIns } from "../../../src/domain/lockout/failure.ts"
import { countFailedAttempt } from "../../../src/domain/lockout/lockout.ts"
import { addPolicy } from "../../../src/domain/policy/commands.ts"
import { updateGenerator } from "../../../src/domain/policy/generator.ts"
import { lockout } from "../../../src/domain/policy/index.ts"
import { unlockUser } from "../../../src/domain/user/commands.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import type { Transaction } from "../../../src/store/index.ts"
import type { TestEnvironment } from "../../support/test-environment.ts"
import { createAnna, openUserWorld } from "../user/household.ts"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

let world: TestEnvironment
beforeEach(async () => {
  world = await openUserWorld()
  await createAnna(world.cx())
})
afterEach(() => world.close())

const from = (address: string) => ({ from: { address, userAgent: "Firefox" } })

/** A transaction; for a fault, returns its ID and the seconds to wait. */
const runStep = async (decide: (tx: Transaction) => unknown, call = from("203.0.113.1")) => {
  try {
    return (await world.store.transact(world.cx(call), decide)).value ?? "counted"
  } catch (cause) {
    const { id, retryAfterSeconds } = cause as { id?: string; retryAfterSeconds?: number }
    return [id, retryAfterSeconds]
  }
}

async function repeatStep(count: number, decide: (tx: Transaction) => unknown, call?: typeof from) {
  for (let at = 0; at < count; at++) await runStep(decide, call?.(`198.51.${at}.1`))
}

const status = () => world.store.state(world.cx(), user, "u1").status

describe("passwords of an account", () => {
  test("are delayed by failures for 15 minutes after the last", async () => {
    await repeatStep(5, (tx) => countFailure(tx, "u1"))
    world.clock.advance(10 * minute)
    await runStep((tx) => countFailure(tx, "u1"))
    expect(recentFailures(world.cx(), "u1")).toBe(6)
    world.clock.advance(15 * minute - 1)
    expect(recentFailures(world.cx(), "u1")).toBe(6)
    world.clock.advance(1)
    expect(recentFailures(world.cx(), "u1")).toBe(0)
    await runStep((tx) => countFailure(tx, "u1"))
    expect(recentFailures(world.cx(), "u1")).toBe(7)
  })

  test.each([
    [365 * day - 1, "locked"],
    [365 * day, "active"],
  ])("lock the user by the policy, %d ms after the last: %s", async (later, expected) => {
    const say = () => ({ maxPasswordAttempts: 2 })
    await addPolicy(world.cx(), "org1", { policy: lockout, apply: say })
    await runStep((tx) => countFailedAttempt(tx, "u1"))
    world.clock.advance(later)
    await runStep((tx) => countFailedAttempt(tx, "u1"))
    expect(status()).toBe(expected)
  })

  test("are counted from zero after a lock", async () => {
    const say = () => ({ maxPasswordAttempts: 2 })
    await addPolicy(world.cx(), "org1", { policy: lockout, apply: say })
    await repeatStep(2, (tx) => countFailedAttempt(tx, "u1"))
    await unlockUser(world.cx(), "u1")
    await runStep((tx) => countFailedAttempt(tx, "u1"))
    expect(status()).toBe("active")
    await runStep((tx) => countFailedAttempt(tx, "u1"))
    expect(status()).toBe("locked")
  })
})

describe("second factors and passkeys of a user", () => {
  const wrong = (tx: Transaction) => countFactorFailure(tx, "u1", "totp")
  const mayTry = (tx: Transaction) => requireFactorAllowed(tx, "u1")

  test("are rejected after 10 wrong ones of any kind within an hour of the first", async () => {
    await repeatStep(5, wrong)
    world.clock.advance(hour / 2)
    await repeatStep(4, (tx) => countFactorFailure(tx, "u1", "passkey"))
    expect(await runStep(mayTry)).toBe("counted")
    await runStep((tx) => countFactorFailure(tx, "u1", "recovery_code"))
    expect(await runStep(mayTry)).toEqual(["user.too_many_factor_tries", 1800])
    world.clock.advance(hour / 2 - 1)
    expect(await runStep(mayTry)).toEqual(["user.too_many_factor_tries", 1])
    world.clock.advance(1)
    expect(await runStep(mayTry)).toBe("counted")
  })

  test("are rejected after 30 wrong ones within a day of the first", async () => {
    for (let round = 0; round < 3; round++) {
      world.clock.advance(hour)
      await repeatStep(10, wrong)
    }
    world.clock.advance(hour)
    expect(await runStep(mayTry)).toEqual(["user.too_many_factor_tries", 21 * 3600])
    world.clock.advance(21 * hour)
    expect(await runStep(mayTry)).toBe("counted")
  })

  test.each([
    [365 * day - 1, "locked"],
    [365 * day, "active"],
  ])("lock their user by the policy, %d ms after the last: %s", async (later, expected) => {
    await addPolicy(world.cx(), "org1", { policy: lockout, apply: () => ({ maxOtpAttempts: 2 }) })
    await runStep(wrong)
    world.clock.advance(later)
    await runStep(wrong)
    expect(status()).toBe(expected)
  })

  test("are counted anew once they have locked", async () => {
    await addPolicy(world.cx(), "org1", { policy: lockout, apply: () => ({ maxOtpAttempts: 2 }) })
    await repeatStep(2, wrong)
    await unlockUser(world.cx(), "u1")
    await runStep(wrong)
    expect(status()).toBe("active")
    await runStep(wrong)
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
  const mayTry = (tx: Transaction) => requireCodeAttemptAllowed(tx, "u1", of)
  const wrong = (tx: Transaction) => countCodeFailure(tx, "u1", of)
  beforeEach(async () => {
    await updateGenerator(world.cx(), generator, { length: 9, includeDigits: true })
  })

  test("are rejected after 10 requests within an hour of the first", async () => {
    const request = (tx: Transaction) => countRequest(tx, "u1", of)
    const isOften = (tx: Transaction) => isRequestedOften(tx, "u1", of)
    await repeatStep(9, request)
    world.clock.advance(hour / 2)
    expect(await runStep(isOften)).toBe(false)
    expect(await runStep(request)).toBe("counted")
    expect(await runStep(request)).toEqual(["user.too_many_codes", 1800])
    expect(await runStep(isOften)).toBe(true)
    world.clock.advance(hour / 2)
    expect(await runStep(isOften)).toBe(false)
    expect(await runStep(request)).toBe("counted")
  })

  test("are rejected for a caller after 10 wrong ones within an hour of the first", async () => {
    await repeatStep(9, wrong)
    world.clock.advance(hour / 2)
    expect(await runStep(mayTry)).toBe("counted")
    await runStep(wrong)
    expect(await runStep(mayTry)).toEqual(["user.too_many_codes", 1800])
    expect(await runStep(mayTry, from("198.51.100.1"))).toBe("counted")
    world.clock.advance(hour / 2)
    expect(await runStep(mayTry)).toBe("counted")
  })

  test("are rejected for everybody after 100 wrong ones within an hour of the first", async () => {
    await repeatStep(99, wrong, from)
    expect(await runStep(mayTry)).toBe("counted")
    await runStep(wrong, from("192.0.2.1"))
    expect(await runStep(mayTry)).toEqual(["user.too_many_codes", 3600])
    world.clock.advance(hour)
    expect(await runStep(mayTry)).toBe("counted")
  })

  test("below 28 bits are rejected for everybody after 20 wrong ones", async () => {
    const digits = { includeLowerLetters: false, includeUpperLetters: false, includeDigits: true }
    await updateGenerator(world.cx(), generator, { ...digits, length: 8 })
    await repeatStep(19, wrong, from)
    expect(await runStep(mayTry)).toBe("counted")
    await runStep(wrong, from("192.0.2.1"))
    expect(await runStep(mayTry)).toEqual(["user.too_many_codes", 3600])
  })

  test("are wrong without their link after 100 wrong ones in their lifetime", async () => {
    const code = { id: "code", expires: world.clock.now() + 30 * day }
    const guess = (tx: Transaction) => countCodeFailure(tx, "u1", of, { code })
    const isValid = (tx: Transaction) => isCodeAloneAccepted(tx, "u1", of, "code")
    await repeatStep(99, guess, from)
    world.clock.advance(20 * day)
    expect(await runStep(isValid)).toBe(true)
    await runStep(guess)
    expect(await runStep(isValid)).toBe(false)
    expect(await runStep((tx) => isCodeAloneAccepted(tx, "u1", of, "another"))).toBe(true)
    expect(await runStep((tx) => isLinkKeyAccepted(tx, "u1", of, "code"))).toBe(true)
  })

  test("are limited with their link after 50 wrong ones in their lifetime", async () => {
    const code = { id: "code", expires: world.clock.now() + 30 * day }
    const guess = (tx: Transaction) => countCodeFailure(tx, "u1", of, { code, hasKey: true })
    const isValid = (tx: Transaction) => isLinkKeyAccepted(tx, "u1", of, "code")
    await repeatStep(49, guess, from)
    world.clock.advance(20 * day)
    expect(await runStep(isValid)).toBe(true)
    await runStep(guess)
    expect(await runStep(isValid)).toBe(false)
    expect(await runStep((tx) => isLinkKeyAccepted(tx, "u1", of, "another"))).toBe(true)
    expect(await runStep((tx) => isCodeAloneAccepted(tx, "u1", of, "code"))).toBe(true)
    // They count for no other limit.
    expect(await runStep(mayTry)).toBe("counted")
  })
})

describe("failed sign-ins", () => {
  const page = { offset: 0, limit: 1000, asc: false }
  const listed = () => listFailedSignIns(world.cx(), "u1", page).rows.length

  test("are listed for a day with a wrong password", async () => {
    await runStep((tx) => countFailure(tx, "u1"))
    world.clock.advance(day - 1)
    expect(listed()).toBe(1)
    world.clock.advance(1)
    expect(listed()).toBe(0)
  })

  test("are listed for a year with a wrong second factor", async () => {
    await runStep((tx) => countFactorFailure(tx, "u1", "totp"))
    world.clock.advance(365 * day - 1)
    expect(listed()).toBe(1)
    world.clock.advance(1)
    expect(listed()).toBe(0)
  })

  test("are listed up to 50 of each device", async () => {
    await repeatStep(60, (tx) => countFailure(tx, "u1"))
    expect(listed()).toBe(50)
    await repeatStep(60, (tx) => countFactorFailure(tx, "u1", "totp"))
    expect(listed()).toBe(100)
  })
})
