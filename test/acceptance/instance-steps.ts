// Requests sent to two instances, with the same IDs in both.
import { onePixel } from "../support/picture.ts"
import { actionReadSteps, createActionSteps, rejectedActionSteps } from "./action-steps.ts"
import { createIdpSteps, idpReadSteps, rejectedIdpSteps } from "./idp-steps.ts"
import { policyChangeSteps, policyReadSteps } from "./policy-steps.ts"
import { createProviderSteps, providerReadSteps, rejectedProviderSteps } from "./provider-steps.ts"
import { humanInput } from "./service.ts"
import { createTargetSteps, rejectedTargetSteps, targetReadSteps } from "./target-steps.ts"

export type Step = readonly [name: string, request: object]

const org = { organizationId: "org" }
const project = { projectId: "project" }
const app = { applicationId: "app", projectId: "project" }
const legacyApp = { appId: "app", projectId: "project" }
const api = { ...app, applicationId: "api" }
const grantedProject = { ...project, grantedOrganizationId: "guest" }
const grantResource = { projectGrant: { ...project, organizationId: "guest" } }
const user = { userId: "user" }
/** Verification is required, because a user's name ends in this domain. */
const usedDomain = { domain: "used.example", type: "DOMAIN_VALIDATION_TYPE_DNS" }
const serviceAccount = { userId: "robot" }
const groupRoles = { groupId: "group", resource: org }
const groupOnProject = { ...org, ...project, groupId: "group" }
const membership = { ...user, resource: org }
const expirationDate = "2099-01-01T00:00:00Z"
const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
const helper = { key: "HELPER", level: "ROLE_LEVEL_ORGANIZATION" }
const newPassword = { password: "Correct-horse-8-battery" }
const callback = { redirectUris: ["https://app.example.com/callback"] }
const lifetimes = {
  accessTokenLifetime: "600s",
  idTokenLifetime: "600s",
  refreshTokenIdleExpiration: "600s",
  refreshTokenExpiration: "900s",
}
const admin = (name: string) => `core.admin.v1.AdminService/${name}`
const auth = (name: string) => `core.auth.v1.AuthService/${name}`
const management = (name: string) => `core.management.v1.ManagementService/${name}`
export const webKeys = (name: string) => `core.resources.webkey.v3alpha.CoreWebKeys/${name}`

