import { type Cx, statement } from "../../store/index.ts"
import { isProjectThere, type Project, project, projectChain } from "../project/index.ts"
import { grantIdOf, grantInForce, hasProject, projectGrant } from "../project-grant/index.ts"
import { hasLeft, user } from "../user-model/index.ts"
import { rolesIn } from "./commands.ts"
import { heldByGroups } from "./group/query.ts"
import { type Authorization, authorization, isThere } from "./model.ts"

/** Roles of a user on a project, and the organisation that gives them. */
export type Held = { readonly orgId: string; readonly keys: readonly string[] }

/**
 * Every role that a user has on a project now, their own and those of their groups, by who gives
 * it: one entry for each organization, each role once.
 */
export function rolesHeld(cx: Cx, userId: string, projectId: string): readonly Held[] {
  const own = ownRolesHeld(cx, userId, projectId)
  const on = cx.store.state(cx, project, projectId)
  const byGroups = isProjectThere(on) ? heldByGroups(cx, userId, projectId) : []
  if (byGroups.length === 0) return own
  const keys = new Map<string, Set<string>>()
  for (const each of [...own, ...byGroups]) {
    keys.set(each.orgId, new Set([...(keys.get(each.orgId) ?? []), ...each.keys]))
  }
  return [...keys].map(([orgId, those]) => ({ orgId, keys: [...those] }))
}

/** The same without the roles of groups. */
export function ownRolesHeld(cx: Cx, userId: string, projectId: string): readonly Held[] {
  const on = cx.store.state(cx, project, projectId)
  if (!isProjectThere(on)) return []
  return inForce(cx, userId, projectId).map((each) => ({
    orgId: each.orgId,
    keys: keysOf(cx, on, each),
  }))
}

/** Whether a user may sign in to the applications of a project, and what was looked at for it. */
export type Entry = {
  readonly answer: "yes" | "no roles" | "no project"
  /** Whether their organisation has the project; undefined where the project doesn't ask for it. */
  readonly hasProject: boolean | undefined
  /** Whether they have roles on it; undefined where that was not asked. */
  readonly hasRoles: boolean | undefined
}

/**
 * Whether a user may sign in to the applications of a project, as the project asks for it: their
 * organisation must have the project, and they or one of their groups must be authorized on it. Who
 * was given roles that are all gone is authorized no more.
 */
export function entryOf(cx: Cx, userId: string, projectId: string): Entry {
  const on = cx.store.state(cx, project, projectId)
  const home = () => cx.store.receipt(cx, user, userId)?.owner ?? ""
  const hasIt = on.hasProjectCheck ? hasProject(cx, projectId, home()) : undefined
  if (hasIt === false) return { answer: "no project", hasProject: hasIt, hasRoles: undefined }
  if (!on.projectRoleCheck) return { answer: "yes", hasProject: hasIt, hasRoles: undefined }
  const counts = (each: Authorization) =>
    each.roleKeys.length === 0 || keysOf(cx, on, each).length > 0
  const hasRoles =
    inForce(cx, userId, projectId).some(counts) ||
    heldByGroups(cx, userId, projectId).some(({ isEmpty, keys }) => isEmpty || keys.length > 0)
  return { answer: hasRoles ? "yes" : "no roles", hasProject: hasIt, hasRoles }
}

/** The answer alone. */
export const mayEnter = (cx: Cx, userId: string, projectId: string): Entry["answer"] =>
  entryOf(cx, userId, projectId).answer

/** An authorization of a user on a project, and what it gives them now. */
export type Given = {
  readonly id: string
  readonly orgId: string
  /** Empty where the project's own organisation gave it. */
  readonly grantId: string
  /** Whether it is active, and over a grant that one counts. */
  readonly counts: boolean
  readonly keys: readonly string[]
}

/** All that a user was given on a project and nobody has removed, in force or not. */
export function givenOn(cx: Cx, userId: string, projectId: string): readonly Given[] {
  const on = cx.store.state(cx, project, projectId)
  return cx.store.all(cx, between, { userId, projectId }).map(({ id }) => {
    const state = cx.store.state(cx, authorization, id)
    const counts = isInForce(cx, state)
    const { orgId, grantId } = state
    return { id, orgId, grantId, counts, keys: counts ? keysOf(cx, on, state) : [] }
  })
}

const keysOf = (cx: Cx, on: Project, held: Authorization): readonly string[] =>
  rolesIn(
    { on, over: held.grantId ? cx.store.state(cx, projectGrant, held.grantId) : undefined },
    held,
  )

const between = statement<{ id: string }>(
  `SELECT id FROM authorizations
   WHERE instance = $instance AND user_id = $userId AND project = $projectId`,
)

const ofUser = statement<{ id: string }>(
  "SELECT id FROM authorizations WHERE instance = $instance AND user_id = $userId ORDER BY id",
)

/** Every authorization of a user, active or not. */
export const authorizationsOf = (cx: Cx, userId: string): readonly string[] =>
  cx.store.all(cx, ofUser, { userId }).map(({ id }) => id)

/** The authorizations that count: active, and over a grant only where that one does. */
function inForce(cx: Cx, userId: string, projectId: string): readonly Authorization[] {
  return cx.store
    .all(cx, between, { userId, projectId })
    .map(({ id }) => cx.store.state(cx, authorization, id))
    .filter((each) => isInForce(cx, each))
}

const isInForce = (cx: Cx, { status, grantId }: Authorization): boolean =>
  status === "active" && (grantId === "" || grantInForce(cx, grantId) !== undefined)

/**
 * What the access to an authorization hangs from; undefined where there is none. Over a grant it
 * belongs to who gives it, and to who owns the project.
 */
export function authorizationChain(cx: Cx, id: string) {
  const state = cx.store.state(cx, authorization, id)
  const { orgId, projectId, userId, grantId } = state
  const above = projectChain(cx, projectId)
  if (!above || !isThere(state) || hasLeft(cx.store.state(cx, user, userId))) return undefined
  if (grantId === "") return above
  const chain = { ...above, org: orgId } as const
  if (grantIdOf(cx, projectId, orgId) !== grantId) return undefined
  const { orgId: givingId } = cx.store.state(cx, project, projectId)
  const shared = (thing: { readonly level: string; readonly id: string }) =>
    thing.level === "org" && thing.id === givingId
  return { ...chain, grant: grantId, shared } as const
}
