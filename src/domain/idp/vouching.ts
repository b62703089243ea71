import type { Transaction } from "../../store/index.ts"
import { isApplicable, type RankReader } from "../policy/index.ts"
import { ownerStreamId } from "./commands.ts"
import { idps } from "./model.ts"

/** Whether a provider of the given owner (empty: the instance) still exists. */
export const idpExists = (
  { state }: Pick<Transaction, "state">,
  { idpId, idpOrg }: { readonly idpId: string; readonly idpOrg: string },
): boolean => Object.hasOwn(state(idps, ownerStreamId(idpOrg || undefined)).all, idpId)

/**
 * Whether a provider can vouch for a user: it must still exist, and a provider of an organization
 * can't vouch for users who outrank one of its authors.
 */
export function vouchesFor(
  read: RankReader,
  userId: string,
  { idpId, idpOrg }: { readonly idpId: string; readonly idpOrg: string },
): boolean {
  const id = ownerStreamId(idpOrg || undefined)
  const { all } = "store" in read ? read.store.state(read, idps, id) : read.state(idps, id)
  const idp = Object.hasOwn(all, idpId) ? all[idpId] : undefined
  return idp !== undefined && (idpOrg === "" || isApplicable(read, userId, idp.authors))
}
