import type { ShownMessage } from "../../../ui/development/index.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Outside } from "../../kernel/port/outbound.ts"

/** The endpoint of the development SMS provider; the name can't exist (RFC 6761 §6.4). */
export const smsEndpoint = "https://sms.invalid/"

/** The number of messages to keep. */
const messagesMax = 200

/** Keeps outgoing messages in memory and passes all other requests on. */
export function createMailbox(clock: Clock) {
  const stored: ShownMessage[] = []
  const keep = (message: Omit<ShownMessage, "time" | "links">) => {
    const links = message.text.match(/https?:\/\/\S+/g) ?? []
    const text = links.reduce((left, link) => left.replace(link, ""), message.text).trim()
    // All attempts for a message have the same ID.
    if (stored.some(({ id }) => id === message.id)) return
    stored.unshift({ ...message, text, links, time: new Date(clock.now()).toISOString() })
    stored.splice(messagesMax)
  }
  const catching = (outside: Outside): Outside => ({
    ...outside,
    mail: async (_, { messageId, to, subject, text }) => {
      keep({ id: messageId, channel: "email", to, subject, text })
      return { done: true, steps: [{ name: "accepted", detail: "kept on this machine" }] }
    },
    send: async (request) => {
      if (request.url !== smsEndpoint) return outside.send(request)
      const { contextInfo, message } = JSON.parse(request.body ?? "{}")
      const to = String(contextInfo?.recipientPhoneNumber ?? "")
      const id = request.headers?.["idempotency-key"] ?? ""
      keep({ id, channel: "sms", to, subject: "", text: String(message?.text ?? "") })
      return { status: 200, body: "" }
    },
  })
  return { catching, messages: (): readonly ShownMessage[] => stored }
}
