import { afterEach, beforeEach, expect, test } from "vitest"
import { addMessageTo } from "../../../src/domain/message/add.ts"
import { message } from "../../../src/domain/message/model.ts"
import { messageReactor } from "../../../src/domain/message/reactor.ts"
import { systemClock } from "../../../src/kernel/clock.ts"
import type { DeliveryResult, Mail } from "../../../src/kernel/port/mail.ts"
import type { OutboundReply, OutboundRequest } from "../../../src/kernel/port/outbound.ts"
import { parseAllowedOutbound } from "../../../src/kernel/setting/allow-list.ts"
import { createMailer } from "../../../src/notify/smtp.ts"
import { type Reactors, runReactors } from "../../../src/store/index.ts"
import { startMailServer } from "../../support/mail-server.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"
import { driveClock, loopTurns, until } from "../../support/wait.ts"

const minute = 60_000

let estate: Tenant
const closing: (() => unknown)[] = []
beforeEach(async () => {
  estate = await openTenant(["i1"])
})
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  await estate.close()
})

const callAsOwner = (name: string, request: object = {}) => estate.as("owner", name, request)

function startReactors(outside: Partial<typeof unreachableOutside>): Reactors {
  const call = (instance: string) => ({
    ...estate.cx({ instance }),
    outside: { ...unreachableOutside, ...outside },
  })
  const reactors = runReactors(estate.store, estate.clock, [messageReactor(call)])
  closing.push(reactors.stop)
  return reactors
}

const drain = (reactors: Reactors): Promise<void> =>
  driveClock(reactors.drain(), () => estate.clock.advance(100))

/** Advances the clock and waits for the resulting work in memory. */
async function passTime(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    estate.clock.advance(500)
    await loopTurns(3)
    // Reactors receive written events once they are on disk.
    await estate.store.log.settle()
    await loopTurns(3)
  }
}

async function activateServer(port = 25): Promise<void> {
  const host = `127.0.0.1:${port}`
  const smtp = { senderAddress: "konto@example.com", senderName: "Acme", host }
  const { id } = await callAsOwner("addEmailProviderSMTP", smtp)
  await callAsOwner("activateEmailProvider", { id })
}

/** A new user who receives a code that is valid for an hour. */
async function addUser(name: string): Promise<void> {
  const verification = { case: "sendCode", value: {} }
  const value = {
    profile: { givenName: name, familyName: "Person" },
    email: { email: `${name}@example.com`, verification },
  }
  await callAsOwner("createUser", {
    organizationId: "org1",
    username: name,
    userId: name,
    userType: { case: "human", value },
  })
}

async function messageTo(name: string) {
  const { events } = await estate.store.log.find(0, 1000, ["message.added"])
  const states = events.map(({ id }) => estate.store.state(estate.cx(), message, id))
  return states.find(({ to }) => to === `${name}@example.com`)
}

test("a server that greylists one recipient receives all other mail immediately", async () => {
  const isGreylisted = (to: string) =>
    to.startsWith("grey") && estate.clock.now() < began + 5 * minute
  const tries: string[] = []
  const server = await startMailServer({
    judge: (to) => {
      tries.push(to)
      return isGreylisted(to) ? { status: 451, text: "4.7.1 Greylisted" } : undefined
    },
  })
  closing.push(server.close)
  const allow = [parseAllowedOutbound("127.0.0.1") ?? { host: "" }]
  const mail = createMailer({ resolve: async () => [], clock: systemClock, allow })
  await activateServer(server.port)
  const began = estate.clock.now()
  const reactors = startReactors({ mail })
  for (let each = 0; each < 6; each++) await addUser(`grey${each}`)
  await drain(reactors)
  expect(await messageTo("grey5")).toMatchObject({ status: "queued", tries: 1 })
  expect((await messageTo("grey5"))?.error).toContain("451 4.7.1 Greylisted")
  await addUser("ada")
  await drain(reactors)
  expect(await messageTo("ada")).toMatchObject({ status: "sent" })
  await until(
    async () => {
      estate.clock.advance(500)
      return (await messageTo("grey5"))?.status === "sent"
    },
    { what: "the greylisted mail to be accepted", intervalMs: 1 },
  )
  expect(estate.clock.now() - began).toBeLessThan(10 * minute)
  const ofOne = tries.filter((to) => to === "grey5@example.com").length
  expect(ofOne).toBeGreaterThan(5)
  expect(ofOne).toBeLessThan(15)
})

