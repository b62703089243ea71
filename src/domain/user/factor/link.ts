import { sameText } from "../../../kernel/crypto/secret.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../../store/index.ts"
import { newCode } from "../../policy/index.ts"
import { factorsOf } from "../factors.ts"
import { urlTemplateOf } from "../field.ts"
import { type UserEvent, user } from "../model.ts"
import { countWrong, mayTryFactor } from "./check-count.ts"
import { isPerson, personIn } from "./ready.ts"

/** What a registration link carries; its code is good once. */
export type PasskeyLink = { readonly codeId: string; readonly code: string }

/**
 * Makes a code with which a person may register a passkey. It is sent to them, or returned to who
 * asks. The one before is worth nothing. Refuses for who may not sign in.
 */
export async function createPasskeyLink(
  cx: Cx,
  userId: string,
  { returned, urlTemplate = "" }: { readonly returned: boolean; readonly urlTemplate?: string },
): Promise<PasskeyLink & { readonly expires: number; readonly receipt: Receipt }> {
  const { plain: code, expires } = newCode(cx, "passwordless_init_code")
  const codeId = cx.ids.next()
  const sealed = cx.secrets.seal("seal", code, about(userId))
  const data = { codeId, expires, returned, urlTemplate: urlTemplateOf(urlTemplate) }
  const receipt = await addLink(cx, userId, { data, sealed })
  return { codeId, code, expires, receipt }
}

type NewLink = {
  readonly data: {
    readonly codeId: string
    readonly expires: number
    readonly returned: boolean
    readonly urlTemplate: string
  }
  readonly sealed: string
}

const type = "user.human.passwordless.initialization.code.added"

const addLink = user.command<NewLink>((state, { data, sealed }) => {
  if (personIn(state).status !== "active") {
    throw new Fault("failed_precondition", "user.not_active", "the user is locked or deactivated")
  }
  const added: Draft<UserEvent> = { type, data, private: { sealed }, erase: { types: [type] } }
  return [added]
})

/**
 * Whether a person shows the code of their link, which stays good until the passkey is there. A
 * wrong one is counted in the same step.
 */
export function showsLink(tx: Transaction, userId: string, given: PasskeyLink): boolean {
  mayTryFactor(tx, userId)
  const state = tx.state(user, userId)
  const link = isPerson(state) ? factorsOf(state).link : undefined
  const plain =
    link && tx.now < link.expires && link.codeId === given.codeId
      ? tx.secrets.open("seal", link.sealed, about(userId))
      : undefined
  if (plain !== undefined && sameText(plain, given.code.trim())) return true
  countWrong(tx, userId, "passkey")
  return false
}

/** The code that a person's link was made with last, for the message that carries it. */
export function sentLink(
  cx: Cx,
  userId: string,
): { readonly plain: string; readonly expires: number; readonly codeId: string } | undefined {
  const state = cx.store.state(cx, user, userId)
  const link = isPerson(state) ? factorsOf(state).link : undefined
  const plain = link && cx.secrets.open("seal", link.sealed, about(userId))
  return link && plain !== undefined ? { plain, ...link } : undefined
}

const about = (userId: string): string => `user/${userId}/passkey_link`

export const linkWrongError = () =>
  new Fault(
    "invalid_argument",
    "user.code_wrong",
    "the code is wrong or no longer good; ask for a new one",
  )
