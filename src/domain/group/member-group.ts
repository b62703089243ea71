import type { Cx, Draft, Receipt, Transaction } from "../../store/index.ts"
import {
  groupNotFoundError,
  removeGroup,
  type UpdateGroupInput,
  updateGroupDetails,
} from "./commands.ts"
import { usersOfGroup } from "./effective.ts"
import { checkGroupChange, checkUsersInBatches, type GroupUsersInput } from "./guard.ts"
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

/** Maximum number of groups in one call. */
const groupsMax = 100

/**
 * Adds groups of the same organization to a group, all or none; existing members are ignored.
 * Rejects cycles, nesting that is too deep, and groups with roles that the caller can't assign.
 * Returns when the members last changed, ms UTC.
 */
export async function addGroupsToGroup(
  cx: Cx,
  groupId: string,
  {
    groupIds,
    confirmed,
  }: { readonly groupIds: readonly string[] } & Pick<GroupUsersInput, "confirmed">,
): Promise<number> {
  await requireConfirmedUsers(cx, groupId, { groupIds, confirmed })
  return changeMembers(cx, groupId, groupIds, (tx, orgId) => {
    const added = [...new Set(groupIds)].filter((id) => !isMember(tx, { orgId, groupId }, id))
    for (const memberGroupId of added) {
      requireGroupOfOrg(tx, orgId, memberGroupId)
      checkNesting(tx.state(groupNesting, orgId), { groupId, memberGroupId })
      appendNesting(tx, orgId, { type: "group.group.added", data: { groupId, memberGroupId } })
    }
    if (added.length > 0) checkGroupChange(tx, { orgId, groupId })
    return added.length > 0
  })
}

/** Throws if users of the member groups have unconfirmed credentials that others created. */
async function requireConfirmedUsers(
  cx: Cx,
  groupId: string,
  {
    groupIds,
    confirmed,
  }: { readonly groupIds: readonly string[] } & Pick<GroupUsersInput, "confirmed">,
): Promise<void> {
  const { orgId } = cx.store.state(cx, group, groupId)
  const orgGroupIds = groupIds.slice(0, groupsMax).filter((id) => {
    return cx.store.state(cx, group, id).orgId === orgId
  })
  const userIds = [...new Set(orgGroupIds.flatMap((id) => usersOfGroup(cx, id)))]
  await checkUsersInBatches(cx, userIds, (tx, batch) =>
    checkGroupChange(tx, { orgId, groupId }, { userIds: batch, confirmed }),
  )
}

function requireGroupOfOrg(tx: Transaction, orgId: string, id: string): void {
  const memberGroup = tx.state(group, id)
  if (memberGroup.status !== "active" || memberGroup.orgId !== orgId) throw groupNotFoundError()
}

/**
 * Removes groups from a group; groups that aren't members are ignored. Rejects groups with roles
 * that the caller can't remove. Returns when the members last changed, ms UTC.
 */
export const removeGroupsFromGroup = (cx: Cx, groupId: string, memberGroupIds: readonly string[]) =>
  changeMembers(cx, groupId, memberGroupIds, (tx, orgId) => {
    const removed = [...new Set(memberGroupIds)].filter((id) =>
      isMember(tx, { orgId, groupId }, id),
    )
    if (removed.length > 0) checkGroupChange(tx, { orgId, groupId })
    for (const memberGroupId of removed) {
      appendNesting(tx, orgId, { type: "group.group.removed", data: { groupId, memberGroupId } })
    }
    return removed.length > 0
  })

async function changeMembers(
  cx: Cx,
  groupId: string,
  memberGroupIds: readonly string[],
  change: (tx: Transaction, orgId: string) => boolean,
): Promise<number> {
  if (memberGroupIds.length > groupsMax) throw tooManyMembersError(groupsMax, "groups")
  const step = await cx.store.transact(cx, (tx) => {
    const { status, orgId } = tx.state(group, groupId)
    if (status !== "active") throw groupNotFoundError()
    return change(tx, orgId) ? tx.now : undefined
  })
  return step.value ?? step.receipt(group, groupId).changed
}

type GroupReference = { readonly orgId: string; readonly groupId: string }

const isMember = (tx: Transaction, { orgId, groupId }: GroupReference, id: string): boolean =>
  membersOf(tx.state(groupNesting, orgId), groupId).includes(id)

const appendNesting = (tx: Transaction, orgId: string, draft: Draft<NestingEvent>) =>
  tx.append(groupNesting, orgId, [draft], orgId)

/**
 * Updates the fields that are present; see `updateGroupDetails`. Rejects groups with roles that the
 * caller lacks.
 */
export async function updateGroup(cx: Cx, id: string, change: UpdateGroupInput): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    const { status, orgId } = tx.state(group, id)
    if (status === "active") checkGroupChange(tx, { orgId, groupId: id })
    updateGroupDetails.within(tx, id, change)
  })
  return step.receipt(group, id)
}

/** Removes a group with its memberships and roles. */
export async function deleteGroup(cx: Cx, id: string): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    const { status, orgId } = tx.state(group, id)
    if (status === "active") checkGroupChange(tx, { orgId, groupId: id })
    removeGroup.within(tx, id)
    if (orgId !== "" && isNested(tx, orgId, id)) {
      appendNesting(tx, orgId, { type: "group.nesting.removed", data: { groupId: id } })
    }
  })
  return step.receipt(group, id)
}

function isNested(tx: Transaction, orgId: string, id: string): boolean {
  const nesting = tx.state(groupNesting, orgId)
  return withContainers(nesting, id).length > 1 || withNested(nesting, id).length > 1
}
