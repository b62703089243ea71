import { aggregate, type Event } from "../../store/index.ts"
import type { Challenge } from "../factor/index.ts"
import type { SignInTimes, UpstreamSession } from "../idp/index.ts"

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Lifetimes of browsers and sessions. They are enforced here; no request extends them. */
export const lifetimes = {
  /** How long a browser can be inactive; a visit in the second half of this time restarts it. */
  browserIdle: 30 * dayMs,
  /** Since its last sign-in, even if it is active. */
  browserMost: 90 * dayMs,
  /** How long a device remembers the users who have signed in. */
  device: 180 * dayMs,
  /** How long a password check is valid. */
  session: 10 * dayMs,
  /** How long a session of a custom login page can remain unauthenticated. */
  unproven: hourMs,
} as const

/** Maximum number of accounts in one browser; the oldest session ends first. */
export const browserAccountsMax = 10

export type BrowserEvent =
  | Event<"user_agent.signed.in", { readonly sessionId: string }, SecretHashes>
  | Event<"user_agent.renewed">
  | Event<"user_agent.signed.out", { readonly sessionId: string }>

export type SecretHashes = {
  readonly hash: string
  /** The hash of a concurrent sign-in of the same user. */
  readonly twin?: string
  /** When this hash was replaced, all sessions but the last ended; absent in older events. */
  readonly replaced?: string
}

export type Browser = {
  readonly status: "absent" | "active"
  /** Keyed hash of the cookie secret; empty if it was erased. */
  readonly hash: string
  /** Hash of the secret in a concurrent response that the browser may have received instead. */
  readonly twin?: string | undefined
  /** When this hash was replaced, all sessions but the last ended. */
  readonly replaced?: string | undefined
  readonly signedIn: number
  readonly renewed: number
  readonly expires: number
  /** IDs of its sessions, oldest first. */
  readonly sessions: readonly string[]
}

/** A browser with at least one sign-in; each sign-in renews its cookie. */
export const browser = aggregate<BrowserEvent, Browser>({
  stream: "user_agent",
  retention: "transient",
  expires: ({ expires }) => expires + dayMs,
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
      sessions: [...sessionsExcept(state, data.sessionId), data.sessionId],
    }),
    "user_agent.renewed": (state, { time }) => ({
      ...state,
      renewed: time,
      expires: Math.min(time + lifetimes.browserIdle, state.signedIn + lifetimes.browserMost),
    }),
    "user_agent.signed.out": (state, { data }) => ({
      ...state,
      sessions: sessionsExcept(state, data.sessionId),
    }),
  },
})

const sessionsExcept = ({ sessions }: Browser, sessionId: string) =>
  sessions.filter((id) => id !== sessionId)

/** What is known about the client of a sign-in; custom login pages report it themselves. */
export type UserAgent = {
  readonly fingerprintId?: string
  readonly ip?: string
  readonly description?: string
  readonly header?: Readonly<Record<string, readonly string[]>>
}

/** Incremented with each new password; see `signInVersion`. A newer one ends the session. */
type SignInVersionData = { readonly passwordVersion: number }

/** RFC 8176 names of the verified factors. */
type MethodsData = { readonly methods: readonly string[] }

/** The challenge of a login page. */
type ChallengeData = { readonly challenge: Challenge }

export type SessionEvent =
  | Event<
      "session.added",
      {
        /** Empty if the custom login page has not identified the user yet. */
        readonly userId: string
        /** Empty for sessions of custom login pages. */
        readonly agentId: string
        /** The service account of the custom login page; absent for our own login pages. */
        readonly creatorId?: string
      },
      { readonly userAgent: UserAgent }
    >
  | Event<
      "session.user.checked",
      { readonly userId: string; readonly orgId: string },
      { readonly loginName: string }
    >
  | Event<"session.password.checked", SignInVersionData>
  /** A sign-in with an identity provider; older events don't name the provider. */
  | Event<
      "session.intent.checked",
      SignInVersionData & {
        readonly idpId?: string
        /** The organization of the provider; empty for the instance. */
        readonly idpOrg?: string
      } & SignInTimes,
      { readonly upstream?: UpstreamSession | undefined }
    >
  /** A code that was sent to a verified email address. */
  | Event<"session.magic_link.checked", SignInVersionData>
  /** A first factor if the authenticator verified the user; otherwise a second one. */
  | Event<
      "session.webAuthN.checked",
      SignInVersionData & MethodsData & { readonly userVerified: boolean }
    >
  | Event<"session.totp.checked", MethodsData>
  | Event<"session.otp.sms.checked", MethodsData>
  | Event<"session.otp.email.checked", MethodsData>
  | Event<"session.recovery_code.checked", MethodsData>
  | Event<"session.webAuthN.challenged", Record<never, never>, ChallengeData>
  | Event<"session.otp.sms.challenged", Record<never, never>, ChallengeData>
  | Event<"session.otp.email.challenged", Record<never, never>, ChallengeData>
  /** An email code for changes to the user's own account; it does not sign in. */
  | Event<"session.account_code.challenged", Record<never, never>, ChallengeData>
  /** Events from before the client was recorded do not have it. */
  | Event<"session.account_code.checked", { readonly clientId?: string }>
  | Event<"session.token.set", Record<never, never>, { readonly hash: string }>
  | Event<"session.metadata.set", Record<never, never>, { readonly metadata: SessionMetadata }>
  | Event<"session.lifetime.set", { readonly lifetimeSeconds: number }>
  | Event<"session.client.added", { readonly clientId: string }>
  | Event<"session.terminated">

