import { queueNewDevice } from "../../domain/message/index.ts"
import { notification, policyFor } from "../../domain/policy/index.ts"
import { findDeviceId, type SignInProof } from "../../domain/session/index.ts"
import { hasOwnCredential, user } from "../../domain/user-model/index.ts"
import { parseBrowserName } from "../../protocol/browser-name.ts"
import type { Cx, Transaction } from "../../store/index.ts"

type SignedInUser = { readonly userId: string; readonly proof: SignInProof | undefined }

/** Cookies of a browser contain the users that it remembers. */
type DeviceContext = {
  readonly cx: Cx
  readonly browserContext: Parameters<typeof findDeviceId>[1]
}

/**
 * Queues an email about a sign-in on a new device, if the user's organization has enabled it; part
 * of the transaction that signs in. Not for users who could not have signed in before, nor for
 * those who have just used an emailed link or code.
 */
export function queueNoticeOfNewDevice(
  tx: Transaction,
  { cx, browserContext }: DeviceContext,
  { userId, proof }: SignedInUser,
): void {
  if (proof?.kind === "magic_link") return
  if (!policyFor(tx, { userId, orgId: tx.owner(user, userId) }, notification).newDevice) return
  // Reads the state before this transaction, which may have created the account.
  if (!hasOwnCredential(cx.store.state(cx, user, userId))) return
  if (findDeviceId(cx, browserContext, userId) !== undefined) return
  queueNewDevice(tx, { userId, place: describeClient(cx) })
}

/**
 * "Firefox, Windows, 203.0.113.7": browser, system and address of the call, without translation.
 */
function describeClient({ from }: Pick<Cx, "from">): string {
  const { browser, system } = parseBrowserName(from?.userAgent ?? "")
  return [browser, system, from?.address].filter((part) => part !== undefined).join(", ")
}
