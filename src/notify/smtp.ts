import { isIP } from "node:net"
import { networkInterfaces } from "node:os"
import type SMTPConnection from "nodemailer/lib/smtp-connection"
import type { DeliveryResult, Mail, MailServer, MailStep, SendMail } from "../kernel/port/mail.ts"
import type { AllowedMailServer } from "../kernel/setting/allow-list.ts"
import { toAsciiEmail } from "../protocol/email.ts"
import { addressLiteral } from "../protocol/smtp.ts"
import { trace } from "../runtime/trace.ts"
import { isPrivateNetwork } from "./address-kind.ts"
import { mailCauseOf, serverErrorCodes } from "./mail-cause.ts"
import {
  createAddressCheck,
  type OutboundParts,
  type ReachCheck,
  resolveAddress,
} from "./outbound.ts"

export type MailerParts = Omit<OutboundParts, "send"> & {
  /** An additional trusted certificate in PEM. */
  readonly trusted?: string
  /** The allowed servers in local networks, per instance. */
  readonly mailAllow?: readonly AllowedMailServer[]
}

/** The time limits for one email and for one response of the server, in ms. */
const timeMsMax = 30_000
const silenceMsMax = 10_000

/**
 * Sends emails to user-configured SMTP servers with outbound restrictions. One connection per
 * email, so that problems of one server don't affect others. The library is loaded on first use.
 */
export function createMailer({ resolve, clock, allow, trusted, mailAllow }: MailerParts): SendMail {
  const mayReach = createAddressCheck(allow)
  const isNamed = ({ instance, host, port }: MailServer) =>
    mailAllow?.some(
      (each) =>
        each.instance === instance && each.host === host.toLowerCase() && each.port === port,
    ) === true
  const once = async (server: MailServer, mail: Mail): Promise<Attempt> => {
    const steps: MailStep[] = []
    try {
      const isAllowed: ReachCheck = (host, address) =>
        mayReach(host, address) ||
        isNamed(server) ||
        (server.isPrivate === true && isPrivateNetwork(address))
      const address = await resolveAddress(
        resolve,
        server.host,
        isAllowed,
        "mail_allow or outbound_allow",
      )
      steps.push({ name: "resolved", detail: address })
      const connection = await openConnection(server, { address, trusted })
      const timer = clock.after(timeMsMax, () => connection.close())
      try {
        await runSession(connection, { server, mail, steps })
      } finally {
        timer.stop()
        connection.close()
      }
      return { delivery: { done: true, steps }, rejectsClientName: false }
    } catch (cause) {
      const failure = failureOf(cause)
      const found = cause instanceof Error ? cause : new Error(String(cause))
      const named = mailCauseOf(found, { auth: server.auth.kind, steps })
      const delivery = { ...failure, ...(named && { cause: named }), steps }
      return { delivery, rejectsClientName: isClientNameError(cause) }
    }
  }
  const sent: SendMail = async (server, mail) => {
    const { clientName, ...others } = server
    const { delivery, rejectsClientName } = await once(server, mail)
    if (clientName === undefined || !rejectsClientName) return delivery
    // Nothing was sent yet. A relay that can't resolve the client name accepts an address literal
    // (RFC 5321 §4.1.3).
    return (await once(others, mail)).delivery
  }
  return (server, mail) => trace("mail", () => sent(server, mail))
}

/** The result of one connection. */
type Attempt = {
  readonly delivery: DeliveryResult
  /** Whether the server rejected the name of the client. */
  readonly rejectsClientName: boolean
}

async function openConnection(
  server: MailServer,
  { address, trusted }: { readonly address: string; readonly trusted: string | undefined },
): Promise<SMTPConnection> {
  const { default: Connection } = await import("nodemailer/lib/smtp-connection")
  const { host, clientName, port, tls, implicitTls = false, authorities = trusted } = server
  return new Connection({
    host: address,
    port,
    secure: implicitTls,
    requireTLS: tls,
    // Opportunistic TLS and unverified certificates give no security, so neither is used.
    ignoreTLS: !tls,
    name: clientName ?? addressLiteral(ownAddress()),
    connectionTimeout: silenceMsMax,
    greetingTimeout: silenceMsMax,
    socketTimeout: silenceMsMax,
    dnsTimeout: silenceMsMax,
    maxResponseSize: 65_536,
    tls: {
      minVersion: "TLSv1.2",
      ...(authorities !== undefined && { ca: authorities }),
      ...(isIP(host) === 0 && { servername: host }),
    },
  })
}

