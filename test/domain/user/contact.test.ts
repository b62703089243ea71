import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { checkPassword } from "../../../src/domain/credential/commands.ts"
import { addMember } from "../../../src/domain/member/index.ts"
import { addUser, deactivateUser, removeUser } from "../../../src/domain/user/index.ts"
import { findProfile } from "../../../src/domain/user-lookup/query.ts"
import { humanInput, openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  await estate.step((tx) => {
    addUser(tx, "robot", { kind: "machine", orgId: "org1", name: "R", accessTokenType: "bearer" })
    const roles = ["ORG_USER_MANAGER"]
    addUser(tx, "helper", humanInput("helper", "org1"))
    addMember(tx, { userId: "helper", target: { level: "org", id: "org1" }, roles })
  })
})
afterEach(() => estate.close())

type CallerName = Parameters<Tenant["as"]>[0]

/** Turns an error thrown by the access rule into a rejection. */
const as = async (...call: Parameters<Tenant["as"]>) => estate.as(...call)

const userId = "nobody"
const returnCode = { verification: { case: "returnCode", value: {} } }
const markedVerified = { verification: { case: "isVerified", value: true } }
const ownContact = (of: "email" | "phone") => {
  const info = findProfile(estate.cx(), userId)
  return of === "email"
    ? { value: info?.email, verified: info?.emailVerified }
    : { value: info?.phone, verified: info?.phoneVerified }
}

const kinds = [
  {
    of: "email",
    set: "setEmail",
    resend: "resendEmailCode",
    verify: "verifyEmail",
    request: { userId, email: "new@example.com" },
    value: "new@example.com",
  },
  {
    of: "phone",
    set: "setPhone",
    resend: "resendPhoneCode",
    verify: "verifyPhone",
    request: { userId, phone: "+41 79 123 45 67" },
    value: "+41791234567",
  },
] as const

