import { afterEach, beforeEach, expect, test } from "vitest"
import {
  accountOf,
  attemptsOf,
  changedPassword,
  checkPassword,
  createPassword,
  deactivateUser,
  importPassword,
  lockUser,
  passwordOf,
  passwordVersion,
  provePassword,
  setPassword,
  user,
} from "../../../src/domain/user/index.ts"
import { callerOf, type World } from "../../support/world.ts"
import { anna, openHousehold, robot } from "./household.ts"

const right = "Correct-Horse-7"
const other = "Battery-Staple-8"

let world: World
beforeEach(async () => {
  world = await openHousehold()
  await anna(world.cx(), { password: await createPassword(right, { names: [] }) })
})
afterEach(() => world.close())

test.each([
  ["Short-1", "at least 8 characters"],
  ["NO-LOWER-1", "a lower-case letter"],
  ["no-upper-1", "an upper-case letter"],
  ["No-Digit-x", "a digit"],
  ["NoSymbol1x", "a symbol"],
])("the password %s is refused, for it needs %s", async (plain, what) => {
  await expect(createPassword(plain, { names: [] })).rejects.toMatchObject({
    code: "invalid_argument",
    message: `the password needs ${what}`,
  })
})

test("a password that is the user's own name is refused, whatever its case", async () => {
  const made = createPassword("Anna-Berg-1@x", { names: ["anna-berg-1@X"] })
  await expect(made).rejects.toMatchObject({ id: "user.password_is_name" })
})

test("the right password is ok, another one is wrong", async () => {
  const cx = world.cx()
  expect(await checkPassword(cx, "u1", right)).toBe("ok")
  expect(await checkPassword(cx, "u1", other)).toBe("wrong")
  expect(await checkPassword(cx, "u1", "")).toBe("wrong")
})

test("failed tries are counted until one works", async () => {
  const cx = world.cx()
  await checkPassword(cx, "u1", other)
  await checkPassword(cx, "u1", other)
  expect(attemptsOf(cx, "u1")).toEqual({ failures: 2, last: world.clock.now() })
  await checkPassword(cx, "u1", right)
  expect(attemptsOf(cx, "u1")).toEqual({ failures: 0, last: 0 })
})

test("tries at the same moment are all counted", async () => {
  const cx = world.cx()
  await Promise.all(Array.from({ length: 6 }, () => checkPassword(cx, "u1", other)))
  expect(attemptsOf(cx, "u1").failures).toBe(6)
})

test("a right password writes nothing where nothing has failed, a wrong one an event", async () => {
  const cx = world.cx()
  const head = world.store.log.changes()
  expect(await checkPassword(cx, "u1", right)).toBe("ok")
  expect(world.store.log.changes()).toBe(head)
  expect(await checkPassword(cx, "u1", other)).toBe("wrong")
  expect(world.store.log.changes()).toBe(head + 1)
})

test("a right password whose step fails is no wrong one", async () => {
  const cx = world.cx()
  const lost = provePassword(cx, { account: "u1", plain: right }, () =>
    Promise.reject(new Error("lost")),
  )
  await expect(lost).rejects.toThrow("lost")
  expect(attemptsOf(cx, "u1").failures).toBe(0)
  expect(await checkPassword(cx, "u1", right)).toBe("ok")
})

test("a password that is replaced while it is looked at opens nothing", async () => {
  const cx = world.cx()
  const next = await createPassword(other, { names: [] })
  const way = provePassword(cx, { account: "u1", plain: right }, async (admit) => {
    await setPassword(cx, "u1", next)
    return (await cx.store.transact(cx, admit)).value
  })
  expect(await way).toBe("wrong")
  expect(attemptsOf(cx, "u1").failures).toBe(1)
})

test("tries with a name of nobody's are counted like others", async () => {
  const cx = world.cx()
  const account = accountOf(cx, "nobody")
  expect(await checkPassword(cx, account, right)).toBe("none")
  expect(attemptsOf(cx, account).failures).toBe(1)
})

