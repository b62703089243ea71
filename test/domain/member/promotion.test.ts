// What others created for a user has to be confirmed before the user is permitted more.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createCode } from "../../../src/domain/credential/code.ts"
import { setPassword } from "../../../src/domain/credential/commands.ts"
import { requestReset, resetPasswordFor } from "../../../src/domain/credential/reset.ts"
import { addIdp } from "../../../src/domain/idp/commands.ts"
import type { Fault } from "../../../src/kernel/fault.ts"
import { type Estate, openEstate, type Person } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
})
afterEach(() => estate.close())

const onInstance = { resource: { case: "instance", value: true } }
const onOrg = (value: string) => ({ resource: { case: "organizationId", value } })
const password = "Correct-Horse-7"

const act = (who: Person, name: string, request: object): Promise<any> =>
  estate.as(who, name, request)
const asUser = (userId: string) => ({
  cx: { caller: { kind: "user", userId, orgId: "org1", clientId: "console" } } as const,
})

/** A person of the first organization, whom its manager prepares. */
async function prepare(who: Person = "manager", given: object = plain(password)) {
  const value = {
    profile: { givenName: "P", familyName: "Q" },
    email: { email: "p@example.com", verification: { case: "isVerified", value: true } },
    ...given,
  }
  const userType = { case: "human", value }
  const request = { organizationId: "org1", username: "prepared", userType }
  const { id } = await act(who, "createUser", request)
  return String(id)
}
const plain = (text: string) => ({
  passwordType: { case: "password", value: { password: text, changeRequired: false } },
})

const promote = (who: Person, userId: string, more: object = {}) =>
  act(who, "createAdministrator", { userId, resource: onInstance, roles: ["IAM_OWNER"], ...more })

