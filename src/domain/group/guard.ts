import { setImmediate as nextTurn } from "node:timers/promises"
import type { Cx, Transaction } from "../../store/index.ts"
import { groupNesting, withContainers } from "./nesting.ts"

/** A change to a group that gives its roles to users or takes them away. */
type GroupRolesChange = {
  /** The group and all groups that contain it; users receive or lose the roles of each. */
  readonly groupIds: readonly string[]
  /** The users who receive the roles; empty if users lose them. */
  readonly userIds: readonly string[]
  /** Credentials of these users that others created and that the caller confirms. */
  readonly confirmed: readonly string[]
}

type GroupChangeCheck = (tx: Transaction, change: GroupRolesChange) => void

const groupChangeChecks: GroupChangeCheck[] = []

/** Registers a check of group changes, one for each module that assigns roles to groups. */
export function registerGroupChangeCheck(check: GroupChangeCheck): void {
  groupChangeChecks.push(check)
}

export type GroupUsersInput = Pick<GroupRolesChange, "userIds" | "confirmed">
type GroupReference = { readonly orgId: string; readonly groupId: string }

/** Throws if the caller can't assign or remove the roles of a group. */
export function checkGroupChange(
  tx: Transaction,
  { orgId, groupId }: GroupReference,
  { userIds, confirmed }: GroupUsersInput = { userIds: [], confirmed: [] },
): void {
  if (groupChangeChecks.length === 0) throw new Error("no check of group changes is registered")
  const groupIds = withContainers(tx.state(groupNesting, orgId), groupId)
  for (const check of groupChangeChecks) check(tx, { groupIds, userIds, confirmed })
}

const batchSize = 50

/**
 * Checks many users in several transactions without events, so that other requests can run between
 * them.
 */
export async function checkUsersInBatches(
  cx: Cx,
  userIds: readonly string[],
  checkBatch: (tx: Transaction, userIds: readonly string[]) => void,
): Promise<void> {
  const call = { ...cx, expectedVersion: undefined }
  for (let start = 0; start < userIds.length; start += batchSize) {
    const batch = userIds.slice(start, start + batchSize)
    await cx.store.transact(call, (tx) => checkBatch(tx, batch))
    await nextTurn()
  }
}
