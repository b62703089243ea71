// Targets receive their events, each at least once, and no others.
import { createLocalJWKSet, jwtVerify } from "jose"
import { afterEach, beforeEach, expect, test } from "vitest"
import { addKeys, prepareKeys, publicKeys } from "../../../src/domain/key/index.ts"
import { targetReactor } from "../../../src/domain/target/call/event.ts"
import { listFailedEvents, type Reactors, runReactors } from "../../../src/store/index.ts"
import { isSigned, localOutside, status } from "./receiver.ts"
import { interruptingWebhook, openStage, type Stage } from "./stage.ts"

const outside = localOutside()
let stage: Stage
let reactors: Reactors
beforeEach(async () => {
  stage = await openStage()
  const cx = stage.house.within()
  const call = (instance: string) => ({ ...stage.house.within(), outside, instance })
  reactors = runReactors(cx.store, cx.clock, [targetReactor(call)])
})
afterEach(async () => {
  await reactors.stop()
  await stage.close()
})

let count = 0
const addOrg = async () =>
  (await stage.make("org/AddOrganization", { name: `Org ${++count}` })).organizationId
const orgAdded = { event: { event: "org.added" } }

test("that are requested, signed and without private data", async () => {
  await addOrg()
  await reactors.drain()
  const { id, signingKey } = await stage.target("/told")
  await stage.on(orgAdded, id)
  const orgId = await addOrg()
  await reactors.drain()
  expect(stage.receiver.at("/told")).toMatchObject([
    {
      aggregateID: orgId,
      aggregateType: "org",
      event_type: "org.added",
      version: "v1",
      instanceID: stage.house.within().instance,
      userID: stage.house.ownerId,
      event_payload: { name: `Org ${count}` },
    },
  ])
  const [told] = stage.receiver.received
  expect(told && isSigned(told, signingKey)).toBe(true)
})

test("only of the most specific condition: event, group, all", async () => {
  const [all, group, event] = await Promise.all(
    ["/all", "/group", "/event"].map((path) => stage.target(path)),
  )
  await stage.on({ event: { all: true } }, all?.id ?? "")
  await stage.on({ event: { group: "org" } }, group?.id ?? "")
  await stage.on(orgAdded, event?.id ?? "")
  await addOrg()
  await reactors.drain()
  const told = (path: string) => new Set(stage.receiver.at(path).map((each) => each.event_type))
  expect(told("/event")).toEqual(new Set(["org.added"]))
  expect([...told("/group")].every((type) => /^org\./.test(type))).toBe(true)
  expect(told("/all")).toContain("execution.set")
  expect([...told("/all")].some((type) => /^org\./.test(type))).toBe(false)
})

test("again after a failure, only the failed one, until it is a failed event", async () => {
  stage.receiver.answer("/broken", status(500))
  const broken = await stage.target("/broken", interruptingWebhook)
  const whole = await stage.target("/whole")
  await stage.on(orgAdded, broken.id, whole.id)
  await addOrg()
  await reactors.drain()
  expect(stage.receiver.at("/whole")).toHaveLength(1)
  expect(stage.receiver.at("/broken")).toHaveLength(5)
  const { store, instance } = stage.house.within()
  const [failed] = listFailedEvents(store, instance)
  expect(failed).toMatchObject({ reactor: "targets", failures: 1 })
  expect(failed?.error).toContain("/broken: the target returned status 500")
  await stage.make("action/UpdateTarget", { id: broken.id, endpoint: `${stage.receiver.url}/ok` })
  expect(await reactors.retry("targets", failed?.position ?? 0)).toBe(true)
  expect(stage.receiver.at("/ok")).toHaveLength(1)
  expect(stage.receiver.at("/whole")).toHaveLength(1)
  expect(listFailedEvents(store, instance)).toEqual([])
})

test("every attempt for an event has the same key, and each event another one", async () => {
  stage.receiver.answer("/first-fails", (response) => {
    response.writeHead(stage.receiver.at("/first-fails").length === 1 ? 500 : 200).end()
  })
  const { id } = await stage.target("/first-fails")
  await stage.on(orgAdded, id)
  await addOrg()
  await addOrg()
  await reactors.drain()
  const keys = stage.receiver.received.map(({ headers }) => headers["idempotency-key"])
  expect(keys).toHaveLength(3)
  expect(new Set(keys).size).toBe(2)
})

