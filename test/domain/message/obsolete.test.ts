// A used code needs no message: an undelivered one is not a failure.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { message } from "../../../src/domain/message/model.ts"
import { messageReactor } from "../../../src/domain/message/reactor.ts"
import { countMessages } from "../../../src/domain/message/view.ts"
import { MessageStatus } from "../../../src/gen/core/message/v2/message_service_pb.ts"
import type { DeliveryResult } from "../../../src/kernel/port/mail.ts"
import { deliveryStatusOf } from "../../../src/server/metrics/counted-events.ts"
import { type Reactors, runReactors } from "../../../src/store/index.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"
import { driveClock } from "../../support/wait.ts"

let estate: Tenant
let reactors: Reactors
let answer: DeliveryResult
beforeEach(async () => {
  estate = await openTenant(["i1"])
  answer = createRejection(true)
  const mail = async () => answer
  const call = (instance: string) => ({
    ...estate.cx({ instance }),
    outside: { ...unreachableOutside, mail },
  })
  reactors = runReactors(estate.store, estate.clock, [messageReactor(call)])
})
afterEach(async () => {
  await reactors.stop()
  await estate.close()
})

const createRejection = (lasting: boolean): DeliveryResult => ({
  done: false,
  lasting,
  concerns: "message",
  steps: [],
  reason: "550 no such user",
})
const callAsOwner = (name: string, request: object = {}) => estate.as("owner", name, request)
const drain = () => driveClock(reactors.drain(), () => estate.clock.advance(100))

async function activateServer(): Promise<void> {
  const smtp = { senderAddress: "konto@example.com", senderName: "Acme", host: "127.0.0.1:25" }
  const { id } = await callAsOwner("addEmailProviderSMTP", smtp)
  await callAsOwner("activateEmailProvider", { id })
}

/** Adds Eva and invites her by email. */
async function invite(): Promise<void> {
  const email = { email: "eva@example.com", verification: { case: "returnCode", value: {} } }
  await callAsOwner("createUser", {
    organizationId: "org1",
    username: "eva",
    userId: "eva",
    userType: {
      case: "human",
      value: { profile: { givenName: "Eva", familyName: "Müller" }, email },
    },
  })
  await callAsOwner("createInviteCode", {
    userId: "eva",
    verification: { case: "sendCode", value: {} },
  })
}

/** Uses the code as if an administrator had read it in the outbox and passed it on. */
async function useCode(): Promise<void> {
  const [{ id = "" } = {}] = await listMessages()
  const { link } = await callAsOwner("viewMessage", { userId: "eva", messageId: id })
  const [code = ""] = new URL(link).hash.slice(1).split("&key=")
  await callAsOwner("verifyInviteCode", { userId: "eva", verificationCode: code })
}

const listMessages = async (status: MessageStatus = MessageStatus.UNSPECIFIED): Promise<any[]> =>
  (await callAsOwner("listMessages", { userId: "eva", status })).messages
const { FAILED, OBSOLETE, QUEUED } = MessageStatus
const obsoleteReason = "its code was used or replaced"

describe("a used code", () => {
  test("is not sent or failed if there was no provider before", async () => {
    await invite()
    await drain()
    expect(await listMessages()).toMatchObject([{ kind: "invite_user", status: QUEUED }])
    await useCode()
    await drain()
    await activateServer()
    await drain()
    expect(await listMessages()).toMatchObject([{ status: OBSOLETE, error: obsoleteReason }])
    expect(await listMessages(FAILED)).toEqual([])
    expect(await listMessages(OBSOLETE)).toHaveLength(1)
    expect(countMessages(estate.cx())).toEqual({ queued: 0, failed: 0 })
  })

  test("is no longer listed as failed after its message failed", async () => {
    await activateServer()
    await invite()
    await drain()
    expect(await listMessages(FAILED)).toMatchObject([{ error: "550 no such user" }])
    expect(countMessages(estate.cx())).toEqual({ queued: 0, failed: 1 })
    await useCode()
    await drain()
    expect(await listMessages(FAILED)).toEqual([])
    expect(await listMessages()).toMatchObject([{ status: OBSOLETE, error: obsoleteReason }])
  })

  test("is not retried if its message was waiting for a retry", async () => {
    answer = createRejection(false)
    await activateServer()
    await invite()
    await drain()
    expect(await listMessages()).toMatchObject([{ status: QUEUED }])
    await useCode()
    await drain()
    expect(await listMessages()).toMatchObject([{ status: OBSOLETE }])
  })

  test("does not affect messages with unused codes", async () => {
    await activateServer()
    await invite()
    await drain()
    await callAsOwner("setPhone", {
      userId: "eva",
      phone: "+41791234567",
      verification: { case: "isVerified", value: true },
    })
    await drain()
    const kinds = (await listMessages(FAILED)).map(({ kind }) => kind)
    expect(kinds).toContain("invite_user")
    expect(await listMessages(OBSOLETE)).toEqual([])
  })
})

test("a replaced code is not a failure, either", async () => {
  await invite()
  await drain()
  await callAsOwner("createInviteCode", {
    userId: "eva",
    verification: { case: "sendCode", value: {} },
  })
  await activateServer()
  await drain()
  expect(await listMessages(FAILED)).toMatchObject([{ error: "550 no such user" }])
  expect(await listMessages(OBSOLETE)).toHaveLength(1)
})

test("a code that expired before delivery is a failure", async () => {
  await invite()
  await drain()
  estate.clock.advance(4 * 24 * 3_600_000)
  await activateServer()
  await drain()
  expect(await listMessages(FAILED)).toMatchObject([{ error: "its code has expired" }])
})

test("an obsolete message does not count as a failed delivery", () => {
  const failed = { type: "message.failed", data: { error: "550" } }
  expect(deliveryStatusOf(failed)).toBe("failed")
  expect(
    deliveryStatusOf({ ...failed, data: { error: obsoleteReason, isObsolete: true } }),
  ).toBeUndefined()
})

test("events of earlier versions are failures", () => {
  const { evolve, initial } = message
  const event = { type: "message.failed", data: { error: "550" } } as never
  expect(evolve["message.failed"](initial, event).status).toBe("failed")
})
