import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { checkCode } from "../../../src/domain/credential/code-check.ts"
import { setPassword } from "../../../src/domain/credential/commands.ts"
import { deactivateOrganization } from "../../../src/domain/org/index.ts"
import { acceptInvite } from "../../../src/domain/registration/invite.ts"
import { addUser, deactivateUser, lockUser, removeUser } from "../../../src/domain/user/index.ts"
import { findProfile } from "../../../src/domain/user-lookup/query.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import type { User } from "../../../src/domain/user-model/state.ts"
import type { Cx } from "../../../src/store/index.ts"
import type { LogEvent } from "../../../src/store/log/log.ts"
import { humanInput, openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  await estate.step((tx) => {
    const email = { value: "ada@example.com", verified: false }
    addUser(tx, "ada", { ...humanInput("ada", "org1"), email })
    addUser(tx, "robot", { kind: "machine", orgId: "org1", name: "R", accessTokenType: "bearer" })
  })
})
afterEach(() => estate.close())

/** Turns an error thrown by the access rule into a rejection. */
const as = async (...call: Parameters<Tenant["as"]>) => estate.as(...call)

const checkInvite = (cx: Cx, id: string, text: string) =>
  checkCode(cx, id, { of: "invite", given: text })

const userId = "ada"
const threeDays = 72 * 3_600_000
const returnCode = { verification: { case: "returnCode", value: {} } }
const sendCode = (value: object = {}) => ({ verification: { case: "sendCode", value } })

const createInvite = (more: object = returnCode, user: Parameters<Tenant["as"]>[0] = "manager") =>
  as(user, "createInviteCode", { userId, ...more })
const verifyInvite = (verificationCode: string, more: object = {}) =>
  as("manager", "verifyInviteCode", { userId, verificationCode, ...more })
const inviteAndGetCode = async (): Promise<string> => (await createInvite()).inviteCode

const password = { hash: "hash-of-hers", changeRequired: false }
const accept = (code: string, id = userId) =>
  estate.step((tx) => acceptInvite(tx, id, { code, password }))

const isVerified = () => findProfile(estate.cx(), userId)?.emailVerified
const userEvents = async () =>
  (await estate.store.log.read(0, 500)).filter(({ id }) => id === userId)
const lastSent = async () =>
  (await userEvents()).findLast(({ type }) => type === "user.human.invite.code.added")
const failures = async () =>
  (await estate.store.log.read(0, 500)).filter(({ type }) => type.endsWith("invite.check.failed"))

/** The state after one more event, as a rebuild computes it. */
const fold = (state: User, event: LogEvent): User => {
  const evolve: Readonly<Record<string, (state: User, event: never) => User>> = user.evolve
  return evolve[event.type]?.(state, event as never) ?? state
}

/** The code that an email would contain. */
async function sentCode(): Promise<string> {
  const { sealed } = Object((await lastSent())?.private)
  return estate.secrets.open("seal", sealed, "user/ada/invite_code") ?? ""
}

/** Deactivates the user's organization, which must not be the default one. */
async function closeHome(): Promise<void> {
  await as("owner", "setDefaultOrg", { orgId: "org2" })
  await deactivateOrganization(estate.cx(), "org1")
}