describe.each(kinds)("a user's $of", ({ of, set, resend, verify, request, value }) => {
  const their = (user: CallerName, name: string, more: object = {}) =>
    as(user, name, { userId, ...more })
  const setBy = (name: CallerName, more: object = {}) => their(name, set, { ...request, ...more })
  const tryCode = (verificationCode: string, name: CallerName = "manager") =>
    their(name, verify, { verificationCode })

  test("is verified by the returned code, once, in any case", async () => {
    const { verificationCode, details } = await setBy("manager", returnCode)
    expect(verificationCode).toMatch(/^[A-Z2-9]{6}$/)
    expect(details.resourceOwner).toBe("org1")
    expect(ownContact(of)).toEqual({ value, verified: false })
    await tryCode(` ${verificationCode.toLowerCase()} `)
    expect(ownContact(of)).toEqual({ value, verified: true })
    await expect(tryCode(verificationCode)).rejects.toMatchObject({ id: "user.code_wrong" })
  })

  test("gets an encrypted code for the message by default", async () => {
    expect((await setBy("manager")).verificationCode).toBeUndefined()
    const [event] = (await estate.store.log.read(0, 200)).slice(-2)
    expect(event).toMatchObject({ type: `user.human.${of}.code.added`, data: { returned: false } })
    const { sealed } = Object(event?.private)
    const plain = estate.secrets.open("seal", sealed, `user/${userId}/${of}_code`) ?? ""
    await tryCode(plain, "nobody")
    expect(ownContact(of)).toEqual({ value, verified: true })
  })

  test("keeps no trace of a used code", async () => {
    const { verificationCode } = await setBy("manager", returnCode)
    await tryCode(verificationCode)
    const codes = (await estate.store.log.read(0, 200)).filter(({ type }) =>
      type.endsWith("code.added"),
    )
    expect(codes).toMatchObject([{ private: null }])
  })

  test("can be marked as verified with the permission, but not by its own user", async () => {
    await setBy("manager", markedVerified)
    expect(ownContact(of)).toEqual({ value, verified: true })
    for (const how of [markedVerified, returnCode]) {
      const refusal = { code: "permission_denied", id: "user.verify_own" }
      await expect(setBy("nobody", how)).rejects.toMatchObject(refusal)
    }
    await setBy("nobody", { email: "self@example.com", phone: "+41790000000" })
    expect(ownContact(of).verified).toBe(false)
    const again = their("nobody", resend, returnCode)
    await expect(again).rejects.toMatchObject({ id: "user.verify_own" })
  })

  test("can't be marked as verified by a target that changes the request", async () => {
    const changed = (name: string, more: object) =>
      as("manager", name, { userId, ...more }, { cx: { authors: [userId] } })
    const refusal = { code: "permission_denied", id: "user.verify_own" }
    for (const how of [markedVerified, returnCode]) {
      await expect(changed(set, { ...request, ...how })).rejects.toMatchObject(refusal)
    }
    await setBy("manager")
    await expect(changed(resend, returnCode)).rejects.toMatchObject(refusal)
    expect(ownContact(of).verified).toBe(false)
  })

  test("has one valid code, the newest", async () => {
    const { verificationCode: first } = await setBy("manager", returnCode)
    const { verificationCode: second } = await their("manager", resend, returnCode)
    await expect(tryCode(first)).rejects.toMatchObject({ id: "user.code_wrong" })
    await tryCode(second)
    expect(ownContact(of).verified).toBe(true)
  })

  test("is not verified by a previous code", async () => {
    const { verificationCode } = await setBy("manager", returnCode)
    const other = { email: "other@example.com", phone: "+41790000001" }
    await setBy("manager", { ...other, verification: { case: "isVerified", value: false } })
    await expect(tryCode(verificationCode)).rejects.toMatchObject({ id: "user.code_wrong" })
    expect(ownContact(of).verified).toBe(false)
  })

  test.each([
    ["a millisecond before it", 3_599_999, true],
    ["at it", 3_600_000, false],
  ])("accepts its code until the hour is over: %s", async (_, passed, verified) => {
    const { verificationCode } = await setBy("manager", returnCode)
    estate.clock.advance(passed)
    const outcome = await tryCode(verificationCode).then(
      () => true,
      (fault) => fault.id,
    )
    expect(outcome).toBe(verified || "user.code_wrong")
    expect(ownContact(of).verified).toBe(verified)
  })

  test("accepts ten wrong codes an hour, even concurrent ones and with new codes", async () => {
    await setBy("manager", returnCode)
    const tries = Array.from({ length: 14 }, () => tryCode("AAAAAA").catch((fault) => fault.id))
    const outcomes = await Promise.all(tries)
    expect(new Set(outcomes)).not.toContain(undefined)
    const wrong = async (): Promise<string> => {
      const id = await tryCode("AAAAAA").catch((fault) => fault.id)
      return id === "user.too_many_codes" ? id : wrong()
    }
    await wrong()
    const failed = (await estate.store.log.read(0, 300)).filter(({ type }) =>
      type.endsWith("verification.failed"),
    )
    expect(failed).toHaveLength(10)
    const { verificationCode } = await their("manager", resend, returnCode)
    const right = tryCode(verificationCode)
    await expect(right).rejects.toMatchObject({
      code: "resource_exhausted",
      retryAfterSeconds: 3600,
    })
    estate.clock.advance(3_600_000)
    const { verificationCode: later } = await their("manager", resend, returnCode)
    await tryCode(later)
    expect(ownContact(of).verified).toBe(true)
  })

  test("receives at most ten messages an hour, whatever requests them", async () => {
    const numbers = Array.from({ length: 5 }, (_, at) => at)
    for (const at of numbers) {
      await setBy("nobody", { email: `n${at}@example.com`, phone: `+4179000000${at}` })
      await their("nobody", resend)
    }
    const more = [their("nobody", resend), setBy("nobody", { email: "x@example.com" })]
    for (const each of more) {
      await expect(each).rejects.toMatchObject({ code: "resource_exhausted" })
    }
    expect(ownContact(of).value).not.toBe(value)
  })

  test("needs no code if it is verified", async () => {
    await setBy("manager", markedVerified)
    const again = await setBy("manager", returnCode)
    expect(again.verificationCode).toBeUndefined()
    const refusal = { code: "failed_precondition", id: `user.${of}_verified` }
    await expect(their("manager", resend)).rejects.toMatchObject(refusal)
  })

  test("can't be changed, requested, or verified by strangers", async () => {
    const { verificationCode } = await setBy("manager", returnCode)
    const before = ownContact(of)
    for (const attempt of [
      () => setBy("stranger"),
      () => their("stranger", resend),
      () => tryCode(verificationCode, "stranger"),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: "not_found", id: "user.missing" })
    }
    expect(ownContact(of)).toEqual(before)
  })

  test("is no matter of a service account, nor of one who was removed", async () => {
    const robot = as("manager", set, { ...request, userId: "robot" })
    await expect(robot).rejects.toMatchObject({ code: "failed_precondition" })
    for (const name of [resend, verify]) {
      const asked = their("manager", name, { userId: "robot", verificationCode: "A" })
      await expect(asked).rejects.toMatchObject({ id: "user.not_human" })
    }
    await removeUser(estate.cx(), userId)
    await expect(setBy("owner")).rejects.toMatchObject({ code: "not_found" })
    await expect(tryCode("A", "owner")).rejects.toMatchObject({ code: "not_found" })
  })
})

