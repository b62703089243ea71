// Origins of failed sign-ins are stored separately from public event data until the user is
// deleted. Unknown names leave no data.

import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { checkPassword, createPassword } from "../../../src/domain/credential/commands.ts"
import { checkExternalPassword } from "../../../src/domain/credential/external-password.ts"
import { factorChecks } from "../../../src/domain/factor/check.ts"
import { attemptsOf, passwordCheck } from "../../../src/domain/lockout/attempt.ts"
import { factorCount, recordFactorSuccess } from "../../../src/domain/lockout/check-count.ts"
import { removeUser } from "../../../src/domain/user/index.ts"
import { accountOf } from "../../../src/domain/user-lookup/query.ts"
import {
  FailedCheck,
  type FailedSignIn,
} from "../../../src/gen/core/activity/v2/activity_service_pb.ts"
import type { Upcaster } from "../../../src/store/index.ts"
import { callOperation } from "../../support/call-operation.ts"
import type { TestEnvironment } from "../../support/test-environment.ts"
import * as people from "../../support/user-modules.ts"
import { shares } from "../../support/user-modules.ts"
import { createAnna, openUserWorld } from "../user/household.ts"

const password = "Correct-Horse-7"
const address = "203.0.113.7"
const userAgent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

let world: TestEnvironment
beforeEach(async () => {
  world = await openUserWorld()
  await createAnna(world.cx(), { password: await createPassword(password, { names: [] }) })
})
afterEach(() => world.close())

const callFrom = (where = { address, userAgent }) => ({ ...world.cx(), from: where })
const failedEvents = async () =>
  (await world.store.log.read(0, 500)).filter(({ type }) => type.endsWith(".check.failed"))
const wrongCode = async (kind: "totp" | "otp_email" | "otp_sms" | "recovery_code") => {
  const cx = callFrom()
  const admit = await factorChecks[kind](cx, { userId: "u1", given: "000000" })
  await cx.store.transact(cx, admit)
}
const failedTable = () =>
  world.store.database
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE '%failed_sign_ins%'",
    )
    .get()?.name
const listFailed = async () => {
  const caller = { kind: "user", userId: "u1", orgId: "org1", clientId: "" } as const
  const cx = { ...world.cx(), caller }
  return (await callOperation(shares, "listFailedSignIns", cx, { userId: "u1" })).failedSignIns
}

test("the address and browser of a wrong password are in the private data only", async () => {
  await checkPassword(callFrom(), "u1", "wrong")
  expect(await failedEvents()).toMatchObject([
    {
      type: "user.human.password.check.failed",
      revision: 2,
      data: {},
      private: { address, userAgent },
    },
  ])
  expect(await listFailed()).toMatchObject([{ address, userAgent, check: 1, knownDevice: false }])
})

test("the same applies to second factors and recovery codes", async () => {
  const kinds = ["totp", "otp_email", "otp_sms", "recovery_code"] as const
  for (const kind of kinds) {
    world.clock.advance(1000)
    await wrongCode(kind)
  }
  for (const event of await failedEvents()) {
    expect(event).toMatchObject({ revision: 2, private: { address, userAgent } })
    expect(JSON.stringify(event.data)).not.toContain(address)
  }
  const shown = await listFailed()
  expect(shown.map(({ check }: { check: number }) => check)).toEqual([5, 4, 3, 2])
  expect(shown).toMatchObject(kinds.map(() => ({ address, userAgent })))
})

test.each([
  ["no address", { address: "unix:", userAgent: "" }, { address: "", userAgent: "" }],
  ["an address that is none", { address: "<b>", userAgent: "" }, { address: "", userAgent: "" }],
  [
    "a browser with control characters and other letters",
    { address: "2001:db8::1", userAgent: "a\r\nb\u001b[31m\u202ec ü" },
    { address: "2001:db8::1", userAgent: "ab[31mc " },
  ],
  [
    "a long name of a browser",
    { address, userAgent: "x".repeat(5000) },
    { address, userAgent: "x".repeat(256) },
  ],
])("%s is stored truncated", async (_, sent, stored) => {
  await checkPassword(callFrom(sent), "u1", "wrong")
  expect((await failedEvents())[0]?.private).toEqual(stored)
})

