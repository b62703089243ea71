import { skewMs } from "../../kernel/clock.ts"
import type { AnyEvent, Calls, Cx, Reactor, Recorded, Store } from "../../store/index.ts"
import { instance, ownersOf } from "../instance/index.ts"
import { channels, providersOf } from "../message-provider/index.ts"
import { notification, policyFor } from "../policy/index.ts"
import { registrantBy } from "../registration/index.ts"
import { userNameOf } from "../user-lookup/index.ts"
import { addMessage, addMessageTo } from "./add.ts"
import { type Cause, type Kind, message } from "./model.ts"
import { closeObsolete, codeUses } from "./obsolete.ts"
import { maxPauseMs } from "./retry.ts"
import { type Sender, senderOf } from "./send.ts"
import { delayingInstances, dueMessages, messagesTo, waitingFor } from "./view.ts"
import { causes, writerName } from "./written.ts"

type Recordedly = Recorded<AnyEvent>

/**
 * Writes what people are told by mail or SMS, and sends it, at least once: a message that did not
 * go out is tried again at growing intervals, for half a day. A message is named by where its cause
 * stands in the log, so that no try writes a second one.
 */
export function messageReactor(call: Calls): Reactor {
  const name = writerName
  const sender = senderOf()
  const write = (kind: Kind) => async (event: Recordedly) => {
    const cx = call(event.instance, name)
    const cause = causeOf(cx, kind, event)
    if (!cause) return
    await cx.store.transact(cx, (tx) => addMessage(tx, String(event.position), cause))
  }
  /** Whoever takes an account over would change the address first: the one before is told. */
  const tellBefore = async (event: Recordedly) => {
    const { instance, id: userId, owner, position, data, private: secret } = event
    const isSuperseded = "isSuperseded" in data
    const to = secret && new Map(Object.entries(secret)).get(isSuperseded ? "email" : "before")
    if (!to) return
    const cx = call(instance, name)
    const kind = isSuperseded ? "email_superseded" : "email_changed"
    const told = { cause: { kind, userId, ...plainly } as const, to: String(to), owner }
    await cx.store.transact(cx, (tx) => addMessageTo(tx, String(position), told))
  }
  /** Whoever has the server may do it; that they did, no owner may miss. */
  const tellOwners = async ({ instance: at, id, position }: Recordedly) => {
    const cx = call(at, name)
    const place = userNameOf(cx, id) ?? id
    for (const { userId } of ownersOf(cx.store.state(cx, instance, at))) {
      const cause = { kind: "owner_recovered", userId, ...plainly } as const
      await cx.store.transact(cx, (tx) => addMessage(tx, `${position}-${userId}`, cause, { place }))
    }
  }
  const go = async ({ instance, id }: Pick<Recordedly, "instance" | "id">) =>
    sender.send(call(instance, name), id)
  /** What waits for a provider, or for one with other settings, goes out by it now. */
  const again = (channel: Cause["channel"]) => async (event: Recordedly) => {
    const cx = call(event.instance, name)
    const { active } = providersOf(cx, channel)
    if ("id" in event.data && event.data.id === active) await requeueAll(cx, channel)
  }
  const writers: Readonly<Record<string, (event: Recordedly) => Promise<void>>> =
    Object.fromEntries(Object.entries(causes).map(([type, kind]) => [type, write(kind)]))
  /** What a use is a cause of is written, and what it makes useless is closed. */
  const used = (type: string) => async (event: Recordedly) => {
    await writers[type]?.(event)
    await closeObsolete(call(event.instance, name), event.id)
  }
  return {
    name,
    from: "now",
    parallel: 64,
    due: {
      find: (store, now) => dueNow(store, { now, sender, cxOf: (at) => call(at, name) }),
      run: go,
    },
    on: {
      ...writers,
      ...Object.fromEntries(codeUses.map((type) => [type, used(type)])),
      "user.human.email.changed": tellBefore,
      "user.recovery.started": tellOwners,
      "registration.requested": async (event) => tellRegistrant(call(event.instance, name), event),
      "user.removed": async ({ instance, id }) => eraseAll(call(instance, name), id),
      "message.added": go,
      "message.requeued": go,
      "instance.smtp.config.activated": again("email"),
      "instance.sms.configactivated": again("sms"),
      "instance.smtp.config.changed": again("email"),
      "instance.smtp.config.http.changed": again("email"),
      "instance.sms.configtwilio.changed": again("sms"),
      "instance.sms.confighttp.changed": again("sms"),
    },
  }
}

