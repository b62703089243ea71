import { Fault } from "../../kernel/fault.ts"
import type { Cx, Receipt } from "../../store/index.ts"
import { passwordOf } from "../credential/index.ts"
import { addLink, checkLink, type External, removeLink } from "../user-link/index.ts"
import { hasPasskey, linksOf, user } from "../user-model/index.ts"

/** Links an account elsewhere to a person, on the word of whoever may act for them. */
export async function linkUser(cx: Cx, userId: string, external: External): Promise<Receipt> {
  checkLink(cx, cx.store.receipt(cx, user, userId)?.owner ?? "", external)
  const step = await cx.store.transact(cx, (tx) => addLink(tx, userId, external))
  return step.receipt(user, userId)
}

type Named = { readonly idpId: string; readonly linkedUserId: string }

/** Takes a link away; nobody shuts themself out by it. */
export async function unlinkUser(
  cx: Cx,
  userId: string,
  { idpId, linkedUserId: externalId }: Named,
): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    removeLink(tx, userId, { idpId, externalId })
    const state = tx.state(user, userId)
    const isSelf = cx.caller.kind === "user" && cx.caller.userId === userId
    const hasOther = linksOf(state).length > 0 || passwordOf(state) !== null || hasPasskey(state)
    if (isSelf && !hasOther) throw lastWayError()
  })
  return step.receipt(user, userId)
}

const lastWayError = () =>
  new Fault(
    "failed_precondition",
    "user.last_way",
    "you sign in by this alone; set a password or register a passkey first",
  )
