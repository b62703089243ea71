import type { ShownMessage } from "../../../ui/development/index.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Outside } from "../../kernel/port/outbound.ts"

/** Where the seeded provider of SMS hands them to; nobody can own the name (RFC 6761 §6.4). */
export const smsEndpoint = "https://sms.invalid/"

/** More than anybody reads. */
const keptMax = 200

/** Takes what would go out to people, and keeps it in memory; all else goes its way. */
export function mailboxOf(clock: Clock) {
  const kept: ShownMessage[] = []
  const keep = (message: Omit<ShownMessage, "time" | "links">) => {
    const links = message.text.match(/https?:\/\/\S+/g) ?? []
    const text = links.reduce((left, link) => left.replace(link, ""), message.text).trim()
    // Each try of a message has the same id.
    if (kept.some(({ id }) => id === message.id)) return
    kept.unshift({ ...message, text, links, time: new Date(clock.now()).toISOString() })
    kept.splice(keptMax)
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
  return { catching, messages: (): readonly ShownMessage[] => kept }
}
