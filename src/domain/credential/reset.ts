import { Fault } from "../../kernel/fault.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../store/index.ts"
import { countRequest, isRequestedOften } from "../lockout/index.ts"
import type { Channel } from "../message-provider/index.ts"
import { login, policyFor } from "../policy/index.ts"
import { type Human, hasLeft, type User, type UserEvent, user } from "../user-model/index.ts"
import { createCode, type NewCode } from "./code.ts"
import { isHomeActive, mustBeActive } from "./code-check.ts"
import { historyOf, type NewPassword, passwordFor, personOf, provenCode } from "./commands.ts"
import { renewedInvite } from "./invite-code.ts"

/** A code for a new password, and how it goes to its person. */
type Reset = {
  readonly code: NewCode
  readonly channel: Channel
  readonly within?: AskedWithin
}

/** The sign-in that a code was asked for in, to go on with. */
export type AskedWithin = { readonly requestId: string }

/** Gives a person a code, in a larger step; see `requestReset`. */
export const addReset = user.command<Reset>((state, reset, cx, id) => {
  const person = personOf(state)
  mustBeActive(cx, id, person)
  if (!reset.code.returned && addressOf(person, reset.channel) === "")
    throw addressMissingError(reset.channel)
  return [resetAdded(reset)]
})

/**
 * Gives a person a code by which they choose a new password; the one before is worth nothing.
 * Refuses where too many were made, and for who is locked out.
 */
export async function requestReset(cx: Cx, id: string, reset: Reset): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    addReset.within(tx, id, reset)
    countRequest(tx, id, "password")
  })
  return step.receipt(user, id)
}

/** A user ID, or a stand-in; named, so that no login name is passed in its place. */
type AccountInput = { readonly account: string }

/**
 * Sends whoever has forgotten their password a link to choose another one; anybody may ask. The
 * account (see `accountOf`) of a name that is nobody's, or of who may not, makes the same work and
 * is counted the same, so that nobody learns who is here. Of an account that many were asked for
 * the last link stays good, and no other is sent while it is: a stranger who asks for it keeps
 * nobody out of their own. Users who were invited and have no password yet get the invitation
 * again. Faults where too many were asked for from one address.
 */
export async function askReset(
  cx: Cx,
  { account }: AccountInput,
  within?: AskedWithin,
): Promise<void> {
  cx.allowance?.spend("message")
  const paced = cx.allowance?.pace()
  const code = createCode(cx, account, { of: "password", returned: false })
  const inviteCode = createCode(cx, account, { of: "invite", returned: false })
  await cx.store.transact(cx, (tx) => {
    const isOften = isRequestedOften(tx, account, "password")
    if (!isOften) countRequest(tx, account, "password")
    if (!mayWrite(tx, account)) return
    const state = tx.state(user, account)
    const last = lastSent(tx, state)
    const next = last?.of === "invite" ? inviteCode : code
    // Who asks twice has the first link in their hands: a second would make it worth nothing.
    const isKept = last && (isOften || Math.abs(next.expires - last.expires) < patienceMs)
    if (isKept) return
    const isReset = !hasLeft(state) && state.kind === "human" && state.password !== null
    const drafts = isReset
      ? [resetAdded({ code, channel: "email", ...(within && { within }) })]
      : renewedInvite(state, inviteCode)
    tx.append(user, account, drafts)
  })
  await paced?.()
}

/** The link that is in their mail and still good. */
function lastSent(tx: Transaction, state: User) {
  if (hasLeft(state) || state.kind !== "human") return undefined
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

const patienceMs = 60_000

/** Whether a person has an address, and an organization that lets them choose a new password. */
function mayWrite(tx: Transaction, id: string): boolean {
  const state = tx.state(user, id)
  if (hasLeft(state) || state.kind !== "human") return false
  if (state.status !== "active" || !isHomeActive(tx, id)) return false
  const { address, isSuperseded } = state.email
  const whose = { userId: id, orgId: tx.owner(user, id) }
  return address !== "" && !isSuperseded && !policyFor(tx, whose, login).hidePasswordReset
}

/**
 * Prepares the password that somebody chooses who has shown the code for it. Set, it uses the code
 * up: of two who have shown it, the first.
 */
export async function resetPasswordFor(
  cx: Cx,
  id: string,
  { plain, ...given }: { readonly code: string; readonly key?: string; readonly plain: string },
): Promise<NewPassword> {
  const code = await provenCode(cx, id, given)
  const history = historyOf(personOf(cx.store.state(cx, user, id)))
  return { ...(await passwordFor(cx, id, plain, history)), code }
}

/** An address that somebody else has proven is no way to reach the user. */
function addressOf({ email, phone }: Human, channel: Channel): string {
  if (channel === "sms") return phone?.number ?? ""
  return email.isSuperseded ? "" : email.address
}

/** The event of a new code; an older one is forgotten. */
function resetAdded({ code, channel, within }: Reset): Draft<UserEvent> {
  const { sealed, expires, returned, urlTemplate, verifier } = code
  return {
    type: "user.human.password.code.added",
    data: {
      expires,
      returned,
      urlTemplate,
      channel,
      requestId: within?.requestId ?? "",
      ...(verifier && { verifier }),
    },
    private: { sealed },
    erase: { types: ["user.human.password.code.added"] },
  }
}

const addressMissingError = (channel: Channel) => {
  const what = channel === "email" ? "email" : "phone"
  return new Fault("failed_precondition", `user.${what}_missing`, `the user has no ${what}`)
}
