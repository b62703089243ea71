import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { checkCode } from "../../../src/domain/credential/code-check.ts"
import { setPassword } from "../../../src/domain/credential/commands.ts"
import { deactivateOrganization } from "../../../src/domain/org/index.ts"
import { acceptInvite } from "../../../src/domain/registration/invite.ts"
import { addUser, deactivateUser, lockUser, removeUser } from "../../../src/domain/user/index.ts"
import { profile } from "../../../src/domain/user-lookup/query.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import type { User } from "../../../src/domain/user-model/state.ts"
import type { Cx } from "../../../src/store/index.ts"
import type { LogEvent } from "../../../src/store/log/log.ts"
import { type Estate, openEstate, person } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
  await estate.step((tx) => {
    const email = { value: "ada@example.com", verified: false }
    addUser(tx, "ada", { ...person("ada", "org1"), email })
    addUser(tx, "robot", { kind: "machine", orgId: "org1", name: "R", accessTokenType: "bearer" })
  })
})
afterEach(() => estate.close())

/** A refusal by the access rule is a rejection like any other. */
const as = async (...call: Parameters<Estate["as"]>) => estate.as(...call)

const checkInvite = (cx: Cx, id: string, given: string) =>
  checkCode(cx, id, { of: "invite", given })

const userId = "ada"
const threeDays = 72 * 3_600_000
const returnCode = { verification: { case: "returnCode", value: {} } }
const sendCode = (value: object = {}) => ({ verification: { case: "sendCode", value } })

const create = (more: object = returnCode, who: Parameters<Estate["as"]>[0] = "manager") =>
  as(who, "createInviteCode", { userId, ...more })
const verify = (verificationCode: string, more: object = {}) =>
  as("manager", "verifyInviteCode", { userId, verificationCode, ...more })
const invited = async (): Promise<string> => (await create()).inviteCode

const password = { hash: "hash-of-hers", changeRequired: false }
const accept = (code: string, id = userId) =>
  estate.step((tx) => acceptInvite(tx, id, { code, password }))

const isVerified = () => profile(estate.cx(), userId)?.emailVerified
const events = async () => (await estate.store.log.read(0, 500)).filter(({ id }) => id === userId)
const lastSent = async () =>
  (await events()).findLast(({ type }) => type === "user.human.invite.code.added")
const failures = async () =>
  (await estate.store.log.read(0, 500)).filter(({ type }) => type.endsWith("invite.check.failed"))

/** The state after one more event, as a start that folds anew makes it. */
const fold = (state: User, event: LogEvent): User => {
  const evolve: Readonly<Record<string, (state: User, event: never) => User>> = user.evolve
  return evolve[event.type]?.(state, event as never) ?? state
}

/** The code that a mail would carry. */
async function sentCode(): Promise<string> {
  const { sealed } = Object((await lastSent())?.private)
  return estate.secrets.open("seal", sealed, "user/ada/invite_code") ?? ""
}

/** Deactivates the person's organisation, which has to be another than the default one. */
async function closeHome(): Promise<void> {
  await as("owner", "setDefaultOrg", { orgId: "org2" })
  await deactivateOrganization(estate.cx(), "org1")
}

