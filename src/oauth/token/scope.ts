import {
  type ApiApp,
  acceptsPlainOauth,
  addressScope,
  findApiByResource,
  findClient,
  listScopes,
  type OidcApp,
  scopesFor,
  standardScopes,
} from "../../domain/app/index.ts"
import { orgWithDomain } from "../../domain/org/index.ts"
import { isProjectActive } from "../../domain/project/index.ts"
import { likelyCauseOf } from "../../domain/refusal/index.ts"
import { memoizeByObject } from "../../kernel/lru.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { issuerOf } from "../issuer.ts"
import type { Parameters } from "../parameters.ts"

/** Scopes of Latchkey; the prefixes are followed by an ID, key or domain. */
export const reserved = {
  /** Roles on the requester's project. */
  projectRoles: "urn:core:iam:org:project:roles",
  /** Roles on every project in the audience. */
  allRoles: "urn:core:iam:org:projects:roles",
  metadata: "urn:core:iam:user:metadata",
  resourceOwner: "urn:core:iam:user:resourceowner",
} as const

export const prefixes = {
  /** One role, on the requester's project and those in the audience. */
  role: "urn:core:iam:org:project:role:",
  /** Only roles that this organization assigns; can be repeated. */
  rolesOfOrg: "urn:core:iam:org:roles:id:",
  /** Only users of this organization can sign in. */
  org: "urn:core:iam:org:id:",
  /** The same, by the organization's primary domain. */
  orgDomain: "urn:core:iam:org:domain:primary:",
  /** The identity provider to sign in with. */
  idp: "urn:core:iam:org:idp:id:",
} as const

/** Adds a project to the audience; `core` is the project of the console. */
const audienceScope = /^urn:core:iam:org:project:id:([^:]{1,200}):aud$/

const nameMax = 200
const knownScopes: ReadonlySet<string> = new Set([
  ...standardScopes.filter((scope) => scope !== "offline_access"),
  ...listScopes,
  addressScope,
  ...Object.values(reserved),
])

/**
 * RFC 6749 §3.3: the requested scopes that are granted; unknown ones are dropped. `app` is the
 * requesting application, absent for a service account.
 */
export const grantedScopes = (
  requestedScopes: readonly string[],
  app?: OidcApp | ApiApp,
): readonly string[] =>
  [...new Set(requestedScopes)].filter((scope) =>
    // OpenID Connect Core §11: ignored if the application can't use it.
    scope === "offline_access" ? canRefresh(app) : isKnownScope(scope),
  )

/**
 * The granted scopes with those that APIs of the audience define; see `scopesFor`. `granted` does
 * not depend on the audience.
 */
export const withApiScopes = (
  cx: Cx,
  requested: readonly string[],
  { granted, audience }: GrantedScopes,
): readonly string[] =>
  requested.every((scope) => granted.includes(scope))
    ? granted
    : [...new Set(requested)].filter(
        (scope) => granted.includes(scope) || belongsToApi(cx, scope, audience),
      )

type GrantedScopes = { readonly granted: readonly string[]; readonly audience: readonly string[] }

/** A standard or reserved scope never belongs to an API, even if it was not granted. */
const belongsToApi = (cx: Cx, scope: string, audience: readonly string[]): boolean =>
  !isReserved(scope) && scopesFor(cx, audience).has(scope)

const isReserved = (scope: string): boolean => scope === "offline_access" || isKnownScope(scope)

/**
 * Requested scopes that were not granted, for the page of the application. RFC 6749 §6: a client
 * that repeats its original scope in a refresh request does not exceed the grant.
 */
export function droppedScopes(
  requestedScopes: readonly string[],
  granted: readonly string[],
): { readonly leftOut?: readonly string[] } {
  const words = [...new Set(requestedScopes)].filter((scope) => !granted.includes(scope))
  return words.length > 0 ? { leftOut: words } : {}
}

const canRefresh = (app: OidcApp | ApiApp | undefined): boolean =>
  app?.kind === "oidc" && app.oidc.grantTypes.includes("refresh_token")

const isKnownScope = (scope: string): boolean =>
  knownScopes.has(scope) ||
  audienceScope.test(scope) ||
  Object.values(prefixes).some((prefix) => valueAfterPrefix(scope, prefix) !== undefined)

function valueAfterPrefix(scope: string, prefix: string): string | undefined {
  if (!scope.startsWith(prefix)) return undefined
  const name = scope.slice(prefix.length)
  return name === "" || name.length > nameMax ? undefined : name
}

type Prefix = keyof typeof prefixes

