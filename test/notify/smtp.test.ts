import { createServer, type Server } from "node:net"
import { createInterface } from "node:readline"
import { afterEach, describe, expect, test } from "vitest"
import { systemClock } from "../../src/kernel/clock.ts"
import type { Mail, MailServer } from "../../src/kernel/port/mail.ts"
import {
  parseAllowedMailServer,
  parseAllowedOutbound,
} from "../../src/kernel/setting/allow-list.ts"
import { createMailer } from "../../src/notify/smtp.ts"
import { ehloNameOf } from "../../src/protocol/smtp.ts"
import { certificate } from "../support/mail-certificate.ts"
import { startMailServer } from "../support/mail-server.ts"

const allow = [parseAllowedOutbound("127.0.0.1") ?? { host: "" }]
const send = createMailer({
  resolve: async () => ["127.0.0.1"],
  clock: systemClock,
  allow,
  trusted: certificate,
})

/** Aborts every connection. */
const aborting = {
  ...systemClock,
  after: (_: number, call: () => void) => systemClock.after(1, call),
}

const mail: Mail = {
  messageId: "1.2@id.example.com",
  from: { name: "Zürich, Konto", address: "konto@example.com" },
  to: "ada@example.com",
  replyTo: "hilfe@example.com",
  subject: "Bestätigen Sie Ihre Adresse – 確認",
  text: "Grüezi Ada\nIhr Code: 4711",
  html: "<p>Grüezi Ada</p>",
}
const at = (port: number, more: Partial<MailServer> = {}): MailServer => ({
  host: "mail.example.com",
  clientName: "id.example.com",
  port,
  tls: false,
  auth: { kind: "none" },
  ...more,
})

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})
async function serving(options: Parameters<typeof startMailServer>[0] = {}) {
  const server = await startMailServer(options)
  closing.push(server.close)
  return server
}
function rawServer(talk: (socket: import("node:net").Socket) => void): Promise<number> {
  return new Promise((resolve) => {
    const server: Server = createServer(talk)
    closing.push(() => server.close())
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resolve(typeof address === "object" && address ? address.port : 0)
    })
  })
}

/** A server that accepts every email and records all received lines in order. */
async function transcribing() {
  const lines: string[] = []
  const port = await rawServer((socket) => {
    let isMail = false
    socket.write("220 mail.example.com\r\n")
    createInterface(socket).on("line", (line) => {
      lines.push(line)
      if (isMail && line !== ".") return
      isMail = line === "DATA"
      socket.write(isMail ? "354 go on\r\n" : "250 ok\r\n")
    })
  })
  return { port, lines }
}

const stepNames = ({ steps }: Awaited<ReturnType<typeof send>>) => steps.map(({ name }) => name)
const causeIn = (result: Awaited<ReturnType<typeof send>>) =>
  result.done ? undefined : result.cause

const login = { user: "konto", secret: "s3cret" }

