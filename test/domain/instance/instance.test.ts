import { afterEach, beforeEach, expect, test } from "vitest"
import {
  addInstance,
  addInstanceMember,
  changeInstanceMember,
  removeInstanceMember,
  requireRemainingOwner,
  setPublicUrl,
  signInAbilities,
} from "../../../src/domain/instance/index.ts"
import { lockUser } from "../../../src/domain/user/index.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const allUsable = () => signInAbilities.lasting
const onlyUsable = (usable: string) => (userId: string) =>
  userId === usable ? signInAbilities.lasting : signInAbilities.none

test("setup is done once", async () => {
  const again = estate.step((tx) =>
    addInstance(tx, { name: "Other", publicUrl: "https://other.example.com" }),
  )
  await expect(again).rejects.toMatchObject({ code: "already_exists", id: "instance.exists" })
})

test("the public address must be an origin", async () => {
  const wrong = ["id.example.com", "ftp://id.example.com", "https://id.example.com/path", ""]
  for (const url of [...wrong, "https://u:p@id.example.com", "https://id.example.com/?a"]) {
    await expect(setPublicUrl(estate.cx(), "i1", url)).rejects.toMatchObject({
      id: "instance.public_url_invalid",
      message: expect.stringContaining("without a path: Latchkey requires its own host name"),
    })
  }
  await setPublicUrl(estate.cx(), "i1", "http://localhost:8080/")
  const { result } = await estate.as("owner", "listInstanceDomains")
  expect(result).toMatchObject([{ domain: "localhost", primary: true }])
})

test("the last owner can neither be removed nor demoted", async () => {
  const cx = estate.cx()
  const leaves = removeInstanceMember(cx, "i1", { userId: "owner", abilityOf: allUsable })
  await expect(leaves).rejects.toMatchObject({ id: "instance.last_owner" })
  const less = changeInstanceMember(cx, "i1", {
    userId: "owner",
    roles: ["IAM_OWNER_VIEWER"],
    abilityOf: allUsable,
  })
  await expect(less).rejects.toMatchObject({ id: "instance.last_owner" })
})

test("an owner can be removed once another owner can sign in", async () => {
  const cx = estate.cx()
  await addInstanceMember(cx, "i1", { userId: "manager", orgId: "org1", roles: ["IAM_OWNER"] })
  const locked = removeInstanceMember(cx, "i1", { userId: "owner", abilityOf: onlyUsable("owner") })
  await expect(locked).rejects.toMatchObject({ id: "instance.last_owner" })
  await removeInstanceMember(cx, "i1", { userId: "owner", abilityOf: allUsable })
  await expect(lockUser(cx, "manager")).rejects.toMatchObject({ id: "instance.last_owner" })
})

test("a user without roles is not counted as an owner", async () => {
  await estate.step((tx) =>
    expect(() => requireRemainingOwner(tx, "nobody", { abilityOf: onlyUsable("") })).not.toThrow(),
  )
})

test("two owners who demote each other concurrently leave one owner", async () => {
  const cx = estate.cx()
  await addInstanceMember(cx, "i1", { userId: "manager", orgId: "org1", roles: ["IAM_OWNER"] })
  const both = await Promise.allSettled(
    ["owner", "manager"].map((userId) =>
      removeInstanceMember(cx, "i1", { userId, abilityOf: allUsable }),
    ),
  )
  expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"])
})

test("v1 and v2 return the instance to callers who can read it", async () => {
  const { instance } = await estate.as("owner", "getInstance", { instanceId: "i1" })
  expect(instance).toMatchObject({
    id: "i1",
    name: "Home",
    state: 2,
    customDomains: [{ domain: "id.example.com", primary: true }],
  })
  expect((await estate.as("owner", "getMyInstance")).instance).toMatchObject({ id: "i1" })
  expect(() => estate.as("manager", "getMyInstance")).toThrow("iam.read")
  expect(() => estate.as("owner", "getInstance", { instanceId: "i2" })).toThrow(
    "instance not found",
  )
})

test("v1 sorts domains as requested, by name by default", async () => {
  const add = (customDomain: string) =>
    estate.as("system", "addCustomDomain", { instanceId: "i1", customDomain })
  await add("z.example.com")
  await add("b.example.com")
  const sorted = async (sortingColumn: number) => {
    const request = { query: { asc: true }, sortingColumn }
    const { result } = await estate.as("owner", "listInstanceDomains", request)
    return result.map(({ domain }: { domain: string }) => domain.split(".")[0]).join(" ")
  }
  expect(await sorted(0)).toBe("b id z")
  expect(await sorted(1)).toBe("b id z")
  expect(await sorted(2)).toBe("b z id")
})

test("domains are searched by substring in any case", async () => {
  const total = async (...queries: object[]) =>
    (await estate.as("owner", "listInstanceDomains", { queries })).details.totalResult
  const domain = (text: string, method: number) => ({
    query: { case: "domainQuery", value: { domain: text, method } },
  })
  expect(await total(domain("ID.EXAMPLE.COM", 1))).toBe(1n)
  expect(await total(domain("example", 4))).toBe(1n)
  expect(await total(domain("other", 4))).toBe(0n)
  expect(await total({ query: { case: "generatedQuery", value: { generated: true } } })).toBe(0n)
})

test("every client can request the built-in IDs of the instance", async () => {
  expect(await estate.as("nobody", "getIAM")).toMatchObject({
    defaultOrgId: "org1",
    iamProjectId: "own",
  })
})
