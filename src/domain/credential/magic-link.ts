import { listCodeSpellings } from "../../kernel/text/typed-code.ts"
import type { Cx, DecisionContext, Transaction } from "../../store/index.ts"
import {
  consumeChallenge,
  countCodeFailure,
  countLinkUsed,
  countRequest,
  isRequestedOften,
  isUsed,
  requireCodeAttemptAllowed,
  throttleKeyOf,
} from "../lockout/index.ts"
import { generateCode, login, policyFor } from "../policy/index.ts"
import { createReader, isAbsent, user } from "../user-model/index.ts"
import { isOrgActive } from "./code-check.ts"

/**
 * The state that the requesting browser keeps, sealed. The link works only in this browser and with
 * the emailed code, which it does not contain. `expires` is ms UTC.
 */
export type MagicLink = {
  /** The user ID, or a stand-in if the name is unknown. */
  readonly account: string
  readonly hash: string
  readonly expires: number
}

type NewMagicLink = { readonly link: MagicLink; readonly code: string }

/** Creates a link for an account (see `accountOf`) and the code for its email. */
export function createMagicLink(cx: Cx, { account }: { readonly account: string }): NewMagicLink {
  const { plain: code, expires } = generateCode(cx, "otp_email")
  const about = codeContext(account, mailboxOf(createReader(cx), account))
  return { link: { account, hash: cx.secrets.hash(code, about), expires }, code }
}

/** A sign-in attempt, with the device if the user has signed in from it before. */
export type MagicLinkAttempt = { readonly account: string; readonly device: string | undefined }

/**
 * Counts a request for a link, also for unknown accounts. Returns whether to send the email: not if
 * the user has no verified address, is not allowed to use links or was sent too many. Known devices
 * have their own limit, so strangers can't exhaust it.
 */
export function requestMagicLink(tx: Transaction, { account, device }: MagicLinkAttempt): boolean {
  const throttleKey = throttleKeyOf(account, device)
  if (isRequestedOften(tx, throttleKey, "magic_link")) return false
  countRequest(tx, throttleKey, "magic_link")
  return isLinkAllowed(tx, account)
}

/**
 * Checks a submitted code of a link within a transaction, which must also be committed if the code
 * is wrong. A code can be used once, also concurrently. Throws `resource_exhausted` after too many
 * wrong codes.
 */
export function attemptMagicLink(
  tx: Transaction,
  link: MagicLink,
  { device, given: typedCode }: { readonly device: string | undefined; readonly given: string },
): boolean {
  const { account, hash, expires } = link
  const throttleKey = throttleKeyOf(account, device)
  requireCodeAttemptAllowed(tx, throttleKey, "magic_link")
  const about = codeContext(account, mailboxOf(tx, account))
  const isRight = listCodeSpellings(typedCode).some((each) => tx.secrets.matches(hash, each, about))
  if (!isRight || tx.now >= expires || isUsed(tx, hash) || !isLinkAllowed(tx, account)) {
    countCodeFailure(tx, throttleKey, "magic_link")
    return false
  }
  countLinkUsed(tx, throttleKey, consumeChallenge({ key: hash, expires }))
  return true
}

/** Whether the user can currently sign in with a link; the policy of the organization decides. */
function isLinkAllowed(tx: DecisionContext, id: string): boolean {
  if (tx.state(user, id).status !== "active" || !isOrgActive(tx, id)) return false
  return (
    mailboxOf(tx, id) !== "" &&
    policyFor(tx, { userId: id, orgId: tx.owner(user, id) }, login).allowMagicLink
  )
}

/** The user's verified email address. Codes sent to an earlier address are invalid. */
function mailboxOf(read: Pick<DecisionContext, "state">, id: string): string {
  const state = read.state(user, id)
  if (isAbsent(state) || state.kind !== "human" || !state.email.verified) return ""
  return state.email.address
}

const codeContext = (account: string, mailbox: string): string =>
  `user/${account}/magic_link/${mailbox}`
