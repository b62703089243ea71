import { setImmediate as nextTurn } from "node:timers/promises"
import type { Cx, Transaction } from "../../store/index.ts"
import { groupNesting, withContainers } from "./nesting.ts"

/** A change of a group that gives users what its roles permit, or takes it from them. */
type GroupChange = {
  /** The group, and all groups that it is in: roles of each of them are given or taken. */
  readonly groupIds: readonly string[]
  /** Who is given them; nobody where they are taken. */
  readonly userIds: readonly string[]
  /** Credentials that others created for these users, and the caller confirms. */
  readonly confirmed: readonly string[]
}

type Guard = (tx: Transaction, change: GroupChange) => void

const guards: Guard[] = []

/** Registers what refuses changes of groups: modules below this one give roles to groups. */
export function guardGroups(guard: Guard): void {
  guards.push(guard)
}

export type GroupUsers = Pick<GroupChange, "userIds" | "confirmed">
type GuardedGroup = { readonly orgId: string; readonly groupId: string }

/** Faults where the caller can't give or take what a group's roles permit. */
export function checkGroupChange(
  tx: Transaction,
  { orgId, groupId }: GuardedGroup,
  { userIds, confirmed }: GroupUsers = { userIds: [], confirmed: [] },
): void {
  if (guards.length === 0) throw new Error("nothing guards the members of groups")
  const groupIds = withContainers(tx.state(groupNesting, orgId), groupId)
  for (const guard of guards) guard(tx, { groupIds, userIds, confirmed })
}

const usersAtOnce = 50

/** Decides something for many users in steps that append nothing, so that others are answered. */
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
