import type { Holding } from "../../kernel/access.ts"
import type { AnyAggregate, Cx } from "../../store/index.ts"
import { authorization, type groupAuthorization } from "../authorization/index.ts"
import { instance } from "../instance/index.ts"
import { groupAdministrator, groupAdministratorId, member, memberId } from "../member/index.ts"
import type { RecordedEvent } from "./query.ts"

/** Who gives roles seldom does it so often that the last time is further back. */
const eventsMax = 1000

/** What gave a user the roles that they hold on a thing; undefined where it is no longer known. */
export async function lastGiven(
  cx: Cx,
  userId: string,
  { level, id, groupId }: Pick<Holding, "level" | "id" | "groupId">,
): Promise<RecordedEvent | undefined> {
  if (groupId !== undefined) {
    const target = level === "instance" ? { level } : { level, id }
    return lastOf(cx, groupAdministrator, groupAdministratorId(target, groupId))
  }
  if (level === "instance") return lastOnInstance(cx, userId)
  return lastOf(cx, member, memberId(level, id, userId))
}

/** What gave the roles of an authorization, of a user or of a group. */
export const lastAuthorized = (
  cx: Cx,
  id: string,
  kind: typeof authorization | typeof groupAuthorization = authorization,
): Promise<RecordedEvent | undefined> => lastOf(cx, kind, id)

/** The last event of a stream that says roles. */
async function lastOf(cx: Cx, { stream }: AnyAggregate, id: string) {
  const part = { asc: false, limit: eventsMax }
  const events = await cx.store.log.history({ ...part, instance: cx.instance, stream, id })
  return events.find(({ type }) => type.endsWith(".added") || type.endsWith(".changed"))
}

/** One stream holds all administrators of an instance. */
async function lastOnInstance(cx: Cx, userId: string): Promise<RecordedEvent | undefined> {
  const events = await cx.store.events(cx, {
    types: ["instance.member.added", "instance.member.changed"],
    streams: [instance.stream],
    ids: [cx.instance],
    asc: false,
    limit: eventsMax,
  })
  return events.find(({ data }) => "userId" in data && data.userId === userId)
}
