import { TOTP } from "otpauth"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { checkPassword, createPassword } from "../../../src/domain/credential/commands.ts"
import { factorChecks } from "../../../src/domain/factor/check.ts"
import { registerTotp, removeTotp, verifyTotp } from "../../../src/domain/factor/totp.ts"
import { factorCount } from "../../../src/domain/lockout/check-count.ts"
import { countRequest } from "../../../src/domain/lockout/code-count.ts"
import { limits } from "../../../src/domain/lockout/limits.ts"
import { countFailedAttempt } from "../../../src/domain/lockout/lockout.ts"
import { addPolicy } from "../../../src/domain/policy/commands.ts"
import { lockout } from "../../../src/domain/policy/index.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { Fault } from "../../../src/kernel/fault.ts"
import type { TestEnvironment } from "../../support/test-environment.ts"
import { driveClock } from "../../support/wait.ts"
import { createAnna, openUserWorld } from "../user/household.ts"

const day = 86_400_000
const password = "Correct-Horse-7"

let world: TestEnvironment
beforeEach(async () => {
  world = await openUserWorld()
  await createAnna(world.cx(), { password: await createPassword(password, { names: [] }) })
})
afterEach(() => world.close())

const runStep = (act: Parameters<TestEnvironment["store"]["transact"]>[1]) =>
  world.store.transact(world.cx(), act)
const codeOf = (secret: string, late = 0) =>
  new TOTP({ secret }).generate({ timestamp: world.clock.now() + late * 30_000 })

async function tryCode(text: string) {
  const cx = world.cx()
  try {
    return (await cx.store.transact(cx, await factorChecks.totp(cx, { given: text, userId: "u1" })))
      .value.isRight
  } catch (cause) {
    if (cause instanceof Fault) return cause.id
    throw cause
  }
}

async function withTotp(): Promise<string> {
  const { secret } = await registerTotp(world.cx(), "u1", { issuer: "Home", label: "anna" })
  await verifyTotp(world.cx(), "u1", codeOf(secret))
  return secret
}

describe("after the clock was a day ahead and is corrected", () => {
  test("an authenticator app signs in, and each of its codes once", async () => {
    world.clock.advance(day)
    const secret = await withTotp()
    world.clock.advance(-day)
    const now = codeOf(secret)
    expect(await tryCode(now)).toBe(true)
    expect(await tryCode(now)).toBe(false)
    expect(await tryCode(codeOf(secret, -1))).toBe(false)
    world.clock.advance(30_000)
    expect(await tryCode(codeOf(secret))).toBe(true)
  })

  test("wrong codes from that time block no one", async () => {
    const secret = await withTotp()
    world.clock.advance(day)
    for (let each = 0; each < limits.wrongFactorsInHour.max; each++) await tryCode("000000")
    expect(await tryCode(codeOf(secret))).toBe("user.too_many_factor_tries")
    world.clock.advance(-day + 60_000)
    expect(await tryCode(codeOf(secret))).toBe(true)
  })

  test("codes that were sent at that time are not counted", async () => {
    world.clock.advance(day)
    for (let each = 0; each < 10; each++) await runStep((tx) => countRequest(tx, "u1", "otp_email"))
    const again = () => runStep((tx) => countRequest(tx, "u1", "otp_email"))
    await expect(again()).rejects.toMatchObject({ id: "user.too_many_codes" })
    world.clock.advance(-day)
    for (let each = 0; each < 10; each++) await again()
    await expect(again()).rejects.toMatchObject({ id: "user.too_many_codes" })
  })

  test("wrong passwords from that time neither delay nor lock", async () => {
    await addPolicy(world.cx(), "org1", {
      policy: lockout,
      apply: () => ({ maxPasswordAttempts: 3 }),
    })
    world.clock.advance(day)
    for (let each = 0; each < 2; each++) await runStep((tx) => countFailedAttempt(tx, "u1"))
    world.clock.advance(-day)
    await runStep((tx) => countFailedAttempt(tx, "u1"))
    expect(world.store.state(world.cx(), user, "u1")).toMatchObject({ status: "active" })
    for (let each = 0; each < 2; each++) await runStep((tx) => countFailedAttempt(tx, "u1"))
    expect(world.store.state(world.cx(), user, "u1")).toMatchObject({ status: "locked" })
  })

  test("an attempt is not delayed by failures from that time", async () => {
    world.clock.advance(day)
    for (let each = 0; each < 12; each++) {
      const wrong = checkPassword(world.cx(), "u1", "wrong")
      await driveClock(wrong, () => world.clock.advance(500))
    }
    world.clock.advance(-2 * day)
    // The clock does not advance: a delay would never end.
    expect(await checkPassword(world.cx(), "u1", password)).toBe("ok")
  })
})