/** Metadata of a custom login page, by key, in base64; an empty string removes a key. */
export type SessionMetadata = Readonly<Record<string, string>>

/** When each factor was last verified, ms UTC; absent if it was not. */
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

/** The last challenge of each kind. */
export type SessionChallenges = {
  readonly webAuthN?: Challenge
  readonly otpSms?: Challenge
  readonly otpEmail?: Challenge
  readonly accountCode?: Challenge
}

export type Session = {
  readonly status: "absent" | "active" | "ended"
  /** Empty until the user is identified. For an unknown login name, a placeholder. */
  readonly userId: string
  /** As entered on a login page; otherwise empty. */
  readonly loginName: string
  readonly agentId: string
  /** The service account of the custom login page; absent for our own login pages. */
  readonly creatorId?: string
  readonly userAgent: UserAgent
  readonly checks: SessionChecks
  readonly challenges: SessionChallenges
  /** The last provider that vouched for the user; absent if none did. */
  readonly vouched?: Vouched
  /** Whether a passkey verified the user (WebAuthN). */
  readonly userVerified: boolean
  /**
   * When the user last signed in with a first factor, ms UTC; 0 if never. For a provider sign-in,
   * the time that the provider reports, otherwise that of its response; see `signInEvidenceOf`.
   */
  readonly authTime: number
  /**
   * When an email code permitted account changes, ms UTC, and for which client; absent if none did.
   * Without a client, for all clients of the session.
   */
  readonly accountProof?: { readonly at: number; readonly clientId?: string }
  /** RFC 8176 names of the factors that were verified. */
  readonly methods: readonly string[]
  /** The user's `signInVersion` at the first factor; a newer one ends the session. */
  readonly passwordVersion: number
  readonly expires: number
  /** Whether a custom login page set the expiry; then checks don't extend it. */
  readonly isFixed: boolean
  /** Keyed hash of the session token; empty if there is none. */
  readonly tokenHash: string
  readonly metadata: SessionMetadata
  /** Clients that received tokens in this session and are notified when it ends. */
  readonly clients: readonly string[]
}

/** The identity provider of a sign-in, with its name for the session if it uses SAML. */
export type Vouched = {
  readonly idpId: string
  /** Empty if the provider belongs to the instance. */
  readonly idpOrg: string
  readonly upstream?: UpstreamSession | undefined
} & SignInTimes

/** The parts of a session that determine when the user signed in. */
export type SignInFacts = {
  readonly checks: SessionChecks
  readonly userVerified: boolean
  readonly vouched?: Vouched | undefined
}

/**
 * When a provider and a second factor together authenticated the user, ms UTC. With a factor
 * verified here, a provider response is considered a fresh sign-in even if the provider does not
 * report the time. 0 if one of the two is missing.
 */
export function combinedTimeOf({ checks, userVerified }: SignInFacts): number {
  const { intent = 0, totp = 0, otpSms = 0, otpEmail = 0, recoveryCode = 0, webAuthN = 0 } = checks
  const key = userVerified ? 0 : webAuthN
  return Math.min(intent, Math.max(totp, otpSms, otpEmail, recoveryCode, key))
}

type FactorCheck = {
  readonly kind: keyof SessionChecks
  readonly methods: readonly string[]
  /** For a first factor, the user's sign-in version. */
  readonly first?: number
  readonly userVerified?: boolean
  /** When the user signed in at a provider, if known, ms UTC. */
  readonly authTime?: number
}

