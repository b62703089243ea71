import { isOpenWindow } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Draft, Transaction } from "../../store/index.ts"
import type { CheckKind } from "../factor/index.ts"
import { user } from "../user-model/index.ts"
import {
  type BrowserEvent,
  browser,
  browserAccountsMax,
  type SecretHashes,
  type SessionEvent,
  session,
  type UserAgent,
  type Vouched,
} from "./model.ts"
import { findUsableSession, isSessionValid, passwordVersionOf } from "./query.ts"

/** What a user has just proved; a password by default. */
export type SignInProof =
  | { readonly kind: "password" }
  /** A sign-in with an identity provider. */
  | ({ readonly kind: "intent" } & Vouched)
  /** A magic link that was sent to the user. */
  | { readonly kind: "magic_link" }
  | {
      readonly kind: CheckKind
      /** Names from RFC 8176. */
      readonly methods: readonly string[]
      /** Whether the authenticator verified the user (WebAuthN), which makes it a full sign-in. */
      readonly isUserVerified: boolean
    }

export type SignInInput = {
  readonly agentId: string
  readonly userId: string
  /** Keyed hash of the browser's new cookie secret. */
  readonly hash: string
  /** The browser's hash when the form was posted. */
  readonly previousHash?: string | undefined
  readonly proof?: SignInProof | undefined
  /** What is known about the browser. */
  readonly userAgent: UserAgent
}

/**
 * Signs in a user who has just authenticated, or records a further proof. An existing session of
 * the user in this browser continues, unless the password changed since: tokens of that session
 * must remain invalid. The browser's secret is replaced, so that one planted earlier is worthless.
 */
export function signIn(tx: Transaction, signInInput: SignInInput): string {
  const { agentId, userId, hash, proof, userAgent } = signInInput
  const concurrent = resolveConcurrentSignIn(tx, signInInput)
  const userSessions = tx
    .state(browser, agentId)
    .sessions.filter((id) => isSessionValid(tx.state(session, id), tx.now, userId))
  const usableId = userSessions.find((id) => findUsableSession(tx, id))
  for (const id of userSessions) if (id !== usableId) endSession(tx, id)
  const sessionId = usableId ?? tx.ids.next()
  if (usableId === undefined) {
    tx.begin(session, sessionId)
    addSession(tx, sessionId, { userId, agentId, userAgent, orgId: tx.owner(user, userId) })
  }
  const passwordVersion = passwordVersionOf(tx, userId)
  if (passwordVersion === undefined) {
    throw new Fault("unauthenticated", "session.user_gone", "this account can no longer sign in")
  }
  tx.append(session, sessionId, [checkedEvent(proof ?? { kind: "password" }, passwordVersion)])
  const entered: Draft<BrowserEvent> = {
    type: "user_agent.signed.in",
    data: { sessionId },
    private: { hash, ...concurrent },
    erase: { types: ["user_agent.signed.in"] },
  }
  tx.append(browser, agentId, [entered])
  const surplus = tx.state(browser, agentId).sessions.slice(0, -browserAccountsMax)
  for (const id of surplus) endSession(tx, id)
  return sessionId
}

/**
 * Handles concurrent sign-ins in one browser. For the same user, a form was posted twice and the
 * browser uses one of the two responses, so the hash of the other response remains valid, too. For
 * different users, the sessions that began meanwhile end; otherwise the holder of the new secret
 * would also be signed in as the other user.
 */
function resolveConcurrentSignIn(
  tx: Transaction,
  { agentId, userId, previousHash }: Pick<SignInInput, "agentId" | "userId" | "previousHash">,
): Partial<Pick<SecretHashes, "twin" | "replaced">> {
  const { hash, replaced, signedIn, sessions } = tx.state(browser, agentId)
  if (hash === "") return {}
  if (previousHash === undefined || hash === previousHash) return { replaced: hash }
  const last = sessions.at(-1)
  const isSameUser = last !== undefined && tx.state(session, last).userId === userId
  if (isSameUser && isOpenWindow(signedIn, twinMs, tx.now)) {
    return { twin: hash, ...(replaced !== undefined && { replaced }) }
  }
  for (const id of previousHash === replaced ? sessions.slice(-1) : sessions) endSession(tx, id)
  return { replaced: previousHash }
}

/** How long concurrent sign-ins are tolerated. */
const twinMs = 60_000

/** A session without verified factors. */
export type SessionInput = {
  /** Empty until the user is identified. */
  readonly userId: string
  /** The browser of the session; empty for sessions of custom login pages. */
  readonly agentId: string
  /** The operator of the custom login page. */
  readonly creatorId?: string
  readonly userAgent: UserAgent
  /** The organization that owns it. */
  readonly orgId: string
}

/** Adds a session, for a browser or for a custom login page. */
export function addSession(tx: Transaction, id: string, input: SessionInput): void {
  const { userAgent, orgId, ...data } = input
  const added: Draft<SessionEvent> = { type: "session.added", data, private: { userAgent } }
  tx.append(session, id, [added], orgId)
}

/**
 * The event for a verified proof. A second factor alone does not authenticate: a session without a
 * first factor can't be used.
 */
export function checkedEvent(proof: SignInProof, passwordVersion: number): Draft<SessionEvent> {
  const { kind: by } = proof
  if (by === "intent") return intentCheckedEvent(proof, passwordVersion)
  if (by === "password" || by === "magic_link")
    return { type: `session.${by}.checked`, data: { passwordVersion } }
  const { kind, methods, isUserVerified: userVerified } = proof
  if (kind !== "webauthn") return { type: secondFactorEventTypes[kind], data: { methods } }
  return { type: "session.webAuthN.checked", data: { passwordVersion, methods, userVerified } }
}

/** The event for a sign-in with an identity provider. */
const intentCheckedEvent = (
  { idpId, idpOrg, upstream, authTime, freshAt }: Vouched,
  passwordVersion: number,
): Draft<SessionEvent> => ({
  type: "session.intent.checked",
  data: {
    passwordVersion,
    idpId,
    idpOrg,
    ...(authTime !== undefined && { authTime }),
    ...(freshAt !== undefined && { freshAt }),
  },
  private: { upstream },
})

const secondFactorEventTypes = {
  totp: "session.totp.checked",
  otp_email: "session.otp.email.checked",
  otp_sms: "session.otp.sms.checked",
  recovery_code: "session.recovery_code.checked",
} as const

/**
 * Records that a client received tokens in a session, so that it is notified when the session ends.
 */
export function recordClient(tx: Transaction, sessionId: string, clientId: string): void {
  const { status, clients } = tx.state(session, sessionId)
  if (status !== "active" || clients.includes(clientId)) return
  const added: Draft<SessionEvent> = { type: "session.client.added", data: { clientId } }
  tx.append(session, sessionId, [added])
}

/** Ends a session and everything that depends on it; no-op if it has already ended. */
export function endSession(tx: Transaction, sessionId: string): void {
  const { status, agentId } = tx.state(session, sessionId)
  if (status !== "active") return
  const ended: Draft<SessionEvent> = { type: "session.terminated", data: {} }
  tx.append(session, sessionId, [ended])
  if (tx.state(browser, agentId).sessions.includes(sessionId)) {
    const signedOut: Draft<BrowserEvent> = { type: "user_agent.signed.out", data: { sessionId } }
    tx.append(browser, agentId, [signedOut])
  }
}
