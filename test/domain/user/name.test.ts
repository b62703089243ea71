import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { addVouchedDomain } from "../../../src/domain/org/domain.ts"
import { findMachineByName } from "../../../src/domain/service-account/find.ts"
import { releaseLoginName } from "../../../src/domain/user/commands.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { removeUser, updateUser } from "../../../src/domain/user/index.ts"
import { claimName } from "../../../src/domain/user/login-name.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { accountOf, findUserName } from "../../../src/domain/user-lookup/query.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import type { Cx } from "../../../src/store/index.ts"
import type { TestEnvironment } from "../../support/test-environment.ts"
import { createAnna, createRobot, human, machine, openUserWorld } from "./household.ts"

let world: TestEnvironment
beforeEach(async () => {
  world = await openUserWorld()
})
afterEach(() => world.close())

const nameTaken = { code: "already_exists", id: "user.name_taken" }

test("a login name is found in any spelling, with and without the domain", async () => {
  const cx = world.cx()
  await createAnna(cx, { userName: "Änna" })
  for (const spelling of ["Änna", "ÄNNA", "A\u0308nna", " änna ", "änna@acme.localhost"]) {
    expect(findByLoginName(cx, spelling), spelling).toBe("u1")
  }
  expect(findByLoginName(cx, "anna")).toBeUndefined()
  expect(findUserName(cx, "u1")).toBe("Änna")
})

test("names that differ only in appearance are equal", async () => {
  const cx = world.cx()
  await createAnna(cx)
  for (const userName of ["anna", "ANNA", "\uff41nna", " anna ", "anna@ACME.localhost"]) {
    const other = createUser(cx, "u2", human({ orgId: "org2", userName }))
    await expect(other, userName).rejects.toMatchObject(nameTaken)
  }
})

test("one of twenty concurrent requests gets the name", async () => {
  const cx = world.cx()
  const tries = Array.from({ length: 20 }, (_, at) => createUser(cx, `u${at}`, human()))
  const outcomes = await Promise.allSettled(tries)
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
  for (const outcome of outcomes) {
    if (outcome.status === "rejected") expect(outcome.reason).toMatchObject(nameTaken)
  }
})

test("a name that ends in the domain of an organization is that one's to give", async () => {
  const cx = world.cx()
  const named = (orgId: string) => human({ orgId, userName: "bob@globex.localhost" })
  const elsewhere = { code: "failed_precondition", id: "user.name_of_other_org" }
  await expect(createUser(cx, "u2", named("org1"))).rejects.toMatchObject(elsewhere)
  await createUser(cx, "u2", named("org2"))
})

test("of two names in an organization none is a form of the other", async () => {
  const cx = world.cx()
  await createUser(cx, "u2", human({ orgId: "org2", userName: "bob@globex.localhost" }))
  const bob = human({ orgId: "org2", userName: "bob" })
  await expect(createUser(cx, "u3", bob)).rejects.toMatchObject(nameTaken)
  await createUser(cx, "u3", { ...bob, orgId: "org1" })
  await expect(updateUser(cx, "u2", { userName: "bob" })).rejects.toMatchObject(nameTaken)
})

test("somebody may put the domain of the organization into their name", async () => {
  const cx = world.cx()
  await createAnna(cx)
  await updateUser(cx, "u1", { userName: "anna@acme.localhost" })
  expect(findByLoginName(cx, "anna@acme.localhost")).toBe("u1")
  expect(findByLoginName(cx, "anna@acme.localhost@acme.localhost")).toBe("u1")
  expect(findByLoginName(cx, "anna")).toBeUndefined()
  await updateUser(cx, "u1", { userName: "anna" })
  expect(findByLoginName(cx, "anna@acme.localhost")).toBe("u1")
})

test("a person's user name is their email address where none is given", async () => {
  const cx = world.cx()
  await createAnna(cx, { userName: undefined })
  expect(findUserName(cx, "u1")).toBe("anna@example.com")
})

test("a service account's name is their id where none is given, and a client id", async () => {
  const cx = world.cx()
  await createRobot(cx, { userName: undefined })
  expect(findMachineByName(cx, "m1")).toBe("m1")
  await createAnna(cx)
  expect(findMachineByName(cx, "anna")).toBeUndefined()
})

