import { Fault } from "../../kernel/fault.ts"
import { aggregate, type Cx, type Draft, type Event, type Transaction } from "../../store/index.ts"
import { hasLeft, user } from "../user-model/index.ts"
import { missingError } from "./commands.ts"
import { group } from "./model.ts"

type Pair = { readonly groupId: string; readonly userId: string }

export type GroupUserEvent = Event<"group.user.added", Pair> | Event<"group.user.removed">

/** Whether one user is in one group: a group may have any number, and each is a stream. */
export const groupUser = aggregate<GroupUserEvent, { readonly isIn: boolean }>({
  stream: "group_user",
  initial: { isIn: false },
  evolve: {
    "group.user.added": () => ({ isIn: true }),
    "group.user.removed": () => ({ isIn: false }),
  },
})

/** As many as one call adds or removes. */
const most = 100

/** Adds users of its organisation to a group, all or none; who is in it already stays. */
export const addToGroup = (cx: Cx, groupId: string, userIds: readonly string[]): Promise<number> =>
  eachOf(cx, groupId, userIds, (tx, { userId }) => enterGroup(tx, groupId, userId))

/** Adds one, as a part of a step; whether they were not in it before. */
export function enterGroup(tx: Transaction, groupId: string, userId: string): boolean {
  const { status, orgId } = tx.state(group, groupId)
  if (status !== "active") throw missingError()
  if (hasLeft(tx.state(user, userId)) || tx.owner(user, userId) !== orgId) throw noSuchUserError()
  const id = `${groupId}/${userId}`
  if (tx.state(groupUser, id).isIn) return false
  const added: Draft<GroupUserEvent> = { type: "group.user.added", data: { groupId, userId } }
  tx.append(groupUser, id, [added], orgId)
  return true
}

/** Takes users out of a group; who is not in it stays out. */
export const removeFromGroup = (
  cx: Cx,
  groupId: string,
  userIds: readonly string[],
): Promise<number> =>
  eachOf(cx, groupId, userIds, (tx, { id }) => {
    if (!tx.state(groupUser, id).isIn) return false
    tx.append(groupUser, id, [{ type: "group.user.removed", data: {} }])
    return true
  })

type One = { readonly userId: string; readonly id: string }

/** Answers when anything last changed, ms UTC: now, where `change` did so for anybody. */
async function eachOf(
  cx: Cx,
  groupId: string,
  userIds: readonly string[],
  change: (tx: Transaction, one: One) => boolean,
): Promise<number> {
  if (userIds.length > most) throw tooManyMembersError(most, "users")
  const step = await cx.store.transact(cx, (tx) => {
    if (tx.state(group, groupId).status !== "active") throw missingError()
    const changed = userIds.filter((userId) => change(tx, { userId, id: `${groupId}/${userId}` }))
    return changed.length > 0 ? tx.now : undefined
  })
  return step.value ?? step.receipt(group, groupId).changed
}

const noSuchUserError = () =>
  new Fault("not_found", "user.missing", "there is no such user in the group's organisation")

export const tooManyMembersError = (max: number, members: "users" | "groups"): Fault =>
  new Fault(
    "invalid_argument",
    `group.too_many_${members}`,
    `at most ${max} ${members} can be added or removed in one call; make several`,
  )
