import { formerValues, historyOf, type Undo } from "../../store/index.ts"
import { type Instance, type InstanceEvent, instance, memberOf } from "./model.ts"
import { consentLifetimeOf } from "./setting.ts"

const administrators = "core.internal_permission.v2.InternalPermissionService"

/** Restores the settings that the event changed; later changes of others are kept. */
const oidc: Undo<InstanceEvent, Instance> = ({ before, after, now }) => {
  const was = formerValues(before.oidc, after.oidc)
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

export const instanceHistory = historyOf(instance, {
  hidden: ["oidcSaid"],
  operations: "core.admin.v1.AdminService/*Instance",
  target: ({ id, event: { data } }) => ({
    instanceId: id,
    ...("userId" in data && { userId: data.userId, resource: { instance: true } }),
  }),
  present: (state, { data }) => ({
    instanceName: state.name,
    ...("userId" in data && memberOf(state, data.userId)),
  }),
  undo: {
    "instance.changed": "core.instance.v2.InstanceService/UpdateInstance",
    "instance.default.org.set": ({ before: { defaultOrgId: orgId } }) =>
      orgId === "" ? "unsaid" : ["SetDefaultOrg", { orgId }],
    "instance.member.added": `${administrators}/DeleteAdministrator`,
    "instance.member.changed": `${administrators}/UpdateAdministrator`,
    "instance.member.removed": ({ event: { data }, before }) => {
      const { roles = [] } = memberOf(before, data.userId) ?? {}
      return roles.length === 0 ? "parts" : [`${administrators}/CreateAdministrator`, { roles }]
    },
    "instance.oidc.settings.added": oidc,
    "instance.oidc.settings.changed": oidc,
    "instance.policy.security.set": ({ before, after, now }) => {
      const { enableIframeEmbedding: enabled, ...settings } = {
        ...now.security,
        ...formerValues(before.security, after.security),
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
