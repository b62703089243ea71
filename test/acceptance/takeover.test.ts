import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { serviceToken } from "../support/latchkey.ts"
import { addHuman, addKey, addMachine, openService, type Service } from "./service.ts"

let service: Service
let orgId = ""
beforeAll(async () => {
  service = await openService()
  const { result } = await service.get("ListOrganizations")
  orgId = result[0].id
})
afterAll(() => service?.close())

/** A service account of the first organization with roles on it, and its token. */
async function createAdministrator(name: string, ...roles: readonly string[]) {
  const userId = await addMachine(service, orgId, name)
  const resource = { organizationId: orgId }
  await service.get("CreateAdministrator", { userId, resource, roles })
  return { userId, token: await serviceToken(service.url, await addKey(service, userId)) }
}

const expirationDate = "2099-01-01T00:00:00Z"
const newPassword = { password: "Hijacked-Horse-9" }
const permissionDenied = expect.objectContaining({ code: "permission_denied" })

describe("nobody can gain access to a user with more permissions:", () => {
  test("a manager of users can't add a key to the instance's owner", async () => {
    const { token } = await createAdministrator("users", "ORG_USER_MANAGER")
    const { userId } = service.key
    const { body } = await service.call("AddKey", { userId, expirationDate }, token)
    expect(body).toEqual(permissionDenied)
    const { result } = await service.get("ListKeys", {
      filters: [{ userIdFilter: { id: userId } }],
    })
    expect(result).toHaveLength(1)
  })

  test("nor to the organization's owner, but to other users", async () => {
    const manager = await createAdministrator("manager", "ORG_USER_MANAGER")
    const owner = await createAdministrator("owner", "ORG_OWNER")
    const robot = await addMachine(service, orgId, "robot")
    const add = async (userId: string, token: string) =>
      (await service.call("AddKey", { userId, expirationDate }, token)).status
    expect(await add(owner.userId, manager.token)).toBe(403)
    expect(await add(robot, manager.token)).toBe(200)
    expect(await add(manager.userId, owner.token)).toBe(200)
  })

  test("an organization's owner can't set the password of the instance's owner", async () => {
    const { token } = await createAdministrator("org-owner", "ORG_OWNER")
    const { result } = await service.get("ListUsers")
    const ada = result.find((each: { human?: object }) => each.human)
    const { body } = await service.call("SetPassword", { userId: ada.userId, newPassword }, token)
    expect(body).toEqual(permissionDenied)
    const userId = await addHuman(service, orgId, "plain")
    expect((await service.call("SetPassword", { userId, newPassword }, token)).status).toBe(200)
  })

  test("the instance's owner can add a key to a user with more permissions", async () => {
    const userId = await addMachine(service, orgId, "login")
    const roles = ["IAM_LOGIN_CLIENT"]
    await service.get("CreateAdministrator", { userId, resource: { instance: true }, roles })
    expect((await service.call("AddKey", { userId, expirationDate })).status).toBe(200)
  })
})
