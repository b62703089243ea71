import { Fault } from "../../kernel/fault.ts"
import { optionalTextOf } from "../../protocol/user-field.ts"
import type { Cx, Decision, Draft, Receipt, Transaction } from "../../store/index.ts"
import {
  codeWrongError,
  firstPasswordFor,
  inviteAdded,
  isCode,
  mustBeActive,
  type NewCode,
  type NewPassword,
  passwordChanged,
  tryCode,
} from "../credential/index.ts"
import { beginFirstKey, type firstKey } from "../factor/index.ts"
import { countRequest } from "../lockout/index.ts"
import { org } from "../org/index.ts"
import { personOf } from "../user/index.ts"
import {
  byOrganization,
  type Human,
  type InviteMail,
  isProofMissing,
  mayVerify,
  type User,
  type UserEvent,
  user,
  verifierByCode,
  verifierFrom,
} from "../user-model/index.ts"

/** A code, and what it invites to; without a word, what the invitation before was to. */
export type NewInvite = { readonly code: NewCode; readonly applicationName?: string | undefined }

/** An invitation that is to go out again, as the one before was to. */
export type Renewal = { readonly code: NewCode; readonly again: true }

const addInvite = user.command<NewInvite | Renewal>((state, given, cx, id) => {
  const person = invitable(cx, id, state)
  const isOfInstance = verifierFrom(cx).by === "instance"
  if (!("again" in given)) return [inviteAdded(given.code, { ...mailOf(given), isOfInstance })]
  const before = mailBefore(person)
  // The new code is sent with the earlier link, so it proves no more than the earlier code.
  const verifier = before.verifier ?? byOrganization
  const code = before.urlTemplate === "" ? given.code : { ...given.code, verifier }
  return [inviteAdded(code, before)]
})

/** Invites a person who can't sign in yet, as a part of a step that makes them. */
export const inviteWithin = (tx: Transaction, id: string, given: NewInvite): void =>
  addInvite.within(tx, id, given)

/**
 * Invites a person who can't sign in yet, or invites them again; the code before is worth nothing.
 * Refuses where too many were made, and for who is locked out.
 */
export async function inviteUser(cx: Cx, id: string, given: NewInvite | Renewal): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    addInvite.within(tx, id, given)
    countRequest(tx, id, "invite")
  })
  return step.receipt(user, id)
}

/**
 * Uses the code of an invitation up and takes the e-mail address for verified: it has reached the
 * person. A wrong code is counted before it is refused.
 */
export async function verifyInvite(cx: Cx, id: string, code: string): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    const person = invitable(tx, id, tx.state(user, id))
    const isRight = tryCode(tx, id, { of: "invite", given: code })
    if (isRight) tx.append(user, id, accepted(tx, id, person))
    return isRight
  })
  if (step.value) return step.receipt(user, id)
  throw codeWrongError()
}

/** What somebody is invited to: their organisation, and an application where one was named. */
export function invitationOf(cx: Cx, id: string) {
  const state = cx.store.state(cx, user, id)
  const orgId = cx.store.receipt(cx, user, id)?.owner ?? ""
  const home = cx.store.state(cx, org, orgId)
  const organization = "name" in home ? home.name : ""
  const { applicationName = "", isOfInstance = false } =
    ("kind" in state && state.kind === "human" && state.invite) || {}
  return { orgId, organization, applicationName, isOfInstance }
}

/** Prepares the password that an invited person has chosen. */
export const invitedPassword = (cx: Cx, id: string, plain: string): Promise<NewPassword> =>
  firstPasswordFor(cx, id, personOf(cx.store.state(cx, user, id)), plain)

/** Begins the passkey that an invited person may choose instead; see `beginFirstKey`. */
export function invitedKey(cx: Cx, id: string) {
  const { userName: name, profile } = personOf(cx.store.state(cx, user, id))
  const { displayName } = profile
  return beginFirstKey(cx, { id, name, displayName })
}

/** What somebody begins with who makes an account, or is invited to one. */
export type FirstCredential =
  | { readonly password: NewPassword }
  | { readonly passkey: Awaited<ReturnType<typeof firstKey>> }

/**
 * Gives an invited person their first password or passkey, and uses the code up, in a larger step.
 */
export function acceptInvite(
  tx: Transaction,
  id: string,
  { code, ...chosen }: { readonly code: string } & FirstCredential,
): void {
  const person = invitable(tx, id, tx.state(user, id))
  if (!isCode(tx, id, { of: "invite", given: code })) {
    throw refusedError("user.invite_over", "the invitation is over; ask for a new one")
  }
  tx.append(user, id, accepted(tx, id, person))
  if ("passkey" in chosen) chosen.passkey(tx, id)
  else tx.append(user, id, [passwordChanged(chosen.password, null, "invitation")])
}

/** The person who may be invited. Whoever can sign in needs no invitation, and must not get one. */
function invitable(cx: Decision, id: string, state: User): Human {
  const person = personOf(state)
  if (person.password)
    throw refusedError("user.can_sign_in", "this person has a password to sign in with")
  mustBeActive(cx, id, person)
  return person
}

const mailOf = ({ code, applicationName }: NewInvite): InviteMail => ({
  urlTemplate: code.urlTemplate,
  applicationName: optionalTextOf("application_name", applicationName),
})

function mailBefore({ invite }: Human): NonNullable<Human["invite"]> {
  if (invite) return invite
  throw refusedError("user.not_invited", "there is no invitation to send again; create one")
}

function accepted(tx: Decision, id: string, person: Human): readonly Draft<UserEvent>[] {
  const used: Draft<UserEvent> = {
    type: "user.human.invite.check.succeeded",
    data: {},
    erase: { types: ["user.human.invite.code.added"] },
  }
  const { address, verified, verifier: before } = person.email
  const verifier = verifierByCode(person, "invite")
  const orgId = tx.owner(user, id)
  const isNew = !verified || isProofMissing(verifier, before)
  if (!isNew || !mayVerify(tx, { orgId, email: address, verifier })) return [used]
  const types = ["user.human.email.code.added"] as const
  return [used, { type: "user.human.email.verified", data: { verifier }, erase: { types } }]
}

const refusedError = (id: string, message: string) => new Fault("failed_precondition", id, message)
