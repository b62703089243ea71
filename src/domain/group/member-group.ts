import { Fault } from "../../kernel/fault.ts"
import type { Cx, Draft, Transaction } from "../../store/index.ts"
import { missingError, removeGroup } from "./commands.ts"
import { tooManyMembersError } from "./member.ts"
import { group } from "./model.ts"
import {
  checkNesting,
  groupNesting,
  membersOf,
  type NestingEvent,
  nestingCount,
  withContainers,
  withNested,
} from "./nesting.ts"

/** How many groups one call adds or removes at most. */
const groupsMax = 100

/** How often groups of an organization can be members of others: their stream has all of them. */
const nestingsMax = 10_000

/**
 * Adds groups of its organization to a group, all or none; members are left as they are. Refuses
 * groups that would contain themselves, and chains that are too long. Returns when the members last
 * changed, ms UTC.
 */
export const addGroupsToGroup = (cx: Cx, groupId: string, ids: readonly string[]) =>
  changeNesting(cx, groupId, ids, (tx, orgId) => {
    const added = [...new Set(ids)].filter((id) => !isMember(tx, { orgId, groupId }, id))
    for (const memberGroupId of added) {
      const other = tx.state(group, memberGroupId)
      if (other.status !== "active" || other.orgId !== orgId) throw missingError()
      checkNesting(tx.state(groupNesting, orgId), { groupId, memberGroupId })
      append(tx, orgId, { type: "group.group.added", data: { groupId, memberGroupId } })
    }
    if (nestingCount(tx.state(groupNesting, orgId)) > nestingsMax) throw tooManyNestingsError()
    return added.length > 0
  })

/** Removes groups from a group; those that are no members are ignored. Returns as above. */
export const removeGroupsFromGroup = (cx: Cx, groupId: string, ids: readonly string[]) =>
  changeNesting(cx, groupId, ids, (tx, orgId) => {
    const removed = [...new Set(ids)].filter((id) => isMember(tx, { orgId, groupId }, id))
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
    if (status !== "active") throw missingError()
    return change(tx, orgId) ? tx.now : undefined
  })
  return step.value ?? step.receipt(group, groupId).changed
}

type Container = { readonly orgId: string; readonly groupId: string }

const isMember = (tx: Transaction, { orgId, groupId }: Container, id: string): boolean =>
  membersOf(tx.state(groupNesting, orgId), groupId).includes(id)

const append = (tx: Transaction, orgId: string, draft: Draft<NestingEvent>) =>
  tx.append(groupNesting, orgId, [draft], orgId)

/** Deletes a group for good, with what it was a member of and the members it had. */
export async function deleteGroup(cx: Cx, id: string) {
  const step = await cx.store.transact(cx, (tx) => {
    const { orgId } = tx.state(group, id)
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

const tooManyNestingsError = () =>
  new Fault(
    "resource_exhausted",
    "group.too_many_nestings",
    `the groups of an organization can contain at most ${nestingsMax} groups altogether`,
  )
