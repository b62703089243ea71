import { breakerOf } from "../../kernel/breaker.ts"
import { reasonText } from "../../kernel/fault.ts"
import { type Lru, lru } from "../../kernel/lru.ts"
import type { Delivery } from "../../kernel/port/mail.ts"
import { type Cx, type Draft, isPassing } from "../../store/index.ts"
import { requireInstance } from "../instance/index.ts"
import {
  activeProvider,
  deliver,
  type Message as Outgoing,
  type Provider,
} from "../message-provider/index.ts"
import { type Content, codeGone, contentOf } from "./content.ts"
import { mailLookOf } from "./look.ts"
import { type Message, type MessageEvent, message } from "./model.ts"
import { obsolete } from "./obsolete.ts"
import { nextTry } from "./retry.ts"

/** A message that could not go out for so long will not be waited for. */
const triedMs = 12 * 3_600_000

/** How many messages a provider is handed at once; what it is slow with keeps no other waiting. */
const underWayMax = 16
const patienceMs = 3_000
/** When a message is looked at again that a slow provider had no room for. */
const slowPauseMs = 5_000
/** Many more than are tried at the same time. */
const unsavedMax = 1000

export type Sender = {
  /**
   * Sends a message that is queued. Each try ends in one of three: it is sent, it never will be, or
   * it is stored when to try again. Without a provider it stays where it is. Where storing that
   * fails, the next call stores it and does not send the message again.
   */
  readonly send: (cx: Cx, id: string) => Promise<void>
  /** Whether there is a provider of a channel that is not left alone just now. */
  readonly isReady: (cx: Cx, channel: Message["channel"]) => boolean
}

