import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { orgView } from "../../../src/domain/org/view.ts"
import { addUser, heldMetadata, removeUser, setMetadata } from "../../../src/domain/user/index.ts"
import { findUser } from "../../../src/domain/user-lookup/query.ts"
import { type Estate, openEstate, type Person, person } from "../../support/estate.ts"
import * as people from "../../support/user-modules.ts"
import { anna, openHousehold } from "./household.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
})
afterEach(() => estate.close())

const bytes = (text: string) => new TextEncoder().encode(text)
const entries = (values: Readonly<Record<string, string>>) =>
  Object.entries(values).map(([key, value]) => ({ key, value: bytes(value) }))

const set = (
  values: Readonly<Record<string, string>>,
  userId = "nobody",
  who: Person = "manager",
) => estate.as(who, "setUserMetadata", { userId, metadata: entries(values) })

const listed = async (request: object = {}, who: Person = "manager", userId = "nobody") => {
  const { metadata, pagination } = await estate.as(who, "listUserMetadata", {
    userId,
    pagination: { asc: true },
    ...request,
  })
  expect(pagination.totalResult).toBe(BigInt(metadata.length))
  return metadata.map(({ key, value }: { key: string; value: Uint8Array }) => [
    key,
    Buffer.from(value).toString(),
  ])
}

describe("metadata", () => {
  test("of one key can be changed by who has read it before another key changed", async () => {
    await set({ plan: "gold" })
    const expectedVersion = estate.store.log.durable()
    await set({ color: "red" })
    // An update by the same request is no change of somebody else.
    const requestId = "another"
    const change = (value: string) =>
      setMetadata(estate.cx({ expectedVersion, requestId }), "nobody", entries({ plan: value }))
    await change("silver")
    await set({ plan: "bronze" })
    await expect(change("gold")).rejects.toMatchObject({ id: "edit.stale" })
  })

  test("is kept by key, replaced, and forgotten", async () => {
    const { setDate } = await set({ plan: "gold", "cost centre": "7" })
    expect(timestampMs(setDate)).toBe(estate.clock.now())
    expect(await listed()).toEqual([
      ["cost centre", "7"],
      ["plan", "gold"],
    ])
    estate.clock.advance(1000)
    await set({ plan: "silver" })
    const answer = await estate.as("manager", "listUserMetadata", { userId: "nobody" })
    const [plan, centre] = answer.metadata
    expect(timestampMs(plan.changeDate) - timestampMs(plan.creationDate)).toBe(1000)
    expect(timestampMs(centre.changeDate)).toBe(timestampMs(centre.creationDate))

    const forget = (...keys: readonly string[]) =>
      estate.as("manager", "deleteUserMetadata", { userId: "nobody", keys })
    expect(timestampMs((await forget("plan", "absent", "plan")).deletionDate)).toBe(
      estate.clock.now(),
    )
    expect(await listed()).toEqual([["cost centre", "7"]])
    expect((await forget("plan")).deletionDate).toBeUndefined()
  })

  test("that is so already changes nothing", async () => {
    const first = await set({ plan: "gold" })
    const { version, changed } = findUser(estate.cx(), "nobody")
    estate.clock.advance(1000)
    expect(await set({ plan: "gold" })).toEqual(first)
    expect(findUser(estate.cx(), "nobody")).toMatchObject({ version, changed })
    await set({ plan: "gold", other: "x" })
    expect(findUser(estate.cx(), "nobody")).toMatchObject({
      version: version + 1,
      changed: estate.clock.now(),
    })
  })

  test("is bytes, whatever they are", async () => {
    const value = Uint8Array.from({ length: 256 }, (_, at) => at)
    const metadata = [
      { key: "raw", value },
      { key: "empty", value: new Uint8Array() },
      { key: "__proto__", value: bytes("odd") },
    ]
    await estate.as("manager", "setUserMetadata", { userId: "nobody", metadata })
    const held = heldMetadata(estate.cx(), "nobody")
    expect(held.get("raw")).toEqual(value)
    expect(held.get("empty")).toHaveLength(0)
    expect(held.get("__proto__")).toEqual(bytes("odd"))
  })

  test("of twenty who write at once is that of one", async () => {
    const all = Array.from({ length: 20 }, (_, at) => set({ key: `${at}` }))
    const done = await Promise.allSettled(all)
    expect(done.some(({ status }) => status === "fulfilled")).toBe(true)
    expect(await listed()).toHaveLength(1)
  })

  test("is found by key", async () => {
    await set({ plan: "gold", Planet: "earth", other: "x" })
    const by = (key: string, method: number) =>
      listed({ filters: [{ filter: { case: "keyFilter", value: { key, method } } }] })
    expect((await by("plan", 0)).map(([key]: [string]) => key)).toEqual(["plan"])
    expect((await by("plan", 3)).map(([key]: [string]) => key)).toEqual(["Planet", "plan"])
    await expect(listed({ filters: [{}] })).rejects.toMatchObject({ id: "search.filter_empty" })
  })
})

