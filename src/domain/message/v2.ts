import { bindHandlers } from "../../api/method.ts"
import { MessageService, MessageStatus } from "../../gen/core/message/v2/message_service_pb.ts"
import { parsePage } from "../../kernel/page.ts"
import { toPagination, toTimestamp, valueOfEnum } from "../../protocol/api/response.ts"
import type { Cx } from "../../store/index.ts"
import { requeueMessage, searchMessages, viewMessage } from "./commands.ts"
import { message } from "./model.ts"
import { plainTextOf } from "./send.ts"
import type { MessageRow } from "./view.ts"
import { waitForMessages } from "./written.ts"

export const v2 = bindHandlers<Cx>()(MessageService, {
  listMessages: async (req, cx) => {
    const { userId, organizationId: orgId } = req
    const { is: status } = valueOfEnum(statusFilters, req.status)
    await waitForMessages(cx)
    const found = await searchMessages(cx, {
      page: parsePage(req.pagination),
      userId,
      orgId,
      status,
    })
    return {
      pagination: toPagination(found),
      messages: found.rows.map((row) => toMessage(cx, row)),
    }
  },
  viewMessage: async (req, cx) => {
    const content = await viewMessage(cx, req)
    const { channel } = cx.store.state(cx, message, req.messageId)
    return { subject: content.subject, text: plainTextOf(channel, content), link: content.link }
  },
  sendMessageAgain: async (req, cx) => ({
    changeDate: toTimestamp((await requeueMessage(cx, req)).changed),
  }),
})

const toMessage = (cx: Cx, row: MessageRow) => ({
  id: row.id,
  userId: row.user_id,
  kind: row.kind,
  channel: row.channel,
  recipient: cx.store.state(cx, message, row.id).to,
  status: statuses[row.status],
  error: row.error,
  creationDate: toTimestamp(row.created),
  changeDate: toTimestamp(row.changed),
})

const statuses = {
  queued: MessageStatus.QUEUED,
  sent: MessageStatus.SENT,
  failed: MessageStatus.FAILED,
  obsolete: MessageStatus.OBSOLETE,
} as const

/** An empty filter matches all. */
const statusFilters: Readonly<Record<number, { readonly is?: MessageRow["status"] }>> = {
  [MessageStatus.UNSPECIFIED]: {},
  [MessageStatus.QUEUED]: { is: "queued" },
  [MessageStatus.SENT]: { is: "sent" },
  [MessageStatus.FAILED]: { is: "failed" },
  [MessageStatus.OBSOLETE]: { is: "obsolete" },
}
