import { isSameEmail } from "../../protocol/user-field.ts"
import type { Consequence, Consequences } from "../../store/index.ts"
import {
  type Human,
  isAbsent,
  isAcceptedEverywhere,
  type User,
  type UserEvent,
  user,
} from "../user-model/index.ts"
import { findOrgOfAddress, listUsersWithEmail } from "./verified.ts"

/**
 * Marks an address as unverified for all other users once a user verifies it, so that they can't
 * sign in or reset a password with it. They keep their login names and can verify the address
 * again. All users with the address are part of the transaction's expected versions, so concurrent
 * verifications are decided one after the other.
 */
function supersede({ cx, tx }: ConsequenceContext, { id, owner }: SourceEvent): void {
  const prover = tx.state(user, id)
  if (!hasVerifiedEmail(prover)) return
  const { address } = prover.email
  const home = findOrgOfAddress(cx, address)
  for (const other of listUsersWithEmail(cx, address)) {
    if (other === id) continue
    const theirs = tx.state(user, other)
    if (!isHuman(theirs) || !theirs.email.verified) continue
    const { address: email, verifier } = theirs.email
    const orgId = tx.owner(user, other)
    // Users of the organization that has verified the domain keep the address.
    const isKept = home === orgId && owner !== orgId
    const isHeld =
      isSameEmail(email, address) && isAcceptedEverywhere(tx, { orgId, email, verifier })
    if (isKept || !isHeld) continue
    const data = { isSuperseded: true }
    tx.append(user, other, [{ type: "user.human.email.changed", data, private: { email } }])
  }
}

type ConsequenceContext = Parameters<NonNullable<ReturnType<Consequence>>>[0]
type SourceEvent = Parameters<Consequence>[0]

type DataOf<Type extends UserEvent["type"]> = Extract<UserEvent, { readonly type: Type }>["data"]
type ProofData = DataOf<"user.human.added"> & DataOf<"user.human.email.verified">

const onVerification: Consequence = (event) => {
  const { emailVerifier, verifier = emailVerifier }: Partial<ProofData> = event.data
  return verifier?.by === "user" ? (step) => supersede(step, event) : undefined
}

const isHuman = (state: User): state is Human => !isAbsent(state) && state.kind === "human"

const hasVerifiedEmail = (state: User): state is Human =>
  isHuman(state) && state.email.verified && state.email.verifier?.by === "user"

/** Runs after each verification of an address. */
export const supersessions: Consequences = {
  name: "email-supersessions",
  on: { "user.human.added": onVerification, "user.human.email.verified": onVerification },
}
