import { afterEach, beforeEach, expect, test } from "vitest"
import { addMessageTo } from "../../../src/domain/message/add.ts"
import { message } from "../../../src/domain/message/model.ts"
import { messageReactor } from "../../../src/domain/message/reactor.ts"
import { systemClock } from "../../../src/kernel/clock.ts"
import type { Delivery, Mail } from "../../../src/kernel/port/mail.ts"
import type { OutboundReply, OutboundRequest } from "../../../src/kernel/port/outbound.ts"
import { outboundAllowedOf } from "../../../src/kernel/setting/allow-list.ts"
import { mailerOf } from "../../../src/notify/smtp.ts"
import { type Reactors, runReactors } from "../../../src/store/index.ts"
import { type Estate, openEstate } from "../../support/estate.ts"
import { mailServer } from "../../support/mail-server.ts"
import { nowhere } from "../../support/outside.ts"
import { driveClock, loopTurns, until } from "../../support/wait.ts"

const minute = 60_000

let estate: Estate
const closing: (() => unknown)[] = []
beforeEach(async () => {
  estate = await openEstate(["i1"])
})
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  await estate.close()
})

const ask = (name: string, request: object = {}) => estate.as("owner", name, request)

function running(outside: Partial<typeof nowhere>): Reactors {
  const call = (instance: string) => ({
    ...estate.cx({ instance }),
    outside: { ...nowhere, ...outside },
  })
  const reactors = runReactors(estate.store, estate.clock, [messageReactor(call)])
  closing.push(reactors.stop)
  return reactors
}

const drained = (reactors: Reactors): Promise<void> =>
  driveClock(reactors.drain(), () => estate.clock.advance(100))

/** Lets time pass, and what it makes happen in memory end. */
async function passed(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    estate.clock.advance(500)
    await loopTurns(3)
    // What it wrote: the reactors see it once it is on disk.
    await estate.store.log.settle()
    await loopTurns(3)
  }
}

async function activeServer(port = 25): Promise<void> {
  const host = `127.0.0.1:${port}`
  const smtp = { senderAddress: "konto@example.com", senderName: "Acme", host }
  const { id } = await ask("addEmailProviderSMTP", smtp)
  await ask("activateEmailProvider", { id })
}

