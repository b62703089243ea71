import { afterAll, beforeAll, expect, test } from "vitest"
import { createUser } from "../../../src/domain/user/create.ts"
import { lockUser, updateUser } from "../../../src/domain/user/index.ts"
import { shares } from "../../../src/domain/user-lookup/api.ts"
import { callOperation } from "../../support/call-operation.ts"
import { callerOf, type TestEnvironment } from "../../support/test-environment.ts"
import { human, machine, openUserWorld } from "../user/household.ts"

let world: TestEnvironment
beforeAll(async () => {
  world = await openUserWorld()
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

const listUsers = (request: object = {}, call: Parameters<TestEnvironment["cx"]>[0] = {}) =>
  callOperation(shares, "listUsers", world.cx(call), { query: { asc: true }, ...request })

const findUsers = async (...queries: object[]) => {
  const answer = await listUsers({ queries: queries.map((query) => ({ query })) })
  return answer.result.map((user: { userId: string }) => user.userId)
}

const userQuery = (name: string, value: object) => ({ case: name, value })

test.each<[string, object, string[]]>([
  ["a user name", userQuery("userNameQuery", { userName: "anna" }), ["anna"]],
  ["a user name in another case", userQuery("userNameQuery", { userName: "ANNA" }), []],
  [
    "the same, ignoring case",
    userQuery("userNameQuery", { userName: "ANNA", method: 1 }),
    ["anna"],
  ],
  ["a beginning", userQuery("firstNameQuery", { firstName: "B", method: 2 }), ["bert"]],
  ["a part, ignoring case", userQuery("lastNameQuery", { lastName: "ÅNGST", method: 5 }), ["bert"]],
  ["an end", userQuery("displayNameQuery", { displayName: "Berg", method: 6 }), ["anna"]],
  ["a wildcard, which is none", userQuery("lastNameQuery", { lastName: "%", method: 4 }), ["cleo"]],
  [
    "a part without its accent",
    userQuery("lastNameQuery", { lastName: "angstrom", method: 5 }),
    ["bert"],
  ],
  [
    "a name without its accent",
    userQuery("displayNameQuery", { displayName: "bert ang", method: 3 }),
    ["bert"],
  ],
  [
    "surname first",
    userQuery("displayNameQuery", { displayName: "Ångström Bert", method: 1 }),
    ["bert"],
  ],
  ["a nick name", userQuery("nickNameQuery", { nickName: "annie", method: 1 }), ["anna"]],
  [
    "an address",
    userQuery("emailQuery", { emailAddress: "ANNA@example.com", method: 1 }),
    ["anna"],
  ],
  ["a phone", userQuery("phoneQuery", { number: "+4179", method: 2 }), ["bert"]],
  ["a login name", userQuery("loginNameQuery", { loginName: "Cleo@globex.localhost" }), ["cleo"]],
  ["a state", userQuery("stateQuery", { state: 4 }), ["cleo"]],
  ["a state that nobody is in", userQuery("stateQuery", { state: 3 }), []],
  ["a type", userQuery("typeQuery", { type: 2 }), ["robot"]],
  ["ids", userQuery("inUserIdsQuery", { userIds: ["anna", "cleo", "x"] }), ["anna", "cleo"]],
  ["addresses", userQuery("inUserEmailsQuery", { userEmails: ["bert@example.com"] }), ["bert"]],
  ["an organization", userQuery("organizationIdQuery", { organizationId: "org2" }), ["cleo"]],
])("finds users by %s", async (_, query, expected) => {
  expect(await findUsers(query)).toEqual(expected)
})

test("combines queries: all of a list, and, or, not", async () => {
  const anna = { query: userQuery("userNameQuery", { userName: "anna" }) }
  const robot = { query: userQuery("typeQuery", { type: 2 }) }
  expect(await findUsers(userQuery("orQuery", { queries: [anna, robot] }))).toEqual([
    "anna",
    "robot",
  ])
  expect(await findUsers(userQuery("andQuery", { queries: [anna, robot] }))).toEqual([])
  expect(await findUsers(userQuery("notQuery", { query: robot }))).toEqual(["anna", "bert", "cleo"])
  expect(await findUsers(anna.query, robot.query)).toEqual([])
})

test.each([
  ["an empty query", [{}]],
  ["an empty negation", [{ query: userQuery("notQuery", {}) }]],
  ["more queries than anybody needs", Array.from({ length: 201 }, () => ({}))],
])("rejects %s", async (_, queries) => {
  await expect(listUsers({ queries })).rejects.toMatchObject({ code: "invalid_argument" })
})

test("a list is sorted and paged, and its total includes all rows", async () => {
  const sorted = await listUsers({ sortingColumn: 3, query: { asc: false, limit: 2 } })
  const names = sorted.result.map((user: { userId: string }) => user.userId)
  expect(names).toEqual(["cleo", "anna"])
  expect(sorted.details.totalResult).toBe(4n)
  const next = await listUsers({ query: { offset: 3n, asc: true } })
  expect(next.result.map((user: { userId: string }) => user.userId)).toEqual(["robot"])
})

test("a manager sees the organization's users, and the total tells of no others", async () => {
  const scope = { all: false, orgs: ["org2"], projects: [], grants: [] }
  const { result, details } = await listUsers({}, { scope })
  expect(result.map((user: { userId: string }) => user.userId)).toEqual(["cleo"])
  expect(details.totalResult).toBe(1n)
  const query = userQuery("organizationIdQuery", { organizationId: "org1" })
  expect((await listUsers({ queries: [{ query }] }, { scope })).details.totalResult).toBe(0n)
})

test("a caller without permission sees only themselves", async () => {
  const scope = { all: false, orgs: [], projects: [], grants: [], self: "anna" }
  expect((await listUsers({}, { scope })).result).toMatchObject([{ userId: "anna" }])
})

test("users of another instance are not found", async () => {
  expect((await listUsers({}, { instance: "i2" })).details.totalResult).toBe(0n)
})

test("a user is returned completely", async () => {
  const { user, details } = await callOperation(shares, "getUserByID", world.cx(), {
    userId: "anna",
  })
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

test("v1 returns the same user, and callers themselves", async () => {
  const cx = world.cx({ caller: callerOf("bert") })
  const [, management, auth] = shares
  const { user } = await callOperation([management], "getUserByID", cx, { id: "anna" })
  expect(user).toMatchObject({
    id: "anna",
    userName: "anna",
    type: { case: "human", value: { profile: { firstName: "Anna", lastName: "Berg" } } },
  })
  const me = await callOperation([auth], "getMyUser", cx)
  expect(me.user).toMatchObject({
    id: "bert",
    type: { value: { phone: { phone: "+41791234567", isPhoneVerified: true } } },
  })
})
