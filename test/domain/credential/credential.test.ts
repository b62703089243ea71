import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import {
  authenticateWithPassword,
  checkPassword,
  createPassword,
  firstPasswordIn,
  passwordOf,
  preparePasswordChange,
  prepareReplacement,
  setPassword,
} from "../../../src/domain/credential/commands.ts"
import { importPassword } from "../../../src/domain/credential/new-password.ts"
import { loadEngine, runtimeEngine } from "../../../src/domain/credential/password.ts"
import { attemptsOf, passwordCheck } from "../../../src/domain/lockout/attempt.ts"
import { addPolicy } from "../../../src/domain/policy/commands.ts"
import { passwordComplexity } from "../../../src/domain/policy/index.ts"
import { deactivateUser, lockUser, removeUser } from "../../../src/domain/user/index.ts"
import { accountOf, passwordVersion } from "../../../src/domain/user-lookup/query.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { callOperation } from "../../support/call-operation.ts"
import { callerOf, type TestEnvironment } from "../../support/test-environment.ts"
import { shares } from "../../support/user-modules.ts"
import { createAnna, createRobot, openUserWorld } from "../user/household.ts"

const right = "Correct-Horse-7"
const other = "Battery-Staple-8"

let world: TestEnvironment
beforeEach(async () => {
  world = await openUserWorld()
  await createAnna(world.cx(), { password: await createPassword(right, { names: [] }) })
})
afterEach(() => world.close())

test.each([
  ["Short-1", "at least 8 characters"],
  ["NO-LOWER-1", "a lowercase letter"],
  ["no-upper-1", "an uppercase letter"],
  ["No-Digit-x", "a digit"],
  ["NoSymbol1x", "a symbol"],
])("rejects the password %s, because it needs %s", async (plain, description) => {
  await expect(createPassword(plain, { names: [] })).rejects.toMatchObject({
    code: "invalid_argument",
    message: `the password must contain ${description}`,
  })
})

test.each([
  [{ minLength: 12 }, "Horse-7-long", "Horse-7-lon", "at least 12 characters"],
  [{ hasLowercase: false }, "CORRECT-HORSE-7", "CORRECT-HORSE", "a digit"],
  [{ hasUppercase: false, hasSymbol: false }, "correcthorse7", "correcthorse", "a digit"],
  [{ hasNumber: false }, "Correct-Horse", "Correcthorse", "a symbol"],
])(
  "where an organization wants %j, %s will do and %s will not",
  async (text, good, bad, description) => {
    const cx = world.cx({ caller: callerOf("u1", "org1") })
    const values = { ...passwordComplexity.standard, ...text }
    await addPolicy(cx, "org1", { policy: passwordComplexity, apply: () => values })
    const wanted = (plain: string) => ({
      password: { plain, changeRequired: false },
      proof: { current: right },
    })
    const { version } = passwordOf(world.store.state(cx, user, "u1")) ?? { version: 0 }
    const ways = [
      (plain: string) => firstPasswordIn(cx, "org1", plain, { names: [] }),
      (plain: string) => preparePasswordChange(cx, "u1", wanted(plain)),
      (plain: string) => prepareReplacement(cx, "u1", { plain, version }),
    ]
    const refused = {
      id: "user.password_too_simple",
      message: `the password must contain ${description}`,
    }
    for (const way of ways) {
      await expect(way(bad)).rejects.toMatchObject(refused)
      expect(await way(good)).toMatchObject({ changeRequired: false })
    }
  },
)

test("rejects the user's own name as a password, in any case", async () => {
  const made = createPassword("Anna-Berg-1@x", { names: ["anna-berg-1@X"] })
  await expect(made).rejects.toMatchObject({ id: "user.password_is_name" })
})

test("the right password is ok, another is wrong", async () => {
  const cx = world.cx()
  expect(await checkPassword(cx, "u1", right)).toBe("ok")
  expect(await checkPassword(cx, "u1", other)).toBe("wrong")
  expect(await checkPassword(cx, "u1", "")).toBe("wrong")
})

test("failed attempts are counted until one succeeds", async () => {
  const cx = world.cx()
  await checkPassword(cx, "u1", other)
  await checkPassword(cx, "u1", other)
  expect(attemptsOf(cx, "u1")).toEqual({ failures: 2, last: world.clock.now() })
  await checkPassword(cx, "u1", right)
  expect(attemptsOf(cx, "u1").failures).toBe(0)
})

