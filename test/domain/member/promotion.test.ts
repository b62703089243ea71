// Credentials created by others must be confirmed before a user receives more permissions.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createCode } from "../../../src/domain/credential/code.ts"
import { setPassword } from "../../../src/domain/credential/commands.ts"
import { prepareResetPassword, requestReset } from "../../../src/domain/credential/reset.ts"
import { createIdp } from "../../../src/domain/idp/commands.ts"
import type { Fault } from "../../../src/kernel/fault.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const onInstance = { resource: { case: "instance", value: true } }
const onOrg = (value: string) => ({ resource: { case: "organizationId", value } })
const password = "Correct-Horse-7"

const callAs = (user: TenantUser, name: string, request: object): Promise<any> =>
  estate.as(user, name, request)
const asUser = (userId: string) => ({
  cx: { caller: { kind: "user", userId, orgId: "org1", clientId: "console" } } as const,
})

/** A user of the first organization, prepared by its manager. */
async function prepareUser(user: TenantUser = "manager", input: object = plainPassword(password)) {
  const value = {
    profile: { givenName: "P", familyName: "Q" },
    email: { email: "p@example.com", verification: { case: "isVerified", value: true } },
    ...input,
  }
  const userType = { case: "human", value }
  const request = { organizationId: "org1", username: "prepared", userType }
  const { id } = await callAs(user, "createUser", request)
  return String(id)
}
const plainPassword = (text: string) => ({
  passwordType: { case: "password", value: { password: text, changeRequired: false } },
})

const promoteUser = (user: TenantUser, userId: string, more: object = {}) =>
  callAs(user, "createAdministrator", {
    userId,
    resource: onInstance,
    roles: ["IAM_OWNER"],
    ...more,
  })

/** The credentials that a promotion lists. */
async function listCredentials(promotion: Promise<unknown>) {
  const fault = await promotion.then(
    () => undefined,
    (cause: Fault) => cause,
  )
  if (fault === undefined) return []
  expect(fault).toMatchObject({
    code: "failed_precondition",
    id: "member.credentials_unconfirmed",
  })
  return fault.preconditions
}
const credentialTypes = async (promotion: Promise<unknown>) =>
  (await listCredentials(promotion)).map(({ type }) => type)

async function createServiceAccount(user: TenantUser = "manager") {
  const machine = { case: "machine", value: { name: "R", accessTokenType: 0 } }
  const request = { organizationId: "org1", username: "robot", userType: machine }
  const { id } = await callAs(user, "createUser", request)
  return String(id)
}