test.each([
  ["nothing", "  "],
  ["too much", "a".repeat(201)],
  ["a line break", "an\nna"],
  ["a zero-width space", "an\u200bna"],
  ["a turned direction", "an\u202ena"],
  ["a soft hyphen", "an\u00adna"],
  ["a lone surrogate", "an\ud800na"],
  ["a joiner of graphemes", "an\u034fna"],
  ["a selector of variations", "anna\ufe0f"],
  ["another such selector", "anna\u{e0100}"],
  ["a Mongolian selector", "an\u180bna"],
  ["a Hangul filler", "anna\u3164"],
  ["half of a Hangul filler", "anna\uffa0"],
  ["a Hangul initial that is none", "an\u115fna"],
  ["an inherent vowel of Khmer", "an\u17b4na"],
  ["Braille without a dot", "anna\u2800"],
  ["an Ogham space", "an\u1680na"],
  ["a note without a head", "an\u{1d159}na"],
])("rejects a login name with %s", async (_, userName) => {
  const made = createAnna(world.cx(), { userName })
  await expect(made).rejects.toMatchObject({ code: "invalid_argument" })
})

test("renaming assigns the new name and removes the old one in all forms", async () => {
  const cx = world.cx()
  await createAnna(cx)
  await updateUser(cx, "u1", { userName: "anne" })
  expect(findByLoginName(cx, "anna")).toBeUndefined()
  expect(findByLoginName(cx, "anna@acme.localhost")).toBeUndefined()
  expect(findByLoginName(cx, "anne@acme.localhost")).toBe("u1")
})

describe("a name released by a rename", () => {
  const renamed = async (cx: Cx) => {
    await createAnna(cx)
    await updateUser(cx, "u1", { userName: "anne" })
  }

  test("is reserved for its user, in every spelling and form", async () => {
    const cx = world.cx()
    await renamed(cx)
    for (const userName of ["anna", "ANNA", "\uff41nna", "anna@acme.localhost"]) {
      const other = createUser(cx, "u2", human({ orgId: "org2", userName }))
      await expect(other, userName).rejects.toMatchObject(nameTaken)
    }
    await createUser(cx, "u2", human({ userName: "bert" }))
    await expect(updateUser(cx, "u2", { userName: "anna" })).rejects.toMatchObject(nameTaken)
  })

  test("can be taken back by its user", async () => {
    const cx = world.cx()
    await renamed(cx)
    await updateUser(cx, "u1", { userName: "Anna" })
    expect(findByLoginName(cx, "anna")).toBe("u1")
    const other = createUser(cx, "u2", human({ userName: "anne" }))
    await expect(other).rejects.toMatchObject(nameTaken)
    await updateUser(cx, "u1", { userName: "anne" })
    await updateUser(cx, "u1", { userName: "anja" })
    await releaseLoginName(cx, "u1", "anna")
    await createUser(cx, "u2", human())
  })

  test("is released when its user is deleted", async () => {
    const cx = world.cx()
    await renamed(cx)
    await removeUser(cx, "u1")
    await createUser(cx, "u2", human())
    await createUser(cx, "u3", human({ userName: "anne" }))
  })

  test("is reserved until it is released once", async () => {
    const cx = world.cx()
    await renamed(cx)
    const missing = { code: "not_found", id: "user.name_not_reserved" }
    await expect(releaseLoginName(cx, "u1", "anne")).rejects.toMatchObject(missing)
    await releaseLoginName(cx, "u1", " ANNA ")
    await expect(releaseLoginName(cx, "u1", "anna")).rejects.toMatchObject(missing)
    await createUser(cx, "u2", human())
    await expect(updateUser(cx, "u1", { userName: "anna" })).rejects.toMatchObject(nameTaken)
  })

  test("belongs to the organization that verifies its domain", async () => {
    const cx = world.cx()
    const named = (orgId: string) => human({ orgId, userName: "bob@corp.example" })
    await createUser(cx, "u1", named("org1"))
    await updateUser(cx, "u1", { userName: "bob" })
    await expect(createUser(cx, "u2", named("org2"))).rejects.toMatchObject(nameTaken)
    await addVouchedDomain(cx, "org2", { domain: "corp.example", isUsed: () => false })
    await createUser(cx, "u2", named("org2"))
    await updateUser(cx, "u2", { userName: "robert" })
    expect(findUserName(cx, "u2")).toBe("robert")
  })

  test("is one of a limited number of reserved names", async () => {
    const cx = world.cx()
    await createAnna(cx)
    for (let number = 1; number <= 10; number++) {
      await updateUser(cx, "u1", { userName: `anna-${number}` })
    }
    const more = updateUser(cx, "u1", { userName: "anna-11" })
    await expect(more).rejects.toMatchObject({ id: "user.names_reserved" })
    await updateUser(cx, "u1", { userName: "anna-3" })
    await releaseLoginName(cx, "u1", "anna-5")
    await updateUser(cx, "u1", { userName: "anna-11" })
  })
})

