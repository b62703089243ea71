import { type Cx, statement } from "../../store/index.ts"
import { findIdpById } from "../idp/index.ts"
import { isOnlyOrg } from "../org/index.ts"
import { isProviderActiveFor } from "../user-link/index.ts"
import { type Human, isAbsent, user } from "../user-model/index.ts"
import { findByUserName } from "./find-name.ts"
import { findEmailHolder } from "./verified.ts"
import { emailValues, hasEmail } from "./view.ts"

/** A local user who may be the same as a user from a provider. */
export type Candidate = {
  readonly userId: string
  /** The attribute that matches. */
  readonly by: "email" | "username"
  /** Whether the address is verified by someone the provider accepts. */
  readonly emailVerified: boolean
}

/** Verified addresses first, because anyone can enter an unverified one. */
const selectByEmail = statement<{ id: string }>(
  `SELECT id FROM users
   WHERE instance = $instance AND ${hasEmail} AND kind = 'human' AND org = $orgId
   ORDER BY email_verified DESC, id LIMIT 20`,
)

/** A user from a provider without a linked account. */
type ProviderUser = {
  readonly idpId: string
  /** The organization in which an account would be created. */
  readonly orgId: string
  readonly email: string
  readonly userName: string
}

/**
 * Users that can sign in with the provider and have the same address or login name: the address
 * holder of the instance, and users of the organization that the user would join. Addresses that
 * other organizations entered don't prove ownership.
 */
export function findCandidates(cx: Cx, arrival: ProviderUser): readonly Candidate[] {
  const { idpId, email, userName } = arrival
  const named = userName === "" ? undefined : findByUserName(cx, userName)
  const found = [
    ...(email === "" ? [] : findByAddress(cx, arrival)),
    ...(named === undefined ? [] : [{ id: named, by: "username" as const, isAccepted: false }]),
  ]
  return found.flatMap(({ id, by, isAccepted }) => {
    const person = findHuman(cx, id)
    if (!person || !isProviderActiveFor(cx, idpId, id)) return []
    return [{ userId: id, by, emailVerified: isAccepted && person.email.verified }]
  })
}

/** `isAccepted`: whether the provider accepts who verified the address. */
function findByAddress(cx: Cx, { idpId, orgId, email }: ProviderUser) {
  const holder = findEmailHolder(cx, email)
  const ids = cx.store.all(cx, selectByEmail, { ...emailValues(email), orgId }).map(({ id }) => id)
  const isAtHome = findIdpById(cx, idpId)?.place === orgId || isOnlyOrg(cx)
  const all = holder === undefined || ids.includes(holder) ? ids : [holder, ...ids]
  return all.map((id) => ({
    id,
    by: "email" as const,
    isAccepted: id === holder || (holder === undefined && isAtHome),
  }))
}

function findHuman(cx: Cx, id: string): Human | undefined {
  const state = cx.store.state(cx, user, id)
  return isAbsent(state) || state.kind !== "human" ? undefined : state
}
