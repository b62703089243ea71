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
  findUser,
  isUserActive,
  profile,
  userChain,
} from "../../../src/domain/user-lookup/query.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { never } from "../../../src/kernel/crypto/signing-key.ts"
import { type Cx, statement } from "../../../src/store/index.ts"
import type { World } from "../../support/world.ts"
import { anna, human, openHousehold, robot } from "./household.ts"

let world: World
beforeEach(async () => {
  world = await openHousehold()
})
afterEach(() => world.close())

const rows = statement("SELECT * FROM users WHERE instance = $instance")

const turns = { deactivateUser, reactivateUser, lockUser, unlockUser } as const

/** Which turns lead where; what is not named is refused. */
const ways = {
  active: { deactivateUser: "inactive", lockUser: "locked" },
  inactive: { reactivateUser: "active" },
  locked: { unlockUser: "active", deactivateUser: "inactive" },
} as const

test("new users are active", async () => {
  const cx = world.cx()
  await anna(cx)
  await robot(cx)
  expect([isUserActive(cx, "u1"), isUserActive(cx, "m1")]).toEqual([true, true])
  expect(isUserActive(cx, "nobody")).toBe(false)
})

test.each(Object.keys(ways))("from %s a user is turned only where the table says", async (from) => {
  const cx = world.cx()
  for (const [name, turn] of Object.entries(turns)) {
    const id = `${from}-${name}`
    await createUser(cx, id, human({ userName: id }))
    if (from === "inactive") await deactivateUser(cx, id)
    if (from === "locked") await lockUser(cx, id)
    const to = new Map(Object.entries(ways[from as keyof typeof ways])).get(name)
    if (to) await turn(cx, id)
    else await expect(turn(cx, id)).rejects.toMatchObject({ code: "failed_precondition" })
    expect(findUser(cx, id).status, name).toBe(to ?? from)
  }
})

test("a user is added to an active organisation only", async () => {
  const cx = world.cx()
  const gone = anna(cx, { orgId: "org9" })
  await expect(gone).rejects.toMatchObject({ code: "not_found", id: "org.missing" })
  await own("m1")
  await deactivateOrganization(cx, "org2")
  const stopped = anna(cx, { orgId: "org2" })
  await expect(stopped).rejects.toMatchObject({ code: "failed_precondition", id: "org.inactive" })
})

test("the organisation of a user is the one that they were added to", async () => {
  const cx = world.cx()
  await anna(cx, { orgId: "org2" })
  expect(userChain(cx, "u1")).toEqual({ instance: true, org: "org2", user: "u1" })
  expect(userChain(cx, "nobody")).toBeUndefined()
})

test("removing a user erases what is personal, in the log, the state and the view", async () => {
  const cx = world.cx()
  await anna(cx, { phone: { value: "+41 79 123 45 67", verified: false } })
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
  expect(profile(cx, "u1")).toBeUndefined()
  expect(userChain(cx, "u1")).toBeUndefined()
  expect(() => findUser(cx, "u1")).toThrow("no such user")
})

test.each([
  ["updateUser", (cx: ReturnType<World["cx"]>) => updateUser(cx, "u1", { userName: "x" })],
  ["removeUser", (cx: ReturnType<World["cx"]>) => removeUser(cx, "u1")],
  ["lockUser", (cx: ReturnType<World["cx"]>) => lockUser(cx, "u1")],
])("%s of somebody who was removed is not found", async (_, again) => {
  const cx = world.cx()
  await anna(cx)
  await removeUser(cx, "u1")
  await expect(again(cx)).rejects.toMatchObject({ code: "not_found", id: "user.missing" })
})

const own = (userId: string) =>
  addInstanceMember(world.cx(), "i1", { userId, orgId: "org1", roles: ["IAM_OWNER"] })

/** A service user that has something to show. */
async function armedRobot(cx: Cx, change = {}, expires = never): Promise<void> {
  await robot(cx, change)
  await cx.store.transact(cx, (tx) => addPersonalToken(tx, "m1", expires))
}

test.each([
  ["deactivated", deactivateUser],
  ["locked", lockUser],
  ["removed", removeUser],
] as const)("the last owner can't be %s", async (_, turn) => {
  const cx = world.cx()
  await anna(cx)
  await own("u1")
  await expect(turn(cx, "u1")).rejects.toMatchObject({ code: "failed_precondition" })
  expect(isUserActive(cx, "u1")).toBe(true)
})

/** Whoever has no way in that lasts is no owner to rely on. */
const annaWithPassword = async (cx: Cx) =>
  anna(cx, { password: await createPassword("Correct-horse-7-battery", { names: ["anna"] }) })

test("an owner who can't sign in doesn't count as another owner", async () => {
  const cx = world.cx()
  await annaWithPassword(cx)
  await armedRobot(cx)
  await own("u1")
  await own("m1")
  await lockUser(cx, "m1")
  await expect(removeUser(cx, "u1")).rejects.toMatchObject({ code: "failed_precondition" })
  await unlockUser(cx, "m1")
  await removeUser(cx, "u1")
  expect(world.store.state(cx, instance, "i1").status).toBe("active")
})

test("an owner whose credentials all expire doesn't count as one who lasts", async () => {
  const cx = world.cx()
  await annaWithPassword(cx)
  await armedRobot(cx, {}, cx.clock.now() + 60_000)
  await own("u1")
  await own("m1")
  const last = { id: "instance.last_owner" }
  for (const turn of [deactivateUser, lockUser, removeUser]) {
    await expect(turn(cx, "u1")).rejects.toMatchObject(last)
  }
  await generateMachineSecret(cx, "m1")
  await removeUser(cx, "u1")
})

test("an owner whose organisation is stopped doesn't count as another owner", async () => {
  const cx = world.cx()
  await anna(cx)
  await armedRobot(cx, { orgId: "org2" })
  await own("u1")
  await own("m1")
  await deactivateOrganization(cx, "org2")
  await expect(removeUser(cx, "u1")).rejects.toMatchObject({ code: "failed_precondition" })
})

test("two owners who remove each other at the same moment leave one", async () => {
  const cx = world.cx()
  await anna(cx)
  await armedRobot(cx)
  await own("u1")
  await own("m1")
  const outcomes = await Promise.allSettled([removeUser(cx, "u1"), removeUser(cx, "m1")])
  expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"])
})
