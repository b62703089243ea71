// A code that was used needs no message: one that did not arrive is no failure then.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { message } from "../../../src/domain/message/model.ts"
import { messageReactor } from "../../../src/domain/message/reactor.ts"
import { messagesWaiting } from "../../../src/domain/message/view.ts"
import { MessageStatus } from "../../../src/gen/core/message/v2/message_service_pb.ts"
import type { Delivery } from "../../../src/kernel/port/mail.ts"
import { deliveryOf } from "../../../src/server/metrics/event-kind.ts"
import { type Reactors, runReactors } from "../../../src/store/index.ts"
import { type Estate, openEstate } from "../../support/estate.ts"
import { nowhere } from "../../support/outside.ts"
import { driveClock } from "../../support/wait.ts"

let estate: Estate
let reactors: Reactors
let answer: Delivery
beforeEach(async () => {
  estate = await openEstate(["i1"])
  answer = refused(true)
  const mail = async () => answer
  const call = (instance: string) => ({
    ...estate.cx({ instance }),
    outside: { ...nowhere, mail },
  })
  reactors = runReactors(estate.store, estate.clock, [messageReactor(call)])
})
afterEach(async () => {
  await reactors.stop()
  await estate.close()
})

const refused = (lasting: boolean): Delivery => ({
  done: false,
  lasting,
  concerns: "message",
  steps: [],
  reason: "550 no such user",
})
const ask = (name: string, request: object = {}) => estate.as("owner", name, request)
const drained = () => driveClock(reactors.drain(), () => estate.clock.advance(100))

async function activeServer(): Promise<void> {
  const smtp = { senderAddress: "konto@example.com", senderName: "Acme", host: "127.0.0.1:25" }
  const { id } = await ask("addEmailProviderSMTP", smtp)
  await ask("activateEmailProvider", { id })
}

/** Adds Eva, and invites her by mail. */
async function invite(): Promise<void> {
  const email = { email: "eva@example.com", verification: { case: "returnCode", value: {} } }
  await ask("createUser", {
    organizationId: "org1",
    username: "eva",
    userId: "eva",
    userType: {
      case: "human",
      value: { profile: { givenName: "Eva", familyName: "Müller" }, email },
    },
  })
  await ask("createInviteCode", { userId: "eva", verification: { case: "sendCode", value: {} } })
}

/** Hands the code on as an administrator who reads it in the outbox, and has it used. */
async function useCode(): Promise<void> {
  const [{ id = "" } = {}] = await listed()
  const { link } = await ask("viewMessage", { userId: "eva", messageId: id })
  const [code = ""] = new URL(link).hash.slice(1).split("&key=")
  await ask("verifyInviteCode", { userId: "eva", verificationCode: code })
}

const listed = async (status: MessageStatus = MessageStatus.UNSPECIFIED): Promise<any[]> =>
  (await ask("listMessages", { userId: "eva", status })).messages
const { FAILED, OBSOLETE, QUEUED } = MessageStatus
const gone = "its code was used or replaced"

describe("a code that was used", () => {
  test("before there was a provider is not sent, and is no failure", async () => {
    await invite()
    await drained()
    expect(await listed()).toMatchObject([{ kind: "invite_user", status: QUEUED }])
    await useCode()
    await drained()
    await activeServer()
    await drained()
    expect(await listed()).toMatchObject([{ status: OBSOLETE, error: gone }])
    expect(await listed(FAILED)).toEqual([])
    expect(await listed(OBSOLETE)).toHaveLength(1)
    expect(messagesWaiting(estate.cx())).toEqual({ queued: 0, failed: 0 })
  })

  test("after its message failed is listed as a failure no more", async () => {
    await activeServer()
    await invite()
    await drained()
    expect(await listed(FAILED)).toMatchObject([{ error: "550 no such user" }])
    expect(messagesWaiting(estate.cx())).toEqual({ queued: 0, failed: 1 })
    await useCode()
    await drained()
    expect(await listed(FAILED)).toEqual([])
    expect(await listed()).toMatchObject([{ status: OBSOLETE, error: gone }])
  })

  test("while its message was to be tried again is not tried again", async () => {
    answer = refused(false)
    await activeServer()
    await invite()
    await drained()
    expect(await listed()).toMatchObject([{ status: QUEUED }])
    await useCode()
    await drained()
    expect(await listed()).toMatchObject([{ status: OBSOLETE }])
  })

  test("leaves a message alone whose code was not used", async () => {
    await activeServer()
    await invite()
    await drained()
    await ask("setPhone", {
      userId: "eva",
      phone: "+41791234567",
      verification: { case: "isVerified", value: true },
    })
    await drained()
    const kinds = (await listed(FAILED)).map(({ kind }) => kind)
    expect(kinds).toContain("invite_user")
    expect(await listed(OBSOLETE)).toEqual([])
  })
})

test("a code that a newer one replaced is no failure, either", async () => {
  await invite()
  await drained()
  await ask("createInviteCode", { userId: "eva", verification: { case: "sendCode", value: {} } })
  await activeServer()
  await drained()
  expect(await listed(FAILED)).toMatchObject([{ error: "550 no such user" }])
  expect(await listed(OBSOLETE)).toHaveLength(1)
})

test("a code that expired before it arrived is a failure", async () => {
  await invite()
  await drained()
  estate.clock.advance(4 * 24 * 3_600_000)
  await activeServer()
  await drained()
  expect(await listed(FAILED)).toMatchObject([{ error: "its code is no longer good" }])
})

test("an obsolete message is not counted as a failed delivery", () => {
  const failed = { type: "message.failed", data: { error: "550" } }
  expect(deliveryOf(failed)).toBe("failed")
  expect(deliveryOf({ ...failed, data: { error: gone, isObsolete: true } })).toBeUndefined()
})

test("events of earlier versions are failures", () => {
  const { evolve, initial } = message
  const event = { type: "message.failed", data: { error: "550" } } as never
  expect(evolve["message.failed"](initial, event).status).toBe("failed")
})
