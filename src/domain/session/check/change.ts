import { randomToken } from "../../../kernel/crypto/random.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../../store/index.ts"
import { authenticateWithPassword, type PasswordDecision } from "../../credential/index.ts"
import { findKeyOwner } from "../../factor/index.ts"
import type { CheckedIntent } from "../../federation/index.ts"
import { accountOf, isUnknownNameDisclosed } from "../../user-lookup/index.ts"
import { isAbsent, user } from "../../user-model/index.ts"
import { addSession, checkedEvent } from "../commands.ts"
import { type SessionEvent, type SessionMetadata, session, type UserAgent } from "../model.ts"
import { isSessionValid, passwordVersionOf } from "../query.ts"
import { hashToken } from "../token.ts"
import {
  type ChallengeRequests,
  type ChallengeResponses,
  type ChallengeSubject,
  createChallenges,
  hasLink,
  issueChallenges,
} from "./challenge.ts"
import { type CheckFailure, checkError } from "./check-error.ts"
import { type FactorProof, prepareProofs, proveAll, proveIntent } from "./proof.ts"

/** Identifies a user, unverified, as entered on a login page. */
export type UserReference = { readonly userId: string } | { readonly loginName: string }

/** Checks and changes that a custom login page requests for a session. */
export type SessionChanges = {
  readonly user?: UserReference | undefined
  readonly password?: string | undefined
  readonly proofs: readonly FactorProof[]
  /** The result of a sign-in with an identity provider. */
  readonly intent?: CheckedIntent | undefined
  readonly challenges: ChallengeRequests
  readonly metadata: SessionMetadata
  /** From the time of the call. */
  readonly lifetimeSeconds?: number | undefined
}

/** A session after a change, with its new token; earlier tokens are invalid. */
export type ChangedSession = {
  readonly id: string
  readonly token: string
  readonly receipt: Receipt
  /** Challenges for the login page. */
  readonly challenges: ChallengeResponses
}

/**
 * Creates a session for a custom login page and performs the requested checks. If a check fails, no
 * session is created; failures count and take as long as on our own login pages.
 */
export function createSession(
  cx: Cx,
  { userAgent, ...changes }: SessionChanges & { readonly userAgent: UserAgent },
): Promise<ChangedSession> {
  const userCx = onBehalfOf(cx, userAgent)
  userCx.allowance?.spend("request")
  const id = cx.ids.next()
  const { caller } = cx
  const creatorId = caller.kind === "user" ? caller.userId : ""
  const isPersonal = userAgent.ip !== undefined
  return applyChanges(userCx, id, { ...changes, isPersonal }, (tx, userId) => {
    const orgId = tx.owner(user, userId) || (caller.kind === "user" ? caller.orgId : "")
    addSession(tx, id, { userId: "", agentId: "", creatorId, userAgent, orgId })
  })
}

/** Performs further checks in a session of a custom login page and records the other changes. */
export function updateSession(
  cx: Cx,
  id: string,
  changes: SessionChanges,
): Promise<ChangedSession> {
  const { creatorId, userAgent } = cx.store.state(cx, session, id)
  // Otherwise callers who can update sessions could take over sign-ins of other users.
  if (creatorId === undefined) {
    throw new Fault(
      "failed_precondition",
      "session.of_browser",
      "this session belongs to a browser that signed in on our own login pages; create " +
        "another session",
    )
  }
  const isPersonal = userAgent.ip !== undefined
  return applyChanges(onBehalfOf(cx, userAgent), id, { ...changes, isPersonal })
}

/**
 * A custom login page acts for many users: rate limits apply to the address of each user, and
 * failed sign-ins are stored with the address and browser that the page reports, not with those of
 * the page.
 */
function onBehalfOf(cx: Cx, { ip, header }: UserAgent): Cx {
  const allowance = ip === undefined ? undefined : cx.allowance?.forAddress?.(ip)
  const [, [userAgent = ""] = []] =
    Object.entries(header ?? {}).find(([name]) => name.toLowerCase() === "user-agent") ?? []
  return { ...cx, ...(allowance && { allowance }), from: { address: ip ?? "", userAgent } }
}

type AddSession = (tx: Transaction, userId: string) => void

/** The user of the session; `said` is set if this call identified the user. */
type SessionUser = { readonly userId: string; readonly identified?: { readonly loginName: string } }

/** `isPersonal`: whether the IP address of the user is known. */
type AttributedChanges = SessionChanges & { readonly isPersonal: boolean }

async function applyChanges(
  cx: Cx,
  id: string,
  changes: AttributedChanges,
  addNew?: AddSession,
): Promise<ChangedSession> {
  const sessionUser = resolveUser(cx, id, changes)
  const token = randomToken(cx.random)
  const admits = await prepareProofs(cx, id, { userId: sessionUser.userId, proofs: changes.proofs })
  const waitForPace = cx.allowance?.pace()
  const challenges = await createChallenges(
    cx,
    challengeSubjectOf(cx, id, { asked: changes, who: sessionUser }),
    changes.challenges,
  )
  // Without addresses of users, the limit would apply to all users of a login page together.
  if (hasLink(challenges) && changes.isPersonal) cx.allowance?.spend("message")
  let receipt: Receipt | undefined
  const act = async (admit?: PasswordDecision): Promise<CheckFailure | "done"> => {
    const step = await cx.store.transact(cx, (tx) => {
      if (!addNew) requireActive(tx, id)
      const proved = proveAll(tx, sessionUser.userId, { admit, admits })
      if (typeof proved === "string") return proved
      const byIntent = changes.intent ? proveIntent(tx, sessionUser.userId, changes.intent) : []
      if (typeof byIntent === "string") return byIntent
      addNew?.(tx, sessionUser.userId)
      tx.append(session, id, eventsOf(tx, changes, sessionUser))
      tx.append(session, id, byIntent)
      tx.append(session, id, proved)
      issueChallenges(tx, id, challenges)
      tx.append(session, id, [tokenEvent(cx, id, { token, isFirst: addNew !== undefined })])
      return "done"
    })
    receipt = step.receipt(session, id)
    return step.value
  }
  const outcome = await limitGuesses(cx, sessionUser, { asked: changes, act })
  if (outcome !== "done" || !receipt) throw checkError(outcome === "done" ? "wrong" : outcome)
  // Known and unknown users must receive responses after the same time.
  if (hasLink(challenges)) await waitForPace?.()
  return { id, token, receipt, challenges: challenges.responses }
}

