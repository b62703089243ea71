import { Fault } from "../../kernel/fault.ts"
import type { Cx, Draft, Receipt, Step, Transaction } from "../../store/index.ts"
import {
  type CodeCheck,
  checkCode,
  codeOf,
  codeWrongError,
  type NewCode,
  tryCode,
} from "../credential/index.ts"
import { type CodeOf, countRequest } from "../lockout/index.ts"
import {
  byUser,
  type Human,
  isProofMissing,
  mayVerify,
  type User,
  type UserEvent,
  user,
  verifierByCode,
} from "../user-model/index.ts"
import { existing, type UserChange, updateUser } from "./commands.ts"
import { codeAdded } from "./create.ts"

/** Changes a user in a larger step; a code that comes with a new address is counted. */
export function changeUser(tx: Transaction, id: string, change: UserChange): void {
  const before = tx.state(user, id)
  updateUser.within(tx, id, change)
  const after = tx.state(user, id)
  for (const of of ["email", "phone"] as const) {
    const code = codeOf(after, of)
    if (code && code.sealed !== codeOf(before, of)?.sealed) countRequest(tx, id, of)
  }
}

type Renewal = { readonly of: CodeOf; readonly code: NewCode }

/** Gives a person a new code for the address that they have; the one before is worth nothing. */
const renewCode = user.command<Renewal>((state, { of, code }, { caller }, id) => {
  const { address, isVerified, verifier } = contactOf(personOf(state), of)
  if (address === "") throw contactMissingError(of)
  // What the organization or a provider has verified, the user can still prove.
  const isOwn = caller.kind === "user" && caller.userId === id
  if (isVerified && !(isOwn && isProofMissing(byUser, verifier))) {
    throw new Fault("failed_precondition", `user.${of}_verified`, `the ${of} is verified already`)
  }
  return [codeAdded(of, code)]
})

/** The same in a step of its own; refuses where too many were asked for. */
export async function requestCode(cx: Cx, id: string, renewal: Renewal): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    renewCode.within(tx, id, renewal)
    countRequest(tx, id, renewal.of)
  })
  return step.receipt(user, id)
}

/**
 * Takes an address for verified by the code that went to it, once. A wrong one is counted before
 * it is refused, so that those that come at the same moment are few, too.
 */
export async function verifyContact(
  cx: Cx,
  id: string,
  { of, code }: { readonly of: CodeOf; readonly code: string },
): Promise<Receipt> {
  const step: Step<boolean> = await cx.store.transact(cx, (tx) => {
    personOf(tx.state(user, id))
    return takeCode(tx, id, { of, code })
  })
  if (step.value) return step.receipt(user, id)
  throw codeWrongError()
}

/** Uses a code up, if it is one. */
function takeCode(
  tx: Transaction,
  id: string,
  { of, code, key }: { readonly of: CodeOf; readonly code: string; readonly key?: string },
): boolean {
  if (!tryCode(tx, id, { of, given: code, key })) return false
  const person = personOf(tx.state(user, id))
  const verifier = verifierByCode(person, of)
  const email = of === "email" ? person.email.address : ""
  if (!mayVerify(tx, { orgId: tx.owner(user, id), email, verifier })) throw foreignDomainError()
  const verified: Draft<UserEvent> = {
    type: `user.human.${of}.verified`,
    data: { verifier },
    erase: { types: [`user.human.${of}.code.added`] },
  }
  tx.append(user, id, [verified])
  return true
}

/**
 * The same by whoever has the code, from the link of its message: they hear of nobody else whether
 * they are here.
 */
export async function verifyByLink(
  cx: Cx,
  id: string,
  given: { readonly of: CodeOf; readonly code: string; readonly key: string },
): Promise<CodeCheck> {
  const { of, code, key } = given
  const result = await checkCode(cx, id, { of, given: code, key })
  if (result !== "ok") return result
  const step = await cx.store.transact(cx, (tx) => takeCode(tx, id, given))
  return step.value ? "ok" : "wrong"
}

/** Takes a person's phone away; nothing happens where there is none. */
export const removePhone = user.command((state) =>
  personOf(state).phone ? [{ type: "user.human.phone.removed", data: {} }] : [],
)

const contactOf = ({ email, phone }: Human, of: CodeOf) =>
  of === "email"
    ? { address: email.address, isVerified: email.verified, verifier: email.verifier }
    : {
        address: phone?.number ?? "",
        isVerified: phone?.verified ?? false,
        verifier: phone?.verifier,
      }

/** Only people have addresses that codes are sent to. */
export function personOf(state: User): Human {
  const present = existing(state)
  if (present.kind === "human") return present
  throw new Fault(
    "failed_precondition",
    "user.not_human",
    "this is a service user; only people have an e-mail address and a phone",
  )
}

const foreignDomainError = () =>
  new Fault(
    "failed_precondition",
    "user.email_of_other_org",
    "this address is in the domain of another organization; only a code that is sent to it can " +
      "verify it",
  )

const contactMissingError = (of: CodeOf) =>
  new Fault("failed_precondition", `user.${of}_missing`, `the user has no ${of}`)
