import { type ApiApp, listScopes, type OidcApp } from "../../../domain/app/index.ts"
import type { Claims } from "../../../domain/key/index.ts"
import { org, provenDomainOf } from "../../../domain/org/index.ts"
import { listMetadata } from "../../../domain/user/index.ts"
import { findProfileFor, type UserInfo } from "../../../domain/user-lookup/index.ts"
import { user } from "../../../domain/user-model/index.ts"
import { memoizeByObject } from "../../../kernel/lru.ts"
import type { Cx } from "../../../store/index.ts"
import { issuerOf } from "../../issuer.ts"
import { projectOf } from "../audience.ts"
import { reserved, valuesOfPrefix } from "../scope.ts"
import { clientRequester, projectRequester, type RoleRequester, roleClaims } from "./role.ts"

/**
 * The user and recipient of claims: the content of a token, and the individual claims of the
 * request.
 */
export type ClaimsContext = {
  readonly userId: string
  readonly clientId: string
  readonly audience: readonly string[]
  readonly scopes: readonly string[]
  /** Names of individual claims that are requested for this response; see `supportedClaims`. */
  readonly requested?: readonly string[] | undefined
}

/**
 * Claims about the user in an ID token, besides the subject. Those of the scopes profile, email,
 * phone, groups and roles are included only `withUserClaims`; otherwise clients read them from
 * userinfo.
 */
export const idTokenClaims = (
  cx: Cx,
  claimsContext: ClaimsContext & { readonly withUserClaims?: boolean | undefined },
): Claims => {
  const asker = clientRequester(cx, claimsContext.clientId, "id_token")
  const scopes = claimsContext.withUserClaims ? claimsContext.scopes : []
  return {
    ...standardClaims(cx, claimsContext, {
      scopes,
      readers: () => readersOf(cx, claimsContext, asker),
    }),
    ...reservedClaims(cx, claimsContext, asker, { scopes, metadataMax: metadataMaxInToken }),
  }
}

/**
 * The organizations whose applications receive the claims, each of which must have verified an
 * address: that of the client, and those in the audience. An empty string if there is no
 * application. The management API does not need a verified address.
 */
function readersOf(
  cx: Cx,
  { clientId, audience }: ClaimsContext,
  asker: RoleRequester | undefined,
) {
  const own = asker?.orgId ?? ""
  const { issuer, projectId: ours } = issuerOf(cx)
  const others = audience
    .filter((id) => id !== clientId && id !== asker?.projectId && id !== issuer)
    .map((id) => projectOf(cx, id))
    .filter((id) => id !== ours)
    .map((id) => projectRequester(cx, id)?.orgId ?? "")
  return others.length === 0 ? [own] : [...new Set([own, ...others])]
}

/** OpenID Connect Core §5.3.2: the userinfo response. */
export function userinfoClaims(cx: Cx, claimsContext: ClaimsContext): Claims {
  const asker = clientRequester(cx, claimsContext.clientId, "userinfo")
  return {
    ...standardClaims(cx, claimsContext, {
      scopes: claimsContext.scopes,
      readers: () => readersOf(cx, claimsContext, asker),
    }),
    ...reservedClaims(cx, claimsContext, asker),
    sub: claimsContext.userId,
  }
}

/**
 * RFC 7662 §2.2: claims about the user in an introspection response, for an application of
 * `projectId`.
 */
export function introspectionClaims(
  cx: Cx,
  claimsContext: ClaimsContext,
  projectId: string,
  application?: OidcApp | ApiApp,
): Claims {
  // A client can introspect its own token, but receives roles only if it is in the audience.
  const isFor = claimsContext.audience.includes(projectId)
  const asker = projectRequester(cx, projectId, application)
  // No other application receives these.
  const claims = standardClaims(cx, claimsContext, {
    scopes: claimsContext.scopes,
    readers: () => [asker?.orgId ?? ""],
  })
  const { preferred_username: username } = claims
  return {
    ...claims,
    ...(username !== undefined && { username }),
    ...reservedClaims(cx, claimsContext, isFor ? asker : undefined),
  }
}

/** RFC 9068 §2.2.3: claims about the user in a JWT access token, besides the subject. */
export const accessTokenClaims = (cx: Cx, claimsContext: ClaimsContext): Claims =>
  reservedClaims(cx, claimsContext, clientRequester(cx, claimsContext.clientId, "access token"), {
    scopes: claimsContext.scopes,
    metadataMax: metadataMaxInToken,
  })

type Source = readonly [scope: string, value: (userInfo: UserInfo) => unknown]