describe("an unknown name", () => {
  test("adds no event, and is delayed like others", async () => {
    const account = accountOf(world.cx(), "nobody-here")
    const before = world.store.log.durable()
    for (let count = 0; count < 4; count++) await checkPassword(callFrom(), account, "wrong")
    expect(world.store.log.durable()).toBe(before)
    expect(attemptsOf(world.cx(), account).failures).toBe(4)
    world.clock.advance(15 * 60_000)
    await checkPassword(callFrom(), account, "wrong")
    expect(attemptsOf(world.cx(), account).failures).toBe(1)
  })

  test("is counted by its address only", async () => {
    const noted: string[] = []
    const noteStranger = (each: string) => void noted.push(each)
    const account = accountOf(world.cx(), "My-Password-9")
    await checkPassword({ ...callFrom(), noteStranger }, account, "wrong")
    await checkPassword(
      { ...callFrom({ address: "unix:", userAgent }), noteStranger },
      account,
      "x",
    )
    await checkPassword({ ...callFrom(), noteStranger }, "u1", "wrong")
    expect(noted).toEqual([address])
  })

  test("adds none in a directory either; known users are counted", async () => {
    const tried = { authority: "dir", subject: "someone" }
    const prove = (account: string | undefined, isKnown: boolean) =>
      checkExternalPassword(callFrom(), { ...tried, account, isKnown }, async () => false)
    await prove(undefined, false)
    expect(await failedEvents()).toEqual([])
    await prove(undefined, true)
    await prove("u1", true)
    const [stranger, person] = await failedEvents()
    // Without a user, the event could not be erased and therefore has no address.
    expect(stranger?.private).toEqual({ address: "", userAgent: "" })
    expect(person?.private).toEqual({ address, userAgent })
    expect(await listFailed()).toMatchObject([{ address, check: 1 }])
  })
})

test("a known device is recorded for local passwords only", async () => {
  await checkPassword(callFrom(), "u1", "wrong")
  world.clock.advance(1000)
  await wrongCode("totp")
  world.clock.advance(1000)
  const tried = { authority: "dir", subject: "someone", account: "u1", isKnown: true }
  await checkExternalPassword(callFrom(), tried, async () => false)
  const told = (await listFailed()).map(({ check, knownDevice }: FailedSignIn) => [
    check,
    knownDevice,
  ])
  expect(told).toEqual([
    [FailedCheck.PASSWORD, undefined],
    [FailedCheck.TOTP, undefined],
    [FailedCheck.PASSWORD, false],
  ])
})

test("everything is erased with the user", async () => {
  await checkPassword(callFrom(), "u1", "wrong")
  await wrongCode("totp")
  await checkExternalPassword(
    callFrom(),
    { authority: "dir", subject: "someone", account: "u1", isKnown: true },
    async () => false,
  )
  const { database } = world.store
  const bytes = () => {
    database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    return Buffer.from(database.serialize())
  }
  expect(bytes().includes(address)).toBe(true)
  await removeUser(world.cx(), "u1")
  expect(bytes().includes(address)).toBe(false)
  expect(bytes().includes(userAgent)).toBe(false)
  expect((await failedEvents()).map((event) => event.private)).toEqual([null, null, null])
})

