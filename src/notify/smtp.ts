import { isIP } from "node:net"
import { networkInterfaces } from "node:os"
import type SMTPConnection from "nodemailer/lib/smtp-connection"
import type { Delivery, Mail, MailServer, MailStep, SendMail } from "../kernel/port/mail.ts"
import type { MailAllowed } from "../kernel/setting/allow-list.ts"
import { asciiEmail } from "../protocol/email.ts"
import { addressLiteral } from "../protocol/smtp.ts"
import { traced } from "../runtime/trace.ts"
import { isPrivateNetwork } from "./address-kind.ts"
import { aboutServer, mailCauseOf } from "./mail-cause.ts"
import { addressOf, type MayReach, type OutboundParts, reachable } from "./outbound.ts"

export type MailerParts = Omit<OutboundParts, "send"> & {
  /** A certificate that is trusted beside those of the system; PEM. */
  readonly trusted?: string
  /** The servers of a local network that instances may use, each its own. */
  readonly mailAllow?: readonly MailAllowed[]
}

/** All that one mail may take, and one silence of the server. */
const timeMax = 30_000
const silenceMax = 10_000

/**
 * Sends mails by SMTP, to servers that somebody entered: guarded as every way out is. One mail is
 * one connection, so that nothing of one server's trouble reaches another's mails. The library is
 * loaded with the first mail.
 */
export function mailerOf({ resolve, clock, allow, trusted, mailAllow }: MailerParts): SendMail {
  const mayReach = reachable(allow)
  const isNamed = ({ instance, host, port }: MailServer) =>
    mailAllow?.some(
      (each) =>
        each.instance === instance && each.host === host.toLowerCase() && each.port === port,
    ) === true
  const once = async (server: MailServer, mail: Mail): Promise<Tried> => {
    const steps: MailStep[] = []
    try {
      const isAllowed: MayReach = (host, address) =>
        mayReach(host, address) ||
        isNamed(server) ||
        (server.isPrivate === true && isPrivateNetwork(address))
      const address = await addressOf(
        resolve,
        server.host,
        isAllowed,
        "mail_allow or outbound_allow",
      )
      steps.push({ name: "resolved", detail: address })
      const connection = await connectionTo(server, { address, trusted })
      const timer = clock.after(timeMax, () => connection.close())
      try {
        await converse(connection, { server, mail, steps })
      } finally {
        timer.stop()
        connection.close()
      }
      return { delivery: { done: true, steps }, refusesName: false }
    } catch (cause) {
      const failure = failureOf(cause)
      const found = cause instanceof Error ? cause : new Error(String(cause))
      const named = mailCauseOf(found, { auth: server.auth.kind, steps })
      const delivery = { ...failure, ...(named && { cause: named }), steps }
      return { delivery, refusesName: refusesClientName(cause) }
    }
  }
  const sent: SendMail = async (server, mail) => {
    const { clientName, ...others } = server
    const { delivery, refusesName } = await once(server, mail)
    if (clientName === undefined || !refusesName) return delivery
    // Nothing was sent. A relay that can't look the name up takes the address (RFC 5321 §4.1.3).
    return (await once(others, mail)).delivery
  }
  return (server, mail) => traced("mail", () => sent(server, mail))
}

/** What became of one connection. */
type Tried = {
  readonly delivery: Delivery
  /** Whether what the client calls itself was refused. */
  readonly refusesName: boolean
}

async function connectionTo(
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
    // Encrypted by chance is encrypted by nobody's decision; a certificate nobody checks, too.
    ignoreTLS: !tls,
    name: clientName ?? addressLiteral(ownAddress()),
    connectionTimeout: silenceMax,
    greetingTimeout: silenceMax,
    socketTimeout: silenceMax,
    dnsTimeout: silenceMax,
    maxResponseSize: 65_536,
    tls: {
      minVersion: "TLSv1.2",
      ...(authorities !== undefined && { ca: authorities }),
      ...(isIP(host) === 0 && { servername: host }),
    },
  })
}

