import type { Cx, Draft, Receipt, Transaction } from "../../../store/index.ts"
import {
  attemptCode,
  createCode,
  invalidCodeError,
  type NewCode,
  requireActive,
  requireSafeDelivery,
} from "../../credential/index.ts"
import { countRequest } from "../../lockout/index.ts"
import { factorsOf, type UserEvent, user } from "../../user-model/index.ts"
import { isHuman, requireHuman } from "../ready.ts"

/** A passkey registration link; its code can be used once. */
export type PasskeyLink = {
  readonly codeId: string
  readonly code: string
  /** The key parameter of this server's link. */
  readonly key?: string
}

/**
 * Creates a code with which the user can register a passkey. The code is sent to the user or
 * returned to the caller, and invalidates the previous one. Rejects users who can't sign in, and
 * too many codes.
 */
export async function createPasskeyLink(
  cx: Cx,
  userId: string,
  options: { readonly returned: boolean; readonly urlTemplate?: string },
): Promise<PasskeyLink & { readonly expires: number; readonly receipt: Receipt }> {
  const code = createCode(cx, userId, { of: "passkey", ...options })
  // Users can register passkeys for themselves without a code, so only the link target is checked.
  requireSafeDelivery(cx, userId, { ...code, returned: false })
  const codeId = cx.ids.next()
  const step = await cx.store.transact(cx, (tx) => {
    addLink.within(tx, userId, { codeId, code })
    countRequest(tx, userId, "passkey")
  })
  return { codeId, code: code.plain, expires: code.expires, receipt: step.receipt(user, userId) }
}

const type = "user.human.passwordless.initialization.code.added"

type NewLink = { readonly codeId: string; readonly code: NewCode }

const addLink = user.command<NewLink>((state, { codeId, code }, cx, id) => {
  requireActive(cx, id, requireHuman(state))
  const { sealed, expires, returned, urlTemplate } = code
  const added: Draft<UserEvent> = {
    type,
    data: { codeId, expires, returned, urlTemplate },
    private: { sealed },
    erase: { types: [type] },
  }
  return [added]
})

/**
 * Whether the code of the link is correct; it stays valid until the passkey is registered. A wrong
 * code is counted in the same transaction.
 */
export function isLinkCodeValid(tx: Transaction, userId: string, submitted: PasskeyLink): boolean {
  const state = tx.state(user, userId)
  const link = isHuman(state) ? factorsOf(state).link : undefined
  // An unknown link ID counts as a wrong code.
  const code = link?.codeId === submitted.codeId ? submitted.code : ""
  return attemptCode(tx, userId, { of: "passkey", given: code, key: submitted.key })
}

export const linkInvalidError = invalidCodeError
