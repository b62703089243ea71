import { afterAll, beforeAll, expect, test } from "vitest"
import { app, oidcDefaults } from "../../../src/domain/app/index.ts"
import { addKeys, prepareKeys } from "../../../src/domain/key/index.ts"
import { RoleLevel } from "../../../src/gen/core/internal_permission/v2/internal_permission_pb.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeAll(async () => {
  estate = await openTenant()
  const pairs = await prepareKeys(estate.cx())
  await estate.step((tx) => addKeys(tx, pairs))
  await act("manager", "createProject", { organizationId: "org1", projectId: "p1", name: "One" })
  await act("manager", "addProjectRole", { projectId: "p1", roleKey: "a", displayName: "A" })
  await act("manager", "addProjectRole", { projectId: "p1", roleKey: "b", displayName: "B" })
})
afterAll(() => estate.close())

const act = async (user: TenantUser, name: string, request: object = {}, of = "") =>
  estate.as(user, name, request, { of })
const of = (name: string, value: unknown) => ({ resource: { resource: { case: name, value } } })
const stream = (kind: string, id: string) => of("stream", { instance: true, kind, id })
const differencesSince = async (resource: object, position: bigint): Promise<readonly string[]> => {
  const from = { moment: { case: "position", value: position } }
  const { differences } = await act("owner", "getDifferences", { ...resource, from })
  return differences.map(({ path }: any) => path.join("."))
}

/** Undoes the newest change and then the undo: each restores the state before. */
async function undoAndRedo(resource: object, left: readonly string[] = []): Promise<void> {
  const newest = async () =>
    (await act("owner", "listChanges", { ...resource, limit: 1 })).changes[0]
  const { sequence, position, type } = await newest()
  const shown = await act("owner", "getUndo", { ...resource, sequence })
  expect(`${type}: ${shown.words}`).toBe(`${type}: `)
  await act("owner", "undoChange", { ...resource, sequence })
  expect(await differencesSince(resource, position - 1n), type).toEqual(left)
  const undone = await newest()
  const again = await act("owner", "getUndo", { ...resource, sequence: undone.sequence })
  if (again.refusal === "history.undo_removal") return
  expect(`${undone.type}: ${again.words}`).toBe(`${undone.type}: `)
  await act("owner", "undoChange", { ...resource, sequence: undone.sequence })
  expect(await differencesSince(resource, position), undone.type).toEqual([])
  expect(await differencesSince(resource, position - 1n), type).not.toEqual([])
}

const org1 = of("organizationId", "org1")
const admin = (roles: readonly string[], resource: object) => ({
  userId: "nobody",
  resource: { resource },
  roles,
})

test("of organizations, users, and groups", async () => {
  await act("owner", "updateOrganization", { organizationId: "org1", name: "Acme Two" })
  await undoAndRedo(org1)
  await act("owner", "deactivateOrganization", { organizationId: "org2" })
  await undoAndRedo(of("organizationId", "org2"))
  await act("owner", "activateOrganization", { organizationId: "org2" })
  const nobody = of("userId", "nobody")
  const profile = { givenName: "No", familyName: "Body", gender: 2, nickName: "N" }
  await act("manager", "updateUser", {
    userId: "nobody",
    userType: { case: "human", value: { profile } },
  })
  await undoAndRedo(nobody)
  await act("manager", "updateUser", { userId: "nobody", username: "somebody" })
  await undoAndRedo(nobody)
  await act("manager", "lockUser", { userId: "nobody" })
  await undoAndRedo(nobody)
  // The owner has locked them again by undoing the undo.
  await act("owner", "unlockUser", { userId: "nobody" })
  await act("manager", "deactivateUser", { userId: "nobody" })
  await undoAndRedo(nobody)
  await act("owner", "reactivateUser", { userId: "nobody" })
  await act("manager", "createUser", {
    organizationId: "org1",
    userId: "m1",
    username: "m1",
    userType: { case: "machine", value: { name: "M", description: "one" } },
  })
  await act("manager", "updateUser", {
    userId: "m1",
    userType: { case: "machine", value: { name: "M2", accessTokenType: 1 } },
  })
  await undoAndRedo(of("userId", "m1"))
  const { id } = await act("manager", "createGroup", { organizationId: "org1", name: "G" })
  await act("manager", "updateGroup", { id, name: "H", description: "some" })
  await undoAndRedo(of("groupId", id))
  await act("manager", "addUsersToGroup", { id, userIds: ["nobody"] })
  await undoAndRedo(stream("group_user", `${id}/nobody`), ["isIn"])
  const member = await act("manager", "createGroup", { organizationId: "org1", name: "Member" })
  await act("manager", "addGroupsToGroup", { id, groupIds: [member.id] })
  await undoAndRedo(stream("group_nesting", "org1"))
})

