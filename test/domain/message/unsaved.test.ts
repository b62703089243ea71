import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { message } from "../../../src/domain/message/model.ts"
import { messageReactor } from "../../../src/domain/message/reactor.ts"
import { Fault } from "../../../src/kernel/fault.ts"
import type { DeliveryResult, Mail } from "../../../src/kernel/port/mail.ts"
import { type Reactors, runReactors } from "../../../src/store/index.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"
import { loopTurns, until } from "../../support/wait.ts"

const minute = 60_000

let estate: Tenant
let reactors: Reactors | undefined
beforeEach(async () => {
  estate = await openTenant(["i1"])
})
afterEach(async () => {
  vi.restoreAllMocks()
  await reactors?.stop()
  await estate.close()
})

const callAsOwner = (name: string, request: object = {}) => estate.as("owner", name, request)

type ReactorOptions = {
  /** Decides the result of each mail. */
  readonly answer: (mail: Mail) => DeliveryResult
  readonly leads?: () => boolean
}

/** Runs reactors as a server does, which logs errors and never throws. */
function startReactors({ answer, leads = () => true }: ReactorOptions) {
  const tried: string[] = []
  const mail = async (_: unknown, sent: Mail): Promise<DeliveryResult> => {
    tried.push(sent.to)
    return answer(sent)
  }
  const call = (instance: string) => ({
    ...estate.cx({ instance }),
    outside: { ...unreachableOutside, mail },
  })
  const stuck = new Set<string>()
  reactors = runReactors(estate.store, estate.clock, [messageReactor(call)], {
    onBlocked: (name) => stuck.add(name),
    onUnblocked: (name) => stuck.delete(name),
    isLeader: leads,
  })
  const count = (name: string) => tried.filter((to) => to === `${name}@example.com`).length
  return { count, isReady: () => stuck.size === 0 }
}

async function passTime(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    estate.clock.advance(500)
    await loopTurns(6)
  }
}

/** Advances the clock until a condition is met. */
const passTimeUntil = (condition: () => unknown) =>
  until(async () => {
    await passTime(500)
    return condition()
  })
const waitUntilSent = (name: string) =>
  passTimeUntil(async () => (await messageTo(name))?.status === "sent")

async function activateServer(): Promise<void> {
  const smtp = { senderAddress: "konto@example.com", senderName: "Acme", host: "127.0.0.1:25" }
  const { id } = await callAsOwner("addEmailProviderSMTP", smtp)
  await callAsOwner("activateEmailProvider", { id })
}

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

const accepted: DeliveryResult = { done: true, steps: [] }
const greylisted: DeliveryResult = {
  done: false,
  lasting: false,
  concerns: "message",
  steps: [],
  reason: "451 greylisted",
}

/** Blocks all writes until the returned function is called. */
function blockWrites(cause: Error): () => void {
  const spy = vi.spyOn(estate.store, "transact").mockRejectedValue(cause)
  return () => spy.mockRestore()
}
const unreachable = new Fault("unavailable", "store.database_unreachable", "the database is away")
const clockBehind = new Error("the clock is behind")

test.each([
  ["the database can't be reached", unreachable, false],
  ["storing fails for another reason", clockBehind, true],
])("a first mail is sent once while %s", async (_, cause, isReadyMeanwhile) => {
  await activateServer()
  let allow = () => {}
  const { count, isReady } = startReactors({
    answer: () => {
      allow = blockWrites(cause)
      return accepted
    },
  })
  await addUser("ada")
  await passTimeUntil(() => count("ada") > 0)
  await passTime(3 * minute)
  expect([count("ada"), isReady()]).toEqual([1, isReadyMeanwhile])
  allow()
  await waitUntilSent("ada")
  await passTimeUntil(isReady)
  expect(count("ada")).toBe(1)
})

test("a delayed mail is sent once while nothing can be stored, even after a lost leadership", async () => {
  await activateServer()
  let [isGreylisting, isLeading] = [true, true]
  let allow = () => {}
  const { count, isReady } = startReactors({
    answer: () => {
      if (isGreylisting) return greylisted
      allow = blockWrites(unreachable)
      return accepted
    },
    leads: () => isLeading,
  })
  await addUser("ada")
  await passTimeUntil(async () => (await messageTo("ada"))?.tries === 1)
  isGreylisting = false
  await passTimeUntil(() => count("ada") > 1)
  await passTime(minute)
  expect([count("ada"), isReady()]).toEqual([2, false])
  isLeading = false
  await passTimeUntil(isReady)
  await passTime(minute)
  expect(count("ada")).toBe(2)
  isLeading = true
  await passTime(minute)
  allow()
  await waitUntilSent("ada")
  await passTimeUntil(isReady)
  expect(count("ada")).toBe(2)
})

test("a mail that was rejected while nothing could be stored is retried later", async () => {
  await activateServer()
  let allow: (() => void) | undefined
  const { count } = startReactors({
    answer: () => {
      allow ??= blockWrites(unreachable)
      return count("ada") === 1 ? greylisted : accepted
    },
  })
  await addUser("ada")
  await passTimeUntil(() => count("ada") > 0)
  await passTime(minute)
  expect(count("ada")).toBe(1)
  allow?.()
  await waitUntilSent("ada")
  expect(count("ada")).toBe(2)
})
