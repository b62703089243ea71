import { afterEach, beforeEach, expect, test } from "vitest"
import { releaseLoginName } from "../../../src/domain/user/commands.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { removeUser, updateUser } from "../../../src/domain/user/index.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { holderOfEmail, sharedEmails } from "../../../src/domain/user-lookup/verified.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { isSameEmail } from "../../../src/protocol/user-field.ts"
import type { Transaction } from "../../../src/store/index.ts"
import { type Estate, openEstate, person } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
})
afterEach(() => estate.close())

const named = (userName: string) => ({ ...person("nikos", "org1"), userName })
const add = async (userName: string) =>
  (await createUser(estate.cx(), userName, named(userName))).id
const find = (text: string) => findByLoginName(estate.cx(), text)

const proven = (value: string, userName: string) => ({
  ...named(userName),
  email: { value, verified: true, verifier: { by: "user" as const } },
})

/** Takes a name as earlier versions did, which kept both forms of sigma. */
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

const refused = { id: "user.name_taken" }

test.each([
  ["νικος", "ΝΙΚΟΣ"],
  ["νικος.παππας", "ΝΙΚΟΣ.ΠΑΠΠΑΣ"],
  ["ΝΙΚΟΣ.ΠΑΠΠΑΣ", "νικος.παππας"],
  ["νικος.παππας@acme.test", "ΝΙΚΟΣ.ΠΑΠΠΑΣ@ACME.TEST"],
  ["νικος", "νικοσ"],
])("who is called %s signs in as %s", async (name, typed) => {
  const id = await add(name)
  expect(find(typed)).toBe(id)
  expect(find(`${typed}@acme.id.example.com`)).toBe(id)
  await expect(add(typed)).rejects.toMatchObject(refused)
})

test("a name is free again in all its forms when it is left or its user is removed", async () => {
  const cx = estate.cx()
  const id = await add("νικος.παππας")
  await updateUser(cx, id, { userName: "nikos" })
  await expect(add("ΝΙΚΟΣ.ΠΑΠΠΑΣ")).rejects.toMatchObject(refused)
  await releaseLoginName(cx, id, "ΝΙΚΟΣ.ΠΑΠΠΑΣ")
  const other = await add("ΝΙΚΟΣ.ΠΑΠΠΑΣ")
  expect(find("νικος.παππας")).toBe(other)
  await removeUser(cx, other)
  await add("νικοσ.παππας")
})

test("a user can change the sigmas of their own name", async () => {
  const id = await add("νικοσ")
  await updateUser(estate.cx(), id, { userName: "Νικος" })
  expect(find("ΝΙΚΟΣ")).toBe(id)
  expect(estate.store.state(estate.cx(), user, id)).toMatchObject({ userName: "Νικος" })
})

test.each([
  ["νικος.παππας", ["ΝΙΚΟΣ.ΠΑΠΠΑΣ", "νικοσ.παππασ"]],
  ["ΝΙΚΟΣ.ΠΑΠΠΑΣ", ["νικος.παππας", "νικοσ.παππασ"]],
])("%s of an earlier version is found, and is taken, in every form", async (name, others) => {
  await addEarlier("old", name)
  for (const other of [name, ...others]) {
    expect(find(other), other).toBe("old")
    await expect(add(other)).rejects.toMatchObject(refused)
  }
  await removeUser(estate.cx(), "old")
  expect(find(await add(name))).toBe(name)
})

test("what this version takes is taken for an earlier one that runs beside it", async () => {
  await add("νικος.παππας")
  for (const name of ["ΝΙΚΟΣ.ΠΑΠΠΑΣ", "νικος.παππας", "νικοσ.παππασ"]) {
    await expect(addEarlier("old", name)).rejects.toMatchObject({ id: "taken" })
  }
})

test("two of an earlier version stay apart, and nobody else gets their name", async () => {
  await addEarlier("one", "νικος")
  await addEarlier("two", "νικοσ")
  expect(find("νικος")).toBe("one")
  expect(find("νικοσ")).toBe("two")
  // As earlier versions read it.
  expect(find("ΝΙΚΟΣ")).toBe("one")
  await expect(add("ΝΙΚΟΣ")).rejects.toMatchObject(refused)
  await removeUser(estate.cx(), "one")
  expect(find("ΝΙΚΟΣ")).toBe("two")
  await expect(add("νικος")).rejects.toMatchObject(refused)
})

