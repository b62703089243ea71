import { former, historyOf, type Undo } from "../../store/index.ts"
import { type Instance, type InstanceEvent, instance, memberOf } from "./model.ts"
import { consentLifetimeOf } from "./setting.ts"

const administrators = "core.internal_permission.v2.InternalPermissionService"

/** The settings replace each other; what others have changed since stays as it is. */
const oidc: Undo<InstanceEvent, Instance> = ({ before, after, now }) => {
  const was = former(before.oidc, after.oidc)
  const { keyRotation, registration, ...settings } = { ...now.oidc, ...was }
  const { enabled, periodSeconds: period, aheadSeconds: publishAhead } = keyRotation
  return [
    "UpdateOIDCSettings",
    {
      ...settings,
      idTokenSigningAlgorithm: settings.idTokenAlgorithm,
      accessTokenSigningAlgorithm: settings.accessTokenAlgorithm,
      keyRotation: { enabled, period, publishAhead },
      authorizationServerMetadata: settings.serverMetadata,
      ...(was.registration && {
        clientRegistration: {
          ...registration,
          lifetime: registration.lifetimeSeconds,
          metadataDocuments: registration.metadataDocuments ?? false,
          consentLifetime: consentLifetimeOf(registration),
        },
      }),
    },
  ]
}

const administrator = (userId: string) => ({ userId, resource: { instance: true } })

export const instanceHistory = historyOf(instance, {
  hidden: ["oidcSaid"],
  operations: "core.admin.v1.AdminService/*Instance",
  target: ({ id }) => ({ instanceId: id }),
  present: ({ name }) => ({ instanceName: name }),
  undo: {
    "instance.changed": "core.instance.v2.InstanceService/UpdateInstance",
    "instance.default.org.set": ({ before: { defaultOrgId: orgId } }) =>
      orgId === "" ? "unsaid" : ["SetDefaultOrg", { orgId }],
    "instance.member.added": ({ event: { data } }) => [
      `${administrators}/DeleteAdministrator`,
      administrator(data.userId),
    ],
    "instance.member.changed": ({ event: { data }, before }) => [
      `${administrators}/UpdateAdministrator`,
      { ...memberOf(before, data.userId), ...administrator(data.userId) },
    ],
    "instance.member.removed": ({ event: { data }, before }) => {
      const member = memberOf(before, data.userId)
      if (!member || member.roles.length === 0) return "parts"
      return [`${administrators}/CreateAdministrator`, { ...member, ...administrator(data.userId) }]
    },
    "instance.oidc.settings.added": oidc,
    "instance.oidc.settings.changed": oidc,
    "instance.policy.security.set": ({ before, after, now }) => {
      const { enableIframeEmbedding: enabled, ...settings } = {
        ...now.security,
        ...former(before.security, after.security),
      }
      const embeddedIframe = { enabled, allowedOrigins: settings.allowedOrigins }
      return [
        "core.settings.v2.SettingsService/SetSecuritySettings",
        { ...settings, embeddedIframe },
      ]
    },
    "instance.default.language.set": ({ before: { defaultLanguage: language } }) =>
      language === "" ? "unsaid" : ["SetDefaultLanguage", { language }],
    "instance.trusted_domain.added": ({ event: { data } }) => [
      "core.instance.v2.InstanceService/RemoveTrustedDomain",
      { trustedDomain: data.domain },
    ],
  },
  noUndo: { operator: ["instance.public.url.set", "instance.iam.*", "instance.domain.*"] },
})
