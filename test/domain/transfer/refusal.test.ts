import { afterAll, beforeAll, expect, test } from "vitest"
import { createRole } from "../../../src/domain/member/custom-role-commands.ts"
import { addMember } from "../../../src/domain/member/index.ts"
import { createReport } from "../../../src/domain/transfer/binding/v1-import.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { createSigningPair } from "../../../src/kernel/crypto/signing-key.ts"
import { humanInput, openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeAll(async () => {
  estate = await openTenant()
})
afterAll(() => estate.close())

type RejectedRecord = { readonly type: string; readonly id: string; readonly message: string }

const orgsOf = (...orgs: object[]) => ({ case: "dataOrgs", value: { orgs } })
const importOrgs = (...orgs: object[]) =>
  estate.as("owner", "importData", { data: orgsOf(...orgs) })
const human = (userId: string, more: object = {}) => ({
  userId,
  user: {
    userName: userId,
    profile: { firstName: userId, lastName: "Person" },
    email: { email: `${userId}@example.com` },
    ...more,
  },
})

test("import requires write access to the instance, and export read access", async () => {
  for (const who of ["manager", "stranger", "nobody"] as const) {
    for (const name of ["importData", "exportData"]) {
      const data = orgsOf({ orgId: "x", org: { name: "X" } })
      await expect(async () => estate.as(who, name, { data })).rejects.toMatchObject({
        code: "permission_denied",
      })
    }
  }
})

test("each kind of record requires its own permission", async () => {
  const narrow = async (key: string, ...permissions: string[]) => {
    await createRole(estate.cx(), { key, displayName: key, permissions, level: "instance" })
    const target = { level: "instance" } as const
    await estate.step((tx) => {
      addUser(tx, key, humanInput(key, "org1"))
      addMember(tx, { target, userId: key, roles: [key] })
    })
    const caller = { kind: "user", userId: key, orgId: "org1", clientId: "c" } as const
    return (data: object) => estate.as("owner", "importData", { data }, { cx: { caller } })
  }
  const data = orgsOf({
    orgId: "org2",
    projects: [{ projectId: "thin", project: { name: "Thin" } }],
    domainPolicy: { userLoginMustBeDomain: true },
    orgMembers: [{ userId: "stranger2", roles: ["ORG_OWNER"] }],
    humanUsers: [human("stranger2")],
  })
  const bare = await (await narrow("BARE", "iam.write"))(data)
  expect(bare.success.orgs).toEqual([])
  expect(bare.errors.map(({ message }: RejectedRecord) => message)).toEqual([
    "permission denied: iam.policy.write is required",
    "permission denied: project.create is required",
    "permission denied: user.write is required",
    "permission denied: org.member.write is required",
  ])
  const some = [
    "user.write",
    "user.read",
    "user.credential.write",
    "org.member.write",
    // A caller who can set names for all users of an organization has more than its policies.
    "policy.write",
  ]
  const more = await (await narrow("MORE", "iam.write", ...some))(data)
  expect(more.success.orgs).toMatchObject([{ humanUserIds: ["stranger2"], orgMembers: [] }])
  expect(more.errors).toMatchObject([
    { type: "domain_policy" },
    { type: "projects" },
    {
      message: expect.stringMatching(
        /the role has permissions that you don't have, such as org.read/,
      ),
    },
  ])
})

test("no user becomes an administrator with keys created by others", async () => {
  await estate.as("stranger", "createUser", {
    organizationId: "org2",
    userId: "prepared",
    username: "prepared",
    userType: { case: "machine", value: { name: "Robot" } },
  })
  await estate.as("stranger", "addSecret", { userId: "prepared" })
  const data = orgsOf({ orgId: "org1", orgMembers: [{ userId: "prepared", roles: ["ORG_OWNER"] }] })
  const { errors, success } = await estate.as("owner", "importData", { data })
  expect(errors).toMatchObject([
    {
      type: "org_members",
      message: expect.stringMatching(/other users set credentials.*: prepared\/client_secret\//),
    },
  ])
  expect(success.orgs).toEqual([])
})

test("no user gets credentials of a user with more permissions", async () => {
  const cx = estate.cx()
  const permissions = "iam.write user.write user.credential.write user.read org.idp.write".split(
    " ",
  )
  await createRole(cx, { key: "LOW", displayName: "Low", permissions, level: "instance" })
  const target = { level: "instance" } as const
  const robot = { kind: "machine", name: "Robot", accessTokenType: "bearer" } as const
  await estate.step((tx) => {
    addUser(tx, "low", humanInput("low", "org1"))
    addUser(tx, "robot", { ...robot, orgId: "org1" })
    addUser(tx, "plain-robot", { ...robot, orgId: "org1" })
    addMember(tx, { target, userId: "low", roles: ["LOW"] })
    addMember(tx, { target, userId: "robot", roles: ["IAM_OWNER"] })
  })
  const { publicKey } = await createSigningPair()
  const key = (userId: string) => ({
    keyId: `of-${userId}`,
    userId,
    publicKey: Buffer.from(publicKey),
  })
  const note = (id: string) => ({ id, key: "k", value: new Uint8Array([1]) })
  const link = (userId: string) => ({ userId, idpId: "lows", providedUserId: userId })
  const idp = { name: "Low", issuer: "https://low.example.com", clientId: "c", clientSecret: "s" }
  const data = orgsOf({
    orgId: "org1",
    oidcIdps: [{ idpId: "lows", idp }],
    machineKeys: [key("robot"), key("plain-robot")],
    userMetadata: [note("owner"), note("nobody")],
    userLinks: [link("owner"), link("nobody")],
  })
  const caller = { kind: "user", userId: "low", orgId: "org1", clientId: "c" } as const
  const { errors, success } = await estate.as("owner", "importData", { data }, { cx: { caller } })
  expect(errors).toMatchObject([
    { type: "machine_keys", id: "of-robot", message: expect.stringMatching(/this user has roles/) },
    { type: "user_metadata", id: "owner/k", message: expect.stringMatching(/this user has roles/) },
    { type: "user_links", id: "owner/lows", message: expect.stringMatching(/this user has roles/) },
  ])
  expect(success.orgs).toMatchObject([
    { machineKeys: ["of-plain-robot"], userLinks: [{ userId: "nobody" }] },
  ])
})

test("a caller with read access receives no secrets", async () => {
  const roles = ["IAM_OWNER_VIEWER"]
  await estate.step((tx) => {
    addUser(tx, "viewer", humanInput("viewer", "org1"))
    addMember(tx, { target: { level: "instance" }, userId: "viewer", roles })
  })
  const viewer = { kind: "user", userId: "viewer", orgId: "org1", clientId: "c" } as const
  const exported = (request: object) =>
    estate.as("nobody", "exportData", request, { cx: { caller: viewer } })
  const { orgs } = await exported({ orgIds: ["org2"] })
  expect(orgs).toHaveLength(1)
  for (const flag of ["withPasswords", "withOtp", "withSecrets"]) {
    const tried = exported({ orgIds: ["org2"], [flag]: true })
    await expect(tried).rejects.toMatchObject({ code: "permission_denied" })
  }
})

test("a login policy is effective even if its provider was not imported", async () => {
  const { errors } = await importOrgs({
    orgId: "strict",
    org: { name: "Strict" },
    loginPolicy: {
      allowUsernamePassword: true,
      forceMfa: true,
      secondFactors: [1],
      idps: [{ idpId: "of-elsewhere" }],
    },
  })
  expect(errors).toMatchObject([
    {
      type: "login_policy",
      message: expect.stringMatching(/imported without the identity providers .*of-elsewhere/),
    },
  ])
  const { orgs } = await estate.as("owner", "exportData", { orgIds: ["strict"] })
  expect(orgs).toMatchObject([{ loginPolicy: { forceMfa: true, idps: [] } }])
})

test("rejected records are reported with the reason, and the rest is imported", async () => {
  const broken = {
    orgId: "half",
    org: { name: "Half" },
    projects: [
      { projectId: "fine", project: { name: "Fine" } },
      { projectId: "nameless", project: { name: "" } },
      { projectId: "empty" },
    ],
    humanUsers: [
      human("good"),
      human("hashed", { hashedPassword: { value: "plain text" } }),
      human("coded", { otpCode: "no base32!" }),
      human("linked", { idps: [{ configId: "nowhere", externalUserId: "1" }] }),
    ],
    projectRoles: [{ projectId: "own", roleKey: "r", displayName: "R" }],
    orgMembers: [{ userId: "good", roles: ["NO_ROLE"] }],
    userMetadata: [{ id: "stranger", key: "k", value: new Uint8Array([1]) }],
  }
  const { errors, success } = await importOrgs(broken)
  expect(success.orgs).toMatchObject([
    { orgId: "half", projectIds: ["fine"], humanUserIds: ["good"] },
  ])
  const why = new Map(
    errors.map((each: RejectedRecord) => [`${each.type}/${each.id}`, each.message]),
  )
  expect([...why.keys()].toSorted()).toEqual([
    "human_users/coded",
    "human_users/hashed",
    "human_users/linked",
    "org_members/good",
    "project_roles/own/r",
    "projects/empty",
    "projects/nameless",
    "user_metadata/stranger/k",
  ])
  expect(why.get("project_roles/own/r")).toBe("project not found in this organization")
  expect(why.get("user_metadata/stranger/k")).toBe("user not found in this organization")
})

test("unknown organizations are not exported", async () => {
  const { errors } = await importOrgs({ orgId: "ghost", lockoutPolicy: { maxPasswordAttempts: 1 } })
  expect(errors).toMatchObject([
    {
      type: "lockout_policy",
      message: expect.stringMatching(/organization does not exist and could not be created/),
    },
  ])
})

test("the older format is imported, too", async () => {
  const older = {
    orgId: "older",
    org: { name: "Older" },
    iamPolicy: { orgId: "older", userLoginMustBeDomain: true },
    loginPolicy: { allowUsernamePassword: true },
    secondFactors: [{ type: 1 }],
    humanUsers: [human("elder")],
  }
  const data = { case: "dataOrgsv1", value: { orgs: [older] } }
  const { errors, success } = await estate.as("owner", "importData", { data })
  expect(errors).toEqual([])
  expect(success.orgs).toMatchObject([{ orgId: "older", humanUserIds: ["elder"] }])
  const { orgs } = await estate.as("owner", "exportData", { orgIds: ["older"] })
  expect(orgs).toMatchObject([
    { domainPolicy: { userLoginMustBeDomain: true }, loginPolicy: { secondFactors: [1] } },
  ])
})

test("an oversized body is rejected with the alternative", async () => {
  const people = Array.from({ length: 990 }, (_, at) => human(`m${at}`))
  await importOrgs({ orgId: "many", org: { name: "Many" }, humanUsers: people })
  const { orgs } = await estate.as("owner", "exportData", { orgIds: ["many"] })
  expect(orgs[0].humanUsers).toHaveLength(990)
  const all = estate.as("owner", "exportData", { orgIds: ["many", "half", "org1", "org2"] })
  await expect(all).rejects.toMatchObject({
    id: "transfer.too_large",
    message: expect.stringMatching(/org_ids.*latchkey export/),
  })
})

test("a body is limited in bytes, not characters", async () => {
  const name = "長".repeat(190)
  const profile = { firstName: name, lastName: name, nickName: name, displayName: name }
  const people = Array.from({ length: 500 }, (_, at) => human(`long${at}`, { profile }))
  await importOrgs({ orgId: "long", org: { name: "Long" }, humanUsers: people })
  const asked = estate.as("owner", "exportData", { orgIds: ["long"] })
  await expect(asked).rejects.toMatchObject({ id: "transfer.too_large" })
})

test.for([
  ["exportData", { gcsOutput: {} }, "transfer.no_bucket"],
  ["exportData", { s3Output: {} }, "transfer.endpoint"],
  ["exportData", { localOutput: { path: "x" } }, "transfer.no_folder"],
  ["exportData", { localOutput: {}, s3Output: {} }, "transfer.places"],
  ["exportData", { timeout: "soon" }, "transfer.timeout"],
  ["exportData", { timeout: "0s" }, "request.late"],
  ["exportData", { orgIds: ["nope"] }, "org.missing"],
  ["importData", {}, "transfer.data_missing"],
  ["importData", { data: { case: "dataOrgsLocal", value: {} } }, "transfer.no_folder"],
  ["importData", { data: { case: "dataOrgsGcs", value: {} } }, "transfer.no_bucket"],
] as const)("%s with %j is rejected as %s", async ([name, request, id]) => {
  await expect(estate.as("owner", name, request)).rejects.toMatchObject({ id })
})

test("records that exceed the time limit are reported", async () => {
  const data = orgsOf({ orgId: "late", org: { name: "Late" } })
  const { errors, success } = await estate.as("owner", "importData", { data, timeout: "0s" })
  expect(success.orgs).toEqual([])
  expect(errors).toMatchObject([
    { type: "org", message: expect.stringMatching(/the time limit was reached before/) },
  ])
})

test("of many rejections the first are reported, and the number of others", () => {
  const { report, errors, refusals } = createReport()
  for (let at = 1; at <= 1500; at++) {
    report.refused({ type: "line", orgId: "", id: `${at}`, message: "no organization" })
  }
  expect(errors()).toHaveLength(1001)
  expect(errors().at(-1)).toMatchObject({ type: "more", id: "500" })
  expect(refusals()).toBe(1500)
})
