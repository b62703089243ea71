import { afterEach, beforeEach, expect, test } from "vitest"
import {
  hashPassword,
  passwordLoad,
  verifyPassword,
} from "../../../src/domain/credential/password.ts"
import { clientClaim } from "../../../src/domain/instance/index.ts"
import { addServerUser } from "../../../src/domain/user/index.ts"
import { findProfile } from "../../../src/domain/user-lookup/query.ts"
import { isTemporary } from "../../../src/domain/user-lookup/temporary.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { temporaryEmail } from "../../../src/protocol/self-check/temporary-id.ts"
import { callOperation } from "../../support/call-operation.ts"
import type { TestEnvironment } from "../../support/test-environment.ts"
import { shares } from "../../support/user-modules.ts"
import { openUserWorld, human as person } from "./household.ts"

let world: TestEnvironment
beforeEach(async () => {
  world = await openUserWorld()
})
afterEach(() => world.close())

const human = (change: object = {}) => ({
  organizationId: "org1",
  username: "anna",
  userType: {
    case: "human",
    value: {
      profile: { givenName: "Anna", familyName: "Berg" },
      email: { email: "anna@example.com" },
      ...change,
    },
  },
})
const createUserCall = (request: object) => callOperation(shares, "createUser", world.cx(), request)
const eventTypes = async () => (await world.store.log.read(0, 100)).slice(6).map(({ type }) => type)

test("a user with a verified address is one event", async () => {
  const verification = { case: "isVerified", value: true }
  const { id, emailCode } = await createUserCall(
    human({ email: { email: "a@example.com", verification } }),
  )
  expect(emailCode).toBeUndefined()
  expect(findProfile(world.cx(), id)).toMatchObject({ emailVerified: true })
  expect((await eventTypes()).filter((type) => type.startsWith("user."))).toEqual([
    "user.human.added",
  ])
})

test("by default a code is sent for the address, and not returned", async () => {
  const { id, emailCode } = await createUserCall(human())
  expect(emailCode).toBeUndefined()
  expect(await eventTypes()).toContain("user.human.email.code.added")
  const state = world.store.state(world.cx(), user, id)
  expect(state).toMatchObject({ emailCode: { expires: world.clock.now() + 3_600_000 } })
})

test("a returned code is the stored one, encrypted for this user and purpose", async () => {
  const verification = { case: "returnCode", value: {} }
  const email = { email: "a@example.com", verification }
  const phone = { phone: "+41791234567", verification }
  const { id, emailCode, phoneCode } = await createUserCall(human({ email, phone }))
  expect(emailCode).toMatch(/^[A-HJ-NP-Z2-9]{6}$/)
  const state = world.store.state(world.cx(), user, id)
  const kept = "kind" in state && state.kind === "human" ? state : undefined
  const open = (sealed = "", subject = "") => world.secrets.open("seal", sealed, subject)
  expect(open(kept?.emailCode?.sealed, `user/${id}/email_code`)).toBe(emailCode)
  expect(open(kept?.phoneCode?.sealed, `user/${id}/phone_code`)).toBe(phoneCode)
  expect(open(kept?.emailCode?.sealed, `user/${id}/phone_code`)).toBeUndefined()
  expect(JSON.stringify(await world.store.log.read(0, 100))).not.toContain(emailCode)
})

test("rejects a link of an email that is not a web address", async () => {
  for (const urlTemplate of ["javascript:alert(1)", "https://a b", "//x"]) {
    const verification = { case: "sendCode", value: { urlTemplate } }
    const made = createUserCall(human({ email: { email: "a@example.com", verification } }))
    await expect(made, urlTemplate).rejects.toMatchObject({ id: "user.url_template_invalid" })
  }
})

test("an ID can be chosen once", async () => {
  expect((await createUserCall({ ...human(), userId: "mine" })).id).toBe("mine")
  for (const userId of [".", "..", "a b", "x".repeat(201)]) {
    const wrong = createUserCall({ ...human(), userId })
    await expect(wrong, userId).rejects.toMatchObject({ id: "request.field_invalid" })
  }
  const again = createUserCall({ ...human(), userId: "mine", username: "other" })
  await expect(again).rejects.toMatchObject({ code: "already_exists", id: "user.id_taken" })
})

