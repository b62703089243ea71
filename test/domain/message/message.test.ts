import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { queueMagicLink, queueOtp } from "../../../src/domain/message/index.ts"
import { message } from "../../../src/domain/message/model.ts"
import { messageReactor } from "../../../src/domain/message/reactor.ts"
import { askRegistration } from "../../../src/domain/registration/registration.ts"
import type { Delivery, Mail } from "../../../src/kernel/port/mail.ts"
import { type Reactors, runReactors } from "../../../src/store/index.ts"
import { type Estate, openEstate } from "../../support/estate.ts"
import { nowhere } from "../../support/outside.ts"
import { driveClock, loopTurns } from "../../support/wait.ts"

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

/** Runs what sends, in a world outside that may be another after a restart. */
function running(outside: Partial<typeof nowhere>): Reactors {
  const call = (instance: string) => ({
    ...estate.cx({ instance }),
    outside: { ...nowhere, ...outside },
  })
  const reactors = runReactors(estate.store, estate.clock, [messageReactor(call)])
  closing.push(reactors.stop)
  return reactors
}

/** Until nothing is left to do; time goes on for whoever waits for it. */
const drained = (reactors: Reactors): Promise<void> =>
  driveClock(reactors.drain(), () => estate.clock.advance(100))

/** Lets time pass, and what it makes happen end. */
async function passed(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    estate.clock.advance(500)
    await loopTurns(6)
  }
}

