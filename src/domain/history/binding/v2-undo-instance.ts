import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import { FeatureService } from "../../../gen/core/feature/v2/feature_service_pb.ts"
import { InstanceService } from "../../../gen/core/instance/v2/instance_service_pb.ts"
import { InternalPermissionService } from "../../../gen/core/internal_permission/v2/internal_permission_service_pb.ts"
import { ClientRegistrationMode } from "../../../gen/core/settings/v1/settings_pb.ts"
import { SettingsService } from "../../../gen/core/settings/v2/settings_service_pb.ts"
import { type FeatureKey, type Features, features } from "../../feature/index.ts"
import {
  consentLifetimeOf,
  type Instance,
  type InstanceEvent,
  instance,
  type OidcSettings,
} from "../../instance/index.ts"
import { restrictions } from "../../quota/index.ts"
import { type Asked, type Past, type Reason, type Undoing, undoing } from "../undo/way.ts"
import { ask, back, given } from "./v2-undo-ask.ts"

const { method: admin } = AdminService
const { createAdministrator, updateAdministrator, deleteAdministrator } =
  InternalPermissionService.method

type PastInstance = Past<InstanceEvent, Instance>

const onInstance = (userId: string) => ({
  ...{ userId, resource: { resource: { case: "instance", value: true } as const } },
})

const rolesIn = ({ members }: Instance, userId: string): string[] => [
  ...(Object.hasOwn(members, userId) ? (members[userId]?.roles ?? []) : []),
]

const modes = {
  off: ClientRegistrationMode.OFF,
  token: ClientRegistrationMode.TOKEN,
  open: ClientRegistrationMode.OPEN,
} as const

const duration = (seconds: number) => durationFromMs(seconds * 1000)

/** Set together: what others have changed since stays as it is. */
function oidcBack({ before, after, now }: PastInstance): Asked {
  const was = back(before.oidc, after.oidc)
  const wanted: OidcSettings = { ...now.oidc, ...was }
  const { keyRotation, registration } = wanted
  return ask(admin.updateOIDCSettings, {
    accessTokenLifetime: duration(wanted.accessTokenLifetime),
    idTokenLifetime: duration(wanted.idTokenLifetime),
    refreshTokenIdleExpiration: duration(wanted.refreshTokenIdleExpiration),
    refreshTokenExpiration: duration(wanted.refreshTokenExpiration),
    refreshTokenGrace: duration(wanted.refreshTokenGrace),
    idTokenSigningAlgorithm: wanted.idTokenAlgorithm,
    accessTokenSigningAlgorithm: wanted.accessTokenAlgorithm,
    keyRotation: {
      enabled: keyRotation.enabled,
      period: duration(keyRotation.periodSeconds),
      publishAhead: duration(keyRotation.aheadSeconds),
    },
    authorizationServerMetadata: wanted.serverMetadata,
    tokenAudit: wanted.tokenAudit,
    ...(was.registration && {
      clientRegistration: {
        mode: modes[registration.mode],
        projectId: registration.projectId,
        lifetime: duration(registration.lifetimeSeconds),
        applicationsMax: registration.applicationsMax,
        metadataDocuments: registration.metadataDocuments ?? false,
        consentLifetime: duration(consentLifetimeOf(registration)),
      },
    }),
  })
}

