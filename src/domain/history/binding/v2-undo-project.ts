import type { MessageInitShape } from "@bufbuild/protobuf"
import { durationFromMs } from "@bufbuild/protobuf/wkt"
import type { LoginVersionSchema } from "../../../gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../gen/core/application/v2/application_service_pb.ts"
import { AuthorizationService } from "../../../gen/core/authorization/v2/authorization_service_pb.ts"
import { GroupsClaim, PrivateLabelingSetting } from "../../../gen/core/project/v2/project_pb.ts"
import { ProjectService } from "../../../gen/core/project/v2/project_service_pb.ts"
import { toAttributes } from "../../app/api.ts"
import {
  type App,
  type AppEvent,
  app,
  type OidcConfig,
  type TokenConfig,
  usualAttributes,
} from "../../app/index.ts"
import { authorization } from "../../authorization/index.ts"
import { project } from "../../project/index.ts"
import { type ProjectGrant, projectGrant } from "../../project-grant/index.ts"
import { type Asked, type Past, type Reason, undoing } from "../undo/way.ts"
import { ask, back, given } from "./v2-undo-ask.ts"

const service = ProjectService.method

const labelings = {
  unspecified: PrivateLabelingSetting.UNSPECIFIED,
  project_owner: PrivateLabelingSetting.ENFORCE_PROJECT_RESOURCE_OWNER_POLICY,
  login_user: PrivateLabelingSetting.ALLOW_LOGIN_USER_RESOURCE_OWNER_POLICY,
} as const

const claims = {
  unspecified: GroupsClaim.UNSPECIFIED,
  off: GroupsClaim.OFF,
  groups: GroupsClaim.GROUPS,
  roles: GroupsClaim.ROLES,
} as const

export const projects = undoing(project, {
  "project.added": "creation",
  "project.changed": ({ id: projectId, before, after }) => {
    const was = back(before, after)
    return ask(service.updateProject, {
      ...given({
        name: was.name,
        projectRoleAssertion: was.projectRoleAssertion,
        authorizationRequired: was.projectRoleCheck,
        projectAccessRequired: was.hasProjectCheck,
        privateLabelingSetting: was.privateLabelingSetting && labelings[was.privateLabelingSetting],
        groupsClaim: was.groupsClaim && claims[was.groupsClaim],
      }),
      projectId,
    })
  },
  "project.role.added": "creation",
  "project.role.changed": {
    part: ({ key }) => key,
    ask: ({ id: projectId, event }, earlier) => {
      const data = earlier?.data ?? {}
      if (!("displayName" in data) || !("group" in data)) return "parts"
      const { displayName, group } = data
      if (typeof displayName !== "string" || typeof group !== "string") return "parts"
      const { key: roleKey } = event.data
      return ask(service.updateProjectRole, { projectId, roleKey, displayName, group })
    },
  },
  "project.role.removed": "removal",
  "project.deactivated": ({ id: projectId }) => ask(service.activateProject, { projectId }),
  "project.reactivated": ({ id: projectId }) => ask(service.deactivateProject, { projectId }),
  "project.removed": "removal",
})

const between = ({ now: { projectId, grantedOrgId } }: { readonly now: ProjectGrant }) => ({
  ...{ projectId, grantedOrganizationId: grantedOrgId },
})

export const projectGrants = undoing(projectGrant, {
  "project.grant.added": "creation",
  "project.grant.changed": (past) =>
    ask(service.updateProjectGrant, {
      ...between(past),
      roleKeys: Object.keys(past.before.roles),
    }),
  "project.grant.deactivated": (past) => ask(service.activateProjectGrant, between(past)),
  "project.grant.reactivated": (past) => ask(service.deactivateProjectGrant, between(past)),
  "project.grant.removed": "removal",
})

const { deleteAuthorization, updateAuthorization } = AuthorizationService.method
const { activateAuthorization, deactivateAuthorization } = AuthorizationService.method

export const authorizations = undoing(authorization, {
  // Nothing hangs from it: whoever was given roles has them no more.
  "user.grant.added": ({ id }) => ask(deleteAuthorization, { id }),
  "user.grant.changed": ({ id, before }) =>
    ask(updateAuthorization, { id, roleKeys: [...before.roleKeys] }),
  "user.grant.deactivated": ({ id }) => ask(activateAuthorization, { id }),
  "user.grant.reactivated": ({ id }) => ask(deactivateAuthorization, { id }),
  "user.grant.removed": "removal",
})

