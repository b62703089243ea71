import { isSameEmail } from "../../protocol/user-field.ts"
import type { Consequence, Consequences } from "../../store/index.ts"
import {
  type Human,
  hasLeft,
  isAcceptedEverywhere,
  type User,
  type UserEvent,
  user,
} from "../user-model/index.ts"
import { homeOfAddress, withEmail } from "./verified.ts"

/**
 * Takes an address from everybody who holds it in the whole instance once a user proves that it is
 * theirs: it is no longer verified for them, so that they no longer sign in or reset a password by
 * it. They keep their login name, and can prove the address again. Everybody whose address it is
 * joins the expectations of the step: of two who prove it at once, one is decided after the other.
 */
function supersede({ cx, tx }: Step, { id, owner }: NewEvent): void {
  const prover = tx.state(user, id)
  if (!hasProvenEmail(prover)) return
  const { address } = prover.email
  const home = homeOfAddress(cx, address)
  for (const other of withEmail(cx, address)) {
    if (other === id) continue
    const theirs = tx.state(user, other)
    if (!isPerson(theirs) || !theirs.email.verified) continue
    const { address: email, verifier } = theirs.email
    const orgId = tx.owner(user, other)
    // Nobody takes an address from the people of the organization that has proven the domain.
    const isKept = home === orgId && owner !== orgId
    const isHeld =
      isSameEmail(email, address) && isAcceptedEverywhere(tx, { orgId, email, verifier })
    if (isKept || !isHeld) continue
    const data = { isSuperseded: true }
    tx.append(user, other, [{ type: "user.human.email.changed", data, private: { email } }])
  }
}

type Step = Parameters<NonNullable<ReturnType<Consequence>>>[0]
type NewEvent = Parameters<Consequence>[0]

type DataOf<Type extends UserEvent["type"]> = Extract<UserEvent, { readonly type: Type }>["data"]
type ProofData = DataOf<"user.human.added"> & DataOf<"user.human.email.verified">

const ofProof: Consequence = (event) => {
  const { emailVerifier, verifier = emailVerifier }: Partial<ProofData> = event.data
  return verifier?.by === "user" ? (step) => supersede(step, event) : undefined
}

const isPerson = (state: User): state is Human => !hasLeft(state) && state.kind === "human"

const hasProvenEmail = (state: User): state is Human =>
  isPerson(state) && state.email.verified && state.email.verifier?.by === "user"

/** Follows every proof of an address. */
export const supersessions: Consequences = {
  name: "email-supersessions",
  on: { "user.human.added": ofProof, "user.human.email.verified": ofProof },
}
