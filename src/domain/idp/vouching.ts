import type { Transaction } from "../../store/index.ts"
import { appliesTo, type Reading } from "../policy/index.ts"
import { placeId } from "./commands.ts"
import { idps } from "./model.ts"

/** Whether a provider is there still, of which it is known whose it is (empty: the instance's). */
export const isIdpThere = (
  { state }: Pick<Transaction, "state">,
  { idpId, idpOrg }: { readonly idpId: string; readonly idpOrg: string },
): boolean => Object.hasOwn(state(idps, placeId(idpOrg || undefined)).all, idpId)

/**
 * Whether a provider may vouch for a user: it still exists, and one of an organization does not
 * vouch for those who outrank one of its authors.
 */
export function vouchesFor(
  read: Reading,
  userId: string,
  { idpId, idpOrg }: { readonly idpId: string; readonly idpOrg: string },
): boolean {
  const id = placeId(idpOrg || undefined)
  const { all } = "store" in read ? read.store.state(read, idps, id) : read.state(idps, id)
  const idp = Object.hasOwn(all, idpId) ? all[idpId] : undefined
  return idp !== undefined && (idpOrg === "" || appliesTo(read, userId, idp.authors))
}