test("of roles of groups", async () => {
  const { id: groupId } = await act("manager", "createGroup", { organizationId: "org1", name: "R" })
  const resource = { resource: { case: "organizationId", value: "org1" } }
  const held = stream("group_administrator", `org/org1/${groupId}`)
  const of = { groupId, resource }
  await act("owner", "createGroupAdministrator", { ...of, roles: ["ORG_OWNER"] })
  await undoAndRedo(held)
  await act("owner", "updateGroupAdministrator", { ...of, roles: ["ORG_OWNER_VIEWER"] })
  await undoAndRedo(held)
  await act("owner", "deleteGroupAdministrator", of)
  await undoAndRedo(held)
  const roles = { groupId, projectId: "p1", organizationId: "org1", roleKeys: [] }
  const { id } = await act("manager", "createGroupAuthorization", roles)
  await act("manager", "updateGroupAuthorization", { id, roleKeys: ["a"] })
  await undoAndRedo(stream("group_grant", id))
})

test("of administrator roles on every level", async () => {
  const held = (level: string, id: string) => stream("member", `${level}/${id}/nobody`)
  const onOrg = { case: "organizationId", value: "org1" }
  await act("owner", "createAdministrator", admin(["ORG_OWNER"], onOrg))
  await undoAndRedo(held("org", "org1"))
  await act("owner", "updateAdministrator", admin(["ORG_OWNER_VIEWER"], onOrg))
  await undoAndRedo(held("org", "org1"))
  await act("owner", "deleteAdministrator", admin([], onOrg))
  await undoAndRedo(held("org", "org1"))
  const onProject = { case: "projectId", value: "p1" }
  await act("owner", "createAdministrator", admin(["PROJECT_OWNER"], onProject))
  await undoAndRedo(held("project", "p1"))
  const onInstance = { case: "instance", value: true }
  await act("owner", "createAdministrator", admin(["IAM_OWNER_VIEWER"], onInstance))
  await undoAndRedo(stream("instance", "i1"))
  await act("owner", "updateAdministrator", admin(["IAM_USER_MANAGER"], onInstance))
  await undoAndRedo(stream("instance", "i1"))
  await act("owner", "deleteAdministrator", admin([], onInstance))
  await undoAndRedo(stream("instance", "i1"))
  const role = { key: "OWN_ROLE", level: RoleLevel.ORGANIZATION }
  await act("owner", "createRole", { ...role, displayName: "One", permissions: ["user.read"] })
  const permissions = ["user.read", "org.read"]
  await act("owner", "updateRole", { key: "OWN_ROLE", displayName: "Two", permissions })
  await undoAndRedo(stream("role", "i1"))
})

