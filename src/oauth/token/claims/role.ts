import { type ApiApp, findClient, type OidcApp } from "../../../domain/app/index.ts"
import { type Held, rolesHeld } from "../../../domain/authorization/index.ts"
import type { Claims } from "../../../domain/key/index.ts"
import { org, provenDomainOf } from "../../../domain/org/index.ts"
import {
  isProjectActive,
  isProjectThere,
  type Project,
  project,
} from "../../../domain/project/index.ts"
import { findMachineByName } from "../../../domain/service-account/index.ts"
import { type Cx, cached } from "../../../store/index.ts"
import { namedBy, reserved } from "../scope.ts"

/** Who asks for the roles: an application of a project, or nobody but the user themself. */
export type Asker = {
  readonly projectId: string
  readonly orgId: string
  readonly groupsClaim: Project["groupsClaim"]
  /** Whether roles are told at this place without being asked for. */
  readonly asserted: boolean
  /** Whether roles on its own project are also told under a claim that does not name it. */
  readonly generic: boolean
}

/** Where an application says whether roles are told; elsewhere its project does. */
type Place = "id_token" | "access token" | "userinfo"

type AskerAt = Readonly<Record<Place, Asker>>

/** The application that a token was issued to; undefined for a service user's own. */
export function clientAsking(cx: Cx, clientId: string, place: Place): Asker | undefined {
  const known = askers(cx)
  const found = known.get(clientId) ?? askerAt(cx, clientId)
  if (known.size < rememberedMax) known.set(clientId, found)
  return found?.[place]
}

const askers = cached(() => new Map<string, AskerAt | null>(), ["app", "project"])
const rememberedMax = 10_000

function askerAt(cx: Cx, clientId: string): AskerAt | null {
  const state = findClient(cx, clientId)?.state
  const asker = state && projectAsking(cx, state.projectId, state)
  if (!asker) return null
  const said = state.kind === "oidc" ? state.oidc : nothing
  return {
    id_token: { ...asker, asserted: said.idTokenRoleAssertion },
    "access token": { ...asker, asserted: said.accessTokenRoleAssertion },
    userinfo: asker,
  }
}

const nothing = { idTokenRoleAssertion: false, accessTokenRoleAssertion: false }

/** The settings of an application about the claims that contain roles. */
function roleSettings(application: OidcApp | ApiApp | undefined) {
  if (application?.kind !== "oidc") return { generic: true }
  const { genericRolesClaim: generic, groupsClaim = "unspecified" } = application.oidc
  return groupsClaim === "unspecified" ? { generic } : { generic, groupsClaim }
}

/**
 * A project that asks for itself, or for one of its applications, as at introspection; undefined
 * where it is not there.
 */
export function projectAsking(
  cx: Cx,
  projectId: string,
  application?: OidcApp | ApiApp,
): Asker | undefined {
  const state = cx.store.state(cx, project, projectId)
  if (!isProjectThere(state)) return undefined
  const { orgId, groupsClaim, projectRoleAssertion: asserted } = state
  return { projectId, orgId, groupsClaim, asserted, ...roleSettings(application) }
}

type Told = {
  readonly userId: string
  readonly clientId: string
  readonly audience: readonly string[]
  readonly scopes: readonly string[]
  /** Names of claims that are flat lists of roles on the asker's project. */
  readonly lists: readonly string[]
}

/** The roles of a user that the scopes or the asker's settings ask for, by project. */
export function roleClaims(cx: Cx, told: Told, asker: Asker | undefined): Claims {
  const wanted = wantedOf(told.scopes, asker)
  const groupsClaim = asker?.groupsClaim ?? "off"
  const lists = groupsClaim === "off" ? told.lists : [...new Set([groupsClaim, ...told.lists])]
  if (!wanted && lists.length === 0) return {}
  const claims: Record<string, unknown> = {}
  if (wanted) {
    for (const projectId of projectsOf(cx, told, { asker, wanted })) {
      const roles = rolesOn(cx, told, projectId, wanted)
      if (Object.keys(roles).length === 0) continue
      if (projectId === asker?.projectId && asker.generic) claims[reserved.projectRoles] = roles
      claims[`urn:core:iam:org:project:${projectId}:roles`] = roles
    }
  }
  // An empty list says so: whoever copies groups must learn of the last one that went, too.
  if (asker && lists.length > 0) {
    const held = heldOn(cx, told, asker.projectId)
    const keys = [...new Set(held.flatMap((each) => each.keys))]
    for (const name of lists) claims[name] = keys
  }
  return claims
}

type Wanted = {
  /** Whether projects of the audience are told beside the asker's. */
  readonly everywhere: boolean
  readonly isWanted: (key: string) => boolean
}

function wantedOf(scopes: readonly string[], asker: Asker | undefined): Wanted | undefined {
  const keys = namedBy(scopes, "role")
  const isAsserted = asker?.asserted ?? false
  const everywhere = scopes.includes(reserved.allRoles) || isAsserted
  const isAll = everywhere || scopes.includes(reserved.projectRoles)
  if (!isAll && keys.length === 0) return undefined
  return {
    everywhere: everywhere || keys.length > 0,
    isWanted: isAll ? () => true : (key) => keys.includes(key),
  }
}

/**
 * The asker's own project, and those of the audience. Of another organisation's projects nothing
 * is told but to the user themself: which roles it gives is its own business, and its programs
 * learn it by introspection.
 */
function projectsOf(
  cx: Cx,
  { userId, clientId, audience }: Omit<Told, "lists">,
  { asker, wanted }: { readonly asker: Asker | undefined; readonly wanted: Wanted },
): readonly string[] {
  const own = asker ? [asker.projectId] : []
  if (!wanted.everywhere) return own
  const forItself = clientId === userId || findMachineByName(cx, clientId) === userId
  const mayLearn = (id: string) =>
    isProjectActive(cx, id) && (forItself || cx.store.state(cx, project, id).orgId === asker?.orgId)
  return [...new Set([...own, ...audience.filter(mayLearn)])]
}

/** Each role with the organisations that give it, and their primary domains. */
function rolesOn(cx: Cx, told: Told, projectId: string, { isWanted }: Wanted): Claims {
  const roles = new Map<string, Record<string, string>>()
  for (const { orgId, keys } of heldOn(cx, told, projectId)) {
    const primaryDomain = provenDomainOf(cx.store.state(cx, org, orgId))
    for (const key of keys.filter(isWanted)) {
      roles.set(key, { ...roles.get(key), [orgId]: primaryDomain })
    }
  }
  return Object.fromEntries(roles)
}

/** What a user holds on a project, of the organisations that the scopes narrow it to. */
function heldOn(cx: Cx, { userId, scopes }: Told, projectId: string): readonly Held[] {
  const known = allHeld(cx)
  const pair = JSON.stringify([userId, projectId])
  const held = known.get(pair) ?? rolesHeld(cx, userId, projectId)
  if (known.size < rememberedMax) known.set(pair, held)
  const orgs = namedBy(scopes, "rolesOfOrg")
  return orgs.length === 0 ? held : held.filter(({ orgId }) => orgs.includes(orgId))
}

const allHeld = cached(() => new Map<string, readonly Held[]>())