describe("after the clock is set back by minutes", () => {
  test.each([2, 4])("after %d minutes no code is accepted a second time", async (minutes) => {
    const secret = await withTotp()
    const used: string[] = []
    for (let each = 0; each < minutes * 2; each++) {
      world.clock.advance(30_000)
      used.push(codeOf(secret))
      expect(await tryCode(used.at(-1) ?? "")).toBe(true)
    }
    world.clock.advance(-minutes * 60_000)
    // An unused code is accepted meanwhile and does not revive used ones.
    world.clock.advance(-60_000)
    expect(await tryCode(codeOf(secret))).toBe(true)
    world.clock.advance(60_000)
    for (const code of used) {
      world.clock.advance(30_000)
      expect(await tryCode(code)).toBe(false)
    }
    world.clock.advance(60_000)
    expect(await tryCode(codeOf(secret))).toBe(true)
  })

  test("codes of another authenticator app are independent of the previous app", async () => {
    await withTotp()
    world.clock.advance(30_000)
    await removeTotp(world.cx(), "u1")
    expect(await withTotp()).toMatch(/^[A-Z2-7]+$/)
  })
})

describe("a node whose clock is 20 seconds behind", () => {
  const second = 1000
  /** The first node is in a later 30-second step than the one whose clock is behind. */
  const apart = async () => {
    const secret = await withTotp()
    world.clock.advance(300 * second + 35 * second - (world.clock.now() % (30 * second)))
    return secret
  }

  test("rejects a code older than the one that another node accepted", async () => {
    const secret = await apart()
    const next = codeOf(secret, 1)
    expect(await tryCode(next)).toBe(true)
    world.clock.advance(-20 * second)
    for (const late of [-1, 0, 1]) expect(await tryCode(codeOf(secret, late))).toBe(false)
    world.clock.advance(20 * second)
    expect(await tryCode(next)).toBe(false)
    world.clock.advance(60 * second)
    expect(await tryCode(codeOf(secret))).toBe(true)
  })

  test("rejects a code older than the one that an earlier version accepted", async () => {
    const secret = await apart()
    const next = codeOf(secret, 1)
    expect(await tryCode(next)).toBe(true)
    const taken = world.store.state(world.cx(), factorCount, "u1")
    await runStep((tx) =>
      tx.append(factorCount, "u1", [
        {
          type: "user.human.mfa.otp.check.succeeded",
          data: { step: taken.step - 2, ...(taken.secret && { secret: taken.secret }) },
        },
      ]),
    )
    expect(await tryCode(next)).toBe(false)
  })
})

test("a new app works in the same 30-second step as the previous one", async () => {
  const before = await withTotp()
  await removeTotp(world.cx(), "u1")
  const { secret } = await registerTotp(world.cx(), "u1", { issuer: "Home", label: "anna" })
  await verifyTotp(world.cx(), "u1", codeOf(secret))
  expect(secret).not.toBe(before)
  expect(await tryCode(codeOf(secret))).toBe(false)
})
