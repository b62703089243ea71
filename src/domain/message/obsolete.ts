import type { Cx } from "../../store/index.ts"
import { codeGone, isCodeGone } from "./content.ts"
import { type MessageEvent, message } from "./model.ts"
import { messagesTo } from "./view.ts"

/** Events after which a user, or who asked for an account, has no use for a code that was sent. */
export const codeUses = [
  "user.human.email.verified",
  "user.human.phone.verified",
  "user.human.invite.check.succeeded",
  "user.human.password.changed",
  "user.human.passwordless.initialization.code.used",
  "registration.completed",
  "registration.submitted",
] as const

/** What becomes of a message whose code nobody needs any more. */
export const obsolete = {
  type: "message.failed",
  data: { error: codeGone, isObsolete: true },
} as const satisfies Pick<Extract<MessageEvent, { type: "message.failed" }>, "type" | "data">

/**
 * Closes the messages to a user whose code was used, however it came to them: what did not arrive
 * is nothing that anybody has to mend then.
 */
export async function closeObsolete(cx: Cx, userId: string): Promise<void> {
  for (const id of messagesTo(cx, userId)) {
    if (!isObsolete(cx, id)) continue
    await cx.store.transact(cx, (tx) => {
      if (isOpen(tx.state(message, id))) tx.append(message, id, [obsolete])
    })
  }
}

const isObsolete = (cx: Cx, id: string): boolean => {
  const state = cx.store.state(cx, message, id)
  return isOpen(state) && isCodeGone(cx, state)
}

const isOpen = ({ status }: { readonly status: string }): boolean =>
  status === "queued" || status === "failed"
