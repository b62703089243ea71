import { errorText, Fault } from "../../kernel/fault.ts"
import type { DeliveryResult, MailStep } from "../../kernel/port/mail.ts"
import type { MailCause } from "../../kernel/port/mail-cause.ts"
import { toAsciiEmail } from "../../protocol/email.ts"
import type { Cx } from "../../store/index.ts"
import { isImplicitTls, validateEmail } from "./check.ts"
import { activeProvider, secretOf, validateSettings } from "./commands.ts"
import type { Provider, Smtp } from "./model.ts"
import { deliver, mailServerOf } from "./send.ts"

/** SMTP settings to test, and the recipient of the test email. */
export type SmtpTest = {
  readonly settings: Smtp
  readonly secret: string
  readonly receiver: string
}

/**
 * Sends a test email through an SMTP server and returns the completed steps. If a step fails, the
 * fault contains the reason and the steps completed before.
 */
export async function testServer(cx: Cx, test: SmtpTest): Promise<readonly MailStep[]> {
  const { settings, receiver } = test
  validateSettings(cx, settings)
  validateEmail("receiver_address", receiver)
  const result = await deliverTest(cx, test)
  if (result.done) return result.steps
  const passed = result.steps.map(({ name, detail }) => `${name} (${detail})`)
  const progress = passed.length > 0 ? `${passed.join(", ")}; then ` : ""
  const message = `${settings.host}: ${progress}${result.reason}`
  const { reason: description, cause } = result
  const about = { subject: settings.host, description }
  throw new Fault("failed_precondition", "message_provider.test_failed", message, {
    // The failed step first, then the cause if it is known.
    preconditions: [
      { ...about, type: nextStep(settings, result.steps) },
      ...(cause ? [{ ...about, type: cause }] : []),
    ],
  })
}

/** The failed step: the first one for these settings that was not completed. */
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

/** The result of a test of the active provider. */
export type ActiveTestResult = {
  readonly kind: Provider["kind"]
  readonly delivery: DeliveryResult
  /** Whether an email was sent, rather than only the connection tested. */
  readonly isSent: boolean
}

/**
 * Tests the active email provider in the same way as messages are sent; undefined if there is none.
 * Without a recipient, only the connection to an SMTP server is tested, and an HTTP service is not
 * tested.
 */
export async function testActiveProvider(
  cx: Cx,
  receiver: string | undefined,
): Promise<ActiveTestResult | undefined> {
  if (receiver !== undefined) validateEmail("receiver_address", receiver)
  const provider = activeProvider(cx, "email")
  if (!provider) return undefined
  const { kind } = provider
  if (kind === "smtp") {
    const secret = secretOf(cx, provider.id)
    const delivery = await deliverTest(cx, { settings: provider, secret, receiver })
    return { kind, delivery, isSent: delivery.done && receiver !== undefined }
  }
  if (receiver === undefined) return { kind, delivery: { done: true, steps: [] }, isSent: false }
  const messageId = `test.${cx.ids.next()}`
  const about = { channel: "email", messageId, to: receiver, kind: "test", values: {} } as const
  const delivery = await deliver(cx, provider, { ...about, ...testMessage })
  return { kind, delivery, isSent: delivery.done }
}

type DeliveryAttempt = Omit<SmtpTest, "receiver"> & { readonly receiver: string | undefined }

async function deliverTest(
  cx: Cx,
  { settings, secret, receiver }: DeliveryAttempt,
): Promise<DeliveryResult> {
  let cause: MailCause | undefined = secret === "" ? "secret_missing" : "no_access_token"
  try {
    const server = await mailServerOf(cx, settings, secret)
    cause = undefined
    const { senderName: name, senderAddress, replyToAddress: replyTo } = settings
    const from = { name, address: senderAddress }
    const sender = toAsciiEmail(senderAddress)
    const domain = sender.slice(sender.lastIndexOf("@") + 1)
    const messageId = `test.${cx.ids.next()}@${domain}`
    const mail = { messageId, from, to: receiver ?? senderAddress, replyTo, ...testMessage }
    return await cx.outside.mail(
      receiver === undefined ? { ...server, isTrial: true } : server,
      mail,
    )
  } catch (failure) {
    const reason = errorText(failure)
    return { done: false, lasting: false, concerns: "provider", reason, cause, steps: [] }
  }
}

const testMessage = {
  subject: "Test message",
  text: "This is a test message. Email from this server is being delivered.",
  html: "<p>This is a test message. Email from this server is being delivered.</p>",
} as const