/** What a promotion lists. */
async function listed(promotion: Promise<unknown>) {
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
const kinds = async (promotion: Promise<unknown>) =>
  (await listed(promotion)).map(({ type }) => type)

async function robot(who: Person = "manager") {
  const machine = { case: "machine", value: { name: "R", accessTokenType: 0 } }
  const request = { organizationId: "org1", username: "robot", userType: machine }
  const { id } = await act(who, "createUser", request)
  return String(id)
}

describe("a person becomes an administrator", () => {
  test("once the caller has confirmed each thing that another user created", async () => {
    const userId = await prepare()
    const { id: idpId } = await addIdp(estate.cx(), "org1", {
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
    await act("manager", "addIDPLink", { userId, idpLink })
    const open = await listed(promote("owner", userId))
    expect(open.map(({ type }) => type)).toEqual(["email", "password", "provider_link"])
    const at = new Date(estate.clock.now()).toISOString()
    expect(open[2]?.description).toBe(`created by the user manager on ${at}`)
    const confirmedCredentials = open.map(({ subject }) => subject)
    const partly = promote("owner", userId, { confirmedCredentials: confirmedCredentials.slice(1) })
    expect(await kinds(partly)).toEqual(["email"])
    await promote("owner", userId, { confirmedCredentials })
  })

  test("and confirms anew what was replaced meanwhile", async () => {
    const userId = await prepare()
    const before = (await listed(promote("owner", userId))).map(({ subject }) => subject)
    estate.clock.advance(1000)
    await act("manager", "setPassword", { userId, newPassword: { password: "Another-Horse-8" } })
    const again = promote("owner", userId, { confirmedCredentials: before })
    expect(await kinds(again)).toEqual(["password"])
  })

  test("without a word where the caller created it, or whoever may do as much", async () => {
    const userId = await prepare()
    const roles = ["ORG_OWNER"]
    await act("manager", "createAdministrator", { userId, resource: onOrg("org1"), roles })
  })

  test("whom an instance administrator prepared, by an organization's owner", async () => {
    const userId = await prepare("owner")
    const roles = ["ORG_OWNER"]
    await act("manager", "createAdministrator", { userId, resource: onOrg("org1"), roles })
  })

  test("not by what somebody created who has been deactivated since", async () => {
    const { id: bossId } = await act("owner", "createUser", {
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
    await promote("owner", bossId)
    const userId = await prepareAs(bossId)
    await act("owner", "deactivateUser", { userId: bossId })
    expect(await kinds(promote("owner", userId))).toEqual(["password"])
  })

  async function prepareAs(bossId: string) {
    const userId = await prepare("owner", {})
    const request = { userId, newPassword: { password } }
    await estate.as("owner", "setPassword", request, asUser(bossId))
    return userId
  }

  test("freely once the user has chosen a password by a code to an own address", async () => {
    const userId = await prepare("owner", {})
    await act("manager", "setPassword", { userId, newPassword: { password } })
    const verification = { case: "currentPassword", value: password }
    const request = { userId, newPassword: { password: "Own-Horse-9-now" }, verification }
    await estate.as("nobody", "setPassword", request, asUser(userId))
    // The manager may have signed in and chosen it.
    expect(await kinds(promote("owner", userId))).toEqual(["password"])
    const visitor = estate.cx({ caller: { kind: "anonymous" } })
    const code = createCode(visitor, userId, { of: "password", returned: false })
    await requestReset(visitor, userId, { code, channel: "email" })
    const given = { code: code.plain, plain: "Mailed-Horse-10" }
    await setPassword(visitor, userId, await resetPasswordFor(visitor, userId, given))
    expect(await kinds(promote("owner", userId))).toEqual([])
  })

  test("with codes listed that somebody else can read", async () => {
    const userId = await prepare("owner", {})
    const returned = (value: object = {}) => ({ case: "returnCode", value })
    const { verificationCode: code } = await act("manager", "passwordReset", {
      userId,
      medium: returned(),
    })
    await act("manager", "createPasskeyRegistrationLink", { userId, medium: returned() })
    expect(await kinds(promote("owner", userId))).toEqual(["password_code", "passkey_code"])
    const visitor = estate.cx({ caller: { kind: "anonymous" } })
    const chosen = await resetPasswordFor(visitor, userId, { code, plain: password })
    await setPassword(visitor, userId, chosen)
    expect(await kinds(promote("owner", userId))).toEqual(["password", "passkey_code"])
  })

  test("with another role, if that permits more", async () => {
    const userId = await prepare()
    const resource = onOrg("org1")
    const grant = { userId, resource, roles: ["ORG_OWNER_VIEWER"] }
    await act("manager", "createAdministrator", grant)
    const more = { userId, resource: onInstance, roles: ["IAM_OWNER_VIEWER"] }
    const open = await listed(act("owner", "createAdministrator", more))
    const confirmedCredentials = open.map(({ subject }) => subject)
    expect(open.map(({ type }) => type)).toEqual(["email", "password"])
    await act("owner", "createAdministrator", { ...more, confirmedCredentials })
    const raised = { ...more, roles: ["IAM_OWNER"] }
    expect(await kinds(act("owner", "updateAdministrator", raised))).toEqual(["email", "password"])
    await act("owner", "updateAdministrator", { ...raised, confirmedCredentials })
    await act("owner", "updateAdministrator", more)
  })

  test("by a role that they hold and that is raised", async () => {
    const userId = await prepare()
    const role = { key: "HELPDESK", level: 2, permissions: ["user.read"] }
    await act("owner", "createRole", role)
    const grant = { userId, resource: onOrg("org1"), roles: ["HELPDESK"] }
    await act("manager", "createAdministrator", grant)
    const raise = { key: "HELPDESK", permissions: ["user.read", "admin.impersonation"] }
    const open = await listed(act("owner", "updateRole", raise))
    expect(open.map(({ type }) => type)).toEqual(["email", "password"])
    const confirmedCredentials = open.map(({ subject }) => subject)
    await act("owner", "updateRole", { ...raise, confirmedCredentials })
    await act("owner", "updateRole", { key: "HELPDESK", permissions: ["user.read"] })
  })

  test("with a new organization", async () => {
    const userId = await prepare()
    const admin = { userType: { case: "userId", value: userId }, roles: [] }
    const organization = act("owner", "addOrganization", { name: "New", admins: [admin] })
    expect(await kinds(organization)).toEqual(["email", "password"])
  })
})

test("a service user's keys are listed whoever of its organization created them", async () => {
  const userId = await robot()
  const expirationDate = { seconds: BigInt(Math.floor(estate.clock.now() / 1000) + 3600), nanos: 0 }
  await act("manager", "addPersonalAccessToken", { userId, expirationDate })
  await act("manager", "addKey", { userId, expirationDate })
  await act("manager", "addSecret", { userId })
  const open = await kinds(promote("owner", userId))
  expect(open.toSorted()).toEqual(["access_token", "client_secret", "service_key"])
})
