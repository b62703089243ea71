import { TOTP } from "otpauth"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createPassword } from "../../../src/domain/credential/commands.ts"
import { type CheckKind, factorChecks } from "../../../src/domain/factor/check.ts"
import { beginKey, finishKey } from "../../../src/domain/factor/key/key.ts"
import { addOtp, createCodeChallenge, removeOtp } from "../../../src/domain/factor/otp.ts"
import type { FactorProof } from "../../../src/domain/factor/proof.ts"
import { remainingRecoveryCodes, secondFactorsOf } from "../../../src/domain/factor/ready.ts"
import {
  generateRecoveryCodes,
  removeRecoveryCodes,
} from "../../../src/domain/factor/recovery-code.ts"
import { registerTotp, removeTotp, verifyTotp } from "../../../src/domain/factor/totp.ts"
import { limits } from "../../../src/domain/lockout/limits.ts"
import { addPolicy, changePolicy } from "../../../src/domain/policy/commands.ts"
import { type Login, lockout, login } from "../../../src/domain/policy/index.ts"
import { removeUser } from "../../../src/domain/user/index.ts"
import { signInVersion } from "../../../src/domain/user-lookup/query.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { createReader } from "../../../src/domain/user-model/read.ts"
import { Fault } from "../../../src/kernel/fault.ts"
import { createKey } from "../../support/authenticator.ts"
import type { TestEnvironment } from "../../support/test-environment.ts"
import { createAnna, openUserWorld } from "../user/household.ts"

let world: TestEnvironment
beforeEach(async () => {
  world = await openUserWorld()
  await createAnna(world.cx(), {
    password: await createPassword("Correct-Horse-7", { names: [] }),
    phone: { value: "+41791234567", verified: true },
  })
})
afterEach(() => world.close())

/** Checks in a separate transaction; returns the ID of a fault. */
async function check(kind: CheckKind, request: Omit<FactorProof, "userId">, userId = "u1") {
  const cx = world.cx()
  try {
    const admit = await factorChecks[kind](cx, { ...request, userId })
    return (await cx.store.transact(cx, admit)).value.isRight
  } catch (cause) {
    if (cause instanceof Fault) return cause.id
    throw cause
  }
}

const state = () => world.store.state(world.cx(), user, "u1")
const label = { issuer: "Home", label: "anna" }
const codeOf = (secret: string, late = 0) =>
  new TOTP({ secret }).generate({ timestamp: world.clock.now() + late * 30_000 })

async function withTotp(): Promise<string> {
  const { secret } = await registerTotp(world.cx(), "u1", label)
  await verifyTotp(world.cx(), "u1", codeOf(secret, -1))
  return secret
}

/** A code that is invalid around the current time. */
const wrongCode = (secret: string): string => {
  const near = [-2, -1, 0, 1, 2].map((late) => codeOf(secret, late))
  return (
    ["000000", "111111", "222222", "333333", "444444", "555555"].find(
      (code) => !near.includes(code),
    ) ?? ""
  )
}

