// What two instances are asked and told, with the same ids in both.
import { onePixel } from "../support/picture.ts"
import { actionLooks, actionRefusals, actions } from "./action-steps.ts"
import { idpLooks, idpRefusals, idps } from "./idp-steps.ts"
import { policyChanges, policyLooks } from "./policy-steps.ts"
import { providerLooks, providerRefusals, providers } from "./provider-steps.ts"
import { personOf } from "./service.ts"
import { targetLooks, targetRefusals, targets } from "./target-steps.ts"

export type Step = readonly [name: string, request: object]

const org = { organizationId: "org" }
const project = { projectId: "project" }
const app = { applicationId: "app", projectId: "project" }
const older = { appId: "app", projectId: "project" }
const api = { ...app, applicationId: "api" }
const granted = { ...project, grantedOrganizationId: "guest" }
const grantResource = { projectGrant: { ...project, organizationId: "guest" } }
const user = { userId: "user" }
/** Somebody's name ends in it, so that it must be proven. */
const usedDomain = { domain: "used.example", type: "DOMAIN_VALIDATION_TYPE_DNS" }
const robot = { userId: "robot" }
const groupRoles = { groupId: "group", resource: org }
const groupOnProject = { ...org, ...project, groupId: "group" }
const seat = { ...user, resource: org }
const expirationDate = "2099-01-01T00:00:00Z"
const soon = new Date(Date.now() + 86_400_000).toISOString()
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

/** What both instances have, with the same ids and their own names. */
export const furniture = (name: string): readonly Step[] => [
  ["AddOrganization", { ...org, name: `Org ${name}` }],
  [
    "CreateUser",
    {
      ...org,
      ...user,
      username: "user@used.example",
      human: personOf(`Person ${name}`.replace(" ", "-")),
    },
  ],
  ["CreateUser", { ...org, ...robot, username: "robot", machine: { name: `Robot ${name}` } }],
  ["AddKey", { ...robot, expirationDate }],
  ["CreateProject", { ...org, ...project, name: `Project ${name}` }],
  ["CreateApplication", { ...app, name: `App ${name}`, oidcConfiguration: callback }],
  ["CreateAdministrator", { ...seat, roles: ["ORG_OWNER"] }],
  ["CreateWebKey", { ed25519: {} }],
  ["CreateProject", { ...org, projectId: "second", name: `Project ${name} again` }],
  ["AddProjectRole", { ...project, roleKey: "editor", displayName: `Role ${name}` }],
  ["CreateAuthorization", { ...org, ...project, ...robot, roleKeys: ["editor"] }],
  ["SetUserMetadata", { ...robot, metadata: [{ key: `Metadata ${name}`, value: "eA==" }] }],
  ["AddKey", { ...robot, expirationDate }],
  ["AddPersonalAccessToken", { ...robot, expirationDate }],
  ["AddPersonalAccessToken", { ...robot, expirationDate }],
  ["CreateApplicationKey", app],
  ["CreateApplicationKey", app],
  ["CreateApplication", { ...api, name: `API ${name}`, apiConfiguration: {} }],
  ["AddOrganization", { organizationId: "guest", name: `Org ${name} guest` }],
  ["CreateProjectGrant", { ...granted, roleKeys: ["editor"] }],
  ["CreateAdministrator", { ...robot, resource: grantResource, roles: ["PROJECT_GRANT_OWNER"] }],
  ["ListAdministrators", { filters: [{ resource: grantResource }] }],
  ["CreateRole", { ...helper, displayName: `Role ${name} too`, permissions: ["user.read"] }],
  ["CreateGroup", { ...org, id: "group", name: `Group ${name}` }],
  ["CreateSignUpLink", { ...org, useLimit: 1, expirationDate: soon }],
  ["AddUsersToGroup", { id: "group", userIds: ["user"] }],
  ["CreateGroup", { ...org, id: "group2", name: `Group Two ${name}` }],
  ["AddGroupsToGroup", { id: "group", groupIds: ["group2"] }],
  ["CreateGroupAdministrator", { ...groupRoles, roles: ["ORG_OWNER_VIEWER"] }],
  ["CreateGroupAuthorization", { ...groupOnProject, roleKeys: ["editor"] }],
  ["AddOrganizationDomain", { ...org, domain: "shared.example" }],
  ["ListOrganizations", { queries: [{ defaultQuery: {} }] }],
  ...targets(name),
  ...actions(name),
  ...idps,
  ...providers,
]

export const looks: readonly Step[] = [
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
  [management("ListAppKeys"), older],
  ["ListPersonalAccessTokens", {}],
  [management("ListPersonalAccessTokens"), robot],
  [management("ListMachineKeys"), robot],
  ["ListAdministrators", {}],
  ["ListRoles", {}],
  [management("ListUserChanges"), { userId: "user" }],
  [management("ListOrgChanges"), {}],
  [management("ListProjectChanges"), project],
  [management("ListAppChanges"), older],
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
  ["ListUserMetadata", robot],
  ["ListUnconfirmedEmails", { limit: 10 }],
  ["ConfirmEmails", { emails: [{ userId: "absent", email: "a@example.com" }] }],
  ["ListWebKeys", {}],
  [webKeys("ListWebKeys"), {}],
  ["ListFailedSignIns", user],
  ["ListConnectedApplications", {}],
  ["ListUserConnectedApplications", user],
  ["ListLinkableProviders", {}],
  ...["ListApplicationUses", "ListSessions"].map((name): Step => [name, {}]),
  ...policyLooks,
  ...providerLooks,
  ...idpLooks,
  ...actionLooks,
  ...targetLooks,
]

