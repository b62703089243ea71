import { Fault } from "../../kernel/fault.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../store/index.ts"
import { countRequest, isRequestedOften } from "../lockout/index.ts"
import type { Channel } from "../message-provider/index.ts"
import { login, policyFor } from "../policy/index.ts"
import { type Human, isAbsent, type User, type UserEvent, user } from "../user-model/index.ts"
import { createCode, type NewCode } from "./code.ts"
import { isOrgActive, requireActive } from "./code-check.ts"
import { passwordFor, passwordRulesOf, requireHumanUser, requirePasswordCode } from "./commands.ts"
import { renewInvite } from "./invite-code.ts"
import type { NewPassword } from "./new-password.ts"

/** A code for a new password and its delivery. */
type PasswordReset = {
  readonly code: NewCode
  readonly channel: Channel
  readonly signIn?: SignInReference
}

/** The sign-in to continue after the reset. */
export type SignInReference = { readonly requestId: string }

/** Adds a code as part of another transaction; see `requestReset`. */
export const addReset = user.command<PasswordReset>((state, reset, cx, id) => {
  const person = requireHumanUser(state)
  requireActive(cx, id, person)
  if (!reset.code.returned && addressOf(person, reset.channel) === "")
    throw addressMissingError(reset.channel)
  return [resetCodeAddedEvent(reset)]
})

/**
 * Creates a code with which the user can choose a new password, and invalidates the previous one.
 * Rejects too many codes, and users who can't sign in.
 */
export async function requestReset(cx: Cx, id: string, reset: PasswordReset): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    addReset.within(tx, id, reset)
    countRequest(tx, id, "password")
  })
  return step.receipt(user, id)
}

/** A user ID or a stand-in; wrapped in an object so that no login name is passed by mistake. */
type AccountOptions = { readonly account: string }

/**
 * Sends a password reset link to a user who forgot the password; anyone can request it. Unknown
 * accounts (see `accountOf`) and users who are not allowed to reset take the same work and are
 * counted the same, to prevent user enumeration. After too many requests for an account the last
 * link stays valid and no new one is sent, so strangers can't invalidate it. Invited users without
 * a password get their invitation again. Throws after too many requests from one address.
 */
export async function requestPublicReset(
  cx: Cx,
  { account }: AccountOptions,
  signIn?: SignInReference,
): Promise<void> {
  cx.allowance?.spend("message")
  const paced = cx.allowance?.pace()
  const code = createCode(cx, account, { of: "password", returned: false })
  const inviteCode = createCode(cx, account, { of: "invite", returned: false })
  await cx.store.transact(cx, (tx) => {
    const isOften = isRequestedOften(tx, account, "password")
    if (!isOften) countRequest(tx, account, "password")
    if (!canReset(tx, account)) return
    const state = tx.state(user, account)
    const last = findActiveCode(tx, state)
    const next = last?.of === "invite" ? inviteCode : code
    // The user already has a recent link, which a second one would invalidate.
    const keepsLastCode = last && (isOften || Math.abs(next.expires - last.expires) < resendDelayMs)
    if (keepsLastCode) return
    const isReset = !isAbsent(state) && state.kind === "human" && state.password !== null
    const drafts = isReset
      ? [resetCodeAddedEvent({ code, channel: "email", ...(signIn && { signIn }) })]
      : renewInvite(state, inviteCode)
    tx.append(user, account, drafts)
  })
  await paced?.()
}

/** The latest emailed code that has not expired. */
function findActiveCode(tx: Transaction, state: User) {
  if (isAbsent(state) || state.kind !== "human") return undefined
  const { passwordCode, invite, returnedCodes = [] } = state
  const isInvite = state.password === null && !returnedCodes.includes("invite")
  if (isInvite && invite && tx.now < invite.expires) {
    return { of: "invite", expires: invite.expires } as const
  }
  const isMailed = passwordCode?.channel === "email" && !passwordCode.returned
  return isMailed && tx.now < passwordCode.expires
    ? ({ of: "password", expires: passwordCode.expires } as const)
    : undefined
}

const resendDelayMs = 60_000

/** Whether the user has an address and the organization allows password resets. */
function canReset(tx: Transaction, id: string): boolean {
  const state = tx.state(user, id)
  if (isAbsent(state) || state.kind !== "human") return false
  if (state.status !== "active" || !isOrgActive(tx, id)) return false
  const { address, isSuperseded } = state.email
  const member = { userId: id, orgId: tx.owner(user, id) }
  return address !== "" && !isSuperseded && !policyFor(tx, member, login).hidePasswordReset
}

/**
 * Checks and hashes a new password that is proven by a reset code. Storing the password consumes
 * the code, also concurrently.
 */
export async function prepareResetPassword(
  cx: Cx,
  id: string,
  { plain, ...submitted }: { readonly code: string; readonly key?: string; readonly plain: string },
): Promise<NewPassword> {
  const code = await requirePasswordCode(cx, id, submitted)
  const history = passwordRulesOf(requireHumanUser(cx.store.state(cx, user, id)))
  return { ...(await passwordFor(cx, id, plain, history)), code }
}

/** An email address that another user has verified since can't be used to reach the user. */
function addressOf({ email, phone }: Human, channel: Channel): string {
  if (channel === "sms") return phone?.number ?? ""
  return email.isSuperseded ? "" : email.address
}

/** The event of a new code; it erases the previous one. */
function resetCodeAddedEvent({ code, channel, signIn }: PasswordReset): Draft<UserEvent> {
  const { sealed, expires, returned, urlTemplate, verifier } = code
  return {
    type: "user.human.password.code.added",
    data: {
      expires,
      returned,
      urlTemplate,
      channel,
      requestId: signIn?.requestId ?? "",
      ...(verifier && { verifier }),
    },
    private: { sealed },
    erase: { types: ["user.human.password.code.added"] },
  }
}

const addressMissingError = (channel: Channel) => {
  const contactName = channel === "email" ? "email" : "phone"
  return new Fault(
    "failed_precondition",
    `user.${contactName}_missing`,
    `the user has no ${contactName}`,
  )
}
