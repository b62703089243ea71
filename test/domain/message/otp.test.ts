import { afterEach, beforeEach, expect, test } from "vitest"
import { type OneTimeCode, queueOtp } from "../../../src/domain/message/index.ts"
import { message } from "../../../src/domain/message/model.ts"
import { messageReactor } from "../../../src/domain/message/reactor.ts"
import { generateCode } from "../../../src/domain/policy/index.ts"
import type { Mail } from "../../../src/kernel/port/mail.ts"
import type { OutboundRequest } from "../../../src/kernel/port/outbound.ts"
import { runReactors } from "../../../src/store/index.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
const mails: Mail[] = []
const requests: OutboundRequest[] = []
beforeEach(async () => {
  mails.length = 0
  requests.length = 0
  estate = await openTenant(["i1"])
  const verification = { case: "isVerified", value: true }
  await estate.as("owner", "setPhone", { userId: "nobody", phone: "+41791234567", verification })
})
afterEach(() => estate.close())

const callAsOwner = (name: string, request: object = {}) => estate.as("owner", name, request)

async function withProviders(): Promise<void> {
  const smtp = { senderAddress: "id@example.com", senderName: "Acme", host: "mail.example.com" }
  const { id } = await callAsOwner("addEmailProviderSMTP", smtp)
  await callAsOwner("activateEmailProvider", { id })
  const twilio = { sid: "AC1", token: "t", senderNumber: "+41790000000" }
  const sms = await callAsOwner("addSMSProviderTwilio", twilio)
  await callAsOwner("activateSMSProvider", { id: sms.id })
}

/** Sends all pending messages. */
async function sendPending(): Promise<void> {
  const outside = {
    ...unreachableOutside,
    mail: async (_: unknown, mail: Mail) => {
      mails.push(mail)
      return { done: true, steps: [] } as const
    },
    send: async (request: OutboundRequest) => {
      requests.push(request)
      return { status: 201, body: "" }
    },
  }
  const call = (instance: string) => ({ ...estate.cx({ instance }), outside })
  const reactors = runReactors(estate.store, estate.clock, [messageReactor(call)])
  await reactors.drain()
  await reactors.stop()
}

async function requestOtp(
  channel: OneTimeCode["channel"],
  more: Partial<OneTimeCode> = {},
): Promise<string> {
  const { plain: code, expires } = generateCode(estate.cx(), `otp_${channel}`)
  await estate.step((tx) =>
    queueOtp(tx, { userId: "nobody", channel, code, expires, sessionId: "s1", ...more }),
  )
  return code
}

const outbox = async () => {
  const { events } = await estate.store.log.find(0, 1000, ["message.added"])
  return events.map(({ id }) => estate.store.state(estate.cx(), message, id))
}

test("a one-time code is sent by email with its lifetime and without a link", async () => {
  await withProviders()
  await sendPending()
  const code = await requestOtp("email")
  await sendPending()
  expect(mails).toHaveLength(1)
  expect(mails[0]?.text).toContain(`${code} is your code to sign in to id.example.com.`)
  expect(mails[0]?.text).toContain("It expires in 5 minutes")
  expect(`${mails[0]?.text}${mails[0]?.html}`).not.toContain("https://")
  expect(mails[0]?.subject).not.toContain(code)
})

test("an SMS code is bound to the host, so that phones fill it in nowhere else", async () => {
  await withProviders()
  await sendPending()
  const code = await requestOtp("sms")
  await sendPending()
  const form = new URLSearchParams(String(requests[0]?.body))
  expect(form.get("To")).toBe("+41791234567")
  expect(form.get("Body")).toMatch(new RegExp(`^${code} .*\\n@id\\.example\\.com #${code}$`))
})

test("a template receives the session and the code", async () => {
  await withProviders()
  await sendPending()
  const urlTemplate = "https://app.example.com/otp?s={{.SessionID}}&c={{.Code}}&n={{.LoginName}}"
  const code = await requestOtp("email", { urlTemplate })
  await sendPending()
  const link = `https://app.example.com/otp?s=s1&c=${code}&n=nobody`
  expect(mails[0]?.text).toContain(link)
})

test("a message that waits longer than its code is valid is never sent", async () => {
  await sendPending()
  await requestOtp("email")
  await sendPending()
  estate.clock.advance(5 * 60_000)
  await withProviders()
  await sendPending()
  expect(mails).toEqual([])
  expect(await outbox()).toMatchObject([{ status: "failed", error: "its code has expired" }])
})

test("the code is never stored in plain text; users without a phone receive none", async () => {
  await withProviders()
  await sendPending()
  const code = await requestOtp("email")
  await requestOtp("sms", { userId: "manager" })
  await sendPending()
  expect(JSON.stringify(await estate.store.log.read(0, 1000))).not.toContain(code)
  expect(await outbox()).toHaveLength(1)
})

test("sends at most ten an hour by each channel", async () => {
  for (let count = 0; count < 10; count++) await requestOtp("email")
  await expect(requestOtp("email")).rejects.toMatchObject({ id: "user.too_many_codes" })
  await requestOtp("sms")
  estate.clock.advance(3_600_000)
  await requestOtp("email")
})
