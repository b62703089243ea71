import { setImmediate as nextTurn } from "node:timers/promises"
import type { Cx, Transaction } from "../../store/index.ts"
import { groupNesting, withContainers } from "./nesting.ts"

/** A change of a group that assigns its roles to users or removes them. */
type GroupChange = {
  /** The group and all groups that contain it: the roles of each are assigned or removed. */
  readonly groupIds: readonly string[]
  /** The users who get the roles; empty if the change removes roles. */
  readonly userIds: readonly string[]
  /** Credentials of these users that others created and the caller confirms. */
  readonly confirmed: readonly string[]
}

type Guard = (tx: Transaction, change: GroupChange) => void

const guards: Guard[] = []

/** Registers a check of group changes. Modules that assign roles to groups have one each. */
export function guardGroups(guard: Guard): void {
  guards.push(guard)
}

export type GroupUsers = Pick<GroupChange, "userIds" | "confirmed">
type GuardedGroup = { readonly orgId: string; readonly groupId: string }

/** Throws if the caller can't assign and remove the roles of a group. */
export function checkGroupChange(
  tx: Transaction,
  { orgId, groupId }: GuardedGroup,
  { userIds, confirmed }: GroupUsers = { userIds: [], confirmed: [] },
): void {
  if (guards.length === 0) throw new Error("no module checks changes of groups")
  const groupIds = withContainers(tx.state(groupNesting, orgId), groupId)
  for (const guard of guards) guard(tx, { groupIds, userIds, confirmed })
}

const usersAtOnce = 50

/** Checks many users in transactions that append nothing, so that other requests can run. */
export async function forUsers(
  cx: Cx,
  userIds: readonly string[],
  decide: (tx: Transaction, userIds: readonly string[]) => void,
): Promise<void> {
  const call = { ...cx, expectedVersion: undefined }
  for (let at = 0; at < userIds.length; at += usersAtOnce) {
    const some = userIds.slice(at, at + usersAtOnce)
    await cx.store.transact(call, (tx) => decide(tx, some))
    await nextTurn()
  }
}