describe("without a deletion", () => {
  const day = 86_400_000
  const other = { address: "198.51.100.1", userAgent: "" }
  const senders = async () => (await failedEvents()).map((event) => event.private)
  const right = (step: number) =>
    world.store.transact(world.cx(), (tx) => recordFactorSuccess(tx, "u1", { kind: "totp", step }))

  test("wrong passwords are listed for a day, and their origins kept for a week", async () => {
    await checkPassword(callFrom(), "u1", "wrong")
    for (let half = 1; half < 14; half++) {
      world.clock.advance(day / 2)
      await checkPassword(callFrom(other), "u1", "wrong")
    }
    expect(await listFailed()).toMatchObject([other, other])
    expect((await senders())[0]).toEqual({ address, userAgent })
    world.clock.advance(day / 2)
    await checkPassword(callFrom(), "u1", "wrong")
    expect(await senders()).toEqual([...Array(14).fill(null), { address, userAgent }])
    const erased = { address: "", userAgent: "" }
    expect(await listFailed()).toMatchObject([{ address, userAgent }, erased])
    // The week starts again.
    world.clock.advance(day / 2)
    await checkPassword(callFrom(other), "u1", "wrong")
    expect((await senders()).slice(-2)).toEqual([{ address, userAgent }, other])
  })

  test.each([
    ["right", () => right(9)],
    ["wrong", () => wrongCode("otp_sms")],
  ])("a %s code erases the origins of codes after a year", async (_, check) => {
    await wrongCode("totp")
    world.clock.advance(day / 2)
    await right(1)
    world.clock.advance(364 * day)
    await right(2)
    expect(await senders()).toEqual([{ address, userAgent }])
    expect(await listFailed()).toMatchObject([{ address, userAgent }])
    await wrongCode("otp_email")
    world.clock.advance(day / 2)
    await check()
    expect((await senders()).slice(0, 2)).toEqual([null, null])
    const shown = await listFailed()
    expect(shown.at(-1)).toMatchObject({ address: "", userAgent: "", check: 3 })
  })

  test("a rebuilt list is the same after origins were erased", async () => {
    const rows = () =>
      world.store.database.query(`SELECT * FROM ${failedTable()} ORDER BY stream, version`).all()
    await checkPassword(callFrom(), "u1", "wrong")
    await wrongCode("totp")
    world.clock.advance(366 * day)
    await right(1)
    await checkPassword(callFrom(), "u1", "wrong")
    const live = rows()
    expect(live).toHaveLength(3)
    world = await world.reopen(people.views.map((view) => ({ ...view, hash: "anew" })))
    expect(rows()).toEqual(live)
  })
})

test("nothing is erased if no event has an origin", async () => {
  await checkPassword(callFrom({ address: "", userAgent: "" }), "u1", "wrong")
  // Like the rows of events from before the upgrade.
  world.store.database.run(`UPDATE ${failedTable()} SET has_sender = 0 WHERE user_id = 'u1'`)
  await removeUser(world.cx(), "u1")
  const types = (await world.store.log.read(0, 500)).map(({ type }) => type)
  expect(types.at(-1)).toBe("user.removed")
  expect(types).not.toContain("user.human.password.check.erased")
})

test("origins are erased even after fifty later attempts without one", async () => {
  await checkPassword(callFrom(), "u1", "wrong")
  // As nodes of an earlier version append them.
  for (let count = 0; count < 50; count++) {
    const failed = { type: "user.human.password.check.failed", data: {} } as const
    await world.store.transact(world.cx(), (tx) => tx.append(passwordCheck, "u1", [failed]))
  }
  expect(await listFailed()).toHaveLength(50)
  await removeUser(world.cx(), "u1")
  expect((await failedEvents())[0]?.private).toBeNull()
})

test("an attempt that ends after the user is deleted stores no address", async () => {
  await removeUser(world.cx(), "u1")
  await checkPassword(callFrom(), "u1", "wrong")
  expect((await failedEvents()).map((event) => event.private)).toEqual([
    { address: "", userAgent: "" },
  ])
})

test("events of the previous revision are read without an origin, and can be written", () => {
  for (const { evolve, upcasters, downcasters } of [passwordCheck, factorCount]) {
    const types = Object.keys(evolve).filter((type) => type.endsWith(".check.failed"))
    expect(types).not.toEqual([])
    expect(Object.keys(upcasters ?? {}).sort()).toEqual(types.toSorted())
    expect(Object.keys(downcasters ?? {}).sort()).toEqual(types.toSorted())
    const steps = Object.values<readonly Upcaster[] | Upcaster | undefined>({ ...upcasters })
    for (const step of [...steps.flat(), ...Object.values({ ...downcasters })]) {
      const sender = { address, userAgent }
      expect(step?.({ locks: true }, sender)).toEqual({ data: { locks: true }, private: null })
    }
  }
})
