import { aggregate, type Event } from "../../store/index.ts"
import type { Challenge } from "../factor/index.ts"
import type { SignInTimes, UpstreamSession } from "../idp/index.ts"

const hour = 3_600_000
const day = 24 * hour

/** What every sign-in is good for. The times are ours; nothing a browser sends prolongs them. */
export const lifetimes = {
  /** How long a browser may stay away; a visit in the second half of it begins it anew. */
  browserIdle: 30 * day,
  /** Counted from its last sign-in, however busy it is. */
  browserMost: 90 * day,
  /** A device remembers so long who has signed in to it. */
  device: 180 * day,
  /** How long a checked password counts. */
  session: 10 * day,
  /** How long a login page has until somebody has proved who they are. */
  unproven: hour,
} as const

/** Accounts that one browser keeps; the one that has been there longest goes first. */
export const accountsMax = 10

export type BrowserEvent =
  | Event<"user_agent.signed.in", { readonly sessionId: string }, SecretHashes>
  | Event<"user_agent.renewed">
  | Event<"user_agent.signed.out", { readonly sessionId: string }>

export type SecretHashes = {
  readonly hash: string
  /** Of a sign-in of the same person that this one has overtaken, or was overtaken by. */
  readonly twin?: string
  /** The hash since whose replacement only the last session was signed in to; absent before. */
  readonly replaced?: string
}