describe("an invitation", () => {
  test("is a code of six characters that is returned once, and kept sealed", async () => {
    const { inviteCode, details } = await create()
    expect(inviteCode).toMatch(/^[A-Z2-9]{6}$/)
    expect(details.resourceOwner).toBe("org1")
    const kept = await lastSent()
    expect(kept?.data).toMatchObject({ returned: true, urlTemplate: "" })
    expect(JSON.stringify(kept)).not.toContain(inviteCode)
    expect(await sentCode()).toBe(inviteCode)
  })

  test("takes the address for verified, once, and signs nobody in by itself", async () => {
    const code = await invited()
    await verify(` ${code.toLowerCase()} `)
    expect(isVerified()).toBe(true)
    await expect(verify(code)).rejects.toMatchObject({ id: "user.code_wrong" })
    expect((await events()).slice(-2).map(({ type }) => type)).toEqual([
      "user.human.invite.check.succeeded",
      "user.human.email.verified",
    ])
    expect((await lastSent())?.private).toBeNull()
  })

  test.each([
    ["without a word", {}],
    ["as asked", sendCode({ urlTemplate: "https://app.example/in?c={{.Code}}" })],
  ])("is kept for the mail that carries it, %s, and not returned", async (_, how) => {
    await as("owner", "addTrustedDomain", { instanceId: "", trustedDomain: "app.example" })
    expect(await create(how)).not.toHaveProperty("inviteCode")
    expect((await lastSent())?.data).toMatchObject({ returned: false })
    await verify(await sentCode())
    expect(isVerified()).toBe(true)
  })

  test.each([
    [{ urlTemplate: "javascript:alert(1)" }, "user.url_template_invalid"],
    [{ applicationName: "a\nb" }, "user.application_name_invalid"],
  ])("carries nothing that a mail could trip over: %j", async (value, id) => {
    await expect(create(sendCode(value))).rejects.toMatchObject({ code: "invalid_argument", id })
    expect(await lastSent()).toBeUndefined()
  })

  test("goes out again as it did before, with a new code", async () => {
    const mail = { urlTemplate: "https://app.example/in", applicationName: "Wiki" }
    await as("owner", "addTrustedDomain", { instanceId: "", trustedDomain: "app.example" })
    await create(sendCode(mail))
    const first = await sentCode()
    await as("manager", "resendInviteCode", { userId })
    expect((await lastSent())?.data).toMatchObject({ ...mail, returned: false })
    await expect(verify(first)).rejects.toMatchObject({ id: "user.code_wrong" })
    await verify(await sentCode())
  })

  test("goes out again also when its code is too old, and not where there is none", async () => {
    const again = () => as("manager", "resendInviteCode", { userId })
    const refusal = { code: "failed_precondition", id: "user.not_invited" }
    await expect(again()).rejects.toMatchObject(refusal)
    await create(sendCode())
    estate.clock.advance(threeDays)
    await again()
    await verify(await sentCode())
    await expect(again()).rejects.toMatchObject(refusal)
  })

  test("has one code that counts, the newest", async () => {
    const [first, second] = [await invited(), await invited()]
    await expect(verify(first)).rejects.toMatchObject({ id: "user.code_wrong" })
    await verify(second)
  })

  test.each([
    ["a millisecond before it", threeDays - 1, "ok"],
    ["at it", threeDays, "wrong"],
  ])("is good until three days are over: %s", async (_, passed, outcome) => {
    const code = await invited()
    estate.clock.advance(passed)
    expect(await checkInvite(estate.cx(), userId, code)).toBe(outcome)
  })

  test("is worth nothing once the address is another one", async () => {
    const code = await invited()
    await as("manager", "setEmail", { userId, email: "next@example.com" })
    await expect(verify(code)).rejects.toMatchObject({ id: "user.code_wrong" })
    expect(isVerified()).toBe(false)
  })

  test("is worth nothing once there is a password, and its code changes none", async () => {
    const code = await invited()
    await setPassword(estate.cx(), userId, { ...password, hash: "another" })
    expect(await checkInvite(estate.cx(), userId, code)).toBe("wrong")
    await expect(accept(code)).rejects.toMatchObject({ id: "user.can_sign_in" })
    await expect(verify(code)).rejects.toMatchObject({ code: "failed_precondition" })
  })

  test("of another user is none of this one's", async () => {
    const code = await invited()
    await as("manager", "createInviteCode", { userId: "nobody", ...returnCode })
    await expect(verify(code, { userId: "nobody" })).rejects.toMatchObject({
      id: "user.code_wrong",
    })
  })

  test("is made ten times an hour at most", async () => {
    for (let made = 0; made < 5; made++) {
      await create()
      await as("manager", "resendInviteCode", { userId })
    }
    for (const name of ["createInviteCode", "resendInviteCode"]) {
      const tooMany = as("manager", name, { userId })
      await expect(tooMany).rejects.toMatchObject({ code: "resource_exhausted" })
    }
    estate.clock.advance(3_600_000)
    await create()
  })

  test("is kept as its events say it, also after they are erased", async () => {
    const kept = () => JSON.stringify(estate.store.state(estate.cx(), user, userId))
    const folded = async () => JSON.stringify((await events()).reduce(fold, user.initial))
    const steps = [invited, invited, async () => accept(await sentCode())]
    for (const step of steps) {
      await step()
      expect(await folded()).toBe(kept())
    }
    expect(kept()).not.toContain("sealed")
  })

  test("leaves no trace of its code with who is removed", async () => {
    await invited()
    await removeUser(estate.cx(), userId)
    expect((await lastSent())?.private).toBeNull()
    await expect(create()).rejects.toMatchObject({ code: "not_found" })
  })
})

