import { type ApiApp, findClient, type OidcApp } from "../../../domain/app/index.ts"
import { listRolesByOrg, type OrgRoles } from "../../../domain/authorization/index.ts"
import type { Claims } from "../../../domain/key/index.ts"
import { org, provenDomainOf } from "../../../domain/org/index.ts"
import {
  isProjectActive,
  isProjectThere,
  type Project,
  project,
} from "../../../domain/project/index.ts"
import { findMachineByName } from "../../../domain/service-account/index.ts"
import { type Cx, cacheQuery } from "../../../store/index.ts"
import { reserved, valuesOfPrefix } from "../scope.ts"

/** The application or project that requests roles; absent if only the user does. */
export type RoleRequester = {
  readonly projectId: string
  readonly orgId: string
  readonly groupsClaim: Project["groupsClaim"]
  /** Whether roles are included here without being requested. */
  readonly asserted: boolean
  /**
   * Whether roles on its own project are also in a claim whose name does not include the project.
   */
  readonly generic: boolean
}

/**
 * The settings of an application decide whether roles are included; otherwise those of its project.
 */
type ClaimsLocation = "id_token" | "access token" | "userinfo"

type RequesterByLocation = Readonly<Record<ClaimsLocation, RoleRequester>>

/** The client of a token as the requester; undefined for a service account's own token. */
export function clientRequester(
  cx: Cx,
  clientId: string,
  location: ClaimsLocation,
): RoleRequester | undefined {
  const cache = requesterCache(cx)
  const found = cache.get(clientId) ?? requesterByLocation(cx, clientId)
  if (cache.size < requesterCacheMax) cache.set(clientId, found)
  return found?.[location]
}

const requesterCache = cacheQuery(
  () => new Map<string, RequesterByLocation | null>(),
  ["app", "project"],
)
const requesterCacheMax = 10_000

function requesterByLocation(cx: Cx, clientId: string): RequesterByLocation | null {
  const state = findClient(cx, clientId)?.state
  const requester = state && projectRequester(cx, state.projectId, state)
  if (!requester) return null
  const assertionSettings = state.kind === "oidc" ? state.oidc : noAssertion
  return {
    id_token: { ...requester, asserted: assertionSettings.idTokenRoleAssertion },
    "access token": { ...requester, asserted: assertionSettings.accessTokenRoleAssertion },
    userinfo: requester,
  }
}

const noAssertion = { idTokenRoleAssertion: false, accessTokenRoleAssertion: false }

/** The settings of an application for claims with roles. */
function roleSettingsOf(application: OidcApp | ApiApp | undefined) {
  if (application?.kind !== "oidc") return { generic: true }
  const { genericRolesClaim: generic, groupsClaim = "unspecified" } = application.oidc
  return groupsClaim === "unspecified" ? { generic } : { generic, groupsClaim }
}

/**
 * A project as the requester, for itself or for one of its applications, as at introspection;
 * undefined if it does not exist.
 */
export function projectRequester(
  cx: Cx,
  projectId: string,
  application?: OidcApp | ApiApp,
): RoleRequester | undefined {
  const state = cx.store.state(cx, project, projectId)
  if (!isProjectThere(state)) return undefined
  const { orgId, groupsClaim, projectRoleAssertion: asserted } = state
  return { projectId, orgId, groupsClaim, asserted, ...roleSettingsOf(application) }
}

type RoleClaimsInput = {
  readonly userId: string
  readonly clientId: string
  readonly audience: readonly string[]
  readonly scopes: readonly string[]
  /** Names of claims with plain lists of roles on the requester's project. */
  readonly lists: readonly string[]
}

