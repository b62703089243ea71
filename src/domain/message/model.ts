import { isOpenWindow } from "../../kernel/clock.ts"
import { aggregate, type Event } from "../../store/index.ts"
import type { Channel } from "../message-provider/index.ts"
import type { MessageKind } from "../text/index.ts"

const day = 86_400_000

/** So long a message is kept after it was written. */
export const keptMs = 30 * day

/** What is written to people about, by the names of its texts. */
export type Kind = MessageKind

/** What was to be said, to whom, and why; a code stays where it is checked, or is sealed. */
export type Cause = {
  readonly kind: Kind
  readonly channel: Channel
  readonly userId: string
  /** Until when its code is good, ms UTC; 0 where it has none. It tells one code from another. */
  readonly codeExpires: number
  readonly urlTemplate: string
  /** The session that a one-time code is for; empty for all else. */
  readonly sessionId?: string
  /** The sign-in that it was asked for in; left out where in none. */
  readonly requestId?: string
  /** Tells one link for a passkey from another; left out for all else. */
  readonly codeId?: string
  /** Whether it is to who has asked for an account; left out for all else. */
  readonly isRegistrant?: boolean
  /** The domain that a name was taken away with; left out for all else. */
  readonly domain?: string
}

type Addressed = {
  readonly to: string
  /** A code that nothing but its message can be read from; left out for the others. */
  readonly sealed?: string
  /** From where somebody signed in, or who was let in again; left out for all else. */
  readonly place?: string
}

export type MessageEvent =
  | Event<"message.added", Cause, Addressed>
  | Event<
      "message.delayed",
      {
        readonly error: string
        /** How often it was tried since it was queued; absent in events of earlier versions. */
        readonly tries?: number
        /** When it is tried next, ms UTC; absent where the reactor's own repetition does that. */
        readonly due?: number
      }
    >
  | Event<"message.sent", { readonly providerId: string }>
  | Event<
      "message.failed",
      {
        readonly error: string
        /** It is not needed any more, as its code was used or replaced; absent for what failed. */
        readonly isObsolete?: boolean
      }
    >
  | Event<"message.requeued">
  | Event<"message.viewed">
  | Event<"message.erased">

export type Message = Cause & {
  readonly status: "absent" | "queued" | "sent" | "failed" | "obsolete"
  /** Empty once the person is gone. */
  readonly to: string
  /** Empty where its code stays with the person, or there is none. */
  readonly sealed: string
  /** From where somebody signed in; empty for all else. */
  readonly place: string
  /** ms UTC, as is when it was queued last. */
  readonly added: number
  readonly queued: number
  /** How often it was queued: another round is another message to the receiver's server. */
  readonly round: number
  /** What kept it back last; empty where nothing did. */
  readonly error: string
  /** How often it was tried since it was queued last; absent where it never failed. */
  readonly tries?: number
  /** When it is tried next, ms UTC; absent where it waits for no time. */
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

/** One message to one person; the id is where its cause stands in the log. */
export const message = aggregate<MessageEvent, Message>({
  stream: "message",
  revision: 4,
  retention: "transient",
  initial: absent,
  expires: ({ added }) => added + keptMs,
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

type Counted = { readonly since: number; readonly count: number }

/**
 * Messages to one address within an hour, whoever they are for; the id is a keyed hash of it, so
 * that nobody who is written to stands here.
 */
export const messageCount = aggregate<Event<"message.counted">, Counted>({
  stream: "message_count",
  retention: "transient",
  initial: { since: 0, count: 0 },
  expires: ({ since }) => since + hour,
  evolve: {
    "message.counted": ({ since, count }, { time }) =>
      isOpenWindow(since, hour, time) ? { since, count: count + 1 } : { since: time, count: 1 },
  },
})

/** More than any person asks for; less than what anybody could be bothered with. */
export const perAddressMax = 20

export const isFull = ({ since, count }: Counted, now: number): boolean =>
  isOpenWindow(since, hour, now) && count >= perAddressMax
