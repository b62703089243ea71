// Targets are told of events, at least once each, and of no others.
import { afterEach, beforeEach, expect, test } from "vitest"
import { targetReactor } from "../../../src/domain/target/at/event.ts"
import { failedEvents, type Reactors, runReactors } from "../../../src/store/index.ts"
import { isSigned, outsideHere, status } from "./receiver.ts"
import { interrupts, openStage, type Stage } from "./stage.ts"

const outside = outsideHere()
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
const added = { event: { event: "org.added" } }

test("of what is asked for, signed, and with nothing private in it", async () => {
  await addOrg()
  await reactors.drain()
  const { id, signingKey } = await stage.target("/told")
  await stage.on(added, id)
  const orgId = await addOrg()
  await reactors.drain()
  expect(stage.receiver.at("/told")).toMatchObject([
    {
      ...{ aggregateID: orgId, aggregateType: "org", event_type: "org.added", version: "v1" },
      ...{ instanceID: stage.house.within().instance, userID: stage.house.ownerId },
      event_payload: { name: `Org ${count}` },
    },
  ])
  const [told] = stage.receiver.received
  expect(told && isSigned(told, signingKey)).toBe(true)
})

test("the most exact condition alone: an event before its group, that before all", async () => {
  const [all, group, event] = await Promise.all(
    ["/all", "/group", "/event"].map((path) => stage.target(path)),
  )
  await stage.on({ event: { all: true } }, all?.id ?? "")
  await stage.on({ event: { group: "org" } }, group?.id ?? "")
  await stage.on(added, event?.id ?? "")
  await addOrg()
  await reactors.drain()
  const told = (path: string) => new Set(stage.receiver.at(path).map((each) => each.event_type))
  expect(told("/event")).toEqual(new Set(["org.added"]))
  expect([...told("/group")].every((type) => /^org\./.test(type))).toBe(true)
  expect(told("/all")).toContain("execution.set")
  expect([...told("/all")].some((type) => /^org\./.test(type))).toBe(false)
})

test("again where one fails, only that one, until it is a failed event", async () => {
  stage.receiver.answer("/broken", status(500))
  const broken = await stage.target("/broken", interrupts)
  const whole = await stage.target("/whole")
  await stage.on(added, broken.id, whole.id)
  await addOrg()
  await reactors.drain()
  expect(stage.receiver.at("/whole")).toHaveLength(1)
  expect(stage.receiver.at("/broken")).toHaveLength(5)
  const { store, instance } = stage.house.within()
  const [failed] = failedEvents(store, instance)
  expect(failed).toMatchObject({ reactor: "targets", failures: 1 })
  expect(failed?.error).toContain("/broken: it answered with status 500")
  await stage.make("action/UpdateTarget", { id: broken.id, endpoint: `${stage.receiver.url}/ok` })
  expect(await reactors.retry("targets", failed?.position ?? 0)).toBe(true)
  expect(stage.receiver.at("/ok")).toHaveLength(1)
  expect(stage.receiver.at("/whole")).toHaveLength(1)
  expect(failedEvents(store, instance)).toEqual([])
})

test("every try of one event has the same key, and no other has it", async () => {
  stage.receiver.answer("/first-fails", (response) => {
    response.writeHead(stage.receiver.at("/first-fails").length === 1 ? 500 : 200).end()
  })
  const { id } = await stage.target("/first-fails")
  await stage.on(added, id)
  await addOrg()
  await addOrg()
  await reactors.drain()
  const keys = stage.receiver.received.map(({ headers }) => headers["idempotency-key"])
  expect(keys).toHaveLength(3)
  expect(new Set(keys).size).toBe(2)
})

test("an async one too, before the event is passed", async () => {
  const { id } = await stage.target("/async", { restAsync: {} })
  await stage.on(added, id)
  await addOrg()
  await reactors.drain()
  expect(stage.receiver.at("/async")).toHaveLength(1)
})