describe("an invitation", () => {
  test("is a code of six characters that is returned once and stored encrypted", async () => {
    const { inviteCode, details } = await createInvite()
    expect(inviteCode).toMatch(/^[A-Z2-9]{6}$/)
    expect(details.resourceOwner).toBe("org1")
    const kept = await lastSent()
    expect(kept?.data).toMatchObject({ returned: true, urlTemplate: "" })
    expect(JSON.stringify(kept)).not.toContain(inviteCode)
    expect(await sentCode()).toBe(inviteCode)
  })

  test("verifies the address once, and does not sign the user in", async () => {
    const code = await inviteAndGetCode()
    await verifyInvite(` ${code.toLowerCase()} `)
    expect(isVerified()).toBe(true)
    await expect(verifyInvite(code)).rejects.toMatchObject({ id: "user.code_wrong" })
    expect((await userEvents()).slice(-2).map(({ type }) => type)).toEqual([
      "user.human.invite.check.succeeded",
      "user.human.email.verified",
    ])
    expect((await lastSent())?.private).toBeNull()
  })

  test.each([
    ["without a word", {}],
    ["as asked", sendCode({ urlTemplate: "https://app.example/in?c={{.Code}}" })],
  ])("is stored for the email, %s, and not returned", async (_, options) => {
    await as("owner", "addTrustedDomain", { instanceId: "", trustedDomain: "app.example" })
    expect(await createInvite(options)).not.toHaveProperty("inviteCode")
    expect((await lastSent())?.data).toMatchObject({ returned: false })
    await verifyInvite(await sentCode())
    expect(isVerified()).toBe(true)
  })

  test.each([
    [{ urlTemplate: "javascript:alert(1)" }, "user.url_template_invalid"],
    [{ applicationName: "a\nb" }, "user.application_name_invalid"],
  ])("contains no characters that could break an email: %j", async (value, id) => {
    await expect(createInvite(sendCode(value))).rejects.toMatchObject({
      code: "invalid_argument",
      id,
    })
    expect(await lastSent()).toBeUndefined()
  })

  test("is resent with the same settings and a new code", async () => {
    const mail = { urlTemplate: "https://app.example/in", applicationName: "Wiki" }
    await as("owner", "addTrustedDomain", { instanceId: "", trustedDomain: "app.example" })
    await createInvite(sendCode(mail))
    const first = await sentCode()
    await as("manager", "resendInviteCode", { userId })
    expect((await lastSent())?.data).toMatchObject({ ...mail, returned: false })
    await expect(verifyInvite(first)).rejects.toMatchObject({ id: "user.code_wrong" })
    await verifyInvite(await sentCode())
  })

  test("is resent even if its code has expired, but not if there is none", async () => {
    const again = () => as("manager", "resendInviteCode", { userId })
    const refusal = { code: "failed_precondition", id: "user.not_invited" }
    await expect(again()).rejects.toMatchObject(refusal)
    await createInvite(sendCode())
    estate.clock.advance(threeDays)
    await again()
    await verifyInvite(await sentCode())
    await expect(again()).rejects.toMatchObject(refusal)
  })

  test("has one valid code, the newest", async () => {
    const [first, second] = [await inviteAndGetCode(), await inviteAndGetCode()]
    await expect(verifyInvite(first)).rejects.toMatchObject({ id: "user.code_wrong" })
    await verifyInvite(second)
  })

  test.each([
    ["a millisecond before it", threeDays - 1, "ok"],
    ["at it", threeDays, "wrong"],
  ])("expires after three days: %s", async (_, passed, outcome) => {
    const code = await inviteAndGetCode()
    estate.clock.advance(passed)
    expect(await checkInvite(estate.cx(), userId, code)).toBe(outcome)
  })

  test("is invalid once the address changes", async () => {
    const code = await inviteAndGetCode()
    await as("manager", "setEmail", { userId, email: "next@example.com" })
    await expect(verifyInvite(code)).rejects.toMatchObject({ id: "user.code_wrong" })
    expect(isVerified()).toBe(false)
  })

  test("is invalid once there is a password, and its code changes none", async () => {
    const code = await inviteAndGetCode()
    await setPassword(estate.cx(), userId, { ...password, hash: "another" })
    expect(await checkInvite(estate.cx(), userId, code)).toBe("wrong")
    await expect(accept(code)).rejects.toMatchObject({ id: "user.can_sign_in" })
    await expect(verifyInvite(code)).rejects.toMatchObject({ code: "failed_precondition" })
  })

  test("is invalid for another user", async () => {
    const code = await inviteAndGetCode()
    await as("manager", "createInviteCode", { userId: "nobody", ...returnCode })
    await expect(verifyInvite(code, { userId: "nobody" })).rejects.toMatchObject({
      id: "user.code_wrong",
    })
  })

  test("is created at most ten times an hour", async () => {
    for (let made = 0; made < 5; made++) {
      await createInvite()
      await as("manager", "resendInviteCode", { userId })
    }
    for (const name of ["createInviteCode", "resendInviteCode"]) {
      const tooMany = as("manager", name, { userId })
      await expect(tooMany).rejects.toMatchObject({ code: "resource_exhausted" })
    }
    estate.clock.advance(3_600_000)
    await createInvite()
  })

  test("has the state of its events, even after they are erased", async () => {
    const kept = () => JSON.stringify(estate.store.state(estate.cx(), user, userId))
    const folded = async () => JSON.stringify((await userEvents()).reduce(fold, user.initial))
    const steps = [inviteAndGetCode, inviteAndGetCode, async () => accept(await sentCode())]
    for (const step of steps) {
      await step()
      expect(await folded()).toBe(kept())
    }
    expect(kept()).not.toContain("sealed")
  })

  test("leaves no code behind when the user is deleted", async () => {
    await inviteAndGetCode()
    await removeUser(estate.cx(), userId)
    expect((await lastSent())?.private).toBeNull()
    await expect(createInvite()).rejects.toMatchObject({ code: "not_found" })
  })
})

