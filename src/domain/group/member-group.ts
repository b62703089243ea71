import type { Cx, Draft, Receipt, Transaction } from "../../store/index.ts"
import { changeGroup, groupNotFoundError, removeGroup, type UpdateGroupInput } from "./commands.ts"
import { usersOfGroup } from "./effective.ts"
import { checkGroupChange, forUsers, type GroupUsers } from "./guard.ts"
import { tooManyMembersError } from "./member.ts"
import { group } from "./model.ts"
import {
  checkNesting,
  groupNesting,
  membersOf,
  type NestingEvent,
  withContainers,
  withNested,
} from "./nesting.ts"

/** The maximum number of groups in one call. */
const groupsMax = 100

/**
 * Adds groups of its organization to a group, all or none; members are left as they are. Rejects
 * cycles, chains that are too long, and groups with roles that the caller can't assign. Returns
 * when the members last changed, ms UTC.
 */
export async function addGroupsToGroup(
  cx: Cx,
  groupId: string,
  { groupIds, confirmed }: { readonly groupIds: readonly string[] } & Pick<GroupUsers, "confirmed">,
): Promise<number> {
  await confirmUsers(cx, groupId, { groupIds, confirmed })
  return changeNesting(cx, groupId, groupIds, (tx, orgId) => {
    const added = [...new Set(groupIds)].filter((id) => !isMember(tx, { orgId, groupId }, id))
    for (const memberGroupId of added) {
      mustBeGroupOf(tx, orgId, memberGroupId)
      checkNesting(tx.state(groupNesting, orgId), { groupId, memberGroupId })
      append(tx, orgId, { type: "group.group.added", data: { groupId, memberGroupId } })
    }
    if (added.length > 0) checkGroupChange(tx, { orgId, groupId })
    return added.length > 0
  })
}

/** Throws if users of the member groups have credentials that must be confirmed first. */
async function confirmUsers(
  cx: Cx,
  groupId: string,
  { groupIds, confirmed }: { readonly groupIds: readonly string[] } & Pick<GroupUsers, "confirmed">,
): Promise<void> {
  const { orgId } = cx.store.state(cx, group, groupId)
  const own = groupIds.slice(0, groupsMax).filter((id) => {
    return cx.store.state(cx, group, id).orgId === orgId
  })
  const userIds = [...new Set(own.flatMap((id) => usersOfGroup(cx, id)))]
  await forUsers(cx, userIds, (tx, some) =>
    checkGroupChange(tx, { orgId, groupId }, { userIds: some, confirmed }),
  )
}

function mustBeGroupOf(tx: Transaction, orgId: string, id: string): void {
  const other = tx.state(group, id)
  if (other.status !== "active" || other.orgId !== orgId) throw groupNotFoundError()
}

/** Removes groups from a group; groups that aren't members are ignored. Rejects as above. */
export const removeGroupsFromGroup = (cx: Cx, groupId: string, ids: readonly string[]) =>
  changeNesting(cx, groupId, ids, (tx, orgId) => {
    const removed = [...new Set(ids)].filter((id) => isMember(tx, { orgId, groupId }, id))
    if (removed.length > 0) checkGroupChange(tx, { orgId, groupId })
    for (const memberGroupId of removed) {
      append(tx, orgId, { type: "group.group.removed", data: { groupId, memberGroupId } })
    }
    return removed.length > 0
  })

async function changeNesting(
  cx: Cx,
  groupId: string,
  ids: readonly string[],
  change: (tx: Transaction, orgId: string) => boolean,
): Promise<number> {
  if (ids.length > groupsMax) throw tooManyMembersError(groupsMax, "groups")
  const step = await cx.store.transact(cx, (tx) => {
    const { status, orgId } = tx.state(group, groupId)
    if (status !== "active") throw groupNotFoundError()
    return change(tx, orgId) ? tx.now : undefined
  })
  return step.value ?? step.receipt(group, groupId).changed
}

type Container = { readonly orgId: string; readonly groupId: string }

const isMember = (tx: Transaction, { orgId, groupId }: Container, id: string): boolean =>
  membersOf(tx.state(groupNesting, orgId), groupId).includes(id)

const append = (tx: Transaction, orgId: string, draft: Draft<NestingEvent>) =>
  tx.append(groupNesting, orgId, [draft], orgId)

/** Updates the given fields; see `changeGroup`. Rejects groups with roles that the caller lacks. */
export async function updateGroup(cx: Cx, id: string, change: UpdateGroupInput): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    const { status, orgId } = tx.state(group, id)
    if (status === "active") checkGroupChange(tx, { orgId, groupId: id })
    changeGroup.within(tx, id, change)
  })
  return step.receipt(group, id)
}

/** Permanently deletes a group with its memberships and roles. */
export async function deleteGroup(cx: Cx, id: string): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    const { status, orgId } = tx.state(group, id)
    if (status === "active") checkGroupChange(tx, { orgId, groupId: id })
    removeGroup.within(tx, id)
    if (orgId !== "" && isNested(tx, orgId, id)) {
      append(tx, orgId, { type: "group.nesting.removed", data: { groupId: id } })
    }
  })
  return step.receipt(group, id)
}

function isNested(tx: Transaction, orgId: string, id: string): boolean {
  const nesting = tx.state(groupNesting, orgId)
  return withContainers(nesting, id).length > 1 || withNested(nesting, id).length > 1
}
