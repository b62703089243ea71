import { afterEach, beforeEach, expect, test } from "vitest"
import {
  addInstance,
  addInstanceMember,
  changeInstanceMember,
  keepOwner,
  removeInstanceMember,
  setPublicUrl,
  standings,
} from "../../../src/domain/instance/index.ts"
import { lockUser } from "../../../src/domain/user/index.ts"
import { type Estate, openEstate } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
})
afterEach(() => estate.close())

const everybody = () => standings.lasting
const only = (usable: string) => (userId: string) =>
  userId === usable ? standings.lasting : standings.none

test("set-up is done once", async () => {
  const again = estate.step((tx) =>
    addInstance(tx, { name: "Other", publicUrl: "https://other.example.com" }),
  )
  await expect(again).rejects.toMatchObject({ code: "already_exists", id: "instance.exists" })
})

test("the public address is an origin and nothing more", async () => {
  const wrong = ["id.example.com", "ftp://id.example.com", "https://id.example.com/path", ""]
  for (const url of [...wrong, "https://u:p@id.example.com", "https://id.example.com/?a"]) {
    await expect(setPublicUrl(estate.cx(), "i1", url)).rejects.toMatchObject({
      id: "instance.public_url_invalid",
      message: expect.stringContaining("without a path: Latchkey needs a host name of its own"),
    })
  }
  await setPublicUrl(estate.cx(), "i1", "http://localhost:8080/")
  const { result } = await estate.as("owner", "listInstanceDomains")
  expect(result).toMatchObject([{ domain: "localhost", primary: true }])
})

test("the last owner can neither leave nor be made less", async () => {
  const cx = estate.cx()
  const leaves = removeInstanceMember(cx, "i1", { userId: "owner", standingOf: everybody })
  await expect(leaves).rejects.toMatchObject({ id: "instance.last_owner" })
  const less = changeInstanceMember(cx, "i1", {
    userId: "owner",
    roles: ["IAM_OWNER_VIEWER"],
    standingOf: everybody,
  })
  await expect(less).rejects.toMatchObject({ id: "instance.last_owner" })
})

test("an owner may leave as soon as another one can sign in", async () => {
  const cx = estate.cx()
  await addInstanceMember(cx, "i1", { userId: "manager", orgId: "org1", roles: ["IAM_OWNER"] })
  const locked = removeInstanceMember(cx, "i1", { userId: "owner", standingOf: only("owner") })
  await expect(locked).rejects.toMatchObject({ id: "instance.last_owner" })
  await removeInstanceMember(cx, "i1", { userId: "owner", standingOf: everybody })
  await expect(lockUser(cx, "manager")).rejects.toMatchObject({ id: "instance.last_owner" })
})

test("who owns nothing is nobody's last owner", async () => {
  await estate.step((tx) =>
    expect(() => keepOwner(tx, "nobody", { standingOf: only("") })).not.toThrow(),
  )
})

test("two who demote each other at once leave one owner", async () => {
  const cx = estate.cx()
  await addInstanceMember(cx, "i1", { userId: "manager", orgId: "org1", roles: ["IAM_OWNER"] })
  const both = await Promise.allSettled(
    ["owner", "manager"].map((userId) =>
      removeInstanceMember(cx, "i1", { userId, standingOf: everybody }),
    ),
  )
  expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"])
})

test("v1 and v2 show the instance to who may read it", async () => {
  const { instance } = await estate.as("owner", "getInstance", { instanceId: "i1" })
  expect(instance).toMatchObject({
    id: "i1",
    name: "Home",
    state: 2,
    customDomains: [{ domain: "id.example.com", primary: true }],
  })
  expect((await estate.as("owner", "getMyInstance")).instance).toMatchObject({ id: "i1" })
  expect(() => estate.as("manager", "getMyInstance")).toThrow("iam.read")
  expect(() => estate.as("owner", "getInstance", { instanceId: "i2" })).toThrow("no such instance")
})

test("v1 sorts domains as it is asked, by their names unless told", async () => {
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

test("domains are searched by part, whatever their case", async () => {
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

test("every client may ask for the ids that the instance itself uses", async () => {
  expect(await estate.as("nobody", "getIAM")).toMatchObject({
    defaultOrgId: "org1",
    iamProjectId: "own",
  })
})
