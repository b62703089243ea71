import { isSameEmail } from "../../protocol/user-field.ts"
import type { Cx, Decision } from "../../store/index.ts"
import { isTrustedForAddresses } from "../idp/index.ts"
import { domainClaim, hasProvenDomain, isOnlyOrg, isProvenDomain, org } from "../org/index.ts"
import { domainInName } from "./domain-in-name.ts"
import { user } from "./model.ts"
import { readerOf } from "./read.ts"
import { hasLeft } from "./state.ts"
import type { Verifier } from "./verifier.ts"

type Read = Pick<Decision, "state">

/** An address of a user of an organization, and who verified it. */
type Verification = {
  readonly orgId: string
  /** Empty for a phone number, which is in no domain. */
  readonly email: string
  readonly verifier?: Verifier | undefined
}

/**
 * Whether everybody accepts who verified an address, not only the applications of the user's own
 * organization: the user, somebody with a permission on the instance, a provider of the instance
 * that is trusted for addresses, or the organization that has proven the domain.
 */
export function isAcceptedEverywhere(read: Read, { orgId, email, verifier }: Verification) {
  if (verifier === undefined) return false
  if (verifier.by === "user" || verifier.by === "instance") return true
  if (verifier.by === "provider" && isTrustedForAddresses(read, verifier.idpId)) return true
  return hasProvenDomain(read.state(org, orgId), domainInName(email))
}

/**
 * Whether an address may be stored as verified. In a domain that an organization has proven, the
 * administrators, imports and providers of another one can't verify addresses.
 */
export function mayVerify(cx: Decision, verification: Verification): boolean {
  if (isAcceptedEverywhere(cx, verification)) return true
  const domain = domainInName(verification.email)
  return cx.holder(domainClaim, domain)?.id === verification.orgId || !isProvenDomain(cx, domain)
}

/**
 * Whether an address is a user's for certain, so that a message there can contain what the account
 * has chosen: names that are sent to somebody else are a way to write to strangers.
 */
export function isMailSafe(cx: Cx, id: string, to: string): boolean {
  const state = cx.store.state(cx, user, id)
  if (hasLeft(state) || state.kind !== "human") return false
  const { email, phone } = state
  const orgId = cx.store.receipt(cx, user, id)?.owner ?? ""
  const isAccepted = (verifier: Verifier | undefined, address: string) =>
    isOnlyOrg(cx) || isAcceptedEverywhere(readerOf(cx), { orgId, email: address, verifier })
  return (
    (isSameEmail(email.address, to) && email.verified && isAccepted(email.verifier, to)) ||
    (phone?.number === to && phone.verified && isAccepted(phone.verifier, ""))
  )
}
