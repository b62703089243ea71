import { sameText } from "../../kernel/crypto/secret.ts"
import { Fault } from "../../kernel/fault.ts"
import { typedCodes } from "../../kernel/text/typed-code.ts"
import type { Cx, Decision, Transaction } from "../../store/index.ts"
import {
  type CodeFor,
  countCodeFailure,
  type GuessedCode,
  isKeyValid,
  isTypedValid,
  mayTryCode,
} from "../lockout/index.ts"
import { org } from "../org/index.ts"
import { type Human, hasLeft, type User, user } from "../user-model/index.ts"
import { codeAbout, linkKeyOf } from "./code.ts"

/** The code that a person was made last for a purpose; null where there is none. */
export function codeOf(state: User, of: CodeFor): Human["emailCode"] {
  if (hasLeft(state) || state.kind !== "human") return null
  const { emailCode, phoneCode, invite, passwordCode, factors } = state
  const proving = { email: emailCode, phone: phoneCode }
  const codes = { ...proving, invite, password: passwordCode, passkey: factors?.link }
  return codes[of] ?? null
}

/** A code that somebody shows; `key` is what our own link carries beside it. */
type CodeAttempt = {
  readonly of: CodeFor
  readonly given: string
  readonly key?: string | undefined
}

/** Whether what somebody says is the code of a user, and still good. */
export function isCode(tx: Transaction, id: string, { of, given }: CodeAttempt): boolean {
  const sent = codeOf(tx.state(user, id), of)
  if (!sent || tx.now >= sent.expires) return false
  const plain = tx.secrets.open("seal", sent.sealed, codeAbout(id, of))
  if (plain === undefined) return false
  // Where capitals and small letters both count, only what was sent does.
  return typedCodes(given).some((typed) => sameText(plain, typed))
}

/** Whether a key is the one in our link of the code that a user was made last. */
function isLinkKey(tx: Transaction, id: string, { of, key = "" }: CodeAttempt): boolean {
  const sent = codeOf(tx.state(user, id), of)
  return sent !== null && sameText(key, linkKeyOf(tx, id, { of, sealed: sent.sealed }))
}

/** The code that somebody tries to guess, whatever they show. */
function guessedCode(tx: Transaction, id: string, of: CodeFor): GuessedCode | undefined {
  const sent = codeOf(tx.state(user, id), of)
  if (!sent) return undefined
  const { sealed, expires } = sent
  return { id: tx.secrets.hash(sealed, `${codeAbout(id, of)}/guessed`).slice(-22), expires }
}

/**
 * The same, and counts a code that is wrong, within the step: of those that come at the same
 * moment, too, only few are looked at. The right code with the key of its link is accepted
 * whatever others have tried: nobody guesses that key. Callers with the key who guess the code
 * have a limit of their own; once they reach it, the key lifts no limit any more. A code that too
 * many wrong ones were tried for is wrong itself from then on, without its key.
 */
export function tryCode(tx: Transaction, id: string, given: CodeAttempt): boolean {
  const { of } = given
  const code = guessedCode(tx, id, of)
  const hasKey = code !== undefined && isLinkKey(tx, id, given) && isKeyValid(tx, id, of, code.id)
  if (!hasKey) mayTryCode(tx, id, of)
  const isValid = hasKey || code === undefined || isTypedValid(tx, id, of, code.id)
  const isRight = isValid && isCode(tx, id, given)
  if (!isRight) countCodeFailure(tx, id, of, { ...(code && { code }), ...(hasKey && { hasKey }) })
  return isRight
}

/** `wrong` is all that is said of whoever was never sent one, or isn't there. */
export type CodeCheck = "ok" | "wrong" | "locked" | "inactive"

/**
 * Looks at a code that anybody may show, and leaves it good. A wrong one is counted in the same
 * step, whoever it is said to be for; whether an account is locked is told to who has the code.
 */
export async function checkCode(cx: Cx, id: string, given: CodeAttempt): Promise<CodeCheck> {
  if (id === "" || id.length > idMax) return "wrong"
  const step = await cx.store.transact(cx, (tx): CodeCheck => {
    if (!tryCode(tx, id, given)) return "wrong"
    const state = tx.state(user, id)
    if (state.status === "locked" || state.status === "inactive") return state.status
    return isHomeActive(tx, id) ? "ok" : "inactive"
  })
  return step.value
}

const idMax = 200

export const isHomeActive = (cx: Decision, id: string): boolean =>
  cx.state(org, cx.owner(user, id)).status === "active"

/** Refuses to send a code to who couldn't use it, and says to whoever asks what to do first. */
export function mustBeActive(cx: Decision, id: string, person: Human): void {
  if (person.status === "locked")
    throw refusedError("user.locked", "the user is locked; unlock them first")
  if (person.status === "inactive") {
    throw refusedError("user.inactive", "the user is deactivated; activate them first")
  }
  if (isHomeActive(cx, id)) return
  throw refusedError("org.inactive", "the organisation is deactivated; activate it first")
}

export const codeWrongError = () =>
  new Fault(
    "invalid_argument",
    "user.code_wrong",
    "the code is wrong or no longer good; ask for a new one",
  )

const refusedError = (id: string, message: string) => new Fault("failed_precondition", id, message)