/** A new user, who is sent a code that is valid for an hour. */
async function addUser(name: string): Promise<void> {
  const verification = { case: "sendCode", value: {} }
  const value = {
    profile: { givenName: name, familyName: "Person" },
    email: { email: `${name}@example.com`, verification },
  }
  await ask("createUser", {
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

test("a server that greylists one recipient gets everybody else's mail at once", async () => {
  const isGreylisted = (to: string) =>
    to.startsWith("grey") && estate.clock.now() < began + 5 * minute
  const tries: string[] = []
  const server = await mailServer({
    judge: (to) => {
      tries.push(to)
      return isGreylisted(to) ? { status: 451, text: "4.7.1 Greylisted" } : undefined
    },
  })
  closing.push(server.close)
  const allow = [outboundAllowedOf("127.0.0.1") ?? { host: "" }]
  const mail = mailerOf({ resolve: async () => [], clock: systemClock, allow })
  await activeServer(server.port)
  const began = estate.clock.now()
  const reactors = running({ mail })
  for (let each = 0; each < 6; each++) await addUser(`grey${each}`)
  await drained(reactors)
  expect(await messageTo("grey5")).toMatchObject({ status: "queued", tries: 1 })
  expect((await messageTo("grey5"))?.error).toContain("451 4.7.1 Greylisted")
  await addUser("ada")
  await drained(reactors)
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
function mailing(answer: (to: string) => Delivery) {
  const tried: string[] = []
  const mail = async (_: unknown, { to }: Mail): Promise<Delivery> => {
    tried.push(to)
    return answer(to)
  }
  const count = (name: string) => tried.filter((to) => to === `${name}@example.com`).length
  return { mail, tried, count }
}
const accepted: Delivery = { done: true, steps: [] }
const down: Delivery = {
  done: false,
  lasting: false,
  concerns: "provider",
  steps: [],
  reason: "nobody answers",
}

test("an attempt that the breaker refuses is none of the message", async () => {
  await activeServer()
  let isDown = true
  const server = mailing(() => (isDown ? down : accepted))
  const reactors = running({ mail: server.mail })
  for (let each = 0; each < 5; each++) await addUser(`user${each}`)
  await drained(reactors)
  await addUser("late")
  await drained(reactors)
  expect(server.count("late")).toBe(0)
  expect(await messageTo("late")).toMatchObject({ status: "queued", tries: 0 })
  expect((await messageTo("late"))?.error).toContain("nobody answers")
  isDown = false
  await passed(35_000)
  expect(await messageTo("late")).toMatchObject({ status: "sent" })
  expect(server.count("late")).toBe(1)
})

test("a provider that is down is tried by one message at a time", async () => {
  await activeServer()
  const server = mailing(() => down)
  const reactors = running({ mail: server.mail })
  for (let each = 0; each < 30; each++) await addUser(`user${each}`)
  await drained(reactors)
  const before = server.tried.length
  const positionBefore = estate.store.log.durable()
  await passed(10 * minute)
  expect(server.tried.length - before).toBeLessThan(40)
  expect(estate.store.log.durable() - positionBefore).toBeLessThan(80)
})

test("a message whose code has expired meanwhile is not sent", async () => {
  await activeServer()
  const grey: Delivery = { ...down, concerns: "message", reason: "451 greylisted" }
  const server = mailing(() => grey)
  const reactors = running({ mail: server.mail })
  await addUser("ada")
  await drained(reactors)
  await passed(60 * minute)
  const tries = server.count("ada")
  expect(tries).toBeGreaterThan(5)
  await passed(30 * minute)
  expect(server.count("ada")).toBe(tries)
  expect(await messageTo("ada")).toMatchObject({
    status: "failed",
    error: "its code is no longer good",
  })
})

test("what waits is sent after a restart, and once a setting is right", async () => {
  await activeServer()
  const reactors = running({ mail: mailing(() => down).mail })
  await addUser("ada")
  await addUser("eva")
  await drained(reactors)
  await reactors.stop()
  const server = mailing((to) => (to.startsWith("ada") ? accepted : down))
  const again = running({ mail: server.mail })
  await passed(6_000)
  expect(await messageTo("ada")).toMatchObject({ status: "sent" })
  await again.stop()
  const mended = running({ mail: mailing(() => accepted).mail })
  const [provider] = (await ask("listEmailProviders")).result
  const smtp = { senderAddress: "konto@example.com", senderName: "Acme", host: "127.0.0.1:26" }
  await ask("updateEmailProviderSMTP", { id: provider.id, ...smtp })
  await drained(mended)
  expect(await messageTo("eva")).toMatchObject({ status: "sent", round: 2 })
})

/** A service by HTTP; `answer` decides for each recipient. */
async function serviceAnswering(answer: (to: string) => Partial<OutboundReply>) {
  const endpoint = "https://mail.example.com/send"
  const { id } = await ask("addEmailProviderHTTP", { endpoint, description: "gateway" })
  await ask("activateEmailProvider", { id })
  const tried: string[] = []
  const send = async ({ body = "" }: OutboundRequest): Promise<OutboundReply> => {
    const to: string = JSON.parse(body).contextInfo.recipientEmailAddress
    tried.push(to)
    return { status: 200, body: "", ...answer(to) }
  }
  const count = (name: string) => tried.filter((to) => to === `${name}@example.com`).length
  return { send, tried, count }
}

test.each([429, 500, 503])("a service that answers %i for one serves others", async (status) => {
  const service = await serviceAnswering((to) => ({
    status: to.startsWith("bad") ? status : 200,
  }))
  const reactors = running({ send: service.send })
  await addUser("bad")
  await drained(reactors)
  await passed(5 * minute)
  expect(service.count("bad")).toBeGreaterThan(5)
  await addUser("ada")
  await drained(reactors)
  expect(await messageTo("ada")).toMatchObject({ status: "sent" })
})

test.each([404, 409, 410, 413, 415])("%i for several stops nobody else's mail", async (status) => {
  const service = await serviceAnswering((to) => ({
    status: to.startsWith("bad") ? status : 200,
  }))
  const reactors = running({ send: service.send })
  for (let each = 0; each < 6; each++) await addUser(`bad${each}`)
  await drained(reactors)
  expect(await messageTo("bad5")).toMatchObject({ status: "queued", tries: 1 })
  await addUser("ada")
  await drained(reactors)
  expect(await messageTo("ada")).toMatchObject({ status: "sent" })
})

test.each([401, 403, 503])("a service that answers %i for all is left alone", async (status) => {
  const service = await serviceAnswering(() => ({ status }))
  const reactors = running({ send: service.send })
  for (let each = 0; each < 9; each++) {
    await addUser(`user${each}`)
    await drained(reactors)
  }
  expect(service.tried).toHaveLength(5)
})

test("RFC 9110 §10.2.3: Retry-After delays the next try of that message", async () => {
  let isBusy = true
  const headers = { "retry-after": "120" }
  const service = await serviceAnswering(() => (isBusy ? { status: 429, headers } : {}))
  const reactors = running({ send: service.send })
  await addUser("ada")
  await drained(reactors)
  isBusy = false
  await passed(110_000)
  expect(service.tried).toHaveLength(1)
  await passed(15_000)
  expect(await messageTo("ada")).toMatchObject({ status: "sent" })
})

test("Retry-After of an hour holds on a node whose clock is behind", async () => {
  const headers = { "retry-after": "3600" }
  const service = await serviceAnswering(() => ({ status: 429, headers }))
  const reactors = running({ send: service.send })
  await addUser("ada")
  await drained(reactors)
  expect(service.tried).toHaveLength(1)
  await reactors.stop()
  const call = (instance: string) => ({
    ...estate.cx({ instance }),
    outside: { ...nowhere, send: service.send },
  })
  const { due } = messageReactor(call)
  const now = estate.clock.now()
  expect(due?.find(estate.store, now - 10_000)).toEqual([])
  // A clock that was ahead by more than that has set a time that nobody waits for.
  expect(due?.find(estate.store, now - 120_000)).toHaveLength(1)
})

test("messages that can't be rendered keep no others waiting, and fail in the end", async () => {
  await activeServer()
  const server = mailing(() => accepted)
  const reactors = running({ mail: server.mail })
  const plain = { channel: "email", codeExpires: 0, urlTemplate: "" } as const
  const cause = { ...plain, kind: "password_change", userId: "missing" } as const
  const names = Array.from({ length: 20 }, (_, each) => `bad${each}`)
  for (const name of names) {
    const added = { cause, to: `${name}@example.com`, owner: "org1" }
    await estate.step((tx) => addMessageTo(tx, name, added))
  }
  await drained(reactors)
  expect(await messageTo("bad0")).toMatchObject({ status: "queued" })
  expect((await messageTo("bad0"))?.error).toContain("it can't be rendered: ")
  await addUser("ada")
  await drained(reactors)
  expect(await messageTo("ada")).toMatchObject({ status: "sent" })
  await until(
    async () => {
      estate.clock.advance(10 * minute)
      return (await messageTo("bad0"))?.status === "failed"
    },
    { what: "the message to fail", intervalMs: 1 },
  )
  expect((await messageTo("bad0"))?.error).toContain("it can't be rendered: ")
  expect(reactors.failed()).toEqual([])
})