describe("an email reaches a real server, and returns its steps", () => {
  test("in plain text, without a password", async () => {
    const server = await serving()
    const result = await send(at(server.port), mail)
    expect(result).toMatchObject({ done: true })
    expect(stepNames(result)).toEqual(["resolved", "connected", "accepted"])
    const [got] = server.received
    expect(got?.recipients).toEqual(["ada@example.com"])
    expect(got?.mail).toMatchObject({
      subject: mail.subject,
      messageId: "<1.2@id.example.com>",
      from: { value: [{ name: "Zürich, Konto", address: "konto@example.com" }] },
      replyTo: { value: [{ address: "hilfe@example.com" }] },
    })
    expect(got?.mail.text).toContain("Ihr Code: 4711")
    expect(got?.mail.html).toContain("<p>Grüezi Ada</p>")
    expect(got?.mail.headers.get("auto-submitted")).toBe("auto-generated")
    expect(got?.raw).toMatch(/multipart\/alternative/)
  })

  test.each([
    ["https://id.example.com", "id.example.com"],
    ["https://konto.müller.test:8443", "konto.xn--mller-kva.test"],
    ["http://192.0.2.7:8080", "[192.0.2.7]"],
    ["http://[2001:db8::7]", "[IPv6:2001:db8::7]"],
  ])("RFC 5321 §4.1.1.1: EHLO at %s has %s", async (publicUrl, name) => {
    const { port, lines } = await transcribing()
    await send(at(port, { clientName: ehloNameOf(publicUrl) ?? "" }), mail)
    expect(lines[0]).toBe(`EHLO ${name}`)
  })

  test("RFC 5321 §4.1.3: EHLO has an address if the public host is not a domain", async () => {
    expect(ehloNameOf("http://localhost:8080")).toBeUndefined()
    const { port, lines } = await transcribing()
    const { clientName: _, ...place } = at(port)
    await send(place, mail)
    expect(lines[0]).toMatch(/^EHLO \[\d+\.\d+\.\d+\.\d+\]$/)
  })

  test("RFC 5890: with A-labels in the envelope and the headers", async () => {
    const { port, lines } = await transcribing()
    const from = { name: "Müller", address: "konto@müller.test" }
    const sent = { ...mail, from, to: "max@bücher.test", replyTo: "hilfe@müller.test" }
    expect(await send(at(port), sent)).toMatchObject({ done: true })
    expect(lines).toContain("MAIL FROM:<konto@xn--mller-kva.test>")
    expect(lines).toContain("RCPT TO:<max@xn--bcher-kva.test>")
    expect(lines).toContain("To: max@xn--bcher-kva.test")
    expect(lines).toContain("Reply-To: hilfe@xn--mller-kva.test")
    expect(lines.join("\n")).toMatch(/^From: .*<konto@xn--mller-kva\.test>$/m)
  })

  test.each(["plain", "xoauth2"] as const)("by STARTTLS, authenticated by %s", async (kind) => {
    const server = await serving({ tls: "starttls", login })
    const result = await send(at(server.port, { tls: true, auth: { kind, ...login } }), mail)
    expect(result).toMatchObject({ done: true })
    expect(stepNames(result)).toEqual([
      "resolved",
      "connected",
      "secured",
      "authenticated",
      "accepted",
    ])
    expect(server.received).toMatchObject([{ isSecure: true, user: "konto" }])
  })
})

describe("with implicit TLS, at any port", () => {
  const unknowing = createMailer({ resolve: async () => ["127.0.0.1"], clock: systemClock, allow })

  test("with a certificate of the provider's authority", async () => {
    const server = await serving({ tls: "implicit", login })
    const place = at(server.port, {
      implicitTls: true,
      authorities: certificate,
      auth: { kind: "plain", ...login },
    })
    const result = await unknowing(place, mail)
    expect(result).toMatchObject({ done: true })
    expect(stepNames(result)).toEqual([
      "resolved",
      "connected",
      "secured",
      "authenticated",
      "accepted",
    ])
    expect(server.received).toMatchObject([{ isSecure: true, user: "konto" }])
  })

  test("without it, the certificate is not trusted", async () => {
    const server = await serving({ tls: "implicit" })
    const result = await unknowing(at(server.port, { implicitTls: true }), mail)
    const cause = "certificate_untrusted"
    expect(result).toMatchObject({ done: false, concerns: "provider", cause })
    expect(server.received).toEqual([])
  })
})

