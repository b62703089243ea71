import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { serviceToken } from "../support/latchkey.ts"
import {
  addKey,
  addMachine,
  addPerson,
  bearer,
  type Household,
  openHousehold,
  openService,
  reply,
  type Service,
} from "./service.ts"

let service: Service
let alpha: Household
let beta: Household

beforeAll(async () => {
  service = await openService()
  alpha = await openHousehold(service, "alpha")
  beta = await openHousehold(service, "beta")
  await addPerson(service, beta.orgId, "bertha")
})
afterAll(() => service?.close())

/** Filters that would match what is beta's, by the operation that takes them. */
const searches = [
  ["ListUsers", () => ({ queries: [{ organizationIdQuery: { organizationId: beta.orgId } }] })],
  ["ListUsers", () => ({ queries: [{ inUserIdsQuery: { userIds: [beta.userId] } }] })],
  ["ListUsers", () => ({ queries: [{ notQuery: { query: ownUser() } }, { stateQuery: active }] })],
  ["ListUsers", () => ({ queries: [{ orQuery: { queries: [theirUser(), theirUser()] } }] })],
  ["ListKeys", () => ({ filters: [{ userIdFilter: { id: beta.userId } }] })],
  ["ListKeys", () => ({ filters: [{ organizationIdFilter: { id: beta.orgId } }] })],
  ["ListProjects", () => ({ filters: [{ inProjectIdsFilter: { ids: [beta.projectId] } }] })],
  ["ListApplications", () => ({ filters: [{ projectIdFilter: { projectId: beta.projectId } }] })],
  ["ListOrganizations", () => ({ queries: [{ idQuery: { id: beta.orgId } }] })],
  ["ListAdministrators", () => ({ filters: [{ inUserIdsFilter: { ids: [beta.managerId] } }] })],
  ["ListAdministrators", () => ({ filters: [{ resource: { organizationId: beta.orgId } }] })],
] as const

const active = { state: "USER_STATE_ACTIVE" }
const ownUser = () => ({ organizationIdQuery: { organizationId: alpha.orgId } })
const theirUser = () => ({ inUserIdsQuery: { userIds: [beta.userId] } })

const totalOf = (body: any): string =>
  body.details?.totalResult ?? body.pagination?.totalResult ?? "0"

describe("a manager of one organisation", () => {
  test.each(["ListUsers", "ListKeys", "ListProjects", "ListApplications", "ListAdministrators"])(
    "sees in %s what is theirs, and nothing of another's, total included",
    async (name) => {
      const body = await service.get(name, {}, alpha.token)
      const text = JSON.stringify(body)
      for (const id of Object.values(beta).filter((each) => typeof each === "string")) {
        expect(text).not.toContain(id)
      }
      const rows: any[] =
        Object.values(body).find((each): each is any[] => Array.isArray(each)) ?? []
      expect(totalOf(body)).toBe(`${rows.length}`)
      expect(rows.length).toBeGreaterThan(0)
      expect(Number(totalOf(await service.get(name)))).toBeGreaterThan(rows.length)
    },
  )

  test("sees one organisation", async () => {
    const body = await service.get("ListOrganizations", {}, alpha.token)
    expect(body.result.map((each: any) => each.id)).toEqual([alpha.orgId])
    expect(totalOf(body)).toBe("1")
  })

  test.each(searches)("finds nothing of another's by %s, however asked (%#)", async (name, ask) => {
    const body = await service.get(name, ask(), alpha.token)
    expect(Object.values(body).filter(Array.isArray).flat()).toEqual([])
    expect(totalOf(body)).toBe("0")
    // The owner of the instance finds something with the same words.
    expect(totalOf(await service.get(name, ask()))).not.toBe("0")
  })

  test("sees through the older interface no more", async () => {
    for (const orgId of ["", alpha.orgId, beta.orgId]) {
      const { status, body } = await reply(
        await fetch(`${service.url}/management/v1/projects/_search`, {
          method: "POST",
          headers: { ...bearer(alpha.token), ...(orgId && { "x-core-orgid": orgId }) },
        }),
      )
      expect(JSON.stringify(body)).not.toContain(beta.projectId)
      if (status === 200) expect(totalOf(body)).toBe(orgId === beta.orgId ? "0" : "1")
    }
  })
})

describe("nobody gives what they lack:", () => {
  test("an owner of an organisation makes no owner of the instance", async () => {
    const { managerId: userId } = alpha
    for (const resource of [{ instance: true }]) {
      for (const name of ["CreateAdministrator", "UpdateAdministrator"]) {
        const request = { userId, resource, roles: ["IAM_OWNER"] }
        expect((await service.call(name, request, alpha.token)).status).toBe(403)
      }
    }
    const onOrg = { userId: alpha.userId, resource: { organizationId: alpha.orgId } }
    const wrong = await service.call("CreateAdministrator", { ...onOrg, roles: ["IAM_OWNER"] })
    expect(wrong.status).toBe(400)
  })

  test("a manager of users makes no owner, not even of themselves", async () => {
    const userId = await addMachine(service, alpha.orgId, "users-only")
    const resource = { organizationId: alpha.orgId }
    await service.get("CreateAdministrator", { userId, resource, roles: ["ORG_USER_MANAGER"] })
    const token = await serviceToken(service.url, await addKey(service, userId))
    for (const [name, whose] of [
      ["CreateAdministrator", alpha.userId],
      ["UpdateAdministrator", userId],
    ] as const) {
      const request = { userId: whose, resource, roles: ["ORG_OWNER"] }
      expect((await service.call(name, request, token)).status).toBe(403)
    }
  })

  test("without a role nothing but oneself is seen", async () => {
    const token = await serviceToken(service.url, await addKey(service, alpha.userId))
    const { result } = await service.get("ListUsers", {}, token)
    expect(result.map((each: any) => each.userId)).toEqual([alpha.userId])
    expect((await service.call("ListOrganizations", {}, token)).status).toBe(403)
    expect((await service.call("AddOrganization", { name: "gamma" }, token)).status).toBe(403)
    expect((await service.call("CreateUser", newUser(alpha.orgId), token)).status).toBe(403)
  })
})

const newUser = (organizationId: string) => ({
  organizationId,
  username: "more",
  machine: { name: "more" },
})
