import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { redeemSignUpLink } from "../../../src/domain/sign-up/index.ts"
import { signUpRequest } from "../../../src/domain/sign-up/model.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { views } from "../../../src/server/modules.ts"
import { statement } from "../../../src/store/index.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

const day = 86_400_000
const limits = { position: Number.MAX_SAFE_INTEGER, stopped: () => false }

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  await addRequest("q1", "org1")
  await addRequest("q2", "org2")
})
afterEach(() => estate.close())

async function addRequest(id: string, orgId: string): Promise<void> {
  const applicant = { email: `${id}@example.com`, givenName: id, familyName: "F", language: "" }
  const data = { orgId, expires: estate.clock.now() + 30 * day }
  const added = { type: "sign_up_request.added", data, private: applicant } as const
  await estate.step((tx) => tx.append(signUpRequest, id, [added], orgId))
}

const callWithId = async (user: TenantUser, name: string, id: string) =>
  estate.as(user, name, { id })
const listRequests = async (user: TenantUser, organizationId = ""): Promise<readonly string[]> =>
  (await estate.as(user, "listSignUpRequests", { organizationId })).requests.map(
    ({ id }: { id: string }) => id,
  )
const statusOf = (id: string) => estate.store.state(estate.cx(), user, id).status

test("users who can write users of the organization see its sign-ups", async () => {
  expect(await listRequests("manager")).toEqual(["q1"])
  expect(await listRequests("stranger")).toEqual(["q2"])
  expect((await listRequests("owner")).toSorted()).toEqual(["q1", "q2"])
  expect(await listRequests("owner", "org2")).toEqual(["q2"])
  await expect(listRequests("nobody")).rejects.toMatchObject({ code: "permission_denied" })
  const { requests } = await estate.as("manager", "listSignUpRequests")
  expect(requests).toMatchObject([
    { email: "q1@example.com", givenName: "q1", organizationId: "org1", organizationName: "Acme" },
  ])
})

test.each(["approveSignUpRequest", "refuseSignUpRequest"])(
  "%s requires the permission to write users of that organization",
  async (name) => {
    await expect(callWithId("nobody", name, "q1")).rejects.toMatchObject({
      code: "permission_denied",
    })
    await expect(callWithId("stranger", name, "q1")).rejects.toMatchObject({ code: "not_found" })
    await expect(callWithId("manager", name, "q2")).rejects.toMatchObject({ code: "not_found" })
    await expect(callWithId("owner", name, "q3")).rejects.toMatchObject({ code: "not_found" })
    expect([statusOf("q1"), statusOf("q2")]).toEqual(["absent", "absent"])
    await callWithId("manager", name, "q1")
    await callWithId("owner", name, "q2")
    expect(await listRequests("owner")).toEqual([])
  },
)

test("the user is created in the organization of the sign-up", async () => {
  await estate.as("owner", "approveSignUpRequest", { id: "q2" }, { cx: { orgId: "org1" } as never })
  expect(estate.store.receipt(estate.cx(), user, "q2")?.owner).toBe("org2")
})

test("expired sign-ups are neither listed nor approved", async () => {
  estate.clock.advance(30 * day)
  expect(await listRequests("owner")).toEqual([])
  await expect(callWithId("manager", "approveSignUpRequest", "q1")).rejects.toMatchObject({
    id: "sign_up_request.decided",
  })
  expect(statusOf("q1")).toBe("absent")
})

test("undecided sign-ups are erased after 30 days, with their data", async () => {
  const entered = async () => {
    const events = await estate.store.log.read(0, 10_000)
    return events.filter(({ private: data }) => JSON.stringify(data)?.includes("q1@example.com"))
  }
  const prune = () => {
    const now = estate.clock.now()
    return estate.store.prune({ now, auditedBefore: 0, ...limits })
  }
  estate.clock.advance(30 * day - 1)
  await prune()
  expect(await entered()).toHaveLength(1)
  estate.clock.advance(day)
  // The newest event of a log is never deleted.
  await addRequest("q5", "org1")
  await prune()
  expect(await entered()).toEqual([])
  const rows = "SELECT count(*) AS count FROM sign_up_requests WHERE instance = $instance"
  expect(estate.store.get(estate.cx(), statement<{ count: number }>(rows))).toEqual({ count: 1 })
})

test("the lists are the same after a rebuild", async () => {
  const expirationDate = timestampFromMs(estate.clock.now() + day)
  const terms = { organizationId: "org1", useLimit: 1, expirationDate, allowedDomains: ["a.test"] }
  const { id } = await estate.as("manager", "createSignUpLink", { ...terms, requireApproval: true })
  await estate.step((tx) => redeemSignUpLink(tx, id, { userId: "u", email: "u@a.test" }))
  await callWithId("manager", "refuseSignUpRequest", "q1")
  const rowsOf = (store: Tenant["store"]) =>
    ["sign_up_links", "sign_up_requests"].map((table) =>
      store.all(estate.cx(), statement(`SELECT * FROM ${table} WHERE instance = $instance`)),
    )
  const live = rowsOf(estate.store)
  expect(live.map((rows) => rows.length)).toEqual([1, 1])
  const again = await estate.reopen(views.map((view) => ({ ...view, hash: "anew" })))
  expect(rowsOf(again.store)).toEqual(live)
  estate = { ...estate, ...again }
})

test("pending sign-ups of a deleted organization are erased", async () => {
  await addRequest("q4", "org2")
  await estate.as("owner", "deleteOrganization", { organizationId: "org2" })
  expect(await listRequests("owner")).toEqual(["q1"])
  const events = await estate.store.log.read(0, 10_000)
  const kept = events.filter(({ type, private: data }) => type === "sign_up_request.added" && data)
  expect(kept.map(({ id }) => id)).toEqual(["q1"])
  await expect(callWithId("owner", "approveSignUpRequest", "q2")).rejects.toMatchObject({
    code: "not_found",
  })
})
