import { type Cx, statement } from "../../store/index.ts"
import { idpById } from "../idp/index.ts"
import { isOnlyOrg } from "../org/index.ts"
import { letsUserIn } from "../user-link/index.ts"
import { type Human, hasLeft, user } from "../user-model/index.ts"
import { findByUserName } from "./find-name.ts"
import { holderOfEmail } from "./verified.ts"
import { emailValues, hasEmail } from "./view.ts"

/** A person here who may be the one that came from a provider. */
export type Candidate = {
  readonly userId: string
  /** What they have in common. */
  readonly by: "email" | "username"
  /** Whether the address is verified here by who may say so to this provider. */
  readonly emailVerified: boolean
}

/** Those first whose address is verified: anybody may have written it down elsewhere. */
const withEmail = statement<{ id: string }>(
  `SELECT id FROM users
   WHERE instance = $instance AND ${hasEmail} AND kind = 'human' AND org = $orgId
   ORDER BY email_verified DESC, id LIMIT 20`,
)

/** Who has come from a provider. */
type Arrival = {
  readonly idpId: string
  /** The organization that they would get an account in. */
  readonly orgId: string
  readonly email: string
  readonly userName: string
}

/**
 * The people that a provider lets in who have the same address or login name: whoever the address
 * belongs to in the whole instance, and people of the organization that the newcomer would join.
 * An address that another organization has written down says nothing of whose it is.
 */
export function candidatesFor(cx: Cx, arrival: Arrival): readonly Candidate[] {
  const { idpId, email, userName } = arrival
  const named = userName === "" ? undefined : findByUserName(cx, userName)
  const found = [
    ...(email === "" ? [] : withAddress(cx, arrival)),
    ...(named === undefined ? [] : [{ id: named, by: "username" as const, isAccepted: false }]),
  ]
  return found.flatMap(({ id, by, isAccepted }) => {
    const person = personNow(cx, id)
    if (!person || !letsUserIn(cx, idpId, id)) return []
    return [{ userId: id, by, emailVerified: isAccepted && person.email.verified }]
  })
}

/** `isAccepted`: whether who verified the address is enough for this provider. */
function withAddress(cx: Cx, { idpId, orgId, email }: Arrival) {
  const holder = holderOfEmail(cx, email)
  const ids = cx.store.all(cx, withEmail, { ...emailValues(email), orgId }).map(({ id }) => id)
  const isAtHome = idpById(cx, idpId)?.place === orgId || isOnlyOrg(cx)
  const all = holder === undefined || ids.includes(holder) ? ids : [holder, ...ids]
  return all.map((id) => ({
    id,
    by: "email" as const,
    isAccepted: id === holder || (holder === undefined && isAtHome),
  }))
}

function personNow(cx: Cx, id: string): Human | undefined {
  const state = cx.store.state(cx, user, id)
  return hasLeft(state) || state.kind !== "human" ? undefined : state
}
