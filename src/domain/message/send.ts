import { createBreaker } from "../../kernel/breaker.ts"
import { errorText } from "../../kernel/fault.ts"
import { type Lru, lru } from "../../kernel/lru.ts"
import type { DeliveryResult } from "../../kernel/port/mail.ts"
import { type Cx, type Draft, isTemporary } from "../../store/index.ts"
import { requireInstance } from "../instance/index.ts"
import {
  activeProvider,
  deliver,
  type Message as Outgoing,
  type Provider,
} from "../message-provider/index.ts"
import { mailBrandingOf } from "./branding.ts"
import { type Content, codeObsoleteText, contentOf } from "./content.ts"
import { type Message, type MessageEvent, message } from "./model.ts"
import { obsoleteEvent } from "./obsolete.ts"
import { nextAttemptAt } from "./retry.ts"

/** How long delivery is attempted. */
const deliveryWindowMs = 12 * 3_600_000

/**
 * The number of messages that a provider receives at once, so that a slow provider does not delay
 * others.
 */
const concurrentMax = 16
const slowAfterMs = 3_000
/** The pause for messages that a slow provider has no capacity for. */
const slowPauseMs = 5_000
/** Far more than the number of concurrent attempts. */
const unsavedResultsMax = 1000

export type Sender = {
  /**
   * Sends a queued message. Every attempt ends as sent, as failed, or with a stored time for the
   * next attempt. Without a provider, the message stays queued. If the result can't be stored, the
   * next call stores it without sending the message again.
   */
  readonly send: (cx: Cx, id: string) => Promise<void>
  /** Whether a channel has a provider that is not paused. */
  readonly isReady: (cx: Cx, channel: Message["channel"]) => boolean
}

export function createSender(): Sender {
  const breaker = createBreaker()
  const admit = createLimiter()
  const unsaved = lru<Outcome>(unsavedResultsMax)
  const underWay = new Set<string>()
  return {
    send: async (cx, id) => {
      // An event and the timer can request the same message.
      const key = `${cx.instance}/${id}`
      if (underWay.has(key)) return
      underWay.add(key)
      try {
        await sendOnce(cx, id, { breaker, admit, unsaved })
      } finally {
        underWay.delete(key)
      }
    },
    isReady: (cx, channel) => {
      const provider = activeProvider(cx, channel)
      return provider !== undefined && !breaker.resting(cx, keyOf(cx, provider))
    },
  }
}

const keyOf = (cx: Cx, { id, version }: Provider) => `${cx.instance}/${id}/${version}`

async function sendOnce(cx: Cx, id: string, sendState: SendState): Promise<void> {
  const { unsaved } = sendState
  const state = cx.store.state(cx, message, id)
  if (state.status !== "queued") return
  const { queued, round, tries = 0 } = state
  const key = [cx.instance, id, queued, round, tries].join("/")
  const outcome = unsaved.get(key) ?? (await outcomeOf(cx, id, sendState))
  if (!outcome) return
  unsaved.set(key, outcome)
  await appendOutcome(cx, id, outcome)
  unsaved.delete(key)
}

/** Attempts to send a message; undefined if its state does not change. */
async function outcomeOf(cx: Cx, id: string, sendState: SendState): Promise<Outcome | undefined> {
  const state = cx.store.state(cx, message, id)
  const provider = activeProvider(cx, state.channel)
  if (!provider) return undefined
  const outgoing = await prepareMessage(cx, id, state)
  if ("over" in outgoing) {
    const { over: error } = outgoing
    return error === codeObsoleteText ? obsoleteEvent : { type: "message.failed", data: { error } }
  }
  const result =
    "done" in outgoing ? outgoing : await attempt(cx, { provider, outgoing }, sendState)
  if ("refused" in result) return postpone(cx, id, result)
  if (result.done) return { type: "message.sent", data: { providerId: provider.id } }
  const { reason: error, lasting, retryAfterMs } = result
  const now = cx.clock.now()
  if (lasting || now >= state.queued + deliveryWindowMs)
    return { type: "message.failed", data: { error } }
  const tries = (state.tries ?? 0) + 1
  const due = nextAttemptAt({ now, tries, codeExpires: state.codeExpires, retryAfterMs })
  return { type: "message.delayed", data: { error, tries, due } }
}

type PreparedMessage = { readonly provider: Provider; readonly outgoing: Outgoing }

type SendState = {
  readonly breaker: ReturnType<typeof createBreaker>
  readonly admit: ReturnType<typeof createLimiter>
  /** The results of attempts that are not stored yet. */
  readonly unsaved: Lru<Outcome>
}

/** A provider that is paused or has no capacity, so the message was not attempted. */
type NotAttempted = { readonly refused: string; readonly until: number }

