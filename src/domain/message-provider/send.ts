import { createHmac } from "node:crypto"
import { errorText } from "../../kernel/fault.ts"
import type { DeliveryResult, MailServer } from "../../kernel/port/mail.ts"
import type { OutboundReply, OutboundRequest } from "../../kernel/port/outbound.ts"
import { ehloNameOf } from "../../protocol/smtp.ts"
import type { Cx } from "../../store/index.ts"
import { isOnlyInstance, requireInstance } from "../instance/index.ts"
import { isImplicitTls, parseHost } from "./check.ts"
import { secretOf } from "./commands.ts"
import type { Channel, Http, Provider, Smtp, Twilio } from "./model.ts"
import { requestAccessToken } from "./xoauth2.ts"

/** A rendered message. An SMS consists only of its text. */
export type Message = {
  readonly channel: Channel
  /** The same for all attempts; the Message-ID of an email. */
  readonly messageId: string
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** The kind of the message and the values of its placeholders. */
  readonly kind: string
  readonly values: Readonly<Record<string, string>>
}

/** Sends a message with a provider; errors are part of the result. */
export async function deliver(
  cx: Cx,
  provider: Provider,
  message: Message,
): Promise<DeliveryResult> {
  const secret = secretOf(cx, provider.id)
  try {
    if (provider.kind === "smtp") return await sendBySmtp(cx, { provider, secret }, message)
    const request =
      provider.kind === "http"
        ? createHttpRequest(cx, { provider, secret }, message)
        : createTwilioRequest({ provider, secret }, message)
    const notified = ["retry-after"]
    return deliveryOf(cx, await cx.outside.send({ ...request, timeoutMs, told: notified }))
  } catch (cause) {
    const reason = errorText(cause)
    return { done: false, lasting: false, concerns: "provider", reason, steps: [] }
  }
}

const timeoutMs = 15_000

type ProviderWithSecret<P> = {
  readonly provider: P & { readonly id: string }
  readonly secret: string
}

async function sendBySmtp(
  cx: Cx,
  { provider, secret }: ProviderWithSecret<Smtp>,
  message: Message,
) {
  const { senderAddress, senderName, replyToAddress } = provider
  const { messageId, to, subject, text, html } = message
  const from = { name: senderName, address: senderAddress }
  const server = await mailServerOf(cx, provider, secret)
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

/** The server and the authentication for the emails of a provider. */
export async function mailServerOf(cx: Cx, smtp: Smtp, secret: string): Promise<MailServer> {
  const { host = "", port = 0 } = parseHost(smtp.host) ?? {}
  const { tls, user, auth } = smtp
  const clientName = ehloNameOf(requireInstance(cx).publicUrl)
  const server: Omit<MailServer, "auth"> = {
    host,
    port,
    tls,
    implicitTls: isImplicitTls(smtp),
    instance: cx.instance,
    ...(clientName !== undefined && { clientName }),
    ...(smtp.caCertificate !== undefined && { authorities: smtp.caCertificate }),
    // Instances can have been added after the setting was allowed.
    ...(smtp.privateNetwork && isOnlyInstance(cx) && { isPrivate: true }),
  }
  if (auth.kind === "none") return { ...server, auth: { kind: "none" } }
  if (secret === "") throw new Error("the secret of the provider is missing; set it again")
  const input = auth.kind === "plain" ? secret : await requestAccessToken(cx, auth, secret)
  return { ...server, auth: { kind: auth.kind, user, secret: input } }
}

/** The rendered text and its values, signed with the key of the provider. */
function createHttpRequest(
  cx: Cx,
  { provider, secret }: ProviderWithSecret<Http>,
  message: Message,
): OutboundRequest {
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
      ...(secret !== "" && { "x-core-signature": createSignature(cx, secret, body) }),
    },
    body,
  }
}

/** The signature includes the time, so that intercepted requests can't be replayed later. */
function createSignature(cx: Cx, key: string, body: string): string {
  const seconds = Math.floor(cx.clock.now() / 1000)
  const signature = createHmac("sha256", key).update(`${seconds}.${body}`).digest("hex")
  return `t=${seconds},v1=${signature}`
}

/** With a Verify service, Twilio writes the text that contains our code. */
function createTwilioRequest(
  { provider, secret }: ProviderWithSecret<Twilio>,
  message: Message,
): OutboundRequest {
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

/** RFC 9110 §15.5: the message is rejected permanently. */
const permanentStatuses = new Set([400, 422])
/**
 * Errors about the recipient or the content, which do not affect other messages. They can be
 * temporary: a wrong endpoint also returns 404 and can be corrected.
 */
const messageStatuses = new Set([404, 409, 410, 413, 415])

/**
 * Other statuses, such as 401, 429 and 503, can be about the recipient or the provider: they count
 * as errors of the provider if several recipients are affected.
 */
function deliveryOf(cx: Cx, { status, headers }: OutboundReply): DeliveryResult {
  if (status >= 200 && status <= 299) return { done: true, steps: [] }
  const lasting = permanentStatuses.has(status)
  const retryAfterMs = parseRetryAfter(headers?.["retry-after"], cx.clock.now())
  return {
    done: false,
    lasting,
    concerns: lasting || messageStatuses.has(status) ? "message" : "provider",
    ...(retryAfterMs > 0 && { retryAfterMs }),
    reason: `the provider returned status ${status}`,
    steps: [],
  }
}

/** RFC 9110 §10.2.3: seconds or a date. Returns ms; 0 if there is no valid value. */
function parseRetryAfter(value: string | undefined, now: number): number {
  if (value === undefined) return 0
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? 0 : Math.max(0, date - now)
}
