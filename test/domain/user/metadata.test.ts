import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { orgView } from "../../../src/domain/org/view.ts"
import { addUser, listMetadata, removeUser, setMetadata } from "../../../src/domain/user/index.ts"
import { requireUserRow } from "../../../src/domain/user-lookup/query.ts"
import { humanInput, openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"
import * as people from "../../support/user-modules.ts"
import { createAnna, openUserWorld } from "./household.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const bytes = (text: string) => new TextEncoder().encode(text)
const entries = (values: Readonly<Record<string, string>>) =>
  Object.entries(values).map(([key, value]) => ({ key, value: bytes(value) }))

const setUserMetadata = (
  values: Readonly<Record<string, string>>,
  userId = "nobody",
  user: TenantUser = "manager",
) => estate.as(user, "setUserMetadata", { userId, metadata: entries(values) })

const listUserMetadata = async (
  request: object = {},
  user: TenantUser = "manager",
  userId = "nobody",
) => {
  const { metadata, pagination } = await estate.as(user, "listUserMetadata", {
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
  test("of one key can be changed after another key has changed since the read", async () => {
    await setUserMetadata({ plan: "gold" })
    const expectedVersion = estate.store.log.durable()
    await setUserMetadata({ color: "red" })
    // An update by the same request is not a conflicting change.
    const requestId = "another"
    const change = (value: string) =>
      setMetadata(estate.cx({ expectedVersion, requestId }), "nobody", entries({ plan: value }))
    await change("silver")
    await setUserMetadata({ plan: "bronze" })
    await expect(change("gold")).rejects.toMatchObject({ id: "edit.stale" })
  })

  test("is stored by key, replaced, and deleted", async () => {
    const { setDate } = await setUserMetadata({ plan: "gold", "cost centre": "7" })
    expect(timestampMs(setDate)).toBe(estate.clock.now())
    expect(await listUserMetadata()).toEqual([
      ["cost centre", "7"],
      ["plan", "gold"],
    ])
    estate.clock.advance(1000)
    await setUserMetadata({ plan: "silver" })
    const answer = await estate.as("manager", "listUserMetadata", { userId: "nobody" })
    const [plan, centre] = answer.metadata
    expect(timestampMs(plan.changeDate) - timestampMs(plan.creationDate)).toBe(1000)
    expect(timestampMs(centre.changeDate)).toBe(timestampMs(centre.creationDate))

    const forget = (...keys: readonly string[]) =>
      estate.as("manager", "deleteUserMetadata", { userId: "nobody", keys })
    expect(timestampMs((await forget("plan", "absent", "plan")).deletionDate)).toBe(
      estate.clock.now(),
    )
    expect(await listUserMetadata()).toEqual([["cost centre", "7"]])
    expect((await forget("plan")).deletionDate).toBeUndefined()
  })

  test("is unchanged if it is set to the same value", async () => {
    const first = await setUserMetadata({ plan: "gold" })
    const { version, changed } = requireUserRow(estate.cx(), "nobody")
    estate.clock.advance(1000)
    expect(await setUserMetadata({ plan: "gold" })).toEqual(first)
    expect(requireUserRow(estate.cx(), "nobody")).toMatchObject({ version, changed })
    await setUserMetadata({ plan: "gold", other: "x" })
    expect(requireUserRow(estate.cx(), "nobody")).toMatchObject({
      version: version + 1,
      changed: estate.clock.now(),
    })
  })

  test("can be any bytes", async () => {
    const value = Uint8Array.from({ length: 256 }, (_, at) => at)
    const metadata = [
      { key: "raw", value },
      { key: "empty", value: new Uint8Array() },
      { key: "__proto__", value: bytes("odd") },
    ]
    await estate.as("manager", "setUserMetadata", { userId: "nobody", metadata })
    const held = listMetadata(estate.cx(), "nobody")
    expect(held.get("raw")).toEqual(value)
    expect(held.get("empty")).toHaveLength(0)
    expect(held.get("__proto__")).toEqual(bytes("odd"))
  })

  test("is that of one of twenty concurrent writes", async () => {
    const all = Array.from({ length: 20 }, (_, at) => setUserMetadata({ key: `${at}` }))
    const done = await Promise.allSettled(all)
    expect(done.some(({ status }) => status === "fulfilled")).toBe(true)
    expect(await listUserMetadata()).toHaveLength(1)
  })

  test("is found by key", async () => {
    await setUserMetadata({ plan: "gold", Planet: "earth", other: "x" })
    const by = (key: string, method: number) =>
      listUserMetadata({ filters: [{ filter: { case: "keyFilter", value: { key, method } } }] })
    expect((await by("plan", 0)).map(([key]: [string]) => key)).toEqual(["plan"])
    expect((await by("plan", 3)).map(([key]: [string]) => key)).toEqual(["Planet", "plan"])
    await expect(listUserMetadata({ filters: [{}] })).rejects.toMatchObject({
      id: "search.filter_empty",
    })
  })
})

describe("it is rejected", () => {
  const big = (length: number) => new Uint8Array(length)
  const many = (count: number, length: number) =>
    Array.from({ length: count }, (_, at) => ({ key: `k${at}`, value: big(length) }))
  const cases: readonly (readonly [string, readonly object[], string])[] = [
    ["nothing", [], "user.metadata_missing"],
    ["the browser created no key", [{ key: "", value: big(1) }], "request.field_invalid"],
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
    expect(await listUserMetadata()).toEqual([])
  })

  test("above the limit, where replaced entries do not count twice", async () => {
    const userId = "nobody"
    await estate.as("manager", "setUserMetadata", { userId, metadata: many(10, 500_000) })
    const more = estate.as("manager", "setUserMetadata", { userId, metadata: entries({ x: "x" }) })
    await expect(more).rejects.toMatchObject({ id: "user.metadata_too_much" })
    await setUserMetadata({ k0: "small", x: "x" })
    expect(listMetadata(estate.cx(), userId).size).toBe(11)
  })
})

describe("permissions", () => {
  const metadata = entries({ plan: "platinum" })
  const writes: readonly (readonly [string, object])[] = [
    ["setUserMetadata", { metadata }],
    ["deleteUserMetadata", { keys: ["plan"] }],
  ]
  beforeEach(() => setUserMetadata({ plan: "gold" }))

  test.each(writes)("%s: callers who can write the user, not the user", async (name, request) => {
    const by = (user: TenantUser, userId = "nobody") =>
      estate.as(user, name, { userId, ...request })
    expect(() => by("stranger")).toThrow("user not found")
    expect(() => by("stranger", "absent")).toThrow("user not found")
    expect(() => by("nobody")).toThrow("permission denied: user.write is required")
    await by("owner")
  })

  test("listUserMetadata: callers who can read the user, and the user", async () => {
    const own = [["plan", "gold"]]
    for (const who of ["owner", "manager", "nobody"] as const) {
      expect(await listUserMetadata({}, who)).toEqual(own)
    }
    await expect(listUserMetadata({}, "stranger")).rejects.toThrow("user not found")
    await expect(listUserMetadata({}, "nobody", "manager")).rejects.toThrow(
      "permission denied: user.read is required",
    )
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

  test("is created with metadata, as a human user or service account", async () => {
    const { id } = await created({
      username: "new",
      metadata: plan,
      userType: { case: "human", value: { ...human, metadata: entries({ old: "way" }) } },
    })
    expect(await listUserMetadata({}, "manager", id)).toEqual([
      ["old", "way"],
      ["plan", "gold"],
    ])
    const robot = { username: "robot", userType: { case: "machine", value: { name: "R" } } }
    const machine = await created({ ...robot, metadata: plan })
    expect(await listUserMetadata({}, "manager", machine.id)).toEqual([["plan", "gold"]])
    const odd = { username: "odd", metadata: [{ key: "", value: bytes("x") }] }
    await expect(created({ ...robot, ...odd })).rejects.toMatchObject({
      code: "invalid_argument",
    })
  })

  test("is created with metadata as the administrator of a new organization", async () => {
    const admin = { case: "human", value: { ...human, username: "head", metadata: plan } }
    const { createdAdmins } = await estate.as("owner", "addOrganization", {
      name: "New",
      admins: [{ userType: admin }],
    })
    expect(await listUserMetadata({}, "owner", createdAdmins[0].userId)).toEqual([["plan", "gold"]])
  })

  test("is updated with metadata in the same step", async () => {
    const update = (request: object) => estate.as("manager", "updateUser", request)
    await update({ userId: "nobody", username: "somebody", metadata: plan })
    expect(await listUserMetadata()).toEqual([["plan", "gold"]])
    const wrong = { userId: "nobody", username: "manager", metadata: entries({ plan: "none" }) }
    await expect(update(wrong)).rejects.toMatchObject({ code: "already_exists" })
    expect(await listUserMetadata()).toEqual([["plan", "gold"]])
  })

  test("is found by metadata", async () => {
    await setUserMetadata({ plan: "gold", place: "Bern" })
    await setUserMetadata({ plan: "silver" }, "manager", "owner")
    await setUserMetadata({ plan: "gold" }, "stranger", "owner")
    const found = async (query: object, user: TenantUser = "owner") => {
      const queries = [{ query }]
      const { result } = await estate.as(user, "listUsers", { query: { asc: true }, queries })
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

  test("loses metadata at deletion: rows are removed, values erased", async () => {
    await setUserMetadata({ secret: "of somebody" })
    await estate.step((tx) => addUser(tx, "other", humanInput("other", "org1")))
    await setUserMetadata({ secret: "of another" }, "other")
    await removeUser(estate.cx(), "nobody")
    expect(listMetadata(estate.cx(), "nobody").size).toBe(0)
    const log = JSON.stringify(await estate.store.log.read(0, 1000))
    const inLog = (text: string) => log.includes(Buffer.from(text).toString("base64"))
    expect([inLog("of somebody"), inLog("of another")]).toEqual([false, true])
    await expect(setMetadata(estate.cx(), "nobody", entries({ a: "b" }))).rejects.toMatchObject({
      id: "user.missing",
    })
  })
})

test("replaying the log produces the existing rows", async () => {
  const world = await openUserWorld()
  const cx = world.cx()
  await createAnna(cx)
  await setMetadata(cx, "u1", entries({ a: "1", b: "2" }))
  await setMetadata(cx, "u1", entries({ a: "3" }))
  const live = listMetadata(cx, "u1")
  expect(live.get("a")).toEqual(bytes("3"))
  const changed = people.views.map((view) => ({ ...view, hash: `${view.hash} changed` }))
  const again = await world.reopen([orgView, ...changed])
  expect(listMetadata(again.cx(), "u1")).toEqual(live)
  await again.close()
})
