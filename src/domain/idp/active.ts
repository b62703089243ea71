import type { Cx } from "../../store/index.ts"
import { findPolicy, isApplicable, isOrgPolicyApplied, login, policyFor } from "../policy/index.ts"
import { findIdpById, type IdpOwner, idpsOf, type OwnedIdp } from "./commands.ts"

/** Providers that users of an organization, or of the instance, can sign in with. */
export const listActiveIdps = (cx: Cx, orgId: IdpOwner): readonly OwnedIdp[] =>
  findIdps(cx, activeLinks(cx, orgId))

/** Providers that a user can sign in with; see `activeLinksFor`. */
export const listActiveIdpsFor = (cx: Cx, member: UserOfOrg): readonly OwnedIdp[] =>
  findIdps(cx, activeLinksFor(cx, member))

/** Whether users of an organization can sign in with a provider; see `listActiveIdps`. */
export const isActiveIdp = (cx: Cx, orgId: string, id: string): boolean =>
  activeLinks(cx, orgId).includes(id)

/** Whether a user can sign in with a provider; see `activeLinksFor`. */
export const isActiveIdpFor = (cx: Cx, member: UserOfOrg, id: string): boolean =>
  activeLinksFor(cx, member).includes(id)

const findIdps = (cx: Cx, ids: readonly string[]): readonly OwnedIdp[] =>
  ids.flatMap((id) => findIdpById(cx, id) ?? [])

function activeLinks(cx: Cx, orgId: IdpOwner): readonly string[] {
  const { values, isDefault } = findPolicy(cx, orgId, login)
  if (!values.allowExternalIdp) return []
  return idpsOf(cx, isDefault ? undefined : orgId).links
}

type UserOfOrg = { readonly userId: string; readonly orgId: string }

/**
 * IDs of providers that a user can sign in with. The login policy and links of an organization
 * don't apply to users who outrank their last editor; the instance's apply instead.
 */
function activeLinksFor(cx: Cx, { userId, orgId }: UserOfOrg): readonly string[] {
  if (!policyFor(cx, { userId, orgId }, login).allowExternalIdp) return []
  const { linksAuthor = "", links } = idpsOf(cx, orgId)
  const isOwn =
    !findPolicy(cx, orgId, login).isDefault &&
    isOrgPolicyApplied(cx, { userId, orgId }, login) &&
    (linksAuthor === "" || isApplicable(cx, userId, [linksAuthor]))
  return isOwn ? links : idpsOf(cx, undefined).links
}