/** A network address of this machine, because relays distrust a loopback address. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  const found = all.find(({ internal, family }) => !internal && family === "IPv4")
  return found?.address ?? "127.0.0.1"
}

type SmtpSession = { readonly server: MailServer; readonly mail: Mail; readonly steps: MailStep[] }

async function runSession(
  connection: SMTPConnection,
  { server, mail, steps }: SmtpSession,
): Promise<void> {
  const { auth, port } = server
  const connected = { name: "connected", detail: `port ${port}` } as const
  try {
    await runCommand(connection, (done) => connection.connect(done))
  } catch (cause) {
    // The library connects and negotiates TLS in one step, so the server was reached before a TLS
    // error.
    if (/^\d{3}[ -]/.test(String(connection.lastServerResponse))) steps.push(connected)
    throw cause
  }
  steps.push(connected)
  if (connection.secure) steps.push({ name: "secured", detail: "TLS with a trusted certificate" })
  if (auth.kind !== "none") {
    const login = await authenticationOf(auth)
    await runCommand(connection, (done) => connection.login(login, done))
    steps.push({ name: "authenticated", detail: auth.user })
  }
  if (server.isTrial) return connection.quit()
  const message = await createMimeMessage(mail)
  const envelope = { from: toAsciiEmail(mail.from.address), to: toAsciiEmail(mail.to) }
  const reported = await new Promise<string>((resolve, reject) => {
    connection.once("error", reject)
    connection.once("end", () => reject(new Error("the server closed the connection")))
    connection.send(envelope, message, (cause, info) =>
      cause ? reject(cause) : resolve(info?.response ?? ""),
    )
  })
  steps.push({ name: "accepted", detail: toShortLine(reported) })
}

/** Runs one command: it completes, fails, or the server closes the connection. */
const runCommand = (
  connection: SMTPConnection,
  request: (done: (cause?: Error | null) => void) => void,
) =>
  new Promise<void>((resolve, reject) => {
    connection.once("error", reject)
    connection.once("end", () =>
      reject(new Error("the server closed the connection or did not respond in time")),
    )
    request((cause) => (cause ? reject(cause) : resolve()))
  })

async function authenticationOf({
  kind,
  user,
  secret,
}: Exclude<MailServer["auth"], { kind: "none" }>) {
  if (kind === "plain") return { user, pass: secret }
  const { default: XOAuth2 } = await import("nodemailer/lib/xoauth2")
  return { user, oauth2: new XOAuth2({ user, accessToken: secret }) }
}

/** RFC 5322 and MIME: texts of an email can't end a header. */
export async function createMimeMessage(mail: Mail): Promise<Buffer> {
  const { default: Composer } = await import("nodemailer/lib/mail-composer")
  const { from, to, replyTo, subject, text, html, messageId } = mail
  return new Composer({
    from: { name: from.name, address: toAsciiEmail(from.address) },
    to: { name: "", address: toAsciiEmail(to) },
    ...(replyTo !== "" && { replyTo: { name: "", address: toAsciiEmail(replyTo) } }),
    subject,
    text,
    html,
    messageId: `<${messageId}>`,
    // RFC 3834 §5: prevents automatic replies.
    headers: { "Auto-Submitted": "auto-generated" },
    disableFileAccess: true,
    disableUrlAccess: true,
  })
    .compile()
    .build()
}

/**
 * Whether a reply is about the name of the client. Postfix sends it only after RCPT by default:
 * "450 4.7.1 <id.example.com>: Helo command rejected: Host not found". Later text in a reply can
 * come from the recipient's server.
 */
const isClientNameError = (cause: unknown): boolean =>
  cause instanceof Error && "response" in cause && aboutClientName.test(String(cause.response))

const aboutClientName =
  /^[45]\d\d[ -](?:\d\.\d{1,3}\.\d{1,3} )?(?:<[^>]*>: ?)?(?:\S+ ){0,4}(?:helo|ehlo)(?=[ :/])/i

/**
 * RFC 5321 §4.2.1: a reply starting with 5 is permanent. Replies to RCPT or DATA are about this
 * email only, such as greylisting, a full mailbox or an unknown user. All other errors affect every
 * email, including one about the name of the client.
 */
function failureOf(cause: unknown): Omit<Extract<DeliveryResult, { done: false }>, "steps"> {
  const found = cause instanceof Error ? cause : new Error(String(cause))
  const code = "code" in found ? found.code : undefined
  const response = "responseCode" in found ? Number(found.responseCode) : 0
  const reason = code === "ETLS" ? `TLS could not be negotiated: ${found.message}` : found.message
  const command = "command" in found ? String(found.command) : ""
  const isOfMail =
    !isClientNameError(cause) &&
    (code === "EENVELOPE" || code === "EMESSAGE") &&
    messageCommands.has(command) &&
    !serverErrorCodes.has(response)
  return {
    done: false,
    lasting: isOfMail && response >= 500,
    concerns: isOfMail ? "message" : "provider",
    reason: toShortLine(reason),
  }
}

const messageCommands: ReadonlySet<string> = new Set(["RCPT TO", "DATA"])

/** Replies of servers are shown to administrators on one line. */
const toShortLine = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .trim()
    .slice(0, 300)
