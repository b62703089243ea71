import {
  type Cx,
  type Envelope,
  integer,
  type RowOf,
  type Store,
  statement,
  systemStatement,
  table,
  text,
  type ViewWriter,
  view,
} from "../../store/index.ts"
import type { Channel } from "../message-provider/index.ts"
import type { UserEvent } from "../user-model/index.ts"
import type { Message, MessageEvent } from "./model.ts"

const messageTable = table(
  "messages",
  {
    id: text(),
    user_id: text(),
    org: text(),
    kind: text<Message["kind"]>(),
    channel: text<Message["channel"]>(),
    status: text<Exclude<Message["status"], "absent">>(),
    error: text(),
    created: integer(),
    changed: integer(),
  },
  {
    key: ["id"],
    indexes: {
      user: ["user_id", "created"],
      org: ["org", "created"],
      status: ["status", "created"],
      created: ["created"],
    },
  },
)

/** A message in a list; times are in ms since the epoch. */
export type MessageRow = RowOf<typeof messageTable>

const dueTable = table(
  "messages_due",
  { id: text(), due: integer() },
  { key: ["id"], indexes: { due: ["due"] } },
)

const change = (
  db: ViewWriter,
  { id, time }: Envelope,
  changes: Pick<MessageRow, "status" | "error">,
) => messageTable.update(db, { id }, { ...changes, changed: time })

function settle(db: ViewWriter, event: Envelope, changes: Pick<MessageRow, "status" | "error">) {
  change(db, event, changes)
  dueTable.remove(db, { id: event.id })
}

function remove(db: ViewWriter, { id }: Pick<Envelope, "id">): void {
  messageTable.remove(db, { id })
  dueTable.remove(db, { id })
}

/** Messages with their recipients and statuses. */
export const messageView = view<MessageEvent | UserEvent>({
  name: "message",
  tables: [dueTable, messageTable],
  on: {
    "message.added": (db, { id, owner, data, time }) =>
      messageTable.insert(db, {
        id,
        user_id: data.userId,
        org: owner,
        kind: data.kind,
        channel: data.channel,
        status: "queued",
        error: "",
        created: time,
        changed: time,
      }),
    "message.delayed": (db, event) => {
      const { error, due } = event.data
      change(db, event, { status: "queued", error })
      if (due !== undefined) dueTable.upsert(db, { id: event.id, due }, ["due"])
    },
    "message.sent": (db, event) => settle(db, event, { status: "sent", error: "" }),
    "message.failed": (db, event) => {
      const { isObsolete, error } = event.data
      settle(db, event, { status: isObsolete ? "obsolete" : "failed", error })
    },
    "message.requeued": (db, event) => settle(db, event, { status: "queued", error: "" }),
    "message.erased": remove,
  },
  onPruned: { message: remove },
})

export const messages = messageTable.searchable({
  columns: ["user_id", "org", "status", "created"],
  owner: { org: "org" },
  key: "id",
  sort: "created",
})

const ofUser = messageTable.select(["id"], "AND user_id = $userId ORDER BY id")

/** All stored messages to a user. */
export const messagesTo = (cx: Cx, userId: string): readonly string[] =>
  cx.store.all(cx, ofUser, { userId }).map(({ id }) => id)

const queuedStatement = messageTable.select(
  ["id"],
  "AND status = 'queued' AND channel = $channel AND id > $after ORDER BY id LIMIT 100",
)

/** The first queued messages of a channel after the given ID. */
export const queuedAfter = (cx: Cx, channel: string, after: string): readonly string[] =>
  cx.store.all(cx, queuedStatement, { channel, after }).map(({ id }) => id)

const delayingStatement = systemStatement<{ instance: string }>(
  "SELECT DISTINCT instance FROM messages_due",
  "the reactor retries due messages of all instances",
)

/** The instances with messages that wait for the next attempt. */
export const delayingInstances = (store: Store): readonly string[] =>
  store.all({ instance: "" }, delayingStatement).map(({ instance }) => instance)

const dueIn = statement<{ id: string }>(
  `SELECT d.id AS id FROM messages_due d
   JOIN messages m ON m.instance = $instance AND m.id = d.id
   WHERE d.instance = $instance AND m.channel = $channel
     AND (d.due <= $now OR d.due > $latest) ORDER BY d.due LIMIT $limit`,
)

/**
 * The due messages. A due time after `latest` was set by a clock that was ahead, so the message is
 * due, too.
 */
export const dueMessages = (
  cx: Cx,
  values: {
    readonly channel: Channel
    readonly now: number
    readonly latest: number
    readonly limit: number
  },
): readonly string[] => cx.store.all(cx, dueIn, values).map(({ id }) => id)

const countStatement = statement<{ status: "queued" | "failed"; count: number }>(
  `SELECT status, count(*) AS count FROM messages
   WHERE instance = $instance AND status IN ('queued', 'failed') GROUP BY status`,
)

/** The numbers of queued and failed messages. */
export function countMessages(cx: Cx): { readonly queued: number; readonly failed: number } {
  const rows = cx.store.all(cx, countStatement)
  const count = (of: string) => rows.find(({ status }) => status === of)?.count ?? 0
  return { queued: count("queued"), failed: count("failed") }
}
