import { afterEach, beforeEach, describe, expect, test } from "vitest"
import {
  auditLogRetention,
  countRequest,
  isBlocked,
  quotaNotifications,
} from "../../../src/domain/quota/index.ts"
import type { OutboundRequest } from "../../../src/kernel/port/outbound.ts"
import { aggregates, views } from "../../../src/server/modules.ts"
import { createWriterHandlers, type Reactors, runReactors } from "../../../src/store/index.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"
import { until } from "../../support/wait.ts"
import { openWorkerStore } from "../../support/worker-store.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant(["i1", "i2"])
})
afterEach(() => estate.close())

const expectFault = (created: () => Promise<unknown>, fault: object) =>
  expect((async () => created())()).rejects.toMatchObject(fault)

const timestampAt = (ms: number) => ({ seconds: BigInt(Math.floor(ms / 1000)), nanos: 0 })
const hour = { seconds: 3600n, nanos: 0 }
const quota = (more: object = {}) => ({
  instanceId: "i1",
  unit: 1,
  from: timestampAt(estate.clock.now()),
  resetInterval: hour,
  amount: 3n,
  limit: true,
  ...more,
})
const webhookUrl = "https://hook.example.com/quota"
const withNotification = (more: object = {}) => ({
  notifications: [{ percent: 50, repeat: false, callUrl: webhookUrl, ...more }],
})
const callAsSystem = (name: string, req: object) => estate.as("system", name, req)
const countOne = (instance = "i1") => countRequest(estate.cx({ instance }))
const quotaExhausted = { code: "resource_exhausted", id: "quota.used_up" }

test("requests beyond the quota are rejected until the next period, on this instance only", async () => {
  await callAsSystem("addQuota", quota())
  for (let each = 0; each < 3; each++) await countOne()
  await expectFault(countOne, { ...quotaExhausted, retryAfterSeconds: 3600 })
  await countOne("i2")
  estate.clock.advance(3_600_000)
  await countOne()
})

test("concurrent requests can't exceed the quota", async () => {
  await callAsSystem("addQuota", quota())
  const all = await Promise.allSettled(Array.from({ length: 10 }, () => countOne()))
  expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(3)
})

test("requests to several processes share one quota", async () => {
  await callAsSystem("addQuota", quota())
  const { store } = estate
  const handlers = {
    ...createWriterHandlers(store, async () => true),
    count: (instance: string) => countOne(instance),
  }
  const options = { file: store.database.filename, aggregates, views }
  const beside = openWorkerStore(store, options, 1, handlers).store
  const there = () => countRequest({ ...estate.cx(), store: beside })
  for (const made of [there, countOne, there]) await made()
  for (const made of [there, countOne]) await expectFault(made, quotaExhausted)
  await beside.close()
})

test("an unlimited quota counts and rejects nothing", async () => {
  await callAsSystem("addQuota", quota({ limit: false }))
  for (let each = 0; each < 5; each++) await countOne()
  const events = await estate.store.log.read(0, 10_000)
  const counted = events.filter(({ type }) => type === "quota.usage.counted")
  expect(counted.at(-1)?.data).toMatchObject({ count: 5 })
})

test("nothing is counted before its start and after its removal", async () => {
  await callAsSystem(
    "addQuota",
    quota({ from: timestampAt(estate.clock.now() + 60_000), amount: 1n }),
  )
  for (let each = 0; each < 3; each++) await countOne()
  estate.clock.advance(60_000)
  await countOne()
  await expectFault(countOne, quotaExhausted)
  await callAsSystem("removeQuota", { instanceId: "i1", unit: 1 })
  await countOne()
  await expectFault(() => callAsSystem("removeQuota", { instanceId: "i1", unit: 1 }), {
    code: "not_found",
  })
})

test("adding is rejected for an existing quota, and setting requires a change", async () => {
  await callAsSystem("addQuota", quota())
  await expectFault(() => callAsSystem("addQuota", quota({ amount: 5n })), {
    code: "already_exists",
  })
  await expectFault(() => callAsSystem("setQuota", quota()), { id: "quota.unchanged" })
  await callAsSystem("setQuota", quota({ amount: 5n }))
  for (let each = 0; each < 5; each++) await countOne()
  await expectFault(countOne, quotaExhausted)
})

