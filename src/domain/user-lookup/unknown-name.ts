import { type Cx, cached, statement } from "../../store/index.ts"
import { orgOfProvenDomain } from "../org/index.ts"
import { login, policyOf } from "../policy/index.ts"
import { domainInName, user } from "../user-model/index.ts"
import { findByLoginName } from "./find-name.ts"

/**
 * Whether to say that a login name is nobody's (`ignore_unknown_usernames`). The policy is that of
 * the organization whose domain the name ends in, else of the one that the request is for: both are
 * known without looking for the user. `home` is the latter; there, users of others are unknown.
 */
export function isUnknownName(cx: Cx, loginName: string, home?: string): boolean {
  const named = orgNamedIn(cx, loginName)
  if (hidesNames(cx, named ?? home)) return false
  const userId = findByLoginName(cx, loginName)
  if (userId === undefined) return true
  return named === undefined && home !== undefined && ownerOf(cx, userId) !== home
}

/** The organization whose domain a login name ends in, whether a user has the name or not. */
export const orgNamedIn = (cx: Cx, loginName: string): string | undefined =>
  orgOfProvenDomain(cx, domainInName(loginName))

/** A name without any organization may be a user of each: one that hides its users hides it. */
function hidesNames(cx: Cx, orgId: string | undefined): boolean {
  if (orgId !== undefined) return policyOf(cx, orgId, login).ignoreUnknownUsernames
  return policyOf(cx, "", login).ignoreUnknownUsernames || isSomeHiding(cx)
}

const ownerOf = (cx: Cx, userId: string): string => cx.store.receipt(cx, user, userId)?.owner ?? ""

/** With more organizations than this, their policies are not looked at, and names stay hidden. */
const orgsMax = 1000

const some = statement<{ readonly id: string }>(
  `SELECT id FROM orgs WHERE instance = $instance LIMIT ${orgsMax + 1}`,
)

const isSomeHiding = cached(
  (cx: Cx): boolean => {
    const orgs = cx.store.all(cx, some, {})
    const hides = ({ id }: { readonly id: string }) =>
      policyOf(cx, id, login).ignoreUnknownUsernames
    return orgs.length > orgsMax || orgs.some(hides)
  },
  ["policy", "org"],
)
