import {
  type ApiApp,
  acceptsPlainOauth,
  addressScope,
  apiAt,
  findClient,
  listScopes,
  type OidcApp,
  scopesFor,
  standardScopes,
} from "../../domain/app/index.ts"
import { orgWithDomain } from "../../domain/org/index.ts"
import { isProjectActive } from "../../domain/project/index.ts"
import { because } from "../../domain/refusal/index.ts"
import { keptWith } from "../../kernel/lru.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { issuerOf } from "../issuer.ts"
import type { Parameters } from "../request.ts"

/** Scopes that mean something here alone; what stands behind a prefix is an id, key or domain. */
export const reserved = {
  /** Roles on the project that is told. */
  projectRoles: "urn:core:iam:org:project:roles",
  /** Roles on every project in the audience. */
  allRoles: "urn:core:iam:org:projects:roles",
  metadata: "urn:core:iam:user:metadata",
  resourceOwner: "urn:core:iam:user:resourceowner",
} as const

export const prefixes = {
  /** One role, of the project that is told and those in the audience. */
  role: "urn:core:iam:org:project:role:",
  /** Only roles that this organisation gives; may be said several times. */
  rolesOfOrg: "urn:core:iam:org:roles:id:",
  /** Only users of this organisation may sign in. */
  org: "urn:core:iam:org:id:",
  /** The same, by the organisation's primary domain. */
  orgDomain: "urn:core:iam:org:domain:primary:",
  /** The provider to sign in with. */
  idp: "urn:core:iam:org:idp:id:",
} as const

/** Asks for a project in the audience; `core` stands for our own. */
const audienceScope = /^urn:core:iam:org:project:id:([^:]{1,200}):aud$/

const nameMax = 200
const plain: ReadonlySet<string> = new Set([
  ...standardScopes.filter((scope) => scope !== "offline_access"),
  ...listScopes,
  addressScope,
  ...Object.values(reserved),
])

/**
 * RFC 6749 §3.3: what is granted of the asked scopes; what means nothing here is left out. `app` is
 * the application that asks: none for a service user.
 */
export const grantedScopes = (
  asked: readonly string[],
  app?: OidcApp | ApiApp,
): readonly string[] =>
  [...new Set(asked)].filter((scope) =>
    // OpenID Connect Core §11: without a way to use it, it is ignored.
    scope === "offline_access" ? mayRefresh(app) : isKnown(scope),
  )

/**
 * The requested scopes that are granted, with those that the APIs of the audience define; see
 * `scopesFor`. `granted` is what doesn't depend on the audience.
 */
export const withApiScopes = (
  cx: Cx,
  requested: readonly string[],
  { granted, audience }: Granted,
): readonly string[] =>
  requested.every((scope) => granted.includes(scope))
    ? granted
    : [...new Set(requested)].filter(
        (scope) => granted.includes(scope) || isOfApi(cx, scope, audience),
      )

type Granted = { readonly granted: readonly string[]; readonly audience: readonly string[] }

/** A standard or reserved scope is no API's, also where it was not granted. */
const isOfApi = (cx: Cx, scope: string, audience: readonly string[]): boolean =>
  !isOurs(scope) && scopesFor(cx, audience).has(scope)

const isOurs = (scope: string): boolean => scope === "offline_access" || isKnown(scope)

/**
 * What of the asked scopes was not granted: the page of the application lists it. RFC 6749 §6: a
 * client that repeats its request at a refresh asks for no more than it was given.
 */
export function leftOut(
  asked: readonly string[],
  granted: readonly string[],
): { readonly leftOut?: readonly string[] } {
  const words = [...new Set(asked)].filter((scope) => !granted.includes(scope))
  return words.length > 0 ? { leftOut: words } : {}
}

const mayRefresh = (app: OidcApp | ApiApp | undefined): boolean =>
  app?.kind === "oidc" && app.oidc.grantTypes.includes("refresh_token")

const isKnown = (scope: string): boolean =>
  plain.has(scope) ||
  audienceScope.test(scope) ||
  Object.values(prefixes).some((prefix) => namedIn(scope, prefix) !== undefined)

function namedIn(scope: string, prefix: string): string | undefined {
  if (!scope.startsWith(prefix)) return undefined
  const name = scope.slice(prefix.length)
  return name === "" || name.length > nameMax ? undefined : name
}

type Prefix = keyof typeof prefixes

