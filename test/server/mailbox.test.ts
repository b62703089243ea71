import { expect, test } from "vitest"
import { manualClock } from "../../src/kernel/clock.ts"
import { createMailbox, smsEndpoint } from "../../src/server/development/mailbox.ts"
import { unreachableOutside } from "../support/outside.ts"

const clock = manualClock(Date.UTC(2026, 0, 2))
const server = {
  host: "mail.invalid",
  clientName: "id.example.com",
  port: 587,
  tls: true,
  auth: { kind: "none" },
} as const
const sender = { from: { name: "Latchkey", address: "latchkey@acme.example" }, replyTo: "" }

test("stores each email and SMS once, with its links listed separately", async () => {
  const { catching, messages } = createMailbox(clock)
  const outside = catching(unreachableOutside)
  const mail = { ...sender, to: "ada@acme.example", subject: "Hello", html: "" }
  const text = "Open this:\n\nhttp://localhost/a#1"
  for (let tries = 0; tries < 2; tries++) {
    const { done } = await outside.mail(server, { ...mail, messageId: "1@localhost", text })
    expect(done).toBe(true)
  }
  clock.advance(1000)
  const body = JSON.stringify({
    contextInfo: { recipientPhoneNumber: "+41791234567" },
    message: { text: "123456" },
  })
  const sent = { method: "POST", headers: { "idempotency-key": "2" }, body } as const
  await outside.send({ ...sent, url: smsEndpoint })
  await expect(outside.send({ ...sent, url: "https://app.example/" })).rejects.toThrow()
  expect(messages()).toEqual([
    {
      id: "2",
      channel: "sms",
      to: "+41791234567",
      subject: "",
      text: "123456",
      links: [],
      time: "2026-01-02T00:00:01.000Z",
    },
    {
      id: "1@localhost",
      channel: "email",
      to: "ada@acme.example",
      subject: "Hello",
      text: "Open this:",
      links: ["http://localhost/a#1"],
      time: "2026-01-02T00:00:00.000Z",
    },
  ])
})