/** The roles of a user that the scopes or the requester's settings include, by project. */
export function roleClaims(
  cx: Cx,
  input: RoleClaimsInput,
  requester: RoleRequester | undefined,
): Claims {
  const selection = roleSelectionOf(input.scopes, requester)
  const groupsClaim = requester?.groupsClaim ?? "off"
  const lists = groupsClaim === "off" ? input.lists : [...new Set([groupsClaim, ...input.lists])]
  if (!selection && lists.length === 0) return {}
  const claims: Record<string, unknown> = {}
  if (selection) {
    for (const projectId of projectsOf(cx, input, { asker: requester, wanted: selection })) {
      const roles = rolesOn(cx, input, projectId, selection)
      if (Object.keys(roles).length === 0) continue
      if (projectId === requester?.projectId && requester.generic)
        claims[reserved.projectRoles] = roles
      claims[`urn:core:iam:org:project:${projectId}:roles`] = roles
    }
  }
  // An empty list is included, because applications that synchronize groups must also notice the
  // last removal.
  if (requester && lists.length > 0) {
    const orgRoles = rolesOfUser(cx, input, requester.projectId)
    const keys = [...new Set(orgRoles.flatMap((each) => each.keys))]
    for (const name of lists) claims[name] = keys
  }
  return claims
}

type RoleSelection = {
  /** Whether projects in the audience are included in addition to the requester's. */
  readonly everywhere: boolean
  readonly isWanted: (key: string) => boolean
}

function roleSelectionOf(
  scopes: readonly string[],
  requester: RoleRequester | undefined,
): RoleSelection | undefined {
  const keys = valuesOfPrefix(scopes, "role")
  const isAsserted = requester?.asserted ?? false
  const everywhere = scopes.includes(reserved.allRoles) || isAsserted
  const isAll = everywhere || scopes.includes(reserved.projectRoles)
  if (!isAll && keys.length === 0) return undefined
  return {
    everywhere: everywhere || keys.length > 0,
    isWanted: isAll ? () => true : (key) => keys.includes(key),
  }
}

/**
 * The requester's own project, and those of the audience. Roles on another organization's projects
 * are included only for the user themselves: that organization decides who can read them, and its
 * applications use introspection.
 */
function projectsOf(
  cx: Cx,
  { userId, clientId, audience }: Omit<RoleClaimsInput, "lists">,
  {
    asker: requester,
    wanted: selection,
  }: { readonly asker: RoleRequester | undefined; readonly wanted: RoleSelection },
): readonly string[] {
  const own = requester ? [requester.projectId] : []
  if (!selection.everywhere) return own
  const forItself = clientId === userId || findMachineByName(cx, clientId) === userId
  const mayLearn = (id: string) =>
    isProjectActive(cx, id) &&
    (forItself || cx.store.state(cx, project, id).orgId === requester?.orgId)
  return [...new Set([...own, ...audience.filter(mayLearn)])]
}

/** Each role with the organizations that assign it, and their primary domains. */
function rolesOn(
  cx: Cx,
  input: RoleClaimsInput,
  projectId: string,
  { isWanted }: RoleSelection,
): Claims {
  const roles = new Map<string, Record<string, string>>()
  for (const { orgId, keys } of rolesOfUser(cx, input, projectId)) {
    const primaryDomain = provenDomainOf(cx.store.state(cx, org, orgId))
    for (const key of keys.filter(isWanted)) {
      roles.set(key, { ...roles.get(key), [orgId]: primaryDomain })
    }
  }
  return Object.fromEntries(roles)
}

/** A user's roles on a project, from the organizations that the scopes restrict it to. */
function rolesOfUser(
  cx: Cx,
  { userId, scopes }: RoleClaimsInput,
  projectId: string,
): readonly OrgRoles[] {
  const cache = roleCache(cx)
  const pair = JSON.stringify([userId, projectId])
  const orgRoles = cache.get(pair) ?? listRolesByOrg(cx, userId, projectId)
  if (cache.size < requesterCacheMax) cache.set(pair, orgRoles)
  const orgs = valuesOfPrefix(scopes, "rolesOfOrg")
  return orgs.length === 0 ? orgRoles : orgRoles.filter(({ orgId }) => orgs.includes(orgId))
}

const roleCache = cacheQuery(() => new Map<string, readonly OrgRoles[]>())