/** A mail server in memory; `answer` decides for each recipient. */
function mailServerOutside(answer: (to: string) => DeliveryResult) {
  const tried: string[] = []
  const mail = async (_: unknown, { to }: Mail): Promise<DeliveryResult> => {
    tried.push(to)
    return answer(to)
  }
  const count = (name: string) => tried.filter((to) => to === `${name}@example.com`).length
  return { mail, tried, count }
}
const accepted: DeliveryResult = { done: true, steps: [] }
const serverDown: DeliveryResult = {
  done: false,
  lasting: false,
  concerns: "provider",
  steps: [],
  reason: "no response",
}

test("an attempt that the circuit breaker rejects does not count for the message", async () => {
  await activateServer()
  let isDown = true
  const server = mailServerOutside(() => (isDown ? serverDown : accepted))
  const reactors = startReactors({ mail: server.mail })
  for (let each = 0; each < 5; each++) await addUser(`user${each}`)
  await drain(reactors)
  await addUser("late")
  await drain(reactors)
  expect(server.count("late")).toBe(0)
  expect(await messageTo("late")).toMatchObject({ status: "queued", tries: 0 })
  expect((await messageTo("late"))?.error).toContain("no response")
  isDown = false
  await passTime(35_000)
  expect(await messageTo("late")).toMatchObject({ status: "sent" })
  expect(server.count("late")).toBe(1)
})

test("an unavailable provider is tried by one message at a time", async () => {
  await activateServer()
  const server = mailServerOutside(() => serverDown)
  const reactors = startReactors({ mail: server.mail })
  for (let each = 0; each < 30; each++) await addUser(`user${each}`)
  await drain(reactors)
  const before = server.tried.length
  const positionBefore = estate.store.log.durable()
  await passTime(10 * minute)
  expect(server.tried.length - before).toBeLessThan(40)
  expect(estate.store.log.durable() - positionBefore).toBeLessThan(80)
})

test("a message whose code has expired is not sent", async () => {
  await activateServer()
  const grey: DeliveryResult = { ...serverDown, concerns: "message", reason: "451 greylisted" }
  const server = mailServerOutside(() => grey)
  const reactors = startReactors({ mail: server.mail })
  await addUser("ada")
  await drain(reactors)
  await passTime(60 * minute)
  const tries = server.count("ada")
  expect(tries).toBeGreaterThan(5)
  await passTime(30 * minute)
  expect(server.count("ada")).toBe(tries)
  expect(await messageTo("ada")).toMatchObject({
    status: "failed",
    error: "its code has expired",
  })
})

test("pending messages are sent after a restart and after a fixed setting", async () => {
  await activateServer()
  const reactors = startReactors({ mail: mailServerOutside(() => serverDown).mail })
  await addUser("ada")
  await addUser("eva")
  await drain(reactors)
  await reactors.stop()
  const server = mailServerOutside((to) => (to.startsWith("ada") ? accepted : serverDown))
  const again = startReactors({ mail: server.mail })
  await passTime(6_000)
  expect(await messageTo("ada")).toMatchObject({ status: "sent" })
  await again.stop()
  const mended = startReactors({ mail: mailServerOutside(() => accepted).mail })
  const [provider] = (await callAsOwner("listEmailProviders")).result
  const smtp = { senderAddress: "konto@example.com", senderName: "Acme", host: "127.0.0.1:26" }
  await callAsOwner("updateEmailProviderSMTP", { id: provider.id, ...smtp })
  await drain(mended)
  expect(await messageTo("eva")).toMatchObject({ status: "sent", round: 2 })
})

/** An HTTP service; `answer` decides for each recipient. */
async function serviceAnswering(answer: (to: string) => Partial<OutboundReply>) {
  const endpoint = "https://mail.example.com/send"
  const { id } = await callAsOwner("addEmailProviderHTTP", { endpoint, description: "gateway" })
  await callAsOwner("activateEmailProvider", { id })
  const tried: string[] = []
  const send = async ({ body = "" }: OutboundRequest): Promise<OutboundReply> => {
    const to: string = JSON.parse(body).contextInfo.recipientEmailAddress
    tried.push(to)
    return { status: 200, body: "", ...answer(to) }
  }
  const count = (name: string) => tried.filter((to) => to === `${name}@example.com`).length
  return { send, tried, count }
}

