import { afterEach, beforeEach, expect, test } from "vitest"
import { createPassword } from "../../../src/domain/credential/commands.ts"
import { addInstanceMember, instance } from "../../../src/domain/instance/index.ts"
import { deactivateOrganization } from "../../../src/domain/org/index.ts"
import { generateMachineSecret } from "../../../src/domain/service-account/machine-secret.ts"
import { addPersonalToken } from "../../../src/domain/service-account/personal-token.ts"
import { reactivateUser, unlockUser } from "../../../src/domain/user/commands.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { deactivateUser, lockUser, removeUser, updateUser } from "../../../src/domain/user/index.ts"
import {
  findProfile,
  findUserChain,
  isUserActive,
  requireUserRow,
} from "../../../src/domain/user-lookup/query.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { neverExpires } from "../../../src/kernel/crypto/signing-key.ts"
import { type Cx, statement } from "../../../src/store/index.ts"
import type { TestEnvironment } from "../../support/test-environment.ts"
import { createAnna, createRobot, human, openUserWorld } from "./household.ts"

let world: TestEnvironment
beforeEach(async () => {
  world = await openUserWorld()
})
afterEach(() => world.close())

const rows = statement("SELECT * FROM users WHERE instance = $instance")

const stateChanges = { deactivateUser, reactivateUser, lockUser, unlockUser } as const

/** The permitted state changes; all others are rejected. */
const permittedChanges = {
  active: { deactivateUser: "inactive", lockUser: "locked" },
  inactive: { reactivateUser: "active" },
  locked: { unlockUser: "active", deactivateUser: "inactive" },
} as const

test("new users are active", async () => {
  const cx = world.cx()
  await createAnna(cx)
  await createRobot(cx)
  expect([isUserActive(cx, "u1"), isUserActive(cx, "m1")]).toEqual([true, true])
  expect(isUserActive(cx, "nobody")).toBe(false)
})

test.each(Object.keys(permittedChanges))(
  "from %s only the listed state changes are permitted",
  async (from) => {
    const cx = world.cx()
    for (const [name, turn] of Object.entries(stateChanges)) {
      const id = `${from}-${name}`
      await createUser(cx, id, human({ userName: id }))
      if (from === "inactive") await deactivateUser(cx, id)
      if (from === "locked") await lockUser(cx, id)
      const to = new Map(
        Object.entries(permittedChanges[from as keyof typeof permittedChanges]),
      ).get(name)
      if (to) await turn(cx, id)
      else await expect(turn(cx, id)).rejects.toMatchObject({ code: "failed_precondition" })
      expect(requireUserRow(cx, id).status, name).toBe(to ?? from)
    }
  },
)

test("a user can be added to an active organization only", async () => {
  const cx = world.cx()
  const gone = createAnna(cx, { orgId: "org9" })
  await expect(gone).rejects.toMatchObject({ code: "not_found", id: "org.missing" })
  await makeOwner("m1")
  await deactivateOrganization(cx, "org2")
  const stopped = createAnna(cx, { orgId: "org2" })
  await expect(stopped).rejects.toMatchObject({ code: "failed_precondition", id: "org.inactive" })
})

test("the organization of a user is the one they were added to", async () => {
  const cx = world.cx()
  await createAnna(cx, { orgId: "org2" })
  expect(findUserChain(cx, "u1")).toEqual({ instance: true, org: "org2", user: "u1" })
  expect(findUserChain(cx, "nobody")).toBeUndefined()
})

test("deleting a user erases personal data in the log, the state, and the view", async () => {
  const cx = world.cx()
  await createAnna(cx, { phone: { value: "+41 79 123 45 67", verified: false } })
  await updateUser(cx, "u1", { human: { profile: { nickName: "Annie" } } })
  await removeUser(cx, "u1")
  const traces = JSON.stringify([
    await world.store.log.read(0, 100),
    world.store.state(cx, user, "u1"),
    world.store.all(cx, rows),
    world.store.database.query("SELECT * FROM claim WHERE kind = 'login_name'").all(),
  ])
  for (const trace of ["anna", "Anna", "Berg", "Annie", "79123"]) {
    expect(traces).not.toContain(trace)
  }
  expect(findProfile(cx, "u1")).toBeUndefined()
  expect(findUserChain(cx, "u1")).toBeUndefined()
  expect(() => requireUserRow(cx, "u1")).toThrow("user not found")
})

