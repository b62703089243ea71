import { Fault, reasonText } from "../../kernel/fault.ts"
import type { Delivery, MailStep } from "../../kernel/port/mail.ts"
import type { MailCause } from "../../kernel/port/mail-cause.ts"
import { asciiEmail } from "../../protocol/email.ts"
import type { Cx } from "../../store/index.ts"
import { address, isImplicitTls } from "./check.ts"
import { activeProvider, checkSettings, secretOf } from "./commands.ts"
import type { Provider, Smtp } from "./model.ts"
import { deliver, serverOf } from "./send.ts"

/** An SMTP server as somebody wants to try it, and who gets the mail. */
export type Trial = {
  readonly settings: Smtp
  readonly secret: string
  readonly receiver: string
}

/**
 * Sends a mail by an SMTP server and answers what it got through. Where it breaks off the refusal
 * says so, and what it had got through before.
 */
export async function tryServer(cx: Cx, trial: Trial): Promise<readonly MailStep[]> {
  const { settings, receiver } = trial
  checkSettings(cx, settings)
  address("receiver_address", receiver)
  const result = await attempt(cx, trial)
  if (result.done) return result.steps
  const passed = result.steps.map(({ name, detail }) => `${name} (${detail})`)
  const sofar = passed.length > 0 ? `${passed.join(", ")}; then ` : ""
  const message = `${settings.host}: ${sofar}${result.reason}`
  const { reason: description, cause } = result
  const about = { subject: settings.host, description }
  throw new Fault("failed_precondition", "message_provider.test_failed", message, {
    // The step comes first, then the cause, where that is known exactly.
    preconditions: [
      { ...about, type: nextStep(settings, result.steps) },
      ...(cause ? [{ ...about, type: cause }] : []),
    ],
  })
}

/** Where it broke off: the first step of these settings that it has not got through. */
function nextStep(smtp: Smtp, passed: readonly MailStep[]): MailStep["name"] {
  const { auth, tls } = smtp
  const isSecured = tls || isImplicitTls(smtp)
  const all = [
    ...(["resolved", "connected"] as const),
    ...(isSecured ? (["secured"] as const) : []),
    ...(auth.kind === "none" ? [] : (["authenticated"] as const)),
  ]
  return all.find((name) => !passed.some((step) => step.name === name)) ?? "accepted"
}

/** What became of a try of the provider that is active. */
export type ActiveTrial = {
  readonly kind: Provider["kind"]
  readonly delivery: Delivery
  /** Whether a mail went out, and not only the connection was tried. */
  readonly isSent: boolean
}

/**
 * Tries the email provider that is active, in the same way as messages go out; undefined where
 * there is none. Without a receiver nothing is sent: a server is connected to, and an HTTP service
 * isn't tried.
 */
export async function tryActive(
  cx: Cx,
  receiver: string | undefined,
): Promise<ActiveTrial | undefined> {
  if (receiver !== undefined) address("receiver_address", receiver)
  const provider = activeProvider(cx, "email")
  if (!provider) return undefined
  const { kind } = provider
  if (kind === "smtp") {
    const secret = secretOf(cx, provider.id)
    const delivery = await attempt(cx, { settings: provider, secret, receiver })
    return { kind, delivery, isSent: delivery.done && receiver !== undefined }
  }
  if (receiver === undefined) return { kind, delivery: { done: true, steps: [] }, isSent: false }
  const messageId = `test.${cx.ids.next()}`
  const about = { channel: "email", messageId, to: receiver, kind: "test", values: {} } as const
  const delivery = await deliver(cx, provider, { ...about, ...said })
  return { kind, delivery, isSent: delivery.done }
}

type Attempt = Omit<Trial, "receiver"> & { readonly receiver: string | undefined }

async function attempt(cx: Cx, { settings, secret, receiver }: Attempt): Promise<Delivery> {
  let cause: MailCause | undefined = secret === "" ? "secret_missing" : "no_access_token"
  try {
    const server = await serverOf(cx, settings, secret)
    cause = undefined
    const { senderName: name, senderAddress, replyToAddress: replyTo } = settings
    const from = { name, address: senderAddress }
    const sender = asciiEmail(senderAddress)
    const domain = sender.slice(sender.lastIndexOf("@") + 1)
    const messageId = `test.${cx.ids.next()}@${domain}`
    const mail = { messageId, from, to: receiver ?? senderAddress, replyTo, ...said }
    return await cx.outside.mail(
      receiver === undefined ? { ...server, isTrial: true } : server,
      mail,
    )
  } catch (failure) {
    const reason = reasonText(failure)
    return { done: false, lasting: false, concerns: "provider", reason, cause, steps: [] }
  }
}

const said = {
  subject: "Test message",
  text: "This is a test message. Email from this server is being delivered.",
  html: "<p>This is a test message. Email from this server is being delivered.</p>",
} as const
