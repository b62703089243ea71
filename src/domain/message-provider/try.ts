import { Fault } from "../../kernel/fault.ts"
import type { Delivery, MailStep } from "../../kernel/net/mail.ts"
import { asciiEmail } from "../../kernel/text/email.ts"
import type { Cx } from "../../store/index.ts"
import { address, isImplicitTls } from "./check.ts"
import { checkSettings } from "./commands.ts"
import type { Smtp } from "./model.ts"
import { serverOf } from "./send.ts"

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
  throw new Fault("failed_precondition", "message_provider.test_failed", message, {
    preconditions: [
      {
        type: nextStep(settings, result.steps),
        subject: settings.host,
        description: result.reason,
      },
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

async function attempt(cx: Cx, { settings, secret, receiver }: Trial): Promise<Delivery> {
  try {
    const server = await serverOf(cx, settings, secret)
    const { senderName: name, senderAddress, replyToAddress: replyTo } = settings
    const from = { name, address: senderAddress }
    const sender = asciiEmail(senderAddress)
    const domain = sender.slice(sender.lastIndexOf("@") + 1)
    const messageId = `test.${cx.ids.next()}@${domain}`
    const to = receiver
    return await cx.outside.mail(server, { ...{ messageId, from, to, replyTo }, ...said })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    return { done: false, lasting: false, concerns: "provider", reason, steps: [] }
  }
}

const said = {
  subject: "Test message",
  text: "This is a test. Mails sent by this server arrive.",
  html: "<p>This is a test. Mails sent by this server arrive.</p>",
} as const
