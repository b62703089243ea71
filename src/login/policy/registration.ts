import { instance } from "../../domain/instance/index.ts"
import { isOrgActive, orgOfProvenDomain } from "../../domain/org/index.ts"
import { login, policyOf } from "../../domain/policy/index.ts"
import { restrictionsOf } from "../../domain/quota/index.ts"
import type { Cx } from "../../store/index.ts"

/**
 * The organisation that somebody joins who makes an account for themself: the one that a request is
 * for, else the default one. Undefined where it lets nobody.
 */
export function registrationHome(cx: Cx, home: string | undefined): string | undefined {
  const orgId = home ?? cx.store.state(cx, instance, cx.instance).defaultOrgId
  return mayJoin(cx, orgId) ? orgId : undefined
}

function mayJoin(cx: Cx, orgId: string): boolean {
  if (orgId === "" || !isOrgActive(cx, orgId)) return false
  const { allowRegister, allowUsernamePassword } = policyOf(cx, orgId, login)
  return allowRegister && allowUsernamePassword
}

/** Whether whoever has no account may make one here, where no application names an organization. */
export const isRegistrationOpen = (cx: Cx): boolean => registrationHome(cx, undefined) !== undefined

/** Whether whoever makes an account may begin an organisation of their own with it. */
export const mayFound = (cx: Cx, home: string | undefined): boolean =>
  home === undefined &&
  !restrictionsOf(cx).disallowPublicOrgRegistration &&
  isFoundable(cx, registrationHome(cx, home))

/** Nobody gets past the approval of others by beginning an organization. */
const isFoundable = (cx: Cx, orgId: string | undefined): boolean =>
  orgId !== undefined && !policyOf(cx, orgId, login).requireSignUpApproval

/**
 * Whether an account that was asked for may still be made: what was open days ago, when the code
 * was sent, may be closed by now. `isFounder`: with an organisation of its own.
 */
export const mayStillRegister = (
  cx: Cx,
  { orgId, isFounder }: { readonly orgId: string; readonly isFounder: boolean },
): boolean => (isFounder ? mayFound(cx, undefined) : mayJoin(cx, orgId))

/**
 * Where somebody joins who has an address. One that ends in a domain that an organisation has
 * proven to be its own is that one's to give: who has it joins that one, where its policy lets
 * people find it and join it. What is held on trust takes nobody in and keeps nobody out: anybody
 * can say that a domain is theirs.
 */
export function homeOfAddress(
  cx: Cx,
  { email, home }: { readonly email: string; readonly home: string | undefined },
): string | undefined {
  const usual = registrationHome(cx, home)
  const domain = email.slice(email.lastIndexOf("@") + 1)
  const owner = orgOfProvenDomain(cx, domain)
  if (owner === undefined || owner === usual) return usual
  if (home !== undefined || !policyOf(cx, owner, login).allowDomainDiscovery) return undefined
  return mayJoin(cx, owner) ? owner : undefined
}