test("an asynchronous one, too, before the event is marked as processed", async () => {
  const { id } = await stage.target("/async", { restAsync: {} })
  await stage.on(orgAdded, id)
  await addOrg()
  await reactors.drain()
  expect(stage.receiver.at("/async")).toHaveLength(1)
})

test("with the contract's aggregate and type, by each of its names", async () => {
  const set = async (event: string) => {
    const { id } = await stage.target(`/${event}`)
    await stage.on({ event: { event } }, id)
  }
  const put = (maxPasswordAttempts: number) =>
    stage.make("admin.v1.AdminService/UpdateLockoutPolicy", { maxPasswordAttempts })
  const removeFactor = (type: string) =>
    stage.make("admin.v1.AdminService/RemoveSecondFactorFromLoginPolicy", { type })
  const factor = "instance.policy.login.secondfactor.removed"
  await set("instance.policy.lockout.changed")
  await set(factor)
  // The first setting of an instance has the event `added`.
  await put(9)
  await removeFactor("SECOND_FACTOR_TYPE_U2F")
  await reactors.drain()
  expect(stage.receiver.received).toEqual([])
  await put(8)
  await removeFactor("SECOND_FACTOR_TYPE_OTP")
  await reactors.drain()
  const { instance } = stage.house.within()
  expect(stage.receiver.at("/instance.policy.lockout.changed")).toMatchObject([
    {
      aggregateID: instance,
      aggregateType: "instance",
      event_type: "instance.policy.lockout.changed",
      event_payload: { maxPasswordAttempts: 8 },
    },
  ])
  // The list of factors is stored as a whole: the name indicates a change.
  expect(stage.receiver.at(`/${factor}`)).toMatchObject([
    { event_type: "instance.policy.login.changed", aggregateType: "instance" },
  ])
})

test("by a legacy name if the contract has another, and by both groups", async () => {
  const { id } = await stage.target("/old")
  await stage.on({ event: { event: "group.user.added" } }, id)
  const other = await stage.target("/group")
  await stage.on({ event: { group: "group.users" } }, other.id)
  const unknown = await stage.ask("action/SetExecution", {
    condition: { event: { event: "group.members.added" } },
    targets: [id],
  })
  expect(unknown.status).toBe(400)
  const organizationId = stage.house.orgId
  const named = { organizationId, name: "Testers" }
  const made = await stage.make("group.v2.GroupService/CreateGroup", named)
  const userIds = [stage.house.ownerId]
  await stage.make("group.v2.GroupService/AddUsersToGroup", { id: made.id, userIds })
  await reactors.drain()
  const expected = {
    aggregateID: made.id,
    aggregateType: "group",
    event_type: "group.users.added",
    event_payload: { userIDs: userIds },
  }
  expect(stage.receiver.at("/old")).toMatchObject([expected])
  // The event is more specific than its group, whatever its name.
  expect(stage.receiver.at("/group")).toEqual([])
  await stage.make("action/SetExecution", {
    condition: { event: { event: "group.user.added" } },
    targets: [],
  })
  await stage.make("group.v2.GroupService/RemoveUsersFromGroup", { id: made.id, userIds })
  await reactors.drain()
  expect(stage.receiver.at("/group")).toMatchObject([
    {
      aggregateID: made.id,
      event_type: "group.users.removed",
      event_payload: { userIDs: userIds },
    },
  ])
})

test("as a JWT, too, without a request", async () => {
  const cx = stage.house.within()
  if (publicKeys(cx).length === 0) {
    const keys = await prepareKeys(cx)
    await cx.store.transact(cx, (tx) => addKeys(tx, keys))
  }
  const { id } = await stage.target("/jwt", {
    ...interruptingWebhook,
    payloadType: "PAYLOAD_TYPE_JWT",
  })
  await stage.on({ event: { event: "org.added" } }, id)
  const orgId = await addOrg()
  await reactors.drain()
  const [told] = stage.receiver.received
  const jwks = createLocalJWKSet({ keys: [...publicKeys(cx)] })
  const { payload } = await jwtVerify(told?.body ?? "", jwks, { typ: "target+jwt" })
  expect(payload).toMatchObject({ aggregateID: orgId, event_type: "org.added" })
})
