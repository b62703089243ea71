import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { checkCode } from "../../../src/domain/credential/code-check.ts"
import { setPassword } from "../../../src/domain/credential/commands.ts"
import { askReset, resetPasswordFor } from "../../../src/domain/credential/reset.ts"
import { accountOf, signInVersion } from "../../../src/domain/user-lookup/query.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import type { Allowance } from "../../../src/kernel/limit.ts"
import { type Estate, openEstate } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
})
afterEach(() => estate.close())

/** A refusal by the access rule is a rejection like any other. */
const as = async (...call: Parameters<Estate["as"]>) => estate.as(...call)

const userId = "manager"
const plain = "Correct-horse-7-battery"
const hour = 3_600_000
const returnCode = { medium: { case: "returnCode", value: {} } }
const sendLink = (value: object = {}) => ({ medium: { case: "sendLink", value } })
const reset = (more: object = returnCode, who: Parameters<Estate["as"]>[0] = "owner") =>
  as(who, "passwordReset", { userId, ...more })
const made = async (): Promise<string> => (await reset()).verificationCode
const use = (value: string, password = plain) =>
  as("owner", "setPassword", {
    userId,
    newPassword: { password },
    verification: { case: "verificationCode", value },
  })
const state = (id = userId) => {
  const found = estate.store.state(estate.cx(), user, id)
  if (!("kind" in found) || found.kind !== "human") throw new Error("no person")
  return found
}
const wrong = { id: "user.code_wrong" }
const types = async (type: string) => (await estate.store.log.find(0, 500, [type])).events
const added = () => types("user.human.password.code.added")

describe("a code for a new password", () => {
  test("sets it once, and ends what hangs from the one before", async () => {
    const before = signInVersion(
      { state: (kind, id) => estate.store.state(estate.cx(), kind, id), owner: () => "org1" },
      userId,
    )
    const code = await made()
    expect(code).toMatch(/^[A-Z2-9]{6}$/)
    await use(code.toLowerCase())
    expect(state().password?.version).toBeGreaterThan(before ?? 0)
    await expect(use(code)).rejects.toMatchObject(wrong)
    expect(JSON.stringify(await added())).not.toContain("sealed")
  })

  test.each([
    ["after an hour", async () => estate.clock.advance(hour)],
    ["once there is a newer one", async () => void (await made())],
    [
      "once the password is another",
      () => as("owner", "setPassword", { userId, newPassword: { password: plain } }),
    ],
    ["once the address that it went to is another", changeEmail],
  ])("is worth nothing %s", async (_, happens) => {
    const code = await made()
    await happens()
    await expect(use(code, "Other-horse-8-battery")).rejects.toMatchObject(wrong)
  })

  async function changeEmail(): Promise<void> {
    const verification = { case: "isVerified", value: true }
    await as("owner", "setEmail", { userId, email: "m@example.org", verification })
  }

  test("stays good for another try where the new password is refused", async () => {
    const code = await made()
    await expect(use(code, "simple")).rejects.toMatchObject({ id: "user.password_too_simple" })
    await use(code)
  })

  test("is for the first of two who have shown it", async () => {
    const code = await made()
    const one = await resetPasswordFor(estate.cx(), userId, { code, plain })
    const other = await resetPasswordFor(estate.cx(), userId, { code, plain: `${plain}-2` })
    const both = await Promise.allSettled([
      setPassword(estate.cx(), userId, one),
      setPassword(estate.cx(), userId, other),
    ])
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"])
    expect(state().password?.hash).toBe(one.hash)
  })

  test("may be guessed ten times an hour, of whoever it is said to be", async () => {
    const code = await made()
    const guess = (id: string, given = "AAAAAA") =>
      checkCode(estate.cx(), id, { of: "password", given }).catch(({ id: said }) => said)
    for (const id of [userId, "nobody", "no-such"]) {
      for (let count = 0; count < 10; count++) expect(await guess(id)).toBe("wrong")
      expect(await guess(id)).toBe("user.too_many_codes")
    }
    expect(await guess(userId, code)).toBe("user.too_many_codes")
    estate.clock.advance(hour - 1)
    expect(await guess(userId, code)).toBe("user.too_many_codes")
  })

  test("that came by mail shows whose the address is; a returned one doesn't", async () => {
    const unverify = () =>
      as("owner", "setEmail", {
        userId,
        email: `${Math.random()}@example.org`,
        ...bySending,
      })
    const bySending = { verification: { case: "sendCode", value: {} } }
    await unverify()
    await use(await made())
    expect(state().email.verified).toBe(false)
    await reset(sendLink())
    const { sealed = "" } = state().passwordCode ?? {}
    await setPassword(estate.cx(), userId, { hash: "h", changeRequired: false, code: sealed })
    expect(state().email.verified).toBe(true)
  })

  test("that came by mail says nothing of an address that comes with the password", async () => {
    await reset(sendLink())
    const { sealed } = state().passwordCode ?? {}
    const code = estate.secrets.open("seal", sealed ?? "", `user/${userId}/password_code`)
    const password = {
      passwordType: { case: "password", value: { password: plain } },
      verification: { case: "verificationCode", value: code },
    }
    const email = { email: "new@example.org", verification: { case: "sendCode", value: {} } }
    const userType = { case: "human", value: { password, email } }
    await as("owner", "updateUser", { userId, userType })
    expect(state().email).toEqual({ address: "new@example.org", verified: false })
  })
})