describe("nobody is invited", () => {
  test.each([
    ["who has a password", () => setPassword(estate.cx(), userId, password), "user.can_sign_in"],
    ["who is locked", () => lockUser(estate.cx(), userId), "user.locked"],
    ["who is deactivated", () => deactivateUser(estate.cx(), userId), "user.inactive"],
    ["whose organisation is deactivated", closeHome, "org.inactive"],
  ])("%s, nor comes in by an invitation of before", async (_, turn, id) => {
    const code = await invited()
    await turn()
    const before = (await events()).length
    const refusal = { code: "failed_precondition", id }
    const tries = [
      () => create(returnCode, "owner"),
      () => as("owner", "resendInviteCode", { userId }),
      () => as("owner", "verifyInviteCode", { userId, verificationCode: code }),
      () => accept(code),
    ]
    for (const attempt of tries) await expect(attempt()).rejects.toMatchObject(refusal)
    expect(await events()).toHaveLength(before)
    expect(isVerified()).toBe(false)
  })

  test("who is a program", async () => {
    const robot = create({ ...returnCode, userId: "robot" })
    await expect(robot).rejects.toMatchObject({ id: "user.not_human" })
  })

  test("by who may not write users, or is of another organisation", async () => {
    const code = await invited()
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

  test("by who may do less than they: the code would make them such a one", async () => {
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

describe("a code that anybody may show", () => {
  test("is looked at without being used up", async () => {
    const code = await invited()
    for (let looks = 0; looks < 20; looks++) {
      expect(await checkInvite(estate.cx(), userId, code)).toBe("ok")
    }
    await accept(code)
    expect(isVerified()).toBe(true)
    await expect(accept(code)).rejects.toMatchObject({ id: "user.can_sign_in" })
  })

  test("is taken once, also when it comes twice at the same moment", async () => {
    const code = await invited()
    const both = await Promise.allSettled([accept(code), accept(code)])
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"])
  })

  test.each(["ada", "404"])("is guessed ten times an hour at most, of %s", async (id) => {
    const code = await invited()
    const guess = (said: string) => checkInvite(estate.cx(), id, said).catch((fault) => fault.id)
    const guesses = await Promise.all(Array.from({ length: 14 }, () => guess("AAAAAA")))
    const sorted = guesses.sort()
    expect(sorted.slice(0, 4)).toEqual(Array(4).fill("user.too_many_codes"))
    expect(sorted.slice(4)).toEqual(Array(10).fill("wrong"))
    expect(await failures()).toHaveLength(10)
    expect(await guess(code)).toBe("user.too_many_codes")
    estate.clock.advance(3_600_000)
    expect(await guess(code)).toBe(id === userId ? "ok" : "wrong")
  })

  test("says nothing of who isn't there, was never invited, or is a program", async () => {
    const code = await invited()
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
  ])("tells who has it, and nobody else, that the account is %s", async (said, turn) => {
    const code = await invited()
    await turn()
    expect(await checkInvite(estate.cx(), userId, code)).toBe(said)
    expect(await checkInvite(estate.cx(), userId, "AAAAAA")).toBe("wrong")
  })

  test("counts in its own instance only, where ids repeat", async () => {
    const two = await openEstate(["i1", "i2"])
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