test("of projects, grants, authorizations and applications", async () => {
  const p1 = of("projectId", "p1")
  await act("manager", "updateProject", {
    projectId: "p1",
    name: "Two",
    projectRoleAssertion: true,
    projectAccessRequired: true,
    privateLabelingSetting: 1,
    groupsClaim: 2,
  })
  await undoAndRedo(p1)
  await act("manager", "deactivateProject", { projectId: "p1" })
  await undoAndRedo(p1)
  await act("manager", "activateProject", { projectId: "p1" })
  const pair = { projectId: "p1", grantedOrganizationId: "org2" }
  await act("manager", "createProjectGrant", { ...pair, roleKeys: ["a"] })
  await act("manager", "updateProjectGrant", { ...pair, roleKeys: ["a", "b"] })
  const { projectGrants } = await act("manager", "listProjectGrants", {})
  expect(projectGrants).toHaveLength(1)
  const { authorizationId } = { authorizationId: await createAuthorization() }
  const grant = of("authorizationId", authorizationId)
  await act("manager", "updateAuthorization", { id: authorizationId, roleKeys: ["b"] })
  await undoAndRedo(grant)
  await act("manager", "deactivateAuthorization", { id: authorizationId })
  await undoAndRedo(grant)
  const { applicationId } = await act("manager", "createApplication", {
    projectId: "p1",
    name: "App",
    applicationType: {
      case: "oidcConfiguration",
      value: { redirectUris: ["https://a.example/cb"], responseTypes: [1], grantTypes: [0] },
    },
  })
  const app = of("applicationId", applicationId)
  const named = { applicationId, projectId: "p1" }
  await act("manager", "updateApplication", { ...named, name: "Other" })
  await undoAndRedo(app)
  const value = {
    redirectUris: ["https://b.example/cb"],
    grantTypes: [0, 2],
    accessTokenType: 1,
    idTokenRoleAssertion: true,
    clockSkew: { seconds: 3n },
    developmentMode: true,
    idTokenProjectAudience: true,
    idTokenClientId: true,
    genericRolesClaim: true,
    groupsClaim: 2,
    pkce: 1,
    plainOauth: true,
    loginVersion: { version: { case: "loginV2", value: { baseUri: "https://l.example" } } },
  }
  const applicationType = { case: "oidcConfiguration", value }
  await act("manager", "updateApplication", { ...named, applicationType })
  await undoAndRedo(app)
  await act("manager", "deactivateApplication", named)
  await undoAndRedo(app)
})

test("of an API: its addresses and scopes", async () => {
  const { applicationId } = await act("manager", "createApplication", {
    projectId: "p1",
    name: "API",
    applicationType: { case: "apiConfiguration", value: { authMethodType: 0 } },
  })
  const scope = (name: string) => ({ scope: "read:orders", name, description: "" })
  const values = [
    { resources: { uris: ["https://api.example/"] }, scopes: { scopes: [scope("Read")] } },
    { scopes: { scopes: [scope("Read orders")] } },
    { scopes: { scopes: [] } },
  ]
  for (const value of values) {
    const applicationType = { case: "apiConfiguration", value }
    await act("manager", "updateApplication", { applicationId, projectId: "p1", applicationType })
    await undoAndRedo(of("applicationId", applicationId))
  }
})

async function createAuthorization(): Promise<string> {
  const request = { userId: "nobody", projectId: "p1", organizationId: "org1", roleKeys: ["a"] }
  return (await act("manager", "createAuthorization", request)).id
}

test("of targets, executions and scripts", async () => {
  const { id } = await act("owner", "createTarget", {
    name: "Hook",
    endpoint: "https://hook.example.com",
    timeout: { seconds: 5n },
    targetType: { case: "restWebhook", value: {} },
  })
  await act("owner", "updateTarget", {
    id,
    name: "Call",
    endpoint: "https://other.example.com",
    timeout: { seconds: 7n },
    targetType: { case: "restCall", value: { interruptOnError: true } },
  })
  await undoAndRedo(stream("target", id))
  const condition = {
    conditionType: {
      case: "request",
      value: { condition: { case: "service", value: "core.user.v2.UserService" } },
    },
  }
  await act("owner", "setExecution", { condition, targets: [id] })
  await undoAndRedo(stream("execution", "request/core.user.v2.UserService"))
  const script = { name: "one", script: "function one() {}", timeout: { seconds: 1n } }
  const { id: actionId } = await act("manager", "createAction", script)
  const other = { ...script, script: "function one() { }", allowedToFail: true }
  await act("manager", "updateAction", { id: actionId, ...other })
  await undoAndRedo(of("actionId", actionId))
  await act("manager", "deactivateAction", { id: actionId })
  await undoAndRedo(of("actionId", actionId))
  const moment = { flowType: "2", triggerType: "4" }
  await act("manager", "setTriggerActions", { ...moment, actionIds: [actionId] })
  await undoAndRedo(stream("flow", "org1/2"))
  await act("manager", "clearFlow", { type: "2" })
  await undoAndRedo(stream("flow", "org1/2"))
})