describe("a user becomes an administrator", () => {
  test("after the caller has confirmed each credential that another user created", async () => {
    const userId = await prepareUser()
    const { id: idpId } = await createIdp(estate.cx(), "org1", {
      name: "Acme",
      settings: { kind: "github", clientId: "c", scopes: [] },
      options: {
        isLinkingAllowed: true,
        isCreationAllowed: false,
        isAutoCreation: false,
        isAutoUpdate: false,
        autoLinking: "off",
      },
    })
    estate.clock.advance(1000)
    const idpLink = { idpId, userId: "p-1", userName: "p" }
    await callAs("manager", "addIDPLink", { userId, idpLink })
    const open = await listCredentials(promoteUser("owner", userId))
    expect(open.map(({ type }) => type)).toEqual(["email", "password", "provider_link"])
    const at = new Date(estate.clock.now()).toISOString()
    expect(open[2]?.description).toBe(`created by the user manager on ${at}`)
    const confirmedCredentials = open.map(({ subject }) => subject)
    const partly = promoteUser("owner", userId, {
      confirmedCredentials: confirmedCredentials.slice(1),
    })
    expect(await credentialTypes(partly)).toEqual(["email"])
    await promoteUser("owner", userId, { confirmedCredentials })
  })

  test("with another confirmation for replaced credentials", async () => {
    const userId = await prepareUser()
    const before = (await listCredentials(promoteUser("owner", userId))).map(
      ({ subject }) => subject,
    )
    estate.clock.advance(1000)
    await callAs("manager", "setPassword", { userId, newPassword: { password: "Another-Horse-8" } })
    const again = promoteUser("owner", userId, { confirmedCredentials: before })
    expect(await credentialTypes(again)).toEqual(["password"])
  })

  test("without confirmation if the caller or an equally privileged user created them", async () => {
    const userId = await prepareUser()
    const roles = ["ORG_OWNER"]
    await callAs("manager", "createAdministrator", { userId, resource: onOrg("org1"), roles })
  })

  test("by an organization owner if an instance administrator prepared the user", async () => {
    const userId = await prepareUser("owner")
    const roles = ["ORG_OWNER"]
    await callAs("manager", "createAdministrator", { userId, resource: onOrg("org1"), roles })
  })

  test("only with confirmation if the creator has been deactivated since", async () => {
    const { id: bossId } = await callAs("owner", "createUser", {
      organizationId: "org1",
      username: "boss",
      userType: {
        case: "human",
        value: {
          profile: { givenName: "B", familyName: "O" },
          email: { email: "b@example.com", verification: { case: "isVerified", value: true } },
        },
      },
    })
    await promoteUser("owner", bossId)
    const userId = await prepareAs(bossId)
    await callAs("owner", "deactivateUser", { userId: bossId })
    expect(await credentialTypes(promoteUser("owner", userId))).toEqual(["password"])
  })

  async function prepareAs(bossId: string) {
    const userId = await prepareUser("owner", {})
    const request = { userId, newPassword: { password } }
    await estate.as("owner", "setPassword", request, asUser(bossId))
    return userId
  }

  test("without confirmation once the user has chosen a password by a code to their own address", async () => {
    const userId = await prepareUser("owner", {})
    await callAs("manager", "setPassword", { userId, newPassword: { password } })
    const verification = { case: "currentPassword", value: password }
    const request = { userId, newPassword: { password: "Own-Horse-9-now" }, verification }
    await estate.as("nobody", "setPassword", request, asUser(userId))
    // The manager may have signed in and chosen it.
    expect(await credentialTypes(promoteUser("owner", userId))).toEqual(["password"])
    const visitor = estate.cx({ caller: { kind: "anonymous" } })
    const code = createCode(visitor, userId, { of: "password", returned: false })
    await requestReset(visitor, userId, { code, channel: "email" })
    const given = { code: code.plain, plain: "Mailed-Horse-10" }
    await setPassword(visitor, userId, await prepareResetPassword(visitor, userId, given))
    expect(await credentialTypes(promoteUser("owner", userId))).toEqual([])
  })

  test("with confirmation of codes that another user can read", async () => {
    const userId = await prepareUser("owner", {})
    const returned = (value: object = {}) => ({ case: "returnCode", value })
    const { verificationCode: code } = await callAs("manager", "passwordReset", {
      userId,
      medium: returned(),
    })
    await callAs("manager", "createPasskeyRegistrationLink", { userId, medium: returned() })
    expect(await credentialTypes(promoteUser("owner", userId))).toEqual([
      "password_code",
      "passkey_code",
    ])
    const visitor = estate.cx({ caller: { kind: "anonymous" } })
    const chosen = await prepareResetPassword(visitor, userId, { code, plain: password })
    await setPassword(visitor, userId, chosen)
    expect(await credentialTypes(promoteUser("owner", userId))).toEqual([
      "password",
      "passkey_code",
    ])
  })

  test("with another role if that permits more", async () => {
    const userId = await prepareUser()
    const resource = onOrg("org1")
    const grant = { userId, resource, roles: ["ORG_OWNER_VIEWER"] }
    await callAs("manager", "createAdministrator", grant)
    const more = { userId, resource: onInstance, roles: ["IAM_OWNER_VIEWER"] }
    const open = await listCredentials(callAs("owner", "createAdministrator", more))
    const confirmedCredentials = open.map(({ subject }) => subject)
    expect(open.map(({ type }) => type)).toEqual(["email", "password"])
    await callAs("owner", "createAdministrator", { ...more, confirmedCredentials })
    const raised = { ...more, roles: ["IAM_OWNER"] }
    expect(await credentialTypes(callAs("owner", "updateAdministrator", raised))).toEqual([
      "email",
      "password",
    ])
    await callAs("owner", "updateAdministrator", { ...raised, confirmedCredentials })
    await callAs("owner", "updateAdministrator", more)
  })

  test("by an extension of a role that they hold", async () => {
    const userId = await prepareUser()
    const role = { key: "HELPDESK", level: 2, permissions: ["user.read"] }
    await callAs("owner", "createRole", role)
    const grant = { userId, resource: onOrg("org1"), roles: ["HELPDESK"] }
    await callAs("manager", "createAdministrator", grant)
    const raise = { key: "HELPDESK", permissions: ["user.read", "admin.impersonation"] }
    const open = await listCredentials(callAs("owner", "updateRole", raise))
    expect(open.map(({ type }) => type)).toEqual(["email", "password"])
    const confirmedCredentials = open.map(({ subject }) => subject)
    await callAs("owner", "updateRole", { ...raise, confirmedCredentials })
    await callAs("owner", "updateRole", { key: "HELPDESK", permissions: ["user.read"] })
  })

  test("with a new organization", async () => {
    const userId = await prepareUser()
    const admin = { userType: { case: "userId", value: userId }, roles: [] }
    const organization = callAs("owner", "addOrganization", { name: "New", admins: [admin] })
    expect(await credentialTypes(organization)).toEqual(["email", "password"])
  })
})

test("a service account's keys are listed whoever of its organization created them", async () => {
  const userId = await createServiceAccount()
  const expirationDate = { seconds: BigInt(Math.floor(estate.clock.now() / 1000) + 3600), nanos: 0 }
  await callAs("manager", "addPersonalAccessToken", { userId, expirationDate })
  await callAs("manager", "addKey", { userId, expirationDate })
  await callAs("manager", "addSecret", { userId })
  const open = await credentialTypes(promoteUser("owner", userId))
  expect(open.toSorted()).toEqual(["access_token", "client_secret", "service_key"])
})
