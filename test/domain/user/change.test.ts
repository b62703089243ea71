import { afterEach, beforeEach, expect, test } from "vitest"
import type { UserChange } from "../../../src/domain/user/commands.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { updateUser } from "../../../src/domain/user/index.ts"
import { findProfile, requireUserRow } from "../../../src/domain/user-lookup/query.ts"
import { callOperation } from "../../support/call-operation.ts"
import { callerOf, type TestEnvironment } from "../../support/test-environment.ts"
import { shares } from "../../support/user-modules.ts"
import { createAnna, createRobot, human, openUserWorld } from "./household.ts"

let world: TestEnvironment
beforeEach(async () => {
  world = await openUserWorld()
  await createAnna(world.cx())
  await createRobot(world.cx())
})
afterEach(() => world.close())

/** The types of the events that a change appends. */
async function eventsOf(id: string, change: UserChange) {
  const before = (await world.store.log.read(0, 100)).length
  await updateUser(world.cx(), id, change)
  return (await world.store.log.read(0, 100)).slice(before).map(({ type }) => type)
}

const code = { plain: "", sealed: "sealed", expires: 9e15, returned: false, urlTemplate: "" }

test.each<[string, UserChange, string[]]>([
  ["nothing", {}, []],
  ["the same names", { human: { profile: { givenName: " Anna " } } }, []],
  ["another name", { human: { profile: { nickName: "A" } } }, ["user.human.profile.changed"]],
  [
    "the same address, verified already",
    { human: { email: { value: "anna@example.com", verified: true } } },
    [],
  ],
  [
    "the same address, with a code that nobody needs",
    { human: { email: { value: "anna@example.com", verified: false, code } } },
    [],
  ],
  [
    "another address with a code",
    { human: { email: { value: "a@example.com", verified: false, code } } },
    ["user.human.email.changed", "user.human.email.code.added"],
  ],
  [
    "another address, verified",
    { human: { email: { value: "a@example.com", verified: true } } },
    ["user.human.email.changed", "user.human.email.verified"],
  ],
  [
    "a phone",
    { human: { phone: { value: "+41 79 123 45 67", verified: true } } },
    ["user.human.phone.changed", "user.human.phone.verified"],
  ],
  ["no phone where there was none", { human: { phone: { value: "", verified: false } } }, []],
])("%s appends only the difference", async (_, change, expected) => {
  expect(await eventsOf("u1", change)).toEqual(expected)
})

test("a service account's change appends what differs and no more", async () => {
  expect(await eventsOf("m1", { machine: { name: "Robot", accessTokenType: "bearer" } })).toEqual(
    [],
  )
  expect(await eventsOf("m1", { machine: { accessTokenType: "jwt" } })).toEqual([
    "user.machine.changed",
  ])
  expect(requireUserRow(world.cx(), "m1")).toMatchObject({
    display_name: "Robot",
    token_type: "jwt",
  })
})

test("an update without changes returns the last change date", async () => {
  const cx = world.cx()
  const { changed } = await updateUser(cx, "u1", { human: { profile: { nickName: "A" } } })
  world.clock.advance(60_000)
  expect(await updateUser(cx, "u1", { human: { profile: { nickName: "A" } } })).toMatchObject({
    changed,
  })
})

test("fifty concurrent updates of one user all succeed", async () => {
  const cx = world.cx()
  const updates = Array.from({ length: 50 }, (_, at) =>
    updateUser(cx, "u1", { human: { profile: { nickName: `n${at}` } } }),
  )
  const versions = (await Promise.all(updates)).map(({ version }) => version)
  expect(new Set(versions).size).toBe(50)
})

test("a new address is unverified until it is verified", async () => {
  const cx = world.cx()
  await updateUser(cx, "u1", {
    human: { email: { value: "a@example.com", verified: false, code } },
  })
  expect(findProfile(cx, "u1")).toMatchObject({ email: "a@example.com", emailVerified: false })
})

test("an empty phone number is removed", async () => {
  const cx = world.cx()
  await updateUser(cx, "u1", { human: { phone: { value: "+41791234567", verified: false, code } } })
  expect(findProfile(cx, "u1")).toMatchObject({ phone: "+41791234567" })
  await updateUser(cx, "u1", { human: { phone: { value: "", verified: false } } })
  expect(findProfile(cx, "u1")).toMatchObject({ phone: "" })
})

