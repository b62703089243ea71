import { afterEach, beforeEach, expect, test } from "vitest"
import { signUpRequest } from "../../../src/domain/sign-up/model.ts"
import { user } from "../../../src/domain/user/index.ts"
import { type Estate, openEstate, type Person } from "../../support/estate.ts"

const day = 86_400_000

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
  await addWaiting("q1", "org1")
  await addWaiting("q2", "org2")
})
afterEach(() => estate.close())

async function addWaiting(id: string, orgId: string): Promise<void> {
  const applicant = { email: `${id}@example.com`, givenName: id, familyName: "F", language: "" }
  const data = { orgId, expires: estate.clock.now() + 30 * day }
  const added = { type: "sign_up_request.added", data, private: applicant } as const
  await estate.step((tx) => tx.append(signUpRequest, id, [added], orgId))
}

const act = async (who: Person, name: string, id: string) => estate.as(who, name, { id })
const listed = async (who: Person, organizationId = ""): Promise<readonly string[]> =>
  (await estate.as(who, "listSignUpRequests", { organizationId })).requests.map(
    ({ id }: { id: string }) => id,
  )
const statusOf = (id: string) => estate.store.state(estate.cx(), user, id).status

test("whoever can write the users of an organization sees its sign-ups", async () => {
  expect(await listed("manager")).toEqual(["q1"])
  expect(await listed("stranger")).toEqual(["q2"])
  expect((await listed("owner")).toSorted()).toEqual(["q1", "q2"])
  expect(await listed("owner", "org2")).toEqual(["q2"])
  await expect(listed("nobody")).rejects.toMatchObject({ code: "permission_denied" })
  const { requests } = await estate.as("manager", "listSignUpRequests")
  expect(requests).toMatchObject([
    { email: "q1@example.com", givenName: "q1", organizationId: "org1", organizationName: "Acme" },
  ])
})

test.each(["approveSignUpRequest", "refuseSignUpRequest"])(
  "%s is for those alone who can write the users of that organization",
  async (name) => {
    await expect(act("nobody", name, "q1")).rejects.toMatchObject({ code: "permission_denied" })
    await expect(act("stranger", name, "q1")).rejects.toMatchObject({ code: "not_found" })
    await expect(act("manager", name, "q2")).rejects.toMatchObject({ code: "not_found" })
    await expect(act("owner", name, "q3")).rejects.toMatchObject({ code: "not_found" })
    expect([statusOf("q1"), statusOf("q2")]).toEqual(["absent", "absent"])
    await act("manager", name, "q1")
    await act("owner", name, "q2")
    expect(await listed("owner")).toEqual([])
  },
)

test("the user is made where the sign-up was, whatever the caller says", async () => {
  await estate.as("owner", "approveSignUpRequest", { id: "q2" }, { cx: { orgId: "org1" } as never })
  expect(estate.store.receipt(estate.cx(), user, "q2")?.owner).toBe("org2")
})

test("what has expired is neither listed nor approved", async () => {
  estate.clock.advance(30 * day)
  expect(await listed("owner")).toEqual([])
  await expect(act("manager", "approveSignUpRequest", "q1")).rejects.toMatchObject({
    id: "sign_up_request.decided",
  })
  expect(statusOf("q1")).toBe("absent")
})

test("what waits for a deleted organization is erased", async () => {
  await addWaiting("q4", "org2")
  await estate.as("owner", "deleteOrganization", { organizationId: "org2" })
  expect(await listed("owner")).toEqual(["q1"])
  const events = await estate.store.log.read(0, 10_000)
  const kept = events.filter(({ type, private: data }) => type === "sign_up_request.added" && data)
  expect(kept.map(({ id }) => id)).toEqual(["q1"])
  await expect(act("owner", "approveSignUpRequest", "q2")).rejects.toMatchObject({
    code: "not_found",
  })
})