describe("a failed delivery is reported with its steps", () => {
  test.each([
    {
      what: "a wrong password",
      cause: "password_refused",
      wanted: { tls: "starttls", login },
      asked: { auth: { kind: "plain", user: "konto", secret: "x" }, tls: true },
      steps: ["resolved", "connected", "secured"],
      lasting: false,
    },
    {
      what: "no TLS where it is wanted",
      cause: "no_tls",
      wanted: { tls: "none" },
      asked: { tls: true },
      steps: ["resolved", "connected"],
      lasting: false,
    },
    {
      what: "another's certificate",
      cause: "certificate_name",
      wanted: { tls: "starttls" },
      asked: { tls: true, host: "other.example.com" },
      steps: ["resolved", "connected"],
      lasting: false,
    },
    {
      what: "an address that is refused for good",
      cause: "recipient_refused",
      wanted: { judge: () => ({ status: 550, text: "no such user" }) },
      asked: {},
      steps: ["resolved", "connected"],
      lasting: true,
      concerns: "message",
    },
    {
      what: "a sender that is refused for good",
      cause: "sender_refused",
      wanted: { judgeSender: () => ({ status: 553, text: "sender not owned by user" }) },
      asked: {},
      steps: ["resolved", "connected"],
      lasting: false,
    },
    {
      what: "a message that is refused for good",
      cause: "message_refused",
      wanted: { judgeMessage: () => ({ status: 552, text: "mailbox full" }) },
      asked: {},
      steps: ["resolved", "connected"],
      lasting: true,
      concerns: "message",
    },
    {
      what: "a server that ends the session",
      cause: undefined,
      wanted: { judge: () => ({ status: 421, text: "too many connections" }) },
      asked: {},
      steps: ["resolved", "connected"],
      lasting: false,
    },
    {
      what: "TLS or a login that is asked for after all",
      cause: undefined,
      wanted: { judge: () => ({ status: 530, text: "Must issue a STARTTLS command first" }) },
      asked: {},
      steps: ["resolved", "connected"],
      lasting: false,
    },
    {
      what: "greylisting",
      cause: "recipient_refused",
      wanted: { judge: () => ({ status: 451, text: "try again later" }) },
      asked: {},
      steps: ["resolved", "connected"],
      lasting: false,
      concerns: "message",
    },
  ] as const)("$what", async ({ wanted, asked, steps, what: _, ...expected }) => {
    const server = await serving(wanted)
    const result = await send(at(server.port, asked), mail)
    const { cause, ...others } = expected
    expect(result).toMatchObject({ done: false, concerns: "provider", ...others })
    expect(causeIn(result)).toBe(cause)
    expect(stepNames(result)).toEqual(steps)
    expect(JSON.stringify(result)).not.toContain("s3cret")
    expect(server.received).toEqual([])
  })

  test("a server that is down, hangs up, or speaks another resource", async () => {
    const down = await send(at(1), mail)
    expect(down).toMatchObject({ done: false, lasting: false, cause: "connection_refused" })
    const hangsUp = await rawServer((socket) => socket.end())
    const result = await send(at(hangsUp), mail)
    expect(result).toMatchObject({ done: false, lasting: false })
    expect(stepNames(result)).toEqual(["resolved"])
    const web = await rawServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"))
    const spoken = await send(at(web), mail)
    expect(spoken).toMatchObject({ done: false, lasting: false, cause: "no_mail_server" })
  })

  /** Rejects like Postfix with reject_unknown_helo_hostname and similar settings. */
  const helo = (client: string, reason: string) =>
    `4.7.1 <${client}>: Helo command rejected: ${reason}`

  test("a name that the server can't resolve is replaced by the address", async () => {
    const clients: string[] = []
    const server = await serving({
      judge: (_, client) => {
        clients.push(client)
        if (client.startsWith("[")) return undefined
        return { status: 450, text: helo(client, "Host not found") }
      },
    })
    const result = await send(at(server.port), mail)
    expect(result).toMatchObject({ done: true })
    expect(stepNames(result)).toEqual(["resolved", "connected", "accepted"])
    expect(clients).toEqual(["id.example.com", expect.stringMatching(/^\[\d+\.\d+\.\d+\.\d+\]$/)])
    expect(server.received).toHaveLength(1)
  })

  test.each([
    [450, "Host not found"],
    [554, "Access denied"],
    [504, "need fully-qualified hostname"],
  ])("%d about every name is not a failure of the message", async (status, reason) => {
    const server = await serving({ judge: (_, client) => ({ status, text: helo(client, reason) }) })
    const result = await send(at(server.port), mail)
    expect(result).toMatchObject({ done: false, concerns: "provider", lasting: false })
    expect(result.done || result.reason).toContain(reason)
  })

  test.each([
    "5.1.1 <ehlo@example.com>: Recipient address rejected: User unknown",
    "5.1.1 helo@example.com is unknown",
    "4.1.1 <a@b.test>: Recipient address rejected: host mx.b.test said: Helo command rejected",
  ])("%s: a rejection of the recipient is not retried with another name", async (text) => {
    let tries = 0
    const server = await serving({
      judge: () => {
        tries++
        return { status: 550, text }
      },
    })
    const result = await send(at(server.port), { ...mail, to: "ehlo@example.com" })
    expect(result).toMatchObject({ done: false, concerns: "message", lasting: true })
    expect(tries).toBe(1)
  })

  test("a silent server is abandoned after ten seconds", async () => {
    const silent = await rawServer(() => {})
    const began = performance.now()
    const result = await send(at(silent), mail)
    expect(result).toMatchObject({ done: false, lasting: false, cause: "no_answer" })
    expect(performance.now() - began).toBeLessThan(19_000)
  })

  test.each(["10.1.2.3", "172.20.0.3", "192.168.1.9", "fd12::1"])(
    "%s is tried if the server may be in a private network",
    async (address) => {
      const guarded = createMailer({ resolve: async () => [address], clock: aborting, allow: [] })
      const place = at(9, { host: "mail.lan" })
      expect(await guarded(place, mail)).toMatchObject({ done: false, steps: [] })
      const { steps } = await guarded({ ...place, isPrivate: true }, mail)
      expect(steps).toEqual([{ name: "resolved", detail: address }])
    },
  )

  test.each(["127.0.0.1", "::1", "169.254.169.254", "100.64.0.1", "fd00:ec2::254", "fe80::1"])(
    "%s is not an address of a private network",
    async (address) => {
      const guarded = createMailer({
        resolve: async () => [address],
        clock: systemClock,
        allow: [],
      })
      const place = at(9, { host: "mail.lan", isPrivate: true })
      expect(await guarded(place, mail)).toMatchObject({ done: false, steps: [] })
    },
  )

  test("a server that the operator allows applies to one instance, host, and port", async () => {
    const server = await serving()
    const named = parseAllowedMailServer(`7=Mail.Example.com:${server.port}`)
    const mailAllow = named ? [named] : []
    const way = { resolve: async () => ["127.0.0.1"], clock: systemClock, allow: [] }
    const guarded = createMailer({ ...way, mailAllow })
    const place = at(server.port, { instance: "7" })
    expect(await guarded(place, mail)).toMatchObject({ done: true })
    const others = [
      { ...place, instance: "77" },
      { ...place, host: "mail.lan" },
      at(server.port),
      { ...place, port: 9 },
    ]
    for (const other of others) {
      const result = await guarded(other, mail)
      expect(result).toMatchObject({ done: false, steps: [] })
      expect(result.done || result.reason).toMatch(/mail_allow/)
    }
  })

  test("a name without an address", async () => {
    const nameless = createMailer({ resolve: async () => [], clock: systemClock, allow: [] })
    expect(await nameless(at(25), mail)).toMatchObject({ done: false, cause: "unknown_name" })
  })

  test("an address in a private network is not called", async () => {
    const server = await serving()
    const guarded = createMailer({
      resolve: async () => ["127.0.0.1"],
      clock: systemClock,
      allow: [],
    })
    const result = await guarded(at(server.port), mail)
    expect(result).toMatchObject({ done: false, cause: "forbidden_address", steps: [] })
    expect(result.done || result.reason).toMatch(/outbound_allow/)
  })
})

test("a name, address, or subject can't add a header", async () => {
  const server = await serving()
  const evil = "x\r\nBcc: eve@example.com\r\n\r\n<script>"
  const from = { name: evil, address: "konto@example.com" }
  await send(at(server.port), { ...mail, from, subject: evil, messageId: "1" })
  const [got] = server.received
  expect(got?.recipients).toEqual(["ada@example.com"])
  expect(got?.mail.headers.has("bcc")).toBe(false)
  const to = "ada@example.com>\r\nRCPT TO:<eve@example.com"
  await send(at(server.port), { ...mail, to })
  expect(server.received.flatMap(({ recipients }) => recipients).join()).not.toContain("eve")
})