test("a locked account says so only to who knows its password, and counts on", async () => {
  const cx = world.cx()
  await lockUser(cx, "u1")
  expect(await checkPassword(cx, "u1", other)).toBe("wrong")
  expect(await checkPassword(cx, "u1", right)).toBe("locked")
  expect(attemptsOf(cx, "u1").failures).toBe(2)
})

test("a deactivated person's password is no way in", async () => {
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

test("a service user has no password", async () => {
  const cx = world.cx()
  await robot(cx)
  const password = await createPassword(other, { names: [] })
  await expect(setPassword(cx, "m1", password)).rejects.toMatchObject({ id: "user.not_human" })
  expect(await checkPassword(cx, "m1", other)).toBe("none")
})

const wanted = { plain: other, changeRequired: false }

test("one's own password is changed with the current one only", async () => {
  const own = world.cx({ caller: callerOf("u1") })
  const refusals = [
    { proof: undefined, id: "user.current_password_missing" },
    { proof: { current: other }, id: "user.password_wrong" },
    { proof: { code: "ABCDEF" }, id: "user.password_code_wrong" },
  ]
  for (const { proof, id } of refusals) {
    const changed = changedPassword(own, "u1", { wanted, proof })
    await expect(changed, id).rejects.toMatchObject({ id })
  }
  const proof = { current: right }
  await setPassword(own, "u1", await changedPassword(own, "u1", { wanted, proof }))
  expect(await checkPassword(own, "u1", other)).toBe("ok")
})

test("wrong guesses at the current password are counted as well", async () => {
  const own = world.cx({ caller: callerOf("u1") })
  const guess = { wanted, proof: { current: other } }
  await expect(changedPassword(own, "u1", guess)).rejects.toMatchObject({
    id: "user.password_wrong",
  })
  expect(attemptsOf(own, "u1").failures).toBe(1)
})

/** A hash as others make it. */
const hashOf = (plain: string, memoryCost: number, timeCost: number) =>
  Bun.password.hash(plain, { algorithm: "argon2id", memoryCost, timeCost })

test.each([
  ["as cheap as it gets", 8, 1],
  ["as RFC 9106 recommends it", 65_536, 3],
  ["as dear as it may be", 65_536, 4],
])("a hash %s is taken over, and replaced by our own with the first right one", async (_, m, t) => {
  const cx = world.cx()
  await setPassword(cx, "u1", importPassword(await hashOf(other, m, t), true))
  const imported = passwordOf(cx.store.state(cx, user, "u1"))
  expect(await checkPassword(cx, "u1", right)).toBe("wrong")
  expect(passwordOf(cx.store.state(cx, user, "u1"))).toEqual(imported)
  const head = world.store.log.durable()
  // Both are of the same moment: the one that comes second finds another hash than it checked.
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

test("a hash of old that is dearer than any that is taken over now still works", async () => {
  const cx = world.cx()
  const hash = await hashOf(other, 65_536, 5)
  expect(() => importPassword(hash, false)).toThrow("invite them")
  await setPassword(cx, "u1", { hash, changeRequired: false })
  expect(await checkPassword(cx, "u1", right)).toBe("wrong")
  expect(await checkPassword(cx, "u1", other)).toBe("ok")
})

test.each([
  "plain",
  "$2b$14$abcdefghijklmnopqrstuv",
  "$argon2id$v=19$m=19456,t=2,p=1$short$hash",
  `$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzYWx0$${"a".repeat(87)}`,
  `$argon2id$v=19$m=19456,t=2,p=1$${"a".repeat(87)}$c29tZWhhc2hzb21laGFzaHNvbWVoYXNo`,
])("the hash %s is refused", (hash) => {
  expect(() => importPassword(hash, false)).toThrow("the hash must be argon2")
})

test.each([
  [262_144, 16, 1],
  [262_144, 2, 1],
  [19_456, 14, 1],
  [262_145, 1, 1],
  [8, 32_769, 1],
  [19_456, 2, 17],
])("a hash that costs m=%d, t=%d, p=%d is refused, with what to do instead", (m, t, p) => {
  const hash = `$argon2id$v=19$m=${m},t=${t},p=${p}$c29tZXNhbHRzYWx0$c29tZWhhc2hzb21laGFzaHNvbWVo`
  expect(() => importPassword(hash, false)).toThrow("invite them")
})
