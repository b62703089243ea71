import { Fault } from "../../kernel/fault.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import { passwordOf } from "../credential/index.ts"
import { admitMailedCode, challengeCode, secondFactorsOf } from "../factor/index.ts"
import { isTrustedForAddresses } from "../idp/index.ts"
import { queueOtp } from "../message/index.ts"
import { activeProvider } from "../message-provider/index.ts"
import { hasPasskey, type User, user } from "../user-model/index.ts"
import { cameByProviderWithoutTime } from "./freshness.ts"
import { session } from "./model.ts"
import { usableSession } from "./query.ts"

/** Whose account is about to change, in the sign-in that the token of the call hangs from. */
type Caller = {
  readonly userId: string
  readonly sessionId: string
  /** The client that calls: no other one of the sign-in may change the account. */
  readonly clientId: string
}

/**
 * Mails a code by which the caller shows that it is they who change their account. It is for users
 * who can't sign in freshly: their provider does not state when they signed in, and they have
 * nothing else to sign in with. Answers the address.
 */
export async function sendAccountCode(cx: Cx, caller: Caller): Promise<string> {
  if (!activeProvider(cx, "email")) throw noMailError()
  const { userId, sessionId } = caller
  const { plain: code, challenge } = challengeCode(cx, userId, "email")
  const step = await cx.store.transact(cx, (tx) => {
    const address = addressFor(tx, caller)
    tx.append(session, sessionId, [
      { type: "session.account_code.challenged", data: {}, private: { challenge } },
    ])
    const { expires } = challenge
    queueOtp(tx, { userId, channel: "email", code, expires, sessionId: "" })
    return address
  })
  return step.value
}

/** Checks the code; account changes by this client and sign-in are then permitted for a while. */
export async function verifyAccountCode(cx: Cx, caller: Caller, given: string): Promise<void> {
  const { userId, sessionId, clientId } = caller
  const challenge = cx.store.state(cx, session, sessionId).challenges.accountCode
  const admit = await admitMailedCode(cx, { userId, given, challenge })
  const step = await cx.store.transact(cx, (tx) => {
    addressFor(tx, caller)
    const isSame = tx.state(session, sessionId).challenges.accountCode === challenge
    const { isRight } = admit(tx)
    if (!isRight || !isSame) return false
    tx.append(session, sessionId, [{ type: "session.account_code.checked", data: { clientId } }])
    return true
  })
  if (!step.value) throw wrongError()
}

/** The address that proves who a caller is; faults where it can't, or where nothing has to. */
function addressFor(tx: Transaction, { userId, sessionId }: Caller): string {
  const state = usableSession(tx, sessionId)
  const person: User = tx.state(user, userId)
  if (state?.userId !== userId) throw notNeededError()
  if (!("kind" in person) || person.kind !== "human") throw notNeededError()
  const hasOwnWay =
    passwordOf(person) !== null || hasPasskey(person) || secondFactorsOf(person).length > 0
  if (hasOwnWay || !cameByProviderWithoutTime(state)) throw notNeededError()
  const { address, verified, verifier, isSuperseded } = person.email
  const isProven =
    verifier?.by === "user" ||
    (verifier?.by === "provider" && isTrustedForAddresses(tx, verifier.idpId))
  // An administrator's word for an address is not the user's own proof.
  if (!verified || !isProven || isSuperseded || address === "") throw unprovenError()
  return address
}

const ask = "ask an administrator for a link to register a passkey, or for a password"

const noMailError = () =>
  new Fault(
    "failed_precondition",
    "session.account_code_no_mail",
    `this server sends no mail; ${ask}`,
  )

const unprovenError = () =>
  new Fault(
    "failed_precondition",
    "session.account_code_unproven",
    `you have not proven your email address yourself; ${ask}`,
  )

const notNeededError = () =>
  new Fault(
    "failed_precondition",
    "session.account_code_not_needed",
    "sign in again, with your password, passkey or second factor, or at a provider that states " +
      "when you signed in",
  )

const wrongError = () =>
  new Fault(
    "invalid_argument",
    "session.account_code_wrong",
    "this code is invalid or has expired; request a new code",
  )
