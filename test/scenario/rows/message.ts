// Messages to users and their delivery.
import type { Row } from "../row.ts"

const service = "message.v2.MessageService"
const one = { userId: "$user", messageId: "$message" }

export const messageRows: readonly Row[] = [
  {
    call: `${service}/ListMessages`,
    body: { userId: "$user", status: "MESSAGE_STATUS_FAILED" },
    given: [[`${service}/ListMessages`, { userId: "$message" }]],
    expect: { messages: [{ id: "$message", kind: "password_change", error: "no response" }] },
  },
  {
    call: `${service}/ListMessages`,
    name: "another organisation sees none",
    as: "stranger",
    body: { userId: "$user" },
    given: [[`${service}/ListMessages`, { userId: "$message" }]],
    expect: { pagination: { appliedLimit: "100" } },
  },
  { call: `${service}/ViewMessage`, body: one, events: ["message.viewed"] },
  {
    call: `${service}/ViewMessage`,
    name: "a message to somebody else is none",
    body: { userId: "$robot", messageId: "$message" },
    code: "not_found",
    id: "message.missing",
  },
  {
    call: `${service}/ViewMessage`,
    name: "of another organisation user not found",
    as: "stranger",
    body: one,
    code: "not_found",
    id: "user.missing",
  },
  {
    call: `${service}/SendMessageAgain`,
    body: one,
    events: ["message.requeued", "message.counted"],
  },
]
