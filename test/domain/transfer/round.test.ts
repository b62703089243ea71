import { equals } from "@bufbuild/protobuf"
import { TOTP } from "otpauth"
import { afterAll, beforeAll, expect, test } from "vitest"
import { checkPassword } from "../../../src/domain/credential/commands.ts"
import { factorChecks } from "../../../src/domain/factor/check.ts"
import { itemKinds } from "../../../src/domain/transfer/binding/v1-item-kinds.ts"
import { DataOrgSchema } from "../../../src/gen/core/admin/v1/data_pb.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"
import { everything, hash, totp } from "./everything.ts"

let estate: Tenant
beforeAll(async () => {
  estate = await openTenant(["i1", "i2", "i3"])
})
afterAll(() => estate.close())

const callOn = (instance: string) => ({ cx: { instance } })
const withCredentials = { withPasswords: true, withOtp: true, withSecrets: true }
const importData = (instance: string, data: object, more: object = {}) =>
  estate.as("owner", "importData", { data, ...more }, callOn(instance))
const exportData = (instance: string, more: object = {}) =>
  estate.as(
    "owner",
    "exportData",
    { orgIds: ["corp", "partner"], ...withCredentials, ...more },
    callOn(instance),
  )
const orgsOf = (orgs: unknown) => ({ case: "dataOrgs", value: { orgs } })

test("every field of an organization has a row, and no other", () => {
  const fields = DataOrgSchema.fields.map(({ localName }) => localName)
  expect(itemKinds.map(({ field }) => field).toSorted()).toEqual(
    fields.filter((name) => name !== "orgId").toSorted(),
  )
})

test("imported data is exported unchanged, and can be imported elsewhere", async () => {
  const first = await importData("i1", orgsOf(everything))
  expect(first.errors).toEqual([])
  expect(first.success.orgs.map(({ orgId }: { orgId: string }) => orgId)).toEqual([
    "corp",
    "partner",
  ])

  const { orgs } = await exportData("i1")
  for (const { localName } of DataOrgSchema.fields) {
    const filled = orgs.filter((org: Record<string, unknown>) => {
      const value = org[localName]
      return Array.isArray(value) ? value.length > 0 : value
    })
    expect(filled, `nothing is told of ${localName}`).not.toEqual([])
  }

  // Without its rules, a protected application would be open to every user.
  expect(orgs[0].oidcApps).toMatchObject([
    {
      backEndLogoutAccepted: true,
      plainOauth: true,
      // Without these, users who can't use this application could use the imported one.
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

  const second = await importData("i2", orgsOf(orgs))
  expect(second.errors).toEqual([])
  const again = await exportData("i2")
  for (const [index, org] of orgs.entries()) {
    expect(again.orgs[index]).toEqual(org)
    expect(equals(DataOrgSchema, again.orgs[index], org)).toBe(true)
  }
})

test("a second import changes nothing and reports this for each record", async () => {
  const head = estate.store.log.durable()
  const { errors, success } = await importData("i1", orgsOf(everything))
  expect(success.orgs).toEqual([])
  const named = new Set(errors.map(({ type }: { type: string }) => type))
  const fields = DataOrgSchema.fields.filter(({ localName }) => localName !== "orgId")
  expect([...named].toSorted()).toEqual(fields.map(({ name }) => name).toSorted())
  const since = await estate.store.log.read(head, 100)
  expect(since.map(({ type }) => type)).toEqual(["transfer.imported"])
})

test("a dry run reports the result and writes nothing", async () => {
  const head = estate.store.log.durable()
  const { errors, success } = await importData("i3", orgsOf(everything), { dryRun: true })
  expect(errors).toEqual([])
  expect(success.orgs[0]).toMatchObject({ orgId: "corp", humanUserIds: ["ada", "bob", "cy"] })
  expect(estate.store.log.durable()).toBe(head)
  const { orgs } = await estate.as("owner", "exportData", {}, callOn("i3"))
  expect(orgs.map(({ orgId }: { orgId: string }) => orgId)).toEqual(["org1", "org2"])
})

test("imported users sign in with their previous password and authenticator app", async () => {
  const cx = estate.cx({ instance: "i2" })
  expect(await checkPassword(cx, "ada", "correct horse battery")).toBe("ok")
  expect(await checkPassword(cx, "ada", "another one")).toBe("wrong")
  const token = new TOTP({ secret: totp }).generate({ timestamp: cx.clock.now() })
  const admit = await factorChecks.totp(cx, { userId: "ada", given: token })
  const step = await cx.store.transact(cx, admit)
  expect(step.value).toMatchObject({ isRight: true, methods: ["otp"] })
})

test("hashes, secrets, and app keys are exported on request only", async () => {
  const off = { withPasswords: false, withOtp: false, withSecrets: false }
  const { orgs } = await exportData("i1", off)
  const text = JSON.stringify(orgs, (_, value) => (typeof value === "bigint" ? `${value}` : value))
  for (const secret of [hash, totp, "hidden"]) expect(text).not.toContain(secret)
})

test("the console's project is not exported", async () => {
  const { orgs } = await estate.as("owner", "exportData", { orgIds: ["org1"] }, callOn("i1"))
  expect(orgs[0]).toMatchObject({ projects: [], oidcApps: [], projectMembers: [] })
  expect(orgs[0].humanUsers.map(({ userId }: { userId: string }) => userId)).toContain("manager")
})

test("an application of an older export keeps its ID token and role settings", async () => {
  const earlier = everything.map(({ oidcApps = [], ...org }) => ({
    ...org,
    oidcApps: oidcApps.map(
      ({ idTokenProjectAudience: _, idTokenClientId: __, genericRolesClaim: ___, ...app }) => app,
    ),
  }))
  expect((await importData("i3", orgsOf(earlier))).errors).toEqual([])
  const { orgs } = await exportData("i3")
  expect(orgs[0].oidcApps).toMatchObject([
    {
      appId: "web",
      idTokenProjectAudience: true,
      idTokenClientId: true,
      genericRolesClaim: true,
    },
  ])
})
