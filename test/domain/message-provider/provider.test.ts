import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { activeProvider, deliver } from "../../../src/domain/message-provider/index.ts"
import type { MailServer } from "../../../src/kernel/port/mail.ts"
import type { OutboundRequest } from "../../../src/kernel/port/outbound.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant(["i1", "i2"])
})
afterEach(() => estate.close())

const smtp = {
  senderAddress: "konto@example.com",
  senderName: "Acme",
  tls: true,
  user: "konto",
  host: "mail.example.com:465",
  password: "s3cret",
}
const callAsOwner = (name: string, request: object = {}, cx = {}) =>
  estate.as("owner", name, request, { cx })
const message = {
  channel: "email",
  messageId: "m1@id",
  to: "ada@example.com",
  subject: "Hallo",
  text: "Code 4711",
  html: "<p>",
  kind: "verify_email",
  values: { code: "4711" },
} as const

/** An outside world that accepts everything and returns the received messages. */
function recordingOutside(answer: (url: string) => string = () => "") {
  const servers: MailServer[] = []
  const requests: OutboundRequest[] = []
  const outside = {
    ...unreachableOutside,
    mail: async (server: MailServer) => {
      servers.push(server)
      return { done: true, steps: [{ name: "accepted", detail: "250" }] } as const
    },
    send: async (request: OutboundRequest) => {
      requests.push(request)
      return { status: 200, body: answer(request.url) }
    },
  }
  return { outside, servers, requests }
}

async function sendMessage(
  outside: ReturnType<typeof recordingOutside>["outside"],
  channel: "email" | "sms",
) {
  const cx = estate.cx({ outside })
  const provider = activeProvider(cx, channel)
  return provider && deliver(cx, provider, { ...message, channel })
}

describe("of several providers one is active", () => {
  test("and sends messages with its password", async () => {
    const { id } = await callAsOwner("addEmailProviderSMTP", smtp)
    await callAsOwner("addEmailProviderHTTP", { endpoint: "https://send.example.com" })
    const { outside, servers } = recordingOutside()
    expect(await sendMessage(outside, "email")).toBeUndefined()
    await callAsOwner("activateEmailProvider", { id })
    expect(await sendMessage(outside, "email")).toMatchObject({ done: true })
    const auth = { kind: "plain", user: "konto", secret: "s3cret" }
    const place = { host: "mail.example.com", clientName: "id.example.com", implicitTls: true }
    expect(servers).toEqual([{ ...place, port: 465, tls: true, auth, instance: "i1" }])
    const { result } = await callAsOwner("listEmailProviders")
    expect(result).toHaveLength(2)
    await callAsOwner("removeEmailProvider", { id })
    expect(await sendMessage(outside, "email")).toBeUndefined()
  })

  test("is separate for each instance, and not accessible by its ID from another", async () => {
    const { id } = await callAsOwner("addEmailProviderSMTP", smtp)
    const there = { instance: "i2" }
    expect((await callAsOwner("listEmailProviders", {}, there)).result).toEqual([])
    for (const call of ["activateEmailProvider", "removeEmailProvider", "getEmailProviderById"]) {
      const tried = async () => callAsOwner(call, { id }, there)
      await expect(tried(), call).rejects.toMatchObject({ code: "not_found" })
    }
  })
})

describe("a secret", () => {
  test("is never returned, nor stored in plain text", async () => {
    const { id } = await callAsOwner("addEmailProviderSMTP", smtp)
    const shown = JSON.stringify(
      [await callAsOwner("listEmailProviders"), await callAsOwner("getSMTPConfigById", { id })],
      (_, value) => (typeof value === "bigint" ? `${value}` : value),
    )
    expect(shown).not.toContain("s3cret")
    expect(JSON.stringify(await estate.store.log.read(0, 1000))).not.toContain("s3cret")
  })

  test("is kept for its host only", async () => {
    const { id } = await callAsOwner("addEmailProviderSMTP", smtp)
    await callAsOwner("activateEmailProvider", { id })
    const { password: _, ...open } = smtp
    await callAsOwner("updateEmailProviderSMTP", { id, ...open, senderName: "Acme AG" })
    const { outside, servers } = recordingOutside()
    expect(await sendMessage(outside, "email")).toMatchObject({ done: true })
    await callAsOwner("updateEmailProviderSMTP", { id, ...open, host: "evil.example.com:465" })
    expect(await sendMessage(outside, "email")).toMatchObject({
      done: false,
      reason: expect.stringContaining("secret"),
    })
    expect(servers).toHaveLength(1)
    const tried = { id, ...open, host: "evil.example.com:465", receiverAddress: "eve@example.com" }
    await expect(callAsOwner("testEmailProviderSMTP", tried, { outside })).rejects.toMatchObject({
      id: "message_provider.test_failed",
      preconditions: [{ type: "resolved" }, { type: "secret_missing" }],
    })
  })
})

test("a test reports each step", async () => {
  const { outside } = recordingOutside()
  const { id } = await callAsOwner("addEmailProviderSMTP", smtp)
  const request = { id, receiverAddress: "ada@example.com" }
  expect(await callAsOwner("testEmailProviderSMTPById", request, { outside })).toMatchObject({
    steps: [{ name: "accepted", detail: "250" }],
  })
})

