import { maxClockSkewMs } from "../../kernel/clock.ts"
import type {
  AnyEvent,
  CallFactory,
  Cx,
  PersistedEvent,
  Reactor,
  Store,
} from "../../store/index.ts"
import { instance, ownersOf } from "../instance/index.ts"
import { channels, providersOf } from "../message-provider/index.ts"
import { notification, policyFor } from "../policy/index.ts"
import { findRegistrant } from "../registration/index.ts"
import { findUserName } from "../user-lookup/index.ts"
import { addMessage, addMessageTo } from "./add.ts"
import { type Cause, type Kind, message } from "./model.ts"
import { closeObsolete, codeUseEvents } from "./obsolete.ts"
import { maxPauseMs } from "./retry.ts"
import { createSender, type Sender } from "./send.ts"
import { delayingInstances, dueMessages, messagesTo, queuedAfter } from "./view.ts"
import { messageKinds, writerName } from "./written.ts"

type AnyRecorded = PersistedEvent<AnyEvent>

/**
 * Creates the messages to users and sends them at least once. Failed messages are retried at
 * increasing intervals for half a day. The ID of a message is the log position of its cause, so
 * retries never create duplicates.
 */
export function messageReactor(call: CallFactory): Reactor {
  const name = writerName
  const sender = createSender()
  const write = (kind: Kind) => async (event: AnyRecorded) => {
    const cx = call(event.instance, name)
    const cause = causeOf(cx, kind, event)
    if (!cause) return
    await cx.store.transact(cx, (tx) => addMessage(tx, String(event.position), cause))
  }
  /**
   * Notifies the previous address, because an attacker who takes over an account would change the
   * address first.
   */
  const notifyPreviousAddress = async (event: AnyRecorded) => {
    const { instance, id: userId, owner, position, data, private: secret } = event
    const isSuperseded = "isSuperseded" in data
    const to = secret && new Map(Object.entries(secret)).get(isSuperseded ? "email" : "before")
    if (!to) return
    const cx = call(instance, name)
    const kind = isSuperseded ? "email_superseded" : "email_changed"
    const notified = {
      cause: { kind, userId, ...emailWithoutCode } as const,
      to: String(to),
      owner,
    }
    await cx.store.transact(cx, (tx) => addMessageTo(tx, String(position), notified))
  }
  /** The operator of the server can recover an owner, but all owners must be notified. */
  const notifyOwners = async ({ instance: at, id, position }: AnyRecorded) => {
    const cx = call(at, name)
    const location = findUserName(cx, id) ?? id
    for (const { userId } of ownersOf(cx.store.state(cx, instance, at))) {
      const cause = { kind: "owner_recovered", userId, ...emailWithoutCode } as const
      await cx.store.transact(cx, (tx) =>
        addMessage(tx, `${position}-${userId}`, cause, { place: location }),
      )
    }
  }
  const go = async ({ instance, id }: Pick<AnyRecorded, "instance" | "id">) =>
    sender.send(call(instance, name), id)
  /** Sends messages that waited for a provider or for a change of its settings. */
  const requeue = (channel: Cause["channel"]) => async (event: AnyRecorded) => {
    const cx = call(event.instance, name)
    const { active } = providersOf(cx, channel)
    if ("id" in event.data && event.data.id === active) await requeueAll(cx, channel)
  }
  const writers: Readonly<Record<string, (event: AnyRecorded) => Promise<void>>> =
    Object.fromEntries(Object.entries(messageKinds).map(([type, kind]) => [type, write(kind)]))
  /** Creates the message caused by a code use and closes those that it makes obsolete. */
  const onCodeUsed = (type: string) => async (event: AnyRecorded) => {
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
      ...Object.fromEntries(codeUseEvents.map((type) => [type, onCodeUsed(type)])),
      "user.human.email.changed": notifyPreviousAddress,
      "user.recovery.started": notifyOwners,
      "registration.requested": async (event) =>
        notifyRegistrant(call(event.instance, name), event),
      "user.removed": async ({ instance, id }) => eraseAll(call(instance, name), id),
      "message.added": go,
      "message.requeued": go,
      "instance.smtp.config.activated": requeue("email"),
      "instance.sms.configactivated": requeue("sms"),
      "instance.smtp.config.changed": requeue("email"),
      "instance.smtp.config.http.changed": requeue("email"),
      "instance.sms.configtwilio.changed": requeue("sms"),
      "instance.sms.confighttp.changed": requeue("sms"),
    },
  }
}