/** The resources of both instances, with the same IDs and different names. */
export const createResourceSteps = (name: string): readonly Step[] => [
  ["AddOrganization", { ...org, name: `Org ${name}` }],
  [
    "CreateUser",
    {
      ...org,
      ...user,
      username: "user@used.example",
      human: humanInput(`Person ${name}`.replace(" ", "-")),
    },
  ],
  [
    "CreateUser",
    { ...org, ...serviceAccount, username: "robot", machine: { name: `Robot ${name}` } },
  ],
  ["AddKey", { ...serviceAccount, expirationDate }],
  ["CreateProject", { ...org, ...project, name: `Project ${name}` }],
  ["CreateApplication", { ...app, name: `App ${name}`, oidcConfiguration: callback }],
  ["CreateAdministrator", { ...membership, roles: ["ORG_OWNER"] }],
  ["CreateWebKey", { ed25519: {} }],
  ["CreateProject", { ...org, projectId: "second", name: `Project ${name} again` }],
  ["AddProjectRole", { ...project, roleKey: "editor", displayName: `Role ${name}` }],
  ["CreateAuthorization", { ...org, ...project, ...serviceAccount, roleKeys: ["editor"] }],
  [
    "SetUserMetadata",
    { ...serviceAccount, metadata: [{ key: `Metadata ${name}`, value: "eA==" }] },
  ],
  ["AddKey", { ...serviceAccount, expirationDate }],
  ["AddPersonalAccessToken", { ...serviceAccount, expirationDate }],
  ["AddPersonalAccessToken", { ...serviceAccount, expirationDate }],
  ["CreateApplicationKey", app],
  ["CreateApplicationKey", app],
  ["CreateApplication", { ...api, name: `API ${name}`, apiConfiguration: {} }],
  ["AddOrganization", { organizationId: "guest", name: `Org ${name} guest` }],
  ["CreateProjectGrant", { ...grantedProject, roleKeys: ["editor"] }],
  [
    "CreateAdministrator",
    { ...serviceAccount, resource: grantResource, roles: ["PROJECT_GRANT_OWNER"] },
  ],
  ["ListAdministrators", { filters: [{ resource: grantResource }] }],
  ["CreateRole", { ...helper, displayName: `Role ${name} too`, permissions: ["user.read"] }],
  ["CreateGroup", { ...org, id: "group", name: `Group ${name}` }],
  ["CreateSignUpLink", { ...org, useLimit: 1, expirationDate: tomorrow }],
  ["AddUsersToGroup", { id: "group", userIds: ["user"] }],
  ["CreateGroup", { ...org, id: "group2", name: `Group Two ${name}` }],
  ["AddGroupsToGroup", { id: "group", groupIds: ["group2"] }],
  ["CreateGroupAdministrator", { ...groupRoles, roles: ["ORG_OWNER_VIEWER"] }],
  ["CreateGroupAuthorization", { ...groupOnProject, roleKeys: ["editor"] }],
  ["AddOrganizationDomain", { ...org, domain: "shared.example" }],
  ["ListOrganizations", { queries: [{ defaultQuery: {} }] }],
  ...createTargetSteps(name),
  ...createActionSteps(name),
  ...createIdpSteps,
  ...createProviderSteps,
]

