import { type Cx, cacheQuery, statement } from "../../store/index.ts"
import { findOrgByVerifiedDomain } from "../org/index.ts"
import { login, policyOf } from "../policy/index.ts"
import { domainOfName, user } from "../user-model/index.ts"
import { findByLoginName } from "./find-name.ts"

/**
 * Whether to disclose that a login name is unknown (`ignore_unknown_usernames`). The policy is that
 * of the organization whose domain the name ends in, otherwise of the organization of the request
 * (`home`); both are known without finding the user. With `home`, users of other organizations
 * count as unknown.
 */
export function isUnknownNameDisclosed(cx: Cx, loginName: string, home?: string): boolean {
  const named = findOrgOfName(cx, loginName)
  if (isNameHidden(cx, named ?? home)) return false
  const userId = findByLoginName(cx, loginName)
  if (userId === undefined) return true
  return named === undefined && home !== undefined && ownerOf(cx, userId) !== home
}

/** The organization whose domain a login name ends in, whether or not the name exists. */
export const findOrgOfName = (cx: Cx, loginName: string): string | undefined =>
  findOrgByVerifiedDomain(cx, domainOfName(loginName))

/**
 * A name without an organization could belong to any of them, so it is hidden if any hides its
 * users.
 */
function isNameHidden(cx: Cx, orgId: string | undefined): boolean {
  if (orgId !== undefined) return policyOf(cx, orgId, login).ignoreUnknownUsernames
  return policyOf(cx, "", login).ignoreUnknownUsernames || isAnyOrgHiding(cx)
}

const ownerOf = (cx: Cx, userId: string): string => cx.store.receipt(cx, user, userId)?.owner ?? ""

/** With more organizations than this their policies are not checked, and names stay hidden. */
const checkedOrgsMax = 1000

const selectOrgs = statement<{ readonly id: string }>(
  `SELECT id FROM orgs WHERE instance = $instance LIMIT ${checkedOrgsMax + 1}`,
)

const isAnyOrgHiding = cacheQuery(
  (cx: Cx): boolean => {
    const orgs = cx.store.all(cx, selectOrgs, {})
    const hides = ({ id }: { readonly id: string }) =>
      policyOf(cx, id, login).ignoreUnknownUsernames
    return orgs.length > checkedOrgsMax || orgs.some(hides)
  },
  ["policy", "org"],
)
