import { afterEach, beforeEach, expect, test } from "vitest"
import type { UserChange } from "../../../src/domain/user/commands.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { updateUser } from "../../../src/domain/user/index.ts"
import { findUser, profile } from "../../../src/domain/user-lookup/query.ts"
import { ask } from "../../support/ask.ts"
import { shares } from "../../support/user-modules.ts"
import { callerOf, type World } from "../../support/world.ts"
import { anna, human, openHousehold, robot } from "./household.ts"

let world: World
beforeEach(async () => {
  world = await openHousehold()
  await anna(world.cx())
  await robot(world.cx())
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
])("%s appends what differs and no more", async (_, change, expected) => {
  expect(await eventsOf("u1", change)).toEqual(expected)
})

test("a service user's change appends what differs and no more", async () => {
  expect(await eventsOf("m1", { machine: { name: "Robot", accessTokenType: "bearer" } })).toEqual(
    [],
  )
  expect(await eventsOf("m1", { machine: { accessTokenType: "jwt" } })).toEqual([
    "user.machine.changed",
  ])
  expect(findUser(world.cx(), "m1")).toMatchObject({ display_name: "Robot", token_type: "jwt" })
})

test("an update without change answers when the user last changed", async () => {
  const cx = world.cx()
  const { changed } = await updateUser(cx, "u1", { human: { profile: { nickName: "A" } } })
  world.clock.advance(60_000)
  expect(await updateUser(cx, "u1", { human: { profile: { nickName: "A" } } })).toMatchObject({
    changed,
  })
})

test("fifty updates of one user at the same moment all happen", async () => {
  const cx = world.cx()
  const updates = Array.from({ length: 50 }, (_, at) =>
    updateUser(cx, "u1", { human: { profile: { nickName: `n${at}` } } }),
  )
  const versions = (await Promise.all(updates)).map(({ version }) => version)
  expect(new Set(versions).size).toBe(50)
})

test("a new address is not verified until somebody says so", async () => {
  const cx = world.cx()
  await updateUser(cx, "u1", {
    human: { email: { value: "a@example.com", verified: false, code } },
  })
  expect(profile(cx, "u1")).toMatchObject({ email: "a@example.com", emailVerified: false })
})

test("an empty phone goes", async () => {
  const cx = world.cx()
  await updateUser(cx, "u1", { human: { phone: { value: "+41791234567", verified: false, code } } })
  expect(profile(cx, "u1")).toMatchObject({ phone: "+41791234567" })
  await updateUser(cx, "u1", { human: { phone: { value: "", verified: false } } })
  expect(profile(cx, "u1")).toMatchObject({ phone: "" })
})

test("a display name that nobody chose follows the names; one that was chosen stays", async () => {
  const cx = world.cx()
  await updateUser(cx, "u1", { human: { profile: { familyName: "Blom" } } })
  expect(profile(cx, "u1")?.name).toBe("Anna Blom")
  await updateUser(cx, "u1", { human: { profile: { displayName: "Annie" } } })
  await updateUser(cx, "u1", { human: { profile: { familyName: "Carl" } } })
  expect(profile(cx, "u1")?.name).toBe("Annie")
})

test("a person is not changed like a service user, nor the other way round", async () => {
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
])("%j is no e-mail address", async (value) => {
  const made = createUser(world.cx(), "u2", human({ email: { value, verified: true } }))
  await expect(made).rejects.toMatchObject({ code: "invalid_argument", id: "user.email_invalid" })
})

test("an address that is nearly one is refused without long thought", async () => {
  const value = `a@${"a.".repeat(90)}!`
  const start = performance.now()
  const made = createUser(world.cx(), "u2", human({ email: { value, verified: true } }))
  await expect(made).rejects.toMatchObject({ code: "invalid_argument" })
  // What tries every way to read it would take longer than anybody lives.
  expect(performance.now() - start).toBeLessThan(10_000)
})

test.each(["0791234567", "+0791234567", "+41", "+41 79 ABC", "+417912345678901234"])(
  "%j is no phone number",
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
])("names that can't be shown are refused: %j", async ({ profile: names }) => {
  const made = createUser(world.cx(), "u2", human({ profile: names }))
  await expect(made).rejects.toMatchObject({ code: "invalid_argument" })
})

test("nobody calls their own address verified, an administrator may call others'", async () => {
  const email = { email: "a@example.com", verification: { case: "isVerified", value: true } }
  const request = { userId: "u1", userType: { case: "human", value: { email } } }
  const herself = world.cx({ caller: callerOf("u1"), outranks: () => true })
  const own = ask(shares, "updateUser", herself, request)
  await expect(own).rejects.toMatchObject({ code: "permission_denied", id: "user.verify_own" })
  const admin = world.cx({ caller: callerOf("admin"), outranks: () => true })
  await ask(shares, "updateUser", admin, request)
  expect(profile(world.cx(), "u1")).toMatchObject({ email: "a@example.com", emailVerified: true })
})

test("a change leaves the user where its answer says", async () => {
  const code = { plain: "", sealed: "s", expires: 9e15, returned: false, urlTemplate: "" }
  const changes: UserChange[] = [
    { userName: "anne" },
    { human: { email: { value: "a@example.com", verified: false, code } } },
    { human: { phone: { value: "+41791234567", verified: false, code } } },
  ]
  for (const change of changes) {
    const { version, changed } = await updateUser(world.cx(), "u1", change)
    expect(findUser(world.cx(), "u1")).toMatchObject({ version, changed })
  }
  expect(findUser(world.cx(), "u1").version).toBe(6)
})