test("a generated display name follows the names; a chosen one stays", async () => {
  const cx = world.cx()
  await updateUser(cx, "u1", { human: { profile: { familyName: "Blom" } } })
  expect(findProfile(cx, "u1")?.name).toBe("Anna Blom")
  await updateUser(cx, "u1", { human: { profile: { displayName: "Annie" } } })
  await updateUser(cx, "u1", { human: { profile: { familyName: "Carl" } } })
  expect(findProfile(cx, "u1")?.name).toBe("Annie")
})

test("a person is not changed like a service account, nor the other way round", async () => {
  const cx = world.cx()
  const wrong = { code: "failed_precondition", id: "user.wrong_kind" }
  await expect(updateUser(cx, "u1", { machine: {} })).rejects.toMatchObject(wrong)
  await expect(updateUser(cx, "m1", { human: {} })).rejects.toMatchObject(wrong)
})

test.each([
  "anna",
  "anna@",
  "@example.com",
  "a b@example.com",
  "anna@exa mple.com",
  "anna@example..com",
  "anna@-example.com",
  "anna@example.com\r\nBcc: all@example.com",
  "Anna <anna@example.com>",
  `${"a".repeat(200)}@example.com`,
])("%j is no email address", async (value) => {
  const made = createUser(world.cx(), "u2", human({ email: { value, verified: true } }))
  await expect(made).rejects.toMatchObject({ code: "invalid_argument", id: "user.email_invalid" })
})

test("an almost valid address is rejected quickly", async () => {
  const value = `a@${"a.".repeat(90)}!`
  const start = performance.now()
  const made = createUser(world.cx(), "u2", human({ email: { value, verified: true } }))
  await expect(made).rejects.toMatchObject({ code: "invalid_argument" })
  // A matcher that tries every reading would never finish.
  expect(performance.now() - start).toBeLessThan(10_000)
})

test.each(["0791234567", "+0791234567", "+41", "+41 79 ABC", "+417912345678901234"])(
  "rejects %j as a phone number",
  async (value) => {
    const made = createUser(world.cx(), "u2", human({ phone: { value, verified: true } }))
    await expect(made).rejects.toMatchObject({ code: "invalid_argument" })
  },
)

test.each([
  { profile: { givenName: "", familyName: "B" } },
  { profile: { givenName: "A\u0000", familyName: "B" } },
  { profile: { givenName: "A", familyName: "b".repeat(201) } },
  { profile: { givenName: "A", familyName: "B", preferredLanguage: "<script>" } },
])("rejects names that can't be displayed: %j", async ({ profile: names }) => {
  const made = createUser(world.cx(), "u2", human({ profile: names }))
  await expect(made).rejects.toMatchObject({ code: "invalid_argument" })
})

test("users can't mark their own address as verified, administrators can mark others'", async () => {
  const email = { email: "a@example.com", verification: { case: "isVerified", value: true } }
  const request = { userId: "u1", userType: { case: "human", value: { email } } }
  const herself = world.cx({ caller: callerOf("u1"), outranks: () => true })
  const own = callOperation(shares, "updateUser", herself, request)
  await expect(own).rejects.toMatchObject({ code: "permission_denied", id: "user.verify_own" })
  const admin = world.cx({ caller: callerOf("admin"), outranks: () => true })
  await callOperation(shares, "updateUser", admin, request)
  expect(findProfile(world.cx(), "u1")).toMatchObject({
    email: "a@example.com",
    emailVerified: true,
  })
})

test("a change results in the returned state", async () => {
  const code = { plain: "", sealed: "s", expires: 9e15, returned: false, urlTemplate: "" }
  const changes: UserChange[] = [
    { userName: "anne" },
    { human: { email: { value: "a@example.com", verified: false, code } } },
    { human: { phone: { value: "+41791234567", verified: false, code } } },
  ]
  for (const change of changes) {
    const { version, changed } = await updateUser(world.cx(), "u1", change)
    expect(requireUserRow(world.cx(), "u1")).toMatchObject({ version, changed })
  }
  expect(requireUserRow(world.cx(), "u1").version).toBe(6)
})