/** What stands behind each prefix; nearly always nothing. */
const named = keptWith((scopes: readonly string[]): ReadonlyMap<string, readonly string[]> => {
  const urns = scopes.filter((scope) => scope.startsWith("urn:"))
  if (urns.length === 0) return nothing
  const behind = (prefix: string) => urns.flatMap((scope) => namedIn(scope, prefix) ?? [])
  return new Map(kinds.map(([kind, prefix]) => [kind, behind(prefix)]))
})
const kinds = Object.entries(prefixes)
const nothing: ReadonlyMap<string, readonly string[]> = new Map()
const none: readonly string[] = []
/** What stands behind a prefix, in every scope that has it. */
export const namedBy = (scopes: readonly string[], prefix: Prefix): readonly string[] =>
  named(scopes).get(prefix) ?? none

/**
 * The organisation whose users alone may sign in by these scopes; undefined where all may. Nobody's
 * ("") where no organisation fits: it is unknown, or the scopes name two.
 */
export function orgRestriction(cx: Cx, scopes: readonly string[]): string | undefined {
  const domains = namedBy(scopes, "orgDomain")
  const ids = namedBy(scopes, "org")
  if (domains.length === 0 && ids.length <= 1) return ids[0]
  const all = new Set([...ids, ...domains.map((domain) => orgWithDomain(cx, domain) ?? "")])
  const [first] = all
  return all.size > 1 ? "" : first
}

/**
 * Whether scopes are those of a plain OAuth 2.0 request: without openid, by a client that can leave
 * it out. A service account is no client, and requests as it always did.
 */
export const isPlain = (scopes: readonly string[], app: OidcApp | ApiApp | undefined): boolean =>
  app !== undefined && !scopes.includes("openid") && acceptsPlainOauth(app)

/** A plain OAuth 2.0 request gets no access to our own interface, whatever puts it there. */
export const withoutOurs = (cx: Cx, audience: readonly string[]): readonly string[] => {
  const { projectId } = issuerOf(cx)
  return audience.includes(projectId) ? audience.filter((id) => id !== projectId) : audience
}

/** The scopes that are left of a plain OAuth 2.0 request; see `withoutOurs`. */
export const scopesWithoutOurs = (cx: Cx, scopes: readonly string[]): readonly string[] =>
  scopes.filter((scope) => projectNamed(cx, scope) !== issuerOf(cx).projectId)

/** The projects that the scopes put in the audience; see `projectsAsAudience`. */
export function audienceOf(cx: Cx, scopes: readonly string[]): readonly string[] {
  const ids = scopes.flatMap((scope) => projectNamed(cx, scope) ?? [])
  return projectsAsAudience(cx, [...new Set(ids)])
}

/**
 * RFC 6749 §3.3: the scopes of what is for an audience. Those of other projects and APIs are left
 * out, and those that no API defines any more.
 */
export const scopesWithin = (
  cx: Cx,
  scopes: readonly string[],
  audience: readonly string[],
): readonly string[] => {
  const isWithin = (scope: string) => {
    const id = projectNamed(cx, scope)
    if (id !== undefined) return audience.includes(id)
    return isOurs(scope) || isOfApi(cx, scope, audience)
  }
  // The same list where nothing is left out: what is known of it holds on.
  return scopes.every(isWithin) ? scopes : scopes.filter(isWithin)
}

function projectNamed(cx: Cx, scope: string): string | undefined {
  const id = audienceScope.exec(scope)?.[1]
  return id === "core" ? issuerOf(cx).projectId : id
}

/**
 * Projects that may stand in an audience: those that are active. The id of a project may be chosen
 * by who makes it; one that is a client's id too, or
 * the URI of an API, would make other tokens pass for theirs.
 */
export const projectsAsAudience = (cx: Cx, ids: readonly string[]): readonly string[] =>
  ids.filter((id) => isProjectActive(cx, id) && !isOther(cx, id))

/** The projects that ID tokens of an application name in `aud` beside it. */
export const projectsInIdToken = (cx: Cx, { oidc, projectId }: OidcApp): readonly string[] =>
  isForClientAlone(oidc) ? [] : projectsAsAudience(cx, [projectId])

/** Whether ID tokens of an application are for it alone, with `aud` as a single string. */
export const isForClientAlone = ({ idTokenProjectAudience }: OidcApp["oidc"]): boolean =>
  !idTokenProjectAudience

const isOther = (cx: Cx, id: string): boolean =>
  findClient(cx, id) !== undefined || apiAt(cx, id) !== undefined

/** RFC 6749 §6, RFC 8693 §2.1: a scope that asks for more than there is, beside that. */
export function scopeError(
  description: string,
  parameters: Parameters,
  expected: readonly string[],
): OAuthError {
  const [subject, received] = ["scope", parameters.get("scope") ?? ""]
  const finding = { subject, received, expected, ...because(subject, "scope.more") }
  return new OAuthError("invalid_scope", description, { finding })
}
