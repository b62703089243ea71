import { lru } from "../../../kernel/lru.ts"
import { type Cx, cacheQuery } from "../../../store/index.ts"
import { effectiveGroupIds, group, groupNesting, groupUser } from "../../group/index.ts"
import { org } from "../../org/index.ts"
import { project, projectChain } from "../../project/index.ts"
import { findActiveGrant, findGrantIdInOrg, projectGrant } from "../../project-grant/index.ts"
import { currentRoles, roleSourcesOf } from "../commands.ts"
import { type GroupAuthorization, groupAuthorization } from "./model.ts"
import { groupAuthorizationsOn } from "./view.ts"

/** Roles that a group currently gives its users on a project. */
export type RolesFromGroup = Pick<GroupAuthorization, "groupId" | "orgId" | "grantId"> & {
  /** The ID of the authorization. */
  readonly id: string
  readonly keys: readonly string[]
  /** Whether the authorization was created without roles. */
  readonly hasNoRoles: boolean
}

/** The roles that a user currently has on a project through groups, ordered by authorization. */
export function listRolesFromGroups(
  cx: Cx,
  userId: string,
  projectId: string,
): readonly RolesFromGroup[] {
  if (groupAuthorizationsOn(cx, projectId).length === 0) return []
  const cache = rolesFromGroupsCache(cx)
  const key = JSON.stringify([userId, projectId])
  const cached = cache.get(key)
  if (cached) return cached
  const roles = computeRolesFromGroups(cx, userId, projectId)
  cache.set(key, roles)
  return roles
}

/** Cached because a user in a thousand groups with roles would cost a thousand reads. */
const rolesFromGroupsCache = cacheQuery(
  () => lru<readonly RolesFromGroup[]>(1000),
  [
    ...[group, groupUser, groupNesting, groupAuthorization].map(({ stream }) => stream),
    ...[org, project, projectGrant].map(({ stream }) => stream),
    "user.removed",
  ],
)

function computeRolesFromGroups(
  cx: Cx,
  userId: string,
  projectId: string,
): readonly RolesFromGroup[] {
  const groups = new Set(effectiveGroupIds(cx, userId))
  if (groups.size === 0) return []
  return groupAuthorizationsOn(cx, projectId)
    .filter(({ groupId }) => groups.has(groupId))
    .flatMap(({ id }) => {
      const state = cx.store.state(cx, groupAuthorization, id)
      const { groupId, orgId, grantId, roleKeys } = state
      if (grantId !== "" && findActiveGrant(cx, grantId) === undefined) return []
      const read = { state: createStateReader(cx) }
      const keys = currentRoles(roleSourcesOf(read, state), state)
      return [{ id, groupId, orgId, grantId, keys, hasNoRoles: roleKeys.length === 0 }]
    })
}

const createStateReader =
  (cx: Cx): Parameters<typeof roleSourcesOf>[0]["state"] =>
  (kind, id) =>
    cx.store.state(cx, kind, id)

/**
 * The owner chain of a group's authorization, for access checks; undefined if it does not exist.
 */
export function groupAuthorizationChain(cx: Cx, id: string) {
  const { orgId, projectId, groupId, grantId, status } = cx.store.state(cx, groupAuthorization, id)
  const above = projectChain(cx, projectId)
  const isExisting = status === "active" && cx.store.state(cx, group, groupId).status === "active"
  if (!above || !isExisting) return undefined
  if (grantId === "") return above
  if (findGrantIdInOrg(cx, projectId, orgId) !== grantId) return undefined
  const { orgId: ownerId } = cx.store.state(cx, project, projectId)
  const shared = (link: { readonly level: string; readonly id: string }) =>
    link.level === "org" && link.id === ownerId
  return { ...above, org: orgId, grant: grantId, shared } as const
}
