import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { serviceToken } from "../support/latchkey.ts"
import {
  addHuman,
  addKey,
  addMachine,
  bearer,
  createOrganizationFixture,
  type OrganizationFixture,
  openService,
  parseReply,
  type Service,
} from "./service.ts"

let service: Service
let alpha: OrganizationFixture
let beta: OrganizationFixture

beforeAll(async () => {
  service = await openService()
  alpha = await createOrganizationFixture(service, "alpha")
  beta = await createOrganizationFixture(service, "beta")
  await addHuman(service, beta.orgId, "bertha")
})
afterAll(() => service?.close())

/** Filters that would match beta's resources, by operation. */
const foreignSearches = [
  ["ListUsers", () => ({ queries: [{ organizationIdQuery: { organizationId: beta.orgId } }] })],
  ["ListUsers", () => ({ queries: [{ inUserIdsQuery: { userIds: [beta.userId] } }] })],
  [
    "ListUsers",
    () => ({ queries: [{ notQuery: { query: ownUserQuery() } }, { stateQuery: active }] }),
  ],
  [
    "ListUsers",
    () => ({ queries: [{ orQuery: { queries: [theirUserQuery(), theirUserQuery()] } }] }),
  ],
  ["ListKeys", () => ({ filters: [{ userIdFilter: { id: beta.userId } }] })],
  ["ListKeys", () => ({ filters: [{ organizationIdFilter: { id: beta.orgId } }] })],
  ["ListProjects", () => ({ filters: [{ inProjectIdsFilter: { ids: [beta.projectId] } }] })],
  ["ListApplications", () => ({ filters: [{ projectIdFilter: { projectId: beta.projectId } }] })],
  ["ListOrganizations", () => ({ queries: [{ idQuery: { id: beta.orgId } }] })],
  ["ListAdministrators", () => ({ filters: [{ inUserIdsFilter: { ids: [beta.managerId] } }] })],
  ["ListAdministrators", () => ({ filters: [{ resource: { organizationId: beta.orgId } }] })],
] as const

const active = { state: "USER_STATE_ACTIVE" }
const ownUserQuery = () => ({ organizationIdQuery: { organizationId: alpha.orgId } })
const theirUserQuery = () => ({ inUserIdsQuery: { userIds: [beta.userId] } })

const totalOf = (body: any): string =>
  body.details?.totalResult ?? body.pagination?.totalResult ?? "0"

describe("a manager of one organization", () => {
  test.each(["ListUsers", "ListKeys", "ListProjects", "ListApplications", "ListAdministrators"])(
    "sees only the organization's own resources in %s, total included",
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

  test("sees one organization", async () => {
    const body = await service.get("ListOrganizations", {}, alpha.token)
    expect(body.result.map((each: any) => each.id)).toEqual([alpha.orgId])
    expect(totalOf(body)).toBe("1")
  })

  test.each(foreignSearches)(
    "finds nothing of another organization by %s, with any filter (%#)",
    async (name, ask) => {
      const body = await service.get(name, ask(), alpha.token)
      expect(Object.values(body).filter(Array.isArray).flat()).toEqual([])
      expect(totalOf(body)).toBe("0")
      // The owner of the instance finds results with the same filter.
      expect(totalOf(await service.get(name, ask()))).not.toBe("0")
    },
  )

  test("sees no more through the v1 API", async () => {
    for (const orgId of ["", alpha.orgId, beta.orgId]) {
      const { status, body } = await parseReply(
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

describe("nobody can grant permissions that they don't have:", () => {
  test("an owner of an organization can't create an owner of the instance", async () => {
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

  test("a manager of users can't make anyone an owner, including themselves", async () => {
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

  test("a user without a role sees only their own account", async () => {
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
