import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { setPassword } from "../../../src/domain/credential/commands.ts"
import { beginKey, finishKey } from "../../../src/domain/factor/key/key.ts"
import { addMember, memberships, removeMember } from "../../../src/domain/member/index.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { isUserActive } from "../../../src/domain/user-lookup/query.ts"
import { makeKey } from "../../support/authenticator.ts"
import { type Estate, openEstate, type Person, person, withPassword } from "../../support/estate.ts"
import { callerOf } from "../../support/world.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
})
afterEach(() => estate.close())

const resource = { resource: { case: "instance", value: true } }

/** Every way to take an owner from the instance: them, their role, or where they belong. */
const ways: Readonly<Record<string, (userId: string, orgId: string) => object>> = {
  deactivateUser: (userId) => ({ userId }),
  lockUser: (userId) => ({ userId }),
  deleteUser: (userId) => ({ userId }),
  deleteAdministrator: (userId) => ({ userId, resource }),
  updateAdministrator: (userId) => ({ userId, resource, roles: ["IAM_OWNER_VIEWER"] }),
  deactivateOrganization: (_, organizationId) => ({ organizationId }),
  deleteOrganization: (_, organizationId) => ({ organizationId }),
}

const take = async (way: string, userId: string, who: Person = "stranger") => {
  const orgId = { owner: "org1", manager: "org1", stranger: "org2", third: "org3" }[userId] ?? ""
  await estate.as(who, way, ways[way]?.(userId, orgId))
}

/** Makes the stranger an owner, too: they belong to an organisation that can be stopped. */
const secondOwner = () =>
  estate.step((tx) =>
    addMember(tx, { userId: "stranger", target: { level: "instance" }, roles: ["IAM_OWNER"] }),
  )

