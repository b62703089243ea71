import { afterEach, beforeEach, expect, test } from "vitest"
import {
  authenticateWithPassword,
  checkPassword,
  createPassword,
} from "../../../src/domain/credential/commands.ts"
import { addInstanceMember } from "../../../src/domain/instance/index.ts"
import { failedAttempts } from "../../../src/domain/lockout/lockout.ts"
import { addPolicy, type PolicyOwner, resetPolicy } from "../../../src/domain/policy/commands.ts"
import { lockout } from "../../../src/domain/policy/index.ts"
import { generateMachineSecret } from "../../../src/domain/service-account/machine-secret.ts"
import { unlockUser } from "../../../src/domain/user/commands.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import type { TestEnvironment } from "../../support/test-environment.ts"
import { createAnna, createRobot, openUserWorld } from "../user/household.ts"

const rightPassword = "Correct-Horse-7"
const wrongPassword = "Battery-Staple-8"

let world: TestEnvironment
beforeEach(async () => {
  world = await openUserWorld()
  await createAnna(world.cx(), { password: await createPassword(rightPassword, { names: [] }) })
})
afterEach(() => world.close())

const setLockoutPolicy = (
  maxPasswordAttempts: number,
  location: { readonly of: PolicyOwner } = { of: "org1" },
) =>
  addPolicy(world.cx(), location.of, {
    policy: lockout,
    apply: () => ({ maxPasswordAttempts }),
  })

const status = () => world.store.state(world.cx(), user, "u1").status
const typesSince = async (position: number) =>
  (await world.store.log.read(position, 1000)).map(({ type }) => type)

/** Tries passwords one after the other while the clock advances. */
async function tryPasswords(...plains: readonly string[]) {
  const found = []
  for (const plain of plains) {
    world.clock.advance(3_600_000)
    found.push(await checkPassword(world.cx(), "u1", plain))
  }
  return found
}

test("the policy's number of consecutive wrong passwords locks, without earlier warning", async () => {
  await setLockoutPolicy(3)
  expect(await tryPasswords(wrongPassword, wrongPassword)).toEqual(["wrong", "wrong"])
  expect(status()).toBe("active")
  expect(await tryPasswords(wrongPassword)).toEqual(["wrong"])
  expect(status()).toBe("locked")
  // The lock is reported only with the right password.
  expect(await tryPasswords(wrongPassword, rightPassword)).toEqual(["wrong", "locked"])
})

test("a right password resets the count", async () => {
  await setLockoutPolicy(3)
  await tryPasswords(wrongPassword, wrongPassword, rightPassword, wrongPassword, wrongPassword)
  expect(status()).toBe("active")
  expect(await tryPasswords(rightPassword)).toEqual(["ok"])
})

test("an unlocked user has all attempts again and can sign in immediately", async () => {
  await setLockoutPolicy(2)
  await tryPasswords(wrongPassword, wrongPassword)
  await unlockUser(world.cx(), "u1")
  await tryPasswords(wrongPassword)
  expect(status()).toBe("active")
  expect(await tryPasswords(rightPassword)).toEqual(["ok"])
})

test("attempts from a known device are counted like others", async () => {
  await setLockoutPolicy(3)
  for (const device of ["d1", undefined, "d2"]) {
    await authenticateWithPassword(
      world.cx(),
      { account: "u1", plain: wrongPassword, device },
      async () => "in",
    )
  }
  expect(status()).toBe("locked")
})

test("concurrent attempts are all counted", async () => {
  await setLockoutPolicy(3)
  await Promise.all(Array.from({ length: 5 }, () => checkPassword(world.cx(), "u1", wrongPassword)))
  expect(status()).toBe("locked")
  const counted = (await typesSince(0)).filter((type) => type.endsWith("lockout.counted"))
  expect(counted).toHaveLength(3)
})

test.each([
  ["nobody has said anything", async () => {}],
  [
    "the organization wants none, whatever the instance says",
    async () => {
      await setLockoutPolicy(2, { of: undefined })
      await setLockoutPolicy(0)
    },
  ],
  [
    "the organization has taken its word back",
    async () => {
      await setLockoutPolicy(2)
      await resetPolicy(world.cx(), "org1", lockout)
    },
  ],
])("locks and counts nothing if %s", async (_, values) => {
  await values()
  const before = world.store.log.durable()
  await tryPasswords(wrongPassword, wrongPassword, wrongPassword)
  expect(status()).toBe("active")
  expect((await typesSince(before)).filter((type) => type.includes("lockout"))).toEqual([])
})

test.each([
  ["who could administer the instance", async () => {}],
  [
    "of the people who could, though a service account can, too",
    async () => {
      await createRobot(world.cx())
      await generateMachineSecret(world.cx(), "m1")
      await makeOwner("m1")
    },
  ],
])("does not lock the last user who %s", async (_, others) => {
  await setLockoutPolicy(2)
  await makeOwner("u1")
  await others()
  await tryPasswords(wrongPassword, wrongPassword, wrongPassword)
  expect(status()).toBe("active")
  expect(await tryPasswords(rightPassword)).toEqual(["ok"])
})

async function makeOwner(userId: string): Promise<void> {
  const cx = world.cx()
  const member = { userId, orgId: "org1", roles: ["IAM_OWNER"] }
  await cx.store.transact(cx, (tx) => addInstanceMember.within(tx, "i1", member))
}

test("the count of an inactive user is deleted after a year", async () => {
  await setLockoutPolicy(3)
  await tryPasswords(wrongPassword)
  const state = () => world.store.state(world.cx(), failedAttempts, "u1")
  expect(failedAttempts.expires?.(state())).toBe(world.clock.now() + 365 * 86_400_000)
  await tryPasswords(rightPassword)
  expect(failedAttempts.expires?.(state())).toBeLessThanOrEqual(world.clock.now())
})