test("a failed test names the step and the response", async () => {
  const mail = async () => ({
    ...({ done: false, lasting: false, reason: "535 wrong password" } as const),
    cause: "password_refused" as const,
    steps: [
      { name: "resolved", detail: "192.0.2.1" },
      { name: "connected", detail: "port 587" },
      { name: "secured", detail: "TLS" },
    ] as const,
  })
  const { id } = await callAsOwner("addEmailProviderSMTP", smtp)
  const request = { id, receiverAddress: "ada@example.com" }
  const outside = { ...unreachableOutside, mail }
  await expect(
    callAsOwner("testEmailProviderSMTPById", request, { outside }),
  ).rejects.toMatchObject({
    preconditions: [
      { type: "authenticated", description: "535 wrong password" },
      { type: "password_refused", description: "535 wrong password" },
    ],
  })
})

test("XOAUTH2: an access token is fetched once and used until it expires", async () => {
  const clientCredentials = { clientId: "latchkey", clientSecret: "s3cret" }
  const { password: _, ...open } = smtp
  const { id } = await callAsOwner("addEmailProviderSMTP", {
    ...open,
    Auth: {
      case: "xoauth2",
      value: {
        tokenEndpoint: "https://login.example.com/token",
        scopes: ["smtp.send"],
        OAuth2Type: { case: "clientCredentials", value: clientCredentials },
      },
    },
  })
  await callAsOwner("activateEmailProvider", { id })
  const { outside, servers, requests } = recordingOutside(
    () => `{"access_token":"t1","expires_in":3600}`,
  )
  await sendMessage(outside, "email")
  await sendMessage(outside, "email")
  expect(servers.map(({ auth }) => auth)).toEqual(
    Array(2).fill({ kind: "xoauth2", user: "konto", secret: "t1" }),
  )
  expect(requests).toHaveLength(1)
  estate.clock.advance(3_600_000)
  await sendMessage(outside, "email")
  expect(requests).toHaveLength(2)
})

test("an HTTP service receives the message, signed, with its ID", async () => {
  const { id, signingKey } = await callAsOwner("addSMSProviderHTTP", {
    endpoint: "https://sms.example.com",
  })
  await callAsOwner("activateSMSProvider", { id })
  const { outside, requests } = recordingOutside()
  expect(await sendMessage(outside, "sms")).toMatchObject({ done: true })
  const [{ body = "", headers = {} } = {}] = requests
  expect(JSON.parse(body)).toMatchObject({
    contextInfo: { eventType: "verify_email", recipientPhoneNumber: "ada@example.com" },
    args: { code: "4711" },
  })
  expect(headers["idempotency-key"]).toBe("m1@id")
  const [, seconds = "", given = ""] =
    /^t=(\d+),v1=([0-9a-f]{64})$/.exec(headers["x-core-signature"] ?? "") ?? []
  const hasher = new Bun.CryptoHasher("sha256", signingKey)
  expect(hasher.update(`${seconds}.${body}`).digest("hex")).toBe(given)
})

test("Twilio receives its account and token", async () => {
  const { id } = await callAsOwner("addSMSProviderTwilio", {
    sid: "AC1",
    token: "s3cret",
    senderNumber: "+4179",
  })
  await callAsOwner("activateSMSProvider", { id })
  const { outside, requests } = recordingOutside()
  await sendMessage(outside, "sms")
  expect(requests).toMatchObject([
    {
      url: "https://api.twilio.com/2010-04-01/Accounts/AC1/Messages.json",
      headers: { authorization: `Basic ${btoa("AC1:s3cret")}` },
      body: "To=ada%40example.com&From=%2B4179&Body=Code+4711",
    },
  ])
})

test.each([
  [{ host: "mail.example.com/../x" }, "host"],
  [{ host: "mail.example.com:70000" }, "host"],
  [{ host: "mail.example.com", tls: false }, "tls"],
  [{ senderAddress: "konto@example.com\r\nBcc: eve@example.com" }, "sender_address"],
  [{ senderName: "Acme\r\nBcc: eve@example.com" }, "sender_name"],
  [{ replyToAddress: "a@example.com, b@example.com" }, "reply_to_address"],
  [{ description: "\u{202e}" }, "description"],
])("rejects an unusable mail configuration: row %#", async (change, field) => {
  await expect(callAsOwner("addEmailProviderSMTP", { ...smtp, ...change })).rejects.toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining(field),
  })
})

test("rejects more than a hundred providers", async () => {
  for (let count = 0; count < 100; count++) await callAsOwner("addEmailProviderSMTP", smtp)
  await expect(callAsOwner("addEmailProviderSMTP", smtp)).rejects.toMatchObject({
    code: "resource_exhausted",
  })
})

test("mails come from the instance's own domain if it requires this", async () => {
  await callAsOwner("updateDomainPolicy", { smtpSenderAddressMatchesInstanceDomain: true })
  await expect(callAsOwner("addEmailProviderSMTP", smtp)).rejects.toMatchObject({
    id: "message_provider.sender_foreign",
  })
  await callAsOwner("addEmailProviderSMTP", { ...smtp, senderAddress: "konto@id.example.com" })
})
