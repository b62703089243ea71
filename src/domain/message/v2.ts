import { share } from "../../api/method.ts"
import { MessageService, MessageStatus } from "../../gen/core/message/v2/message_service_pb.ts"
import { pageOf } from "../../kernel/page.ts"
import { at, meaning, pagination } from "../../protocol/api/answer.ts"
import type { Cx } from "../../store/index.ts"
import { searchMessages, sendAgain, viewMessage } from "./commands.ts"
import { message } from "./model.ts"
import { plainOf } from "./send.ts"
import type { MessageRow } from "./view.ts"
import { messagesWritten } from "./written.ts"

export const v2 = share<Cx>()(MessageService, {
  listMessages: async (req, cx) => {
    const { userId, organizationId: orgId } = req
    const { is: status } = meaning(asked, req.status)
    await messagesWritten(cx)
    const found = await searchMessages(cx, { page: pageOf(req.pagination), userId, orgId, status })
    return {
      pagination: pagination(found),
      messages: found.rows.map((row) => toMessage(cx, row)),
    }
  },
  viewMessage: async (req, cx) => {
    const content = await viewMessage(cx, req)
    const { channel } = cx.store.state(cx, message, req.messageId)
    return { subject: content.subject, text: plainOf(channel, content), link: content.link }
  },
  sendMessageAgain: async (req, cx) => ({ changeDate: at((await sendAgain(cx, req)).changed) }),
})

const toMessage = (cx: Cx, row: MessageRow) => ({
  id: row.id,
  userId: row.user_id,
  kind: row.kind,
  channel: row.channel,
  recipient: cx.store.state(cx, message, row.id).to,
  status: statuses[row.status],
  error: row.error,
  creationDate: at(row.created),
  changeDate: at(row.changed),
})

const statuses = {
  queued: MessageStatus.QUEUED,
  sent: MessageStatus.SENT,
  failed: MessageStatus.FAILED,
  obsolete: MessageStatus.OBSOLETE,
} as const

/** Nothing asks for all. */
const asked: Readonly<Record<number, { readonly is?: MessageRow["status"] }>> = {
  [MessageStatus.UNSPECIFIED]: {},
  [MessageStatus.QUEUED]: { is: "queued" },
  [MessageStatus.SENT]: { is: "sent" },
  [MessageStatus.FAILED]: { is: "failed" },
  [MessageStatus.OBSOLETE]: { is: "obsolete" },
}