describe.each(Object.keys(ways))("%s", (way) => {
  test.each(Object.keys(ways).filter((each) => !each.endsWith("Organization")))(
    "refuses to leave nobody, after %s of the other owner",
    async (before) => {
      await secondOwner()
      await take(before, "owner")
      const last = { code: "failed_precondition", id: "instance.last_owner" }
      await expect(take(way, "stranger")).rejects.toMatchObject(last)
      expect(isUserActive(estate.cx(), "stranger")).toBe(true)
      const roles = memberships(estate.cx(), "stranger").flatMap(({ roles }) => roles)
      expect(roles).toContain("IAM_OWNER")
    },
  )

  test("refuses to leave nobody, where the other owner's organisation has stopped", async () => {
    await estate.as("owner", "addOrganization", { name: "Third", organizationId: "org3" })
    await estate.step((tx) => {
      addUser(tx, "third", withPassword("third", "org3"))
      addMember(tx, { userId: "third", target: { level: "instance" }, roles: ["IAM_OWNER"] })
    })
    await secondOwner()
    await take("deactivateOrganization", "third")
    await take("deactivateUser", "owner")
    await expect(take(way, "stranger")).rejects.toMatchObject({ id: "instance.last_owner" })
    // Whoever can sign in again counts again.
    await estate.as("stranger", "activateOrganization", { organizationId: "org3" })
    await take(way, "stranger")
  })

  test("refuses to leave a service user alone that has nothing to show any more", async () => {
    const userType = { case: "machine", value: { name: "Robot" } }
    const robot = { organizationId: "org1", userId: "robot", username: "robot", userType }
    await estate.as("owner", "createUser", robot)
    await estate.step((tx) =>
      addMember(tx, { userId: "robot", target: { level: "instance" }, roles: ["IAM_OWNER"] }),
    )
    await secondOwner()
    await take("deactivateUser", "owner")
    const refused = { id: "instance.last_owner" }
    await expect(take(way, "stranger")).rejects.toMatchObject(refused)
    const expirationDate = timestampFromMs(estate.clock.now() + 1000)
    await estate.as("stranger", "addPersonalAccessToken", { userId: "robot", expirationDate })
    estate.clock.advance(1000)
    await expect(take(way, "stranger")).rejects.toMatchObject(refused)
    await estate.as("stranger", "addSecret", { userId: "robot" })
    await take(way, "stranger")
  })

  test("refuses to leave a person alone who has no password, or an invitation only", async () => {
    await estate.step((tx) => {
      addUser(tx, "third", person("third", "org1"))
      addMember(tx, { userId: "third", target: { level: "instance" }, roles: ["IAM_OWNER"] })
    })
    await secondOwner()
    await take("deactivateUser", "owner")
    const refused = { id: "instance.last_owner" }
    await expect(take(way, "stranger")).rejects.toMatchObject(refused)
    const code = { verification: { case: "returnCode", value: {} } }
    await estate.as("stranger", "createInviteCode", { userId: "third", ...code })
    await expect(take(way, "stranger")).rejects.toMatchObject(refused)
    const password = { hash: "$argon2id$", changeRequired: false }
    await setPassword(estate.cx(), "third", password)
    await take(way, "stranger")
  })

  test("leaves one of two, who are taken by each other at once", async () => {
    await secondOwner()
    const tried = await Promise.allSettled([
      take("deactivateUser", "owner", "stranger"),
      take(way, "stranger", "owner"),
    ])
    expect(tried.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"])
  })
})

describe("the last credential of the last owner", () => {
  const expirationDate = () => timestampFromMs(estate.clock.now() + 60_000)
  const userId = "robot"

  /** A service user who alone owns the instance, by nothing but what `arm` gives it. */
  const robotAlone = async (arm: string, request: object) => {
    const userType = { case: "machine", value: { name: "Robot" } }
    const robot = { organizationId: "org1", userId, username: "robot", userType }
    await estate.as("owner", "createUser", robot)
    await estate.step((tx) =>
      addMember(tx, { userId, target: { level: "instance" }, roles: ["IAM_OWNER"] }),
    )
    const made = await estate.as("owner", arm, { userId, ...request }, { of: armed[arm] ?? "v2" })
    await estate.step((tx) => removeMember(tx, { userId: "owner", target: { level: "instance" } }))
    return made
  }
  const armed: Readonly<Record<string, string>> = {
    addMachineKey: "management",
    addPersonalAccessToken: "management",
  }
  const robot = { cx: { caller: callerOf(userId) } }

  test.each([
    ["addSecret", {}, "removeSecret", "v2"],
    ["addSecret", {}, "removeMachineSecret", "management"],
    ["addMachineKey", { type: 1 }, "removeKey", "v2"],
    ["addMachineKey", { type: 1 }, "removeMachineKey", "management"],
    ["addPersonalAccessToken", {}, "removePersonalAccessToken", "v2"],
    ["addPersonalAccessToken", {}, "removePersonalAccessToken", "management"],
  ])("of %s %j stays, whatever %s says (%s)", async (arm, request, remove, of) => {
    const { keyId, tokenId } = await robotAlone(arm, request)
    const tried = () => estate.as("nobody", remove, { userId, keyId, tokenId }, { ...robot, of })
    await expect(tried()).rejects.toMatchObject({ id: "instance.last_owner" })
    await estate.as(
      "nobody",
      "addPersonalAccessToken",
      { userId, expirationDate: expirationDate() },
      robot,
    )
    // What expires doesn't count where something lasted.
    await expect(tried()).rejects.toMatchObject({ id: "instance.last_owner" })
    await estate.step((tx) =>
      addMember(tx, { userId: "manager", target: { level: "instance" }, roles: ["IAM_OWNER"] }),
    )
    await tried()
  })

  test("is a passkey, too, of a person without a password", async () => {
    await estate.step((tx) => {
      addUser(tx, "third", person("third", "org1"))
      addMember(tx, { userId: "third", target: { level: "instance" }, roles: ["IAM_OWNER"] })
    })
    const made = [await withPasskey("third"), await withPasskey("third")]
    await estate.step((tx) => removeMember(tx, { userId: "owner", target: { level: "instance" } }))
    const [first, last] = made.map((passkeyId) => () => {
      const third = { cx: { caller: callerOf("third") } }
      return estate.as("nobody", "removePasskey", { userId: "third", passkeyId }, third)
    })
    await first?.()
    await expect(last?.()).rejects.toMatchObject({ id: "instance.last_owner" })
    await setPassword(estate.cx(), "third", { hash: "$argon2id$", changeRequired: false })
    await last?.()
  })
})

/** Registers a passkey; answers its id. */
async function withPasskey(userId: string): Promise<string> {
  const { tokenId, options } = await beginKey(estate.cx(), userId, { kind: "passkey" })
  const credential = makeKey(options, { origin: "https://id.example.com" }).creation
  await finishKey(estate.cx(), userId, { kind: "passkey", tokenId, credential, name: "Key" })
  return tokenId
}
