import { isAmongCallers } from "../../kernel/context.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Page } from "../../kernel/page.ts"
import { foldEmail } from "../../protocol/email.ts"
import { type Cx, type Receipt, search } from "../../store/index.ts"
import { recordCodeViewed } from "../credential/index.ts"
import { type Content, codeObsoleteText, contentOf, userCodeOf } from "./content.ts"
import { isLimitReached, type Message, message, messageCount } from "./model.ts"
import { type MessageRow, messages } from "./view.ts"

type MessageQuery = {
  readonly page: Page
  /** Empty for all users that the caller can see. */
  readonly userId: string
  /** Empty for all organizations. */
  readonly orgId: string
  readonly status: Message["status"] | undefined
}

/** Messages to users that the caller can see. */
export const searchMessages = (cx: Cx, { page, userId, orgId, status }: MessageQuery) =>
  search<MessageRow>(cx, messages, {
    page,
    filters: [
      ...(userId === "" ? [] : [{ equals: "user_id", value: userId }]),
      ...(orgId === "" ? [] : [{ equals: "org", value: orgId }]),
      ...(status === undefined ? [] : [{ equals: "status", value: status }]),
    ],
  })

type MessageRef = { readonly userId: string; readonly messageId: string }

/**
 * Returns the current content of a message and records the view. Users can't view messages to
 * themselves, because they could confirm an address that is not theirs. A code that was viewed no
 * longer proves an address, like one that was returned to the caller. Sign-in codes are never
 * shown, because anyone who has one can sign in as the user.
 */
export async function viewMessage(cx: Cx, { userId, messageId }: MessageRef): Promise<Content> {
  if (isAmongCallers(cx, userId)) {
    throw new Fault(
      "permission_denied",
      "message.own",
      "permission denied: users can't view messages to themselves",
    )
  }
  const state = requireMessage(cx.store.state(cx, message, messageId), userId)
  if (state.sealed !== "") throw signInCodeError()
  const content = contentOf(cx, state)
  if ("over" in content) throw obsoleteError(content.over)
  await cx.store.transact(cx, (tx) => {
    const { codeExpires: expires, ...viewed } = requireMessage(tx.state(message, messageId), userId)
    const of = userCodeOf(viewed)
    if (of && !recordCodeViewed(tx, userId, { of, expires })) throw obsoleteError(codeObsoleteText)
    tx.append(message, messageId, [{ type: "message.viewed", data: {} }])
  })
  return content
}

/** Queues a message again; it counts toward the limit of its address. */
export async function requeueMessage(cx: Cx, { userId, messageId }: MessageRef): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    const state = requireMessage(tx.state(message, messageId), userId)
    if (state.status === "queued") {
      throw new Fault(
        "failed_precondition",
        "message.queued",
        "the message is already queued; without an active provider, it waits for one",
      )
    }
    const address = tx.secrets.hash(foldEmail(state.to), "message_address")
    if (isLimitReached(tx.state(messageCount, address), tx.now)) {
      throw new Fault(
        "resource_exhausted",
        "message.too_many",
        "too many messages to this address; try again in an hour",
      )
    }
    tx.append(messageCount, address, [{ type: "message.counted", data: {} }])
    tx.append(message, messageId, [{ type: "message.requeued", data: {} }])
  })
  return step.receipt(message, messageId)
}

/** The message if it was sent to this user, who still exists; throws otherwise. */
function requireMessage(state: Message, userId: string): Message {
  if (state.status !== "absent" && state.userId === userId && state.to !== "") return state
  throw new Fault("not_found", "message.missing", "message not found")
}

const obsoleteError = (reason: string) => new Fault("failed_precondition", "message.over", reason)

const signInCodeError = () =>
  new Fault(
    "permission_denied",
    "message.sign_in_code",
    "permission denied: sign-in codes and links are shown only to the user; send an " +
      "invitation or a link to set a password instead",
  )
