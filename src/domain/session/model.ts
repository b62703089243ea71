import { aggregate, type Event } from "../../store/index.ts"

const hour = 3_600_000
const day = 24 * hour

/** What every sign-in is good for. The times are ours; nothing a browser sends prolongs them. */
export const lifetimes = {
  /** A browser that stays away this long is forgotten. */
  browserIdle: 30 * day,
  /** Counted from its last sign-in, however busy it is. */
  browserMost: 90 * day,
  /** A device remembers so long who has signed in to it. */
  device: 180 * day,
  /** How long a checked password counts. */
  session: 10 * day,
} as const

/** Accounts that one browser keeps; the one that has been there longest goes first. */
export const accountsMax = 10

export type BrowserEvent =
  | Event<"user_agent.signed.in", { readonly sessionId: string }, { readonly hash: string }>
  | Event<"user_agent.renewed">
  | Event<"user_agent.signed.out", { readonly sessionId: string }>

export type Browser = {
  readonly status: "absent" | "active"
  /** Keyed hash of the secret in the cookie; empty where it was erased. */
  readonly hash: string
  readonly signedIn: number
  readonly renewed: number
  readonly expires: number
  /** Sign-in sessions, oldest first. */
  readonly sessions: readonly string[]
}

/** A browser in which somebody has signed in; its cookie is renewed with each sign-in. */
export const browser = aggregate<BrowserEvent, Browser>({
  stream: "user_agent",
  retention: "transient",
  expires: ({ expires }) => expires + day,
  initial: { status: "absent", hash: "", signedIn: 0, renewed: 0, expires: 0, sessions: [] },
  evolve: {
    "user_agent.signed.in": (state, { data, private: secret, time }) => ({
      status: "active",
      hash: secret?.hash ?? "",
      signedIn: time,
      renewed: time,
      expires: time + lifetimes.browserIdle,
      sessions: [...without(state, data.sessionId), data.sessionId],
    }),
    "user_agent.renewed": (state, { time }) => ({
      ...state,
      renewed: time,
      expires: Math.min(time + lifetimes.browserIdle, state.signedIn + lifetimes.browserMost),
    }),
    "user_agent.signed.out": (state, { data }) => ({
      ...state,
      sessions: without(state, data.sessionId),
    }),
  },
})

const without = ({ sessions }: Browser, sessionId: string) =>
  sessions.filter((id) => id !== sessionId)

export type SessionEvent =
  | Event<"session.added", { readonly userId: string; readonly agentId: string }>
  | Event<"session.password.checked", { readonly passwordVersion: number }>
  | Event<"session.client.added", { readonly clientId: string }>
  | Event<"session.terminated">

export type Session = {
  readonly status: "absent" | "active" | "ended"
  readonly userId: string
  readonly agentId: string
  /** When the person last proved who they are, ms UTC. */
  readonly authTime: number
  /** RFC 8176 names of what they proved it with. */
  readonly methods: readonly string[]
  /** As `signInVersion` was when the password was checked; a newer one ends the session. */
  readonly passwordVersion: number
  readonly expires: number
  /** Who got tokens through it, and is told when it ends. */
  readonly clients: readonly string[]
}

/** One person signed in to one browser. */
export const session = aggregate<SessionEvent, Session>({
  stream: "session",
  retention: "transient",
  // Longer than the tokens that hang from it. What is gone counts as ended.
  expires: ({ expires }) => expires + 13 * hour,
  revision: 2,
  initial: {
    status: "absent",
    userId: "",
    agentId: "",
    authTime: 0,
    methods: [],
    passwordVersion: 0,
    expires: 0,
    clients: [],
  },
  evolve: {
    "session.added": (state, { data: { userId, agentId } }) => ({
      ...state,
      status: "active",
      userId,
      agentId,
    }),
    "session.password.checked": (state, { data, time }) => ({
      ...state,
      authTime: time,
      methods: ["pwd"],
      passwordVersion: data.passwordVersion,
      expires: time + lifetimes.session,
    }),
    "session.client.added": (state, { data }) => ({
      ...state,
      clients: [...state.clients, data.clientId],
    }),
    "session.terminated": (state, { time }) => ({
      ...state,
      status: "ended",
      expires: Math.min(state.expires, time),
    }),
  },
})
