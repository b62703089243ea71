import { isOpenWindow } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Draft, Transaction } from "../../store/index.ts"
import type { CheckKind } from "../factor/index.ts"
import { user } from "../user-model/index.ts"
import {
  accountsMax,
  type BrowserEvent,
  browser,
  type SecretHashes,
  type SessionEvent,
  session,
  type UserAgent,
  type Vouched,
} from "./model.ts"
import { isLive, passwordVersionOf, usableSession } from "./query.ts"

/** What a person has just proved; a password where nothing else is said. */
export type Proof =
  | { readonly kind: "password" }
  /** By an identity provider. */
  | ({ readonly kind: "intent" } & Vouched)
  /** By a link that was mailed to them. */
  | { readonly kind: "magic_link" }
  | {
      readonly kind: CheckKind
      /** RFC 8176 names. */
      readonly methods: readonly string[]
      /** Whether a key has seen who used it: a first factor by itself. */
      readonly isUserVerified: boolean
    }

export type SignIn = {
  readonly agentId: string
  readonly userId: string
  /** Keyed hash of the secret that the browser's cookie has from now on. */
  readonly hash: string
  /** The browser's hash when the form was posted. */
  readonly former?: string | undefined
  readonly proof?: Proof | undefined
  /** What is known of the browser. */
  readonly userAgent: UserAgent
}

/**
 * Signs a person in who has just proved who they are, or notes what else they have proved. Their
 * session in this browser goes on where there is one, but none of an older password: what hung from
 * that must not come back to life. The browser's secret is replaced, so that one planted before is
 * worth nothing.
 */
export function signIn(tx: Transaction, signing: SignIn): string {
  const { agentId, userId, hash, proof, userAgent } = signing
  const concurrent = settleConcurrent(tx, signing)
  const theirs = tx
    .state(browser, agentId)
    .sessions.filter((id) => isLive(tx.state(session, id), tx.now, userId))
  const known = theirs.find((id) => usableSession(tx, id))
  for (const id of theirs) if (id !== known) endSession(tx, id)
  const sessionId = known ?? tx.ids.next()
  if (known === undefined) {
    tx.begin(session, sessionId)
    addSession(tx, sessionId, { userId, agentId, userAgent, orgId: tx.owner(user, userId) })
  }
  const passwordVersion = passwordVersionOf(tx, userId)
  if (passwordVersion === undefined) {
    throw new Fault("unauthenticated", "session.user_gone", "this account can't sign in any more")
  }
  tx.append(session, sessionId, [checkedBy(proof ?? { kind: "password" }, passwordVersion)])
  const entered: Draft<BrowserEvent> = {
    type: "user_agent.signed.in",
    data: { sessionId },
    private: { hash, ...concurrent },
    erase: { types: ["user_agent.signed.in"] },
  }
  tx.append(browser, agentId, [entered])
  const surplus = tx.state(browser, agentId).sessions.slice(0, -accountsMax)
  for (const id of surplus) endSession(tx, id)
  return sessionId
}

/**
 * Looks whether the browser was signed in to while this sign-in was under way. By the same person:
 * of a form that was posted twice, the browser gets one answer, and nobody knows which, so the hash
 * of the other one stays valid beside the new one. By somebody else: the sessions that were signed
 * in to meanwhile end, or whoever gets the new secret would be signed in as them, too.
 */
function settleConcurrent(
  tx: Transaction,
  { agentId, userId, former }: Pick<SignIn, "agentId" | "userId" | "former">,
): Partial<Pick<SecretHashes, "twin" | "replaced">> {
  const { hash, replaced, signedIn, sessions } = tx.state(browser, agentId)
  if (hash === "") return {}
  if (former === undefined || hash === former) return { replaced: hash }
  const last = sessions.at(-1)
  const isTheirs = last !== undefined && tx.state(session, last).userId === userId
  if (isTheirs && isOpenWindow(signedIn, twinMs, tx.now)) {
    return { twin: hash, ...(replaced !== undefined && { replaced }) }
  }
  for (const id of former === replaced ? sessions.slice(-1) : sessions) endSession(tx, id)
  return { replaced: former }
}

/** How long a sign-in may be under way. */
const twinMs = 60_000

/** A session in which nothing is proved yet. */
export type NewSession = {
  /** Empty where nobody has said who it is yet. */
  readonly userId: string
  /** The browser that it belongs to; empty for one that a login page keeps. */
  readonly agentId: string
  /** Who operates that login page. */
  readonly creatorId?: string
  readonly userAgent: UserAgent
  /** The organization that owns it. */
  readonly orgId: string
}

/** Begins a session: of a browser that signs in here, or of a login page of somebody else. */
export function addSession(tx: Transaction, id: string, input: NewSession): void {
  const { userAgent, orgId, ...data } = input
  const added: Draft<SessionEvent> = { type: "session.added", data, private: { userAgent } }
  tx.append(session, id, [added], orgId)
}

/**
 * Notes in a session what was proved, wherever it was. A second factor alone begins nothing: a
 * session that it is the first of can't be used.
 */
export function checkedBy(proof: Proof, passwordVersion: number): Draft<SessionEvent> {
  const { kind: by } = proof
  if (by === "intent") return vouchedBy(proof, passwordVersion)
  if (by === "password" || by === "magic_link")
    return { type: `session.${by}.checked`, data: { passwordVersion } }
  const { kind, methods, isUserVerified: userVerified } = proof
  if (kind !== "webauthn") return { type: secondTypes[kind], data: { methods } }
  return { type: "session.webAuthN.checked", data: { passwordVersion, methods, userVerified } }
}

/** Notes that a provider has vouched for the person of a session. */
const vouchedBy = (
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

const secondTypes = {
  totp: "session.totp.checked",
  otp_email: "session.otp.email.checked",
  otp_sms: "session.otp.sms.checked",
  recovery_code: "session.recovery_code.checked",
} as const

/** Notes that a client got something through a session, so that it is told when that ends. */
export function noteClient(tx: Transaction, sessionId: string, clientId: string): void {
  const { status, clients } = tx.state(session, sessionId)
  if (status !== "active" || clients.includes(clientId)) return
  const added: Draft<SessionEvent> = { type: "session.client.added", data: { clientId } }
  tx.append(session, sessionId, [added])
}

/** Ends a sign-in session; everything that hangs from it stops working. Twice is once. */
export function endSession(tx: Transaction, sessionId: string): void {
  const { status, agentId } = tx.state(session, sessionId)
  if (status !== "active") return
  const ended: Draft<SessionEvent> = { type: "session.terminated", data: {} }
  tx.append(session, sessionId, [ended])
  if (tx.state(browser, agentId).sessions.includes(sessionId)) {
    const left: Draft<BrowserEvent> = { type: "user_agent.signed.out", data: { sessionId } }
    tx.append(browser, agentId, [left])
  }
}
