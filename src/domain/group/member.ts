import { Fault } from "../../kernel/fault.ts"
import { aggregate, type Cx, type Draft, type Event, type Transaction } from "../../store/index.ts"
import { isAbsent, user } from "../user-model/index.ts"
import { groupNotFoundError } from "./commands.ts"
import { checkGroupChange, type GroupUsersInput } from "./guard.ts"
import { group } from "./model.ts"

type GroupUserPair = { readonly groupId: string; readonly userId: string }

export type GroupUserEvent = Event<"group.user.added", GroupUserPair> | Event<"group.user.removed">

/** Whether one user is in one group. Groups have no size limit, so each pair has its own stream. */
export const groupUser = aggregate<GroupUserEvent, { readonly isIn: boolean }>({
  stream: "group_user",
  initial: { isIn: false },
  evolve: {
    "group.user.added": () => ({ isIn: true }),
    "group.user.removed": () => ({ isIn: false }),
  },
})

/** Maximum number of users in one call. */
const usersMax = 100

/**
 * Adds users of its organization to a group, all or none; users who are already in it are ignored.
 * Rejects groups whose roles have permissions that the caller lacks. Returns when the users of the
 * group last changed, ms UTC.
 */
export const addToGroup = (
  cx: Cx,
  groupId: string,
  { userIds, confirmed }: GroupUsersInput,
): Promise<number> =>
  changeUsers(cx, groupId, userIds, (tx, orgId) => {
    for (const userId of userIds) requireUserOfOrg(tx, orgId, userId)
    const added = [...new Set(userIds)].filter((userId) => !isUserIn(tx, groupId, userId))
    if (added.length > 0) checkGroupChange(tx, { orgId, groupId }, { userIds: added, confirmed })
    for (const userId of added) appendUser(tx, { orgId, groupId, userId })
    return added.length > 0
  })

/** Adds one user within a transaction; returns false if the user was already in the group. */
export function addUserToGroup(tx: Transaction, groupId: string, userId: string): boolean {
  const { status, orgId } = tx.state(group, groupId)
  if (status !== "active") throw groupNotFoundError()
  requireUserOfOrg(tx, orgId, userId)
  if (isUserIn(tx, groupId, userId)) return false
  checkGroupChange(tx, { orgId, groupId }, { userIds: [userId], confirmed: [] })
  appendUser(tx, { orgId, groupId, userId })
  return true
}

/**
 * Removes users from a group; users who are not in it are ignored. Rejects and returns the same as
 * `addToGroup`.
 */
export const removeFromGroup = (
  cx: Cx,
  groupId: string,
  userIds: readonly string[],
): Promise<number> =>
  changeUsers(cx, groupId, userIds, (tx, orgId) => {
    const removed = [...new Set(userIds)].filter((userId) => isUserIn(tx, groupId, userId))
    if (removed.length > 0) checkGroupChange(tx, { orgId, groupId })
    for (const userId of removed) {
      tx.append(groupUser, pairId({ groupId, userId }), [{ type: "group.user.removed", data: {} }])
    }
    return removed.length > 0
  })

async function changeUsers(
  cx: Cx,
  groupId: string,
  userIds: readonly string[],
  change: (tx: Transaction, orgId: string) => boolean,
): Promise<number> {
  if (userIds.length > usersMax) throw tooManyMembersError(usersMax, "users")
  const step = await cx.store.transact(cx, (tx) => {
    const { status, orgId } = tx.state(group, groupId)
    if (status !== "active") throw groupNotFoundError()
    return change(tx, orgId) ? tx.now : undefined
  })
  return step.value ?? step.receipt(group, groupId).changed
}

const pairId = ({ groupId, userId }: GroupUserPair): string => `${groupId}/${userId}`

const isUserIn = (tx: Transaction, groupId: string, userId: string): boolean =>
  tx.state(groupUser, pairId({ groupId, userId })).isIn

function requireUserOfOrg(tx: Transaction, orgId: string, userId: string): void {
  if (isAbsent(tx.state(user, userId)) || tx.owner(user, userId) !== orgId)
    throw userNotFoundError()
}

function appendUser(
  tx: Transaction,
  { orgId, ...pair }: GroupUserPair & { readonly orgId: string },
): void {
  const added: Draft<GroupUserEvent> = { type: "group.user.added", data: pair }
  tx.append(groupUser, pairId(pair), [added], orgId)
}

const userNotFoundError = () =>
  new Fault("not_found", "user.missing", "user not found in the organization of the group")

export const tooManyMembersError = (max: number, members: "users" | "groups"): Fault =>
  new Fault(
    "invalid_argument",
    `group.too_many_${members}`,
    `at most ${max} ${members} can be added or removed in one call; make several calls`,
  )