// The enums of the interface.
const responseTypes = { code: 1, id_token: 2, id_token_token: 3 } as const
const grantTypes = {
  authorization_code: 0,
  implicit: 1,
  refresh_token: 2,
  device_code: 3,
  token_exchange: 4,
} as const
const appTypes = { web: 0, user_agent: 1, native: 2 } as const
const authMethods = { basic: 0, post: 1, none: 2, private_key_jwt: 3 } as const
const pkceRules = { inherited: 0, required: 1, optional: 2 } as const
const tokenTypes = { bearer: 0, jwt: 1 } as const
const remoteUsers = { login_name: 1, user_id: 2, email: 3 } as const
const apiMethods = { basic: 0, private_key_jwt: 1 } as const

type PastApp = Past<AppEvent, App>

/** The application that is changed, for all that is asked of it. */
function named({ id: applicationId, now }: PastApp) {
  return { applicationId, projectId: "projectId" in now ? now.projectId : "" }
}

function nameBack(past: PastApp): Asked | Reason {
  const { before } = past
  if (!("name" in before)) return "parts"
  return ask(ApplicationService.method.updateApplication, { ...named(past), name: before.name })
}

function oidcBack(past: PastApp): Asked | Reason {
  const { before, after } = past
  if (!("oidc" in before) || !("oidc" in after)) return "parts"
  const value = {
    ...oidcOf(back(before.oidc, after.oidc)),
    ...forwardAuthOf(before.oidc, after.oidc),
    ...logoutOf(before.oidc, after.oidc),
    ...(before.oidc.groupsClaim !== after.oidc.groupsClaim && {
      groupsClaim: claims[before.oidc.groupsClaim ?? "unspecified"],
    }),
    ...plainOauthOf(before.oidc, after.oidc),
    ...(before.oidc.pkce !== after.oidc.pkce && {
      pkce: pkceRules[before.oidc.pkce ?? "inherited"],
    }),
  }
  return ask(ApplicationService.method.updateApplication, {
    ...named(past),
    applicationType: { case: "oidcConfiguration", value },
  })
}

const oidcOf = (was: Partial<OidcConfig>) => ({
  ...lists(was),
  ...given({
    applicationType: was.appType && appTypes[was.appType],
    authMethodType: was.authMethod && authMethods[was.authMethod],
    accessTokenType: was.tokenType && tokenTypes[was.tokenType],
    developmentMode: was.devMode,
    privateNetworkHttp: was.privateHttp,
    clockSkew: duration(was.clockSkewSeconds),
    accessTokenRoleAssertion: was.accessTokenRoleAssertion,
    idTokenRoleAssertion: was.idTokenRoleAssertion,
    idTokenUserinfoAssertion: was.idTokenUserinfoAssertion,
    idTokenProjectAudience: was.idTokenProjectAudience,
    idTokenClientId: was.idTokenClientId,
    genericRolesClaim: was.genericRolesClaim,
    skipNativeAppSuccessPage: was.skipNativeAppSuccessPage,
    backChannelLogoutUri: was.backChannelLogoutUri,
    loginVersion: was.loginVersion && loginOf(was.loginVersion),
    tokenSettings: was.tokens && tokensOf(was.tokens),
    frontChannelLogout: was.frontChannelLogout,
  }),
  ...(was.requestRules && {
    requestRules: {
      pushedRequired: was.requestRules.pushed,
      signedRequired: was.requestRules.signed,
      authMethodRequired: was.requestRules.authMethod ?? false,
    },
  }),
})

type ForwardAuth = Pick<OidcConfig, "accessRules" | "remoteUser" | "accessTokenForwarded">

/** What a proxy was told; one message holds the rules and the header, so both are set again. */
function forwardAuthOf(before: ForwardAuth, after: ForwardAuth) {
  const stated = ({ accessRules = [], remoteUser = "login_name", ...rest }: ForwardAuth) => ({
    rules: accessRules.map(({ prefix, everybody, roles, accessTokens = false }) => ({
      pathPrefix: prefix,
      everybody,
      roleKeys: [...roles],
      accessTokens,
    })),
    remoteUser: remoteUsers[remoteUser],
    tokenForwarded: rest.accessTokenForwarded ?? false,
  })
  const isSame = JSON.stringify(stated(before)) === JSON.stringify(stated(after))
  return isSame ? {} : { forwardAuth: stated(before) }
}

/** How sign-out reaches the application and comes from it; to allow it again is asked for anew. */
function logoutOf(before: OidcConfig, after: OidcConfig) {
  const stated = ({ backChannelPrivate = "", backEndLogout = false }: OidcConfig) => ({
    backChannelLogoutPrivateNetwork: backChannelPrivate !== "",
    backEndLogoutAccepted: backEndLogout,
  })
  return back(stated(before), stated(after))
}