test("a phone number is removed with its code, repeatedly", async () => {
  const { verificationCode } = await as("manager", "setPhone", {
    userId,
    phone: "+41791234567",
    ...returnCode,
  })
  await as("nobody", "removePhone", { userId })
  await as("manager", "removePhone", { userId })
  expect(ownContact("phone").value).toBe("")
  const tried = as("manager", "verifyPhone", { userId, verificationCode })
  await expect(tried).rejects.toMatchObject({ id: "user.code_wrong" })
  const resent = as("nobody", "resendPhoneCode", { userId })
  await expect(resent).rejects.toMatchObject({ id: "user.phone_missing" })
})

test("the first code of an address can be sent, too", async () => {
  const email = { email: "quiet@example.com", verification: { case: "isVerified", value: false } }
  await as("manager", "updateHumanUser", { userId, email })
  const { verificationCode } = await as("manager", "sendEmailCode", {
    userId,
    ...returnCode,
  })
  await as("nobody", "verifyEmail", { userId, verificationCode })
  expect(ownContact("email")).toEqual({ value: "quiet@example.com", verified: true })
})

describe("a less privileged caller can't change a more privileged user:", () => {
  const email = { email: "mine@example.com" }
  const phone = { phone: "+41791234567" }
  const human = (value: object) => ({ userType: { case: "human", value } })
  test.each<[string, object]>([
    ["setEmail", email],
    ["setPhone", phone],
    ["removePhone", {}],
    ["resendEmailCode", returnCode],
    ["sendEmailCode", returnCode],
    ["resendPhoneCode", returnCode],
    ["updateUser", human({ profile: { nickName: "Boss" } })],
    ["updateUser", { username: "mine" }],
    ["updateUser", human({ email })],
    ["updateUser", human({ phone })],
    ["updateHumanUser", { username: "mine" }],
    ["updateHumanUser", { email }],
    ["updateHumanUser", { phone }],
    ["setPassword", { newPassword: { password: "Correct-horse-8-battery" } }],
    ["lockUser", {}],
    ["deactivateUser", {}],
    ["deleteUser", {}],
  ])("%s %j", async (name, request) => {
    const id = name === "setPassword" ? "access.denied" : "user.outranks_you"
    const before = await as("owner", "getUserByID", { userId: "owner" })
    for (const target of ["owner", "manager"]) {
      const tried = callAsHelper(name, { userId: target, ...request })
      await expect(tried).rejects.toMatchObject({ code: "permission_denied", id })
    }
    expect(await as("owner", "getUserByID", { userId: "owner" })).toEqual(before)
    expect(await as("manager", "getUserByID", { userId: "manager" })).toBeTruthy()
  })

  test("a caller can help users with the same permissions", async () => {
    const profileOnly = human({ profile: { nickName: "Boss" } })
    await callAsHelper("updateUser", { userId, ...profileOnly })
    await callAsHelper("setEmail", { userId, ...email })
    await callAsHelper("lockUser", { userId })
  })
})

/** Calls as a user who can change users but not their passwords. */
const callAsHelper = (name: string, request: object) =>
  as("helper" as CallerName, name, request, {
    cx: { caller: { kind: "user", userId: "helper", orgId: "org1", clientId: "c" } },
  })

describe.each<[string, (plain: string) => object]>([
  ["setPassword", (password) => ({ newPassword: { password } })],
  ["updateUser", (password) => ({ userType: { case: "human", value: passwordOf(password) } })],
  ["updateHumanUser", (password) => passwordOf(password)],
])("a password change by %s", (name, request) => {
  const set = { userId, ...request("Correct-horse-8-battery") }
  const isSet = async () => await checkPassword(estate.cx(), userId, "Correct-horse-8-battery")

  test.each<CallerName>(["owner", "manager"])(
    "needs no current password from the %s",
    async (user) => {
      await as(user, name, set)
      expect(await isSet()).toBe("ok")
    },
  )

  test("requires its permission", async () => {
    const id = name === "setPassword" ? "access.denied" : "user.current_password_missing"
    await expect(callAsHelper(name, set)).rejects.toMatchObject({ id })
    await expect(as("stranger", name, set)).rejects.toMatchObject({ code: "not_found" })
    expect(await isSet()).toBe("none")
  })
})

