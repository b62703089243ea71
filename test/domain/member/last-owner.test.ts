import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { setPassword } from "../../../src/domain/credential/commands.ts"
import { beginKey, finishKey } from "../../../src/domain/factor/key/key.ts"
import { addMember, listMemberships, removeMember } from "../../../src/domain/member/index.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { isUserActive } from "../../../src/domain/user-lookup/query.ts"
import { createKey } from "../../support/authenticator.ts"
import {
  humanInput,
  humanWithPassword,
  openTenant,
  type Tenant,
  type TenantUser,
} from "../../support/tenant.ts"
import { callerOf } from "../../support/test-environment.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const resource = { resource: { case: "instance", value: true } }

/** Every way to remove an owner: the user, the role, or the organization. */
const removals: Readonly<Record<string, (userId: string, orgId: string) => object>> = {
  deactivateUser: (userId) => ({ userId }),
  lockUser: (userId) => ({ userId }),
  deleteUser: (userId) => ({ userId }),
  deleteAdministrator: (userId) => ({ userId, resource }),
  updateAdministrator: (userId) => ({ userId, resource, roles: ["IAM_OWNER_VIEWER"] }),
  deactivateOrganization: (_, organizationId) => ({ organizationId }),
  deleteOrganization: (_, organizationId) => ({ organizationId }),
}

const removeOwner = async (method: string, userId: string, user: TenantUser = "stranger") => {
  const orgId = { owner: "org1", manager: "org1", stranger: "org2", third: "org3" }[userId] ?? ""
  await estate.as(user, method, removals[method]?.(userId, orgId))
}

/** Makes the stranger an owner, too: they belong to an organization that can be stopped. */
const addSecondOwner = () =>
  estate.step((tx) =>
    addMember(tx, { userId: "stranger", target: { level: "instance" }, roles: ["IAM_OWNER"] }),
  )

describe.each(Object.keys(removals))("%s", (method) => {
  test.each(Object.keys(removals).filter((each) => !each.endsWith("Organization")))(
    "is rejected without another owner, after %s of the other owner",
    async (before) => {
      await addSecondOwner()
      await removeOwner(before, "owner")
      const last = { code: "failed_precondition", id: "instance.last_owner" }
      await expect(removeOwner(method, "stranger")).rejects.toMatchObject(last)
      expect(isUserActive(estate.cx(), "stranger")).toBe(true)
      const roles = listMemberships(estate.cx(), "stranger").flatMap(({ roles }) => roles)
      expect(roles).toContain("IAM_OWNER")
    },
  )

  test("is rejected if the other owner's organization is deactivated", async () => {
    await estate.as("owner", "addOrganization", { name: "Third", organizationId: "org3" })
    await estate.step((tx) => {
      addUser(tx, "third", humanWithPassword("third", "org3"))
      addMember(tx, { userId: "third", target: { level: "instance" }, roles: ["IAM_OWNER"] })
    })
    await addSecondOwner()
    await removeOwner("deactivateOrganization", "third")
    await removeOwner("deactivateUser", "owner")
    await expect(removeOwner(method, "stranger")).rejects.toMatchObject({
      id: "instance.last_owner",
    })
    // An owner who can sign in again is included again.
    await estate.as("stranger", "activateOrganization", { organizationId: "org3" })
    await removeOwner(method, "stranger")
  })

  test("refuses to leave a service account alone that has nothing to show any more", async () => {
    const userType = { case: "machine", value: { name: "Robot" } }
    const robot = { organizationId: "org1", userId: "robot", username: "robot", userType }
    await estate.as("owner", "createUser", robot)
    await estate.step((tx) =>
      addMember(tx, { userId: "robot", target: { level: "instance" }, roles: ["IAM_OWNER"] }),
    )
    await addSecondOwner()
    await removeOwner("deactivateUser", "owner")
    const refused = { id: "instance.last_owner" }
    await expect(removeOwner(method, "stranger")).rejects.toMatchObject(refused)
    const expirationDate = timestampFromMs(estate.clock.now() + 1000)
    await estate.as("stranger", "addPersonalAccessToken", { userId: "robot", expirationDate })
    estate.clock.advance(1000)
    await expect(removeOwner(method, "stranger")).rejects.toMatchObject(refused)
    await estate.as("stranger", "addSecret", { userId: "robot" })
    await removeOwner(method, "stranger")
  })

  test("is rejected if the other owner has no password, or an invitation only", async () => {
    await estate.step((tx) => {
      addUser(tx, "third", humanInput("third", "org1"))
      addMember(tx, { userId: "third", target: { level: "instance" }, roles: ["IAM_OWNER"] })
    })
    await addSecondOwner()
    await removeOwner("deactivateUser", "owner")
    const refused = { id: "instance.last_owner" }
    await expect(removeOwner(method, "stranger")).rejects.toMatchObject(refused)
    const code = { verification: { case: "returnCode", value: {} } }
    await estate.as("stranger", "createInviteCode", { userId: "third", ...code })
    await expect(removeOwner(method, "stranger")).rejects.toMatchObject(refused)
    const password = { hash: "$argon2id$", changeRequired: false }
    await setPassword(estate.cx(), "third", password)
    await removeOwner(method, "stranger")
  })

  test("leaves one of two owners who are removed concurrently by each other", async () => {
    await addSecondOwner()
    const tried = await Promise.allSettled([
      removeOwner("deactivateUser", "owner", "stranger"),
      removeOwner(method, "stranger", "owner"),
    ])
    expect(tried.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"])
  })
})

describe("the last credential of the last owner", () => {
  const expirationDate = () => timestampFromMs(estate.clock.now() + 60_000)
  const userId = "robot"

  /** A service account that is the only owner and has only the credential that `arm` creates. */
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
  ])("of %s %j stays, whatever %s contains (%s)", async (arm, request, remove, of) => {
    const { keyId, tokenId } = await robotAlone(arm, request)
    const tried = () => estate.as("nobody", remove, { userId, keyId, tokenId }, { ...robot, of })
    await expect(tried()).rejects.toMatchObject({ id: "instance.last_owner" })
    await estate.as(
      "nobody",
      "addPersonalAccessToken",
      { userId, expirationDate: expirationDate() },
      robot,
    )
    // A credential that expires does not replace a permanent one.
    await expect(tried()).rejects.toMatchObject({ id: "instance.last_owner" })
    await estate.step((tx) =>
      addMember(tx, { userId: "manager", target: { level: "instance" }, roles: ["IAM_OWNER"] }),
    )
    await tried()
  })

  test("can be a passkey of a user without a password", async () => {
    await estate.step((tx) => {
      addUser(tx, "third", humanInput("third", "org1"))
      addMember(tx, { userId: "third", target: { level: "instance" }, roles: ["IAM_OWNER"] })
    })
    const made = [await registerPasskey("third"), await registerPasskey("third")]
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

/** Registers a passkey; returns its ID. */
async function registerPasskey(userId: string): Promise<string> {
  const { tokenId, options } = await beginKey(estate.cx(), userId, { kind: "passkey" })
  const credential = createKey(options, { origin: "https://id.example.com" }).creation
  await finishKey(estate.cx(), userId, { kind: "passkey", tokenId, credential, name: "Key" })
  return tokenId
}