describe("an authenticator app", () => {
  test("is active after its first code", async () => {
    const { secret, uri } = await registerTotp(world.cx(), "u1", label)
    expect(uri).toContain(`otpauth://totp/Home:anna?issuer=Home&secret=${secret}`)
    expect(secondFactorsOf(state())).toEqual([])
    expect(await check("totp", { given: codeOf(secret) })).toBe(false)
    await expect(verifyTotp(world.cx(), "u1", wrongCode(secret))).rejects.toThrow(
      "the code is incorrect",
    )
    await verifyTotp(world.cx(), "u1", codeOf(secret))
    expect(secondFactorsOf(state())).toEqual(["otp"])
    await expect(registerTotp(world.cx(), "u1", label)).rejects.toThrow(
      "an authenticator app is already set up",
    )
  })

  test("accepts one step early or late, and each step once", async () => {
    const secret = await withTotp()
    expect(await check("totp", { given: codeOf(secret, 2) })).toBe(false)
    expect(await check("totp", { given: codeOf(secret, -2) })).toBe(false)
    const now = codeOf(secret)
    expect(await check("totp", { given: `${now.slice(0, 3)} ${now.slice(3)}` })).toBe(true)
    expect(await check("totp", { given: now })).toBe(false)
    expect(await check("totp", { given: codeOf(secret, 1) })).toBe(true)
    // A later step was used: an earlier unused one is invalid, too.
    world.clock.advance(30_000)
    expect(await check("totp", { given: codeOf(secret, 0) })).toBe(false)
  })

  test("accepts one of twenty concurrent uses of a code", async () => {
    const secret = await withTotp()
    const given = codeOf(secret)
    const all = await Promise.all(Array.from({ length: 20 }, () => check("totp", { given })))
    expect(all.filter((result) => result === true)).toHaveLength(1)
    expect(all).not.toContain("internal")
  })

  test("can be guessed ten times an hour and thirty times a day, by all callers", async () => {
    const secret = await withTotp()
    const given = wrongCode(secret)
    for (const _ of Array.from({ length: limits.wrongFactorsInHour.max })) {
      expect(await check("totp", { given: wrongCode(secret) })).toBe(false)
    }
    expect(await check("totp", { given: codeOf(secret) })).toBe("user.too_many_factor_tries")
    // The limit covers other kinds, and the placeholder of an unknown name is treated the same.
    expect(await check("recovery_code", { given })).toBe("user.too_many_factor_tries")
    for (const _ of Array.from({ length: limits.wrongFactorsInHour.max })) {
      expect(await check("totp", { given }, "nobody:x")).toBe(false)
    }
    expect(await check("totp", { given }, "nobody:x")).toBe("user.too_many_factor_tries")
    world.clock.advance(3_600_000)
    expect(await check("totp", { given: codeOf(secret) })).toBe(true)
    for (const _ of [1, 2]) {
      for (const __ of Array.from({ length: limits.wrongFactorsInHour.max })) {
        await check("totp", { given: wrongCode(secret) })
      }
      world.clock.advance(3_600_000)
    }
    expect(await check("totp", { given: codeOf(secret) })).toBe("user.too_many_factor_tries")
    world.clock.advance(24 * 3_600_000)
    expect(await check("totp", { given: codeOf(secret) })).toBe(true)
  })

  test("locks after the number of consecutive wrong codes in the policy", async () => {
    const secret = await withTotp()
    await addPolicy(world.cx(), "org1", { policy: lockout, apply: () => ({ maxOtpAttempts: 3 }) })
    for (const given of [wrongCode(secret), wrongCode(secret), codeOf(secret), wrongCode(secret)]) {
      await check("totp", { given })
    }
    expect(state().status).toBe("active")
    await check("totp", { given: wrongCode(secret) })
    await check("totp", { given: wrongCode(secret) })
    expect(state().status).toBe("locked")
  })

  test("is removed, and ends the sessions it signed in", async () => {
    const read = () => signInVersion(createReader(world.cx()), "u1")
    const before = read()
    await registerTotp(world.cx(), "u1", label)
    await removeTotp(world.cx(), "u1")
    expect(read()).toBe(before)
    const secret = await withTotp()
    expect(read()).toBe(before)
    await removeTotp(world.cx(), "u1")
    expect(read()).not.toBe(before)
    expect(await check("totp", { given: codeOf(secret, 1) })).toBe(false)
    await expect(removeTotp(world.cx(), "u1")).rejects.toThrow("authenticator app not found")
  })
})

describe.each(["email", "sms"] as const)("a code by %s", (channel) => {
  const kind = `otp_${channel}` as const

  test("signs in once while it is valid, for the user who requested it", async () => {
    const { plain, challenge } = createCodeChallenge(world.cx(), "u1", channel)
    expect(plain).toMatch(/^\d{8}$/)
    expect(await check(kind, { given: plain, challenge })).toBe(false)
    await addOtp(world.cx(), "u1", channel)
    await expect(addOtp(world.cx(), "u1", channel)).rejects.toThrow("already")
    expect(secondFactorsOf(state())).toEqual([kind])
    expect(await check(kind, { given: plain })).toBe(false)
    expect(await check(kind, { given: "00000000", challenge })).toBe(false)
    const other = channel === "email" ? "otp_sms" : "otp_email"
    expect(await check(other, { given: plain, challenge })).toBe(false)
    expect(await check(kind, { given: plain, challenge }, "u2")).toBe(false)
    const all = await Promise.all(
      Array.from({ length: 5 }, () => check(kind, { given: plain, challenge })),
    )
    expect(all.filter((result) => result === true)).toHaveLength(1)
    expect(await check(kind, { given: plain, challenge })).toBe(false)
    const late = createCodeChallenge(world.cx(), "u1", channel)
    world.clock.advance(301_000)
    expect(await check(kind, { given: late.plain, challenge: late.challenge })).toBe(false)
    await removeOtp(world.cx(), "u1", channel)
    await expect(removeOtp(world.cx(), "u1", channel)).rejects.toThrow(
      "one-time codes are not enabled",
    )
  })
})

