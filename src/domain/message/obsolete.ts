import type { Cx } from "../../store/index.ts"
import { codeObsoleteText, isCodeObsolete } from "./content.ts"
import { type MessageEvent, message } from "./model.ts"
import { messagesTo } from "./view.ts"

/** Events that make the codes sent to a user or a registrant obsolete. */
export const codeUseEvents = [
  "user.human.email.verified",
  "user.human.phone.verified",
  "user.human.invite.check.succeeded",
  "user.human.password.changed",
  "user.human.passwordless.initialization.code.used",
  "registration.completed",
  "registration.submitted",
] as const

/** The event for a message whose code is no longer needed. */
export const obsoleteEvent = {
  type: "message.failed",
  data: { error: codeObsoleteText, isObsolete: true },
} as const satisfies Pick<Extract<MessageEvent, { type: "message.failed" }>, "type" | "data">

/**
 * Closes the messages to a user whose code was used, so that failed deliveries need no attention.
 */
export async function closeObsolete(cx: Cx, userId: string): Promise<void> {
  for (const id of messagesTo(cx, userId)) {
    if (!isObsolete(cx, id)) continue
    await cx.store.transact(cx, (tx) => {
      if (isOpen(tx.state(message, id))) tx.append(message, id, [obsoleteEvent])
    })
  }
}

const isObsolete = (cx: Cx, id: string): boolean => {
  const state = cx.store.state(cx, message, id)
  return isOpen(state) && isCodeObsolete(cx, state)
}

const isOpen = ({ status }: { readonly status: string }): boolean =>
  status === "queued" || status === "failed"
