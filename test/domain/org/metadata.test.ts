import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { type Estate, openEstate, type Person } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
})
afterEach(() => estate.close())

const entries = (values: Readonly<Record<string, string>>) =>
  Object.entries(values).map(([key, value]) => ({ key, value: Buffer.from(value) }))

const set = (values: Readonly<Record<string, string>>, who: Person = "manager") =>
  estate.as(who, "setOrganizationMetadata", { organizationId: "org1", metadata: entries(values) })

const forget = (...keys: readonly string[]) =>
  estate.as("manager", "deleteOrganizationMetadata", { organizationId: "org1", keys })

const listed = async (request: object = {}, who: Person = "manager") => {
  const { metadata, pagination } = await estate.as(who, "listOrganizationMetadata", {
    organizationId: "org1",
    pagination: { asc: true },
    ...request,
  })
  expect(pagination.totalResult).toBe(BigInt(metadata.length))
  return metadata.map(({ key, value }: { key: string; value: Uint8Array }) => [
    key,
    Buffer.from(value).toString(),
  ])
}

test("metadata of an organisation is kept by key, replaced, and forgotten", async () => {
  const { setDate } = await set({ plan: "gold", "cost centre": "7" })
  expect(timestampMs(setDate)).toBe(estate.clock.now())
  estate.clock.advance(1000)
  await set({ plan: "silver" })
  expect(await listed()).toEqual([
    ["cost centre", "7"],
    ["plan", "silver"],
  ])
  const { metadata } = await estate.as("manager", "listOrganizationMetadata", {
    organizationId: "org1",
  })
  expect(timestampMs(metadata[0].changeDate) - timestampMs(metadata[0].creationDate)).toBe(1000)
  expect(await forget("plan", "plan", "absent")).toHaveProperty("deletionDate")
  expect((await forget("plan")).deletionDate).toBeUndefined()
  expect(await listed()).toEqual([["cost centre", "7"]])
})

test("what is so already is not written again", async () => {
  await set({ plan: "gold" })
  const before = estate.store.log.durable()
  await set({ plan: "gold" })
  expect(estate.store.log.durable()).toBe(before)
})

test("metadata is found by key", async () => {
  await set({ plan: "gold", Place: "here", cost: "7" })
  const filters = [{ filter: { case: "keyFilter", value: { key: "pl", method: 3 } } }]
  expect(await listed({ filters })).toEqual([
    ["Place", "here"],
    ["plan", "gold"],
  ])
  await expect(async () => listed({ filters: [{}] })).rejects.toMatchObject({
    id: "search.filter_empty",
  })
})

test.each<[string, readonly object[]]>([
  ["nothing", []],
  ["no key", entries({ "": "x" })],
  ["a key twice", [...entries({ a: "x" }), ...entries({ " a ": "y" })]],
  ["a long key", entries({ ["x".repeat(201)]: "x" })],
  ["a long value", [{ key: "a", value: new Uint8Array(500_001) }]],
])("metadata with %s is refused", async (_, metadata) => {
  const noted = estate.as("manager", "setOrganizationMetadata", {
    organizationId: "org1",
    metadata,
  })
  await expect(noted).rejects.toMatchObject({ code: "invalid_argument" })
  await expect(forget()).rejects.toMatchObject({ code: "invalid_argument" })
})

test("there is only so much of it", async () => {
  const many = Object.fromEntries(Array.from({ length: 501 }, (_, at) => [`k${at}`, "x"]))
  await expect(set(many)).rejects.toMatchObject({ id: "org.metadata_too_much" })
  const value = new Uint8Array(500_000)
  for (let at = 0; at < 10; at++) {
    await estate.as("manager", "setOrganizationMetadata", {
      organizationId: "org1",
      metadata: [{ key: `k${at}`, value }],
    })
  }
  await expect(set({ more: "x" })).rejects.toMatchObject({ id: "org.metadata_too_much" })
  await estate.as("manager", "setOrganizationMetadata", {
    organizationId: "org1",
    metadata: [{ key: "k0", value: new Uint8Array(1) }],
  })
  await set({ more: "x" })
})

test("it is for those who may read or write the organisation", async () => {
  await set({ plan: "gold" })
  expect(await listed({}, "owner")).toEqual([["plan", "gold"]])
  expect(() => set({ plan: "lead" }, "stranger")).toThrow("no such organisation")
  expect(() => set({ plan: "lead" }, "nobody")).toThrow("org.write")
  await expect(async () => listed({}, "stranger")).rejects.toMatchObject({ code: "not_found" })
  await expect(async () => listed({}, "nobody")).rejects.toMatchObject({
    code: "permission_denied",
  })
})