test("concurrent attempts are all counted", async () => {
  const cx = world.cx()
  // A sixth might already have to wait, because the clock does not advance.
  await Promise.all(Array.from({ length: 5 }, () => checkPassword(cx, "u1", other)))
  expect(attemptsOf(cx, "u1").failures).toBe(5)
})

test("a right password writes nothing without earlier failures, a wrong one an event", async () => {
  const cx = world.cx()
  const head = world.store.log.changes()
  expect(await checkPassword(cx, "u1", right)).toBe("ok")
  expect(world.store.log.changes()).toBe(head)
  expect(await checkPassword(cx, "u1", other)).toBe("wrong")
  expect(world.store.log.changes()).toBe(head + 1)
})

test("a right password whose transaction fails is not counted as wrong", async () => {
  const cx = world.cx()
  const lost = authenticateWithPassword(cx, { account: "u1", plain: right }, () =>
    Promise.reject(new Error("lost")),
  )
  await expect(lost).rejects.toThrow("lost")
  expect(attemptsOf(cx, "u1").failures).toBe(0)
  expect(await checkPassword(cx, "u1", right)).toBe("ok")
})

test("a password that is replaced during its check does not sign in", async () => {
  const cx = world.cx()
  const next = await createPassword(other, { names: [] })
  const way = authenticateWithPassword(cx, { account: "u1", plain: right }, async (admit) => {
    await setPassword(cx, "u1", next)
    return (await cx.store.transact(cx, admit)).value
  })
  expect(await way).toBe("wrong")
  expect(attemptsOf(cx, "u1").failures).toBe(1)
})

test("attempts with unknown names are counted like others", async () => {
  const cx = world.cx()
  const account = accountOf(cx, "nobody")
  expect(await checkPassword(cx, account, right)).toBe("none")
  expect(attemptsOf(cx, account).failures).toBe(1)
})

test("a locked account is reported only with the right password, and keeps counting", async () => {
  const cx = world.cx()
  await lockUser(cx, "u1")
  expect(await checkPassword(cx, "u1", other)).toBe("wrong")
  expect(await checkPassword(cx, "u1", right)).toBe("locked")
  expect(attemptsOf(cx, "u1").failures).toBe(2)
})

test("a deactivated user can't sign in with a password", async () => {
  const cx = world.cx()
  await deactivateUser(cx, "u1")
  expect(await checkPassword(cx, "u1", right)).toBe("inactive")
})

test("a password that is replaced while it is checked is wrong", async () => {
  const cx = world.cx()
  const password = await createPassword(other, { names: [] })
  const checked = checkPassword(cx, "u1", right)
  await setPassword(cx, "u1", password)
  expect(await checked).toBe("wrong")
})

test("a new password erases the hash of the old one and raises the version", async () => {
  const cx = world.cx()
  const before = passwordVersion(cx, "u1")
  await setPassword(cx, "u1", await createPassword(other, { names: [], changeRequired: true }))
  expect(passwordVersion(cx, "u1")).toBeGreaterThan(before)
  expect(passwordOf(cx.store.state(cx, user, "u1"))?.changeRequired).toBe(true)
  const events = await world.store.log.read(0, 100)
  const hashes = events.filter(({ type }) => type === "user.human.password.changed")
  expect(hashes.map((event) => event.private !== null)).toEqual([false, true])
})

test("a service account has no password", async () => {
  const cx = world.cx()
  await createRobot(cx)
  const password = await createPassword(other, { names: [] })
  await expect(setPassword(cx, "m1", password)).rejects.toMatchObject({ id: "user.not_human" })
  expect(await checkPassword(cx, "m1", other)).toBe("none")
})

const newPassword = { plain: other, changeRequired: false }

test("users change their own password with the current one only", async () => {
  const own = world.cx({ caller: callerOf("u1") })
  const refusals = [
    { proof: undefined, id: "user.current_password_missing" },
    { proof: { current: other }, id: "user.password_wrong" },
    { proof: { code: "ABCDEF" }, id: "user.code_wrong" },
  ]
  for (const { proof, id } of refusals) {
    const changed = preparePasswordChange(own, "u1", { password: newPassword, proof })
    await expect(changed, id).rejects.toMatchObject({ id })
  }
  const proof = { current: right }
  await setPassword(
    own,
    "u1",
    await preparePasswordChange(own, "u1", { password: newPassword, proof }),
  )
  expect(await checkPassword(own, "u1", other)).toBe("ok")
})

