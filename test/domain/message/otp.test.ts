import { afterEach, beforeEach, expect, test } from "vitest"
import { type Otp, queueOtp } from "../../../src/domain/message/index.ts"
import { message } from "../../../src/domain/message/model.ts"
import { messageReactor } from "../../../src/domain/message/reactor.ts"
import { newCode } from "../../../src/domain/policy/index.ts"
import type { Mail } from "../../../src/kernel/port/mail.ts"
import type { OutboundRequest } from "../../../src/kernel/port/outbound.ts"
import { runReactors } from "../../../src/store/index.ts"
import { type Estate, openEstate } from "../../support/estate.ts"
import { nowhere } from "../../support/outside.ts"

let estate: Estate
const mails: Mail[] = []
const requests: OutboundRequest[] = []
beforeEach(async () => {
  mails.length = 0
  requests.length = 0
  estate = await openEstate(["i1"])
  const verification = { case: "isVerified", value: true }
  await estate.as("owner", "setPhone", { userId: "nobody", phone: "+41791234567", verification })
})
afterEach(() => estate.close())

const ask = (name: string, request: object = {}) => estate.as("owner", name, request)

async function withProviders(): Promise<void> {
  const smtp = { senderAddress: "id@example.com", senderName: "Acme", host: "mail.example.com" }
  const { id } = await ask("addEmailProviderSMTP", smtp)
  await ask("activateEmailProvider", { id })
  const twilio = { sid: "AC1", token: "t", senderNumber: "+41790000000" }
  const sms = await ask("addSMSProviderTwilio", twilio)
  await ask("activateSMSProvider", { id: sms.id })
}

/** Sends what is there to be sent. */
async function sent(): Promise<void> {
  const outside = {
    ...nowhere,
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

async function asked(channel: Otp["channel"], more: Partial<Otp> = {}): Promise<string> {
  const { plain: code, expires } = newCode(estate.cx(), `otp_${channel}`)
  await estate.step((tx) =>
    queueOtp(tx, { userId: "nobody", channel, code, expires, sessionId: "s1", ...more }),
  )
  return code
}

const outbox = async () => {
  const { events } = await estate.store.log.find(0, 1000, ["message.added"])
  return events.map(({ id }) => estate.store.state(estate.cx(), message, id))
}

test("a one-time code goes out by mail: its words, how long it is good, no link", async () => {
  await withProviders()
  await sent()
  const code = await asked("email")
  await sent()
  expect(mails).toHaveLength(1)
  expect(mails[0]?.text).toContain(`${code} is your code to sign in to id.example.com.`)
  expect(mails[0]?.text).toContain("It expires in 5 minutes")
  expect(`${mails[0]?.text}${mails[0]?.html}`).not.toContain("https://")
  expect(mails[0]?.subject).not.toContain(code)
})

test("by SMS it is bound to our host, so that a phone fills it in nowhere else", async () => {
  await withProviders()
  await sent()
  const code = await asked("sms")
  await sent()
  const form = new URLSearchParams(String(requests[0]?.body))
  expect(form.get("To")).toBe("+41791234567")
  expect(form.get("Body")).toMatch(new RegExp(`^${code} .*\\n@id\\.example\\.com #${code}$`))
})

test("a template gets the session and the code", async () => {
  await withProviders()
  await sent()
  const urlTemplate = "https://app.example.com/otp?s={{.SessionID}}&c={{.Code}}&n={{.LoginName}}"
  const code = await asked("email", { urlTemplate })
  await sent()
  const link = `https://app.example.com/otp?s=s1&c=${code}&n=nobody`
  expect(mails[0]?.text).toContain(link)
})

test("what waits longer than it is good for never goes out", async () => {
  await sent()
  await asked("email")
  await sent()
  estate.clock.advance(5 * 60_000)
  await withProviders()
  await sent()
  expect(mails).toEqual([])
  expect(await outbox()).toMatchObject([{ status: "failed", error: "its code is no longer good" }])
})

test("the code stands nowhere in the plain; who has no phone is not written to", async () => {
  await withProviders()
  await sent()
  const code = await asked("email")
  await asked("sms", { userId: "manager" })
  await sent()
  expect(JSON.stringify(await estate.store.log.read(0, 1000))).not.toContain(code)
  expect(await outbox()).toHaveLength(1)
})

test("nobody is sent more than ten within an hour, by each way", async () => {
  for (let count = 0; count < 10; count++) await asked("email")
  await expect(asked("email")).rejects.toMatchObject({ id: "user.too_many_codes" })
  await asked("sms")
  estate.clock.advance(3_600_000)
  await asked("email")
})
