import { afterEach, beforeEach, expect, test } from "vitest"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { findProfileFor } from "../../../src/domain/user-lookup/query.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const email = "ceo@corp.test"

/** Creates a user whose code is returned; returns a function that verifies their address. */
async function createUnverified(
  username: string,
): Promise<{ id: string; prove: () => Promise<unknown> }> {
  const profile = { givenName: "C", familyName: "Eo" }
  const userType = { case: "human", value: { profile, email: { email } } }
  const input = { username, organizationId: "org2", userType }
  const { id }: { id: string } = await estate.as("stranger", "createUser", input)
  const events = await estate.store.log.read(0, 500)
  const { sealed } = Object(
    events.find((event) => event.id === id && event.type === "user.human.email.code.added")
      ?.private,
  )
  const verificationCode = estate.secrets.open("seal", sealed, `user/${id}/email_code`)
  const caller = { kind: "user", userId: id, orgId: "org2", clientId: "console-client" } as const
  const request = { userId: id, verificationCode }
  return { id, prove: () => estate.as("nobody", "verifyEmail", request, { cx: { caller } }) }
}

const isVerified = ({ id }: { readonly id: string }) =>
  findProfileFor(estate.cx(), id, ["org2"])?.emailVerified

test("two concurrent verifications of an address verify it for one user", async () => {
  const both = [await createUnverified("one"), await createUnverified("other")]
  await Promise.all(both.map(({ prove }) => prove()))
  const verified = both.filter(isVerified)
  expect(verified).toHaveLength(1)
  expect(findByLoginName(estate.cx(), email)).toBe(verified[0]?.id)
})

test("a user who loses an address does not learn who verified it", async () => {
  const first = await createUnverified("one")
  await first.prove()
  const second = await createUnverified("other")
  await second.prove()
  const changes = (await estate.store.log.read(0, 500)).filter(
    ({ type }) => type === "user.human.email.changed",
  )
  expect(changes).toMatchObject([
    { id: first.id, owner: "org2", editor: { user: "email-supersessions", client: "" } },
  ])
})
