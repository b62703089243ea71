import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { queueMagicLink, queueOtp } from "../../../src/domain/message/index.ts"
import { message } from "../../../src/domain/message/model.ts"
import { messageReactor } from "../../../src/domain/message/reactor.ts"
import { requestRegistration } from "../../../src/domain/registration/registration.ts"
import type { DeliveryResult, Mail } from "../../../src/kernel/port/mail.ts"
import { type Reactors, runReactors } from "../../../src/store/index.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"
import { driveClock, loopTurns } from "../../support/wait.ts"

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

/** Starts the reactors with an outside world, which can differ after a restart. */
function startReactors(outside: Partial<typeof unreachableOutside>): Reactors {
  const call = (instance: string) => ({
    ...estate.cx({ instance }),
    outside: { ...unreachableOutside, ...outside },
  })
  const reactors = runReactors(estate.store, estate.clock, [messageReactor(call)])
  closing.push(reactors.stop)
  return reactors
}

/** Runs until no work remains; advances the clock for timers. */
const drain = (reactors: Reactors): Promise<void> =>
  driveClock(reactors.drain(), () => estate.clock.advance(100))

/** Advances the clock and waits for the resulting work. */
async function passTime(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    estate.clock.advance(500)
    await loopTurns(6)
  }
}

async function activateServer(): Promise<string> {
  const smtp = { senderAddress: "konto@example.com", senderName: "Acme", host: "127.0.0.1:25" }
  const { id } = await callAsOwner("addEmailProviderSMTP", smtp)
  await callAsOwner("activateEmailProvider", { id })
  return id
}

const added = { organizationId: "org1", username: "eva" }
const human = (more: object = {}, language = "de") => ({
  case: "human",
  value: {
    profile: { givenName: "Eva", familyName: "<b>Müller</b>", preferredLanguage: language },
    email: { email: "eva@example.com", verification: { case: "sendCode", value: {} } },
    ...more,
  },
})
const addEva = (more?: object, language?: string) =>
  callAsOwner("createUser", { ...added, userId: "eva", userType: human(more, language) })

/** All messages to Eva with their states. */
const outbox = async () => {
  const events = await estate.store.log.find(0, 1000, ["message.added"])
  return events.events.map(({ id }) => estate.store.state(estate.cx(), message, id))
}

/** An SMTP server in memory with a list of responses, the last of which repeats. */
function serverAnswering(...answers: readonly (DeliveryResult | Error)[]) {
  const tried: Mail[] = []
  const mail = async (_: unknown, sent: Mail): Promise<DeliveryResult> => {
    tried.push(sent)
    const answer = answers[tried.length - 1] ?? answers.at(-1) ?? accepted
    if (answer instanceof Error) throw answer
    return answer
  }
  return { mail, tried }
}
const accepted: DeliveryResult = { done: true, steps: [] }
const createRejection = (lasting: boolean): DeliveryResult => ({
  done: false,
  lasting,
  concerns: "message",
  steps: [],
  reason: lasting ? "550 no such user" : "451 try again later",
})

test("waits without a provider, and is sent once there is one", async () => {
  const { mail, tried } = serverAnswering()
  const reactors = startReactors({ mail })
  await addEva()
  await drain(reactors)
  expect(await outbox()).toMatchObject([{ status: "queued", to: "eva@example.com" }])
  await activateServer()
  await drain(reactors)
  expect(await outbox()).toMatchObject([{ status: "sent" }])
  expect(tried).toHaveLength(1)
})

test("greylisting: retries under the same ID, then sends", async () => {
  await activateServer()
  const { mail, tried } = serverAnswering(createRejection(false), createRejection(false), accepted)
  const reactors = startReactors({ mail })
  await addEva()
  await drain(reactors)
  expect(await outbox()).toMatchObject([{ status: "queued", error: "451 try again later" }])
  await passTime(30_000)
  expect(await outbox()).toMatchObject([{ status: "sent", error: "" }])
  expect(tried).toHaveLength(3)
  expect(new Set(tried.map(({ messageId }) => messageId)).size).toBe(1)
})

test("an instance that starts again sends under different IDs", async () => {
  const ids: string[] = []
  for (const days of [0, 30]) {
    await estate.close()
    estate = await openTenant(["i1"])
    estate.clock.advance(days * 86_400_000)
    await activateServer()
    const { mail, tried } = serverAnswering()
    const reactors = startReactors({ mail })
    await addEva()
    await drain(reactors)
    await reactors.stop()
    ids.push(...tried.map(({ messageId }) => messageId))
  }
  expect(ids[0]?.split(".")[0]).toBe(ids[1]?.split(".")[0])
  expect(new Set(ids).size).toBe(2)
})

test("a permanent rejection is a failure with its reason", async () => {
  await activateServer()
  const { mail, tried } = serverAnswering(createRejection(true))
  const reactors = startReactors({ mail })
  await addEva()
  await drain(reactors)
  expect(await outbox()).toMatchObject([{ status: "failed", error: "550 no such user" }])
  expect(tried).toHaveLength(1)
})

