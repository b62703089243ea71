import { afterEach, beforeEach, expect, test } from "vitest"
import { askRegistration, registrantBy } from "../../../src/domain/registration/registration.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { removeUser, updateUser } from "../../../src/domain/user/index.ts"
import { candidatesFor } from "../../../src/domain/user-lookup/candidate.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { holderOfEmail, sharedEmails } from "../../../src/domain/user-lookup/verified.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { isSameEmail } from "../../../src/protocol/user-field.ts"
import type { Transaction } from "../../../src/store/index.ts"
import { type Estate, openEstate, person } from "../../support/estate.ts"

const letters = "max@müller.test"
const ascii = "max@xn--mller-kva.test"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
})
afterEach(() => estate.close())

const proven = (value: string, userName = value) => ({
  ...person("max", "org1"),
  userName,
  email: { value, verified: true, verifier: { by: "user" as const } },
})

/**
 * Somebody who has registered, as earlier versions stored it: the name is taken in the spelling
 * that it came in, and nothing says who verified the address.
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
  [letters, ascii],
  [ascii, letters],
])("an account with %s signs in, is linked and owns the address as %s", async (one, other) => {
  const cx = estate.cx()
  const { id } = await createUser(cx, "max1", proven(one, "max"))
  expect(findByLoginName(cx, other.toUpperCase())).toBe(id)
  expect(holderOfEmail(cx, other)).toBe(id)
  expect(isSameEmail(one, other)).toBe(true)
  const google = { clientId: "c", clientSecret: "s" }
  const { id: idpId } = await estate.as("owner", "addGoogleProvider", google, { of: "admin" })
  await estate.as("owner", "addIDPToLoginPolicy", { idpId }, { of: "admin" })
  const arrival = { idpId, orgId: "org1", email: other, userName: "" }
  expect(candidatesFor(cx, arrival).map(({ userId }) => userId)).toEqual([id])
  const names = { givenName: "Max", familyName: "M", language: "de", organization: "" }
  const registrant = { ...names, email: other }
  await askRegistration(cx, "again", { orgId: "org1", requestId: "", registrant })
  expect(registrantBy(cx, "again")?.accountId).toBe(id)
  const found = await estate.as("owner", "listUsers", {
    queries: [{ query: { case: "emailQuery", value: { emailAddress: other, method: 1 } } }],
  })
  expect(found.result.map(({ userId }: { userId: string }) => userId)).toEqual([id])
})

test.each([
  [letters, ascii],
  [ascii, letters],
])("a name that is taken as %s is taken as %s", async (one, other) => {
  const cx = estate.cx()
  const { id } = await createUser(cx, "max2", { ...person("max", "org1"), userName: one })
  const again = createUser(cx, "eve", { ...person("eve", "org2"), userName: other })
  await expect(again).rejects.toMatchObject({ id: "user.name_taken" })
  const { id: eve } = await createUser(cx, "eve", { ...person("eve", "org2"), userName: "eve" })
  const renamed = updateUser(cx, eve, { userName: other })
  await expect(renamed).rejects.toMatchObject({ id: "user.name_taken" })
  await updateUser(cx, id, { userName: other })
  expect(estate.store.state(cx, user, id)).toMatchObject({ userName: other })
  await removeUser(cx, id)
  await createUser(cx, "max3", { ...person("max", "org1"), userName: one })
})

test.each([letters, ascii])(
  "a name that an earlier version took as %s stays taken",
  async (one) => {
    const cx = estate.cx()
    await addEarlier("old", one)
    for (const name of [letters, ascii]) {
      const again = createUser(cx, "eve", { ...person("eve", "org2"), userName: name })
      await expect(again).rejects.toMatchObject({ id: "user.name_taken" })
      expect(findByLoginName(cx, name)).toBe("old")
    }
    await removeUser(cx, "old")
    await createUser(cx, "max3", { ...person("max", "org1"), userName: ascii })
  },
)

test("an organization can't name a user by the other spelling of somebody's address", async () => {
  const cx = estate.cx()
  await createUser(cx, "holder", proven(letters, "max"))
  const email = { value: ascii, verified: true, verifier: { by: "organization" as const } }
  await createUser(cx, "other", { ...person("eve", "org2"), userName: ascii, email })
  expect(findByLoginName(cx, ascii)).toBe("holder")
})

test("two of an earlier version stay apart: each signs in by its own spelling", async () => {
  await addEarlier("one", letters)
  await addEarlier("two", ascii)
  const cx = estate.cx()
  expect(findByLoginName(cx, letters)).toBe("one")
  expect(findByLoginName(cx, ascii)).toBe("two")
  expect(new Set(sharedEmails(cx, 5)[0])).toEqual(new Set(["one", "two"]))
})
