import { afterEach, beforeEach, expect, test } from "vitest"
import {
  findRegistrant,
  requestRegistration,
} from "../../../src/domain/registration/registration.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { removeUser, updateUser } from "../../../src/domain/user/index.ts"
import { findCandidates } from "../../../src/domain/user-lookup/candidate.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { findEmailHolder, listSharedEmails } from "../../../src/domain/user-lookup/verified.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { isSameEmail } from "../../../src/protocol/user-field.ts"
import type { Transaction } from "../../../src/store/index.ts"
import { humanInput, openTenant, type Tenant } from "../../support/tenant.ts"

const unicodeForm = "max@müller.test"
const asciiForm = "max@xn--mller-kva.test"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const verifiedUser = (value: string, userName = value) => ({
  ...humanInput("max", "org1"),
  userName,
  email: { value, verified: true, verifier: { by: "user" as const } },
})

/**
 * A registered user as earlier versions stored it: the name is reserved in its original spelling,
 * and no verifier is recorded.
 */
const addEarlier = (id: string, address: string) => {
  const register = (tx: Transaction) =>
    tx.append(
      user,
      id,
      [
        {
          type: "user.human.added",
          data: { emailVerified: true, phoneVerified: false },
          private: {
            userName: address,
            loginNames: [address],
            email: address,
            phone: "",
            profile: {
              givenName: "Max",
              familyName: "M",
              nickName: "",
              displayName: "Max M",
              preferredLanguage: "",
              gender: "unspecified",
            },
          },
          claims: [{ take: "login_name", key: address, taken: { id: "taken", message: "taken" } }],
        },
      ],
      "org1",
    )
  return estate.step(register, { caller: { kind: "anonymous" } })
}

test.each([
  [unicodeForm, asciiForm],
  [asciiForm, unicodeForm],
])("a user with %s signs in, is linked, and owns the address as %s", async (one, other) => {
  const cx = estate.cx()
  const { id } = await createUser(cx, "max1", verifiedUser(one, "max"))
  expect(findByLoginName(cx, other.toUpperCase())).toBe(id)
  expect(findEmailHolder(cx, other)).toBe(id)
  expect(isSameEmail(one, other)).toBe(true)
  const google = { clientId: "c", clientSecret: "s" }
  const { id: idpId } = await estate.as("owner", "addGoogleProvider", google, { of: "admin" })
  await estate.as("owner", "addIDPToLoginPolicy", { idpId }, { of: "admin" })
  const arrival = { idpId, orgId: "org1", email: other, userName: "" }
  expect(findCandidates(cx, arrival).map(({ userId }) => userId)).toEqual([id])
  const names = { givenName: "Max", familyName: "M", language: "de", organization: "" }
  const registrant = { ...names, email: other }
  await requestRegistration(cx, "again", { orgId: "org1", requestId: "", registrant })
  expect(findRegistrant(cx, "again")?.accountId).toBe(id)
  const found = await estate.as("owner", "listUsers", {
    queries: [{ query: { case: "emailQuery", value: { emailAddress: other, method: 1 } } }],
  })
  expect(found.result.map(({ userId }: { userId: string }) => userId)).toEqual([id])
})

test.each([
  [unicodeForm, asciiForm],
  [asciiForm, unicodeForm],
])("a name that is taken as %s is also taken as %s", async (one, other) => {
  const cx = estate.cx()
  const { id } = await createUser(cx, "max2", { ...humanInput("max", "org1"), userName: one })
  const again = createUser(cx, "eve", { ...humanInput("eve", "org2"), userName: other })
  await expect(again).rejects.toMatchObject({ id: "user.name_taken" })
  const { id: eve } = await createUser(cx, "eve", { ...humanInput("eve", "org2"), userName: "eve" })
  const renamed = updateUser(cx, eve, { userName: other })
  await expect(renamed).rejects.toMatchObject({ id: "user.name_taken" })
  await updateUser(cx, id, { userName: other })
  expect(estate.store.state(cx, user, id)).toMatchObject({ userName: other })
  await removeUser(cx, id)
  await createUser(cx, "max3", { ...humanInput("max", "org1"), userName: one })
})

test.each([unicodeForm, asciiForm])(
  "a name that an earlier version stored as %s stays taken",
  async (one) => {
    const cx = estate.cx()
    await addEarlier("old", one)
    for (const name of [unicodeForm, asciiForm]) {
      const again = createUser(cx, "eve", { ...humanInput("eve", "org2"), userName: name })
      await expect(again).rejects.toMatchObject({ id: "user.name_taken" })
      expect(findByLoginName(cx, name)).toBe("old")
    }
    await removeUser(cx, "old")
    await createUser(cx, "max3", { ...humanInput("max", "org1"), userName: asciiForm })
  },
)

test("an organization can't name a user by the other spelling of another user's address", async () => {
  const cx = estate.cx()
  await createUser(cx, "holder", verifiedUser(unicodeForm, "max"))
  const email = { value: asciiForm, verified: true, verifier: { by: "organization" as const } }
  await createUser(cx, "other", { ...humanInput("eve", "org2"), userName: asciiForm, email })
  expect(findByLoginName(cx, asciiForm)).toBe("holder")
})

test("two users of an earlier version stay separate: each signs in with their own spelling", async () => {
  await addEarlier("one", unicodeForm)
  await addEarlier("two", asciiForm)
  const cx = estate.cx()
  expect(findByLoginName(cx, unicodeForm)).toBe("one")
  expect(findByLoginName(cx, asciiForm)).toBe("two")
  expect(new Set(listSharedEmails(cx, 5)[0])).toEqual(new Set(["one", "two"]))
})
