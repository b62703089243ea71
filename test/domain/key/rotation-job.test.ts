import { afterEach, beforeEach, expect, test } from "vitest"
import { instanceHostView, instanceView } from "../../../src/domain/instance/host.ts"
import * as instances from "../../../src/domain/instance/index.ts"
import { addKeys, listWebKeys, module, prepareKeys } from "../../../src/domain/key/index.ts"
import { keyPairView } from "../../../src/domain/key/saml/view.ts"
import { webKeyView } from "../../../src/domain/key/view.ts"
import { startKeyRotation } from "../../../src/server/background/rotation.ts"
import { openTestEnvironment, type TestEnvironment } from "../../support/test-environment.ts"
import { until } from "../../support/wait.ts"

const hour = 3_600_000

let world: TestEnvironment
const logged: string[] = []
beforeEach(async () => {
  logged.length = 0
  world = openTestEnvironment({
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
  idleTimers = world.clock.pending()
})
afterEach(() => world.close())

/** The number of timers when no rotation runs. */
let idleTimers: number

const keysOf = (instance: string) => listWebKeys(world.cx({ instance })).length

/** The dependencies of the job; `broken` names an instance whose calls fail. */
const startJob = (broken?: string, isWorking = true) =>
  startKeyRotation({
    lead: { holds: () => isWorking },
    clock: world.clock,
    store: world.store,
    log: { error: (text: string) => logged.push(text) },
    call: (instance: string) =>
      instance === broken ? world.cx({ instance: "nowhere" }) : world.cx({ instance }),
  } as never)

const longTimeout = { timeout: 60_000 }
/** Waits until a round has ended, which is when the timer of the next one is set. */
const waitForRound = () => until(() => world.clock.pending() > idleTimers)

test("checks the keys of every instance hourly until the server stops", async () => {
  const { stop } = startJob()
  await waitForRound()
  world.clock.advance(83 * 24 * hour - 1)
  await waitForRound()
  expect([keysOf("i1"), keysOf("i2")]).toEqual([2, 2])
  world.clock.advance(hour)
  await expect.poll(() => [keysOf("i1"), keysOf("i2")], longTimeout).toEqual([4, 4])
  await stop()
  // No timer remains that could start another round.
  expect(world.clock.pending()).toBe(idleTimers)
  world.clock.advance(30 * 24 * hour)
  expect([keysOf("i1"), keysOf("i2")]).toEqual([4, 4])
})

test("does nothing while another node is the worker", async () => {
  world.clock.advance(84 * 24 * hour)
  const { stop } = startJob(undefined, false)
  await waitForRound()
  expect([keysOf("i1"), keysOf("i2")]).toEqual([2, 2])
  await stop()
})

test("an instance that fails is logged and does not block others", async () => {
  world.clock.advance(84 * 24 * hour)
  const { stop } = startJob("i1")
  await expect.poll(() => [keysOf("i1"), keysOf("i2")], longTimeout).toEqual([2, 4])
  expect(logged).toEqual([expect.stringContaining("could not be rotated")])
  await stop()
})