test("of two who ask at the same moment, one gets the name", async () => {
  const all = await Promise.allSettled(["νικος.π", "ΝΙΚΟΣ.Π", "νικοσ.π"].map(add))
  expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
})

test("domains that differ in a sigma are two, and so are the names in them", async () => {
  const one = await add("nikos@ελλας.test")
  const two = await add("nikos@ελλασ.test")
  expect(find("nikos@ελλας.test")).toBe(one)
  expect(find("nikos@ελλασ.test")).toBe(two)
})

test("an address is found in capitals, and is nobody else's for it", async () => {
  const cx = estate.cx()
  const { id } = await createUser(cx, "one", proven("νικος.π@mail.test", "one"))
  expect(find("ΝΙΚΟΣ.Π@MAIL.TEST")).toBe(id)
  expect(holderOfEmail(cx, "νικοσ.π@mail.test")).toBeUndefined()
  expect(isSameEmail("νικος.π@mail.test", "νικοσ.π@mail.test")).toBe(false)
  // To their server it may be another mailbox.
  await createUser(cx, "two", proven("νικοσ.π@mail.test", "two"))
  expect(find("νικος.π@mail.test")).toBe(id)
  expect(find("νικοσ.π@mail.test")).toBe("two")
  expect(holderOfEmail(cx, "νικος.π@mail.test")).toBe(id)
  expect(sharedEmails(cx, 5)).toEqual([])
})

test("rows of an earlier version say whose an address is until they are made anew", async () => {
  const cx = estate.cx()
  const addresses = ["νικος.π@mail.test", "nikos@mail.test"]
  for (const address of addresses) await createUser(cx, address, proven(address, address))
  const { database } = estate.store
  const named = "SELECT name FROM sqlite_master WHERE name GLOB 'users_[0-9]*' AND type = 'table'"
  const tables = database.query<{ name: string }, []>(named).all()
  expect(tables).toHaveLength(1)
  database.run(`UPDATE ${tables[0]?.name} SET email_folded = email, email_exact = NULL`)
  for (const address of addresses) {
    expect(holderOfEmail(cx, address)).toBe(address)
    expect(find(address.toUpperCase())).toBe(address)
  }
  expect(holderOfEmail(cx, "νικοσ.π@mail.test")).toBeUndefined()
})

test.each([
  ["loginNameQuery", "loginName"],
  ["emailQuery", "emailAddress"],
  ["userNameQuery", "userName"],
])("%s finds both forms of sigma", async (query, field) => {
  const { id } = await createUser(estate.cx(), "one", proven("νικος.π@mail.test", "νικος.π"))
  const end = field === "emailAddress" ? "@mail.test" : ""
  const listed = async (value: object) => {
    const found = await estate.as("owner", "listUsers", {
      queries: [{ query: { case: query, value } }],
    })
    return found.result.map(({ userId }: { userId: string }) => userId)
  }
  for (const text of ["νικος.π", "ΝΙΚΟΣ.Π", "νικοσ.π"]) {
    // Equal, beginning and containing, each without regard to case.
    expect(await listed({ [field]: text + end, method: 1 }), text).toEqual([id])
    expect(await listed({ [field]: text, method: 3 }), text).toEqual([id])
    expect(await listed({ [field]: text.slice(1), method: 5 }), text).toEqual([id])
  }
})

test("a list of addresses finds both forms of sigma", async () => {
  const { id } = await createUser(estate.cx(), "one", proven("νικος.π@mail.test", "one"))
  const query = { case: "inUserEmailsQuery", value: { userEmails: ["ΝΙΚΟΣ.Π@mail.test"] } }
  const { result } = await estate.as("owner", "listUsers", { queries: [{ query }] })
  expect(result.map(({ userId }: { userId: string }) => userId)).toEqual([id])
})
