import type { Cx, Draft, Receipt, Transaction } from "../../../store/index.ts"
import {
  codeWrongError,
  createCode,
  mustBeActive,
  mustBeModest,
  type NewCode,
  tryCode,
} from "../../credential/index.ts"
import { countRequest } from "../../lockout/index.ts"
import { factorsOf, type UserEvent, user } from "../../user-model/index.ts"
import { isPerson, personIn } from "../ready.ts"

/** What a registration link carries; its code is good once. */
export type PasskeyLink = {
  readonly codeId: string
  readonly code: string
  /** What our own link carries beside the code. */
  readonly key?: string
}

/**
 * Makes a code with which a person may register a passkey. It is sent to them, or returned to who
 * asks. The one before is worth nothing. Refuses for who may not sign in, and one too many.
 */
export async function createPasskeyLink(
  cx: Cx,
  userId: string,
  wish: { readonly returned: boolean; readonly urlTemplate?: string },
): Promise<PasskeyLink & { readonly expires: number; readonly receipt: Receipt }> {
  const code = createCode(cx, userId, { of: "passkey", ...wish })
  // One's own passkey one may add as one is; only where the mail leads is not one's own affair.
  mustBeModest(cx, userId, { ...code, returned: false })
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
  mustBeActive(cx, id, personIn(state))
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
 * Whether a person shows the code of their link, which stays good until the passkey is there. A
 * wrong one is counted in the same step.
 */
export function showsLink(tx: Transaction, userId: string, given: PasskeyLink): boolean {
  const state = tx.state(user, userId)
  const link = isPerson(state) ? factorsOf(state).link : undefined
  // What names another link is tried as a code that nobody has.
  const code = link?.codeId === given.codeId ? given.code : ""
  return tryCode(tx, userId, { of: "passkey", given: code, key: given.key })
}

export const linkWrongError = codeWrongError