test("sends no code to an unverified address", async () => {
  await createAnna(world.cx(), { userName: "other" }).catch(() => undefined)
  await world.store.transact(world.cx(), (tx) =>
    tx.append(user, "u1", [
      { type: "user.human.mfa.otp.email.added", data: {} },
      { type: "user.human.email.changed", data: {}, private: { email: "new@example.com" } },
    ]),
  )
  expect(secondFactorsOf(state())).toEqual([])
})

describe("recovery codes", () => {
  const allows = (secondFactors: Login["secondFactors"], more: Partial<Login> = {}) =>
    changePolicy(world.cx(), undefined, {
      policy: login,
      apply: () => ({ secondFactors, ...more }),
    })
  beforeEach(async () => {
    await allows(["otp", "u2f", "otp_email", "recovery_codes"])
    await addOtp(world.cx(), "u1", "email")
  })
  const generated = () => generateRecoveryCodes(world.cx(), "u1")

  test("are rejected if the policy does not allow them", async () => {
    await allows(["otp_email"])
    await expect(generated()).rejects.toMatchObject({ id: "user.recovery_codes_not_allowed" })
    expect(remainingRecoveryCodes(state())).toBeUndefined()
    await allows(["otp_email", "recovery_codes"])
    expect((await generated()).codes).toHaveLength(10)
  })

  test("are rejected without another factor that the policy allows", async () => {
    const alone = { id: "user.recovery_codes_alone" }
    await allows(["otp", "recovery_codes"])
    await expect(generated()).rejects.toMatchObject(alone)
    const { secret } = await registerTotp(world.cx(), "u1", label)
    await expect(generated()).rejects.toMatchObject(alone)
    await verifyTotp(world.cx(), "u1", codeOf(secret))
    await generated()
    // Replacing recovery codes does not count as another factor, either.
    await removeTotp(world.cx(), "u1")
    await expect(generated()).rejects.toMatchObject(alone)
  })

  test("are issued with a passkey if the policy requires one with a password", async () => {
    await removeOtp(world.cx(), "u1", "email")
    const { tokenId, options } = await beginKey(world.cx(), "u1", { kind: "passkey" })
    const credential = createKey(options, { origin: "http://localhost:8080" }).creation
    await finishKey(world.cx(), "u1", { kind: "passkey", tokenId, credential, name: "" })
    await allows(["recovery_codes"], { multiFactors: [] })
    await expect(generated()).rejects.toMatchObject({ id: "user.recovery_codes_alone" })
    await allows(["recovery_codes"], { multiFactors: ["u2f_with_verification"] })
    expect((await generated()).codes).toHaveLength(10)
  })

  test("count down to none", async () => {
    expect(remainingRecoveryCodes(state())).toBeUndefined()
    const { codes } = await generateRecoveryCodes(world.cx(), "u1", 2)
    expect(remainingRecoveryCodes(state())).toBe(2)
    for (const given of codes) expect(await check("recovery_code", { given })).toBe(true)
    expect(remainingRecoveryCodes(state())).toBe(0)
    await removeRecoveryCodes(world.cx(), "u1")
    expect(remainingRecoveryCodes(state())).toBeUndefined()
  })

  test("work once each in any spelling; new ones revoke the old ones", async () => {
    const { codes } = await generateRecoveryCodes(world.cx(), "u1")
    expect(codes).toHaveLength(10)
    const [first = "", second = "", third = ""] = codes
    expect(first).toMatch(/^[2-9A-HJ-NP-Z]{5}-[2-9A-HJ-NP-Z]{5}$/)
    expect(await check("recovery_code", { given: first.toLowerCase().replace("-", " ") })).toBe(
      true,
    )
    expect(await check("recovery_code", { given: first })).toBe(false)
    const all = await Promise.all(
      Array.from({ length: 20 }, () => check("recovery_code", { given: second })),
    )
    expect(all.filter((result) => result === true)).toHaveLength(1)
    world.clock.advance(24 * 3_600_000)
    await generateRecoveryCodes(world.cx(), "u1", 3)
    expect(await check("recovery_code", { given: third })).toBe(false)
    await removeRecoveryCodes(world.cx(), "u1")
    expect(secondFactorsOf(state())).toEqual(["otp_email"])
    await expect(generateRecoveryCodes(world.cx(), "u1", 51)).rejects.toThrow(
      "count must be between 1 and 50",
    )
  })

  test("are never stored in plain text", async () => {
    const { codes } = await generateRecoveryCodes(world.cx(), "u1")
    const { secret } = await registerTotp(world.cx(), "u1", label)
    const events = JSON.stringify(await world.store.log.read(0, 1000))
    for (const text of [secret, ...codes, ...codes.map((code) => code.replace("-", ""))]) {
      expect(events).not.toContain(text)
    }
    await removeUser(world.cx(), "u1")
  })
})
