import type { RoleAssignment } from "../../kernel/access.ts"
import type { AnyAggregate, Cx } from "../../store/index.ts"
import { authorization, type groupAuthorization } from "../authorization/index.ts"
import { instance } from "../instance/index.ts"
import { groupAdministrator, groupAdministratorId, member, memberId } from "../member/index.ts"
import type { RecordedEvent } from "./query.ts"

/** The number of events to search, newest first; older role changes are not found. */
const eventsMax = 1000

/** The event that last set a user's roles as an administrator; undefined if it is not found. */
export async function findMemberEvent(
  cx: Cx,
  userId: string,
  { level, id, groupId }: Pick<RoleAssignment, "level" | "id" | "groupId">,
): Promise<RecordedEvent | undefined> {
  if (groupId !== undefined) {
    const target = level === "instance" ? { level } : { level, id }
    return findLastRoleEvent(cx, groupAdministrator, groupAdministratorId(target, groupId))
  }
  if (level === "instance") return findInstanceMemberEvent(cx, userId)
  return findLastRoleEvent(cx, member, memberId(level, id, userId))
}

/** The event that last set the roles of an authorization, of a user or of a group. */
export const findAuthorizationEvent = (
  cx: Cx,
  id: string,
  kind: typeof authorization | typeof groupAuthorization = authorization,
): Promise<RecordedEvent | undefined> => findLastRoleEvent(cx, kind, id)

/** The last event of a stream that set roles. */
async function findLastRoleEvent(cx: Cx, { stream }: AnyAggregate, id: string) {
  const part = { asc: false, limit: eventsMax }
  const events = await cx.store.log.history({ ...part, instance: cx.instance, stream, id })
  return events.find(({ type }) => type.endsWith(".added") || type.endsWith(".changed"))
}

/** All administrators of an instance share one stream. */
async function findInstanceMemberEvent(cx: Cx, userId: string): Promise<RecordedEvent | undefined> {
  const events = await cx.store.events(cx, {
    types: ["instance.member.added", "instance.member.changed"],
    streams: [instance.stream],
    ids: [cx.instance],
    asc: false,
    limit: eventsMax,
  })
  return events.find(({ data }) => "userId" in data && data.userId === userId)
}