/** Pauses a provider that is down or slow; a rejected message does not cause a pause. */
async function attempt(
  cx: Cx,
  ready: PreparedMessage,
  { breaker, admit }: SendState,
): Promise<DeliveryResult | NotAttempted> {
  const key = keyOf(cx, ready.provider)
  const leave = await admit(cx, key)
  if (!leave)
    return { refused: "the provider is slow to respond", until: cx.clock.now() + slowPauseMs }
  try {
    const resting = breaker.resting(cx, key)
    if (resting) return { refused: resting.error, until: resting.until }
    return await attemptDelivery(cx, ready, { breaker, key })
  } finally {
    leave()
  }
}

type AttemptInput = Pick<SendState, "breaker"> & { readonly key: string }

async function attemptDelivery(
  cx: Cx,
  ready: PreparedMessage,
  { breaker, key }: AttemptInput,
): Promise<DeliveryResult> {
  const results: DeliveryResult[] = []
  const act = async () => {
    const result = await deliver(cx, ready.provider, ready.outgoing)
    results.push(result)
    if (!result.done && result.concerns === "provider") throw new Error(result.reason)
  }
  try {
    await breaker(cx, key, act, { onBehalfOf: ready.outgoing.to })
  } catch (cause) {
    const reason = errorText(cause)
    results.push({ done: false, lasting: false, concerns: "provider", reason, steps: [] })
  }
  const [result] = results
  if (!result) throw new Error("the attempt has no result")
  return result
}

/**
 * A message in the form for its provider, or why it is obsolete. A rendering error counts as a
 * failed attempt, so that it does not block other messages and is limited in the same way.
 */
async function prepareMessage(
  cx: Cx,
  id: string,
  state: Message,
): Promise<Outgoing | Failure | { readonly over: string }> {
  try {
    const content = contentOf(cx, state)
    return "over" in content ? content : await renderMessage(cx, { id, state, content })
  } catch (cause) {
    if (isTemporary(cause, cx.store.database.filename)) throw cause
    const problem = cause instanceof Error ? cause.message : cause
    const reason = `the message can't be rendered: ${problem}`
    return { done: false, lasting: false, concerns: "message", reason, steps: [] }
  }
}

type Failure = Extract<DeliveryResult, { done: false }>

type Rendering = { readonly id: string; readonly state: Message; readonly content: Content }

async function renderMessage(cx: Cx, { id, state, content }: Rendering): Promise<Outgoing> {
  const { channel, to, kind, round } = state
  const { subject, language, code, link, orgId } = content
  const { renderMail } = await import("../../../ui/mail/index.ts")
  // Log positions repeat after a restore or on a new instance with the same domain, and mailboxes
  // and gateways drop messages whose ID they have seen.
  const queued = cx.store.receipt(cx, message, id)?.created ?? 0
  return {
    channel,
    to,
    kind,
    subject,
    messageId: `${id}.${round}.${queued}@${new URL(requireInstance(cx).publicUrl).hostname}`,
    text: plainTextOf(channel, content),
    html:
      channel === "email" ? renderMail({ ...content, branding: mailBrandingOf(cx, orgId) }) : "",
    values: { language, ...(code !== "" && { code }), ...(link !== "" && { url: link }) },
  }
}

/** The plain-text part of an email, or the whole text of an SMS. */
export function plainTextOf(channel: Message["channel"], content: Content): string {
  const { subject, greeting, text, link, footerText } = content
  // Texts of kinds with a subject are written for email; only the subject fits an SMS.
  if (channel === "sms") return [subject || text, link].filter((part) => part !== "").join("\n")
  return [greeting, text, link, footerText].filter((part) => part !== "").join("\n\n")
}

/** Records why a message was not attempted; a message that already waits stays due. */
function postpone(cx: Cx, id: string, { refused: error, until: due }: NotAttempted) {
  const { tries = 0, due: before } = cx.store.state(cx, message, id)
  if (before !== undefined) return undefined
  return { type: "message.delayed", data: { error, tries, due } } as const
}

/** Does nothing if the message was deleted or is completed. */
async function appendOutcome(cx: Cx, id: string, outcome: Outcome): Promise<void> {
  await cx.store.transact(cx, (tx) => {
    if (tx.state(message, id).status === "queued") tx.append(message, id, [outcome])
  })
}

type Outcome = Extract<
  Draft<MessageEvent>,
  { type: "message.failed" | "message.delayed" | "message.sent" }
>

/** Limits the concurrent attempts per key; undefined while running ones are slow. */
function createLimiter() {
  const inside = new Map<string, Set<{ readonly since: number }>>()
  return async (cx: Cx, key: string): Promise<(() => void) | undefined> => {
    const lane = inside.get(key) ?? new Set()
    inside.set(key, lane)
    while (lane.size >= concurrentMax) {
      const oldest = Math.min(...[...lane].map(({ since }) => since))
      if (cx.clock.now() - oldest >= slowAfterMs) return undefined
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