export const readSteps: readonly Step[] = [
  ...["system", "admin", "auth", "management"].map((family): Step => {
    const service = `${family[0]?.toUpperCase()}${family.slice(1)}Service`
    return [`core.${family}.v1.${service}/Healthz`, {}]
  }),
  ["ListMessages", {}],
  ["core.admin.v1.AdminService/GetMyInstance", {}],
  ["core.admin.v1.AdminService/ListInstanceDomains", {}],
  ...["GetOIDCSettings", "GetRestrictions", "GetSecurityPolicy"].map(
    (name): Step => [admin(name), {}],
  ),
  ...["GetSecuritySettings", "ListRefusedRequests"].map((name): Step => [name, {}]),
  [auth("GetMyUser"), {}],
  ...[
    "ListMyUserSessions",
    "ListMyMetadata",
    "ListMyRefreshTokens",
    "ListMyAuthFactors",
    "ListMyPasswordless",
    "ListMyCorePermissions",
    "ListMyMemberships",
  ].map((name): Step => [auth(name), {}]),
  ["core.auth.v1.AuthService/ListMyProjectOrgs", {}],
  ["GetInstance", {}],
  ...["ListCustomDomains", "ListTrustedDomains"].map((name): Step => [name, {}]),
  ["GetInstanceFeatures", { inheritance: true }],
  ["GetOrganizationFeatures", org],
  ["GetUserFeatures", user],
  ...["GetIAM", "GetOIDCInformation"].map((name): Step => [management(name), {}]),
  [management("GetOIDCInformation"), {}],
  [management("GetMyOrg"), {}],
  [management("GetUserByID"), { id: "user" }],
  [management("GetUserByLoginNameGlobal"), { loginName: "robot" }],
  [management("GetProjectByID"), { id: "project" }],
  [management("ListProjects"), {}],
  ["ListOrganizations", {}],
  ["ListOrganizationDomains", org],
  ["ListOrganizationMetadata", org],
  [management("ListOrgMemberRoles"), {}],
  [admin("ListIAMMemberRoles"), {}],
  ["GetUserByID", user],
  ...["ListPasskeys", "ListAuthenticationMethodTypes", "ListAuthenticationFactors"].map(
    (name): Step => [name, user],
  ),
  ["ListUsers", {}],
  ["ListKeys", {}],
  ["GetProject", project],
  ["ListProjects", {}],
  ["GetApplication", { applicationId: "app" }],
  ["ListApplications", {}],
  ["GetBackChannelLogoutStatus", app],
  ["ListApplicationAssignments", {}],
  ["ListApplicationUsers", { applicationId: "app" }],
  ["ListClientSecrets", app],
  ["ListApplicationKeys", {}],
  [management("ListAppKeys"), legacyApp],
  ["ListPersonalAccessTokens", {}],
  [management("ListPersonalAccessTokens"), serviceAccount],
  [management("ListMachineKeys"), serviceAccount],
  ["ListAdministrators", {}],
  ["ListRoles", {}],
  [management("ListUserChanges"), { userId: "user" }],
  [management("ListOrgChanges"), {}],
  [management("ListProjectChanges"), project],
  [management("ListAppChanges"), legacyApp],
  ["core.auth.v1.AuthService/ListMyUserChanges", {}],
  [admin("ListEvents"), {}],
  ["ListChanges", { resource: { projectId: "project" } }],
  ["GetDifferences", { resource: { projectId: "project" } }],
  ["GetUndo", { resource: { projectId: "project" }, sequence: "1" }],
  ["GetPermissionReason", { ...user, permission: "project.read", resource: "instance" }],
  ["GetEntryReason", { ...user, applicationId: "app" }],
  [admin("ListEventTypes"), {}],
  [admin("ListAggregateTypes"), {}],
  [admin("ListFailedEvents"), {}],
  ["GetGroup", { id: "group" }],
  ["ListGroups", {}],
  ["ListSignUpLinks", {}],
  ["ListSignUpRequests", {}],
  ["ListGroupUsers", {}],
  ["ListMemberGroups", {}],
  ["ListGroupAdministrators", {}],
  ["ListGroupAuthorizations", {}],
  ["ListEffectiveRoles", user],
  ["ListEffectiveAdministrators", user],
  ["ListProjectRoles", project],
  [management("ListProjectRoles"), project],
  ["ListAuthorizations", {}],
  ["ListProjectGrants", {}],
  [management("ListGrantedProjects"), {}],
  [management("ListProjectMemberRoles"), {}],
  [management("ListProjectGrantMemberRoles"), {}],
  ["ListUserMetadata", serviceAccount],
  ["ListUnconfirmedEmails", { limit: 10 }],
  ["ConfirmEmails", { emails: [{ userId: "absent", email: "a@example.com" }] }],
  ["ListWebKeys", {}],
  [webKeys("ListWebKeys"), {}],
  ["ListFailedSignIns", user],
  ["ListConnectedApplications", {}],
  ["ListUserConnectedApplications", user],
  ["ListLinkableProviders", {}],
  ...["ListApplicationUses", "ListSessions"].map((name): Step => [name, {}]),
  ...policyReadSteps,
  ...providerReadSteps,
  ...idpReadSteps,
  ...actionReadSteps,
  ...targetReadSteps,
]

const imported = {
  dataOrgs: {
    orgs: [
      { orgId: "taken", org: { name: "Taken" } },
      { orgId: "org", projects: [{ projectId: "taken", project: { name: "Taken" } }] },
    ],
  },
}

/** Changes to a group's authorization, by its ID. */
export const groupRoleChanges = (id: string): readonly Step[] => [
  ["UpdateGroupAuthorization", { id, roleKeys: [] }],
  ["DeleteGroupAuthorization", { id }],
]

