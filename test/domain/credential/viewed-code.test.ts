// What a code proves after another user has viewed it in its message.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { messageReactor } from "../../../src/domain/message/reactor.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { findProfileFor } from "../../../src/domain/user-lookup/query.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { type Reactors, runReactors } from "../../../src/store/index.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
let reactors: Reactors
beforeEach(async () => {
  estate = await openTenant()
  const call = (instance: string) => ({ ...estate.cx({ instance }), outside: unreachableOutside })
  reactors = runReactors(estate.store, estate.clock, [messageReactor(call)])
  await reactors.drain()
})
afterEach(async () => {
  await reactors.stop()
  await estate.close()
})

const email = "boss@corp.test"
const password = "Correct-Horse-7"
const sendCode = { verification: { case: "sendCode", value: {} } }
const isVerified = { verification: { case: "isVerified", value: true } }

const act = (user: TenantUser, name: string, request: object): Promise<any> =>
  estate.as(user, name, request)

const byUser = (userId: string, name: string, request: object): Promise<any> =>
  estate.as("nobody", name, { userId, ...request }, { cx: callerOf(userId) })
const callerOf = (userId: string) =>
  ({ caller: { kind: "user", userId, orgId: "any", clientId: "console" } }) as const

/** Creates a user of the second organization, whose administrator is `stranger`. */
async function create(more: object = {}, organizationId = "org2"): Promise<string> {
  const profile = { givenName: "B", familyName: "Oss" }
  const value = { profile, email: { email, verification: isVerified.verification }, ...more }
  const username = `boss-${organizationId}`
  const who = organizationId === "org2" ? "stranger" : "manager"
  const created = await act(who, "createUser", {
    organizationId,
    username,
    userType: { case: "human", value },
  })
  return created.id
}

/** The code last sent to a user's email address, as the user reads it. */
function sentCode(userId: string): string {
  const state = estate.store.state(estate.cx(), user, userId)
  const { sealed } = Object("emailCode" in state ? state.emailCode : null)
  return estate.secrets.open("seal", sealed, `user/${userId}/email_code`) ?? ""
}

/** The code in the newest message to a user, as another user views it. */
async function viewCode(user: TenantUser, userId: string): Promise<string> {
  await reactors.drain()
  const [{ id: messageId }] = (await act("owner", "listMessages", { userId })).messages
  const { text } = await act(user, "viewMessage", { userId, messageId })
  const [, code = ""] = /\b([A-Z0-9]{6,8})\b/.exec(text) ?? []
  expect(code).not.toBe("")
  return code
}

const profilesOf = (userId: string) => {
  const at = (orgId: string) => findProfileFor(estate.cx(), userId, [orgId])
  return {
    home: { email: at("org2")?.emailVerified, phone: at("org2")?.phoneVerified },
    elsewhere: { email: at("org1")?.emailVerified, phone: at("org1")?.phoneVerified },
  }
}

describe.each([
  ["stranger", false],
  ["owner", true],
] as const)("a code that %s viewed verifies an address everywhere: %s", (user, is) => {
  test("of an email address", async () => {
    const userId = await create({ email: { email, ...sendCode } })
    const verificationCode = await viewCode(user, userId)
    await byUser(userId, "verifyEmail", { verificationCode })
    expect(profilesOf(userId)).toMatchObject({ home: { email: true }, elsewhere: { email: is } })
  })

  test("of a phone number", async () => {
    const userId = await create({ phone: { phone: "+41791234567", ...sendCode } })
    const verificationCode = await viewCode(user, userId)
    await byUser(userId, "verifyPhone", { verificationCode })
    expect(profilesOf(userId)).toMatchObject({ home: { phone: true }, elsewhere: { phone: is } })
  })

  test("of an invitation", async () => {
    const userId = await create({ email: { email, ...sendCode } })
    estate.clock.advance(1000)
    await act("stranger", "createInviteCode", { userId, ...sendCode })
    const verificationCode = await viewCode(user, userId)
    await act("stranger", "verifyInviteCode", { userId, verificationCode })
    expect(profilesOf(userId)).toMatchObject({ home: { email: true }, elsewhere: { email: is } })
  })
})

test("a password reset that anyone else viewed verifies no address", async () => {
  for (const who of ["stranger", "owner"] as const) {
    const userId = await create()
    await act("stranger", "passwordReset", { userId, medium: { case: "sendLink", value: {} } })
    const value = await viewCode(who, userId)
    await act("stranger", "setPassword", {
      userId,
      newPassword: { password },
      verification: { case: "verificationCode", value },
    })
    expect(profilesOf(userId)).toMatchObject({ home: { email: true }, elsewhere: { email: false } })
    await act("stranger", "deleteUser", { userId })
  }
})

test("viewing a code does not unverify a user's address", async () => {
  const proven = await create({ email: { email, ...sendCode } }, "org1")
  await byUser(proven, "verifyEmail", { verificationCode: sentCode(proven) })
  expect(findByLoginName(estate.cx(), email)).toBe(proven)
  estate.clock.advance(1000)
  const userId = await create({ email: { email, ...sendCode } })
  const verificationCode = await viewCode("stranger", userId)
  await act("stranger", "verifyEmail", { userId, verificationCode })
  expect(findByLoginName(estate.cx(), email)).toBe(proven)
  expect(profilesOf(proven).home.email).toBe(true)
})

test("the lowest trust applies if several users viewed a code", async () => {
  for (const viewers of [
    ["stranger", "owner"],
    ["owner", "stranger"],
  ] as const) {
    const userId = await create({ email: { email, ...sendCode } })
    let verificationCode = ""
    for (const who of viewers) verificationCode = await viewCode(who, userId)
    await byUser(userId, "verifyEmail", { verificationCode })
    expect(profilesOf(userId).elsewhere.email).toBe(false)
    await act("stranger", "deleteUser", { userId })
  }
})

test("a new code proves the address again", async () => {
  const userId = await create({ email: { email, ...sendCode } })
  await viewCode("stranger", userId)
  estate.clock.advance(1000)
  await act("stranger", "resendEmailCode", { userId, ...sendCode })
  await byUser(userId, "verifyEmail", { verificationCode: sentCode(userId) })
  expect(profilesOf(userId).elsewhere.email).toBe(true)
})