const passwordOf = (password: string) => ({
  password: { passwordType: { case: "password", value: { password } } },
})

describe("a user is created by the legacy operation", () => {
  const added = (request: object = {}, name: CallerName = "manager") =>
    as(name, "addHumanUser", {
      userId: "new",
      username: "newcomer",
      organization: { org: { case: "orgId", value: "org1" } },
      profile: { givenName: "New", familyName: "Comer" },
      email: { email: "new@example.com", ...returnCode },
      phone: { phone: "+41791234567" },
      metadata: [{ key: "k", value: Buffer.from("v") }],
      ...request,
    })

  test("in the given organization, immediately active", async () => {
    const { userId: id, details, emailCode, phoneCode } = await added()
    expect([id, details.resourceOwner, phoneCode]).toEqual(["new", "org1", undefined])
    const { user } = await as("manager", "getUserByID", { userId: "new" })
    expect(user).toMatchObject({ state: 1, username: "newcomer" })
    const { metadata } = await as("manager", "listUserMetadata", { userId: "new" })
    expect(metadata).toMatchObject([{ key: "k" }])
    await as("manager", "verifyEmail", { userId: "new", verificationCode: emailCode })
  })

  test("in the caller's organization by default", async () => {
    for (const [who, organization, home] of [
      ["manager", undefined, "org1"],
      ["stranger", { org: { case: undefined } }, "org2"],
    ] as const) {
      const userId = `new-${who}`
      const { details } = await added({ userId, username: userId, organization }, who)
      expect(details.resourceOwner).toBe(home)
    }
    const unpermitted = added({ organization: undefined }, "nobody")
    await expect(unpermitted).rejects.toMatchObject({ code: "permission_denied" })
  })

  test("in an organization named by its primary domain, in any case", async () => {
    const domain = (value: string) => ({ organization: { org: { case: "orgDomain", value } } })
    const { details } = await added(domain("ACME.id.example.com"))
    expect(details.resourceOwner).toBe("org1")
    const foreign = added({ userId: "two", ...domain("globex.id.example.com") })
    const absent = added({ userId: "two", ...domain("nowhere.example.com") })
    for (const each of [foreign, absent]) {
      await expect(each).rejects.toMatchObject({ code: "not_found", id: "org.missing" })
    }
  })

  test.each<[string, object, string]>([
    [
      "an organization without an id",
      { organization: { org: { case: "orgId", value: "" } } },
      "request.resource_missing",
    ],
    ["no profile", { profile: undefined }, "user.profile_missing"],
    ["no address", { email: undefined }, "user.email_missing"],
    ["links to providers", { idpLinks: [{ idpId: "1" }] }, "idp.missing"],
    ["a TOTP secret", { totpSecret: "ABC" }, "user.totp_unavailable"],
  ])("but not with %s", async (_, request, id) => {
    await expect(added(request)).rejects.toMatchObject({ id })
  })

  test("by no other caller", async () => {
    await expect(added({}, "nobody")).rejects.toMatchObject({ code: "permission_denied" })
    await expect(added({}, "stranger")).rejects.toMatchObject({ code: "not_found" })
  })
})

test("a user is changed by the legacy operation", async () => {
  const { details } = await as("manager", "updateHumanUser", {
    userId,
    username: "renamed",
    profile: { givenName: "Any", familyName: "Body", nickName: "A" },
  })
  const { user } = await as("manager", "getUserByID", { userId })
  expect(user).toMatchObject({
    username: "renamed",
    type: { value: { profile: { givenName: "Any", nickName: "A", displayName: "Any Body" } } },
  })
  const same = await as("manager", "updateHumanUser", { userId, username: "renamed" })
  expect(same.details.sequence).toBe(details.sequence)
  const robot = as("manager", "updateHumanUser", {
    userId: "robot",
    profile: { givenName: "A", familyName: "B" },
  })
  await expect(robot).rejects.toMatchObject({ id: "user.wrong_kind" })
  await deactivateUser(estate.cx(), userId)
  const foreign = as("stranger", "updateHumanUser", { userId, username: "theirs" })
  await expect(foreign).rejects.toMatchObject({ code: "not_found" })
})
