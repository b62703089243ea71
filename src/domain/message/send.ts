import { breakerOf } from "../../kernel/breaker.ts"
import type { Delivery } from "../../kernel/net/mail.ts"
import type { Cx } from "../../store/index.ts"
import { requireInstance } from "../instance/index.ts"
import { activeProvider, deliver, type Provider } from "../message-provider/index.ts"
import { type Content, contentOf } from "./content.ts"
import { mailLookOf } from "./look.ts"
import { type Message, type MessageEvent, message } from "./model.ts"

/** A message that could not go out for so long will not be waited for. */
const triedMs = 12 * 3_600_000

/** How many messages a provider is handed at once; what it is slow with keeps no other waiting. */
const underWayMax = 16
const patienceMs = 3_000

export type Sender = (cx: Cx, id: string) => Promise<void>

/**
 * Sends messages that are queued. Each try ends in one of three: it is sent, it never will be, or
 * the reason is thrown, and whoever calls tries again. Without a provider it stays where it is.
 */
export function senderOf(): Sender {
  const breaker = breakerOf()
  const admit = laneOf()
  return async (cx, id) => {
    const state = cx.store.state(cx, message, id)
    if (state.status !== "queued") return
    const content = contentOf(cx, state)
    if ("over" in content) return note(cx, id, { type: "message.failed", error: content.over })
    const provider = activeProvider(cx, state.channel)
    if (!provider) return
    const result = await tried(cx, { id, state, provider, content }, { breaker, admit })
    if (result.done) return sent(cx, id, provider)
    const isOver = result.lasting || cx.clock.now() >= state.queued + triedMs
    if (isOver) return note(cx, id, { type: "message.failed", error: result.reason })
    if (state.error !== result.reason) {
      await note(cx, id, { type: "message.delayed", error: result.reason })
    }
    throw new Error(result.reason)
  }
}

type Ready = {
  readonly id: string
  readonly state: Message
  readonly provider: Provider
  readonly content: Content
}

type Bounds = {
  readonly breaker: ReturnType<typeof breakerOf>
  readonly admit: ReturnType<typeof laneOf>
}

/** A provider that is down or slow is left alone for a while; a refused mail is no such thing. */
async function tried(cx: Cx, ready: Ready, { breaker, admit }: Bounds): Promise<Delivery> {
  const { provider } = ready
  const key = `${cx.instance}/${provider.id}/${provider.version}`
  const results: Delivery[] = []
  try {
    await breaker(cx, key, async () => {
      const leave = await admit(cx, key)
      const result = await handOver(cx, ready).finally(leave)
      results.push(result)
      if (!result.done && !result.lasting) throw new Error(result.reason)
    })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    results.push({ done: false, lasting: false, reason, steps: [] })
  }
  const [result] = results
  if (!result) throw new Error("a try has no result")
  return result
}

async function handOver(cx: Cx, { id, state, provider, content }: Ready): Promise<Delivery> {
  const { channel, to, kind, round } = state
  const { subject, language, code, link, orgId } = content
  const { renderMail } = await import("../../../ui/mail/index.ts")
  // A place in the log comes again after a restore, or where a domain begins anew; what was sent
  // under a name once is dropped by mailboxes and gateways when it comes again.
  const queued = cx.store.receipt(cx, message, id)?.created ?? 0
  return deliver(cx, provider, {
    ...{ channel, to, kind, subject },
    messageId: `${id}.${round}.${queued}@${new URL(requireInstance(cx).publicUrl).hostname}`,
    text: plainOf(channel, content),
    html: channel === "email" ? renderMail({ ...content, look: mailLookOf(cx, orgId) }) : "",
    values: { language, ...(code !== "" && { code }), ...(link !== "" && { url: link }) },
  })
}

/** What people read who see no HTML; of an SMS, all of it. */
export function plainOf(channel: Message["channel"], content: Content): string {
  const { subject, greeting, text, link, footerText } = content
  // Whatever has a subject is written for mails: nothing of it fits but what it is about.
  if (channel === "sms") return [subject || text, link].filter((part) => part !== "").join("\n")
  return [greeting, text, link, footerText].filter((part) => part !== "").join("\n\n")
}

type Noted = { readonly type: "message.failed" | "message.delayed"; readonly error: string }

async function note(cx: Cx, id: string, { type, error }: Noted): Promise<void> {
  await append(cx, id, () => ({ type, data: { error } }))
}

async function sent(cx: Cx, id: string, { id: providerId }: Provider): Promise<void> {
  await append(cx, id, () => ({ type: "message.sent", data: { providerId } }))
}

type Outcome = Extract<
  MessageEvent,
  { type: "message.failed" | "message.delayed" | "message.sent" }
>

/** Nothing happens to a message that has gone meanwhile, or that is settled. */
const append = (cx: Cx, id: string, outcome: () => Pick<Outcome, "type" | "data">) =>
  cx.store.transact(cx, (tx) => {
    if (tx.state(message, id).status === "queued") tx.append(message, id, [outcome()])
  })

/** Lets few in at once by each key; where those inside take long, the next is turned away. */
function laneOf() {
  const inside = new Map<string, Set<{ readonly since: number }>>()
  return async (cx: Cx, key: string): Promise<() => void> => {
    const lane = inside.get(key) ?? new Set()
    inside.set(key, lane)
    while (lane.size >= underWayMax) {
      const oldest = Math.min(...[...lane].map(({ since }) => since))
      if (cx.clock.now() - oldest >= patienceMs) throw new Error("it is slow to answer")
      await new Promise<void>((resolve) => cx.clock.after(100, resolve))
    }
    const entry = { since: cx.clock.now() }
    lane.add(entry)
    return () => {
      lane.delete(entry)
      if (lane.size === 0) inside.delete(key)
    }
  }
}