/** Every operation that changes something, in a valid order. */
export const changeSteps = (webKeyId: string, id: string, homeId: string): readonly Step[] => [
  ["AddOrganizationDomain", { organizationId: homeId, domain: "home.example" }],
  [admin("SetDefaultOrg"), { orgId: "guest" }],
  [admin("SetDefaultOrg"), { orgId: homeId }],
  ["UpdateOrganization", { ...org, name: "Other" }],
  [admin("ImportData"), imported],
  [admin("ExportData"), { orgIds: ["org", "taken"], withPasswords: true }],
  ["DeactivateOrganization", org],
  ["ActivateOrganization", org],
  ["SetOrganizationMetadata", { ...org, metadata: [{ key: "plan", value: "eA==" }] }],
  ["DeleteOrganizationMetadata", { ...org, keys: ["plan"] }],
  ["AddOrganizationDomain", { ...org, domain: "example.org" }],
  ["DeleteOrganizationDomain", { ...org, domain: "example.org" }],
  ["AddOrganizationDomain", { organizationId: "guest", domain: "used.example" }],
  ["GenerateOrganizationDomainValidation", { organizationId: "guest", ...usedDomain }],
  ["UpdateUser", { ...user, human: { profile: { givenName: "Other" } } }],
  ...["CreateInviteCode", "ResendInviteCode"].map((name): Step => [name, user]),
  ["PasswordReset", user],
  ["SetPassword", { ...user, newPassword }],
  [
    "AddHumanUser",
    { userId: "human", organization: { orgId: "org" }, ...humanInput("Human"), username: "human" },
  ],
  ["UpdateHumanUser", { userId: "human", username: "older" }],
  ...["AddOTPEmail", "RemoveOTPEmail"].map((name): Step => [name, user]),
  ...["RegisterTOTP", "RemoveTOTP", "RegisterU2F", "RegisterPasskey"].map(
    (name): Step => [name, user],
  ),
  // Recovery codes require another allowed factor.
  ...[3, 5].map((type): Step => [admin("AddSecondFactorToLoginPolicy"), { type }]),
  ["AddOTPEmail", user],
  ...["GenerateRecoveryCodes", "RemoveRecoveryCodes", "RemoveOTPEmail"].map(
    (name): Step => [name, user],
  ),
  ...[3, 5].map((type): Step => [admin("RemoveSecondFactorFromLoginPolicy"), { type }]),
  ...["CreatePasskeyRegistrationLink", "HumanMFAInitSkipped"].map((name): Step => [name, user]),
  ["SetEmail", { ...user, email: "new@example.com" }],
  ...["SendEmailCode", "ResendEmailCode"].map((name): Step => [name, user]),
  ["SetPhone", { ...user, phone: "+41791234567" }],
  ...["ResendPhoneCode", "RemovePhone"].map((name): Step => [name, user]),
  [auth("UpdateMyUserName"), { userName: "renamed" }],
  [auth("RevokeAllMyRefreshTokens"), {}],
  ["CreateSession", { checks: { user } }],
  ["DeactivateUser", user],
  ["ReactivateUser", user],
  ["LockUser", user],
  ["UnlockUser", user],
  ["AddApplicationAssignments", { ...app, userIds: ["user"], groupIds: ["group"] }],
  ["RemoveApplicationAssignments", { ...app, userIds: ["user"] }],
  ["UpdateProject", { ...project, name: "Other" }],
  ["DeactivateProject", project],
  ["ActivateProject", project],
  [management("UpdateProject"), { id: "project", name: "Older" }],
  [management("DeactivateProject"), { id: "project" }],
  [management("ReactivateProject"), { id: "project" }],
  [management("AddProject"), { name: "New" }],
  ["StartTestSignIn", { applicationId: "app" }],
  ["UpdateApplication", { ...app, name: "Other" }],
  ["DeactivateApplication", app],
  ["ReactivateApplication", app],
  ["UpdateAdministrator", { ...membership, roles: ["ORG_OWNER_VIEWER"] }],
  ["DeleteAdministrator", membership],
  ["ActivateWebKey", { id: webKeyId }],
  [webKeys("CreateWebKey"), { key: { ed25519: {} } }],
  [webKeys("ActivateWebKey"), { id: webKeyId }],
  ["CreateWebKey", { ed25519: {} }],
  [admin("AddOIDCSettings"), lifetimes],
  [admin("UpdateOIDCSettings"), { ...lifetimes, idTokenLifetime: "60s" }],
  ["UpdateInstance", { instanceName: "Other" }],
  ["AddTrustedDomain", { trustedDomain: "trusted.example" }],
  ["RemoveTrustedDomain", { trustedDomain: "trusted.example" }],
  ["SetInstanceFeatures", { userSchema: true }],
  ["ResetInstanceFeatures", {}],
  ...["SetOrganizationFeatures", "ResetOrganizationFeatures"].map((name): Step => [name, org]),
  ...["SetUserFeatures", "ResetUserFeatures"].map((name): Step => [name, user]),
  [admin("ActivateFeatureLoginDefaultOrg"), {}],
  [admin("SetRestrictions"), { allowedLanguages: { list: ["de"] } }],
  [admin("SetSecurityPolicy"), { enableImpersonation: true }],
  ["SetSecuritySettings", { embeddedIframe: { allowedOrigins: [] } }],
  ["UpdateRole", { key: "HELPER", displayName: "Other" }],
  ["DeleteRole", { key: "HELPER" }],
  ["UpdateGroup", { id: "group", name: "Other" }],
  ["AddUsersToGroup", { id: "group", userIds: ["robot"] }],
  ["RemoveUsersFromGroup", { id: "group", userIds: ["user"] }],
  ["UpdateGroupAdministrator", { ...groupRoles, roles: ["ORG_USER_MANAGER"] }],
  ["DeleteGroupAdministrator", groupRoles],
  ["AddGroupsToGroup", { id: "group", groupIds: ["group2"] }],
  ["RemoveGroupsFromGroup", { id: "group", groupIds: ["group2"] }],
  ["DeleteGroup", { id: "group" }],
  ["UpdateProjectGrant", { ...grantedProject, roleKeys: [] }],
  ["DeactivateProjectGrant", grantedProject],
  ["ActivateProjectGrant", grantedProject],
  ["DeleteProjectGrant", grantedProject],
  ["UpdateAuthorization", { id, roleKeys: [] }],
  ["DeactivateAuthorization", { id }],
  ["ActivateAuthorization", { id }],
  ["DeleteAuthorization", { id }],
  ["UpdateProjectRole", { ...project, roleKey: "editor", displayName: "Other" }],
  ["RemoveProjectRole", { ...project, roleKey: "editor" }],
  [management("AddProjectRole"), { ...project, roleKey: "a/b", displayName: "Slash" }],
  [management("BulkAddProjectRoles"), { ...project, roles: [{ key: "c", displayName: "C" }] }],
  [management("UpdateProjectRole"), { ...project, roleKey: "a/b", displayName: "Other" }],
  [management("RemoveProjectRole"), { ...project, roleKey: "a/b" }],
  ["DeleteUserMetadata", { ...serviceAccount, keys: ["Metadata one"] }],
  ["DeleteUser", user],
  ["DeleteApplication", app],
  ["DeleteProject", project],
  [management("RemoveProject"), { id: "second" }],
  ["DeleteOrganization", { organizationId: "guest" }],
  ...policyChangeSteps,
]

