import { afterEach, beforeEach, expect, test } from "vitest"
import { releaseLoginName } from "../../../src/domain/user/commands.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { removeUser, updateUser } from "../../../src/domain/user/index.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { findEmailHolder, listSharedEmails } from "../../../src/domain/user-lookup/verified.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { isSameEmail } from "../../../src/protocol/user-field.ts"
import type { Transaction } from "../../../src/store/index.ts"
import { humanInput, openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const userNamed = (userName: string) => ({ ...humanInput("nikos", "org1"), userName })
const addUser = async (userName: string) =>
  (await createUser(estate.cx(), userName, userNamed(userName))).id
const findUser = (text: string) => findByLoginName(estate.cx(), text)

const verifiedUser = (value: string, userName: string) => ({
  ...userNamed(userName),
  email: { value, verified: true, verifier: { by: "user" as const } },
})

/** Takes a name as earlier versions did, which stored both forms of sigma. */
const addEarlier = (id: string, userName: string) => {
  const profile = {
    givenName: "Nikos",
    familyName: "P",
    nickName: "",
    displayName: "Nikos P",
    preferredLanguage: "",
    gender: "unspecified",
  }
  const taken = { id: "taken", message: "taken" }
  const join = (tx: Transaction) =>
    tx.append(
      user,
      id,
      [
        {
          type: "user.human.added",
          data: { emailVerified: false, phoneVerified: false },
          private: { userName, loginNames: [userName], email: "n@x.test", phone: "", profile },
          claims: [{ take: "login_name", key: userName.toLowerCase(), taken }],
        },
      ],
      "org1",
    )
  return estate.step(join)
}

const nameTaken = { id: "user.name_taken" }

test.each([
  ["νικος", "ΝΙΚΟΣ"],
  ["νικος.παππας", "ΝΙΚΟΣ.ΠΑΠΠΑΣ"],
  ["ΝΙΚΟΣ.ΠΑΠΠΑΣ", "νικος.παππας"],
  ["νικος.παππας@acme.test", "ΝΙΚΟΣ.ΠΑΠΠΑΣ@ACME.TEST"],
  ["νικος", "νικοσ"],
])("a user named %s signs in as %s", async (name, typed) => {
  const id = await addUser(name)
  expect(findUser(typed)).toBe(id)
  expect(findUser(`${typed}@acme.id.example.com`)).toBe(id)
  await expect(addUser(typed)).rejects.toMatchObject(nameTaken)
})

test("a name is free in all forms once it is released or its user is deleted", async () => {
  const cx = estate.cx()
  const id = await addUser("νικος.παππας")
  await updateUser(cx, id, { userName: "nikos" })
  await expect(addUser("ΝΙΚΟΣ.ΠΑΠΠΑΣ")).rejects.toMatchObject(nameTaken)
  await releaseLoginName(cx, id, "ΝΙΚΟΣ.ΠΑΠΠΑΣ")
  const other = await addUser("ΝΙΚΟΣ.ΠΑΠΠΑΣ")
  expect(findUser("νικος.παππας")).toBe(other)
  await removeUser(cx, other)
  await addUser("νικοσ.παππας")
})

test("users can change the sigmas of their own name", async () => {
  const id = await addUser("νικοσ")
  await updateUser(estate.cx(), id, { userName: "Νικος" })
  expect(findUser("ΝΙΚΟΣ")).toBe(id)
  expect(estate.store.state(estate.cx(), user, id)).toMatchObject({ userName: "Νικος" })
})

test.each([
  ["νικος.παππας", ["ΝΙΚΟΣ.ΠΑΠΠΑΣ", "νικοσ.παππασ"]],
  ["ΝΙΚΟΣ.ΠΑΠΠΑΣ", ["νικος.παππας", "νικοσ.παππασ"]],
])("%s of an earlier version is found and taken in every form", async (name, others) => {
  await addEarlier("old", name)
  for (const other of [name, ...others]) {
    expect(findUser(other), other).toBe("old")
    await expect(addUser(other)).rejects.toMatchObject(nameTaken)
  }
  await removeUser(estate.cx(), "old")
  expect(findUser(await addUser(name))).toBe(name)
})

test("a name taken by this version is taken for a concurrent earlier version", async () => {
  await addUser("νικος.παππας")
  for (const name of ["ΝΙΚΟΣ.ΠΑΠΠΑΣ", "νικος.παππας", "νικοσ.παππασ"]) {
    await expect(addEarlier("old", name)).rejects.toMatchObject({ id: "taken" })
  }
})

test("two users of an earlier version stay separate, and nobody else gets their name", async () => {
  await addEarlier("one", "νικος")
  await addEarlier("two", "νικοσ")
  expect(findUser("νικος")).toBe("one")
  expect(findUser("νικοσ")).toBe("two")
  // As earlier versions read it.
  expect(findUser("ΝΙΚΟΣ")).toBe("one")
  await expect(addUser("ΝΙΚΟΣ")).rejects.toMatchObject(nameTaken)
  await removeUser(estate.cx(), "one")
  expect(findUser("ΝΙΚΟΣ")).toBe("two")
  await expect(addUser("νικος")).rejects.toMatchObject(nameTaken)
})

test("one of two concurrent requests gets the name", async () => {
  const all = await Promise.allSettled(["νικος.π", "ΝΙΚΟΣ.Π", "νικοσ.π"].map(addUser))
  expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
})

test("domains that differ in a sigma are separate, and so are their names", async () => {
  const one = await addUser("nikos@ελλας.test")
  const two = await addUser("nikos@ελλασ.test")
  expect(findUser("nikos@ελλας.test")).toBe(one)
  expect(findUser("nikos@ελλασ.test")).toBe(two)
})

test("an address is found in capitals and unavailable to others", async () => {
  const cx = estate.cx()
  const { id } = await createUser(cx, "one", verifiedUser("νικος.π@mail.test", "one"))
  expect(findUser("ΝΙΚΟΣ.Π@MAIL.TEST")).toBe(id)
  expect(findEmailHolder(cx, "νικοσ.π@mail.test")).toBeUndefined()
  expect(isSameEmail("νικος.π@mail.test", "νικοσ.π@mail.test")).toBe(false)
  // At its mail server it can be another mailbox.
  await createUser(cx, "two", verifiedUser("νικοσ.π@mail.test", "two"))
  expect(findUser("νικος.π@mail.test")).toBe(id)
  expect(findUser("νικοσ.π@mail.test")).toBe("two")
  expect(findEmailHolder(cx, "νικος.π@mail.test")).toBe(id)
  expect(listSharedEmails(cx, 5)).toEqual([])
})

test("rows of an earlier version identify an address until they are rebuilt", async () => {
  const cx = estate.cx()
  const addresses = ["νικος.π@mail.test", "nikos@mail.test"]
  for (const address of addresses) await createUser(cx, address, verifiedUser(address, address))
  const { database } = estate.store
  const named = "SELECT name FROM sqlite_master WHERE name GLOB 'users_[0-9]*' AND type = 'table'"
  const tables = database.query<{ name: string }, []>(named).all()
  expect(tables).toHaveLength(1)
  database.run(`UPDATE ${tables[0]?.name} SET email_folded = email, email_exact = NULL`)
  for (const address of addresses) {
    expect(findEmailHolder(cx, address)).toBe(address)
    expect(findUser(address.toUpperCase())).toBe(address)
  }
  expect(findEmailHolder(cx, "νικοσ.π@mail.test")).toBeUndefined()
})

test.each([
  ["loginNameQuery", "loginName"],
  ["emailQuery", "emailAddress"],
  ["userNameQuery", "userName"],
])("%s finds both forms of sigma", async (query, field) => {
  const { id } = await createUser(estate.cx(), "one", verifiedUser("νικος.π@mail.test", "νικος.π"))
  const end = field === "emailAddress" ? "@mail.test" : ""
  const listed = async (value: object) => {
    const found = await estate.as("owner", "listUsers", {
      queries: [{ query: { case: query, value } }],
    })
    return found.result.map(({ userId }: { userId: string }) => userId)
  }
  for (const text of ["νικος.π", "ΝΙΚΟΣ.Π", "νικοσ.π"]) {
    // Equals, starts with, and contains, each case-insensitively.
    expect(await listed({ [field]: text + end, method: 1 }), text).toEqual([id])
    expect(await listed({ [field]: text, method: 3 }), text).toEqual([id])
    expect(await listed({ [field]: text.slice(1), method: 5 }), text).toEqual([id])
  }
})

test("a list of addresses finds both forms of sigma", async () => {
  const { id } = await createUser(estate.cx(), "one", verifiedUser("νικος.π@mail.test", "one"))
  const query = { case: "inUserEmailsQuery", value: { userEmails: ["ΝΙΚΟΣ.Π@mail.test"] } }
  const { result } = await estate.as("owner", "listUsers", { queries: [{ query }] })
  expect(result.map(({ userId }: { userId: string }) => userId)).toEqual([id])
})