test.each([
  [
    "updateUser",
    (cx: ReturnType<TestEnvironment["cx"]>) => updateUser(cx, "u1", { userName: "x" }),
  ],
  ["removeUser", (cx: ReturnType<TestEnvironment["cx"]>) => removeUser(cx, "u1")],
  ["lockUser", (cx: ReturnType<TestEnvironment["cx"]>) => lockUser(cx, "u1")],
])("%s of a deleted user is not found", async (_, again) => {
  const cx = world.cx()
  await createAnna(cx)
  await removeUser(cx, "u1")
  await expect(again(cx)).rejects.toMatchObject({ code: "not_found", id: "user.missing" })
})

const makeOwner = (userId: string) =>
  addInstanceMember(world.cx(), "i1", { userId, orgId: "org1", roles: ["IAM_OWNER"] })

/** A service account with a credential. */
async function robotWithCredential(cx: Cx, change = {}, expires = neverExpires): Promise<void> {
  await createRobot(cx, change)
  await cx.store.transact(cx, (tx) => addPersonalToken(tx, "m1", expires))
}

test.each([
  ["deactivated", deactivateUser],
  ["locked", lockUser],
  ["removed", removeUser],
] as const)("the last owner can't be %s", async (_, round) => {
  const cx = world.cx()
  await createAnna(cx)
  await makeOwner("u1")
  await expect(round(cx, "u1")).rejects.toMatchObject({ code: "failed_precondition" })
  expect(isUserActive(cx, "u1")).toBe(true)
})

/** A user without a permanent credential does not count as an owner. */
const createAnnaWithPassword = async (cx: Cx) =>
  createAnna(cx, { password: await createPassword("Correct-horse-7-battery", { names: ["anna"] }) })

test("an owner who can't sign in doesn't count as another owner", async () => {
  const cx = world.cx()
  await createAnnaWithPassword(cx)
  await robotWithCredential(cx)
  await makeOwner("u1")
  await makeOwner("m1")
  await lockUser(cx, "m1")
  await expect(removeUser(cx, "u1")).rejects.toMatchObject({ code: "failed_precondition" })
  await unlockUser(cx, "m1")
  await removeUser(cx, "u1")
  expect(world.store.state(cx, instance, "i1").status).toBe("active")
})

test("an owner whose credentials all expire doesn't count as a permanent one", async () => {
  const cx = world.cx()
  await createAnnaWithPassword(cx)
  await robotWithCredential(cx, {}, cx.clock.now() + 60_000)
  await makeOwner("u1")
  await makeOwner("m1")
  const last = { id: "instance.last_owner" }
  for (const turn of [deactivateUser, lockUser, removeUser]) {
    await expect(turn(cx, "u1")).rejects.toMatchObject(last)
  }
  await generateMachineSecret(cx, "m1")
  await removeUser(cx, "u1")
})

test("an owner whose organization is deactivated doesn't count as another owner", async () => {
  const cx = world.cx()
  await createAnna(cx)
  await robotWithCredential(cx, { orgId: "org2" })
  await makeOwner("u1")
  await makeOwner("m1")
  await deactivateOrganization(cx, "org2")
  await expect(removeUser(cx, "u1")).rejects.toMatchObject({ code: "failed_precondition" })
})

test("two owners who delete each other concurrently leave one", async () => {
  const cx = world.cx()
  await createAnna(cx)
  await robotWithCredential(cx)
  await makeOwner("u1")
  await makeOwner("m1")
  const outcomes = await Promise.allSettled([removeUser(cx, "u1"), removeUser(cx, "m1")])
  expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"])
})
