import { constantTimeEquals } from "../../kernel/crypto/secret.ts"
import { Fault } from "../../kernel/fault.ts"
import { listCodeSpellings } from "../../kernel/text/typed-code.ts"
import type { Cx, DecisionContext, Transaction } from "../../store/index.ts"
import {
  type CodeFor,
  type CodeReference,
  countCodeFailure,
  isCodeAloneAccepted,
  isLinkKeyAccepted,
  requireCodeAttemptAllowed,
} from "../lockout/index.ts"
import { org } from "../org/index.ts"
import { type Human, isAbsent, type User, user } from "../user-model/index.ts"
import { codeContext, linkKeyOf } from "./code.ts"

/** The latest code created for the user for a purpose, or null if there is none. */
export function codeOf(state: User, of: CodeFor): Human["emailCode"] {
  if (isAbsent(state) || state.kind !== "human") return null
  const { emailCode, phoneCode, invite, passwordCode, factors } = state
  const proving = { email: emailCode, phone: phoneCode }
  const codes = { ...proving, invite, password: passwordCode, passkey: factors?.link }
  return codes[of] ?? null
}

/**
 * A submitted code. `key` is the key parameter of the link that this server sends with the code.
 */
type CodeAttempt = {
  readonly of: CodeFor
  readonly given: string
  readonly key?: string | undefined
}

/** Whether the submitted code matches the user's latest code and has not expired. */
export function isCodeValid(
  tx: Transaction,
  id: string,
  { of, given: attempt }: CodeAttempt,
): boolean {
  const sent = codeOf(tx.state(user, id), of)
  if (!sent || tx.now >= sent.expires) return false
  const plain = tx.secrets.open("seal", sent.sealed, codeContext(id, of))
  if (plain === undefined) return false
  // If the code is case-sensitive, only the exact code matches.
  return listCodeSpellings(attempt).some((typed) => constantTimeEquals(plain, typed))
}

/** Whether a key matches the link of the user's latest code. */
function isLinkKey(tx: Transaction, id: string, { of, key = "" }: CodeAttempt): boolean {
  const sent = codeOf(tx.state(user, id), of)
  return sent !== null && constantTimeEquals(key, linkKeyOf(tx, id, { of, sealed: sent.sealed }))
}

/** The code that attempts count against, regardless of what is submitted. */
function codeUnderAttack(tx: Transaction, id: string, of: CodeFor): CodeReference | undefined {
  const sent = codeOf(tx.state(user, id), of)
  if (!sent) return undefined
  const { sealed, expires } = sent
  return { id: tx.secrets.hash(sealed, `${codeContext(id, of)}/guessed`).slice(-22), expires }
}

/**
 * Checks a code and counts a wrong one in the same transaction, which also limits concurrent
 * attempts. The correct code with its link key is accepted regardless of other callers' attempts,
 * because the key can't be guessed. Attempts with the key have a limit of their own; once it is
 * reached, the key no longer bypasses the general limit. A code with too many wrong attempts is
 * invalid from then on unless it is submitted with its key.
 */
export function attemptCode(tx: Transaction, id: string, attempt: CodeAttempt): boolean {
  const { of } = attempt
  const code = codeUnderAttack(tx, id, of)
  const hasKey =
    code !== undefined && isLinkKey(tx, id, attempt) && isLinkKeyAccepted(tx, id, of, code.id)
  if (!hasKey) requireCodeAttemptAllowed(tx, id, of)
  const isValid = hasKey || code === undefined || isCodeAloneAccepted(tx, id, of, code.id)
  const isRight = isValid && isCodeValid(tx, id, attempt)
  if (!isRight) countCodeFailure(tx, id, of, { ...(code && { code }), ...(hasKey && { hasKey }) })
  return isRight
}

/** `wrong` also covers users who don't exist or were never sent a code. */
export type CodeCheckResult = "ok" | "wrong" | "locked" | "inactive"

/**
 * Checks a submitted code without consuming it. A wrong code is counted in the same transaction,
 * even for unknown users. The account status is returned only if the code is correct.
 */
export async function checkCode(
  cx: Cx,
  id: string,
  attempt: CodeAttempt,
): Promise<CodeCheckResult> {
  if (id === "" || id.length > idMax) return "wrong"
  const step = await cx.store.transact(cx, (tx): CodeCheckResult => {
    if (!attemptCode(tx, id, attempt)) return "wrong"
    const state = tx.state(user, id)
    if (state.status === "locked" || state.status === "inactive") return state.status
    return isOrgActive(tx, id) ? "ok" : "inactive"
  })
  return step.value
}

const idMax = 200

export const isOrgActive = (cx: DecisionContext, id: string): boolean =>
  cx.state(org, cx.owner(user, id)).status === "active"

/** Rejects users who can't sign in, and names the command that would reactivate them. */
export function requireActive(cx: DecisionContext, id: string, person: Human): void {
  if (person.status === "locked")
    throw preconditionError("user.locked", "the user is locked; unlock the user first")
  if (person.status === "inactive") {
    throw preconditionError("user.inactive", "the user is deactivated; activate the user first")
  }
  if (isOrgActive(cx, id)) return
  throw preconditionError("org.inactive", "the organization is deactivated; activate it first")
}

export const invalidCodeError = () =>
  new Fault(
    "invalid_argument",
    "user.code_wrong",
    "the code is invalid or has expired; request a new code",
  )

const preconditionError = (id: string, message: string) =>
  new Fault("failed_precondition", id, message)