describe("a quota with notifications", () => {
  const running: Reactors[] = []
  afterEach(async () => {
    for (const each of running.splice(0)) await each.stop()
  })

  /** Responds with these status codes in turn, the last one from then on. */
  function listening(...statuses: number[]) {
    const heard: OutboundRequest[] = []
    const send = async (request: OutboundRequest) => {
      heard.push(request)
      return { status: statuses[heard.length - 1] ?? statuses.at(-1) ?? 204, body: "" }
    }
    const call = (instance: string) => ({
      ...estate.cx({ instance }),
      outside: { ...unreachableOutside, send },
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
    callAsSystem("setQuota", quota({ amount, limit, ...withNotification(notification) }))
  const counts = async (times: number) => {
    for (let each = 0; each < times; each++) await countOne()
  }

  test("sends one at its percentage, once in each period", async () => {
    const { reactors, heard, said } = listening()
    await of({ percent: 80 }, 10n, true)
    await counts(7)
    await reactors.drain()
    expect(heard).toEqual([])
    await counts(3)
    await expectFault(countOne, quotaExhausted)
    await reactors.drain()
    expect(heard).toMatchObject([{ url: webhookUrl, method: "POST" }])
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

  test("sends one at each multiple if it repeats, otherwise once", async () => {
    const { reactors, said } = listening()
    const [once] = withNotification({ percent: 30 }).notifications
    const [often] = withNotification({ percent: 50, repeat: true }).notifications
    await callAsSystem(
      "setQuota",
      quota({ amount: 4n, limit: false, notifications: [once, often] }),
    )
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

  test("sends only the highest of several thresholds, and none twice", async () => {
    const { reactors, said } = listening()
    await callAsSystem("setQuota", quota({ amount: 10n, limit: false }))
    await counts(7)
    await of({ percent: 20, repeat: true })
    await counts(1)
    await of({ percent: 20, repeat: true }, 10n, true)
    await counts(1)
    await reactors.drain()
    expect(said()).toEqual([[80, 8]])
  })

  test("retries failed notifications and keeps counting", async () => {
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

  test("sends one for concurrent requests, and none for another instance", async () => {
    const { reactors, said } = listening()
    await of({ percent: 50 })
    await Promise.all(Array.from({ length: 9 }, () => countOne()))
    for (let each = 0; each < 9; each++) await countOne("i2")
    await reactors.drain()
    expect(said()).toEqual([[50, 5]])
  })

  test("the same settings change nothing, and another URL does", async () => {
    await of({ percent: 50 })
    await expectFault(() => of({ percent: 50 }), { id: "quota.unchanged" })
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
  ["a script to be told", withNotification({ callUrl: "javascript:0" }), "quota.call_url_invalid"],
  [
    "a password",
    withNotification({ callUrl: "https://a:b@hook.example.com" }),
    "quota.call_url_invalid",
  ],
  [
    "an endless address",
    withNotification({ callUrl: `${webhookUrl}${"a".repeat(200)}` }),
    "quota.call_url_invalid",
  ],
  ["no share", withNotification({ percent: 0 }), "quota.percent_invalid"],
  [
    "too many to be told",
    { notifications: Array(21).fill(withNotification().notifications[0]) },
    "quota.too_many",
  ],
])("rejects a quota with %s", async (_, more, id) => {
  await expectFault(() => callAsSystem("setQuota", quota(more)), { code: "invalid_argument", id })
})

test("limits are set one by one, kept, and removed together", async () => {
  const own = () => estate.cx({ instance: "i1" })
  await callAsSystem("setLimits", { instanceId: "i1", auditLogRetention: hour })
  await callAsSystem("setLimits", { instanceId: "i1", block: true })
  expect([isBlocked(own()), auditLogRetention(own())]).toEqual([true, 3600])
  expect(isBlocked(estate.cx({ instance: "i2" }))).toBe(false)
  await expectFault(() => callAsSystem("setLimits", { instanceId: "i1", block: true }), {
    id: "limits.unchanged",
  })
  await expectFault(() => callAsSystem("setLimits", { instanceId: "i1" }), { id: "limits.empty" })
  await callAsSystem("resetLimits", { instanceId: "i1" })
  expect([isBlocked(own()), auditLogRetention(own())]).toEqual([false, undefined])
  await expectFault(() => callAsSystem("resetLimits", { instanceId: "i1" }), {
    id: "limits.unchanged",
  })
})

test("several limits are set together, or none if one is invalid", async () => {
  const all = (...ids: string[]) => ({
    limits: ids.map((instanceId) => ({ instanceId, block: true })),
  })
  const blocked = () => ["i1", "i2"].map((instance) => isBlocked(estate.cx({ instance })))
  await expectFault(() => callAsSystem("bulkSetLimits", all("i1", "i3")), { code: "not_found" })
  await expectFault(() => callAsSystem("bulkSetLimits", all()), { code: "invalid_argument" })
  expect(blocked()).toEqual([false, false])
  expect((await callAsSystem("bulkSetLimits", all("i1", "i2"))).targetDetails).toHaveLength(2)
  expect(blocked()).toEqual([true, true])
})