/** The address of this machine in its network; relays distrust one that is loopback. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  const found = all.find(({ internal, family }) => !internal && family === "IPv4")
  return found?.address ?? "127.0.0.1"
}

type Talk = { readonly server: MailServer; readonly mail: Mail; readonly steps: MailStep[] }

async function converse(connection: SMTPConnection, { server, mail, steps }: Talk): Promise<void> {
  const { auth, port } = server
  const connected = { name: "connected", detail: `port ${port}` } as const
  try {
    await step(connection, (done) => connection.connect(done))
  } catch (cause) {
    // The library connects and agrees on TLS in one go: who answers was reached before that.
    if (/^\d{3}[ -]/.test(String(connection.lastServerResponse))) steps.push(connected)
    throw cause
  }
  steps.push(connected)
  if (connection.secure) steps.push({ name: "secured", detail: "TLS, by a trusted certificate" })
  if (auth.kind !== "none") {
    const login = await loginOf(auth)
    await step(connection, (done) => connection.login(login, done))
    steps.push({ name: "authenticated", detail: auth.user })
  }
  if (server.isTrial) return connection.quit()
  const message = await mimeMessageOf(mail)
  const envelope = { from: asciiEmail(mail.from.address), to: asciiEmail(mail.to) }
  const said = await new Promise<string>((resolve, reject) => {
    connection.once("error", reject)
    connection.once("end", () => reject(new Error("the server hung up")))
    connection.send(envelope, message, (cause, info) =>
      cause ? reject(cause) : resolve(info?.response ?? ""),
    )
  })
  steps.push({ name: "accepted", detail: shortened(said) })
}

/** One thing that is asked of the server: it answers, breaks, or hangs up. */
const step = (connection: SMTPConnection, ask: (done: (cause?: Error | null) => void) => void) =>
  new Promise<void>((resolve, reject) => {
    connection.once("error", reject)
    connection.once("end", () => reject(new Error("the server hung up, or said nothing in time")))
    ask((cause) => (cause ? reject(cause) : resolve()))
  })

async function loginOf({ kind, user, secret }: Exclude<MailServer["auth"], { kind: "none" }>) {
  if (kind === "plain") return { user, pass: secret }
  const { default: XOAuth2 } = await import("nodemailer/lib/xoauth2")
  return { user, oauth2: new XOAuth2({ user, accessToken: secret }) }
}

/** RFC 5322 and MIME: nothing of a mail's texts can end a header. */
export async function mimeMessageOf(mail: Mail): Promise<Buffer> {
  const { default: Composer } = await import("nodemailer/lib/mail-composer")
  const { from, to, replyTo, subject, text, html, messageId } = mail
  return new Composer({
    from: { name: from.name, address: asciiEmail(from.address) },
    to: { name: "", address: asciiEmail(to) },
    ...(replyTo !== "" && { replyTo: { name: "", address: asciiEmail(replyTo) } }),
    subject,
    text,
    html,
    messageId: `<${messageId}>`,
    // RFC 3834 §5: no holiday note answers it.
    headers: { "Auto-Submitted": "auto-generated" },
    disableFileAccess: true,
    disableUrlAccess: true,
  })
    .compile()
    .build()
}

/**
 * Whether a reply is about what the client calls itself. Postfix says so only at RCPT, by default:
 * "450 4.7.1 <id.example.com>: Helo command rejected: Host not found". What comes later in a reply
 * may be the words of the recipient's server.
 */
const refusesClientName = (cause: unknown): boolean =>
  cause instanceof Error && "response" in cause && aboutClientName.test(String(cause.response))

const aboutClientName =
  /^[45]\d\d[ -](?:\d\.\d{1,3}\.\d{1,3} )?(?:<[^>]*>: ?)?(?:\S+ ){0,4}(?:helo|ehlo)(?=[ :/])/i

/**
 * RFC 5321 §4.2.1: a reply that begins with 5 is permanent. A reply to RCPT or DATA is about this
 * mail only: greylisting, a full mailbox, an unknown user. All else would meet every mail, as does
 * one about the name of the client.
 */
function failureOf(cause: unknown): Omit<Extract<Delivery, { done: false }>, "steps"> {
  const found = cause instanceof Error ? cause : new Error(String(cause))
  const code = "code" in found ? found.code : undefined
  const response = "responseCode" in found ? Number(found.responseCode) : 0
  const reason = code === "ETLS" ? `no TLS could be agreed on: ${found.message}` : found.message
  const command = "command" in found ? String(found.command) : ""
  const isOfMail =
    !refusesClientName(cause) &&
    (code === "EENVELOPE" || code === "EMESSAGE") &&
    aboutOneMail.has(command) &&
    !aboutServer.has(response)
  return {
    done: false,
    lasting: isOfMail && response >= 500,
    concerns: isOfMail ? "message" : "provider",
    reason: shortened(reason),
  }
}

const aboutOneMail: ReadonlySet<string> = new Set(["RCPT TO", "DATA"])

/** What servers say is shown to administrators, on one line. */
const shortened = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .trim()
    .slice(0, 300)
