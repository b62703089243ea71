import { afterAll, beforeAll, expect, test } from "vitest"
import { createUser } from "../../../src/domain/user/create.ts"
import { lockUser, updateUser } from "../../../src/domain/user/index.ts"
import { shares } from "../../../src/domain/user-lookup/api.ts"
import { ask } from "../../support/ask.ts"
import { callerOf, type World } from "../../support/world.ts"
import { human, machine, openHousehold } from "../user/household.ts"

let world: World
beforeAll(async () => {
  world = await openHousehold()
  const cx = world.cx()
  const people = [
    ["anna", "Anna", "Berg", "org1"],
    ["bert", "Bert", "Ångström", "org1"],
    ["cleo", "Cleo", "Öst%_", "org2"],
  ] as const
  for (const [userName, givenName, familyName, orgId] of people) {
    world.clock.advance(1000)
    const email = { value: `${userName}@Example.com`, verified: false }
    const profile = { givenName, familyName }
    await createUser(cx, userName, human({ userName, orgId, profile, email }))
  }
  world.clock.advance(1000)
  await createUser(cx, "robot", machine())
  await lockUser(cx, "cleo")
  await updateUser(cx, "anna", { human: { profile: { nickName: "Annie" } } })
  await updateUser(cx, "bert", { human: { phone: { value: "+41791234567", verified: true } } })
})
afterAll(() => world.close())

const list = (request: object = {}, call: Parameters<World["cx"]>[0] = {}) =>
  ask(shares, "listUsers", world.cx(call), { query: { asc: true }, ...request })

const found = async (...queries: object[]) => {
  const answer = await list({ queries: queries.map((query) => ({ query })) })
  return answer.result.map((user: { userId: string }) => user.userId)
}

const q = (name: string, value: object) => ({ case: name, value })

test.each<[string, object, string[]]>([
  ["a user name", q("userNameQuery", { userName: "anna" }), ["anna"]],
  ["a user name in another case", q("userNameQuery", { userName: "ANNA" }), []],
  ["the same, ignoring case", q("userNameQuery", { userName: "ANNA", method: 1 }), ["anna"]],
  ["a beginning", q("firstNameQuery", { firstName: "B", method: 2 }), ["bert"]],
  ["a part, ignoring case", q("lastNameQuery", { lastName: "ÅNGST", method: 5 }), ["bert"]],
  ["an end", q("displayNameQuery", { displayName: "Berg", method: 6 }), ["anna"]],
  ["a wildcard, which is none", q("lastNameQuery", { lastName: "%", method: 4 }), ["cleo"]],
  ["a part without its accent", q("lastNameQuery", { lastName: "angstrom", method: 5 }), ["bert"]],
  [
    "a name without its accent",
    q("displayNameQuery", { displayName: "bert ang", method: 3 }),
    ["bert"],
  ],
  ["surname first", q("displayNameQuery", { displayName: "Ångström Bert", method: 1 }), ["bert"]],
  ["a nick name", q("nickNameQuery", { nickName: "annie", method: 1 }), ["anna"]],
  ["an address", q("emailQuery", { emailAddress: "ANNA@example.com", method: 1 }), ["anna"]],
  ["a phone", q("phoneQuery", { number: "+4179", method: 2 }), ["bert"]],
  ["a login name", q("loginNameQuery", { loginName: "Cleo@globex.localhost" }), ["cleo"]],
  ["a state", q("stateQuery", { state: 4 }), ["cleo"]],
  ["a state that nobody is in", q("stateQuery", { state: 3 }), []],
  ["a type", q("typeQuery", { type: 2 }), ["robot"]],
  ["ids", q("inUserIdsQuery", { userIds: ["anna", "cleo", "x"] }), ["anna", "cleo"]],
  ["addresses", q("inUserEmailsQuery", { userEmails: ["bert@example.com"] }), ["bert"]],
  ["an organisation", q("organizationIdQuery", { organizationId: "org2" }), ["cleo"]],
])("users are found by %s", async (_, query, expected) => {
  expect(await found(query)).toEqual(expected)
})

test("queries combine: all of a list, and, or, not", async () => {
  const anna = { query: q("userNameQuery", { userName: "anna" }) }
  const robot = { query: q("typeQuery", { type: 2 }) }
  expect(await found(q("orQuery", { queries: [anna, robot] }))).toEqual(["anna", "robot"])
  expect(await found(q("andQuery", { queries: [anna, robot] }))).toEqual([])
  expect(await found(q("notQuery", { query: robot }))).toEqual(["anna", "bert", "cleo"])
  expect(await found(anna.query, robot.query)).toEqual([])
})

test.each([
  ["an empty query", [{}]],
  ["an empty negation", [{ query: q("notQuery", {}) }]],
  ["more queries than anybody needs", Array.from({ length: 201 }, () => ({}))],
])("%s is refused", async (_, queries) => {
  await expect(list({ queries })).rejects.toMatchObject({ code: "invalid_argument" })
})

test("a list is sorted and cut as asked, and its total counts what was not shown", async () => {
  const sorted = await list({ sortingColumn: 3, query: { asc: false, limit: 2 } })
  const names = sorted.result.map((user: { userId: string }) => user.userId)
  expect(names).toEqual(["cleo", "anna"])
  expect(sorted.details.totalResult).toBe(4n)
  const next = await list({ query: { offset: 3n, asc: true } })
  expect(next.result.map((user: { userId: string }) => user.userId)).toEqual(["robot"])
})

test("a manager sees their organisation's users, and the total tells of no others", async () => {
  const scope = { all: false, orgs: ["org2"], projects: [], grants: [] }
  const { result, details } = await list({}, { scope })
  expect(result.map((user: { userId: string }) => user.userId)).toEqual(["cleo"])
  expect(details.totalResult).toBe(1n)
  const query = q("organizationIdQuery", { organizationId: "org1" })
  expect((await list({ queries: [{ query }] }, { scope })).details.totalResult).toBe(0n)
})

test("who may see nobody else sees themself", async () => {
  const scope = { all: false, orgs: [], projects: [], grants: [], self: "anna" }
  expect((await list({}, { scope })).result).toMatchObject([{ userId: "anna" }])
})

test("another instance's users are not found", async () => {
  expect((await list({}, { instance: "i2" })).details.totalResult).toBe(0n)
})

test("a person is shown whole", async () => {
  const { user, details } = await ask(shares, "getUserByID", world.cx(), { userId: "anna" })
  expect(details.resourceOwner).toBe("org1")
  expect(user).toMatchObject({
    userId: "anna",
    state: 1,
    username: "anna",
    loginNames: ["anna", "anna@acme.localhost"],
    preferredLoginName: "anna",
    type: {
      case: "human",
      value: {
        profile: { givenName: "Anna", familyName: "Berg", nickName: "Annie", gender: 0 },
        email: { email: "anna@Example.com", isVerified: false },
        passwordChangeRequired: false,
      },
    },
  })
})

test("v1 shows the same person, and callers themselves", async () => {
  const cx = world.cx({ caller: callerOf("bert") })
  const [, management, auth] = shares
  const { user } = await ask([management], "getUserByID", cx, { id: "anna" })
  expect(user).toMatchObject({
    id: "anna",
    userName: "anna",
    type: { case: "human", value: { profile: { firstName: "Anna", lastName: "Berg" } } },
  })
  const me = await ask([auth], "getMyUser", cx)
  expect(me.user).toMatchObject({
    id: "bert",
    type: { value: { phone: { phone: "+41791234567", isPhoneVerified: true } } },
  })
})