const code = { code: "AAAAAA" }
const wrong = { ...user, verificationCode: "AAAAAA" }
const emptyKey = { publicKeyCredential: "e30=", tokenName: "Key" }
const nothingMade = { publicKeyCredential: {} }
const upload = "core.asset.v1.AssetService/UploadMyAvatar"

/**
 * Requests that are rejected because a code or proof is wrong, or because the caller is a service
 * account; with their status.
 */
export const rejectedSteps: readonly (readonly [...Step, status: number])[] = [
  ["VerifyOrganizationDomain", { ...org, domain: "absent.example" }, 404],
  ...["RevokeSignUpLink", "ApproveSignUpRequest", "RefuseSignUpRequest"].map(
    (name) => [name, { id: "absent" }, 404] as const,
  ),
  [management("SetPrimaryOrgDomain"), { domain: "absent.example" }, 404],
  [management("GetOrgByDomainGlobal"), { domain: "shared.example" }, 404],
  ...["GetSession", "SetSession", "DeleteSession"].map(
    (name) => [name, { sessionId: "absent" }, 404] as const,
  ),
  ["GetAuthRequest", { authRequestId: "absent" }, 403],
  ["CreateCallback", { authRequestId: "absent" }, 403],
  ["GetSAMLRequest", { samlRequestId: "absent" }, 403],
  ["CreateResponse", { samlRequestId: "absent" }, 403],
  ["GetDeviceAuthorizationRequest", { userCode: "BCDF-GHJK" }, 403],
  // Both instances share the nodes.
  ["ListNodes", {}, 403],
  ["AuthorizeOrDenyDeviceAuthorization", { deviceAuthorizationId: "absent" }, 403],
  ...rejectedProviderSteps,
  ...rejectedTargetSteps,
  ...rejectedActionSteps,
  ["RetryFailedEvents", { viewName: "absent", failedSequence: 1 }, 404],
  ["UndoChange", { resource: { projectId: "project" }, sequence: 9999 }, 404],
  [
    admin("RemoveFailedEvent"),
    { database: "latchkey", viewName: "absent", failedSequence: 1 },
    404,
  ],
  ...rejectedIdpSteps,
  ["VerifyEmail", wrong, 400],
  ["VerifyPhone", wrong, 400],
  ["VerifyInviteCode", wrong, 400],
  ["VerifyTOTPRegistration", { ...user, code: "123456" }, 404],
  [
    "VerifyPasskeyRegistration",
    { ...user, ...nothingMade, passkeyId: "absent", passkeyName: "A" },
    404,
  ],
  ["RemovePasskey", { ...user, passkeyId: "absent" }, 404],
  ["ReleaseLoginName", { ...user, loginName: "absent" }, 404],
  ["RenamePasskey", { ...user, passkeyId: "absent", name: "A" }, 404],
  ["DisconnectApplication", { applicationId: "absent" }, 404],
  ["DisconnectUserApplication", { ...user, applicationId: "absent" }, 404],
  ["StartProviderLink", { idpId: "absent" }, 404],
  ["SendAccountCode", {}, 400],
  ["VerifyAccountCode", { code: "123456" }, 400],
  ["VerifyU2FRegistration", { ...user, ...nothingMade, u2fId: "absent", tokenName: "A" }, 404],
  ["RemoveU2F", { ...user, u2fId: "absent" }, 404],
  ["AddOTPSMS", user, 400],
  ["RemoveOTPSMS", user, 404],
  ["ViewMessage", { userId: wrong.userId, messageId: "absent" }, 404],
  ["SendMessageAgain", { userId: wrong.userId, messageId: "absent" }, 404],
  [auth("GetMyMetadata"), { key: "absent" }, 404],
  [auth("RevokeMyRefreshToken"), { id: "absent" }, 404],
  [auth("RemoveMyUser"), {}, 403],
  [auth("GetMyProfile"), {}, 400],
  [auth("GetMyEmail"), {}, 400],
  [auth("GetMyPhone"), {}, 400],
  [auth("UpdateMyProfile"), { firstName: "A", lastName: "B" }, 400],
  [auth("SetMyEmail"), { email: "new@example.com" }, 400],
  [auth("SetMyPhone"), { phone: "+41791234567" }, 400],
  [auth("ResendMyEmailVerification"), {}, 400],
  [auth("ResendMyPhoneVerification"), {}, 400],
  [auth("VerifyMyEmail"), code, 400],
  ...[
    "AddMyAuthFactorOTP",
    "AddMyAuthFactorOTPSMS",
    "AddMyAuthFactorOTPEmail",
    "AddMyAuthFactorU2F",
    "AddMyPasswordless",
    "AddMyPasswordlessLink",
    "SendMyPasswordlessLink",
    "RemoveMyAuthFactorOTP",
    "RemoveMyAuthFactorOTPSMS",
    "RemoveMyAuthFactorOTPEmail",
  ].map((name) => [auth(name), {}, 400] as const),
  [auth("UpdateMyPassword"), { oldPassword: "Old-horse-8", newPassword: "New-horse-8" }, 400],
  [auth("VerifyMyAuthFactorOTP"), code, 400],
  [auth("VerifyMyAuthFactorU2F"), { verification: emptyKey }, 400],
  [auth("VerifyMyPasswordless"), { verification: emptyKey }, 400],
  [auth("RemoveMyAuthFactorU2F"), { tokenId: "absent" }, 400],
  [auth("RemoveMyPasswordless"), { tokenId: "absent" }, 400],
  [auth("VerifyMyPhone"), code, 400],
  [auth("RemoveMyPhone"), {}, 400],
  // Service accounts have no avatar.
  [auth("RemoveMyAvatar"), {}, 400],
  ["core.asset.v1.AssetService/GetMyAvatar", {}, 404],
  [upload, { file: { data: onePixel.toString("base64") } }, 400],
  [management("RemoveHumanAvatar"), { userId: wrong.userId }, 404],
]

