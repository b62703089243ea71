import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { assertionOf, type ServiceKey, serviceToken } from "../support/latchkey.ts"
import { openGrpc } from "./grpc.ts"
import {
  addKey,
  addMachine,
  createOrganizationFixture,
  openService,
  type Service,
} from "./service.ts"

let service: Service
let orgId: string

beforeAll(async () => {
  service = await openService()
  orgId = (await service.get("ListOrganizations")).result[0].id
})
afterAll(() => service?.close())

type ServiceAccount = { readonly id: string; readonly key: ServiceKey; readonly token: string }

/** A service account that can list the users of the organization. */
async function createServiceAccount(username: string): Promise<ServiceAccount> {
  const id = await addMachine(service, orgId, username)
  const resource = { organizationId: orgId }
  const roles = ["ORG_OWNER_VIEWER"]
  await service.get("CreateAdministrator", { userId: id, resource, roles })
  const key = await addKey(service, id)
  return { id, key, token: await serviceToken(service.url, key) }
}

/** Whether each protocol accepts the token. */
async function acceptedByProtocol(token: string): Promise<readonly boolean[]> {
  const grpc = openGrpc(service.grpcPort, token)
  const headers = { authorization: `Bearer ${token}` }
  try {
    return [
      (await service.call("ListUsers", {}, token)).status === 200,
      (await fetch(`${service.url}/iam`, { headers })).status === 200,
      (await fetch(`${service.url}/oidc/v1/userinfo`, { headers })).status === 200,
      await grpc.call("ListUsers", {}).then(
        () => true,
        () => false,
      ),
    ]
  } finally {
    grpc.close()
  }
}

const all = [true, true, true, true]
const none = [false, false, false, false]

async function newTokenStatus(key: ServiceKey): Promise<number> {
  const body = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
    assertion: await assertionOf(service.url, key),
    scope: "openid",
  })
  return (await fetch(`${service.url}/oauth/v2/token`, { method: "POST", body })).status
}

describe("a token is rejected at its next use when its user is", () => {
  test.each([
    ["deactivated", "DeactivateUser", "ReactivateUser"],
    ["locked", "LockUser", "UnlockUser"],
  ])("%s, permanently; its key works again", async (state, stop, resume) => {
    const { id: userId, token, key } = await createServiceAccount(state)
    expect(await acceptedByProtocol(token)).toEqual(all)
    await service.get(stop, { userId })
    expect(await acceptedByProtocol(token)).toEqual(none)
    expect(await newTokenStatus(key)).toBe(400)
    await service.get(resume, { userId })
    expect(await acceptedByProtocol(token)).toEqual(none)
    expect(await newTokenStatus(key)).toBe(200)
  })

  test("deleted", async () => {
    const { id: userId, token, key } = await createServiceAccount("deleted")
    expect(await acceptedByProtocol(token)).toEqual(all)
    await service.get("DeleteUser", { userId })
    expect(await acceptedByProtocol(token)).toEqual(none)
    expect(await newTokenStatus(key)).toBe(400)
  })

  test("in a deactivated organization", async () => {
    const house = await createOrganizationFixture(service, "gamma")
    const { orgId: organizationId, token, key } = house
    expect(await acceptedByProtocol(token)).toEqual(all)
    await service.get("DeactivateOrganization", { organizationId })
    expect(await acceptedByProtocol(token)).toEqual(none)
    expect(await newTokenStatus(key)).toBe(400)
    await service.get("ActivateOrganization", { organizationId })
    expect(await acceptedByProtocol(token)).toEqual(none)
    expect(await newTokenStatus(key)).toBe(200)
  })

  test("no longer an administrator, within that scope", async () => {
    const { id: userId, token } = await createServiceAccount("demoted")
    const resource = { organizationId: orgId }
    await service.get("DeleteAdministrator", { userId, resource })
    const { result } = await service.get("ListUsers", {}, token)
    expect(result.map((each: any) => each.userId)).toEqual([userId])
  })

  test("rejects new tokens after the signing key is removed", async () => {
    const { id: userId, key } = await createServiceAccount("keyless")
    expect(await newTokenStatus(key)).toBe(200)
    await service.get("RemoveKey", { userId, keyId: key.keyId })
    expect(await newTokenStatus(key)).toBe(400)
  })
})

describe("the last owner of the instance", () => {
  const resource = { instance: true }
  const refused = (userId: string) =>
    [
      ["DeleteUser", { userId }],
      ["DeactivateUser", { userId }],
      ["LockUser", { userId }],
      ["DeleteAdministrator", { userId, resource }],
      ["UpdateAdministrator", { userId, resource, roles: ["IAM_OWNER_VIEWER"] }],
      ["DeactivateOrganization", { organizationId: orgId }],
    ] as const

  test("can't be removed, demoted, locked, deactivated or deleted, and neither can", async () => {
    const { administrators } = await service.get("ListAdministrators", {
      filters: [{ resource }],
    })
    const people = administrators.map((each: any) => each.user.id)
    const person = people.find((id: string) => id !== service.key.userId)
    await service.get("DeleteAdministrator", { userId: person, resource })
    for (const [name, request] of refused(service.key.userId)) {
      const { status, body } = await service.call(name, request)
      expect([name, status, body.code]).toEqual([name, 400, "failed_precondition"])
    }
    expect(await acceptedByProtocol(service.token)).toEqual(all)
    await service.get("CreateAdministrator", { userId: person, resource, roles: ["IAM_OWNER"] })
  })

  test("is the only owner who can sign in", async () => {
    const { administrators } = await service.get("ListAdministrators", {
      filters: [{ resource }],
    })
    const others = administrators
      .map((each: any) => each.user.id)
      .filter((id: string) => id !== service.key.userId)
    for (const userId of others) await service.get("LockUser", { userId })
    for (const [name, request] of refused(service.key.userId)) {
      expect([name, (await service.call(name, request)).status]).toEqual([name, 400])
    }
    for (const userId of others) await service.get("UnlockUser", { userId })
  })

  test("remains when two owners remove each other concurrently", async () => {
    const second = await addMachine(service, orgId, "second-owner")
    const third = await addMachine(service, orgId, "third-owner")
    const roles = ["IAM_OWNER"]
    for (const userId of [second, third]) {
      await service.get("CreateAdministrator", { userId, resource, roles })
      // Keys expire; a service account without another credential doesn't count as an owner.
      await service.get("AddSecret", { userId })
    }
    const tokens = await Promise.all(
      [second, third].map(async (id) => serviceToken(service.url, await addKey(service, id))),
    )
    const { administrators } = await service.get("ListAdministrators", {
      filters: [{ resource }],
    })
    const owners: string[] = administrators.map((each: any) => each.user.id)
    const attempts = owners.flatMap((userId) =>
      tokens.map((token) => service.call("DeleteAdministrator", { userId, resource }, token)),
    )
    await Promise.all(attempts)
    const left = await Promise.all([...tokens, service.token].map((token) => stillOwns(token)))
    expect(left.filter(Boolean).length).toBeGreaterThanOrEqual(1)
  })
})

const stillOwns = async (token: string) =>
  (await service.call("ListWebKeys", {}, token)).status === 200