test("requires the type of the user", async () => {
  const { userType: _, ...rest } = human()
  await expect(createUserCall(rest)).rejects.toMatchObject({ id: "user.kind_missing" })
})

test.each([
  ["a link to a provider", { idpLinks: [{ idpId: "1" }] }, "not_found", "idp.missing"],
  ["a TOTP secret", { totpSecret: "A" }, "failed_precondition", "user.totp_unavailable"],
])("%s is rejected, not ignored", async (_, more, code, id) => {
  await expect(createUserCall(human(more))).rejects.toMatchObject({ code, id })
  expect((await eventTypes()).some((type) => type.startsWith("user."))).toBe(false)
})

test("a first password must follow the policy and works afterwards", async () => {
  const password = (plain: string) => ({ case: "password", value: { password: plain } })
  const weak = createUserCall(human({ passwordType: password("password") }))
  await expect(weak).rejects.toMatchObject({ id: "user.password_too_simple" })
  const { id } = await createUserCall(human({ passwordType: password("Correct-Horse-7") }))
  const { checkPassword } = await import("../../../src/domain/credential/commands.ts")
  expect(await checkPassword(world.cx(), id, "Correct-Horse-7")).toBe("ok")
})

test("a service account is created with its token type", async () => {
  const value = { name: "Robot", description: "Builds", accessTokenType: 1 }
  const { id } = await createUserCall({
    organizationId: "org1",
    userType: { case: "machine", value },
  })
  const answer = await callOperation(shares, "getUserByID", world.cx(), { userId: id })
  expect(answer.user).toMatchObject({
    username: id,
    type: { case: "machine", value: { ...value, hasSecret: false } },
  })
})

test("rejects an ID that the server uses itself", async () => {
  for (const userId of ["described", "described-2", "latchkey-doctor-1"]) {
    const machine = { case: "machine", value: { name: "R" } }
    for (const request of [human(), { ...human(), userType: machine }]) {
      await expect(createUserCall({ ...request, userId })).rejects.toMatchObject({
        id: "user.id_kept",
      })
    }
  }
  expect(await createUserCall({ ...human(), userId: "described-by-anna" })).toMatchObject({
    id: "described-by-anna",
  })
})

test("a legacy ID does not make its user the self-check user", async () => {
  const [own, earlier] = ["latchkey-doctor-1-a", "latchkey-doctor-1-b"]
  const cx = world.cx()
  await world.store.transact(cx, (tx) => {
    const email = { value: temporaryEmail(own), verified: true }
    addServerUser(tx, own, person({ userName: own, email }))
    addServerUser(tx, earlier, person({ userName: "bea" }))
  })
  expect([own, earlier].map((id) => isTemporary(cx, id))).toEqual([true, false])
  const holder = await world.store.transact(cx, (tx) => tx.holder(clientClaim, own))
  expect(holder.value).toBeUndefined()
})

test("who signs in waits for one password that an organization gives, not for all", async () => {
  const own = await hashPassword("secret")
  const done: string[] = []
  const passwordType = { case: "password", value: { password: "Correct-horse-7-battery" } }
  const made = Array.from({ length: 100 }, async (_, at) => {
    await createUserCall({ ...human({ passwordType }), username: `anna${at}` })
    done.push(`anna${at}`)
  })
  // The hash requests must be queued by then.
  await expect.poll(() => passwordLoad().own.waiting).toBeGreaterThan(25)
  const before = done.length
  await verifyPassword(own, "secret")
  expect(done.length - before).toBeLessThan(10)
  await Promise.all(made)
})

test("a chosen ID does not collide with a later generated one", async () => {
  const { id } = await createUserCall({ ...human(), userId: "400000000000000001" })
  // The clock and the counter reach an ID that a user has chosen.
  const ids = { next: () => id, newest: () => world.clock.now() }
  const other = human({ email: { email: "other@example.com" } })
  const twice = callOperation(shares, "createUser", world.cx({ ids }), {
    ...other,
    username: "other",
  })
  await expect(twice).rejects.toMatchObject({ code: "already_exists", id: "user.id_taken" })
  expect(findProfile(world.cx(), id)).toMatchObject({ userName: "anna", email: "anna@example.com" })
  expect(await createUserCall({ ...other, username: "other" })).toMatchObject({
    id: expect.any(String),
  })
})
