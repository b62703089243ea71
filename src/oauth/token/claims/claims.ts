import { type ApiApp, listScopes, type OidcApp } from "../../../domain/app/index.ts"
import type { Claims } from "../../../domain/key/index.ts"
import { org, provenDomainOf } from "../../../domain/org/index.ts"
import { heldMetadata } from "../../../domain/user/index.ts"
import { profileFor, type UserInfo } from "../../../domain/user-lookup/index.ts"
import { user } from "../../../domain/user-model/index.ts"
import { keptWith } from "../../../kernel/lru.ts"
import type { Cx } from "../../../store/index.ts"
import { issuerOf } from "../../issuer.ts"
import { projectOf } from "../audience.ts"
import { namedBy, reserved } from "../scope.ts"
import { type Asker, clientAsking, projectAsking, roleClaims } from "./role.ts"

/** Who is told about whom: what a token says, and what its client asked for beside scopes. */
export type Told = {
  readonly userId: string
  readonly clientId: string
  readonly audience: readonly string[]
  readonly scopes: readonly string[]
  /** Names of single claims that are asked for at this place; see `claimsAsked`. */
  readonly requested?: readonly string[] | undefined
}

/**
 * What an id_token says of its user beside who it is. The claims of the scopes profile, email,
 * phone, groups and roles are there only where `withUserClaims` says so; else they are read at
 * userinfo.
 */
export const idTokenClaims = (
  cx: Cx,
  told: Told & { readonly withUserClaims?: boolean | undefined },
): Claims => {
  const asker = clientAsking(cx, told.clientId, "id_token")
  const scopes = told.withUserClaims ? told.scopes : []
  return {
    ...standardClaims(cx, told, { scopes, readers: () => readersOf(cx, told, asker) }),
    ...reservedClaims(cx, told, asker, { scopes, metadataMax: inToken }),
  }
}

/**
 * The organizations whose applications read what a token gives access to, for each of which an
 * address must be verified: that of its client, and those of its audience. Empty text: nobody's,
 * where there is no application. Our own API takes no address for verified.
 */
function readersOf(cx: Cx, { clientId, audience }: Told, asker: Asker | undefined) {
  const own = asker?.orgId ?? ""
  const { issuer, projectId: ours } = issuerOf(cx)
  const others = audience
    .filter((id) => id !== clientId && id !== asker?.projectId && id !== issuer)
    .map((id) => projectOf(cx, id))
    .filter((id) => id !== ours)
    .map((id) => projectAsking(cx, id)?.orgId ?? "")
  return others.length === 0 ? [own] : [...new Set([own, ...others])]
}

/** OpenID Connect Core §5.3.2: what the userinfo endpoint answers. */
export function userinfoClaims(cx: Cx, told: Told): Claims {
  const asker = clientAsking(cx, told.clientId, "userinfo")
  return {
    ...standardClaims(cx, told, { scopes: told.scopes, readers: () => readersOf(cx, told, asker) }),
    ...reservedClaims(cx, told, asker),
    sub: told.userId,
  }
}

/** RFC 7662 §2.2: what introspection answers of the user, to an application of `projectId`. */
export function introspectionClaims(
  cx: Cx,
  told: Told,
  projectId: string,
  application?: OidcApp | ApiApp,
): Claims {
  // Its client is told of its own token, but of roles only on what the token is for.
  const isFor = told.audience.includes(projectId)
  const asker = projectAsking(cx, projectId, application)
  // Nobody else reads it.
  const claims = standardClaims(cx, told, {
    scopes: told.scopes,
    readers: () => [asker?.orgId ?? ""],
  })
  const { preferred_username: username } = claims
  return {
    ...claims,
    ...(username !== undefined && { username }),
    ...reservedClaims(cx, told, isFor ? asker : undefined),
  }
}

/** RFC 9068 §2.2.3: what a JWT access token says of its user beside who it is. */
export const accessTokenClaims = (cx: Cx, told: Told): Claims =>
  reservedClaims(cx, told, clientAsking(cx, told.clientId, "access token"), {
    scopes: told.scopes,
    metadataMax: inToken,
  })

type Source = readonly [scope: string, value: (known: UserInfo) => unknown]

/** OpenID Connect Core §5.1 and §5.4: each claim with the scope that asks for it. */
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

/** Every standard claim that can be told, for discovery. */
export const userClaimNames = entries.map(([name]) => name)

/**
 * OpenID Connect Core §5.5: of the names that a `claims` parameter asks for at one place, those
 * that can be told. An unknown name is no error.
 */
export const claimsAsked = (names: readonly string[]): readonly string[] =>
  [...userClaimNames, ...listScopes].filter((name) => names.includes(name))

const wantedOf = (scopes: readonly string[], requested: readonly string[] = []) =>
  entries.filter(([name, [scope]]) => scopes.includes(scope) || requested.includes(name))

const wantedByScopes = keptWith((scopes: readonly string[]) => wantedOf(scopes))

/** The standard claims of a user, asked for by scope or by name. What is not known is not said. */
function standardClaims(
  cx: Cx,
  { userId, requested }: Told,
  {
    scopes,
    readers,
  }: { readonly scopes: readonly string[]; readonly readers: () => readonly string[] },
): Claims {
  const wanted = requested ? wantedOf(scopes, requested) : wantedByScopes(scopes)
  const known = wanted.length > 0 ? profileFor(cx, userId, readers()) : undefined
  if (!known) return {}
  const claims: Record<string, unknown> = {}
  for (const [name, [, value]] of wanted) {
    const said = value(known)
    if (said !== "") claims[name] = said
  }
  return claims
}

type Limits = {
  /** Those whose lists of roles are told here. */
  readonly scopes: readonly string[]
  /** Metadata of more characters is not told here at all. */
  readonly metadataMax: number
}

/** What the reserved scopes ask for, and the roles that the asker's settings add. */
function reservedClaims(
  cx: Cx,
  told: Told,
  asker: Asker | undefined,
  { scopes, metadataMax }: Limits = { scopes: told.scopes, metadataMax: Number.POSITIVE_INFINITY },
): Claims {
  const { requested = [] } = told
  const lists = listScopes.filter((name) => scopes.includes(name) || requested.includes(name))
  const roles = roleClaims(cx, { ...told, lists }, asker)
  const isAsked = told.scopes.some((scope) => scope.startsWith("urn:"))
  if (!isAsked) return roles
  return { ...roles, ...homeClaims(cx, told), ...metadataClaims(cx, told, metadataMax) }
}

/** Tokens travel in headers, which are short: more is to be had at userinfo. */
const inToken = 4000

/** What is noted about the user, each value in base64url. */
function metadataClaims(cx: Cx, { userId, scopes }: Told, max: number): Claims {
  if (!scopes.includes(reserved.metadata)) return {}
  const entries = [...heldMetadata(cx, userId)].map(
    ([key, value]) => [key, Buffer.from(value).toString("base64url")] as const,
  )
  const length = entries.reduce((sum, [key, text]) => sum + key.length + text.length, 0)
  if (entries.length === 0 || length > max) return {}
  return { [reserved.metadata]: Object.fromEntries(entries) }
}

/** The user's organisation, and what it was held to by a scope. */
function homeClaims(cx: Cx, { userId, scopes }: Told): Claims {
  const ids = namedBy(scopes, "org")
  const domains = namedBy(scopes, "orgDomain")
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
