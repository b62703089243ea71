import { instance } from "../../domain/instance/index.ts"
import { findOrgByVerifiedDomain, isOrgActive } from "../../domain/org/index.ts"
import { login, policyOf } from "../../domain/policy/index.ts"
import { restrictionsOf } from "../../domain/quota/index.ts"
import type { Cx } from "../../store/index.ts"

/**
 * The organization that a newly registered user joins: that of the request, otherwise the default
 * one. Undefined if it does not allow registration.
 */
export function registrationOrgOf(cx: Cx, home: string | undefined): string | undefined {
  const orgId = home ?? cx.store.state(cx, instance, cx.instance).defaultOrgId
  return allowsJoining(cx, orgId) ? orgId : undefined
}

function allowsJoining(cx: Cx, orgId: string): boolean {
  if (orgId === "" || !isOrgActive(cx, orgId)) return false
  const { allowRegister, allowUsernamePassword } = policyOf(cx, orgId, login)
  return allowRegister && allowUsernamePassword
}

/** Whether users can register here without an application that names an organization. */
export const isRegistrationOpen = (cx: Cx): boolean =>
  registrationOrgOf(cx, undefined) !== undefined

/** Whether a registering user can create an organization. */
export const canCreateOrg = (cx: Cx, home: string | undefined): boolean =>
  home === undefined &&
  !restrictionsOf(cx).disallowPublicOrgRegistration &&
  allowsOrgCreation(cx, registrationOrgOf(cx, home))

/** Creating an organization must not bypass the approval of new users. */
const allowsOrgCreation = (cx: Cx, orgId: string | undefined): boolean =>
  orgId !== undefined && !policyOf(cx, orgId, login).requireSignUpApproval

/**
 * Whether a requested account can still be created: registration may have been closed since the
 * code was sent. `isFounder`: the user creates an organization.
 */
export const canStillRegister = (
  cx: Cx,
  { orgId, isFounder }: { readonly orgId: string; readonly isFounder: boolean },
): boolean => (isFounder ? canCreateOrg(cx, undefined) : allowsJoining(cx, orgId))

/**
 * The organization that a user with this address joins. An address in a verified domain of an
 * organization belongs to that organization: the user joins it if its policy allows discovery and
 * registration. Unverified domains have no effect, because anyone can add them.
 */
export function orgOfAddress(
  cx: Cx,
  { email, home }: { readonly email: string; readonly home: string | undefined },
): string | undefined {
  const defaultOrg = registrationOrgOf(cx, home)
  const domain = email.slice(email.lastIndexOf("@") + 1)
  const owner = findOrgByVerifiedDomain(cx, domain)
  if (owner === undefined || owner === defaultOrg) return defaultOrg
  if (home !== undefined || !policyOf(cx, owner, login).allowDomainDiscovery) return undefined
  return allowsJoining(cx, owner) ? owner : undefined
}
