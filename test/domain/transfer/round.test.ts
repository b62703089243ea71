import { equals } from "@bufbuild/protobuf"
import { TOTP } from "otpauth"
import { afterAll, beforeAll, expect, test } from "vitest"
import { checkPassword } from "../../../src/domain/credential/commands.ts"
import { factorChecks } from "../../../src/domain/factor/check.ts"
import { rows } from "../../../src/domain/transfer/binding/v1-rows.ts"
import { DataOrgSchema } from "../../../src/gen/core/admin/v1/data_pb.ts"
import { type Estate, openEstate } from "../../support/estate.ts"
import { everything, hash, totp } from "./everything.ts"

let estate: Estate
beforeAll(async () => {
  estate = await openEstate(["i1", "i2", "i3"])
})
afterAll(() => estate.close())

const at = (instance: string) => ({ cx: { instance } })
const carried = { withPasswords: true, withOtp: true, withSecrets: true }
const taken = (instance: string, data: object, more: object = {}) =>
  estate.as("owner", "importData", { data, ...more }, at(instance))
const told = (instance: string, more: object = {}) =>
  estate.as(
    "owner",
    "exportData",
    { orgIds: ["corp", "partner"], ...carried, ...more },
    at(instance),
  )
const orgsOf = (orgs: unknown) => ({ case: "dataOrgs", value: { orgs } })

test("every field of an organisation has a row, and no other", () => {
  const fields = DataOrgSchema.fields.map(({ localName }) => localName)
  expect(rows.map(({ field }) => field).toSorted()).toEqual(
    fields.filter((name) => name !== "orgId").toSorted(),
  )
})

test("what is taken over is told as it was, and again elsewhere", async () => {
  const first = await taken("i1", orgsOf(everything))
  expect(first.errors).toEqual([])
  expect(first.success.orgs.map(({ orgId }: { orgId: string }) => orgId)).toEqual([
    "corp",
    "partner",
  ])

  const { orgs } = await told("i1")
  for (const { localName } of DataOrgSchema.fields) {
    const filled = orgs.filter((org: Record<string, unknown>) => {
      const value = org[localName]
      return Array.isArray(value) ? value.length > 0 : value
    })
    expect(filled, `nothing is told of ${localName}`).not.toEqual([])
  }

  // Without its rules, a protected program would be open to everybody who may sign in.
  expect(orgs[0].oidcApps).toMatchObject([
    {
      backEndLogoutAccepted: true,
      plainOauth: true,
      // Without these, users could use the imported application who can't use this one.
      access: { rule: 2, secondFactorRequired: true, allowedNetworks: { cidrs: ["10.0.0.0/8"] } },
      forwardAuth: {
        rules: [{ pathPrefix: "/admin", roleKeys: ["admin"], accessTokens: true }],
        remoteUser: 2,
        tokenForwarded: true,
      },
    },
  ])

  expect(orgs[0].apiApps).toMatchObject([
    {
      scopes: [{ scope: "read:orders", name: "Read orders", description: "All of them" }],
      access: { rule: 3 },
    },
  ])

  const second = await taken("i2", orgsOf(orgs))
  expect(second.errors).toEqual([])
  const again = await told("i2")
  for (const [index, org] of orgs.entries()) {
    expect(again.orgs[index]).toEqual(org)
    expect(equals(DataOrgSchema, again.orgs[index], org)).toBe(true)
  }
})

test("a second import changes nothing, and says so of each thing", async () => {
  const head = estate.store.log.durable()
  const { errors, success } = await taken("i1", orgsOf(everything))
  expect(success.orgs).toEqual([])
  const named = new Set(errors.map(({ type }: { type: string }) => type))
  const fields = DataOrgSchema.fields.filter(({ localName }) => localName !== "orgId")
  expect([...named].toSorted()).toEqual(fields.map(({ name }) => name).toSorted())
  const since = await estate.store.log.read(head, 100)
  expect(since.map(({ type }) => type)).toEqual(["transfer.imported"])
})

test("a dry run says what would be taken, and writes nothing at all", async () => {
  const head = estate.store.log.durable()
  const { errors, success } = await taken("i3", orgsOf(everything), { dryRun: true })
  expect(errors).toEqual([])
  expect(success.orgs[0]).toMatchObject({ orgId: "corp", humanUserIds: ["ada", "bob", "cy"] })
  expect(estate.store.log.durable()).toBe(head)
  const { orgs } = await estate.as("owner", "exportData", {}, at("i3"))
  expect(orgs.map(({ orgId }: { orgId: string }) => orgId)).toEqual(["org1", "org2"])
})

test("who was taken over signs in with their old password and app", async () => {
  const cx = estate.cx({ instance: "i2" })
  expect(await checkPassword(cx, "ada", "correct horse battery")).toBe("ok")
  expect(await checkPassword(cx, "ada", "another one")).toBe("wrong")
  const token = new TOTP({ secret: totp }).generate({ timestamp: cx.clock.now() })
  const admit = await factorChecks.totp(cx, { userId: "ada", given: token })
  const step = await cx.store.transact(cx, admit)
  expect(step.value).toMatchObject({ isRight: true, methods: ["otp"] })
})

test("without being asked, no hash, no secret and no key of an app is told", async () => {
  const off = { withPasswords: false, withOtp: false, withSecrets: false }
  const { orgs } = await told("i1", off)
  const text = JSON.stringify(orgs, (_, value) => (typeof value === "bigint" ? `${value}` : value))
  for (const secret of [hash, totp, "hidden"]) expect(text).not.toContain(secret)
})

test("the console's own project stays where it is", async () => {
  const { orgs } = await estate.as("owner", "exportData", { orgIds: ["org1"] }, at("i1"))
  expect(orgs[0]).toMatchObject({ projects: [], oidcApps: [], projectMembers: [] })
  expect(orgs[0].humanUsers.map(({ userId }: { userId: string }) => userId)).toContain("manager")
})

test("an application of data from before has ID tokens and roles as it had them", async () => {
  const earlier = everything.map(({ oidcApps = [], ...org }) => ({
    ...org,
    oidcApps: oidcApps.map(
      ({ idTokenProjectAudience: _, idTokenClientId: __, genericRolesClaim: ___, ...app }) => app,
    ),
  }))
  expect((await taken("i3", orgsOf(earlier))).errors).toEqual([])
  const { orgs } = await told("i3")
  expect(orgs[0].oidcApps).toMatchObject([
    {
      appId: "web",
      idTokenProjectAudience: true,
      idTokenClientId: true,
      genericRolesClaim: true,
    },
  ])
})
