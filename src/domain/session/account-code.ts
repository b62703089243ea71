import { Fault } from "../../kernel/fault.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import { passwordOf } from "../credential/index.ts"
import { checkMailedCode, createCodeChallenge, secondFactorsOf } from "../factor/index.ts"
import { isTrustedForAddresses } from "../idp/index.ts"
import { queueOtp } from "../message/index.ts"
import { activeProvider } from "../message-provider/index.ts"
import { hasPasskey, type User, user } from "../user-model/index.ts"
import { isProviderTimeUnknown } from "./freshness.ts"
import { session } from "./model.ts"
import { findUsableSession } from "./query.ts"

/** The user whose account is about to change, and the session of the access token. */
type AccountCaller = {
  readonly userId: string
  readonly sessionId: string
  /** The calling client; other clients of the same session can't change the account. */
  readonly clientId: string
}

/**
 * Sends a code by email with which users confirm changes to their own account. It is for users who
 * can't perform a fresh sign-in: their provider does not report when they signed in, and they have
 * no other credentials. Returns the email address.
 */
export async function sendAccountCode(cx: Cx, caller: AccountCaller): Promise<string> {
  if (!activeProvider(cx, "email")) throw noMailError()
  const { userId, sessionId } = caller
  const { plain: code, challenge } = createCodeChallenge(cx, userId, "email")
  const step = await cx.store.transact(cx, (tx) => {
    const address = requireVerifiedAddress(tx, caller)
    tx.append(session, sessionId, [
      { type: "session.account_code.challenged", data: {}, private: { challenge } },
    ])
    const { expires } = challenge
    queueOtp(tx, { userId, channel: "email", code, expires, sessionId: "" })
    return address
  })
  return step.value
}

/**
 * Verifies the code; this client can then change the account in this session for a limited time.
 */
export async function verifyAccountCode(
  cx: Cx,
  caller: AccountCaller,
  enteredCode: string,
): Promise<void> {
  const { userId, sessionId, clientId } = caller
  const challenge = cx.store.state(cx, session, sessionId).challenges.accountCode
  const admit = await checkMailedCode(cx, { userId, given: enteredCode, challenge })
  const step = await cx.store.transact(cx, (tx) => {
    requireVerifiedAddress(tx, caller)
    const isSame = tx.state(session, sessionId).challenges.accountCode === challenge
    const { isRight } = admit(tx)
    if (!isRight || !isSame) return false
    tx.append(session, sessionId, [{ type: "session.account_code.checked", data: { clientId } }])
    return true
  })
  if (!step.value) throw invalidCodeError()
}

/**
 * The email address that verifies the user. Throws if it can't, or if no verification is needed.
 */
function requireVerifiedAddress(tx: Transaction, { userId, sessionId }: AccountCaller): string {
  const state = findUsableSession(tx, sessionId)
  const userState: User = tx.state(user, userId)
  if (state?.userId !== userId) throw notNeededError()
  if (!("kind" in userState) || userState.kind !== "human") throw notNeededError()
  const hasOwnWay =
    passwordOf(userState) !== null || hasPasskey(userState) || secondFactorsOf(userState).length > 0
  if (hasOwnWay || !isProviderTimeUnknown(state)) throw notNeededError()
  const { address, verified, verifier, isSuperseded } = userState.email
  const isProven =
    verifier?.by === "user" ||
    (verifier?.by === "provider" && isTrustedForAddresses(tx, verifier.idpId))
  // An address that an administrator marked as verified does not prove that the user owns it.
  if (!verified || !isProven || isSuperseded || address === "") throw unverifiedAddressError()
  return address
}

const adminAdvice = "ask an administrator for a passkey registration link or a password"

const noMailError = () =>
  new Fault(
    "failed_precondition",
    "session.account_code_no_mail",
    `this server can't send email; ${adminAdvice}`,
  )

const unverifiedAddressError = () =>
  new Fault(
    "failed_precondition",
    "session.account_code_unproven",
    `you have not verified your email address yourself; ${adminAdvice}`,
  )

const notNeededError = () =>
  new Fault(
    "failed_precondition",
    "session.account_code_not_needed",
    "sign in again, with your password, passkey or second factor, or at a provider that " +
      "reports when you signed in",
  )

const invalidCodeError = () =>
  new Fault(
    "invalid_argument",
    "session.account_code_wrong",
    "this code is invalid or has expired; request a new code",
  )