test.each([429, 500, 503])(
  "a service that returns %i for one recipient serves others",
  async (status) => {
    const service = await serviceAnswering((to) => ({
      status: to.startsWith("bad") ? status : 200,
    }))
    const reactors = startReactors({ send: service.send })
    await addUser("bad")
    await drain(reactors)
    await passTime(5 * minute)
    expect(service.count("bad")).toBeGreaterThan(5)
    await addUser("ada")
    await drain(reactors)
    expect(await messageTo("ada")).toMatchObject({ status: "sent" })
  },
)

test.each([404, 409, 410, 413, 415])(
  "%i for several recipients blocks no other mail",
  async (status) => {
    const service = await serviceAnswering((to) => ({
      status: to.startsWith("bad") ? status : 200,
    }))
    const reactors = startReactors({ send: service.send })
    for (let each = 0; each < 6; each++) await addUser(`bad${each}`)
    await drain(reactors)
    expect(await messageTo("bad5")).toMatchObject({ status: "queued", tries: 1 })
    await addUser("ada")
    await drain(reactors)
    expect(await messageTo("ada")).toMatchObject({ status: "sent" })
  },
)

test.each([401, 403, 503])("a service that returns %i for all is paused", async (status) => {
  const service = await serviceAnswering(() => ({ status }))
  const reactors = startReactors({ send: service.send })
  for (let each = 0; each < 9; each++) {
    await addUser(`user${each}`)
    await drain(reactors)
  }
  expect(service.tried).toHaveLength(5)
})

test("RFC 9110 §10.2.3: Retry-After delays the next attempt of that message", async () => {
  let isBusy = true
  const headers = { "retry-after": "120" }
  const service = await serviceAnswering(() => (isBusy ? { status: 429, headers } : {}))
  const reactors = startReactors({ send: service.send })
  await addUser("ada")
  await drain(reactors)
  isBusy = false
  await passTime(110_000)
  expect(service.tried).toHaveLength(1)
  await passTime(15_000)
  expect(await messageTo("ada")).toMatchObject({ status: "sent" })
})

test("a Retry-After of an hour applies on a node whose clock is behind", async () => {
  const headers = { "retry-after": "3600" }
  const service = await serviceAnswering(() => ({ status: 429, headers }))
  const reactors = startReactors({ send: service.send })
  await addUser("ada")
  await drain(reactors)
  expect(service.tried).toHaveLength(1)
  await reactors.stop()
  const call = (instance: string) => ({
    ...estate.cx({ instance }),
    outside: { ...unreachableOutside, send: service.send },
  })
  const { due } = messageReactor(call)
  const now = estate.clock.now()
  expect(due?.find(estate.store, now - 10_000)).toEqual([])
  // A clock that was ahead by more has set a retry time that nothing waits for.
  expect(due?.find(estate.store, now - 120_000)).toHaveLength(1)
})

test("messages that can't be rendered block no others, and fail eventually", async () => {
  await activateServer()
  const server = mailServerOutside(() => accepted)
  const reactors = startReactors({ mail: server.mail })
  const plain = { channel: "email", codeExpires: 0, urlTemplate: "" } as const
  const cause = { ...plain, kind: "password_change", userId: "missing" } as const
  const names = Array.from({ length: 20 }, (_, each) => `bad${each}`)
  for (const name of names) {
    const added = { cause, to: `${name}@example.com`, owner: "org1" }
    await estate.step((tx) => addMessageTo(tx, name, added))
  }
  await drain(reactors)
  expect(await messageTo("bad0")).toMatchObject({ status: "queued" })
  expect((await messageTo("bad0"))?.error).toContain("the message can't be rendered: ")
  await addUser("ada")
  await drain(reactors)
  expect(await messageTo("ada")).toMatchObject({ status: "sent" })
  await until(
    async () => {
      estate.clock.advance(10 * minute)
      return (await messageTo("bad0"))?.status === "failed"
    },
    { what: "the message to fail", intervalMs: 1 },
  )
  expect((await messageTo("bad0"))?.error).toContain("the message can't be rendered: ")
  expect(reactors.failed()).toEqual([])
})
