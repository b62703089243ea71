import { createHmac } from "node:crypto"
import { reasonText } from "../../kernel/fault.ts"
import type { Delivery, MailServer } from "../../kernel/port/mail.ts"
import type { OutboundReply, OutboundRequest } from "../../kernel/port/outbound.ts"
import { clientNameOf } from "../../protocol/smtp.ts"
import type { Cx } from "../../store/index.ts"
import { isOnlyInstance, requireInstance } from "../instance/index.ts"
import { hostOf, isImplicitTls } from "./check.ts"
import { secretOf } from "./commands.ts"
import type { Channel, Http, Provider, Smtp, Twilio } from "./model.ts"
import { accessToken } from "./xoauth2.ts"

/** A message that is ready to go. An SMS is its text alone. */
export type Message = {
  readonly channel: Channel
  /** The same for each try; of a mail, its Message-ID. */
  readonly messageId: string
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** What it is about, by the name of its text, and what was filled in. */
  readonly kind: string
  readonly values: Readonly<Record<string, string>>
}

/** Hands a message to a provider; what that fails to do is an answer, too. */
export async function deliver(cx: Cx, provider: Provider, message: Message): Promise<Delivery> {
  const secret = secretOf(cx, provider.id)
  try {
    if (provider.kind === "smtp") return await bySmtp(cx, { provider, secret }, message)
    const request =
      provider.kind === "http"
        ? httpRequest(cx, { provider, secret }, message)
        : twilioRequest({ provider, secret }, message)
    const told = ["retry-after"]
    return judged(cx, await cx.outside.send({ ...request, timeoutMs, told }))
  } catch (cause) {
    const reason = reasonText(cause)
    return { done: false, lasting: false, concerns: "provider", reason, steps: [] }
  }
}

const timeoutMs = 15_000

type With<P> = { readonly provider: P & { readonly id: string }; readonly secret: string }

async function bySmtp(cx: Cx, { provider, secret }: With<Smtp>, message: Message) {
  const { senderAddress, senderName, replyToAddress } = provider
  const { messageId, to, subject, text, html } = message
  const from = { name: senderName, address: senderAddress }
  const server = await serverOf(cx, provider, secret)
  return cx.outside.mail(server, {
    messageId,
    from,
    to,
    replyTo: replyToAddress,
    subject,
    text,
    html,
  })
}

/** Where the mails of a provider go, and what they are let in by. */
export async function serverOf(cx: Cx, smtp: Smtp, secret: string): Promise<MailServer> {
  const { host = "", port = 0 } = hostOf(smtp.host) ?? {}
  const { tls, user, auth } = smtp
  const clientName = clientNameOf(requireInstance(cx).publicUrl)
  const server: Omit<MailServer, "auth"> = {
    host,
    port,
    tls,
    implicitTls: isImplicitTls(smtp),
    instance: cx.instance,
    ...(clientName !== undefined && { clientName }),
    ...(smtp.caCertificate !== undefined && { authorities: smtp.caCertificate }),
    // There may be more instances than there were.
    ...(smtp.privateNetwork && isOnlyInstance(cx) && { isPrivate: true }),
  }
  if (auth.kind === "none") return { ...server, auth: { kind: "none" } }
  if (secret === "") throw new Error("its secret is missing: say it anew")
  const given = auth.kind === "plain" ? secret : await accessToken(cx, auth, secret)
  return { ...server, auth: { kind: auth.kind, user, secret: given } }
}

/** The text as we would write it, and what it was made of; signed with the key of the provider. */
function httpRequest(cx: Cx, { provider, secret }: With<Http>, message: Message): OutboundRequest {
  const { channel, messageId, to, kind, subject, text, html, values } = message
  const recipient =
    channel === "email" ? { recipientEmailAddress: to } : { recipientPhoneNumber: to }
  const body = JSON.stringify({
    contextInfo: {
      eventType: kind,
      provider: { id: provider.id, description: provider.description },
      ...recipient,
    },
    messageId,
    message: { subject, text, ...(html !== "" && { html }) },
    args: values,
  })
  return {
    url: provider.endpoint,
    method: "POST",
    headers: {
      "content-type": "application/json",
      "idempotency-key": messageId,
      ...(secret !== "" && { "x-core-signature": signatureOf(cx, secret, body) }),
    },
    body,
  }
}

/** The time is signed, too, so that what somebody has overheard is of no use later. */
function signatureOf(cx: Cx, key: string, body: string): string {
  const seconds = Math.floor(cx.clock.now() / 1000)
  const signature = createHmac("sha256", key).update(`${seconds}.${body}`).digest("hex")
  return `t=${seconds},v1=${signature}`
}

/** With a service for verifications, Twilio writes the text around our code. */
function twilioRequest({ provider, secret }: With<Twilio>, message: Message): OutboundRequest {
  const { sid, senderNumber, verifyServiceSid } = provider
  const { code } = message.values
  const isVerification = verifyServiceSid !== "" && code !== undefined
  const form = isVerification
    ? { To: message.to, Channel: "sms", CustomCode: code }
    : { To: message.to, From: senderNumber, Body: message.text }
  const url = isVerification
    ? `https://verify.twilio.com/v2/Services/${verifyServiceSid}/Verifications`
    : `https://api.twilio.com/2010-04-01/Accounts/${sid}/Messages.json`
  return {
    url,
    method: "POST",
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      authorization: `Basic ${Buffer.from(`${sid}:${secret}`).toString("base64")}`,
      "i-twilio-idempotency-token": message.messageId,
    },
    body: `${new URLSearchParams(form)}`,
  }
}

/** RFC 9110 §15.5: these reject this message, and would tomorrow. */
const lastingStatuses = new Set([400, 422])
/**
 * These are about its recipient or its content, and say nothing of other messages. They may pass: a
 * wrong endpoint answers 404, too, and can be corrected.
 */
const messageStatuses = new Set([404, 409, 410, 413, 415])

/**
 * Of other statuses, such as 401, 429 and 503, nobody can say whether they are about this
 * recipient: they are the provider's once several recipients meet them.
 */
function judged(cx: Cx, { status, headers }: OutboundReply): Delivery {
  if (status >= 200 && status <= 299) return { done: true, steps: [] }
  const lasting = lastingStatuses.has(status)
  const retryAfterMs = retryAfter(headers?.["retry-after"], cx.clock.now())
  return {
    done: false,
    lasting,
    concerns: lasting || messageStatuses.has(status) ? "message" : "provider",
    ...(retryAfterMs > 0 && { retryAfterMs }),
    reason: `it answered with status ${status}`,
    steps: [],
  }
}

/** RFC 9110 §10.2.3: seconds, or a date. In ms; 0 where there is neither. */
function retryAfter(value: string | undefined, now: number): number {
  if (value === undefined) return 0
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? 0 : Math.max(0, date - now)
}