test("a server that is down for an hour loses only expired messages", async () => {
  await activateServer()
  const { mail } = serverAnswering(new Error("no response"))
  const reactors = startReactors({ mail })
  await addEva()
  await callAsOwner("createInviteCode", { userId: "eva" })
  await drain(reactors)
  expect(await outbox()).toMatchObject([{ status: "queued" }, { status: "queued" }])
  expect(reactors.failed()).toEqual([])
  await reactors.stop()
  estate.clock.advance(3_600_000)
  startReactors({ mail: serverAnswering().mail })
  await passTime(5_000)
  expect(await outbox()).toMatchObject([
    { kind: "verify_email", status: "failed", error: "its code has expired" },
    { kind: "invite_user", status: "sent" },
  ])
})

test("work repeated after a crash is neither written nor sent twice", async () => {
  await activateServer()
  const first = serverAnswering(accepted)
  const reactors = startReactors({ mail: first.mail })
  await addEva()
  await drain(reactors)
  await reactors.stop()
  estate.store.database.run("UPDATE reactor SET position = 0")
  const second = serverAnswering(accepted)
  await drain(startReactors({ mail: second.mail }))
  expect(second.tried).toEqual([])
  expect(await outbox()).toHaveLength(1)
})

test("a newer code replaces a pending one", async () => {
  const { mail, tried } = serverAnswering()
  const reactors = startReactors({ mail })
  await addEva()
  await drain(reactors)
  estate.clock.advance(1000)
  const sendCode = { verification: { case: "sendCode", value: {} } }
  await callAsOwner("resendEmailCode", { userId: "eva", ...sendCode })
  await drain(reactors)
  await activateServer()
  await drain(reactors)
  expect((await outbox()).map(({ status }) => status)).toEqual(["obsolete", "sent"])
  expect(tried).toHaveLength(1)
})

test("a code that is returned is not sent", async () => {
  const reactors = startReactors({})
  const email = { email: "eva@example.com", verification: { case: "returnCode", value: {} } }
  await addEva({ email })
  await drain(reactors)
  expect(await outbox()).toEqual([])
})

test("a caller's URL template is filled in, and nothing else", async () => {
  await activateServer()
  const { mail, tried } = serverAnswering()
  const reactors = startReactors({ mail })
  const urlTemplate = "https://app.example.com/v?u={{.UserID}}&c={{.Code}}&o={{.OrgID}}&x={{.No}}"
  const verification = { case: "sendCode", value: { urlTemplate } }
  await addEva({ email: { email: "eva@example.com", verification } })
  await drain(reactors)
  expect(tried[0]?.text).toMatch(/https:\/\/app\.example\.com\/v\?u=eva&c=\w{6}&o=org1&x=\s/)
})

test("an address receives at most twenty messages an hour, from all users", async () => {
  await activateServer()
  const { mail, tried } = serverAnswering()
  const reactors = startReactors({ mail })
  for (let count = 0; count < 25; count++) {
    await callAsOwner("createUser", { ...added, username: `eva${count}`, userType: human() })
  }
  await drain(reactors)
  expect(tried).toHaveLength(20)
  expect((await outbox()).filter(({ status }) => status === "failed")).toHaveLength(5)
})

test("the recipient is erased with the user; the code is never in the outbox", async () => {
  const reactors = startReactors({})
  await addEva()
  await drain(reactors)
  const events = async () => JSON.stringify(await estate.store.log.read(0, 1000))
  const before = await estate.store.log.find(0, 1000, ["message.added"])
  expect(JSON.stringify(before)).toContain("eva@example.com")
  expect(JSON.stringify(before)).not.toContain("sealed")
  await callAsOwner("deleteUser", { userId: "eva" })
  await drain(reactors)
  expect(await events()).not.toContain("eva@example.com")
  expect(await outbox()).toMatchObject([{ to: "" }])
})

