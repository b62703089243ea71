import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { checkCode } from "../../../src/domain/credential/code-check.ts"
import { setPassword } from "../../../src/domain/credential/commands.ts"
import { prepareResetPassword, requestPublicReset } from "../../../src/domain/credential/reset.ts"
import { accountOf, signInVersion } from "../../../src/domain/user-lookup/query.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import type { Allowance } from "../../../src/kernel/limit.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

/** Turns an error thrown by the access rule into a rejection. */
const as = async (...call: Parameters<Tenant["as"]>) => estate.as(...call)

const userId = "manager"
const newPassword = "Correct-horse-7-battery"
const hour = 3_600_000
const returnCode = { medium: { case: "returnCode", value: {} } }
const sendLink = (value: object = {}) => ({ medium: { case: "sendLink", value } })
const requestReset = (more: object = returnCode, user: Parameters<Tenant["as"]>[0] = "owner") =>
  as(user, "passwordReset", { userId, ...more })
const createCode = async (): Promise<string> => (await requestReset()).verificationCode
const useCode = (value: string, password = newPassword) =>
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
const wrongCode = { id: "user.code_wrong" }
const types = async (type: string) => (await estate.store.log.find(0, 500, [type])).events
const codeEvents = () => types("user.human.password.code.added")

describe("a code for a new password", () => {
  test("sets a password once and ends everything that depends on the old one", async () => {
    const before = signInVersion(
      { state: (kind, id) => estate.store.state(estate.cx(), kind, id), owner: () => "org1" },
      userId,
    )
    const code = await createCode()
    expect(code).toMatch(/^[A-Z2-9]{6}$/)
    await useCode(code.toLowerCase())
    expect(state().password?.version).toBeGreaterThan(before ?? 0)
    await expect(useCode(code)).rejects.toMatchObject(wrongCode)
    expect(JSON.stringify(await codeEvents())).not.toContain("sealed")
  })

  test.each([
    ["after an hour", async () => estate.clock.advance(hour)],
    ["once there is a newer one", async () => void (await createCode())],
    [
      "once the password is another",
      () => as("owner", "setPassword", { userId, newPassword: { password: newPassword } }),
    ],
    ["once the address that it went to is another", changeEmail],
  ])("is invalid %s", async (_, happens) => {
    const code = await createCode()
    await happens()
    await expect(useCode(code, "Other-horse-8-battery")).rejects.toMatchObject(wrongCode)
  })

  async function changeEmail(): Promise<void> {
    const verification = { case: "isVerified", value: true }
    await as("owner", "setEmail", { userId, email: "m@example.org", verification })
  }

  test("stays valid if the new password is rejected", async () => {
    const code = await createCode()
    await expect(useCode(code, "simple")).rejects.toMatchObject({ id: "user.password_too_simple" })
    await useCode(code)
  })

  test("is used by the first of two concurrent requests", async () => {
    const code = await createCode()
    const one = await prepareResetPassword(estate.cx(), userId, { code, plain: newPassword })
    const other = await prepareResetPassword(estate.cx(), userId, {
      code,
      plain: `${newPassword}-2`,
    })
    const both = await Promise.allSettled([
      setPassword(estate.cx(), userId, one),
      setPassword(estate.cx(), userId, other),
    ])
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"])
    expect(state().password?.hash).toBe(one.hash)
  })

  test("can be guessed ten times an hour, for whichever user", async () => {
    const code = await createCode()
    const guess = (id: string, input = "AAAAAA") =>
      checkCode(estate.cx(), id, { of: "password", given: input }).catch(({ id: said }) => said)
    for (const id of [userId, "nobody", "no-such"]) {
      for (let count = 0; count < 10; count++) expect(await guess(id)).toBe("wrong")
      expect(await guess(id)).toBe("user.too_many_codes")
    }
    expect(await guess(userId, code)).toBe("user.too_many_codes")
    estate.clock.advance(hour - 1)
    expect(await guess(userId, code)).toBe("user.too_many_codes")
  })

  test("proves the address if it came by mail; a returned one doesn't", async () => {
    const unverify = () =>
      as("owner", "setEmail", {
        userId,
        email: `${Math.random()}@example.org`,
        ...bySending,
      })
    const bySending = { verification: { case: "sendCode", value: {} } }
    await unverify()
    await useCode(await createCode())
    expect(state().email.verified).toBe(false)
    await requestReset(sendLink())
    const { sealed = "" } = state().passwordCode ?? {}
    await setPassword(estate.cx(), userId, { hash: "h", changeRequired: false, code: sealed })
    expect(state().email.verified).toBe(true)
  })

  test("does not prove an address that is set together with the password", async () => {
    await requestReset(sendLink())
    const { sealed } = state().passwordCode ?? {}
    const code = estate.secrets.open("seal", sealed ?? "", `user/${userId}/password_code`)
    const password = {
      passwordType: { case: "password", value: { password: newPassword } },
      verification: { case: "verificationCode", value: code },
    }
    const email = { email: "new@example.org", verification: { case: "sendCode", value: {} } }
    const userType = { case: "human", value: { password, email } }
    await as("owner", "updateUser", { userId, userType })
    expect(state().email).toEqual({ address: "new@example.org", verified: false })
  })
})

