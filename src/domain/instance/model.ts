import { aggregate, type Event, streamPartByKey } from "../../store/index.ts"
import {
  defaultOidcSettings,
  defaultSecuritySettings,
  type OidcSettings,
  type SecuritySettings,
} from "./setting.ts"

/** The roles and the organization of an administrator of the instance. */
export type InstanceMember = { readonly roles: readonly string[]; readonly orgId: string }

export type InstanceEvent =
  | Event<
      "instance.added",
      {
        readonly name: string
        /** In seconds; absent in older instances, which use `defaultOidcSettings`. */
        readonly idTokenLifetime?: number
      }
    >
  | Event<"instance.changed", { readonly name: string }>
  | Event<"instance.public.url.set", { readonly url: string }>
  | Event<"instance.default.org.set", { readonly orgId: string }>
  | Event<"instance.iam.project.set", { readonly projectId: string }>
  | Event<"instance.iam.console.set", { readonly appId: string; readonly clientId: string }>
  | Event<
      "instance.member.added",
      { readonly userId: string; readonly orgId: string; readonly roles: readonly string[] }
    >
  | Event<"instance.member.changed", { readonly userId: string; readonly roles: readonly string[] }>
  | Event<"instance.member.removed", { readonly userId: string }>
  | Event<"instance.oidc.settings.added", OidcSettings>
  | Event<"instance.oidc.settings.changed", Partial<OidcSettings>>
  | Event<"instance.policy.security.set", SecuritySettings>
  | Event<"instance.default.language.set", { readonly language: string }>
  | Event<"instance.domain.added", { readonly domain: string; readonly generated: boolean }>
  | Event<"instance.domain.removed", { readonly domain: string }>
  | Event<"instance.trusted_domain.added", { readonly domain: string }>
  | Event<"instance.trusted_domain.removed", { readonly domain: string }>
  | Event<"instance.removed">

/** An additional domain; `created` is in ms since the epoch. */
export type OtherDomain = { readonly generated: boolean; readonly created: number }

export type Instance = {
  /** A removed instance is no longer reachable; its data is deleted soon after. */
  readonly status: "absent" | "active" | "removed"
  readonly name: string
  /** The origin of the instance; the issuer of all tokens. */
  readonly publicUrl: string
  readonly defaultOrgId: string
  /** The language for users whose languages are not supported; empty if not set. */
  readonly defaultLanguage: string
  /** The instance's own project, which contains the console and the management API. */
  readonly projectId: string
  readonly consoleAppId: string
  readonly consoleClientId: string
  /**
   * Administrators by user ID. A single aggregate contains them all to ensure that there is always
   * an owner.
   */
  readonly members: Readonly<Record<string, InstanceMember>>
  readonly oidc: OidcSettings
  /** Whether the OIDC settings were set explicitly. */
  readonly oidcSaid: boolean
  readonly security: SecuritySettings
  /** The additional domains. */
  readonly domains: Readonly<Record<string, OtherDomain>>
  /** The domains that a proxy can use, with the time they were added. */
  readonly trustedDomains: Readonly<Record<string, number>>
}

const absent: Instance = {
  status: "absent",
  name: "",
  publicUrl: "",
  defaultOrgId: "",
  defaultLanguage: "",
  projectId: "",
  consoleAppId: "",
  consoleClientId: "",
  members: {},
  oidc: defaultOidcSettings,
  oidcSaid: false,
  security: defaultSecuritySettings,
  domains: {},
  trustedDomains: {},
}

/** One tenant; its only stream has the ID of the instance. */
export const instance = aggregate<InstanceEvent, Instance>({
  stream: "instance",
  part: streamPartByKey("userId"),
  revision: 6,
  initial: absent,
  evolve: {
    "instance.added": (state, { data: { name, idTokenLifetime } }) => ({
      ...state,
      status: "active",
      name,
      oidc: { ...state.oidc, ...(idTokenLifetime !== undefined && { idTokenLifetime }) },
    }),
    "instance.changed": (state, { data }) => ({ ...state, name: data.name }),
    "instance.public.url.set": (state, { data }) => ({ ...state, publicUrl: data.url }),
    "instance.default.org.set": (state, { data }) => ({ ...state, defaultOrgId: data.orgId }),
    "instance.iam.project.set": (state, { data }) => ({ ...state, projectId: data.projectId }),
    "instance.iam.console.set": (state, { data }) => ({
      ...state,
      consoleAppId: data.appId,
      consoleClientId: data.clientId,
    }),
    "instance.member.added": (state, { data: { userId, orgId, roles } }) =>
      withMember(state, userId, { orgId, roles }),
    "instance.member.changed": (state, { data: { userId, roles } }) =>
      withMember(state, userId, { orgId: memberOf(state, userId)?.orgId ?? "", roles }),
    "instance.member.removed": (state, { data }) => ({
      ...state,
      members: without(state.members, data.userId),
    }),
    "instance.oidc.settings.added": (state, { data }) => ({
      ...state,
      oidc: { ...state.oidc, ...data },
      oidcSaid: true,
    }),
    "instance.oidc.settings.changed": (state, { data }) => ({
      ...state,
      oidc: { ...state.oidc, ...data },
      oidcSaid: true,
    }),
    "instance.policy.security.set": (state, { data }) => ({ ...state, security: data }),
    "instance.default.language.set": (state, { data }) => ({
      ...state,
      defaultLanguage: data.language,
    }),
    "instance.domain.added": (state, { data: { domain, generated }, time }) => ({
      ...state,
      domains: { ...state.domains, [domain]: { generated, created: time } },
    }),
    "instance.domain.removed": (state, { data }) => ({
      ...state,
      domains: without(state.domains, data.domain),
    }),
    "instance.trusted_domain.added": (state, { data, time }) => ({
      ...state,
      trustedDomains: { ...state.trustedDomains, [data.domain]: time },
    }),
    "instance.trusted_domain.removed": (state, { data }) => ({
      ...state,
      trustedDomains: without(state.trustedDomains, data.domain),
    }),
    "instance.removed": (state) => ({ ...state, status: "removed" }),
  },
})

const withMember = (state: Instance, userId: string, member: InstanceMember): Instance => ({
  ...state,
  members: { ...state.members, [userId]: member },
})

const without = <T>(all: Readonly<Record<string, T>>, key: string): Readonly<Record<string, T>> => {
  const { [key]: _, ...rest } = all
  return rest
}

/** The roles of a user on the instance. IDs are chosen by callers and can be "constructor". */
export const memberOf = (state: Instance, userId: string): InstanceMember | undefined =>
  Object.hasOwn(state.members, userId) ? state.members[userId] : undefined

/** The role of an owner of the instance. */
export const ownerRole = "IAM_OWNER"

/** The owners of the instance with their organizations. */
export const ownersOf = (
  state: Instance,
): readonly { readonly userId: string; readonly orgId: string }[] =>
  Object.entries(state.members).flatMap(([userId, { roles, orgId }]) =>
    roles.includes(ownerRole) ? [{ userId, orgId }] : [],
  )
