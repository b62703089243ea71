import { Fault } from "../../kernel/fault.ts"
import type { Cx, Receipt } from "../../store/index.ts"
import { passwordOf } from "../credential/index.ts"
import { addLink, type ExternalAccount, removeLink, validateLink } from "../user-link/index.ts"
import { hasPasskey, linksOf, user } from "../user-model/index.ts"

/** Links an external account to a user, requested by someone with permission for the user. */
export async function linkUser(
  cx: Cx,
  userId: string,
  external: ExternalAccount,
): Promise<Receipt> {
  validateLink(cx, cx.store.receipt(cx, user, userId)?.owner ?? "", external)
  const step = await cx.store.transact(cx, (tx) => addLink(tx, userId, external))
  return step.receipt(user, userId)
}

type LinkRef = { readonly idpId: string; readonly linkedUserId: string }

/** Deletes a link; throws if it is the user's only sign-in method. */
export async function unlinkUser(
  cx: Cx,
  userId: string,
  { idpId, linkedUserId: externalId }: LinkRef,
): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    removeLink(tx, userId, { idpId, externalId })
    const state = tx.state(user, userId)
    const isSelf = cx.caller.kind === "user" && cx.caller.userId === userId
    const hasOther = linksOf(state).length > 0 || passwordOf(state) !== null || hasPasskey(state)
    if (isSelf && !hasOther) throw lastSignInMethodError()
  })
  return step.receipt(user, userId)
}

const lastSignInMethodError = () =>
  new Fault(
    "failed_precondition",
    "user.last_way",
    "this is your only sign-in method; set a password or register a passkey first",
  )