/** The number of messages that a provider receives at once. */
const messagesPerProviderMax = 16

type DueInput = {
  readonly now: number
  readonly sender: Sender
  readonly cxOf: (instance: string) => Cx
}

/** The messages to retry, except those of a paused or missing provider. */
function dueNow(store: Store, { now, sender, cxOf }: DueInput) {
  // The pause may have been stored by a node whose clock is ahead.
  const times = { now, latest: now + maxPauseMs + maxClockSkewMs, limit: messagesPerProviderMax }
  return delayingInstances(store).flatMap((instance) => {
    const cx = cxOf(instance)
    const ready = channels.filter((channel) => sender.isReady(cx, channel))
    const ids = ready.flatMap((channel) => dueMessages(cx, { channel, ...times }))
    return ids.map((id) => ({ instance, id }))
  })
}

/** The cause fields of an email without a code. */
const emailWithoutCode = { channel: "email", codeExpires: 0, urlTemplate: "" } as const

/** The cause of a message; undefined if none is sent. */
function causeOf(cx: Cx, kind: Kind, { data, id: userId, owner }: AnyRecorded): Cause | undefined {
  const plain = { kind, userId, ...emailWithoutCode } as const
  // The initial values of a new user are not reported as changes.
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
  if (!isCodeData(data)) throw new Error("the event does not contain what to send")
  const { expires: codeExpires, urlTemplate, returned, requestId, codeId } = data
  if (returned) return undefined
  const channel = data.channel ?? (kind === "verify_phone" ? "sms" : "email")
  const more = { ...(requestId && { requestId }), ...(codeId && { codeId }) }
  return { ...plain, channel, codeExpires, urlTemplate, ...more }
}

/** Sends a registrant the code, or a notice that the account already exists. */
async function notifyRegistrant(
  cx: Cx,
  { id, instance: owner, position }: AnyRecorded,
): Promise<void> {
  const registrant = findRegistrant(cx, id)
  if (!registrant) return
  const { accountId, requestId, email: to } = registrant
  const common = { channel: "email", urlTemplate: "" } as const
  const cause: Cause =
    accountId === ""
      ? {
          ...common,
          kind: "init",
          userId: id,
          codeExpires: registrant.expires,
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

/** Narrows the event, whose type the list of a reactor does not determine. */
const isCodeData = (data: object): data is CodeData => "expires" in data && "returned" in data

/** Requeues all messages of a channel for its new provider, each in its own step. */
async function requeueAll(cx: Cx, channel: Cause["channel"]): Promise<void> {
  let some = queuedAfter(cx, channel, "")
  while (some.length > 0) {
    for (const id of some) {
      await cx.store.transact(cx, (tx) => {
        if (tx.state(message, id).status !== "queued") return
        tx.append(message, id, [{ type: "message.requeued", data: {} }])
      })
    }
    some = queuedAfter(cx, channel, some.at(-1) ?? "")
  }
}

/** Erases all messages to a deleted user. */
async function eraseAll(cx: Cx, userId: string): Promise<void> {
  for (const id of messagesTo(cx, userId)) {
    await cx.store.transact(cx, (tx) => {
      if (tx.state(message, id).to === "") return
      tx.append(message, id, [{ type: "message.erased", data: {}, erase: {} }])
    })
  }
}