test("of policies of the instance and of organizations", async () => {
  const said = of("policiesOf", "org1")
  const whole = stream("policy", "instance")
  const complexity = { minLength: 10, hasUppercase: true, hasLowercase: true }
  await act("owner", "updatePasswordComplexityPolicy", complexity)
  await act("owner", "updatePasswordComplexityPolicy", { ...complexity, minLength: 12 })
  await undoAndRedo(whole)
  await act("manager", "addCustomPasswordComplexityPolicy", { ...complexity, minLength: 9n })
  await undoAndRedo(said)
  await act("manager", "updateCustomPasswordComplexityPolicy", { ...complexity, minLength: 11n })
  await undoAndRedo(said)
  await act("manager", "resetPasswordComplexityPolicyToDefault")
  await undoAndRedo(said)
  const day = { seconds: 86_400n }
  const lifetimes = {
    passwordCheckLifetime: day,
    externalLoginCheckLifetime: day,
    mfaInitSkipLifetime: day,
    secondFactorCheckLifetime: day,
    multiFactorCheckLifetime: day,
  }
  const login = { allowUsernamePassword: true, allowExternalIdp: true, ...lifetimes }
  await act("owner", "updateLoginPolicy", login)
  await act("owner", "updateLoginPolicy", { ...login, forceMfa: true, allowRegister: true })
  await undoAndRedo(whole)
  await act("owner", "removeSecondFactorFromLoginPolicy", { type: 1 }, "admin")
  await undoAndRedo(whole, ["login.values.secondFactors"])
  await act("manager", "addCustomLoginPolicy", { ...login, secondFactors: [1] })
  await undoAndRedo(said)
  await act("manager", "updateCustomLoginPolicy", { ...login, forceMfa: true })
  await undoAndRedo(said)
  await act("owner", "updateLabelPolicy", { primaryColor: "#112233" })
  await act("owner", "updateLabelPolicy", { primaryColor: "#445566", themeMode: 2 })
  await undoAndRedo(whole)
  await act("owner", "addCustomDomainPolicy", { orgId: "org1", validateOrgDomains: true })
  await undoAndRedo(said)
  await act("owner", "updatePrivacyPolicy", { tosLink: "https://a.example/tos" })
  const { sequence } = (await act("owner", "listChanges", { ...whole, limit: 1 })).changes[0]
  const { types } = await act("owner", "getUndo", { ...whole, sequence })
  expect(types).toEqual(["instance.policy.privacy.changed"])
  for (const [name, one, two] of [
    ["Lockout", { maxPasswordAttempts: 3 }, { maxPasswordAttempts: 5 }],
    ["PasswordAge", { maxAgeDays: 30 }, { maxAgeDays: 60 }],
    ["Notification", { passwordChange: true }, { passwordChange: false }],
  ] as const) {
    await act("manager", `addCustom${name}Policy`, one)
    await act("manager", `updateCustom${name}Policy`, two)
    await undoAndRedo(said)
  }
})

