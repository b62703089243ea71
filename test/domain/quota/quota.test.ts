import { afterEach, beforeEach, expect, test } from "vitest"
import { auditLogRetention, countRequest, isBlocked } from "../../../src/domain/quota/index.ts"
import { type Estate, openEstate } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate(["i1", "i2"])
})
afterEach(() => estate.close())

const refused = (made: () => Promise<unknown>, fault: object) =>
  expect((async () => made())()).rejects.toMatchObject(fault)

const at = (ms: number) => ({ seconds: BigInt(Math.floor(ms / 1000)), nanos: 0 })
const hour = { seconds: 3600n, nanos: 0 }
const quota = (more: object = {}) => ({
  instanceId: "i1",
  unit: 1,
  from: at(estate.clock.now()),
  resetInterval: hour,
  amount: 3n,
  limit: true,
  ...more,
})
const ask = (name: string, req: object) => estate.as("system", name, req)
const count = (instance = "i1") => countRequest(estate.cx({ instance }))
const usedUp = { code: "resource_exhausted", id: "quota.used_up" }

test("requests beyond the quota are refused until the next period, and only here", async () => {
  await ask("addQuota", quota())
  for (let each = 0; each < 3; each++) await count()
  await refused(count, { ...usedUp, retryAfterSeconds: 3600 })
  await count("i2")
  estate.clock.advance(3_600_000)
  await count()
})

test("of many at once no more pass than the quota allows", async () => {
  await ask("addQuota", quota())
  const all = await Promise.allSettled(Array.from({ length: 10 }, () => count()))
  expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(3)
})

test("a quota that is no limit counts and refuses nothing", async () => {
  await ask("addQuota", quota({ limit: false }))
  for (let each = 0; each < 5; each++) await count()
  const events = await estate.store.log.read(0, 10_000)
  const counted = events.filter(({ type }) => type === "quota.usage.counted")
  expect(counted.at(-1)?.data).toMatchObject({ count: 5 })
})

test("before it begins, and once it is lifted, nothing is counted", async () => {
  await ask("addQuota", quota({ from: at(estate.clock.now() + 60_000), amount: 1n }))
  for (let each = 0; each < 3; each++) await count()
  estate.clock.advance(60_000)
  await count()
  await refused(count, usedUp)
  await ask("removeQuota", { instanceId: "i1", unit: 1 })
  await count()
  await refused(() => ask("removeQuota", { instanceId: "i1", unit: 1 }), { code: "not_found" })
})

test("adding is for the first time, and setting changes something", async () => {
  await ask("addQuota", quota())
  await refused(() => ask("addQuota", quota({ amount: 5n })), { code: "already_exists" })
  await refused(() => ask("setQuota", quota()), { id: "quota.unchanged" })
  await ask("setQuota", quota({ amount: 5n }))
  for (let each = 0; each < 5; each++) await count()
  await refused(count, usedUp)
})

test.each([
  ["no unit", { unit: 0 }, "quota.unit_missing"],
  ["no beginning", { from: undefined }, "quota.field_missing"],
  ["no interval", { resetInterval: undefined }, "quota.field_missing"],
  [
    "an interval of a moment",
    { resetInterval: { seconds: 1n, nanos: 0 } },
    "quota.interval_invalid",
  ],
  ["an amount of none", { amount: 0n }, "quota.amount_invalid"],
  ["somebody to be told", { notifications: [{ percent: 50 }] }, "quota.notifications_unsupported"],
])("a quota with %s is refused", async (_, more, id) => {
  await refused(() => ask("setQuota", quota(more)), { code: "invalid_argument", id })
})

test("limits are set one by one, kept, and lifted together", async () => {
  const own = () => estate.cx({ instance: "i1" })
  await ask("setLimits", { instanceId: "i1", auditLogRetention: hour })
  await ask("setLimits", { instanceId: "i1", block: true })
  expect([isBlocked(own()), auditLogRetention(own())]).toEqual([true, 3600])
  expect(isBlocked(estate.cx({ instance: "i2" }))).toBe(false)
  await refused(() => ask("setLimits", { instanceId: "i1", block: true }), {
    id: "limits.unchanged",
  })
  await refused(() => ask("setLimits", { instanceId: "i1" }), { id: "limits.empty" })
  await ask("resetLimits", { instanceId: "i1" })
  expect([isBlocked(own()), auditLogRetention(own())]).toEqual([false, undefined])
  await refused(() => ask("resetLimits", { instanceId: "i1" }), { id: "limits.unchanged" })
})

test("several are limited together, or none where one of them is wrong", async () => {
  const all = (...ids: string[]) => ({
    limits: ids.map((instanceId) => ({ instanceId, block: true })),
  })
  const blocked = () => ["i1", "i2"].map((instance) => isBlocked(estate.cx({ instance })))
  await refused(() => ask("bulkSetLimits", all("i1", "i3")), { code: "not_found" })
  await refused(() => ask("bulkSetLimits", all()), { code: "invalid_argument" })
  expect(blocked()).toEqual([false, false])
  expect((await ask("bulkSetLimits", all("i1", "i2"))).targetDetails).toHaveLength(2)
  expect(blocked()).toEqual([true, true])
})