test("wrong current passwords are counted as well", async () => {
  const own = world.cx({ caller: callerOf("u1") })
  const guess = { password: newPassword, proof: { current: other } }
  await expect(preparePasswordChange(own, "u1", guess)).rejects.toMatchObject({
    id: "user.password_wrong",
  })
  expect(attemptsOf(own, "u1").failures).toBe(1)
})

/** A hash with the parameters of another system. */
const hashOf = (plain: string, memoryCost: number, timeCost: number) =>
  Bun.password.hash(plain, { algorithm: "argon2id", memoryCost, timeCost })

test.each([
  ["as cheap as it gets", 8, 1],
  ["as RFC 9106 recommends it", 65_536, 3],
  ["of many passes", 12_288, 16],
])("a hash %s is imported, and replaced at the first right password", async (_, m, t) => {
  const cx = world.cx()
  await setPassword(cx, "u1", importPassword(await hashOf(other, m, t), true))
  const imported = passwordOf(cx.store.state(cx, user, "u1"))
  expect(await checkPassword(cx, "u1", right)).toBe("wrong")
  expect(passwordOf(cx.store.state(cx, user, "u1"))).toEqual(imported)
  const head = world.store.log.durable()
  // Both are concurrent: the second finds another hash than it checked.
  const both = await Promise.all([other, other].map((plain) => checkPassword(cx, "u1", plain)))
  expect(both).toEqual(["ok", "ok"])
  const types = (await world.store.log.read(head, 100)).map(({ type }) => type)
  expect(types.filter((type) => type.startsWith("user.human.password.hash"))).toHaveLength(1)
  const own = passwordOf(cx.store.state(cx, user, "u1"))
  expect(own).toEqual({ ...imported, hash: own?.hash })
  expect(own?.hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(await checkPassword(cx, "u1", other)).toBe("ok")
  const events = await world.store.log.read(0, 100)
  const kept = events.filter(
    ({ type, private: hash }) => /password\.(hash|changed)/.test(type) && hash,
  )
  expect(kept.map(({ type }) => type)).toEqual(["user.human.password.hash.updated"])
  await setPassword(cx, "u1", await createPassword(right, { names: [] }))
  const later = await world.store.log.read(0, 100)
  expect(later.findLast(({ type }) => type === kept[0]?.type)?.private).toBeNull()
})

test("an existing hash above today's import limits still works", async () => {
  const cx = world.cx()
  const hash = await hashOf(other, 65_536, 4)
  expect(() => importPassword(hash, false)).toThrow("send an invitation")
  await setPassword(cx, "u1", { hash, changeRequired: false })
  expect(await checkPassword(cx, "u1", right)).toBe("wrong")
  expect(await checkPassword(cx, "u1", other)).toBe("ok")
})

/** An imported hash with one part replaced. */
const phc = (part: {
  readonly cost?: string
  readonly salt?: string
  readonly output?: string
}): string => {
  const { cost = "m=19456,t=2,p=1", salt = base64(16), output = base64(32) } = part
  return `$argon2id$v=19$${cost}$${salt}$${output}`
}
const base64 = (length: number) => Buffer.alloc(length, 7).toString("base64").replace(/=+$/, "")

const invalidHashes = [
  "plain",
  "$2b$14$abcdefghijklmnopqrstuv",
  phc({}).replace("v=19", "v=16"),
  phc({ salt: base64(7) }),
  phc({ salt: base64(65) }),
  phc({ output: base64(11) }),
  phc({ output: base64(65) }),
  phc({ salt: `${base64(16)}==` }),
  // Not a whole number of bytes; nonzero bits after the last byte; characters of another alphabet.
  phc({ salt: "a".repeat(13) }),
  phc({ output: "a".repeat(41) }),
  phc({ salt: `${base64(16).slice(0, -1)}x` }),
  phc({ output: `${base64(32).slice(0, -1)}x` }),
  phc({ salt: "_".repeat(12) }),
  phc({ cost: "m=7,t=1,p=1" }),
  phc({ cost: "m=15,t=1,p=2" }),
  phc({ cost: "m=127,t=1,p=16" }),
  phc({ cost: "m=0,t=1,p=1" }),
  phc({ cost: "m=64,t=0,p=1" }),
  phc({ cost: "m=64,t=1,p=0" }),
  phc({ cost: "m=064,t=1,p=1" }),
  phc({ cost: "m=64,t=01,p=1" }),
]

test.each(invalidHashes)("rejects the hash %s, which can't be verified", (hash) => {
  expect(() => importPassword(hash, false)).toThrow("the password hash must be argon2")
})

test.each([
  phc({}),
  phc({ salt: base64(8), output: base64(12) }),
  phc({ salt: base64(64), output: base64(64) }),
  phc({ cost: "m=8,t=1,p=1", salt: base64(40) }),
  phc({ cost: "m=128,t=16,p=16", output: base64(63) }),
  phc({ cost: "m=65536,t=3,p=4" }),
])("accepts the hash %s, which either library can verify", async (hash) => {
  importPassword(hash, false)
  const { verify } = await loadEngine()
  expect([await verify(hash, right), await runtimeEngine.verify(hash, right)]).toEqual([
    false,
    false,
  ])
})

test("a user with an unverifiable hash fails like others, and it is logged once", async () => {
  const told: string[] = []
  const cx = world.cx({ warn: (values) => told.push(values) })
  const hash = phc({ salt: base64(4) })
  await setPassword(cx, "u1", { hash, changeRequired: false })
  expect(await checkPassword(cx, "u1", right)).toBe("wrong")
  expect(await checkPassword(cx, "u1", right)).toBe("wrong")
  expect(attemptsOf(cx, "u1").failures).toBe(2)
  expect(told).toEqual([expect.stringContaining("password of user u1 can't be checked")])
  expect(told[0]).not.toContain(hash)
})

test.each([
  [262_144, 16, 1],
  [65_536, 4, 1],
  [65_537, 3, 1],
  [196_609, 1, 1],
  [19_456, 11, 1],
  [64, 17, 1],
  [19_456, 2, 17],
])("rejects a hash with m=%d, t=%d, p=%d, and names the alternative", (m, t, p) => {
  const hash = phc({ cost: `m=${m},t=${t},p=${p}` })
  expect(() => importPassword(hash, false)).toThrow("send an invitation")
})

describe("failed sign-ins in the user's list", () => {
  const listed = async (userId = "u1", request: object = {}) => {
    const { failedSignIns, pagination } = await callOperation(
      shares,
      "listFailedSignIns",
      world.cx(),
      {
        userId,
        ...request,
      },
    )
    return { rows: failedSignIns, total: Number(pagination.totalResult) }
  }
  const tryFrom = (device: string | undefined) =>
    authenticateWithPassword(world.cx(), { account: "u1", plain: other, device }, () =>
      Promise.resolve(0),
    )

  test("contain the time, and whether the device is known", async () => {
    await tryFrom(undefined)
    world.clock.advance(1000)
    await tryFrom("phone")
    await checkPassword(world.cx(), accountOf(world.cx(), "nobody"), right)
    const { rows, total } = await listed()
    expect(total).toBe(2)
    expect(rows.map(({ knownDevice }: { knownDevice: boolean }) => knownDevice)).toEqual([
      true,
      false,
    ])
    expect(timestampMs(rows[0].creationDate)).toBe(world.clock.now())
    expect((await listed("absent")).total).toBe(0)
  })

  test("stay after a right password, and are removed with the user", async () => {
    await tryFrom(undefined)
    expect(await checkPassword(world.cx(), "u1", right)).toBe("ok")
    expect((await listed()).total).toBe(1)
    await removeUser(world.cx(), "u1")
    expect((await listed()).total).toBe(0)
  })

  test("are limited to the latest fifty of a device", async () => {
    const sender = { address: "", userAgent: "" }
    const type = "user.human.password.check.failed"
    const failed = { type, data: {}, private: sender } as const
    await world.store.transact(world.cx(), (tx) => {
      tx.append(
        passwordCheck,
        "u1",
        Array.from({ length: 70 }, () => failed),
      )
      tx.append(passwordCheck, "u1 device:phone", [failed])
    })
    expect((await listed()).total).toBe(51)
    expect((await listed("u1", { pagination: { limit: 10 } })).rows).toHaveLength(10)
  })
})