async function activeServer(): Promise<string> {
  const smtp = { senderAddress: "konto@example.com", senderName: "Acme", host: "127.0.0.1:25" }
  const { id } = await ask("addEmailProviderSMTP", smtp)
  await ask("activateEmailProvider", { id })
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
  ask("createUser", { ...added, userId: "eva", userType: human(more, language) })

/** All messages to Eva, as they stand. */
const outbox = async () => {
  const events = await estate.store.log.find(0, 1000, ["message.added"])
  return events.events.map(({ id }) => estate.store.state(estate.cx(), message, id))
}

/** An SMTP server in memory that answers as it is told, the last answer from then on. */
function answering(...answers: readonly (Delivery | Error)[]) {
  const tried: Mail[] = []
  const mail = async (_: unknown, sent: Mail): Promise<Delivery> => {
    tried.push(sent)
    const answer = answers[tried.length - 1] ?? answers.at(-1) ?? taken
    if (answer instanceof Error) throw answer
    return answer
  }
  return { mail, tried }
}
const taken: Delivery = { done: true, steps: [] }
const refused = (lasting: boolean): Delivery => ({
  done: false,
  lasting,
  concerns: "message",
  steps: [],
  reason: lasting ? "550 no such user" : "451 try again later",
})

test("without a provider it waits, and goes out once there is one", async () => {
  const { mail, tried } = answering()
  const reactors = running({ mail })
  await addEva()
  await drained(reactors)
  expect(await outbox()).toMatchObject([{ status: "queued", to: "eva@example.com" }])
  await activeServer()
  await drained(reactors)
  expect(await outbox()).toMatchObject([{ status: "sent" }])
  expect(tried).toHaveLength(1)
})

test("greylisting: it is tried again under the same id, then sent", async () => {
  await activeServer()
  const { mail, tried } = answering(refused(false), refused(false), taken)
  const reactors = running({ mail })
  await addEva()
  await drained(reactors)
  expect(await outbox()).toMatchObject([{ status: "queued", error: "451 try again later" }])
  await passed(30_000)
  expect(await outbox()).toMatchObject([{ status: "sent", error: "" }])
  expect(tried).toHaveLength(3)
  expect(new Set(tried.map(({ messageId }) => messageId)).size).toBe(1)
})

test("a domain that begins anew sends under other ids than before", async () => {
  const ids: string[] = []
  for (const days of [0, 30]) {
    await estate.close()
    estate = await openEstate(["i1"])
    estate.clock.advance(days * 86_400_000)
    await activeServer()
    const { mail, tried } = answering()
    const reactors = running({ mail })
    await addEva()
    await drained(reactors)
    await reactors.stop()
    ids.push(...tried.map(({ messageId }) => messageId))
  }
  expect(ids[0]?.split(".")[0]).toBe(ids[1]?.split(".")[0])
  expect(new Set(ids).size).toBe(2)
})

test("what a server refuses for good has failed, and says why", async () => {
  await activeServer()
  const { mail, tried } = answering(refused(true))
  const reactors = running({ mail })
  await addEva()
  await drained(reactors)
  expect(await outbox()).toMatchObject([{ status: "failed", error: "550 no such user" }])
  expect(tried).toHaveLength(1)
})

test("a server that is down for an hour loses nothing but what is no longer good", async () => {
  await activeServer()
  const { mail } = answering(new Error("nobody answers"))
  const reactors = running({ mail })
  await addEva()
  await ask("createInviteCode", { userId: "eva" })
  await drained(reactors)
  expect(await outbox()).toMatchObject([{ status: "queued" }, { status: "queued" }])
  expect(reactors.failed()).toEqual([])
  await reactors.stop()
  estate.clock.advance(3_600_000)
  running({ mail: answering().mail })
  await passed(5_000)
  expect(await outbox()).toMatchObject([
    { kind: "verify_email", status: "failed", error: "its code is no longer good" },
    { kind: "invite_user", status: "sent" },
  ])
})

test("what is handled anew after a crash is neither written nor sent twice", async () => {
  await activeServer()
  const first = answering(taken)
  const reactors = running({ mail: first.mail })
  await addEva()
  await drained(reactors)
  await reactors.stop()
  estate.store.database.run("UPDATE reactor SET position = 0")
  const second = answering(taken)
  await drained(running({ mail: second.mail }))
  expect(second.tried).toEqual([])
  expect(await outbox()).toHaveLength(1)
})

test("a newer code takes the place of one that is still waiting", async () => {
  const { mail, tried } = answering()
  const reactors = running({ mail })
  await addEva()
  await drained(reactors)
  estate.clock.advance(1000)
  const sendCode = { verification: { case: "sendCode", value: {} } }
  await ask("resendEmailCode", { userId: "eva", ...sendCode })
  await drained(reactors)
  await activeServer()
  await drained(reactors)
  expect((await outbox()).map(({ status }) => status)).toEqual(["obsolete", "sent"])
  expect(tried).toHaveLength(1)
})

test("a code that is returned is not sent", async () => {
  const reactors = running({})
  const email = { email: "eva@example.com", verification: { case: "returnCode", value: {} } }
  await addEva({ email })
  await drained(reactors)
  expect(await outbox()).toEqual([])
})

test("a link of the caller's own has its places filled, and nothing else", async () => {
  await activeServer()
  const { mail, tried } = answering()
  const reactors = running({ mail })
  const urlTemplate = "https://app.example.com/v?u={{.UserID}}&c={{.Code}}&o={{.OrgID}}&x={{.No}}"
  const verification = { case: "sendCode", value: { urlTemplate } }
  await addEva({ email: { email: "eva@example.com", verification } })
  await drained(reactors)
  expect(tried[0]?.text).toMatch(/https:\/\/app\.example\.com\/v\?u=eva&c=\w{6}&o=org1&x=\s/)
})

test("nobody is written to more than twenty times an hour, whoever it is for", async () => {
  await activeServer()
  const { mail, tried } = answering()
  const reactors = running({ mail })
  for (let count = 0; count < 25; count++) {
    await ask("createUser", { ...added, username: `eva${count}`, userType: human() })
  }
  await drained(reactors)
  expect(tried).toHaveLength(20)
  expect((await outbox()).filter(({ status }) => status === "failed")).toHaveLength(5)
})

test("with the person goes whom it was sent to; the code is never in the outbox", async () => {
  const reactors = running({})
  await addEva()
  await drained(reactors)
  const events = async () => JSON.stringify(await estate.store.log.read(0, 1000))
  const before = await estate.store.log.find(0, 1000, ["message.added"])
  expect(JSON.stringify(before)).toContain("eva@example.com")
  expect(JSON.stringify(before)).not.toContain("sealed")
  await ask("deleteUser", { userId: "eva" })
  await drained(reactors)
  expect(await events()).not.toContain("eva@example.com")
  expect(await outbox()).toMatchObject([{ to: "" }])
})

describe("the outbox", () => {
  const inOutbox = async () => (await ask("listMessages", { userId: "eva" })).messages
  const manager = (name: string, request: object) => estate.as("manager", name, request)

  test("shows the link and code of what could not go out, and keeps who looked", async () => {
    const reactors = running({})
    await addEva()
    await ask("createInviteCode", { userId: "eva" })
    await drained(reactors)
    const shown = await inOutbox()
    expect(shown).toMatchObject([{ kind: "invite_user" }, { kind: "verify_email" }])
    expect(JSON.stringify(shown, (_, value) => String(value))).not.toContain("#")
    const within = async (organizationId: string) =>
      (await ask("listMessages", { organizationId })).messages.length
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

  test("shows at once what was written for a call that has just ended", async () => {
    running({})
    await addEva()
    const shown = inOutbox()
    const ticking = driveClock(shown, () => estate.clock.advance(25))
    expect(await ticking).toMatchObject([{ kind: "verify_email" }])
    const started = estate.clock.now()
    expect(await inOutbox()).toHaveLength(1)
    expect(estate.clock.now()).toBe(started)
  })

  test("waits two seconds at most for what writes it", async () => {
    await addEva()
    const started = estate.clock.now()
    const waited = () => estate.clock.now() - started
    const tick = () => (waited() < 2100 ? estate.clock.advance(25) : undefined)
    expect(await driveClock(inOutbox(), tick)).toEqual([])
    expect(waited()).toBeGreaterThanOrEqual(2000)
  })

  test("notes on the user whose code was shown, and of what", async () => {
    const reactors = running({})
    await addEva()
    await drained(reactors)
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

  test("shows nobody a code or link to sign in", async () => {
    const reactors = running({})
    await addEva()
    const code = { userId: "eva", code: "12345678", expires: estate.clock.now() + 60_000 }
    await estate.step((tx) => {
      queueOtp(tx, { ...code, channel: "email", sessionId: "" })
      queueMagicLink(tx, { ...code, urlTemplate: "" })
    })
    await drained(reactors)
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

  test("shows nobody the code of an account that is yet to be", async () => {
    const reactors = running({})
    const name = { givenName: "N", familyName: "Ew", language: "en", organization: "" }
    const registrant = { ...name, email: "new@example.com" }
    await askRegistration(estate.cx(), "new", { orgId: "org1", requestId: "", registrant })
    await drained(reactors)
    const [{ id: messageId, kind }] = (await ask("listMessages")).messages
    expect(kind).toBe("init")
    for (const who of ["manager", "owner"] as const) {
      const looked = async () => estate.as(who, "viewMessage", { userId: "new", messageId })
      await expect(looked()).rejects.toMatchObject({ id: "user.missing" })
    }
  })

  test("shows nobody what was written to themselves", async () => {
    const reactors = running({})
    const verification = { case: "sendCode", value: {} }
    await ask("setEmail", { userId: "manager", email: "new@example.com", verification })
    await drained(reactors)
    const [{ id: messageId }] = (await ask("listMessages", { userId: "manager" })).messages
    const one = { userId: "manager", messageId }
    const looked = async () => manager("viewMessage", one)
    await expect(looked()).rejects.toMatchObject({ id: "message.own" })
    const cx = { authors: ["manager"] }
    const changed = async () => estate.as("owner", "viewMessage", one, { cx })
    await expect(changed()).rejects.toMatchObject({ id: "message.own" })
  })

  test("sends again what has failed, as another message", async () => {
    await activeServer()
    const { mail, tried } = answering(refused(true), taken)
    const reactors = running({ mail })
    await addEva()
    await drained(reactors)
    const [{ id: messageId }] = await inOutbox()
    await ask("sendMessageAgain", { userId: "eva", messageId })
    await drained(reactors)
    expect(await outbox()).toMatchObject([{ status: "sent" }])
    expect(new Set(tried.map((each) => each.messageId)).size).toBe(2)
  })
})
