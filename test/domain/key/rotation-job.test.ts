import { afterEach, beforeEach, expect, test } from "vitest"
import { instanceHostView, instanceView } from "../../../src/domain/instance/host.ts"
import * as instances from "../../../src/domain/instance/index.ts"
import { addKeys, listWebKeys, module, prepareKeys } from "../../../src/domain/key/index.ts"
import { keyPairView } from "../../../src/domain/key/saml/view.ts"
import { webKeyView } from "../../../src/domain/key/view.ts"
import { keepRotating } from "../../../src/server/background/rotation.ts"
import { until } from "../../support/wait.ts"
import { openWorld, type World } from "../../support/world.ts"

const hour = 3_600_000

let world: World
const logged: string[] = []
beforeEach(async () => {
  logged.length = 0
  world = openWorld({
    aggregates: [...module.aggregates, instances.instance],
    views: [keyPairView, webKeyView, instanceHostView, instanceView],
  })
  for (const instance of ["i1", "i2"]) {
    const cx = world.cx({ instance })
    const pairs = await prepareKeys(cx)
    await world.store.transact(cx, (tx) => {
      instances.addInstance(tx, { name: "Home", publicUrl: `https://${instance}.example.com` })
      addKeys(tx, pairs)
    })
  }
})
beforeEach(() => {
  idle = world.clock.pending()
})
afterEach(() => world.close())

/** The timers of the clock where nothing rotates. */
let idle: number

const keysOf = (instance: string) => listWebKeys(world.cx({ instance })).length

/** The parts of a process that the job uses; `broken` names an instance whose calls fail. */
const job = (broken?: string, isWorking = true) =>
  keepRotating({
    lead: { holds: () => isWorking },
    clock: world.clock,
    store: world.store,
    log: { error: (text: string) => logged.push(text) },
    call: (instance: string) =>
      instance === broken ? world.cx({ instance: "nowhere" }) : world.cx({ instance }),
  } as never)

const patience = { timeout: 60_000 }
/** Until a round has ended: then the timer of the next one is set. */
const settled = () => until(() => world.clock.pending() > idle)

test("the keys of every instance are looked at hourly, until the server stops", async () => {
  const { stop } = job()
  await settled()
  world.clock.advance(83 * 24 * hour - 1)
  await settled()
  expect([keysOf("i1"), keysOf("i2")]).toEqual([2, 2])
  world.clock.advance(hour)
  await expect.poll(() => [keysOf("i1"), keysOf("i2")], patience).toEqual([4, 4])
  await stop()
  // No timer is left that could begin another round.
  expect(world.clock.pending()).toBe(idle)
  world.clock.advance(30 * 24 * hour)
  expect([keysOf("i1"), keysOf("i2")]).toEqual([4, 4])
})

test("where another node works, this one leaves them alone", async () => {
  world.clock.advance(84 * 24 * hour)
  const { stop } = job(undefined, false)
  await settled()
  expect([keysOf("i1"), keysOf("i2")]).toEqual([2, 2])
  await stop()
})

test("an instance that fails is logged and holds up no other", async () => {
  world.clock.advance(84 * 24 * hour)
  const { stop } = job("i1")
  await expect.poll(() => [keysOf("i1"), keysOf("i2")], patience).toEqual([2, 4])
  expect(logged).toEqual([expect.stringContaining("could not be rotated")])
  await stop()
})
