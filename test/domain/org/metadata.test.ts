import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const entries = (values: Readonly<Record<string, string>>) =>
  Object.entries(values).map(([key, value]) => ({ key, value: Buffer.from(value) }))

const setMetadata = (values: Readonly<Record<string, string>>, user: TenantUser = "manager") =>
  estate.as(user, "setOrganizationMetadata", { organizationId: "org1", metadata: entries(values) })

const deleteMetadata = (...keys: readonly string[]) =>
  estate.as("manager", "deleteOrganizationMetadata", { organizationId: "org1", keys })

const listMetadata = async (request: object = {}, user: TenantUser = "manager") => {
  const { metadata, pagination } = await estate.as(user, "listOrganizationMetadata", {
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

test("metadata of an organization is kept by key, replaced, and forgotten", async () => {
  const { setDate } = await setMetadata({ plan: "gold", "cost centre": "7" })
  expect(timestampMs(setDate)).toBe(estate.clock.now())
  estate.clock.advance(1000)
  await setMetadata({ plan: "silver" })
  expect(await listMetadata()).toEqual([
    ["cost centre", "7"],
    ["plan", "silver"],
  ])
  const { metadata } = await estate.as("manager", "listOrganizationMetadata", {
    organizationId: "org1",
  })
  expect(timestampMs(metadata[0].changeDate) - timestampMs(metadata[0].creationDate)).toBe(1000)
  expect(await deleteMetadata("plan", "plan", "absent")).toHaveProperty("deletionDate")
  expect((await deleteMetadata("plan")).deletionDate).toBeUndefined()
  expect(await listMetadata()).toEqual([["cost centre", "7"]])
})

test("unchanged values are not written again", async () => {
  await setMetadata({ plan: "gold" })
  const before = estate.store.log.durable()
  await setMetadata({ plan: "gold" })
  expect(estate.store.log.durable()).toBe(before)
})

test("metadata is found by key", async () => {
  await setMetadata({ plan: "gold", Place: "here", cost: "7" })
  const filters = [{ filter: { case: "keyFilter", value: { key: "pl", method: 3 } } }]
  expect(await listMetadata({ filters })).toEqual([
    ["Place", "here"],
    ["plan", "gold"],
  ])
  await expect(async () => listMetadata({ filters: [{}] })).rejects.toMatchObject({
    id: "search.filter_empty",
  })
})

test.each<[string, readonly object[]]>([
  ["nothing", []],
  ["the browser created no key", entries({ "": "x" })],
  ["a key twice", [...entries({ a: "x" }), ...entries({ " a ": "y" })]],
  ["a long key", entries({ ["x".repeat(201)]: "x" })],
  ["a long value", [{ key: "a", value: new Uint8Array(500_001) }]],
])("rejects metadata with %s", async (_, metadata) => {
  const noted = estate.as("manager", "setOrganizationMetadata", {
    organizationId: "org1",
    metadata,
  })
  await expect(noted).rejects.toMatchObject({ code: "invalid_argument" })
  await expect(deleteMetadata()).rejects.toMatchObject({ code: "invalid_argument" })
})

test("limits the amount of metadata", async () => {
  const many = Object.fromEntries(Array.from({ length: 501 }, (_, at) => [`k${at}`, "x"]))
  await expect(setMetadata(many)).rejects.toMatchObject({ id: "org.metadata_too_much" })
  const value = new Uint8Array(500_000)
  for (let at = 0; at < 10; at++) {
    await estate.as("manager", "setOrganizationMetadata", {
      organizationId: "org1",
      metadata: [{ key: `k${at}`, value }],
    })
  }
  await expect(setMetadata({ more: "x" })).rejects.toMatchObject({ id: "org.metadata_too_much" })
  await estate.as("manager", "setOrganizationMetadata", {
    organizationId: "org1",
    metadata: [{ key: "k0", value: new Uint8Array(1) }],
  })
  await setMetadata({ more: "x" })
})

test("requires the permission to read or write the organization", async () => {
  await setMetadata({ plan: "gold" })
  expect(await listMetadata({}, "owner")).toEqual([["plan", "gold"]])
  expect(() => setMetadata({ plan: "lead" }, "stranger")).toThrow("organization not found")
  expect(() => setMetadata({ plan: "lead" }, "nobody")).toThrow("org.write")
  await expect(async () => listMetadata({}, "stranger")).rejects.toMatchObject({
    code: "not_found",
  })
  await expect(async () => listMetadata({}, "nobody")).rejects.toMatchObject({
    code: "permission_denied",
  })
})