const plainOauthOf = (before: OidcConfig, after: OidcConfig) =>
  back({ plainOauth: before.plainOauth ?? false }, { plainOauth: after.plainOauth ?? false })

const lists = (was: Partial<OidcConfig>) => ({
  redirectUris: [...(was.redirectUris ?? [])],
  postLogoutRedirectUris: [...(was.postLogoutRedirectUris ?? [])],
  additionalOrigins: [...(was.additionalOrigins ?? [])],
  responseTypes: (was.responseTypes ?? []).map((type) => responseTypes[type]),
  grantTypes: (was.grantTypes ?? []).map((type) => grantTypes[type]),
})

const loginOf = (
  login: OidcConfig["loginVersion"],
): MessageInitShape<typeof LoginVersionSchema> => {
  if (login.version === "unspecified") return {}
  if (login.version === "v1") return { version: { case: "loginV1", value: {} } }
  return { version: { case: "loginV2", value: { baseUri: login.baseUri } } }
}

const tokensOf = (tokens: TokenConfig) =>
  given({
    accessTokenLifetime: duration(tokens.accessTokenLifetime),
    idTokenLifetime: duration(tokens.idTokenLifetime),
    refreshTokenIdleExpiration: duration(tokens.refreshTokenIdleExpiration),
    refreshTokenExpiration: duration(tokens.refreshTokenExpiration),
    refreshTokenGrace: duration(tokens.refreshTokenGrace),
    idTokenSigningAlgorithm: tokens.idTokenAlgorithm,
    accessTokenSigningAlgorithm: tokens.accessTokenAlgorithm,
    accessTokenJwtType: tokens.accessTokenJwtType,
  })

const duration = (seconds: number | undefined) =>
  seconds === undefined ? undefined : durationFromMs(seconds * 1000)

function apiBack(past: PastApp): Asked | Reason {
  const { before } = past
  if (!("api" in before)) return "parts"
  const { authMethod, resources = [], scopes = [] } = before.api
  return ask(ApplicationService.method.updateApplication, {
    ...named(past),
    applicationType: {
      case: "apiConfiguration",
      value: {
        authMethodType: apiMethods[authMethod],
        resources: { uris: [...resources] },
        scopes: { scopes: [...scopes] },
      },
    },
  })
}

function samlBack(past: PastApp): Asked | Reason {
  const { before, after } = past
  if (!("saml" in before) || !("saml" in after)) return "parts"
  const usual = { enforceContext: false, attributes: usualAttributes }
  const { metadata, loginVersion, enforceContext, attributes } = back(
    { ...usual, ...before.saml },
    { ...usual, ...after.saml },
  )
  const metadataXml = metadata === undefined ? undefined : Buffer.from(metadata)
  return ask(ApplicationService.method.updateApplication, {
    ...named(past),
    applicationType: {
      case: "samlConfiguration",
      value: {
        ...(metadataXml && { metadata: { case: "metadataXml", value: metadataXml } }),
        ...(loginVersion && { loginVersion: loginOf(loginVersion) }),
        ...(enforceContext !== undefined && { enforceRequestedContext: enforceContext }),
        ...(attributes && { attributes: toAttributes(attributes) }),
      },
    },
  })
}

export const apps = undoing(app, {
  "project.application.added": "creation",
  "project.application.changed": nameBack,
  "project.application.deactivated": (past) =>
    ask(ApplicationService.method.reactivateApplication, named(past)),
  "project.application.reactivated": (past) =>
    ask(ApplicationService.method.deactivateApplication, named(past)),
  "project.application.removed": "removal",
  "project.application.registered": "registration",
  "project.application.registration.changed": "registration",
  "project.application.used": "fact",
  "project.application.config.oidc.added": "creation",
  "project.application.config.oidc.changed": oidcBack,
  "project.application.config.oidc.secret.changed": "secret",
  "project.application.config.oidc.secret.removed": "secret",
  "project.application.oidc.key.added": "secret",
  "project.application.oidc.key.removed": "secret",
  "project.application.config.api.added": "creation",
  "project.application.config.api.changed": apiBack,
  "project.application.config.api.secret.changed": "secret",
  "project.application.config.api.secret.removed": "secret",
  "project.application.api.key.added": "secret",
  "project.application.api.key.removed": "secret",
  "project.application.config.saml.added": "creation",
  "project.application.config.saml.changed": samlBack,
})
