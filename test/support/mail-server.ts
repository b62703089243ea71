import { type ParsedMail, simpleParser } from "mailparser"
import { SMTPServer, type SMTPServerOptions } from "smtp-server"
import { certificate, certificateKey } from "./mail-certificate.ts"
import { pause } from "./wait.ts"

export type MailServerOfTests = {
  readonly port: number
  /** Everything that was accepted, parsed by somebody else's parser, oldest first. */
  readonly received: readonly Received[]
  readonly close: () => Promise<void>
}

export type Received = {
  readonly mail: ParsedMail
  readonly raw: string
  readonly recipients: readonly string[]
  readonly isSecure: boolean
  readonly user: string
}

/** Refuses a mail with a status of SMTP; undefined takes it. `client` is what EHLO said. */
export type Judge = (
  recipient: string,
  client: string,
) => { readonly status: number; readonly text: string } | undefined

type Wanted = {
  /** TLS from the first byte, by STARTTLS, or not at all. */
  readonly tls?: "implicit" | "starttls" | "none"
  /** PEM; of mail.example.com where it is left out. */
  readonly identity?: { readonly key: string; readonly cert: string }
  /** Who may send; anybody where it is left out. */
  readonly login?: { readonly user: string; readonly secret: string }
  readonly judge?: Judge
  /** The same about the sender, and about the message once it has come. */
  readonly judgeSender?: Judge
  readonly judgeMessage?: Judge
  /** How long it thinks about each mail. */
  readonly delayMs?: number
}

const accepts: Judge = () => undefined

const errorOf = (refused: ReturnType<Judge>) =>
  refused ? Object.assign(new Error(refused.text), { responseCode: refused.status }) : null

/** A real SMTP server on a free port of this machine. */
export async function mailServer(wanted: Wanted = {}): Promise<MailServerOfTests> {
  const { tls = "none", login, delayMs = 0 } = wanted
  const { judge = accepts, judgeSender = accepts, judgeMessage = accepts } = wanted
  const received: Received[] = []
  const options: SMTPServerOptions = {
    secure: tls === "implicit",
    ...(wanted.identity ?? { key: certificateKey, cert: certificate }),
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
