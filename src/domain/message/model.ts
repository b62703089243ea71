import { isOpenWindow } from "../../kernel/clock.ts"
import { aggregate, type Event } from "../../store/index.ts"
import type { Channel } from "../message-provider/index.ts"
import type { MessageKind } from "../text/index.ts"

const day = 86_400_000

/** How long a message is stored after it was created, in ms. */
export const retentionMs = 30 * day

/** The kinds of messages, by the names of their texts. */
export type Kind = MessageKind

/** The reason and recipient of a message. A code is stored where it is checked, or sealed. */
export type Cause = {
  readonly kind: Kind
  readonly channel: Channel
  readonly userId: string
  /** When the code expires, in ms since the epoch; 0 without a code. Also identifies the code. */
  readonly codeExpires: number
  readonly urlTemplate: string
  /** The session of a one-time code; empty for other kinds. */
  readonly sessionId?: string
  /** The sign-in request of the code; omitted if there is none. */
  readonly requestId?: string
  /** The ID of a passkey registration link; omitted for other kinds. */
  readonly codeId?: string
  /** Whether the recipient is a person who has requested an account; omitted for other kinds. */
  readonly isRegistrant?: boolean
  /** The domain that was claimed from the user; omitted for other kinds. */
  readonly domain?: string
}

type RecipientData = {
  readonly to: string
  /** A code that only this message can decrypt; omitted if it is stored elsewhere. */
  readonly sealed?: string
  /** The location of a sign-in, or the recovered owner; omitted for other kinds. */
  readonly place?: string
}

export type MessageEvent =
  | Event<"message.added", Cause, RecipientData>
  | Event<
      "message.delayed",
      {
        readonly error: string
        /** The number of attempts since the message was queued; absent in older events. */
        readonly tries?: number
        /**
         * The time of the next attempt, in ms since the epoch; absent if the reactor retries the
         * event.
         */
        readonly due?: number
      }
    >
  | Event<"message.sent", { readonly providerId: string }>
  | Event<
      "message.failed",
      {
        readonly error: string
        /**
         * Whether the message is obsolete because its code was used or replaced; absent for
         * failures.
         */
        readonly isObsolete?: boolean
      }
    >
  | Event<"message.requeued">
  | Event<"message.viewed">
  | Event<"message.erased">

export type Message = Cause & {
  readonly status: "absent" | "queued" | "sent" | "failed" | "obsolete"
  /** Empty after the user was deleted. */
  readonly to: string
  /** Empty if the code is stored elsewhere or there is none. */
  readonly sealed: string
  /** The location of a sign-in; empty for other kinds. */
  readonly place: string
  /** In ms since the epoch, like `queued`, the time when it was last queued. */
  readonly added: number
  readonly queued: number
  /** How often the message was queued; each round is a new message for the receiving server. */
  readonly round: number
  /** The last error; empty if there was none. */
  readonly error: string
  /** The number of attempts since the message was last queued; absent if none failed. */
  readonly tries?: number
  /** The time of the next attempt, in ms since the epoch; absent if none is scheduled. */
  readonly due?: number
}

const absent: Message = {
  status: "absent",
  kind: "verify_email",
  channel: "email",
  userId: "",
  codeExpires: 0,
  urlTemplate: "",
  to: "",
  sealed: "",
  place: "",
  added: 0,
  queued: 0,
  round: 0,
  error: "",
}

/** One message to one recipient; the ID is the log position of its cause. */
export const message = aggregate<MessageEvent, Message>({
  stream: "message",
  revision: 4,
  retention: "transient",
  initial: absent,
  expires: ({ added }) => added + retentionMs,
  evolve: {
    "message.added": (_, { data, private: secret, time }) => ({
      ...data,
      status: "queued",
      to: secret?.to ?? "",
      sealed: secret?.sealed ?? "",
      place: secret?.place ?? "",
      added: time,
      queued: time,
      round: 1,
      error: "",
    }),
    "message.delayed": (state, { data }) => ({ ...state, ...data }),
    "message.sent": (state) => ({ ...state, status: "sent", error: "" }),
    "message.failed": (state, { data }) => ({
      ...state,
      status: data.isObsolete ? "obsolete" : "failed",
      error: data.error,
    }),
    "message.requeued": ({ tries: _, due: __, ...state }, { time }) => ({
      ...state,
      status: "queued",
      queued: time,
      round: state.round + 1,
      error: "",
    }),
    "message.viewed": (state) => state,
    "message.erased": (state) => ({ ...state, status: "failed", to: "", sealed: "", place: "" }),
  },
})

const hour = 3_600_000

type MessageCount = { readonly since: number; readonly count: number }

/**
 * The number of messages to one address within an hour. The ID is a keyed hash, so that addresses
 * are not stored.
 */
export const messageCount = aggregate<Event<"message.counted">, MessageCount>({
  stream: "message_count",
  retention: "transient",
  initial: { since: 0, count: 0 },
  expires: ({ since }) => since + hour,
  evolve: {
    "message.counted": ({ since, count }, { time }) =>
      isOpenWindow(since, hour, time) ? { since, count: count + 1 } : { since: time, count: 1 },
  },
})

/** More than a user needs, but few enough not to be a nuisance. */
export const messagesPerAddressMax = 20

export const isLimitReached = ({ since, count }: MessageCount, now: number): boolean =>
  isOpenWindow(since, hour, now) && count >= messagesPerAddressMax