describe("who may have one made", () => {
  test.each([
    ["a stranger", "stranger", returnCode, { code: "not_found" }],
    ["somebody without a role", "nobody", sendLink(), { code: "permission_denied" }],
    ["oneself, returned", "manager", returnCode, { id: "user.verify_own" }],
    [
      "oneself, with a link elsewhere",
      "manager",
      sendLink({ urlTemplate: "https://evil.example/{{.Code}}" }),
      undefined,
    ],
  ] as const)("%s", async (_, who, more, refusal) => {
    const asked = reset(more, who)
    if (refusal) await expect(asked).rejects.toMatchObject(refusal)
    else await asked
  })

  test("nobody has messages to themselves lead where nobody here knows", async () => {
    const own = (urlTemplate: string) =>
      as("nobody", "passwordReset", { userId: "nobody", ...sendLink({ urlTemplate }) })
    const mail = (urlTemplate: string) => {
      const verification = { case: "sendCode", value: { urlTemplate } }
      return as("nobody", "setEmail", { userId: "nobody", email: "x@example.org", verification })
    }
    const foreign = { id: "user.url_template_foreign" }
    for (const ask of [own, mail]) {
      for (const host of [
        "app.example.com",
        "id.example.com@evil.example",
        "id.example.com.evil.example",
        "id.example.com{{.LoginName}}",
      ]) {
        await expect(ask(`https://${host}/{{.Code}}`), host).rejects.toMatchObject(foreign)
      }
      await ask("https://ID.example.com/reset?code={{.Code}}")
      for (const other of ["javascript:alert(1)", "ftp://id.example.com/", "//id.example.com/"]) {
        await expect(ask(other)).rejects.toMatchObject({ id: "user.url_template_invalid" })
      }
    }
    const trusted = { instanceId: "", trustedDomain: "app.example.com" }
    await as("owner", "addTrustedDomain", trusted)
    await own("https://app.example.com/{{.Code}}")
  })

  test("nobody for whom it would be of no use", async () => {
    await as("owner", "lockUser", { userId })
    await expect(reset()).rejects.toMatchObject({ id: "user.locked" })
    await as("owner", "unlockUser", { userId })
    await as("owner", "deactivateUser", { userId })
    await expect(reset()).rejects.toMatchObject({ id: "user.inactive" })
    await as("owner", "reactivateUser", { userId })
    const bySms = sendLink({ notificationType: 2 })
    await expect(reset(bySms)).rejects.toMatchObject({ id: "user.phone_missing" })
  })

  test("nobody of who may do more", async () => {
    const asked = as("manager", "passwordReset", { userId: "owner", ...sendLink() })
    await expect(asked).rejects.toMatchObject({ code: "permission_denied" })
  })

  test("nobody more than ten times an hour", async () => {
    for (let count = 0; count < 10; count++) await made()
    await expect(reset()).rejects.toMatchObject({ id: "user.too_many_codes" })
    estate.clock.advance(hour)
    await made()
  })
})

describe("whoever has forgotten theirs", () => {
  const ask = (loginName: string) =>
    askReset(estate.cx(), { account: accountOf(estate.cx(), loginName) })
  const written = async () => (await added()).map(({ id }) => id)

  test("is sent one by any of their names, however spelled", async () => {
    await ask("Manager")
    expect(await written()).toEqual([userId])
  })

  test.each([
    ["of a name that is nobody's", "no-such", async () => {}],
    ["who has no password", "nobody", async () => {}],
    ["who is locked", "manager", () => as("owner", "lockUser", { userId })],
    ["who is switched off", "manager", () => as("owner", "deactivateUser", { userId })],
    [
      "whose organisation is",
      "stranger",
      () => as("owner", "deactivateOrganization", { organizationId: "org2" }),
    ],
    [
      "where the policy hides it",
      "manager",
      () =>
        as("owner", "updateLoginPolicy", { hidePasswordReset: true, allowUsernamePassword: true }),
    ],
    ["that is a service user", "robot", addRobot],
  ])("but nobody %s, and it is counted the same", async (_, name, first) => {
    await first()
    const before = (await types("user.human.password.code.requested")).length
    await ask(name)
    expect(await written()).toEqual([])
    expect(await types("user.human.password.code.requested")).toHaveLength(before + 1)
    for (let count = 1; count < 10; count++) await ask(name)
    await ask(name)
    expect(await types("user.human.password.code.requested")).toHaveLength(10)
  })

  async function addRobot(): Promise<void> {
    const userType = { case: "machine", value: { name: "Robot" } }
    await as("owner", "createUser", { organizationId: "org1", username: "robot", userType })
  }

  test("is sent one for all that they ask within a minute, then another", async () => {
    await ask("manager")
    estate.clock.advance(59_999)
    await ask("manager")
    expect(await written()).toHaveLength(1)
    estate.clock.advance(1)
    await ask("manager")
    expect(await written()).toHaveLength(2)
    await reset()
    await ask("manager")
    expect(await written()).toHaveLength(4)
  })

  test("spends of what an address may, and hears at the same pace", async () => {
    const spent: string[] = []
    const told: string[] = []
    const allowance: Allowance = {
      spend: (budget) => void spent.push(budget),
      refund: (budget) => void spent.push(`-${budget}`),
      source: () => undefined,
      pace: () => async () => void told.push("paced"),
    }
    const cx = estate.cx({ allowance })
    for (const name of ["manager", "no-such"]) await askReset(cx, { account: accountOf(cx, name) })
    expect(spent).toEqual(["message", "message"])
    expect(told).toEqual(["paced", "paced"])
  })
})
