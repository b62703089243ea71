import { queueNewDevice } from "../../domain/message/index.ts"
import { notification, policyFor } from "../../domain/policy/index.ts"
import { deviceOf, type Proof } from "../../domain/session/index.ts"
import { hasOwnWay, user } from "../../domain/user-model/index.ts"
import { browserNameOf } from "../../protocol/browser-name.ts"
import type { Cx, Transaction } from "../../store/index.ts"

type SignedInUser = { readonly userId: string; readonly proof: Proof | undefined }

/** The cookies of a browser say which people it knows. */
type DeviceContext = { readonly cx: Cx; readonly browserContext: Parameters<typeof deviceOf>[1] }

/**
 * Tells somebody by mail, where their organisation wants that, of a sign-in on a device that does
 * not know them, as a part of its step. Not who could not have signed in anywhere before, nor who
 * has just read a mail to sign in.
 */
export function queueNoticeOfNewDevice(
  tx: Transaction,
  { cx, browserContext }: DeviceContext,
  { userId, proof }: SignedInUser,
): void {
  if (proof?.kind === "magic_link") return
  if (!policyFor(tx, { userId, orgId: tx.owner(user, userId) }, notification).newDevice) return
  // As it was before this step, which may have made the account.
  if (!hasOwnWay(cx.store.state(cx, user, userId))) return
  if (deviceOf(cx, browserContext, userId) !== undefined) return
  queueNewDevice(tx, { userId, place: placeOf(cx) })
}

/** "Firefox, Windows, 203.0.113.7": what is known of where a call comes from, in no language. */
function placeOf({ from }: Pick<Cx, "from">): string {
  const { browser, system } = browserNameOf(from?.userAgent ?? "")
  return [browser, system, from?.address].filter((part) => part !== undefined).join(", ")
}
