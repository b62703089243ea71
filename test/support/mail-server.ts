import { type ParsedMail, simpleParser } from "mailparser"
import { SMTPServer, type SMTPServerOptions } from "smtp-server"
import { certificate, certificateKey } from "./mail-certificate.ts"
import { pause } from "./wait.ts"

export type TestMailServer = {
  readonly port: number
  /** Every accepted email, parsed by a third-party parser, oldest first. */
  readonly received: readonly ReceivedMail[]
  readonly close: () => Promise<void>
}

export type ReceivedMail = {
  readonly mail: ParsedMail
  readonly raw: string
  readonly recipients: readonly string[]
  readonly isSecure: boolean
  readonly user: string
}

/** Rejects an email with an SMTP status; undefined accepts it. `client` is the EHLO name. */
export type MailRule = (
  recipient: string,
  client: string,
) => { readonly status: number; readonly text: string } | undefined

type MailServerOptions = {
  /** TLS from the first byte, by STARTTLS, or not at all. */
  readonly tls?: "implicit" | "starttls" | "none"
  /** PEM; by default for mail.example.com. */
  readonly identity?: { readonly key: string; readonly cert: string }
  /** The credentials of senders; by default none are required. */
  readonly login?: { readonly user: string; readonly secret: string }
  readonly judge?: MailRule
  /** The same for the sender, and for the received message. */
  readonly judgeSender?: MailRule
  readonly judgeMessage?: MailRule
  /** The delay of each email. */
  readonly delayMs?: number
}

const acceptAll: MailRule = () => undefined

const errorOf = (refused: ReturnType<MailRule>) =>
  refused ? Object.assign(new Error(refused.text), { responseCode: refused.status }) : null

/** A real SMTP server on a free port of this machine. */
export async function startMailServer(expected: MailServerOptions = {}): Promise<TestMailServer> {
  const { tls = "none", login, delayMs = 0 } = expected
  const { judge = acceptAll, judgeSender = acceptAll, judgeMessage = acceptAll } = expected
  const received: ReceivedMail[] = []
  const options: SMTPServerOptions = {
    secure: tls === "implicit",
    ...(expected.identity ?? { key: certificateKey, cert: certificate }),
    disabledCommands: [...(tls === "none" ? ["STARTTLS"] : []), ...(login ? [] : ["AUTH"])],
    authMethods: ["PLAIN", "XOAUTH2"],
    authOptional: !login,
    closeTimeout: 100,
    disableReverseLookup: true,
    onAuth: ({ username, password, accessToken }, _, done) => {
      const isRight = username === login?.user && (accessToken ?? password) === login?.secret
      if (isRight) done(null, { user: username ?? "" })
      else done(new Error("Authentication credentials invalid"))
    },
    onMailFrom: ({ address }, _, done) => done(errorOf(judgeSender(address, ""))),
    onRcptTo: ({ address }, { hostNameAppearsAs }, done) =>
      done(errorOf(judge(address, hostNameAppearsAs))),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = []
      stream.on("data", (chunk: Buffer) => chunks.push(chunk))
      stream.on("end", async () => {
        const raw = Buffer.concat(chunks).toString()
        const recipients = session.envelope.rcptTo.map(({ address }) => address)
        const error = errorOf(judgeMessage(recipients[0] ?? "", ""))
        if (error) return done(error)
        const mail = await simpleParser(raw)
        if (delayMs > 0) await pause(delayMs, "a server that answers late on purpose")
        const { secure: isSecure } = session
        received.push({ mail, raw, recipients, isSecure, user: String(session.user ?? "") })
        done(null)
      })
    },
  }
  const server = new SMTPServer(options)
  server.on("error", () => {})
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.server.address()
  return {
    port: typeof address === "object" && address ? address.port : 0,
    received,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