/** The values after each prefix; usually none. */
const valuesByPrefix = memoizeByObject(
  (scopes: readonly string[]): ReadonlyMap<string, readonly string[]> => {
    const urns = scopes.filter((scope) => scope.startsWith("urn:"))
    if (urns.length === 0) return noValues
    const behind = (prefix: string) =>
      urns.flatMap((scope) => valueAfterPrefix(scope, prefix) ?? [])
    return new Map(prefixEntries.map(([kind, prefix]) => [kind, behind(prefix)]))
  },
)
const prefixEntries = Object.entries(prefixes)
const noValues: ReadonlyMap<string, readonly string[]> = new Map()
const none: readonly string[] = []
/** The values after a prefix, from all scopes that have it. */
export const valuesOfPrefix = (scopes: readonly string[], prefix: Prefix): readonly string[] =>
  valuesByPrefix(scopes).get(prefix) ?? none

/**
 * The organization whose users alone can sign in with these scopes; undefined if there is no
 * restriction. An empty string if no organization matches: it is unknown, or the scopes specify
 * two.
 */
export function orgRestriction(cx: Cx, scopes: readonly string[]): string | undefined {
  const domains = valuesOfPrefix(scopes, "orgDomain")
  const ids = valuesOfPrefix(scopes, "org")
  if (domains.length === 0 && ids.length <= 1) return ids[0]
  const all = new Set([...ids, ...domains.map((domain) => orgWithDomain(cx, domain) ?? "")])
  const [first] = all
  return all.size > 1 ? "" : first
}

/**
 * Whether the scopes are those of a plain OAuth 2.0 request: without openid, by a client that can
 * omit it. A service account is not such a client.
 */
export const isPlain = (scopes: readonly string[], app: OidcApp | ApiApp | undefined): boolean =>
  app !== undefined && !scopes.includes("openid") && acceptsPlainOauth(app)

/** A plain OAuth 2.0 request has no access to the management API, however it was requested. */
export const withoutManagementApi = (cx: Cx, audience: readonly string[]): readonly string[] => {
  const { projectId } = issuerOf(cx)
  return audience.includes(projectId) ? audience.filter((id) => id !== projectId) : audience
}

/** The remaining scopes of a plain OAuth 2.0 request; see `withoutManagementApi`. */
export const scopesWithoutManagementApi = (cx: Cx, scopes: readonly string[]): readonly string[] =>
  scopes.filter((scope) => projectOfScope(cx, scope) !== issuerOf(cx).projectId)

/** The projects that the scopes add to the audience; see `projectsAsAudience`. */
export function audienceOf(cx: Cx, scopes: readonly string[]): readonly string[] {
  const ids = scopes.flatMap((scope) => projectOfScope(cx, scope) ?? [])
  return projectsAsAudience(cx, [...new Set(ids)])
}

/**
 * RFC 6749 §3.3: the scopes within an audience. Those of other projects and APIs are omitted, as
 * are those that no API defines any longer.
 */
export const scopesWithin = (
  cx: Cx,
  scopes: readonly string[],
  audience: readonly string[],
): readonly string[] => {
  const isWithin = (scope: string) => {
    const id = projectOfScope(cx, scope)
    if (id !== undefined) return audience.includes(id)
    return isReserved(scope) || belongsToApi(cx, scope, audience)
  }
  // Returns the same array if nothing is omitted, so that values cached by it remain usable.
  return scopes.every(isWithin) ? scopes : scopes.filter(isWithin)
}

function projectOfScope(cx: Cx, scope: string): string | undefined {
  const id = audienceScope.exec(scope)?.[1]
  return id === "core" ? issuerOf(cx).projectId : id
}

/**
 * Projects that can be in an audience: active ones. Project IDs can be chosen; one that is also a
 * client ID or a resource URI would make tokens valid for that client or API.
 */
export const projectsAsAudience = (cx: Cx, ids: readonly string[]): readonly string[] =>
  ids.filter((id) => isProjectActive(cx, id) && !isUsedElsewhere(cx, id))

/** The projects in the `aud` of an application's ID tokens, in addition to the application. */
export const projectsInIdToken = (cx: Cx, { oidc, projectId }: OidcApp): readonly string[] =>
  isForClientAlone(oidc) ? [] : projectsAsAudience(cx, [projectId])

/** Whether ID tokens of an application are for it alone, with `aud` as a single string. */
export const isForClientAlone = ({ idTokenProjectAudience }: OidcApp["oidc"]): boolean =>
  !idTokenProjectAudience

const isUsedElsewhere = (cx: Cx, id: string): boolean =>
  findClient(cx, id) !== undefined || findApiByResource(cx, id) !== undefined

/** RFC 6749 §6, RFC 8693 §2.1: the error for a scope that exceeds what is available. */
export function scopeError(
  description: string,
  parameters: Parameters,
  expected: readonly string[],
): OAuthError {
  const [subject, received] = ["scope", parameters.get("scope") ?? ""]
  const finding = { subject, received, expected, ...likelyCauseOf(subject, "scope.more") }
  return new OAuthError("invalid_scope", description, { finding })
}
