import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { message } from "../../../src/domain/message/model.ts"
import { messageReactor } from "../../../src/domain/message/reactor.ts"
import { Fault } from "../../../src/kernel/fault.ts"
import type { Delivery, Mail } from "../../../src/kernel/port/mail.ts"
import { type Reactors, runReactors } from "../../../src/store/index.ts"
import { type Estate, openEstate } from "../../support/estate.ts"
import { nowhere } from "../../support/outside.ts"
import { loopTurns, until } from "../../support/wait.ts"

const minute = 60_000

let estate: Estate
let reactors: Reactors | undefined
beforeEach(async () => {
  estate = await openEstate(["i1"])
})
afterEach(async () => {
  vi.restoreAllMocks()
  await reactors?.stop()
  await estate.close()
})

const ask = (name: string, request: object = {}) => estate.as("owner", name, request)

type Running = {
  /** Answers for each mail. */
  readonly answer: (mail: Mail) => Delivery
  readonly leads?: () => boolean
}

/** Runs what sends as a server does, which tells of what keeps it and never throws. */
function running({ answer, leads = () => true }: Running) {
  const tried: string[] = []
  const mail = async (_: unknown, sent: Mail): Promise<Delivery> => {
    tried.push(sent.to)
    return answer(sent)
  }
  const call = (instance: string) => ({
    ...estate.cx({ instance }),
    outside: { ...nowhere, mail },
  })
  const stuck = new Set<string>()
  reactors = runReactors(estate.store, estate.clock, [messageReactor(call)], {
    stuck: (name) => stuck.add(name),
    freed: (name) => stuck.delete(name),
    leads,
  })
  const count = (name: string) => tried.filter((to) => to === `${name}@example.com`).length
  return { count, isReady: () => stuck.size === 0 }
}

async function passed(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    estate.clock.advance(500)
    await loopTurns(6)
  }
}

/** Lets time pass until something is so. */
const passedUntil = (condition: () => unknown) =>
  until(async () => {
    await passed(500)
    return condition()
  })
const sentTo = (name: string) => passedUntil(async () => (await messageTo(name))?.status === "sent")

async function activeServer(): Promise<void> {
  const smtp = { senderAddress: "konto@example.com", senderName: "Acme", host: "127.0.0.1:25" }
  const { id } = await ask("addEmailProviderSMTP", smtp)
  await ask("activateEmailProvider", { id })
}

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

const accepted: Delivery = { done: true, steps: [] }
const greylisted: Delivery = {
  done: false,
  lasting: false,
  concerns: "message",
  steps: [],
  reason: "451 greylisted",
}

/** Nothing can be stored until the function that is returned is called. */
function refuseToStore(cause: Error): () => void {
  const spy = vi.spyOn(estate.store, "transact").mockRejectedValue(cause)
  return () => spy.mockRestore()
}
const unreachable = new Fault("unavailable", "store.database_unreachable", "the database is away")
const clockBehind = new Error("the clock is behind")

test.each([
  ["the database can't be reached", unreachable, false],
  ["storing fails for another reason", clockBehind, true],
])("a mail of the first try goes out once while %s", async (_, cause, isReadyMeanwhile) => {
  await activeServer()
  let allow = () => {}
  const { count, isReady } = running({
    answer: () => {
      allow = refuseToStore(cause)
      return accepted
    },
  })
  await addUser("ada")
  await passedUntil(() => count("ada") > 0)
  await passed(3 * minute)
  expect([count("ada"), isReady()]).toEqual([1, isReadyMeanwhile])
  allow()
  await sentTo("ada")
  await passedUntil(isReady)
  expect(count("ada")).toBe(1)
})

test("a delayed mail goes out once while nothing is stored, also without the lead", async () => {
  await activeServer()
  let [isGreylisting, isLeading] = [true, true]
  let allow = () => {}
  const { count, isReady } = running({
    answer: () => {
      if (isGreylisting) return greylisted
      allow = refuseToStore(unreachable)
      return accepted
    },
    leads: () => isLeading,
  })
  await addUser("ada")
  await passedUntil(async () => (await messageTo("ada"))?.tries === 1)
  isGreylisting = false
  await passedUntil(() => count("ada") > 1)
  await passed(minute)
  expect([count("ada"), isReady()]).toEqual([2, false])
  isLeading = false
  await passedUntil(isReady)
  await passed(minute)
  expect(count("ada")).toBe(2)
  isLeading = true
  await passed(minute)
  allow()
  await sentTo("ada")
  await passedUntil(isReady)
  expect(count("ada")).toBe(2)
})

test("a mail that was rejected while nothing could be stored is tried again later", async () => {
  await activeServer()
  let allow: (() => void) | undefined
  const { count } = running({
    answer: () => {
      allow ??= refuseToStore(unreachable)
      return count("ada") === 1 ? greylisted : accepted
    },
  })
  await addUser("ada")
  await passedUntil(() => count("ada") > 0)
  await passed(minute)
  expect(count("ada")).toBe(1)
  allow?.()
  await sentTo("ada")
  expect(count("ada")).toBe(2)
})