/** As many as a provider is handed at once. */
const perProviderMax = 16

type DueInput = {
  readonly now: number
  readonly sender: Sender
  readonly cxOf: (instance: string) => Cx
}

/** Messages to try again; none of a provider that is left alone just now, or where none is. */
function dueNow(store: Store, { now, sender, cxOf }: DueInput) {
  // The pause may have been stored by a node whose clock is ahead of this one's.
  const times = { now, latest: now + maxPauseMs + skewMs, limit: perProviderMax }
  return delayingInstances(store).flatMap((instance) => {
    const cx = cxOf(instance)
    const ready = channels.filter((channel) => sender.isReady(cx, channel))
    const ids = ready.flatMap((channel) => dueMessages(cx, { channel, ...times }))
    return ids.map((id) => ({ instance, id }))
  })
}

/** Of a message by mail that holds no code. */
const plainly = { channel: "email", codeExpires: 0, urlTemplate: "" } as const

/** Why somebody is written to; undefined where nobody is. */
function causeOf(cx: Cx, kind: Kind, { data, id: userId, owner }: Recordedly): Cause | undefined {
  const plain = { kind, userId, ...plainly } as const
  // What somebody begins with is no news to them.
  const isFirst = "isFirst" in data
  if (kind === "password_change") {
    return isFirst || !policyFor(cx, { userId, orgId: owner }, notification).passwordChange
      ? undefined
      : plain
  }
  if (kind === "domain_claimed")
    return "domain" in data ? { ...plain, domain: `${data.domain}` } : plain
  if (kind === "factor_added" && isFirst) return undefined
  if (kind === "factor_added" || kind === "factor_removed" || kind === "phone_changed") return plain
  if (!isCode(data)) throw new Error("the event does not say what to send")
  const { expires: codeExpires, urlTemplate, returned, requestId, codeId } = data
  if (returned) return undefined
  const channel = data.channel ?? (kind === "verify_phone" ? "sms" : "email")
  const more = { ...(requestId && { requestId }), ...(codeId && { codeId }) }
  return { ...plain, channel, codeExpires, urlTemplate, ...more }
}

/** Sends who wants an account the code for it, or the word that there is one. */
async function tellRegistrant(
  cx: Cx,
  { id, instance: owner, position }: Recordedly,
): Promise<void> {
  const asked = registrantBy(cx, id)
  if (!asked) return
  const { accountId, requestId, email: to } = asked
  const common = { channel: "email", urlTemplate: "" } as const
  const cause: Cause =
    accountId === ""
      ? {
          ...common,
          kind: "init",
          userId: id,
          codeExpires: asked.expires,
          isRegistrant: true,
          ...(requestId && { requestId }),
        }
      : { ...common, kind: "account_exists", userId: accountId, codeExpires: 0 }
  await cx.store.transact(cx, (tx) => addMessageTo(tx, String(position), { cause, to, owner }))
}

type CodeData = {
  readonly expires: number
  readonly returned: boolean
  readonly urlTemplate: string
  readonly channel?: Cause["channel"]
  readonly requestId?: string
  readonly codeId?: string
}

/** An event of these few types, as the list of a reactor does not know it. */
const isCode = (data: object): data is CodeData => "expires" in data && "returned" in data

/** What waited for a provider goes by the new one; each by itself. */
async function requeueAll(cx: Cx, channel: Cause["channel"]): Promise<void> {
  let some = waitingFor(cx, channel, "")
  while (some.length > 0) {
    for (const id of some) {
      await cx.store.transact(cx, (tx) => {
        if (tx.state(message, id).status !== "queued") return
        tx.append(message, id, [{ type: "message.requeued", data: {} }])
      })
    }
    some = waitingFor(cx, channel, some.at(-1) ?? "")
  }
}

/** Nothing is left of whom a removed person's messages went to. */
async function eraseAll(cx: Cx, userId: string): Promise<void> {
  for (const id of messagesTo(cx, userId)) {
    await cx.store.transact(cx, (tx) => {
      if (tx.state(message, id).to === "") return
      tx.append(message, id, [{ type: "message.erased", data: {}, erase: {} }])
    })
  }
}
