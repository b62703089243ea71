import { isAmongCallers } from "../../kernel/context.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Page } from "../../kernel/page.ts"
import { foldEmail } from "../../protocol/email.ts"
import { type Cx, type Receipt, search } from "../../store/index.ts"
import { noteViewed } from "../credential/index.ts"
import { type Content, codeGone, contentOf, userCodeOf } from "./content.ts"
import { isFull, type Message, message, messageCount } from "./model.ts"
import { type MessageRow, messages } from "./view.ts"

type Wanted = {
  readonly page: Page
  /** Empty for everybody that the caller may see. */
  readonly userId: string
  /** Empty for every organisation. */
  readonly orgId: string
  readonly status: Message["status"] | undefined
}

/** Messages to those whom the caller may see. */
export const searchMessages = (cx: Cx, { page, userId, orgId, status }: Wanted) =>
  search<MessageRow>(cx, messages, {
    page,
    filters: [
      ...(userId === "" ? [] : [{ equals: "user_id", value: userId }]),
      ...(orgId === "" ? [] : [{ equals: "org", value: orgId }]),
      ...(status === undefined ? [] : [{ equals: "status", value: status }]),
    ],
  })

type Named = { readonly userId: string; readonly messageId: string }

/**
 * Shows what a message says now, and keeps that it was looked at. Whoever could read what was
 * written to themselves would prove that an address is theirs which is not. A code that is shown
 * proves no more from then on than one that was returned to the caller; a sign-in code is never
 * shown, because whoever has it can sign in as the user.
 */
export async function viewMessage(cx: Cx, { userId, messageId }: Named): Promise<Content> {
  if (isAmongCallers(cx, userId)) {
    throw new Fault(
      "permission_denied",
      "message.own",
      "nobody looks at what was written to themselves; read it where it arrives",
    )
  }
  const state = messageTo(cx.store.state(cx, message, messageId), userId)
  if (state.sealed !== "") throw signInCodeError()
  const content = contentOf(cx, state)
  if ("over" in content) throw overError(content.over)
  await cx.store.transact(cx, (tx) => {
    const { codeExpires: expires, ...viewed } = messageTo(tx.state(message, messageId), userId)
    const of = userCodeOf(viewed)
    if (of && !noteViewed(tx, userId, { of, expires })) throw overError(codeGone)
    tx.append(message, messageId, [{ type: "message.viewed", data: {} }])
  })
  return content
}

/** Queues a message once more; it counts like another to its address. */
export async function sendAgain(cx: Cx, { userId, messageId }: Named): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    const state = messageTo(tx.state(message, messageId), userId)
    if (state.status === "queued") {
      throw new Fault(
        "failed_precondition",
        "message.queued",
        "it is on its way already; without an active provider it waits for one",
      )
    }
    const address = tx.secrets.hash(foldEmail(state.to), "message_address")
    if (isFull(tx.state(messageCount, address), tx.now)) {
      throw new Fault(
        "resource_exhausted",
        "message.too_many",
        "too many messages went to this address; wait an hour",
      )
    }
    tx.append(messageCount, address, [{ type: "message.counted", data: {} }])
    tx.append(message, messageId, [{ type: "message.requeued", data: {} }])
  })
  return step.receipt(message, messageId)
}

/** A message to this person, who is still there; to anybody else it is none. */
function messageTo(state: Message, userId: string): Message {
  if (state.status !== "absent" && state.userId === userId && state.to !== "") return state
  throw new Fault("not_found", "message.missing", "there is no such message to this person")
}

const overError = (reason: string) => new Fault("failed_precondition", "message.over", reason)

const signInCodeError = () =>
  new Fault(
    "permission_denied",
    "message.sign_in_code",
    "codes and links to sign in are shown to nobody but the user; send an invitation or a link " +
      "to set the password instead",
  )