export const instances = undoing(instance, {
  "instance.added": "creation",
  "instance.changed": ({ id: instanceId, before }) =>
    ask(InstanceService.method.updateInstance, { instanceId, instanceName: before.name }),
  "instance.public.url.set": "operator",
  "instance.default.org.set": ({ before: { defaultOrgId: orgId } }) =>
    orgId === "" ? "unsaid" : ask(admin.setDefaultOrg, { orgId }),
  "instance.iam.project.set": "operator",
  "instance.iam.console.set": "operator",
  "instance.member.added": ({ event: { data } }) =>
    ask(deleteAdministrator, onInstance(data.userId)),
  "instance.member.changed": ({ event: { data }, before }) =>
    ask(updateAdministrator, {
      ...onInstance(data.userId),
      roles: rolesIn(before, data.userId),
    }),
  "instance.member.removed": ({ event: { data }, before }) => {
    const roles = rolesIn(before, data.userId)
    if (roles.length === 0) return "parts"
    return ask(createAdministrator, { ...onInstance(data.userId), roles })
  },
  "instance.oidc.settings.added": oidcBack,
  "instance.oidc.settings.changed": oidcBack,
  "instance.policy.security.set": ({ before, after, now }) => {
    const wanted = { ...now.security, ...back(before.security, after.security) }
    return ask(SettingsService.method.setSecuritySettings, {
      embeddedIframe: {
        enabled: wanted.enableIframeEmbedding,
        allowedOrigins: [...wanted.allowedOrigins],
      },
      enableImpersonation: wanted.enableImpersonation,
    })
  },
  "instance.default.language.set": ({ before: { defaultLanguage: language } }) =>
    language === "" ? "unsaid" : ask(admin.setDefaultLanguage, { language }),
  "instance.domain.added": "operator",
  "instance.domain.removed": "operator",
  "instance.trusted_domain.added": ({ id: instanceId, event: { data } }) =>
    ask(InstanceService.method.removeTrustedDomain, { instanceId, trustedDomain: data.domain }),
  "instance.trusted_domain.removed": "removal",
  "instance.removed": "removal",
})

export const restrictionTable = undoing(restrictions, {
  "restrictions.set": ({ before, after }) => {
    const { disallowPublicOrgRegistration, allowedLanguages } = back(before, after)
    return ask(admin.setRestrictions, {
      ...given({ disallowPublicOrgRegistration }),
      ...(allowedLanguages && { allowedLanguages: { list: [...allowedLanguages] } }),
    })
  },
})

/** How a feature is named where it is set. */
const flags = {
  login_default_org: "loginDefaultOrg",
  user_schema: "userSchema",
  token_exchange: "oidcTokenExchange",
  improved_performance: "improvedPerformance",
  debug_oidc_parent_error: "debugOidcParentError",
  oidc_single_v1_session_termination: "oidcSingleV1SessionTermination",
  enable_back_channel_logout: "enableBackChannelLogout",
  login_v2: "loginV2",
  permission_check_v2: "permissionCheckV2",
  console_use_v2_user_api: "consoleUseV2UserApi",
} as const satisfies Readonly<Record<FeatureKey, string>>

function featureBack(said: Features): Asked | Reason {
  const set = Object.entries(said).map(([key, value]) => [isKey(key) ? flags[key] : key, value])
  if (set.length === 0) return "unsaid"
  return ask(FeatureService.method.setInstanceFeatures, Object.fromEntries(set))
}

const isKey = (key: string): key is FeatureKey => Object.hasOwn(flags, key)

/** What was said before, of one feature. */
const featureWay =
  (key: FeatureKey) =>
  ({ before }: { readonly before: Features }): Asked | Reason => {
    const value = before[key]
    return value === undefined ? "unsaid" : featureBack({ [key]: value })
  }

export const featureTable: Undoing = undoing(features, {
  "feature.system.login_default_org.set": "operator",
  "feature.system.user_schema.set": "operator",
  "feature.system.token_exchange.set": "operator",
  "feature.system.improved_performance.set": "operator",
  "feature.system.debug_oidc_parent_error.set": "operator",
  "feature.system.oidc_single_v1_session_termination.set": "operator",
  "feature.system.enable_back_channel_logout.set": "operator",
  "feature.system.login_v2.set": "operator",
  "feature.system.permission_check_v2.set": "operator",
  "feature.system.console_use_v2_user_api.set": "operator",
  "feature.system.reset": "operator",
  "feature.instance.login_default_org.set": featureWay("login_default_org"),
  "feature.instance.user_schema.set": featureWay("user_schema"),
  "feature.instance.token_exchange.set": featureWay("token_exchange"),
  "feature.instance.improved_performance.set": featureWay("improved_performance"),
  "feature.instance.debug_oidc_parent_error.set": featureWay("debug_oidc_parent_error"),
  "feature.instance.oidc_single_v1_session_termination.set": featureWay(
    "oidc_single_v1_session_termination",
  ),
  "feature.instance.enable_back_channel_logout.set": featureWay("enable_back_channel_logout"),
  "feature.instance.login_v2.set": featureWay("login_v2"),
  "feature.instance.permission_check_v2.set": featureWay("permission_check_v2"),
  "feature.instance.console_use_v2_user_api.set": featureWay("console_use_v2_user_api"),
  "feature.instance.reset": ({ before }) => featureBack(before),
})