/** OpenID Connect Core §5.1 and §5.4: each claim with the scope that requests it. */
const sources = {
  name: ["profile", ({ name }) => name],
  given_name: ["profile", ({ givenName }) => givenName],
  family_name: ["profile", ({ familyName }) => familyName],
  nickname: ["profile", ({ nickName }) => nickName],
  picture: ["profile", ({ picture }) => picture],
  gender: ["profile", ({ gender }) => (gender === "unspecified" ? "" : gender)],
  locale: ["profile", ({ preferredLanguage }) => preferredLanguage],
  preferred_username: ["profile", ({ userName }) => userName],
  updated_at: ["profile", ({ changed }) => Math.floor(changed / 1000)],
  email: ["email", ({ email }) => email],
  email_verified: ["email", ({ email, emailVerified }) => (email ? emailVerified : "")],
  phone_number: ["phone", ({ phone }) => phone],
  phone_number_verified: ["phone", ({ phone, phoneVerified }) => (phone ? phoneVerified : "")],
} as const satisfies Readonly<Record<string, Source>>

const entries: readonly (readonly [name: string, source: Source])[] = Object.entries(sources)

/** All supported standard claims, for the discovery document. */
export const userClaimNames = entries.map(([name]) => name)

/**
 * OpenID Connect Core §5.5: the supported ones among the requested claims. Unknown names are no
 * error.
 */
export const supportedClaims = (names: readonly string[]): readonly string[] =>
  [...userClaimNames, ...listScopes].filter((name) => names.includes(name))

const requestedEntries = (scopes: readonly string[], requested: readonly string[] = []) =>
  entries.filter(([name, [scope]]) => scopes.includes(scope) || requested.includes(name))

const entriesByScopes = memoizeByObject((scopes: readonly string[]) => requestedEntries(scopes))

/**
 * The standard claims of a user, requested by scope or by name. Claims without a value are omitted.
 */
function standardClaims(
  cx: Cx,
  { userId, requested }: ClaimsContext,
  {
    scopes,
    readers,
  }: { readonly scopes: readonly string[]; readonly readers: () => readonly string[] },
): Claims {
  const requestedClaimEntries = requested
    ? requestedEntries(scopes, requested)
    : entriesByScopes(scopes)
  const userInfo =
    requestedClaimEntries.length > 0 ? findProfileFor(cx, userId, readers()) : undefined
  if (!userInfo) return {}
  const claims: Record<string, unknown> = {}
  for (const [name, [, value]] of requestedClaimEntries) {
    const claimValue = value(userInfo)
    if (claimValue !== "") claims[name] = claimValue
  }
  return claims
}

type Limits = {
  /** Scopes whose role lists are included. */
  readonly scopes: readonly string[]
  /** User metadata with more characters is omitted. */
  readonly metadataMax: number
}

/** The claims of reserved scopes, and the roles that the application's settings add. */
function reservedClaims(
  cx: Cx,
  claimsContext: ClaimsContext,
  asker: RoleRequester | undefined,
  { scopes, metadataMax }: Limits = {
    scopes: claimsContext.scopes,
    metadataMax: Number.POSITIVE_INFINITY,
  },
): Claims {
  const { requested = [] } = claimsContext
  const lists = listScopes.filter((name) => scopes.includes(name) || requested.includes(name))
  const roles = roleClaims(cx, { ...claimsContext, lists }, asker)
  const isAsked = claimsContext.scopes.some((scope) => scope.startsWith("urn:"))
  if (!isAsked) return roles
  return {
    ...roles,
    ...organizationClaims(cx, claimsContext),
    ...metadataClaims(cx, claimsContext, metadataMax),
  }
}

/** Tokens are sent in headers, whose length is limited; userinfo returns more. */
const metadataMaxInToken = 4000

/** The metadata of the user, each value in base64url. */
function metadataClaims(cx: Cx, { userId, scopes }: ClaimsContext, max: number): Claims {
  if (!scopes.includes(reserved.metadata)) return {}
  const entries = [...listMetadata(cx, userId)].map(
    ([key, value]) => [key, Buffer.from(value).toString("base64url")] as const,
  )
  const length = entries.reduce((sum, [key, text]) => sum + key.length + text.length, 0)
  if (entries.length === 0 || length > max) return {}
  return { [reserved.metadata]: Object.fromEntries(entries) }
}

/** The user's organization, and the organization that a scope required. */
function organizationClaims(cx: Cx, { userId, scopes }: ClaimsContext): Claims {
  const ids = valuesOfPrefix(scopes, "org")
  const domains = valuesOfPrefix(scopes, "orgDomain")
  const isAsked = ids.length > 0 || scopes.includes(reserved.resourceOwner)
  if (!isAsked && domains.length === 0) return {}
  const id = cx.store.receipt(cx, user, userId)?.owner ?? ""
  const home = cx.store.state(cx, org, id)
  const primaryDomain = provenDomainOf(home)
  const owner = reserved.resourceOwner
  return {
    ...(isAsked && {
      [`${owner}:id`]: id,
      [`${owner}:name`]: home.name,
      [`${owner}:primary_domain`]: primaryDomain,
    }),
    ...(ids.includes(id) && { "urn:core:iam:org:id": id }),
    ...(domains.includes(primaryDomain) && { "urn:core:iam:org:domain:primary": primaryDomain }),
  }
}