export function senderOf(): Sender {
  const breaker = breakerOf()
  const admit = laneOf()
  const unsaved = lru<Outcome>(unsavedMax)
  const underWay = new Set<string>()
  return {
    send: async (cx, id) => {
      // An event and the clock can ask for the same message.
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

async function sendOnce(cx: Cx, id: string, bounds: Bounds): Promise<void> {
  const { unsaved } = bounds
  const state = cx.store.state(cx, message, id)
  if (state.status !== "queued") return
  const { queued, round, tries = 0 } = state
  const key = [cx.instance, id, queued, round, tries].join("/")
  const outcome = unsaved.get(key) ?? (await outcomeOf(cx, id, bounds))
  if (!outcome) return
  unsaved.set(key, outcome)
  await append(cx, id, outcome)
  unsaved.delete(key)
}

/** Tries a message; undefined where nothing about it changes. */
async function outcomeOf(cx: Cx, id: string, bounds: Bounds): Promise<Outcome | undefined> {
  const state = cx.store.state(cx, message, id)
  const provider = activeProvider(cx, state.channel)
  if (!provider) return undefined
  const outgoing = await outgoingOf(cx, id, state)
  if ("over" in outgoing) {
    const { over: error } = outgoing
    return error === codeGone ? obsolete : { type: "message.failed", data: { error } }
  }
  const result = "done" in outgoing ? outgoing : await tried(cx, { provider, outgoing }, bounds)
  if ("refused" in result) return postponed(cx, id, result)
  if (result.done) return { type: "message.sent", data: { providerId: provider.id } }
  const { reason: error, lasting, retryAfterMs } = result
  const now = cx.clock.now()
  if (lasting || now >= state.queued + triedMs) return { type: "message.failed", data: { error } }
  const tries = (state.tries ?? 0) + 1
  const due = nextTry({ now, tries, codeExpires: state.codeExpires, retryAfterMs })
  return { type: "message.delayed", data: { error, tries, due } }
}

type Ready = { readonly provider: Provider; readonly outgoing: Outgoing }

type Bounds = {
  readonly breaker: ReturnType<typeof breakerOf>
  readonly admit: ReturnType<typeof laneOf>
  /** What became of tries and is not stored yet. */
  readonly unsaved: Lru<Outcome>
}

/** A provider that is left alone, or has no room: the message was not tried. */
type Refused = { readonly refused: string; readonly until: number }

/** A provider that is down or slow is left alone for a while; a refused mail is no such thing. */
async function tried(
  cx: Cx,
  ready: Ready,
  { breaker, admit }: Bounds,
): Promise<Delivery | Refused> {
  const key = keyOf(cx, ready.provider)
  const leave = await admit(cx, key)
  if (!leave) return { refused: "it is slow to answer", until: cx.clock.now() + slowPauseMs }
  try {
    const resting = breaker.resting(cx, key)
    if (resting) return { refused: resting.error, until: resting.until }
    return await judged(cx, ready, { breaker, key })
  } finally {
    leave()
  }
}

type Judging = Pick<Bounds, "breaker"> & { readonly key: string }

async function judged(cx: Cx, ready: Ready, { breaker, key }: Judging): Promise<Delivery> {
  const results: Delivery[] = []
  const act = async () => {
    const result = await deliver(cx, ready.provider, ready.outgoing)
    results.push(result)
    if (!result.done && result.concerns === "provider") throw new Error(result.reason)
  }
  try {
    await breaker(cx, key, act, { onBehalfOf: ready.outgoing.to })
  } catch (cause) {
    const reason = reasonText(cause)
    results.push({ done: false, lasting: false, concerns: "provider", reason, steps: [] })
  }
  const [result] = results
  if (!result) throw new Error("a try has no result")
  return result
}

/**
 * A message as its provider gets it, or why it has no worth any more. One that can't be rendered is
 * a try that failed: it gives way to others, and ends like what no provider accepts.
 */
async function outgoingOf(
  cx: Cx,
  id: string,
  state: Message,
): Promise<Outgoing | Failure | { readonly over: string }> {
  try {
    const content = contentOf(cx, state)
    return "over" in content ? content : await rendered(cx, { id, state, content })
  } catch (cause) {
    if (isPassing(cause, cx.store.database.filename)) throw cause
    const reason = `it can't be rendered: ${cause instanceof Error ? cause.message : cause}`
    return { done: false, lasting: false, concerns: "message", reason, steps: [] }
  }
}

type Failure = Extract<Delivery, { done: false }>

type Rendering = { readonly id: string; readonly state: Message; readonly content: Content }

async function rendered(cx: Cx, { id, state, content }: Rendering): Promise<Outgoing> {
  const { channel, to, kind, round } = state
  const { subject, language, code, link, orgId } = content
  const { renderMail } = await import("../../../ui/mail/index.ts")
  // A place in the log comes again after a restore, or where a domain begins anew; what was sent
  // under a name once is dropped by mailboxes and gateways when it comes again.
  const queued = cx.store.receipt(cx, message, id)?.created ?? 0
  return {
    channel,
    to,
    kind,
    subject,
    messageId: `${id}.${round}.${queued}@${new URL(requireInstance(cx).publicUrl).hostname}`,
    text: plainOf(channel, content),
    html: channel === "email" ? renderMail({ ...content, look: mailLookOf(cx, orgId) }) : "",
    values: { language, ...(code !== "" && { code }), ...(link !== "" && { url: link }) },
  }
}

/** What people read who see no HTML; of an SMS, all of it. */
export function plainOf(channel: Message["channel"], content: Content): string {
  const { subject, greeting, text, link, footerText } = content
  // Whatever has a subject is written for mails: nothing of it fits but what it is about.
  if (channel === "sms") return [subject || text, link].filter((part) => part !== "").join("\n")
  return [greeting, text, link, footerText].filter((part) => part !== "").join("\n\n")
}

/** Why a message waits that was not tried; what waits already stays due. */
function postponed(cx: Cx, id: string, { refused: error, until: due }: Refused) {
  const { tries = 0, due: before } = cx.store.state(cx, message, id)
  if (before !== undefined) return undefined
  return { type: "message.delayed", data: { error, tries, due } } as const
}

/** Nothing happens to a message that has gone meanwhile, or that is settled. */
async function append(cx: Cx, id: string, outcome: Outcome): Promise<void> {
  await cx.store.transact(cx, (tx) => {
    if (tx.state(message, id).status === "queued") tx.append(message, id, [outcome])
  })
}

type Outcome = Extract<
  Draft<MessageEvent>,
  { type: "message.failed" | "message.delayed" | "message.sent" }
>

/** Lets few in at once by each key; undefined where those inside take long. */
function laneOf() {
  const inside = new Map<string, Set<{ readonly since: number }>>()
  return async (cx: Cx, key: string): Promise<(() => void) | undefined> => {
    const lane = inside.get(key) ?? new Set()
    inside.set(key, lane)
    while (lane.size >= underWayMax) {
      const oldest = Math.min(...[...lane].map(({ since }) => since))
      if (cx.clock.now() - oldest >= patienceMs) return undefined
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
