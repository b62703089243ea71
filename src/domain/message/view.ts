import {
  type Cx,
  type Searchable,
  type Store,
  statement,
  systemStatement,
  type ViewWriter,
  view,
} from "../../store/index.ts"
import type { Channel } from "../message-provider/index.ts"
import type { UserEvent } from "../user-model/index.ts"
import type { Message, MessageEvent } from "./model.ts"

/** A message as it is listed; times are ms UTC. */
export type MessageRow = {
  readonly id: string
  readonly user_id: string
  readonly org: string
  readonly kind: Message["kind"]
  readonly channel: Message["channel"]
  readonly status: Exclude<Message["status"], "absent">
  readonly error: string
  readonly created: number
  readonly changed: number
}

const insert = statement(
  `INSERT INTO messages (instance, id, user_id, org, kind, channel, status, error, created, changed)
   VALUES ($instance, $id, $userId, $owner, $kind, $channel, 'queued', '', $time, $time)`,
)
const set = statement(
  `UPDATE messages SET status = $status, error = $error, changed = $time
   WHERE instance = $instance AND id = $id`,
)
const remove = statement("DELETE FROM messages WHERE instance = $instance AND id = $id")
const setDue = statement(
  `INSERT INTO messages_due (instance, id, due) VALUES ($instance, $id, $due)
   ON CONFLICT DO UPDATE SET due = excluded.due`,
)
const removeDue = statement("DELETE FROM messages_due WHERE instance = $instance AND id = $id")

function removeBoth(db: ViewWriter): void {
  db.run(remove)
  db.run(removeDue)
}

/** What was written to whom, and what became of it. */
export const messageView = view<MessageEvent | UserEvent>({
  name: "message",
  tables: {
    messages_due: {
      columns: "id TEXT NOT NULL, due INTEGER NOT NULL",
      key: "id",
      indexes: { due: "due" },
    },
    messages: {
      columns: `id TEXT NOT NULL, user_id TEXT NOT NULL, org TEXT NOT NULL, kind TEXT NOT NULL,
        channel TEXT NOT NULL, status TEXT NOT NULL, error TEXT NOT NULL,
        created INTEGER NOT NULL, changed INTEGER NOT NULL`,
      key: "id",
      indexes: {
        user: "user_id, created",
        org: "org, created",
        status: "status, created",
        created: "created",
      },
    },
  },
  on: {
    "message.added": (db, { data: { userId, kind, channel } }) =>
      db.run(insert, { userId, kind, channel }),
    "message.delayed": (db, { data: { error, due } }) => {
      db.run(set, { status: "queued", error })
      if (due !== undefined) db.run(setDue, { due })
    },
    "message.sent": (db) => {
      db.run(set, { status: "sent", error: "" })
      db.run(removeDue)
    },
    "message.failed": (db, { data }) => {
      db.run(set, { status: data.isObsolete ? "obsolete" : "failed", error: data.error })
      db.run(removeDue)
    },
    "message.requeued": (db) => {
      db.run(set, { status: "queued", error: "" })
      db.run(removeDue)
    },
    "message.erased": removeBoth,
  },
  dropped: { message: removeBoth },
})

export const messages: Searchable = {
  table: "messages",
  columns: ["user_id", "org", "status", "created"],
  owner: { org: "org" },
  key: "id",
  sort: "created",
}

const ofUser = statement<{ id: string }>(
  "SELECT id FROM messages WHERE instance = $instance AND user_id = $userId ORDER BY id",
)

/** All messages to a person that are still kept. */
export const messagesTo = (cx: Cx, userId: string): readonly string[] =>
  cx.store.all(cx, ofUser, { userId }).map(({ id }) => id)

const waiting = statement<{ id: string }>(
  `SELECT id FROM messages
   WHERE instance = $instance AND status = 'queued' AND channel = $channel AND id > $after
   ORDER BY id LIMIT 100`,
)

/** The first of the messages that are yet to go out by a channel, of those after one. */
export const waitingFor = (cx: Cx, channel: string, after: string): readonly string[] =>
  cx.store.all(cx, waiting, { channel, after }).map(({ id }) => id)

const delaying = systemStatement<{ instance: string }>(
  "SELECT DISTINCT instance FROM messages_due",
  "messages of all instances are tried again when it is time",
)

/** The instances where messages wait for their next try. */
export const delayingInstances = (store: Store): readonly string[] =>
  store.all({ instance: "" }, delaying).map(({ instance }) => instance)

const dueIn = statement<{ id: string }>(
  `SELECT d.id AS id FROM messages_due d
   JOIN messages m ON m.instance = $instance AND m.id = d.id
   WHERE d.instance = $instance AND m.channel = $channel
     AND (d.due <= $now OR d.due > $latest) ORDER BY d.due LIMIT $limit`,
)

/** Those that are due; a time that no pause lasts until was set by a clock that was ahead. */
export const dueMessages = (
  cx: Cx,
  values: {
    readonly channel: Channel
    readonly now: number
    readonly latest: number
    readonly limit: number
  },
): readonly string[] => cx.store.all(cx, dueIn, values).map(({ id }) => id)

const standing = statement<{ status: "queued" | "failed"; count: number }>(
  `SELECT status, count(*) AS count FROM messages
   WHERE instance = $instance AND status IN ('queued', 'failed') GROUP BY status`,
)

/** How many messages are yet to go out, and how many were given up. */
export function messagesWaiting(cx: Cx): { readonly queued: number; readonly failed: number } {
  const rows = cx.store.all(cx, standing)
  const count = (of: string) => rows.find(({ status }) => status === of)?.count ?? 0
  return { queued: count("queued"), failed: count("failed") }
}