describe("rejects an invitation", () => {
  test.each([
    ["who has a password", () => setPassword(estate.cx(), userId, password), "user.can_sign_in"],
    ["who is locked", () => lockUser(estate.cx(), userId), "user.locked"],
    ["who is deactivated", () => deactivateUser(estate.cx(), userId), "user.inactive"],
    ["whose organization is deactivated", closeHome, "org.inactive"],
  ])("%s, and a previous invitation is invalid", async (_, round, id) => {
    const code = await inviteAndGetCode()
    await round()
    const before = (await userEvents()).length
    const refusal = { code: "failed_precondition", id }
    const tries = [
      () => createInvite(returnCode, "owner"),
      () => as("owner", "resendInviteCode", { userId }),
      () => as("owner", "verifyInviteCode", { userId, verificationCode: code }),
      () => accept(code),
    ]
    for (const attempt of tries) await expect(attempt()).rejects.toMatchObject(refusal)
    expect(await userEvents()).toHaveLength(before)
    expect(isVerified()).toBe(false)
  })

  test("for a service account", async () => {
    const robot = createInvite({ ...returnCode, userId: "robot" })
    await expect(robot).rejects.toMatchObject({ id: "user.not_human" })
  })

  test("by a caller who can't write users, or of another organization", async () => {
    const code = await inviteAndGetCode()
    const rest: readonly (readonly [string, object])[] = [
      ["createInviteCode", returnCode],
      ["resendInviteCode", {}],
      ["verifyInviteCode", { verificationCode: code }],
    ]
    for (const [name, more] of rest) {
      const denied = as("nobody", name, { userId, ...more })
      await expect(denied).rejects.toMatchObject({ code: "permission_denied" })
      const foreign = as("stranger", name, { userId, ...more })
      await expect(foreign).rejects.toMatchObject({ code: "not_found", id: "user.missing" })
    }
    expect(await checkInvite(estate.cx(), userId, code)).toBe("ok")
  })

  test("by a caller with fewer permissions, who could use the code to gain more", async () => {
    for (const [name, more] of [
      ["createInviteCode", returnCode],
      ["createInviteCode", sendCode()],
      ["resendInviteCode", {}],
    ] as const) {
      const tried = as("manager", name, { userId: "owner", ...more })
      await expect(tried).rejects.toMatchObject({ id: "user.outranks_you" })
    }
  })
})

describe("a code check by an anonymous caller", () => {
  test("does not use up the code", async () => {
    const code = await inviteAndGetCode()
    for (let looks = 0; looks < 20; looks++) {
      expect(await checkInvite(estate.cx(), userId, code)).toBe("ok")
    }
    await accept(code)
    expect(isVerified()).toBe(true)
    await expect(accept(code)).rejects.toMatchObject({ id: "user.can_sign_in" })
  })

  test("accepts the code once, even with concurrent requests", async () => {
    const code = await inviteAndGetCode()
    const both = await Promise.allSettled([accept(code), accept(code)])
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"])
  })

  test.each(["ada", "404"])("allows ten guesses an hour, for %s", async (id) => {
    const code = await inviteAndGetCode()
    const guess = (text: string) => checkInvite(estate.cx(), id, text).catch((fault) => fault.id)
    const guesses = await Promise.all(Array.from({ length: 14 }, () => guess("AAAAAA")))
    const sorted = guesses.sort()
    expect(sorted.slice(0, 4)).toEqual(Array(4).fill("user.too_many_codes"))
    expect(sorted.slice(4)).toEqual(Array(10).fill("wrong"))
    expect(await failures()).toHaveLength(10)
    expect(await guess(code)).toBe("user.too_many_codes")
    estate.clock.advance(3_600_000)
    expect(await guess(code)).toBe(id === userId ? "ok" : "wrong")
  })

  test("does not reveal whether a user exists, was invited, or is a service account", async () => {
    const code = await inviteAndGetCode()
    for (const id of ["404", "nobody", "robot", "", "x".repeat(201)]) {
      expect(await checkInvite(estate.cx(), id, code)).toBe("wrong")
    }
    await removeUser(estate.cx(), userId)
    expect(await checkInvite(estate.cx(), userId, code)).toBe("wrong")
  })

  test.each([
    ["locked", () => lockUser(estate.cx(), userId)],
    ["inactive", () => deactivateUser(estate.cx(), userId)],
    ["inactive", closeHome],
  ])("reports only with the right code that the account is %s", async (values, round) => {
    const code = await inviteAndGetCode()
    await round()
    expect(await checkInvite(estate.cx(), userId, code)).toBe(values)
    expect(await checkInvite(estate.cx(), userId, "AAAAAA")).toBe("wrong")
  })

  test("is valid on its own instance only, even with equal IDs", async () => {
    const two = await openTenant(["i1", "i2"])
    const invite = (instance: string) =>
      two.as(
        "manager",
        "createInviteCode",
        { userId: "nobody", ...returnCode },
        { cx: { instance } },
      )
    const { inviteCode } = await invite("i1")
    await invite("i2")
    expect(await checkInvite(two.cx({ instance: "i2" }), "nobody", inviteCode)).toBe("wrong")
    expect(await checkInvite(two.cx({ instance: "i1" }), "nobody", inviteCode)).toBe("ok")
    await two.close()
  })
})
