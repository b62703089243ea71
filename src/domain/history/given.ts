import type { Holding } from "../../kernel/access.ts"
import type { AnyAggregate, Cx } from "../../store/index.ts"
import { authorization } from "../authorization/index.ts"
import { instance } from "../instance/index.ts"
import { member, memberId } from "../member/index.ts"
import type { RecordedEvent } from "./query.ts"

/** Who gives roles seldom does it so often that the last time is further back. */
const eventsMax = 1000

/** What gave a user the roles that they hold on a thing; undefined where it is no longer known. */
export async function lastGiven(
  cx: Cx,
  userId: string,
  { level, id }: Pick<Holding, "level" | "id">,
): Promise<RecordedEvent | undefined> {
  if (level === "instance") return lastOnInstance(cx, userId)
  return lastOf(cx, member, memberId(level, id, userId))
}

/** What gave a user the roles of an authorization. */
export const lastAuthorized = (cx: Cx, id: string): Promise<RecordedEvent | undefined> =>
  lastOf(cx, authorization, id)

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
    ...{ asc: false, limit: eventsMax },
  })
  return events.find(({ data }) => "userId" in data && data.userId === userId)
}