/**
 * The `amr` of a provider sign-in. RFC 8176 registers no value for it; this one is from Microsoft
 * Entra ID.
 */
export const federatedMethod = "fed"

const definedTimes = ({ authTime, freshAt }: SignInTimes): SignInTimes => ({
  ...(authTime !== undefined && { authTime }),
  ...(freshAt !== undefined && { freshAt }),
})

/** Records a verified factor. After a first factor, the user is signed in. */
function withCheck(
  state: Session,
  { time }: { readonly time: number },
  check: FactorCheck,
): Session {
  const { kind, methods, first, userVerified = state.userVerified } = check
  const checks = { ...state.checks, [kind]: time }
  const { user: _, magicLink, ...others } = checks
  // A link and a code in the same mailbox prove only one factor.
  const isMailboxAlone = magicLink !== undefined && others.otpEmail === undefined
  const proved = Object.keys(others).length + (isMailboxAlone ? 1 : 0)
  // RFC 8176 §2: a key that verified the user proves two factors.
  const several = proved > 1 || userVerified ? ["mfa"] : []
  const before = state.methods.filter((name) => name !== "mfa")
  const all = [...new Set([...before, ...methods, ...several])]
  const next = { ...state, checks, userVerified, methods: all }
  // With a second factor, a provider response becomes a sign-in of this instance.
  if (first === undefined)
    return { ...next, authTime: Math.max(state.authTime, combinedTimeOf(next)) }
  const expires = state.isFixed ? state.expires : time + lifetimes.session
  const { authTime: stated } = check
  const authTime = stated === undefined ? time : Math.max(state.authTime, Math.min(stated, time))
  return { ...next, authTime, passwordVersion: first, expires }
}

const secondFactorCheck =
  (kind: keyof SessionChecks) =>
  (state: Session, event: { readonly time: number; readonly data: MethodsData }): Session =>
    withCheck(state, event, { kind, methods: event.data.methods })

const withChallenge =
  (kind: keyof SessionChallenges) =>
  (state: Session, { private: secret }: { readonly private: ChallengeData | null }): Session => {
    const { [kind]: _before, ...others } = state.challenges
    return { ...state, challenges: secret ? { ...others, [kind]: secret.challenge } : others }
  }

/** A session of one user, in one browser. */
export const session = aggregate<SessionEvent, Session>({
  stream: "session",
  retention: "transient",
  // Longer than the tokens that depend on it. A purged session is treated as ended.
  expires: ({ expires }) => expires + 13 * hourMs,
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
      withCheck(state, event, {
        kind: "password",
        methods: ["pwd"],
        first: event.data.passwordVersion,
      }),
    "session.intent.checked": (state, event) => {
      const { passwordVersion: first, idpId, idpOrg = "" } = event.data
      const { upstream } = event.private ?? {}
      const times = definedTimes(event.data)
      const check = { kind: "intent", methods: [federatedMethod], first, ...times } as const
      const next = withCheck(state, event, check)
      return idpId === undefined
        ? next
        : { ...next, vouched: { idpId, idpOrg, upstream, ...times } }
    },
    "session.magic_link.checked": (state, event) =>
      withCheck(state, event, {
        kind: "magicLink",
        methods: ["otp"],
        first: event.data.passwordVersion,
      }),
    "session.webAuthN.checked": (state, event) => {
      const { userVerified, passwordVersion: first, methods } = event.data
      const check = { kind: "webAuthN", methods, userVerified } as const
      return withCheck(state, event, userVerified ? { ...check, first } : check)
    },
    "session.totp.checked": secondFactorCheck("totp"),
    "session.otp.sms.checked": secondFactorCheck("otpSms"),
    "session.otp.email.checked": secondFactorCheck("otpEmail"),
    "session.recovery_code.checked": secondFactorCheck("recoveryCode"),
    "session.webAuthN.challenged": withChallenge("webAuthN"),
    "session.otp.sms.challenged": withChallenge("otpSms"),
    "session.otp.email.challenged": withChallenge("otpEmail"),
    "session.account_code.challenged": withChallenge("accountCode"),
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
      metadata: mergeMetadata(state.metadata, secret?.metadata ?? {}),
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

/** The metadata with changes applied; empty values remove keys. */
export const mergeMetadata = (
  before: SessionMetadata,
  metadataChanges: SessionMetadata,
): SessionMetadata =>
  Object.fromEntries(
    Object.entries({ ...before, ...metadataChanges }).filter(([, value]) => value !== ""),
  )