test("users can change the case of their name", async () => {
  const cx = world.cx()
  await createAnna(cx)
  await updateUser(cx, "u1", { userName: "Anna" })
  expect(findUserName(cx, "u1")).toBe("Anna")
  expect(findByLoginName(cx, "anna")).toBe("u1")
})

test("renaming a service account moves its client id", async () => {
  const cx = world.cx()
  await createRobot(cx)
  await updateUser(cx, "m1", { userName: "drone" })
  expect(findMachineByName(cx, "robot")).toBeUndefined()
  expect(findMachineByName(cx, "drone")).toBe("m1")
  await releaseLoginName(cx, "m1", "robot")
  await createUser(cx, "m2", machine())
})

test("a deleted user's names are free, the ID is not", async () => {
  const cx = world.cx()
  await createAnna(cx)
  await createRobot(cx)
  await removeUser(cx, "u1")
  await removeUser(cx, "m1")
  await createUser(cx, "u2", human())
  await createUser(cx, "m2", machine())
  await expect(createUser(cx, "u1", human({ userName: "x" }))).rejects.toMatchObject({
    code: "already_exists",
    id: "user.id_taken",
  })
})

test("attempts for an unknown name share one account in every spelling", async () => {
  const cx = world.cx()
  await createAnna(cx)
  expect(accountOf(cx, "ANNA")).toBe("u1")
  expect(accountOf(cx, "Nobody")).toBe(accountOf(cx, " nobody"))
  expect(accountOf(cx, "nobody")).not.toBe(accountOf(cx, "somebody"))
})

test("two instances with the same names and IDs are separate", async () => {
  const there = world.cx({ instance: "i2" })
  const { provision } = await import("./household.ts")
  await provision(there)
  await createAnna(world.cx())
  await createAnna(there, { email: { value: "other@example.com", verified: true } })
  await removeUser(there, "u1")
  expect(findByLoginName(there, "anna")).toBeUndefined()
  expect(findByLoginName(world.cx(), "anna")).toBe("u1")
})

test("invisible characters in a name are ignored at sign-in", async () => {
  const cx = world.cx()
  await createAnna(cx, { userName: "anna  b" })
  expect(findUserName(cx, "u1")).toBe("anna b")
  for (const spelling of ["anna\u2800 b", "an\u200bna b\ufe0f", "\u3164anna  b", "anna \u00a0b"]) {
    expect(findByLoginName(cx, spelling), spelling).toBe("u1")
    expect(findByLoginName(cx, `${spelling}@acme.localhost`), spelling).toBe("u1")
  }
  expect(accountOf(cx, "bert\u2800")).toBe(accountOf(cx, "BERT"))
})

test("an existing name with invisible characters stays its user's only", async () => {
  const cx = world.cx()
  await createAnna(cx, { userName: "anna-old" })
  const userName = "an\u2800na"
  await cx.store.transact(cx, (tx) => {
    const names = { userName, loginNames: [userName] }
    const claims = claimName(userName)
    tx.append(user, "u1", [{ type: "user.username.changed", data: {}, private: names, claims }])
  })
  await createUser(cx, "u2", human())
  expect(findByLoginName(cx, userName)).toBe("u1")
  expect(findByLoginName(cx, "anna")).toBe("u2")
  expect(findByLoginName(cx, "ann\u2800a")).toBe("u2")
  await removeUser(cx, "u1")
  expect(findByLoginName(cx, userName)).toBe("u2")
})
