import { aggregate, type Event, partByKey } from "../../store/index.ts"
import {
  type OidcSettings,
  type SecuritySettings,
  standardOidc,
  standardSecurity,
} from "./setting.ts"

/** An administrator of the instance: their roles, and the organisation that they belong to. */
export type InstanceMember = { readonly roles: readonly string[]; readonly orgId: string }

export type InstanceEvent =
  | Event<
      "instance.added",
      {
        readonly name: string
        /** Seconds; absent, in instances from before, is that of `standardOidc`. */
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

/** A name beside the one in the public address; `created` is ms UTC. */
export type OtherDomain = { readonly generated: boolean; readonly created: number }

export type Instance = {
  /** Who is removed is out of reach; what it held goes soon after. */
  readonly status: "absent" | "active" | "removed"
  readonly name: string
  /** The origin that people use; the issuer of every token. */
  readonly publicUrl: string
  readonly defaultOrgId: string
  /** What people read who read nothing that the pages are written in; empty: nobody has said. */
  readonly defaultLanguage: string
  /** Our own project, which the console and the management interface belong to. */
  readonly projectId: string
  readonly consoleAppId: string
  readonly consoleClientId: string
  /** Administrators by user id. One aggregate holds them all, so that an owner always remains. */
  readonly members: Readonly<Record<string, InstanceMember>>
  readonly oidc: OidcSettings
  /** Whether anybody has said how tokens are made, or the standard holds. */
  readonly oidcSaid: boolean
  readonly security: SecuritySettings
  /** Names that it is reached by, beside that of the public address. */
  readonly domains: Readonly<Record<string, OtherDomain>>
  /** Names that a proxy may show it under, and since when. */
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
  oidc: standardOidc,
  oidcSaid: false,
  security: standardSecurity,
  domains: {},
  trustedDomains: {},
}

/** One tenant; the id of its only stream is the id of the instance. */
export const instance = aggregate<InstanceEvent, Instance>({
  stream: "instance",
  part: partByKey("userId"),
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

/** The roles of a user on the instance. Ids are callers' choice: "constructor" may be one. */
export const memberOf = (state: Instance, userId: string): InstanceMember | undefined =>
  Object.hasOwn(state.members, userId) ? state.members[userId] : undefined

/** The role whose holders own the instance. */
export const ownerRole = "IAM_OWNER"

/** The users who own the instance, with the organisations that they belong to. */
export const ownersOf = (
  state: Instance,
): readonly { readonly userId: string; readonly orgId: string }[] =>
  Object.entries(state.members).flatMap(([userId, { roles, orgId }]) =>
    roles.includes(ownerRole) ? [{ userId, orgId }] : [],
  )
