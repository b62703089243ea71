import { isSameEmail } from "../../protocol/user-field.ts"
import type { Cx, DecisionContext } from "../../store/index.ts"
import { isTrustedForAddresses } from "../idp/index.ts"
import { domainClaim, hasProvenDomain, isOnlyOrg, isProvenDomain, org } from "../org/index.ts"
import { domainOfName } from "./domain-in-name.ts"
import { user } from "./model.ts"
import { createReader } from "./read.ts"
import { isAbsent } from "./state.ts"
import type { Verifier } from "./verifier.ts"

type StateReader = Pick<DecisionContext, "state">

/** An address of a user of an organization, and who verified it. */
type Verification = {
  readonly orgId: string
  /** Empty for a phone number, which has no domain. */
  readonly email: string
  readonly verifier?: Verifier | undefined
}

/**
 * Whether every application accepts who verified an address, not only those of the user's
 * organization: the user, a caller with a permission on the instance, an instance provider that is
 * trusted for addresses, or the organization that has verified the domain.
 */
export function isAcceptedEverywhere(read: StateReader, { orgId, email, verifier }: Verification) {
  if (verifier === undefined) return false
  if (verifier.by === "user" || verifier.by === "instance") return true
  if (verifier.by === "provider" && isTrustedForAddresses(read, verifier.idpId)) return true
  return hasProvenDomain(read.state(org, orgId), domainOfName(email))
}

/**
 * Whether an address can be stored as verified. In a verified domain of an organization,
 * administrators, imports and providers of other organizations can't verify addresses.
 */
export function canVerify(cx: DecisionContext, verification: Verification): boolean {
  if (isAcceptedEverywhere(cx, verification)) return true
  const domain = domainOfName(verification.email)
  return cx.holder(domainClaim, domain)?.id === verification.orgId || !isProvenDomain(cx, domain)
}

/**
 * Whether an address certainly belongs to the user, so that messages can contain names chosen by
 * the account. Otherwise they could be abused to write to strangers.
 */
export function isMailSafe(cx: Cx, id: string, to: string): boolean {
  const state = cx.store.state(cx, user, id)
  if (isAbsent(state) || state.kind !== "human") return false
  const { email, phone } = state
  const orgId = cx.store.receipt(cx, user, id)?.owner ?? ""
  const isAccepted = (verifier: Verifier | undefined, address: string) =>
    isOnlyOrg(cx) || isAcceptedEverywhere(createReader(cx), { orgId, email: address, verifier })
  return (
    (isSameEmail(email.address, to) && email.verified && isAccepted(email.verifier, to)) ||
    (phone?.number === to && phone.verified && isAccepted(phone.verifier, ""))
  )
}
