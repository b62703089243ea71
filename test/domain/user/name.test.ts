import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { vouchDomain } from "../../../src/domain/org/domain.ts"
import { findMachineByName } from "../../../src/domain/service-account/find.ts"
import { releaseLoginName } from "../../../src/domain/user/commands.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { removeUser, updateUser } from "../../../src/domain/user/index.ts"
import { takeName } from "../../../src/domain/user/login-name.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { accountOf, userNameOf } from "../../../src/domain/user-lookup/query.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import type { Cx } from "../../../src/store/index.ts"
import type { World } from "../../support/world.ts"
import { anna, human, machine, openHousehold, robot } from "./household.ts"

let world: World
beforeEach(async () => {
  world = await openHousehold()
})
afterEach(() => world.close())

const taken = { code: "already_exists", id: "user.name_taken" }

test("a login name is found however it is spelled, alone and with the domain", async () => {
  const cx = world.cx()
  await anna(cx, { userName: "Änna" })
  for (const spelling of ["Änna", "ÄNNA", "A\u0308nna", " änna ", "änna@acme.localhost"]) {
    expect(findByLoginName(cx, spelling), spelling).toBe("u1")
  }
  expect(findByLoginName(cx, "anna")).toBeUndefined()
  expect(userNameOf(cx, "u1")).toBe("Änna")
})

test("names that only look different are one name", async () => {
  const cx = world.cx()
  await anna(cx)
  for (const userName of ["anna", "ANNA", "\uff41nna", " anna ", "anna@ACME.localhost"]) {
    const other = createUser(cx, "u2", human({ orgId: "org2", userName }))
    await expect(other, userName).rejects.toMatchObject(taken)
  }
})

test("of twenty who want one name at the same moment one gets it", async () => {
  const cx = world.cx()
  const tries = Array.from({ length: 20 }, (_, at) => createUser(cx, `u${at}`, human()))
  const outcomes = await Promise.allSettled(tries)
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
  for (const outcome of outcomes) {
    if (outcome.status === "rejected") expect(outcome.reason).toMatchObject(taken)
  }
})

test("a name that ends in the domain of an organisation is that one's to give", async () => {
  const cx = world.cx()
  const named = (orgId: string) => human({ orgId, userName: "bob@globex.localhost" })
  const elsewhere = { code: "failed_precondition", id: "user.name_of_other_org" }
  await expect(createUser(cx, "u2", named("org1"))).rejects.toMatchObject(elsewhere)
  await createUser(cx, "u2", named("org2"))
})

test("of two names in an organisation none is a form of the other", async () => {
  const cx = world.cx()
  await createUser(cx, "u2", human({ orgId: "org2", userName: "bob@globex.localhost" }))
  const bob = human({ orgId: "org2", userName: "bob" })
  await expect(createUser(cx, "u3", bob)).rejects.toMatchObject(taken)
  await createUser(cx, "u3", { ...bob, orgId: "org1" })
  await expect(updateUser(cx, "u2", { userName: "bob" })).rejects.toMatchObject(taken)
})

test("somebody may put the domain of their organisation into their name", async () => {
  const cx = world.cx()
  await anna(cx)
  await updateUser(cx, "u1", { userName: "anna@acme.localhost" })
  expect(findByLoginName(cx, "anna@acme.localhost")).toBe("u1")
  expect(findByLoginName(cx, "anna@acme.localhost@acme.localhost")).toBe("u1")
  expect(findByLoginName(cx, "anna")).toBeUndefined()
  await updateUser(cx, "u1", { userName: "anna" })
  expect(findByLoginName(cx, "anna@acme.localhost")).toBe("u1")
})

test("a person's user name is their e-mail address where none is given", async () => {
  const cx = world.cx()
  await anna(cx, { userName: undefined })
  expect(userNameOf(cx, "u1")).toBe("anna@example.com")
})

test("a service user's name is their id where none is given, and a client id", async () => {
  const cx = world.cx()
  await robot(cx, { userName: undefined })
  expect(findMachineByName(cx, "m1")).toBe("m1")
  await anna(cx)
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
])("a login name with %s is refused", async (_, userName) => {
  const made = anna(world.cx(), { userName })
  await expect(made).rejects.toMatchObject({ code: "invalid_argument" })
})

test("renaming takes the new name, and the old one finds nobody, in all forms", async () => {
  const cx = world.cx()
  await anna(cx)
  await updateUser(cx, "u1", { userName: "anne" })
  expect(findByLoginName(cx, "anna")).toBeUndefined()
  expect(findByLoginName(cx, "anna@acme.localhost")).toBeUndefined()
  expect(findByLoginName(cx, "anne@acme.localhost")).toBe("u1")
})

