import { Fault } from "../../kernel/fault.ts"
import { parseOptionalText } from "../../protocol/user-field.ts"
import type { Cx, DecisionContext, Draft, Receipt, Transaction } from "../../store/index.ts"
import {
  attemptCode,
  firstPasswordFor,
  invalidCodeError,
  inviteAddedEvent,
  isCodeValid,
  type NewCode,
  type NewPassword,
  passwordChangedEvent,
  requireActive,
} from "../credential/index.ts"
import { beginFirstKey, type verifyFirstKey } from "../factor/index.ts"
import { countRequest } from "../lockout/index.ts"
import { org } from "../org/index.ts"
import { requireContactOwner } from "../user/index.ts"
import {
  addsUserProof,
  byOrganization,
  canVerify,
  type Human,
  type InviteMail,
  type User,
  type UserEvent,
  user,
  verifierByCode,
  verifierFrom,
} from "../user-model/index.ts"

/**
 * A code and the application of the invitation; without an application, that of the previous
 * invitation.
 */
export type InviteInput = { readonly code: NewCode; readonly applicationName?: string | undefined }

/** Sends an invitation again with the previous options. */
export type RenewInviteInput = { readonly code: NewCode; readonly again: true }

const addInvite = user.command<InviteInput | RenewInviteInput>((state, input, cx, id) => {
  const person = requireInvitable(cx, id, state)
  const isOfInstance = verifierFrom(cx).by === "instance"
  if (!("again" in input))
    return [inviteAddedEvent(input.code, { ...mailOptionsOf(input), isOfInstance })]
  const before = previousMailOptions(person)
  // The new code is sent with the previous link, so it proves no more than the previous code.
  const verifier = before.verifier ?? byOrganization
  const code = before.urlTemplate === "" ? input.code : { ...input.code, verifier }
  return [inviteAddedEvent(code, before)]
})

/** Invites a user in the transaction that creates the user. */
export const inviteInTransaction = (tx: Transaction, id: string, input: InviteInput): void =>
  addInvite.within(tx, id, input)

/**
 * Invites a user who can't sign in yet, or sends the invitation again; the previous code becomes
 * invalid. Rejects too many invitations, and users who are not active.
 */
export async function inviteUser(
  cx: Cx,
  id: string,
  input: InviteInput | RenewInviteInput,
): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    addInvite.within(tx, id, input)
    countRequest(tx, id, "invite")
  })
  return step.receipt(user, id)
}

/**
 * Consumes an invitation code and verifies the email address that it was sent to. A wrong code is
 * counted before it is rejected.
 */
export async function verifyInvite(cx: Cx, id: string, code: string): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    const person = requireInvitable(tx, id, tx.state(user, id))
    const isRight = attemptCode(tx, id, { of: "invite", given: code })
    if (isRight) tx.append(user, id, acceptedEvents(tx, id, person))
    return isRight
  })
  if (step.value) return step.receipt(user, id)
  throw invalidCodeError()
}

/** The organization that a user is invited to, and the application if there is one. */
export function getInvitation(cx: Cx, id: string) {
  const state = cx.store.state(cx, user, id)
  const orgId = cx.store.receipt(cx, user, id)?.owner ?? ""
  const home = cx.store.state(cx, org, orgId)
  const organization = "name" in home ? home.name : ""
  const { applicationName = "", isOfInstance = false } =
    ("kind" in state && state.kind === "human" && state.invite) || {}
  return { orgId, organization, applicationName, isOfInstance }
}

/** Checks and hashes the password that an invited user has chosen. */
export const prepareInvitedPassword = (cx: Cx, id: string, plain: string): Promise<NewPassword> =>
  firstPasswordFor(cx, id, requireContactOwner(cx.store.state(cx, user, id)), plain)

/**
 * Begins registration of the passkey that an invited user can choose instead; see `beginFirstKey`.
 */
export function beginInvitedKey(cx: Cx, id: string) {
  const { userName: name, profile } = requireContactOwner(cx.store.state(cx, user, id))
  const { displayName } = profile
  return beginFirstKey(cx, { id, name, displayName })
}

/** The credential that a new or invited user sets up. */
export type FirstCredential =
  | { readonly password: NewPassword }
  | { readonly passkey: Awaited<ReturnType<typeof verifyFirstKey>> }

/**
 * Sets the first password or passkey of an invited user and consumes the code, in another
 * transaction.
 */
export function acceptInvite(
  tx: Transaction,
  id: string,
  { code, ...chosen }: { readonly code: string } & FirstCredential,
): void {
  const person = requireInvitable(tx, id, tx.state(user, id))
  if (!isCodeValid(tx, id, { of: "invite", given: code })) {
    throw preconditionError("user.invite_over", "the invitation has expired; request a new one")
  }
  tx.append(user, id, acceptedEvents(tx, id, person))
  if ("passkey" in chosen) chosen.passkey(tx, id)
  else tx.append(user, id, [passwordChangedEvent(chosen.password, null, "invitation")])
}

/** Returns a user who can be invited. Users who can already sign in must not get an invitation. */
function requireInvitable(cx: DecisionContext, id: string, state: User): Human {
  const person = requireContactOwner(state)
  if (person.password)
    throw preconditionError("user.can_sign_in", "this user already has a password to sign in with")
  requireActive(cx, id, person)
  return person
}

const mailOptionsOf = ({ code, applicationName }: InviteInput): InviteMail => ({
  urlTemplate: code.urlTemplate,
  applicationName: parseOptionalText("application_name", applicationName),
})

function previousMailOptions({ invite }: Human): NonNullable<Human["invite"]> {
  if (invite) return invite
  throw preconditionError(
    "user.not_invited",
    "there is no previous invitation to send again; create one",
  )
}

function acceptedEvents(
  tx: DecisionContext,
  id: string,
  person: Human,
): readonly Draft<UserEvent>[] {
  const used: Draft<UserEvent> = {
    type: "user.human.invite.check.succeeded",
    data: {},
    erase: { types: ["user.human.invite.code.added"] },
  }
  const { address, verified, verifier: before } = person.email
  const verifier = verifierByCode(person, "invite")
  const orgId = tx.owner(user, id)
  const isNew = !verified || addsUserProof(verifier, before)
  if (!isNew || !canVerify(tx, { orgId, email: address, verifier })) return [used]
  const types = ["user.human.email.code.added"] as const
  return [used, { type: "user.human.email.verified", data: { verifier }, erase: { types } }]
}

const preconditionError = (id: string, message: string) =>
  new Fault("failed_precondition", id, message)
