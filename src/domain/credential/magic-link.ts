import { typedCodes } from "../../kernel/text/typed-code.ts"
import type { Cx, Decision, Transaction } from "../../store/index.ts"
import {
  countCodeFailure,
  countLinkUsed,
  countRequest,
  isRequestedOften,
  isUsed,
  lineOf,
  mayTryCode,
  usedUp,
} from "../lockout/index.ts"
import { login, newCode, policyFor } from "../policy/index.ts"
import { hasLeft, readerOf, user } from "../user-model/index.ts"
import { isHomeActive } from "./code-check.ts"

/**
 * What the browser keeps that has asked for a link, sealed: by it, and by the code of the mail, its
 * person signs in there and nowhere else. It holds no code. `expires` is ms UTC.
 */
export type MagicLink = {
  /** Whose it is, or the stand-in of a name that is nobody's. */
  readonly account: string
  readonly hash: string
  readonly expires: number
}

type NewLink = { readonly link: MagicLink; readonly code: string }

/** Makes a link for an account (see `accountOf`), and the code that its mail carries. */
export function createMagicLink(cx: Cx, { account }: { readonly account: string }): NewLink {
  const { plain: code, expires } = newCode(cx, "otp_email")
  const about = aboutOf(account, mailboxOf(readerOf(cx), account))
  return { link: { account, hash: cx.secrets.hash(code, about), expires }, code }
}

/** Tries of an account, by a device that somebody has signed in to it from, if it is one. */
export type LinkTry = { readonly account: string; readonly device: string | undefined }

/**
 * Counts a link that is asked for, whoever's it is said to be; answers whether its person is to be
 * mailed. Nobody is who has no verified address, may not sign in so, or was mailed often; of those
 * whose device is known strangers don't use that up.
 */
export function requestMagicLink(tx: Transaction, { account, device }: LinkTry): boolean {
  const line = lineOf(account, device)
  if (isRequestedOften(tx, line, "magic_link")) return false
  countRequest(tx, line, "magic_link")
  return mayUseLink(tx, account)
}

/**
 * Decides whether what somebody types is the code of their link, as a part of a step; a wrong one
 * is counted, and has to be written also then. Of two who show it at once, one comes in. Faults
 * with `resource_exhausted` where too many were wrong.
 */
export function tryMagicLink(
  tx: Transaction,
  link: MagicLink,
  { device, given }: { readonly device: string | undefined; readonly given: string },
): boolean {
  const { account, hash, expires } = link
  const line = lineOf(account, device)
  mayTryCode(tx, line, "magic_link")
  const about = aboutOf(account, mailboxOf(tx, account))
  const isRight = typedCodes(given).some((each) => tx.secrets.matches(hash, each, about))
  if (!isRight || tx.now >= expires || isUsed(tx, hash) || !mayUseLink(tx, account)) {
    countCodeFailure(tx, line, "magic_link")
    return false
  }
  countLinkUsed(tx, line, usedUp({ key: hash, expires }))
  return true
}

/** Whether somebody may sign in by a link now, which their organisation decides. */
function mayUseLink(tx: Decision, id: string): boolean {
  if (tx.state(user, id).status !== "active" || !isHomeActive(tx, id)) return false
  return (
    mailboxOf(tx, id) !== "" &&
    policyFor(tx, { userId: id, orgId: tx.owner(user, id) }, login).allowMagicLink
  )
}

/** The address that is theirs for certain: a code that went to another one is worth nothing. */
function mailboxOf(read: Pick<Decision, "state">, id: string): string {
  const state = read.state(user, id)
  if (hasLeft(state) || state.kind !== "human" || !state.email.verified) return ""
  return state.email.address
}

const aboutOf = (account: string, mailbox: string): string =>
  `user/${account}/magic_link/${mailbox}`
