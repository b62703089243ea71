import { afterEach, beforeEach, expect, test } from "vitest"
import {
  hashPassword,
  passwordLoad,
  verifyPassword,
} from "../../../src/domain/credential/password.ts"
import { clientClaim } from "../../../src/domain/instance/index.ts"
import { addOwnUser } from "../../../src/domain/user/index.ts"
import { profile } from "../../../src/domain/user-lookup/query.ts"
import { isTemporary } from "../../../src/domain/user-lookup/temporary.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { temporaryEmail } from "../../../src/protocol/self-check/temporary-id.ts"
import { ask } from "../../support/ask.ts"
import { shares } from "../../support/user-modules.ts"
import type { World } from "../../support/world.ts"
import { openHousehold, human as person } from "./household.ts"

let world: World
beforeEach(async () => {
  world = await openHousehold()
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
const make = (request: object) => ask(shares, "createUser", world.cx(), request)
const types = async () => (await world.store.log.read(0, 100)).slice(6).map(({ type }) => type)

test("a user whose address is verified already is one event", async () => {
  const verification = { case: "isVerified", value: true }
  const { id, emailCode } = await make(human({ email: { email: "a@example.com", verification } }))
  expect(emailCode).toBeUndefined()
  expect(profile(world.cx(), id)).toMatchObject({ emailVerified: true })
  expect((await types()).filter((type) => type.startsWith("user."))).toEqual(["user.human.added"])
})

test("without a word about the address a code is sent, and not told to the caller", async () => {
  const { id, emailCode } = await make(human())
  expect(emailCode).toBeUndefined()
  expect(await types()).toContain("user.human.email.code.added")
  const state = world.store.state(world.cx(), user, id)
  expect(state).toMatchObject({ emailCode: { expires: world.clock.now() + 3_600_000 } })
})

test("a returned code is the one that is kept, sealed for this user and purpose", async () => {
  const verification = { case: "returnCode", value: {} }
  const email = { email: "a@example.com", verification }
  const phone = { phone: "+41791234567", verification }
  const { id, emailCode, phoneCode } = await make(human({ email, phone }))
  expect(emailCode).toMatch(/^[A-HJ-NP-Z2-9]{6}$/)
  const state = world.store.state(world.cx(), user, id)
  const kept = "kind" in state && state.kind === "human" ? state : undefined
  const open = (sealed = "", about = "") => world.secrets.open("seal", sealed, about)
  expect(open(kept?.emailCode?.sealed, `user/${id}/email_code`)).toBe(emailCode)
  expect(open(kept?.phoneCode?.sealed, `user/${id}/phone_code`)).toBe(phoneCode)
  expect(open(kept?.emailCode?.sealed, `user/${id}/phone_code`)).toBeUndefined()
  expect(JSON.stringify(await world.store.log.read(0, 100))).not.toContain(emailCode)
})

test("the link of a mail is a web address or refused", async () => {
  for (const urlTemplate of ["javascript:alert(1)", "https://a b", "//x"]) {
    const verification = { case: "sendCode", value: { urlTemplate } }
    const made = make(human({ email: { email: "a@example.com", verification } }))
    await expect(made, urlTemplate).rejects.toMatchObject({ id: "user.url_template_invalid" })
  }
})

test("an id may be chosen once", async () => {
  expect((await make({ ...human(), userId: "mine" })).id).toBe("mine")
  for (const userId of [".", "..", "a b", "x".repeat(201)]) {
    const wrong = make({ ...human(), userId })
    await expect(wrong, userId).rejects.toMatchObject({ id: "request.field_invalid" })
  }
  const again = make({ ...human(), userId: "mine", username: "other" })
  await expect(again).rejects.toMatchObject({ code: "already_exists", id: "user.id_taken" })
})

test("what a user is must be said", async () => {
  const { userType: _, ...rest } = human()
  await expect(make(rest)).rejects.toMatchObject({ id: "user.kind_missing" })
})

test.each([
  ["a link to a provider", { idpLinks: [{ idpId: "1" }] }, "not_found", "idp.missing"],
  ["a TOTP secret", { totpSecret: "A" }, "failed_precondition", "user.totp_unavailable"],
])("%s is refused rather than dropped", async (_, more, code, id) => {
  await expect(make(human(more))).rejects.toMatchObject({ code, id })
  expect((await types()).some((type) => type.startsWith("user."))).toBe(false)
})

test("a first password must follow the rules and works from then on", async () => {
  const password = (plain: string) => ({ case: "password", value: { password: plain } })
  const weak = make(human({ passwordType: password("password") }))
  await expect(weak).rejects.toMatchObject({ id: "user.password_too_simple" })
  const { id } = await make(human({ passwordType: password("Correct-Horse-7") }))
  const { checkPassword } = await import("../../../src/domain/credential/commands.ts")
  expect(await checkPassword(world.cx(), id, "Correct-Horse-7")).toBe("ok")
})

test("a service user is created with its token type", async () => {
  const value = { name: "Robot", description: "Builds", accessTokenType: 1 }
  const { id } = await make({ organizationId: "org1", userType: { case: "machine", value } })
  const answer = await ask(shares, "getUserByID", world.cx(), { userId: id })
  expect(answer.user).toMatchObject({
    username: id,
    type: { case: "machine", value: { ...value, hasSecret: false } },
  })
})

test("nobody gives an id that the server acts by", async () => {
  for (const userId of ["described", "described-2", "latchkey-doctor-1"]) {
    const machine = { case: "machine", value: { name: "R" } }
    for (const request of [human(), { ...human(), userType: machine }]) {
      await expect(make({ ...request, userId })).rejects.toMatchObject({ id: "user.id_kept" })
    }
  }
  expect(await make({ ...human(), userId: "described-by-anna" })).toMatchObject({
    id: "described-by-anna",
  })
})

test("an id that could be chosen once makes nobody the user of a self-check", async () => {
  const [own, earlier] = ["latchkey-doctor-1-a", "latchkey-doctor-1-b"]
  const cx = world.cx()
  await world.store.transact(cx, (tx) => {
    const email = { value: temporaryEmail(own), verified: true }
    addOwnUser(tx, own, person({ userName: own, email }))
    addOwnUser(tx, earlier, person({ userName: "bea" }))
  })
  expect([own, earlier].map((id) => isTemporary(cx, id))).toEqual([true, false])
  const holder = await world.store.transact(cx, (tx) => tx.holder(clientClaim, own))
  expect(holder.value).toBeUndefined()
})

test("who signs in waits for one password that an organisation gives, not for all", async () => {
  const own = await hashPassword("secret")
  const done: string[] = []
  const passwordType = { case: "password", value: { password: "Correct-horse-7-battery" } }
  const made = Array.from({ length: 100 }, async (_, at) => {
    await make({ ...human({ passwordType }), username: `anna${at}` })
    done.push(`anna${at}`)
  })
  // Those that are wanted must stand in line by then.
  await expect.poll(() => passwordLoad().own.waiting).toBeGreaterThan(25)
  const before = done.length
  await verifyPassword(own, "secret")
  expect(done.length - before).toBeLessThan(10)
  await Promise.all(made)
})

test("nobody who chose an id before it was made becomes somebody else by it", async () => {
  const { id } = await make({ ...human(), userId: "400000000000000001" })
  // The clock and the counter come to what somebody has chosen.
  const ids = { next: () => id, newest: () => world.clock.now() }
  const other = human({ email: { email: "other@example.com" } })
  const twice = ask(shares, "createUser", world.cx({ ids }), { ...other, username: "other" })
  await expect(twice).rejects.toMatchObject({ code: "already_exists", id: "user.id_taken" })
  expect(profile(world.cx(), id)).toMatchObject({ userName: "anna", email: "anna@example.com" })
  expect(await make({ ...other, username: "other" })).toMatchObject({ id: expect.any(String) })
})
