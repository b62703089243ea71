import { afterEach, beforeEach, expect, test } from "vitest"
import {
  checkPassword,
  createPassword,
  provePassword,
} from "../../../src/domain/credential/commands.ts"
import { addInstanceMember } from "../../../src/domain/instance/index.ts"
import { failedTries } from "../../../src/domain/lockout/lockout.ts"
import { addPolicy, type Place, resetPolicy } from "../../../src/domain/policy/commands.ts"
import { lockout } from "../../../src/domain/policy/index.ts"
import { generateMachineSecret } from "../../../src/domain/service-account/machine-secret.ts"
import { unlockUser } from "../../../src/domain/user/commands.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import type { World } from "../../support/world.ts"
import { anna, openHousehold, robot } from "../user/household.ts"

const right = "Correct-Horse-7"
const wrong = "Battery-Staple-8"

let world: World
beforeEach(async () => {
  world = await openHousehold()
  await anna(world.cx(), { password: await createPassword(right, { names: [] }) })
})
afterEach(() => world.close())

const allow = (maxPasswordAttempts: number, place: { readonly of: Place } = { of: "org1" }) =>
  addPolicy(world.cx(), place.of, {
    policy: lockout,
    say: () => ({ maxPasswordAttempts }),
  })

const status = () => world.store.state(world.cx(), user, "u1").status
const typesSince = async (position: number) =>
  (await world.store.log.read(position, 1000)).map(({ type }) => type)

/** Tries one after the other, with a clock that doesn't stand still. */
async function tried(...plains: readonly string[]) {
  const found = []
  for (const plain of plains) {
    world.clock.advance(3_600_000)
    found.push(await checkPassword(world.cx(), "u1", plain))
  }
  return found
}

test("so many wrong passwords in a row lock, and nothing before tells that they will", async () => {
  await allow(3)
  expect(await tried(wrong, wrong)).toEqual(["wrong", "wrong"])
  expect(status()).toBe("active")
  expect(await tried(wrong)).toEqual(["wrong"])
  expect(status()).toBe("locked")
  // Only who knows the password hears that it is locked.
  expect(await tried(wrong, right)).toEqual(["wrong", "locked"])
})

test("a right password begins the count anew", async () => {
  await allow(3)
  await tried(wrong, wrong, right, wrong, wrong)
  expect(status()).toBe("active")
  expect(await tried(right)).toEqual(["ok"])
})

test("whoever is unlocked has all tries again, and signs in at once", async () => {
  await allow(2)
  await tried(wrong, wrong)
  await unlockUser(world.cx(), "u1")
  await tried(wrong)
  expect(status()).toBe("active")
  expect(await tried(right)).toEqual(["ok"])
})

test("tries from a device that is known count as all others do", async () => {
  await allow(3)
  for (const device of ["d1", undefined, "d2"]) {
    await provePassword(world.cx(), { account: "u1", plain: wrong, device }, async () => "in")
  }
  expect(status()).toBe("locked")
})

test("tries at the same moment don't slip past the count", async () => {
  await allow(3)
  await Promise.all(Array.from({ length: 5 }, () => checkPassword(world.cx(), "u1", wrong)))
  expect(status()).toBe("locked")
  const counted = (await typesSince(0)).filter((type) => type.endsWith("lockout.counted"))
  expect(counted).toHaveLength(3)
})

test.each([
  ["nobody has said anything", async () => {}],
  [
    "the organisation wants none, whatever the instance says",
    async () => {
      await allow(2, { of: undefined })
      await allow(0)
    },
  ],
  [
    "the organisation has taken its word back",
    async () => {
      await allow(2)
      await resetPolicy(world.cx(), "org1", lockout)
    },
  ],
])("nobody is locked where %s, and nothing is counted", async (_, said) => {
  await said()
  const before = world.store.log.durable()
  await tried(wrong, wrong, wrong)
  expect(status()).toBe("active")
  expect((await typesSince(before)).filter((type) => type.includes("lockout"))).toEqual([])
})

test.each([
  ["who could administer the instance", async () => {}],
  [
    "of the people who could, though a service user can, too",
    async () => {
      await robot(world.cx())
      await generateMachineSecret(world.cx(), "m1")
      await own("m1")
    },
  ],
])("nobody locks out the last one %s", async (_, others) => {
  await allow(2)
  await own("u1")
  await others()
  await tried(wrong, wrong, wrong)
  expect(status()).toBe("active")
  expect(await tried(right)).toEqual(["ok"])
})

async function own(userId: string): Promise<void> {
  const cx = world.cx()
  const member = { userId, orgId: "org1", roles: ["IAM_OWNER"] }
  await cx.store.transact(cx, (tx) => addInstanceMember.within(tx, "i1", member))
}

test("the count of somebody who never comes back goes after a year", async () => {
  await allow(3)
  await tried(wrong)
  const state = () => world.store.state(world.cx(), failedTries, "u1")
  expect(failedTries.expires?.(state())).toBe(world.clock.now() + 365 * 86_400_000)
  await tried(right)
  expect(failedTries.expires?.(state())).toBeLessThanOrEqual(world.clock.now())
})
