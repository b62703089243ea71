import { afterEach, beforeEach, describe, expect, test } from "vitest"
import {
  auditLogRetention,
  countRequest,
  isBlocked,
  quotaNotifications,
} from "../../../src/domain/quota/index.ts"
import type { OutboundRequest } from "../../../src/kernel/port/outbound.ts"
import { aggregates, views } from "../../../src/server/modules.ts"
import { type Reactors, runReactors, writingHandlers } from "../../../src/store/index.ts"
import { openBeside } from "../../support/beside.ts"
import { type Estate, openEstate } from "../../support/estate.ts"
import { nowhere } from "../../support/outside.ts"
import { until } from "../../support/wait.ts"

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
const hook = "https://hook.example.com/quota"
const told = (more: object = {}) => ({
  notifications: [{ percent: 50, repeat: false, callUrl: hook, ...more }],
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

test("what several processes answer counts for one quota", async () => {
  await ask("addQuota", quota())
  const { store } = estate
  const handlers = {
    ...writingHandlers(store, async () => true),
    count: (instance: string) => count(instance),
  }
  const options = { file: store.database.filename, aggregates, views }
  const beside = openBeside(store, options, 1, handlers).store
  const there = () => countRequest({ ...estate.cx(), store: beside })
  for (const made of [there, count, there]) await made()
  for (const made of [there, count]) await refused(made, usedUp)
  await beside.close()
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

describe("a quota that tells", () => {
  const running: Reactors[] = []
  afterEach(async () => {
    for (const each of running.splice(0)) await each.stop()
  })

  /** Answers with these statuses in turn, the last one from then on. */
  function listening(...statuses: number[]) {
    const heard: OutboundRequest[] = []
    const send = async (request: OutboundRequest) => {
      heard.push(request)
      return { status: statuses[heard.length - 1] ?? statuses.at(-1) ?? 204, body: "" }
    }
    const call = (instance: string) => ({
      ...estate.cx({ instance }),
      outside: { ...nowhere, send },
    })
    const reactors = runReactors(estate.store, estate.clock, [quotaNotifications(call)])
    running.push(reactors)
    const said = () =>
      heard
        .map(({ body }) => JSON.parse(body ?? ""))
        .map(({ threshold, usage }) => [threshold, usage])
    return { reactors, heard, said }
  }

  const of = async (notification: object, amount = 10n, limit = false) =>
    ask("setQuota", quota({ amount, limit, ...told(notification) }))
  const counts = async (times: number) => {
    for (let each = 0; each < times; each++) await count()
  }

  test("does so when the share is reached, once in each period", async () => {
    const { reactors, heard, said } = listening()
    await of({ percent: 80 }, 10n, true)
    await counts(7)
    await reactors.drain()
    expect(heard).toEqual([])
    await counts(3)
    await refused(count, usedUp)
    await reactors.drain()
    expect(heard).toMatchObject([{ url: hook, method: "POST" }])
    expect(JSON.parse(heard[0]?.body ?? "")).toEqual({
      id: heard[0]?.headers?.["idempotency-key"],
      instance: "i1",
      unit: "requests.all.authenticated",
      threshold: 80,
      usage: 8,
      periodStart: new Date(estate.clock.now()).toISOString(),
    })
    estate.clock.advance(3_600_000)
    await counts(8)
    await reactors.drain()
    expect(said()).toEqual([
      [80, 8],
      [80, 8],
    ])
    expect(new Set(heard.map(({ headers }) => headers?.["idempotency-key"])).size).toBe(2)
  })

  test("does so at each multiple where it is to repeat, else once", async () => {
    const { reactors, said } = listening()
    const [once] = told({ percent: 30 }).notifications
    const [often] = told({ percent: 50, repeat: true }).notifications
    await ask("setQuota", quota({ amount: 4n, limit: false, notifications: [once, often] }))
    await counts(8)
    await reactors.drain()
    expect(said().sort()).toEqual([
      [100, 4],
      [150, 6],
      [200, 8],
      [30, 2],
      [50, 2],
    ])
  })

  test("says the highest of several that are passed at once, and nothing twice", async () => {
    const { reactors, said } = listening()
    await ask("setQuota", quota({ amount: 10n, limit: false }))
    await counts(7)
    await of({ percent: 20, repeat: true })
    await counts(1)
    await of({ percent: 20, repeat: true }, 10n, true)
    await counts(1)
    await reactors.drain()
    expect(said()).toEqual([[80, 8]])
  })

  test("tries again when nobody took it, and counts on meanwhile", async () => {
    const { reactors, heard } = listening(500, 302, 204)
    await of({ percent: 10 })
    await counts(10)
    const areHeard = () => {
      estate.clock.advance(60_000)
      return heard.length >= 3
    }
    await until(areHeard, { limitMs: 60_000, intervalMs: 5 })
    expect(heard).toHaveLength(3)
    await reactors.drain()
    expect(new Set(heard.map(({ headers }) => headers?.["idempotency-key"])).size).toBe(1)
    expect(reactors.failed()).toEqual([])
  })

  test("is not told of twice by many at once, nor of another instance", async () => {
    const { reactors, said } = listening()
    await of({ percent: 50 })
    await Promise.all(Array.from({ length: 9 }, () => count()))
    for (let each = 0; each < 9; each++) await count("i2")
    await reactors.drain()
    expect(said()).toEqual([[50, 5]])
  })

  test("the same again changes nothing, and another address does", async () => {
    await of({ percent: 50 })
    await refused(() => of({ percent: 50 }), { id: "quota.unchanged" })
    await of({ percent: 50, callUrl: "https://other.example.com/" })
  })
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
  ["nobody to be told", { notifications: [{ percent: 50 }] }, "quota.call_url_invalid"],
  ["a script to be told", told({ callUrl: "javascript:0" }), "quota.call_url_invalid"],
  ["a password", told({ callUrl: "https://a:b@hook.example.com" }), "quota.call_url_invalid"],
  ["an endless address", told({ callUrl: `${hook}${"a".repeat(200)}` }), "quota.call_url_invalid"],
  ["no share", told({ percent: 0 }), "quota.percent_invalid"],
  [
    "too many to be told",
    { notifications: Array(21).fill(told().notifications[0]) },
    "quota.too_many",
  ],
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