describe("a name that is left by a rename", () => {
  const renamed = async (cx: Cx) => {
    await anna(cx)
    await updateUser(cx, "u1", { userName: "anne" })
  }

  test("is reserved for its user, in every spelling and form", async () => {
    const cx = world.cx()
    await renamed(cx)
    for (const userName of ["anna", "ANNA", "\uff41nna", "anna@acme.localhost"]) {
      const other = createUser(cx, "u2", human({ orgId: "org2", userName }))
      await expect(other, userName).rejects.toMatchObject(taken)
    }
    await createUser(cx, "u2", human({ userName: "bert" }))
    await expect(updateUser(cx, "u2", { userName: "anna" })).rejects.toMatchObject(taken)
  })

  test("can be taken back by its user", async () => {
    const cx = world.cx()
    await renamed(cx)
    await updateUser(cx, "u1", { userName: "Anna" })
    expect(findByLoginName(cx, "anna")).toBe("u1")
    const other = createUser(cx, "u2", human({ userName: "anne" }))
    await expect(other).rejects.toMatchObject(taken)
    await updateUser(cx, "u1", { userName: "anne" })
    await updateUser(cx, "u1", { userName: "anja" })
    await releaseLoginName(cx, "u1", "anna")
    await createUser(cx, "u2", human())
  })

  test("is released with its account", async () => {
    const cx = world.cx()
    await renamed(cx)
    await removeUser(cx, "u1")
    await createUser(cx, "u2", human())
    await createUser(cx, "u3", human({ userName: "anne" }))
  })

  test("is reserved until it is released, once", async () => {
    const cx = world.cx()
    await renamed(cx)
    const missing = { code: "not_found", id: "user.name_not_reserved" }
    await expect(releaseLoginName(cx, "u1", "anne")).rejects.toMatchObject(missing)
    await releaseLoginName(cx, "u1", " ANNA ")
    await expect(releaseLoginName(cx, "u1", "anna")).rejects.toMatchObject(missing)
    await createUser(cx, "u2", human())
    await expect(updateUser(cx, "u1", { userName: "anna" })).rejects.toMatchObject(taken)
  })

  test("is the organization's to give once it has proven the domain of the name", async () => {
    const cx = world.cx()
    const named = (orgId: string) => human({ orgId, userName: "bob@corp.example" })
    await createUser(cx, "u1", named("org1"))
    await updateUser(cx, "u1", { userName: "bob" })
    await expect(createUser(cx, "u2", named("org2"))).rejects.toMatchObject(taken)
    await vouchDomain(cx, "org2", { domain: "corp.example", isUsed: () => false })
    await createUser(cx, "u2", named("org2"))
    await updateUser(cx, "u2", { userName: "robert" })
    expect(userNameOf(cx, "u2")).toBe("robert")
  })

  test("is one of few: nobody reserves names at will", async () => {
    const cx = world.cx()
    await anna(cx)
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

test("somebody may change only the case of their name", async () => {
  const cx = world.cx()
  await anna(cx)
  await updateUser(cx, "u1", { userName: "Anna" })
  expect(userNameOf(cx, "u1")).toBe("Anna")
  expect(findByLoginName(cx, "anna")).toBe("u1")
})

test("renaming a service user moves its client id", async () => {
  const cx = world.cx()
  await robot(cx)
  await updateUser(cx, "m1", { userName: "drone" })
  expect(findMachineByName(cx, "robot")).toBeUndefined()
  expect(findMachineByName(cx, "drone")).toBe("m1")
  await releaseLoginName(cx, "m1", "robot")
  await createUser(cx, "m2", machine())
})

test("a removed user's names are free, their id is not", async () => {
  const cx = world.cx()
  await anna(cx)
  await robot(cx)
  await removeUser(cx, "u1")
  await removeUser(cx, "m1")
  await createUser(cx, "u2", human())
  await createUser(cx, "m2", machine())
  await expect(createUser(cx, "u1", human({ userName: "x" }))).rejects.toMatchObject({
    code: "already_exists",
    id: "user.id_taken",
  })
})

test("a name of nobody's has an account to count tries on, one for every spelling", async () => {
  const cx = world.cx()
  await anna(cx)
  expect(accountOf(cx, "ANNA")).toBe("u1")
  expect(accountOf(cx, "Nobody")).toBe(accountOf(cx, " nobody"))
  expect(accountOf(cx, "nobody")).not.toBe(accountOf(cx, "somebody"))
})

test("two instances have the same names and ids, and nothing in common", async () => {
  const there = world.cx({ instance: "i2" })
  const { provision } = await import("./household.ts")
  await provision(there)
  await anna(world.cx())
  await anna(there, { email: { value: "other@example.com", verified: true } })
  await removeUser(there, "u1")
  expect(findByLoginName(there, "anna")).toBeUndefined()
  expect(findByLoginName(world.cx(), "anna")).toBe("u1")
})

test("what nobody sees in a name is passed over when somebody signs in", async () => {
  const cx = world.cx()
  await anna(cx, { userName: "anna  b" })
  expect(userNameOf(cx, "u1")).toBe("anna b")
  for (const spelling of ["anna\u2800 b", "an\u200bna b\ufe0f", "\u3164anna  b", "anna \u00a0b"]) {
    expect(findByLoginName(cx, spelling), spelling).toBe("u1")
    expect(findByLoginName(cx, `${spelling}@acme.localhost`), spelling).toBe("u1")
  }
  expect(accountOf(cx, "bert\u2800")).toBe(accountOf(cx, "BERT"))
})

test("a name of old that has something unseen in it is still its holder's alone", async () => {
  const cx = world.cx()
  await anna(cx, { userName: "anna-old" })
  const userName = "an\u2800na"
  await cx.store.transact(cx, (tx) => {
    const names = { userName, loginNames: [userName] }
    const claims = takeName(userName)
    tx.append(user, "u1", [{ type: "user.username.changed", data: {}, private: names, claims }])
  })
  await createUser(cx, "u2", human())
  expect(findByLoginName(cx, userName)).toBe("u1")
  expect(findByLoginName(cx, "anna")).toBe("u2")
  expect(findByLoginName(cx, "ann\u2800a")).toBe("u2")
  await removeUser(cx, "u1")
  expect(findByLoginName(cx, userName)).toBe("u2")
})