test("of instance-wide settings", async () => {
  const i1 = stream("instance", "i1")
  await act("owner", "updateInstance", { instanceId: "i1", instanceName: "Elsewhere" })
  await undoAndRedo(i1)
  await act("owner", "setDefaultLanguage", { language: "de" })
  await act("owner", "setDefaultLanguage", { language: "en" })
  await undoAndRedo(i1)
  await act("owner", "setDefaultOrg", { orgId: "org2" })
  await undoAndRedo(i1)
  await act("owner", "setSecuritySettings", { enableImpersonation: true })
  await undoAndRedo(i1)
  const hour = { seconds: 3600n }
  const lifetimes = { accessTokenLifetime: hour, idTokenLifetime: hour }
  const refresh = { refreshTokenIdleExpiration: { seconds: 86_400n } }
  const settings = { ...lifetimes, ...refresh, refreshTokenExpiration: { seconds: 864_000n } }
  await act("owner", "updateOIDCSettings", settings)
  const again = { ...settings, idTokenLifetime: { seconds: 1800n }, tokenAudit: { people: true } }
  await act("owner", "updateOIDCSettings", again)
  await undoAndRedo(i1)
  await act("owner", "setRestrictions", { allowedLanguages: { list: ["en"] } })
  await undoAndRedo(stream("restrictions", "i1"), ["disallowPublicOrgRegistration"])
  await act("owner", "setInstanceFeatures", { permissionCheckV2: true, userSchema: true })
  await act("owner", "setInstanceFeatures", { permissionCheckV2: false })
  await undoAndRedo(stream("feature", "i1"))
  const generator = {
    generatorType: 2,
    length: 8,
    expiry: hour,
    includeDigits: true,
    includeUpperLetters: true,
  }
  await act("owner", "updateSecretGenerator", generator)
  await act("owner", "updateSecretGenerator", { ...generator, length: 10 })
  await undoAndRedo(stream("secret_generator", "verify_email_code"))
})

test("of identity providers of the instance and of organizations", async () => {
  const google = { clientId: "c", clientSecret: "s" }
  const { id: shared } = await act("owner", "addGoogleProvider", google, "admin")
  const { id: own } = await act("manager", "addGoogleProvider", google, "management")
  await act("owner", "addIDPToLoginPolicy", { idpId: shared }, "admin")
  await undoAndRedo(stream("idps", ""))
  await act("manager", "addIDPToLoginPolicy", { idpId: own, ownerType: 2 }, "management")
  await undoAndRedo(of("identityProvidersOf", "org1"))
  const asked = { ...of("identityProvidersOf", "org1"), limit: 1 }
  const { changes } = await act("manager", "listChanges", asked)
  expect(changes).toMatchObject([{ undoable: true, editor: { userId: "owner" } }])
  await expect(act("stranger", "listChanges", asked)).rejects.toMatchObject({ code: "not_found" })
})

test("a singleton of the instance needs no ID", async () => {
  for (const [kind, id] of [
    ["instance", "i1"],
    ["policy", "instance"],
    ["idps", "instance"],
    ["restrictions", "i1"],
  ] as const) {
    const told = await act("owner", "listChanges", stream(kind, ""))
    expect(told.changes.length, kind).toBeGreaterThan(0)
    expect(told, kind).toEqual(await act("owner", "listChanges", stream(kind, id)))
  }
})

test("of an application from before ID token settings existed", async () => {
  const {
    idTokenProjectAudience: _,
    idTokenClientId: __,
    genericRolesClaim: ___,
    ...earlier
  } = oidcDefaults
  const name = "From before"
  await estate.step((tx) =>
    tx.append(
      app,
      "old",
      [
        { type: "project.application.added", data: { projectId: "p1", name } },
        { type: "project.application.config.oidc.added", data: { ...earlier, clientId: "old" } },
      ],
      "org1",
    ),
  )
  const value = { idTokenProjectAudience: false, idTokenClientId: false, genericRolesClaim: false }
  const applicationType = { case: "oidcConfiguration", value }
  const named = { applicationId: "old", projectId: "p1" }
  await act("manager", "updateApplication", { ...named, applicationType })
  const resource = of("applicationId", "old")
  const { changes } = await act("owner", "listChanges", { ...resource, limit: 1 })
  await act("owner", "undoChange", { ...resource, sequence: changes[0].sequence })
  const { application } = await act("owner", "getApplication", { applicationId: "old" })
  expect(application.configuration.value).toMatchObject({
    idTokenProjectAudience: true,
    idTokenClientId: true,
    genericRolesClaim: true,
  })
})