describe("the outbox", () => {
  const inOutbox = async () => (await callAsOwner("listMessages", { userId: "eva" })).messages
  const manager = (name: string, request: object) => estate.as("manager", name, request)

  test("returns the link and code of unsent messages, and records the viewer", async () => {
    const reactors = startReactors({})
    await addEva()
    await callAsOwner("createInviteCode", { userId: "eva" })
    await drain(reactors)
    const shown = await inOutbox()
    expect(shown).toMatchObject([{ kind: "invite_user" }, { kind: "verify_email" }])
    expect(JSON.stringify(shown, (_, value) => String(value))).not.toContain("#")
    const within = async (organizationId: string) =>
      (await callAsOwner("listMessages", { organizationId })).messages.length
    expect([await within("org1"), await within("org2")]).toEqual([2, 0])
    const one = { userId: "eva", messageId: shown[0].id }
    const { link } = await manager("viewMessage", one)
    expect(link).toMatch(/^https:\/\/id\.example\.com\/ui\/login\/verify\?.*#\w{6}&key=[\w-]{22}$/)
    const { events } = await estate.store.log.find(0, 1000, ["message.viewed"])
    expect(events).toMatchObject([{ id: shown[0].id, editor: { user: "manager" } }])
    const looked = async (person: "stranger" | "nobody") => estate.as(person, "viewMessage", one)
    await expect(looked("stranger")).rejects.toMatchObject({ code: "not_found" })
    await expect(looked("nobody")).rejects.toMatchObject({ code: "permission_denied" })
  })

  test("contains messages of a call that has just ended", async () => {
    startReactors({})
    await addEva()
    const shown = inOutbox()
    const ticking = driveClock(shown, () => estate.clock.advance(25))
    expect(await ticking).toMatchObject([{ kind: "verify_email" }])
    const started = estate.clock.now()
    expect(await inOutbox()).toHaveLength(1)
    expect(estate.clock.now()).toBe(started)
  })

  test("waits at most two seconds for pending writes", async () => {
    await addEva()
    const started = estate.clock.now()
    const waited = () => estate.clock.now() - started
    const tick = () => (waited() < 2100 ? estate.clock.advance(25) : undefined)
    expect(await driveClock(inOutbox(), tick)).toEqual([])
    expect(waited()).toBeGreaterThanOrEqual(2000)
  })

  test("records on the user whose code was viewed, and its purpose", async () => {
    const reactors = startReactors({})
    await addEva()
    await drain(reactors)
    const [{ id: messageId }] = await inOutbox()
    await manager("viewMessage", { userId: "eva", messageId })
    const { events } = await estate.store.log.find(0, 1000, ["user.human.code.viewed"])
    expect(events).toMatchObject([
      {
        id: "eva",
        editor: { user: "manager" },
        data: { of: "email", verifier: { by: "organization" } },
      },
    ])
  })

  test("never returns a sign-in code or link", async () => {
    const reactors = startReactors({})
    await addEva()
    const code = { userId: "eva", code: "12345678", expires: estate.clock.now() + 60_000 }
    await estate.step((tx) => {
      queueOtp(tx, { ...code, channel: "email", sessionId: "" })
      queueMagicLink(tx, { ...code, urlTemplate: "" })
    })
    await drain(reactors)
    const signIn = (await inOutbox()).filter(
      ({ kind }: { kind: string }) => kind !== "verify_email",
    )
    expect(signIn).toHaveLength(2)
    for (const { id: messageId } of signIn) {
      for (const who of ["manager", "owner"] as const) {
        const looked = async () => estate.as(who, "viewMessage", { userId: "eva", messageId })
        await expect(looked()).rejects.toMatchObject({ id: "message.sign_in_code" })
      }
    }
    expect((await estate.store.log.find(0, 1000, ["message.viewed"])).events).toEqual([])
  })

  test("never returns the code of an account that does not exist yet", async () => {
    const reactors = startReactors({})
    const name = { givenName: "N", familyName: "Ew", language: "en", organization: "" }
    const registrant = { ...name, email: "new@example.com" }
    await requestRegistration(estate.cx(), "new", { orgId: "org1", requestId: "", registrant })
    await drain(reactors)
    const [{ id: messageId, kind }] = (await callAsOwner("listMessages")).messages
    expect(kind).toBe("init")
    for (const who of ["manager", "owner"] as const) {
      const looked = async () => estate.as(who, "viewMessage", { userId: "new", messageId })
      await expect(looked()).rejects.toMatchObject({ id: "user.missing" })
    }
  })

  test("never returns messages to the caller", async () => {
    const reactors = startReactors({})
    const verification = { case: "sendCode", value: {} }
    await callAsOwner("setEmail", { userId: "manager", email: "new@example.com", verification })
    await drain(reactors)
    const [{ id: messageId }] = (await callAsOwner("listMessages", { userId: "manager" })).messages
    const one = { userId: "manager", messageId }
    const looked = async () => manager("viewMessage", one)
    await expect(looked()).rejects.toMatchObject({ id: "message.own" })
    const cx = { authors: ["manager"] }
    const changed = async () => estate.as("owner", "viewMessage", one, { cx })
    await expect(changed()).rejects.toMatchObject({ id: "message.own" })
  })

  test("resends failed messages as new messages", async () => {
    await activateServer()
    const { mail, tried } = serverAnswering(createRejection(true), accepted)
    const reactors = startReactors({ mail })
    await addEva()
    await drain(reactors)
    const [{ id: messageId }] = await inOutbox()
    await callAsOwner("sendMessageAgain", { userId: "eva", messageId })
    await drain(reactors)
    expect(await outbox()).toMatchObject([{ status: "sent" }])
    expect(new Set(tried.map((each) => each.messageId)).size).toBe(2)
  })
})
