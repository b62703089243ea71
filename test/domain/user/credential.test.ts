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
  const lost = provePassword(cx, "u1", right, () => Promise.reject(new Error("lost")))
  await expect(lost).rejects.toThrow("lost")
  expect(attemptsOf(cx, "u1").failures).toBe(0)
  expect(await checkPassword(cx, "u1", right)).toBe("ok")
})

test("a password that is replaced while it is looked at opens nothing", async () => {
  const cx = world.cx()
  const next = await createPassword(other, { names: [] })
  const way = provePassword(cx, "u1", right, async (admit) => {
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

test("a hash of argon2 is taken over and works", async () => {
  const cx = world.cx()
  const { hash } = await createPassword(other, { names: [] })
  await setPassword(cx, "u1", importPassword(hash, false))
  expect(await checkPassword(cx, "u1", other)).toBe("ok")
})

test.each([
  "plain",
  "$2b$14$abcdefghijklmnopqrstuv",
  "$argon2id$v=19$m=19456,t=2,p=1$short$hash",
  "$argon2id$v=19$m=4000000,t=2,p=1$c29tZXNhbHRzYWx0$c29tZWhhc2hzb21laGFzaHNvbWVoYXNo",
  "$argon2id$v=19$m=19456,t=9999,p=1$c29tZXNhbHRzYWx0$c29tZWhhc2hzb21laGFzaHNvbWVoYXNo",
])("the hash %s is refused", (hash) => {
  expect(() => importPassword(hash, false)).toThrow("the hash must be argon2")
})