describe("permission to request one", () => {
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
  ] as const)("%s", async (_, user, more, refusal) => {
    const asked = requestReset(more, user)
    if (refusal) await expect(asked).rejects.toMatchObject(refusal)
    else await asked
  })

  test("rejects links to unknown domains in messages to the caller", async () => {
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

  test("rejects users who could not use it", async () => {
    await as("owner", "lockUser", { userId })
    await expect(requestReset()).rejects.toMatchObject({ id: "user.locked" })
    await as("owner", "unlockUser", { userId })
    await as("owner", "deactivateUser", { userId })
    await expect(requestReset()).rejects.toMatchObject({ id: "user.inactive" })
    await as("owner", "reactivateUser", { userId })
    const bySms = sendLink({ notificationType: 2 })
    await expect(requestReset(bySms)).rejects.toMatchObject({ id: "user.phone_missing" })
  })

  test("rejects users with more permissions than the caller", async () => {
    const asked = as("manager", "passwordReset", { userId: "owner", ...sendLink() })
    await expect(asked).rejects.toMatchObject({ code: "permission_denied" })
  })

  test("rejects more than ten requests an hour", async () => {
    for (let count = 0; count < 10; count++) await createCode()
    await expect(requestReset()).rejects.toMatchObject({ id: "user.too_many_codes" })
    estate.clock.advance(hour)
    await createCode()
  })
})

describe("a user who forgot the password", () => {
  const ask = (loginName: string) =>
    requestPublicReset(estate.cx(), { account: accountOf(estate.cx(), loginName) })
  const written = async () => (await codeEvents()).map(({ id }) => id)

  test("receives a code by any login name, in any case", async () => {
    await ask("Manager")
    expect(await written()).toEqual([userId])
  })

  test.each([
    ["of a name that is nobody's", "no-such", async () => {}],
    ["who has no password", "nobody", async () => {}],
    ["who is locked", "manager", () => as("owner", "lockUser", { userId })],
    ["who is switched off", "manager", () => as("owner", "deactivateUser", { userId })],
    [
      "whose organization is",
      "stranger",
      () => as("owner", "deactivateOrganization", { organizationId: "org2" }),
    ],
    [
      "where the policy hides it",
      "manager",
      () =>
        as("owner", "updateLoginPolicy", { hidePasswordReset: true, allowUsernamePassword: true }),
    ],
    ["that is a service account", "robot", addRobot],
  ])("receives none if %s, and the request is counted the same", async (_, name, first) => {
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

  test("receives one code for all requests within a minute, then another", async () => {
    await ask("manager")
    estate.clock.advance(59_999)
    await ask("manager")
    expect(await written()).toHaveLength(1)
    estate.clock.advance(1)
    await ask("manager")
    expect(await written()).toHaveLength(2)
    await requestReset()
    await ask("manager")
    expect(await written()).toHaveLength(4)
  })

  test("uses the limit of the address, and the response takes the same time", async () => {
    const spent: string[] = []
    const told: string[] = []
    const allowance: Allowance = {
      spend: (budget) => void spent.push(budget),
      refund: (budget) => void spent.push(`-${budget}`),
      source: () => undefined,
      pace: () => async () => void told.push("paced"),
    }
    const cx = estate.cx({ allowance })
    for (const name of ["manager", "no-such"])
      await requestPublicReset(cx, { account: accountOf(cx, name) })
    expect(spent).toEqual(["message", "message"])
    expect(told).toEqual(["paced", "paced"])
  })
})