const imported = {
  dataOrgs: {
    orgs: [
      { orgId: "taken", org: { name: "Taken" } },
      { orgId: "org", projects: [{ projectId: "taken", project: { name: "Taken" } }] },
    ],
  },
}

/** By the ID of a group's authorization. */
export const groupRoleChanges = (id: string): readonly Step[] => [
  ["UpdateGroupAuthorization", { id, roleKeys: [] }],
  ["DeleteGroupAuthorization", { id }],
]

/** Every operation that changes something, in an order in which each one can. */
export const changes = (webKeyId: string, id: string, homeId: string): readonly Step[] => [
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
    { userId: "human", organization: { orgId: "org" }, ...personOf("Human"), username: "human" },
  ],
  ["UpdateHumanUser", { userId: "human", username: "older" }],
  ...["AddOTPEmail", "RemoveOTPEmail"].map((name): Step => [name, user]),
  ...["RegisterTOTP", "RemoveTOTP", "RegisterU2F", "RegisterPasskey"].map(
    (name): Step => [name, user],
  ),
  // Recovery codes stand in for another factor that is allowed.
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
  ["UpdateAdministrator", { ...seat, roles: ["ORG_OWNER_VIEWER"] }],
  ["DeleteAdministrator", seat],
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
  ["UpdateProjectGrant", { ...granted, roleKeys: [] }],
  ["DeactivateProjectGrant", granted],
  ["ActivateProjectGrant", granted],
  ["DeleteProjectGrant", granted],
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
  ["DeleteUserMetadata", { ...robot, keys: ["Metadata one"] }],
  ["DeleteUser", user],
  ["DeleteApplication", app],
  ["DeleteProject", project],
  [management("RemoveProject"), { id: "second" }],
  ["DeleteOrganization", { organizationId: "guest" }],
  ...policyChanges,
]

const code = { code: "AAAAAA" }
const wrong = { ...user, verificationCode: "AAAAAA" }
const emptyKey = { publicKeyCredential: "e30=", tokenName: "Key" }
const nothingMade = { publicKeyCredential: {} }
const upload = "core.asset.v1.AssetService/UploadMyAvatar"

/** What is refused for want of the right code or a proof, or to a service user; with its status. */
export const refusals: readonly (readonly [...Step, status: number])[] = [
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
  // The servers are those of both.
  ["ListNodes", {}, 403],
  ["AuthorizeOrDenyDeviceAuthorization", { deviceAuthorizationId: "absent" }, 403],
  ...providerRefusals,
  ...targetRefusals,
  ...actionRefusals,
  ["RetryFailedEvents", { viewName: "absent", failedSequence: 1 }, 404],
  ["UndoChange", { resource: { projectId: "project" }, sequence: 9999 }, 404],
  [
    admin("RemoveFailedEvent"),
    { database: "latchkey", viewName: "absent", failedSequence: 1 },
    404,
  ],
  ...idpRefusals,
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
  // A service user has no picture.
  [auth("RemoveMyAvatar"), {}, 400],
  ["core.asset.v1.AssetService/GetMyAvatar", {}, 404],
  [upload, { file: { data: onePixel.toString("base64") } }, 400],
  [management("RemoveHumanAvatar"), { userId: wrong.userId }, 404],
]

/** What looks at a grant by its own id, which none but its administrators' list tells. */
export const grantLooks = (grantId: string): readonly Step[] => [
  [management("GetGrantedProjectByID"), { ...project, grantId }],
  [management("ListGrantedProjectRoles"), { ...project, grantId }],
  [management("ListProjectGrantChanges"), { ...project, grantId }],
]

type Credentials = {
  readonly keyIds: readonly string[]
  readonly tokenIds: readonly string[]
  readonly appKeyIds: readonly string[]
}

/** The same of what service users and applications prove themselves with. */
export const credentialChanges = ({
  keyIds,
  tokenIds,
  appKeyIds,
}: Credentials): readonly Step[] => {
  const [[keyId, otherKeyId], [tokenId, otherTokenId]] = [keyIds, tokenIds]
  const [appKeyId, otherAppKeyId] = appKeyIds
  return [
    [management("GetMachineKeyByIDs"), { ...robot, keyId }],
    [management("RemoveMachineKey"), { ...robot, keyId }],
    [management("AddMachineKey"), { ...robot, type: "KEY_TYPE_JSON" }],
    ["RemoveKey", { ...robot, keyId: otherKeyId }],
    [management("GetPersonalAccessTokenByIDs"), { ...robot, tokenId }],
    [management("RemovePersonalAccessToken"), { ...robot, tokenId }],
    [management("AddPersonalAccessToken"), robot],
    ["RemovePersonalAccessToken", { ...robot, tokenId: otherTokenId }],
    ["AddSecret", robot],
    ["RemoveSecret", robot],
    [management("GenerateMachineSecret"), robot],
    [management("RemoveMachineSecret"), robot],
    ["GetApplicationKey", { keyId: appKeyId }],
    ["DeleteApplicationKey", { ...app, keyId: appKeyId }],
    [management("GetAppKey"), { ...older, keyId: otherAppKeyId }],
    [management("RemoveAppKey"), { ...older, keyId: otherAppKeyId }],
    [management("AddAppKey"), { ...older, type: "KEY_TYPE_JSON" }],
    ["GenerateClientSecret", app],
    ["RemoveClientSecret", { ...app, secretId: "0" }],
    [management("RegenerateOIDCClientSecret"), older],
    [management("RegenerateAPIClientSecret"), { ...older, appId: "api" }],
  ]
}
