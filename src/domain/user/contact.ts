import { Fault } from "../../kernel/fault.ts"
import type { Cx, Draft, Receipt, Transaction, TransactionResult } from "../../store/index.ts"
import {
  attemptCode,
  type CodeCheckResult,
  checkCode,
  codeOf,
  invalidCodeError,
  type NewCode,
} from "../credential/index.ts"
import { type ContactKind, countRequest } from "../lockout/index.ts"
import {
  addsUserProof,
  byUser,
  canVerify,
  type Human,
  type User,
  type UserEvent,
  user,
  verifierByCode,
} from "../user-model/index.ts"
import { requireExists, type UserChange, updateUser } from "./commands.ts"
import { codeAddedEvent } from "./create.ts"

/** Updates a user in a transaction; counts a code for a new address. */
export function changeUser(tx: Transaction, id: string, change: UserChange): void {
  const before = tx.state(user, id)
  updateUser.within(tx, id, change)
  const after = tx.state(user, id)
  for (const of of ["email", "phone"] as const) {
    const code = codeOf(after, of)
    if (code && code.sealed !== codeOf(before, of)?.sealed) countRequest(tx, id, of)
  }
}

type RenewCodeInput = { readonly of: ContactKind; readonly code: NewCode }

/** Creates a new code for the current address and invalidates the previous one. */
const renewCode = user.command<RenewCodeInput>((state, { of, code }, { caller }, id) => {
  const { address, isVerified, verifier } = currentContact(requireContactOwner(state), of)
  if (address === "") throw contactMissingError(of)
  // Users can still verify an address that the organization or a provider has verified.
  const isOwn = caller.kind === "user" && caller.userId === id
  if (isVerified && !(isOwn && addsUserProof(byUser, verifier))) {
    throw new Fault("failed_precondition", `user.${of}_verified`, `the ${of} is already verified`)
  }
  return [codeAddedEvent(of, code)]
})

/** Creates a code in its own transaction. Rejects too many requests. */
export async function requestCode(cx: Cx, id: string, renewal: RenewCodeInput): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    renewCode.within(tx, id, renewal)
    countRequest(tx, id, renewal.of)
  })
  return step.receipt(user, id)
}

/**
 * Verifies an address with its code. A wrong code is counted in the same transaction, which also
 * limits concurrent attempts.
 */
export async function verifyContact(
  cx: Cx,
  id: string,
  { of, code }: { readonly of: ContactKind; readonly code: string },
): Promise<Receipt> {
  const step: TransactionResult<boolean> = await cx.store.transact(cx, (tx) => {
    requireContactOwner(tx.state(user, id))
    return consumeCode(tx, id, { of, code })
  })
  if (step.value) return step.receipt(user, id)
  throw invalidCodeError()
}

/** Consumes a code if it is correct. */
function consumeCode(
  tx: Transaction,
  id: string,
  { of, code, key }: { readonly of: ContactKind; readonly code: string; readonly key?: string },
): boolean {
  if (!attemptCode(tx, id, { of, given: code, key })) return false
  const person = requireContactOwner(tx.state(user, id))
  const verifier = verifierByCode(person, of)
  const email = of === "email" ? person.email.address : ""
  if (!canVerify(tx, { orgId: tx.owner(user, id), email, verifier })) throw foreignDomainError()
  const verified: Draft<UserEvent> = {
    type: `user.human.${of}.verified`,
    data: { verifier },
    erase: { types: [`user.human.${of}.code.added`] },
  }
  tx.append(user, id, [verified])
  return true
}

/**
 * Verifies an address with the link of its message. Wrong codes get the same response for unknown
 * users, to prevent user enumeration.
 */
export async function verifyByLink(
  cx: Cx,
  id: string,
  submitted: { readonly of: ContactKind; readonly code: string; readonly key: string },
): Promise<CodeCheckResult> {
  const { of, code, key } = submitted
  const result = await checkCode(cx, id, { of, given: code, key })
  if (result !== "ok") return result
  const step = await cx.store.transact(cx, (tx) => consumeCode(tx, id, submitted))
  return step.value ? "ok" : "wrong"
}

/** Removes the phone number; appends nothing if there is none. */
export const removePhone = user.command((state) =>
  requireContactOwner(state).phone ? [{ type: "user.human.phone.removed", data: {} }] : [],
)

const currentContact = ({ email, phone }: Human, of: ContactKind) =>
  of === "email"
    ? { address: email.address, isVerified: email.verified, verifier: email.verifier }
    : {
        address: phone?.number ?? "",
        isVerified: phone?.verified ?? false,
        verifier: phone?.verifier,
      }

/** Returns a human user; throws for service accounts, which have no contacts. */
export function requireContactOwner(state: User): Human {
  const present = requireExists(state)
  if (present.kind === "human") return present
  throw new Fault(
    "failed_precondition",
    "user.not_human",
    "this user is a service account; only human users have an email address and a phone number",
  )
}

const foreignDomainError = () =>
  new Fault(
    "failed_precondition",
    "user.email_of_other_org",
    "this address is in the domain of another organization; it can be verified only with a " +
      "code that is sent to it",
  )

const contactMissingError = (of: ContactKind) =>
  new Fault("failed_precondition", `user.${of}_missing`, `the user has no ${of}`)