/** Reads a grant by its own ID, which only the list of its administrators returns. */
export const grantReadSteps = (grantId: string): readonly Step[] => [
  [management("GetGrantedProjectByID"), { ...project, grantId }],
  [management("ListGrantedProjectRoles"), { ...project, grantId }],
  [management("ListProjectGrantChanges"), { ...project, grantId }],
]

type Credentials = {
  readonly keyIds: readonly string[]
  readonly tokenIds: readonly string[]
  readonly appKeyIds: readonly string[]
}

/** The same for credentials of service accounts and applications. */
export const credentialChangeSteps = ({
  keyIds,
  tokenIds,
  appKeyIds,
}: Credentials): readonly Step[] => {
  const [[keyId, otherKeyId], [tokenId, otherTokenId]] = [keyIds, tokenIds]
  const [appKeyId, otherAppKeyId] = appKeyIds
  return [
    [management("GetMachineKeyByIDs"), { ...serviceAccount, keyId }],
    [management("RemoveMachineKey"), { ...serviceAccount, keyId }],
    [management("AddMachineKey"), { ...serviceAccount, type: "KEY_TYPE_JSON" }],
    ["RemoveKey", { ...serviceAccount, keyId: otherKeyId }],
    [management("GetPersonalAccessTokenByIDs"), { ...serviceAccount, tokenId }],
    [management("RemovePersonalAccessToken"), { ...serviceAccount, tokenId }],
    [management("AddPersonalAccessToken"), serviceAccount],
    ["RemovePersonalAccessToken", { ...serviceAccount, tokenId: otherTokenId }],
    ["AddSecret", serviceAccount],
    ["RemoveSecret", serviceAccount],
    [management("GenerateMachineSecret"), serviceAccount],
    [management("RemoveMachineSecret"), serviceAccount],
    ["GetApplicationKey", { keyId: appKeyId }],
    ["DeleteApplicationKey", { ...app, keyId: appKeyId }],
    [management("GetAppKey"), { ...legacyApp, keyId: otherAppKeyId }],
    [management("RemoveAppKey"), { ...legacyApp, keyId: otherAppKeyId }],
    [management("AddAppKey"), { ...legacyApp, type: "KEY_TYPE_JSON" }],
    ["GenerateClientSecret", app],
    ["RemoveClientSecret", { ...app, secretId: "0" }],
    [management("RegenerateOIDCClientSecret"), legacyApp],
    [management("RegenerateAPIClientSecret"), { ...legacyApp, appId: "api" }],
  ]
}