export type Browser = {
  readonly status: "absent" | "active"
  /** Keyed hash of the secret in the cookie; empty where it was erased. */
  readonly hash: string
  /** Of the secret of another answer, which the browser may have got instead. */
  readonly twin?: string | undefined
  /** The hash since whose replacement only the last session was signed in to. */
  readonly replaced?: string | undefined
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
      twin: secret?.twin,
      replaced: secret?.replaced,
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

/** What is known of where somebody signs in; of a login page of somebody else, as it tells it. */
export type UserAgent = {
  readonly fingerprintId?: string
  readonly ip?: string
  readonly description?: string
  readonly header?: Readonly<Record<string, readonly string[]>>
}

/** Raised with each new password; see `signInVersion`. A newer one ends the session. */
type Versioned = { readonly passwordVersion: number }

/** RFC 8176 names of what was proved. */
type Proving = { readonly methods: readonly string[] }

/** What a login page has asked a person for. */
type Asking = { readonly challenge: Challenge }

export type SessionEvent =
  | Event<
      "session.added",
      {
        /** Empty where a login page has not yet said who it is. */
        readonly userId: string
        /** Empty where the browser is another page's. */
        readonly agentId: string
        /** Whose page has made it; absent where that is ours. */
        readonly creatorId?: string
      },
      { readonly userAgent: UserAgent }
    >
  | Event<
      "session.user.checked",
      { readonly userId: string; readonly orgId: string },
      { readonly loginName: string }
    >
  | Event<"session.password.checked", Versioned>
  /** By an identity provider; absent of what was noted before anybody asked which. */
  | Event<
      "session.intent.checked",
      Versioned & {
        readonly idpId?: string
        /** Of the organisation whose provider it is; empty for the instance. */
        readonly idpOrg?: string
      } & SignInTimes,
      { readonly upstream?: UpstreamSession | undefined }
    >
  /** By the code that a mail brought to a verified address. */
  | Event<"session.magic_link.checked", Versioned>
  /** With the person verified it is a first factor by itself, else a second one. */
  | Event<"session.webAuthN.checked", Versioned & Proving & { readonly userVerified: boolean }>
  | Event<"session.totp.checked", Proving>
  | Event<"session.otp.sms.checked", Proving>
  | Event<"session.otp.email.checked", Proving>
  | Event<"session.recovery_code.checked", Proving>
  | Event<"session.webAuthN.challenged", Record<never, never>, Asking>
  | Event<"session.otp.sms.challenged", Record<never, never>, Asking>
  | Event<"session.otp.email.challenged", Record<never, never>, Asking>
  /** A code by mail, for changes of one's own account alone: it signs nobody in. */
  | Event<"session.account_code.challenged", Record<never, never>, Asking>
  /** Events from before the client was recorded do not have it. */
  | Event<"session.account_code.checked", { readonly clientId?: string }>
  | Event<"session.token.set", Record<never, never>, { readonly hash: string }>
  | Event<"session.metadata.set", Record<never, never>, { readonly metadata: SessionMetadata }>
  | Event<"session.lifetime.set", { readonly lifetimeSeconds: number }>
  | Event<"session.client.added", { readonly clientId: string }>
  | Event<"session.terminated">

/** What a login page notes, by key, in base64; an empty text takes a key away. */
export type SessionMetadata = Readonly<Record<string, string>>

/** When each was last checked, ms UTC; absent where it wasn't. */
export type SessionChecks = {
  readonly user?: number
  readonly password?: number
  readonly intent?: number
  readonly magicLink?: number
  readonly webAuthN?: number
  readonly totp?: number
  readonly otpSms?: number
  readonly otpEmail?: number
  readonly recoveryCode?: number
}

/** What was asked for last, each by the name of its check. */
export type SessionChallenges = {
  readonly webAuthN?: Challenge
  readonly otpSms?: Challenge
  readonly otpEmail?: Challenge
  readonly accountCode?: Challenge
}

export type Session = {
  readonly status: "absent" | "active" | "ended"
  /** Empty before somebody has said who they are. Of a name that is nobody's, a stand-in. */
  readonly userId: string
  /** As it was typed into a login page; empty elsewhere. */
  readonly loginName: string
  readonly agentId: string
  /** Whose page has made it; absent where that is ours. */
  readonly creatorId?: string
  readonly userAgent: UserAgent
  readonly checks: SessionChecks
  readonly challenges: SessionChallenges
  /** The provider that has vouched for them last; absent where none has. */
  readonly vouched?: Vouched
  /** Whether a passkey verified who holds it, too. */
  readonly userVerified: boolean
  /**
   * When the person last signed in by a first factor, ms UTC; 0 before. Through a provider it is
   * the time that the provider states, else that of its answer: see `evidenceOf`.
   */
  readonly authTime: number
  /**
   * When a mailed code permitted changes of the account, ms UTC, and to which client; absent where
   * none did. Without a client, to all clients of the session.
   */
  readonly accountProof?: { readonly at: number; readonly clientId?: string }
  /** RFC 8176 names of what they proved it with. */
  readonly methods: readonly string[]
  /** As `signInVersion` was at the first factor; a newer one ends the session. */
  readonly passwordVersion: number
  readonly expires: number
  /** Whether a login page has said when it expires: no check puts that off. */
  readonly isFixed: boolean
  /** Keyed hash of its token; empty where it has none. */
  readonly tokenHash: string
  readonly metadata: SessionMetadata
  /** Who got tokens through it, and is told when it ends. */
  readonly clients: readonly string[]
}

/** A provider, and what it calls the session there, where it speaks SAML. */
export type Vouched = {
  readonly idpId: string
  /** Empty for the instance. */
  readonly idpOrg: string
  readonly upstream?: UpstreamSession | undefined
} & SignInTimes

/** What of a session tells when its person signed in. */
export type Checked = {
  readonly checks: SessionChecks
  readonly userVerified: boolean
  readonly vouched?: Vouched | undefined
}

/**
 * When a provider and a second factor together have proved who somebody is, ms UTC: with a factor
 * that was checked here, an answer counts as fresh that does not say so itself. 0 where one of the
 * two is missing.
 */
export function pairTimeOf({ checks, userVerified }: Checked): number {
  const { intent = 0, totp = 0, otpSms = 0, otpEmail = 0, recoveryCode = 0, webAuthN = 0 } = checks
  const key = userVerified ? 0 : webAuthN
  return Math.min(intent, Math.max(totp, otpSms, otpEmail, recoveryCode, key))
}

type Check = {
  readonly kind: keyof SessionChecks
  readonly methods: readonly string[]
  /** Of a first factor, what its person signs in under. */
  readonly first?: number
  readonly userVerified?: boolean
  /** When the user signed in at a provider, as far as that is known, ms UTC. */
  readonly authTime?: number
}

/**
 * The `amr` of a sign-in through a provider. RFC 8176 registers no name for it; Microsoft Entra ID
 * calls it so.
 */
export const federated = "fed"

const timesIn = ({ authTime, freshAt }: SignInTimes): SignInTimes => ({
  ...(authTime !== undefined && { authTime }),
  ...(freshAt !== undefined && { freshAt }),
})

/** Notes a check. Since a first factor its person is signed in. */
function checked(state: Session, { time }: { readonly time: number }, check: Check): Session {
  const { kind, methods, first, userVerified = state.userVerified } = check
  const checks = { ...state.checks, [kind]: time }
  const { user: _, magicLink, ...others } = checks
  // Who reads one mailbox twice has still proved that alone.
  const isMailboxAlone = magicLink !== undefined && others.otpEmail === undefined
  const proved = Object.keys(others).length + (isMailboxAlone ? 1 : 0)
  // RFC 8176 §2: a key that has seen who holds it is two factors at once.
  const several = proved > 1 || userVerified ? ["mfa"] : []
  const before = state.methods.filter((name) => name !== "mfa")
  const all = [...new Set([...before, ...methods, ...several])]
  const next = { ...state, checks, userVerified, methods: all }
  // With a second factor, a provider's answer becomes a sign-in of its own.
  if (first === undefined) return { ...next, authTime: Math.max(state.authTime, pairTimeOf(next)) }
  const expires = state.isFixed ? state.expires : time + lifetimes.session
  const { authTime: stated } = check
  const authTime = stated === undefined ? time : Math.max(state.authTime, Math.min(stated, time))
  return { ...next, authTime, passwordVersion: first, expires }
}

const second =
  (kind: keyof SessionChecks) =>
  (state: Session, event: { readonly time: number; readonly data: Proving }): Session =>
    checked(state, event, { kind, methods: event.data.methods })

const asked =
  (kind: keyof SessionChallenges) =>
  (state: Session, { private: secret }: { readonly private: Asking | null }): Session => {
    const { [kind]: _before, ...others } = state.challenges
    return { ...state, challenges: secret ? { ...others, [kind]: secret.challenge } : others }
  }

/** One person signed in to one browser. */
export const session = aggregate<SessionEvent, Session>({
  stream: "session",
  retention: "transient",
  // Longer than the tokens that hang from it. What is gone counts as ended.
  expires: ({ expires }) => expires + 13 * hour,
  revision: 5,
  initial: {
    status: "absent",
    userId: "",
    loginName: "",
    agentId: "",
    userAgent: {},
    checks: {},
    challenges: {},
    userVerified: false,
    authTime: 0,
    methods: [],
    passwordVersion: 0,
    expires: 0,
    isFixed: false,
    tokenHash: "",
    metadata: {},
    clients: [],
  },
  evolve: {
    "session.added": (state, { data, private: secret, time }) => ({
      ...state,
      ...data,
      status: "active",
      userAgent: secret?.userAgent ?? {},
      expires: time + lifetimes.unproven,
    }),
    "session.user.checked": (state, { data: { userId }, private: secret, time }) => ({
      ...state,
      checks: { ...state.checks, user: time },
      userId,
      loginName: secret?.loginName ?? "",
    }),
    "session.password.checked": (state, event) =>
      checked(state, event, {
        kind: "password",
        methods: ["pwd"],
        first: event.data.passwordVersion,
      }),
    "session.intent.checked": (state, event) => {
      const { passwordVersion: first, idpId, idpOrg = "" } = event.data
      const { upstream } = event.private ?? {}
      const times = timesIn(event.data)
      const check = { kind: "intent", methods: [federated], first, ...times } as const
      const next = checked(state, event, check)
      return idpId === undefined
        ? next
        : { ...next, vouched: { idpId, idpOrg, upstream, ...times } }
    },
    "session.magic_link.checked": (state, event) =>
      checked(state, event, {
        kind: "magicLink",
        methods: ["otp"],
        first: event.data.passwordVersion,
      }),
    "session.webAuthN.checked": (state, event) => {
      const { userVerified, passwordVersion: first, methods } = event.data
      const check = { kind: "webAuthN", methods, userVerified } as const
      return checked(state, event, userVerified ? { ...check, first } : check)
    },
    "session.totp.checked": second("totp"),
    "session.otp.sms.checked": second("otpSms"),
    "session.otp.email.checked": second("otpEmail"),
    "session.recovery_code.checked": second("recoveryCode"),
    "session.webAuthN.challenged": asked("webAuthN"),
    "session.otp.sms.challenged": asked("otpSms"),
    "session.otp.email.challenged": asked("otpEmail"),
    "session.account_code.challenged": asked("accountCode"),
    "session.account_code.checked": ({ challenges, ...state }, { data, time }) => {
      const { accountCode: _, ...others } = challenges
      return { ...state, challenges: others, accountProof: { ...data, at: time } }
    },
    "session.token.set": (state, { private: secret }) => ({
      ...state,
      tokenHash: secret?.hash ?? "",
    }),
    "session.metadata.set": (state, { private: secret }) => ({
      ...state,
      metadata: noted(state.metadata, secret?.metadata ?? {}),
    }),
    "session.lifetime.set": (state, { data, time }) => ({
      ...state,
      isFixed: true,
      expires: time + data.lifetimeSeconds * 1000,
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

/** What is noted with what is new of it. */
export const noted = (before: SessionMetadata, given: SessionMetadata): SessionMetadata =>
  Object.fromEntries(Object.entries({ ...before, ...given }).filter(([, value]) => value !== ""))