describe("it is refused", () => {
  const big = (length: number) => new Uint8Array(length)
  const many = (count: number, length: number) =>
    Array.from({ length: count }, (_, at) => ({ key: `k${at}`, value: big(length) }))
  const cases: readonly (readonly [string, readonly object[], string])[] = [
    ["nothing", [], "user.metadata_missing"],
    ["no key", [{ key: "", value: big(1) }], "request.field_invalid"],
    ["a key too long", [{ key: "x".repeat(201), value: big(1) }], "request.field_invalid"],
    ["a key with a line break", [{ key: "a\nb", value: big(1) }], "request.field_invalid"],
    ["a key twice", [...many(1, 1), ...many(1, 2)], "user.metadata_twice"],
    ["a value too long", many(1, 500_001), "user.metadata_too_long"],
    ["too many keys", many(501, 1), "user.metadata_too_much"],
    ["too much in all", many(11, 500_000), "user.metadata_too_much"],
  ]
  test.each(cases)("%s", async (_, metadata, id) => {
    const tried = estate.as("manager", "setUserMetadata", { userId: "nobody", metadata })
    await expect(tried).rejects.toMatchObject({ id })
    expect(await listed()).toEqual([])
  })

  test("more than fits beside what there is; what replaces counts instead", async () => {
    const userId = "nobody"
    await estate.as("manager", "setUserMetadata", { userId, metadata: many(10, 500_000) })
    const more = estate.as("manager", "setUserMetadata", { userId, metadata: entries({ x: "x" }) })
    await expect(more).rejects.toMatchObject({ id: "user.metadata_too_much" })
    await set({ k0: "small", x: "x" })
    expect(heldMetadata(estate.cx(), userId).size).toBe(11)
  })
})

describe("who may", () => {
  const metadata = entries({ plan: "platinum" })
  const writes: readonly (readonly [string, object])[] = [
    ["setUserMetadata", { metadata }],
    ["deleteUserMetadata", { keys: ["plan"] }],
  ]
  beforeEach(() => set({ plan: "gold" }))

  test.each(writes)("%s: who may write the user, not they themself", async (name, request) => {
    const by = (who: Person, userId = "nobody") => estate.as(who, name, { userId, ...request })
    expect(() => by("stranger")).toThrow("there is no such user")
    expect(() => by("stranger", "absent")).toThrow("there is no such user")
    expect(() => by("nobody")).toThrow("this needs the permission user.write")
    await by("owner")
  })

  test("listUserMetadata: who may look at the user, and they themself", async () => {
    const own = [["plan", "gold"]]
    for (const who of ["owner", "manager", "nobody"] as const) {
      expect(await listed({}, who)).toEqual(own)
    }
    await expect(listed({}, "stranger")).rejects.toThrow("there is no such user")
    await expect(listed({}, "nobody", "manager")).rejects.toThrow("this needs the permission")
  })
})