/** Whether the user is neither authenticated already nor by this call. */
function challengeSubjectOf(
  cx: Cx,
  id: string,
  {
    asked: changes,
    who: sessionUser,
  }: { readonly asked: SessionChanges; readonly who: SessionUser },
): ChallengeSubject {
  const { password, proofs, intent } = changes
  const isProving = password !== undefined || proofs.length > 0 || intent !== undefined
  const isUnproven = !isProving && cx.store.state(cx, session, id).authTime === 0
  return { userId: sessionUser.userId, isUnproven }
}

type Attempt = {
  readonly asked: SessionChanges
  readonly act: (admit?: PasswordDecision) => Promise<CheckFailure | "done">
}

/**
 * Only failures count toward the limit. A correct password is no guess, even if the user can't sign
 * in.
 */
async function limitGuesses(
  cx: Cx,
  { userId }: SessionUser,
  { asked: changes, act }: Attempt,
): Promise<CheckFailure | "done"> {
  const { password, proofs } = changes
  if (password === undefined && proofs.length === 0) return act()
  if (userId === "") throw checkError("user missing")
  cx.allowance?.spend("guess")
  const outcome =
    password === undefined
      ? await act()
      : await authenticateWithPassword(cx, { account: userId, plain: password }, act)
  if (outcome === "wrong" || outcome === "none") return "wrong"
  if (outcome === "proof wrong") return outcome
  cx.allowance?.refund("guess")
  if (outcome === "done") cx.allowance?.refund("request")
  return outcome
}

function resolveUser(
  cx: Cx,
  id: string,
  { user: userReference, proofs, intent }: SessionChanges,
): SessionUser {
  const { userId: before } = cx.store.state(cx, session, id)
  if (!userReference && before === "" && intent) {
    return { userId: intent.userId, identified: { loginName: "" } }
  }
  if (!userReference) return before === "" ? ownerOfKey(cx, proofs) : { userId: before }
  const userId =
    "userId" in userReference ? userReference.userId : findAccount(cx, userReference.loginName)
  if ("userId" in userReference && isAbsent(cx.store.state(cx, user, userId)))
    throw userNotFoundError()
  if (before !== "" && before !== userId) {
    throw new Fault(
      "failed_precondition",
      "session.user_fixed",
      "a session can't change its user; create another session",
    )
  }
  return {
    userId,
    identified: { loginName: "loginName" in userReference ? userReference.loginName : "" },
  }
}

/** A passkey identifies its user. */
function ownerOfKey(cx: Cx, proofs: readonly FactorProof[]): SessionUser {
  const key = proofs.find(({ kind }) => kind === "webauthn")
  if (!key) return { userId: "" }
  const userId = findKeyOwner(cx, key.given)
  if (userId === undefined) throw checkError("proof wrong")
  return { userId, identified: { loginName: "" } }
}

/** If the policy hides unknown names, an unknown name is treated like a wrong password. */
function findAccount(cx: Cx, loginName: string): string {
  if (isUnknownNameDisclosed(cx, loginName)) throw userNotFoundError()
  return accountOf(cx, loginName)
}

const userNotFoundError = () => new Fault("not_found", "user.missing", "user not found")

function requireActive(tx: Transaction, id: string): void {
  if (isSessionValid(tx.state(session, id), tx.now)) return
  throw new Fault(
    "failed_precondition",
    "session.over",
    "this session has ended; create another session",
  )
}

function eventsOf(
  tx: Transaction,
  changes: SessionChanges,
  { userId, identified }: SessionUser,
): Draft<SessionEvent>[] {
  const { password, metadata, lifetimeSeconds } = changes
  const passwordVersion = password === undefined ? undefined : passwordVersionOf(tx, userId)
  const orgId = tx.owner(user, userId)
  const events: Draft<SessionEvent>[] = []
  if (identified)
    events.push({ type: "session.user.checked", data: { userId, orgId }, private: identified })
  if (passwordVersion !== undefined) {
    events.push(checkedEvent({ kind: "password" }, passwordVersion))
  }
  if (lifetimeSeconds !== undefined) {
    events.push({ type: "session.lifetime.set", data: { lifetimeSeconds } })
  }
  if (Object.keys(metadata).length > 0) {
    events.push({ type: "session.metadata.set", data: {}, private: { metadata } })
  }
  return events
}

type SessionToken = { readonly token: string; readonly isFirst: boolean }

/** The previous token becomes invalid and is erased. */
function tokenEvent(cx: Cx, id: string, { token, isFirst }: SessionToken): Draft<SessionEvent> {
  const set = {
    type: "session.token.set",
    data: {},
    private: { hash: hashToken(cx, id, token) },
  } as const
  return isFirst ? set : { ...set, erase: { types: ["session.token.set"] } }
}
