import { lru } from "../../../kernel/lru.ts"
import { type Cx, cacheQuery } from "../../../store/index.ts"
import { effectiveGroupIds, group, groupNesting, groupUser } from "../../group/index.ts"
import { org } from "../../org/index.ts"
import { project, projectChain } from "../../project/index.ts"
import { findActiveGrant, findGrantIdInOrg, projectGrant } from "../../project-grant/index.ts"
import { currentRoles, roleSourcesOf } from "../commands.ts"
import { type GroupAuthorization, groupAuthorization } from "./model.ts"
import { groupAuthorizationsOn } from "./view.ts"

/** What one group gives its users on a project now. */
export type HeldByGroup = Pick<GroupAuthorization, "groupId" | "orgId" | "grantId"> & {
  /** Of the authorization. */
  readonly id: string
  readonly keys: readonly string[]
  /** Whether it was given without any role. */
  readonly isEmpty: boolean
}

/** What the groups of a user give them on a project now, in the order of the authorizations. */
export function heldByGroups(cx: Cx, userId: string, projectId: string): readonly HeldByGroup[] {
  if (groupAuthorizationsOn(cx, projectId).length === 0) return []
  const known = allHeld(cx)
  const pair = JSON.stringify([userId, projectId])
  const before = known.get(pair)
  if (before) return before
  const held = resolved(cx, userId, projectId)
  known.set(pair, held)
  return held
}

/** Who has a thousand groups with roles costs a thousand reads, so answers are kept. */
const allHeld = cacheQuery(
  () => lru<readonly HeldByGroup[]>(1000),
  [
    ...[group, groupUser, groupNesting, groupAuthorization].map(({ stream }) => stream),
    ...[org, project, projectGrant].map(({ stream }) => stream),
    "user.removed",
  ],
)

function resolved(cx: Cx, userId: string, projectId: string): readonly HeldByGroup[] {
  const groups = new Set(effectiveGroupIds(cx, userId))
  if (groups.size === 0) return []
  return groupAuthorizationsOn(cx, projectId)
    .filter(({ groupId }) => groups.has(groupId))
    .flatMap(({ id }) => {
      const state = cx.store.state(cx, groupAuthorization, id)
      const { groupId, orgId, grantId, roleKeys } = state
      if (grantId !== "" && findActiveGrant(cx, grantId) === undefined) return []
      const read = { state: reading(cx) }
      const keys = currentRoles(roleSourcesOf(read, state), state)
      return [{ id, groupId, orgId, grantId, keys, isEmpty: roleKeys.length === 0 }]
    })
}

const reading =
  (cx: Cx): Parameters<typeof roleSourcesOf>[0]["state"] =>
  (kind, id) =>
    cx.store.state(cx, kind, id)

/** What the access to a group's authorization hangs from; undefined where there is none. */
export function groupAuthorizationChain(cx: Cx, id: string) {
  const { orgId, projectId, groupId, grantId, status } = cx.store.state(cx, groupAuthorization, id)
  const above = projectChain(cx, projectId)
  const isThere = status === "active" && cx.store.state(cx, group, groupId).status === "active"
  if (!above || !isThere) return undefined
  if (grantId === "") return above
  if (findGrantIdInOrg(cx, projectId, orgId) !== grantId) return undefined
  const { orgId: owningId } = cx.store.state(cx, project, projectId)
  const shared = (thing: { readonly level: string; readonly id: string }) =>
    thing.level === "org" && thing.id === owningId
  return { ...above, org: orgId, grant: grantId, shared } as const
}