describe("a user", () => {
  const plan = entries({ plan: "gold" })
  const created = (request: object) =>
    estate.as("manager", "createUser", { organizationId: "org1", ...request })
  const human = {
    profile: { givenName: "New", familyName: "Person" },
    email: { email: "new@example.com" },
  }

  test("comes with metadata, person or program", async () => {
    const { id } = await created({
      username: "new",
      metadata: plan,
      userType: { case: "human", value: { ...human, metadata: entries({ old: "way" }) } },
    })
    expect(await listed({}, "manager", id)).toEqual([
      ["old", "way"],
      ["plan", "gold"],
    ])
    const robot = { username: "robot", userType: { case: "machine", value: { name: "R" } } }
    const machine = await created({ ...robot, metadata: plan })
    expect(await listed({}, "manager", machine.id)).toEqual([["plan", "gold"]])
    const odd = { username: "odd", metadata: [{ key: "", value: bytes("x") }] }
    await expect(created({ ...robot, ...odd })).rejects.toMatchObject({
      code: "invalid_argument",
    })
  })

  test("comes with metadata as the administrator of a new organisation", async () => {
    const admin = { case: "human", value: { ...human, username: "head", metadata: plan } }
    const { createdAdmins } = await estate.as("owner", "addOrganization", {
      name: "New",
      admins: [{ userType: admin }],
    })
    expect(await listed({}, "owner", createdAdmins[0].userId)).toEqual([["plan", "gold"]])
  })

  test("is updated with it in the same step", async () => {
    const update = (request: object) => estate.as("manager", "updateUser", request)
    await update({ userId: "nobody", username: "somebody", metadata: plan })
    expect(await listed()).toEqual([["plan", "gold"]])
    const wrong = { userId: "nobody", username: "manager", metadata: entries({ plan: "none" }) }
    await expect(update(wrong)).rejects.toMatchObject({ code: "already_exists" })
    expect(await listed()).toEqual([["plan", "gold"]])
  })

  test("is found by what is noted about them", async () => {
    await set({ plan: "gold", place: "Bern" })
    await set({ plan: "silver" }, "manager", "owner")
    await set({ plan: "gold" }, "stranger", "owner")
    const found = async (query: object, who: Person = "owner") => {
      const queries = [{ query }]
      const { result } = await estate.as(who, "listUsers", { query: { asc: true }, queries })
      return result.map(({ userId }: { userId: string }) => userId).toSorted()
    }
    const key = (name: string, method: number) => ({
      case: "metadataKeyFilter",
      value: { key: name, method },
    })
    const value = (text: string, method: number) => ({
      case: "metadataValueFilter",
      value: { value: bytes(text), method },
    })
    expect(await found(key("plan", 0))).toEqual(["manager", "nobody", "stranger"])
    expect(await found(key("plan", 0), "manager")).toEqual(["manager", "nobody"])
    expect(await found(key("PLA", 3))).toEqual(["manager", "nobody", "stranger"])
    expect(await found(key("place", 0))).toEqual(["nobody"])
    expect(await found(value("gold", 0))).toEqual(["nobody", "stranger"])
    expect(await found(value("gold", 0), "manager")).toEqual(["nobody"])
    expect(await found(value("gold", 1))).toEqual(["manager", "nobody"])
    expect(await found(value("gol", 0))).toEqual([])
  })

  test("takes it along: rows are gone, values are erased", async () => {
    await set({ secret: "of somebody" })
    await estate.step((tx) => addUser(tx, "other", person("other", "org1")))
    await set({ secret: "of another" }, "other")
    await removeUser(estate.cx(), "nobody")
    expect(heldMetadata(estate.cx(), "nobody").size).toBe(0)
    const log = JSON.stringify(await estate.store.log.read(0, 1000))
    const inLog = (text: string) => log.includes(Buffer.from(text).toString("base64"))
    expect([inLog("of somebody"), inLog("of another")]).toEqual([false, true])
    await expect(setMetadata(estate.cx(), "nobody", entries({ a: "b" }))).rejects.toMatchObject({
      id: "user.missing",
    })
  })
})

test("replaying the log gives the rows that are there", async () => {
  const world = await openHousehold()
  const cx = world.cx()
  await anna(cx)
  await setMetadata(cx, "u1", entries({ a: "1", b: "2" }))
  await setMetadata(cx, "u1", entries({ a: "3" }))
  const live = heldMetadata(cx, "u1")
  expect(live.get("a")).toEqual(bytes("3"))
  const changed = people.views.map((view) => ({ ...view, hash: `${view.hash} changed` }))
  const again = await world.reopen([orgView, ...changed])
  expect(heldMetadata(again.cx(), "u1")).toEqual(live)
  await again.close()
})
