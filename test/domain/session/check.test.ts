// Sessions as custom login pages create them.
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { TOTP } from "otpauth"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { createPassword, setPassword } from "../../../src/domain/credential/commands.ts"
import { addOtp } from "../../../src/domain/factor/otp.ts"
import { generateRecoveryCodes } from "../../../src/domain/factor/recovery-code.ts"
import { registerTotp, removeTotp, verifyTotp } from "../../../src/domain/factor/totp.ts"
import { attemptsOf } from "../../../src/domain/lockout/attempt.ts"
import { deactivateOrganization } from "../../../src/domain/org/commands.ts"
import { addPolicy, changePolicy } from "../../../src/domain/policy/commands.ts"
import { lockout, login } from "../../../src/domain/policy/index.ts"
import { findSession, lifetimes } from "../../../src/domain/session/index.ts"
import { deactivateUser, lockUser } from "../../../src/domain/user/index.ts"
import { accountOf } from "../../../src/domain/user-lookup/query.ts"
import { createLimits } from "../../../src/kernel/limit.ts"
import { browserOf, openProvider, type Provider, password } from "../../oauth/provider.ts"
import {
  addLoginPageCaller,
  addServiceCaller,
  type CallAs,
  callAs,
} from "../../support/operation-caller.ts"
import { driveClock } from "../../support/wait.ts"

const wrongPassword = "Wrong-Horse-8"

let provider: Provider
let callAsPage: CallAs
let callAsOwner: CallAs
beforeAll(async () => {
  provider = await openProvider()
  callAsPage = await addLoginPageCaller(provider)
  const { orgId, ownerId: userId } = provider.setup
  callAsOwner = callAs(provider, { kind: "user", userId, orgId, clientId: "console" })
})
afterAll(() => provider.close())

let userCount = 0
let name: string
let id: string
beforeEach(async () => {
  name = `sue-${++userCount}`
  id = await provider.addPerson(name)
})

const byName = (loginName = name) => ({ user: { search: { case: "loginName", value: loginName } } })
const byId = (value = id) => ({ user: { search: { case: "userId", value } } })
const createSession = (checks: object, more: object = {}) =>
  callAsPage("session.v2.SessionService/CreateSession", { checks, ...more })
const setSession = (sessionId: string, checks: object, more: object = {}) =>
  callAsPage("session.v2.SessionService/SetSession", { sessionId, checks, ...more })
const getSession = async (sessionId: string, by = callAsPage, sessionToken?: string) => {
  const request = { sessionId, ...(sessionToken !== undefined && { sessionToken }) }
  return (await by("session.v2.SessionService/GetSession", request)).session
}
const signIn = (plain = password) => createSession({ ...byName(), password: { password: plain } })
const isActive = (sessionId: string) => findSession(provider.cx(), sessionId) !== undefined

describe("a session of a login page", () => {
  test("contains the user and each verified factor with its time", async () => {
    const { sessionId } = await createSession(byName())
    expect(isActive(sessionId)).toBe(false)
    const first = await getSession(sessionId)
    expect(first.factors).toMatchObject({
      user: { id, displayName: "Pat Person", organizationId: provider.setup.orgId },
    })
    expect(first.factors.password).toBeUndefined()
    expect(timestampMs(first.expirationDate)).toBe(provider.clock.now() + lifetimes.unproven)
    provider.clock.advance(60_000)
    await setSession(sessionId, { password: { password } })
    const { factors, expirationDate } = await getSession(sessionId)
    expect(timestampMs(factors.user.verifiedAt)).toBe(provider.clock.now() - 60_000)
    expect(timestampMs(factors.password.verifiedAt)).toBe(provider.clock.now())
    expect(timestampMs(expirationDate)).toBe(provider.clock.now() + lifetimes.session)
    expect(isActive(sessionId)).toBe(true)
  })

  test("is created with all checks or not at all", async () => {
    const { sessionId, details } = await signIn()
    expect(isActive(sessionId)).toBe(true)
    expect(details.resourceOwner).toBe(provider.setup.orgId)
    await expect(signIn(wrongPassword)).rejects.toMatchObject({ id: "session.password_wrong" })
    const listed = await callAsOwner("session.v2.SessionService/ListSessions", {
      queries: [{ query: { case: "userIdQuery", value: { id } } }],
    })
    expect(listed.sessions.map((each: { id: string }) => each.id)).toEqual([sessionId])
  })

  test("can't change its user", async () => {
    const { sessionId } = await createSession(byId())
    const other = await provider.addPerson(`other-${name}`)
    await expect(setSession(sessionId, byId(other))).rejects.toMatchObject({
      id: "session.user_fixed",
    })
    await setSession(sessionId, byName())
    expect((await getSession(sessionId)).factors.user.id).toBe(id)
  })

  test("requires a user before other checks", async () => {
    const { sessionId } = await createSession({})
    expect((await getSession(sessionId)).factors).toEqual(expect.objectContaining({}))
    const tried = setSession(sessionId, { password: { password } })
    await expect(tried).rejects.toMatchObject({ id: "session.user_missing" })
    await setSession(sessionId, { ...byName(), password: { password } })
    expect(isActive(sessionId)).toBe(true)
  })

  test("rejects checks of identity provider intents", async () => {
    const idpIntent = { idpIntentId: "1", idpIntentToken: "t" }
    await expect(createSession({ idpIntent })).rejects.toMatchObject({ id: "idp.intent_over" })
  })

  test("stores metadata, and public data about the browser", async () => {
    const note = (text: string) => new TextEncoder().encode(text)
    const userAgent = {
      fingerprintId: "f-1",
      ip: "203.0.113.7",
      description: "Firefox on Linux",
      header: { "user-agent": { values: ["Firefox"] }, Cookie: { values: ["s=1"] } },
    }
    const begun = await createSession({}, { userAgent, metadata: { a: note("1"), b: note("2") } })
    await setSession(begun.sessionId, {}, { metadata: { b: note(""), c: note("3") } })
    const shown = await getSession(begun.sessionId)
    expect(Object.keys(shown.metadata)).toEqual(["a", "c"])
    expect(new TextDecoder().decode(shown.metadata.c)).toBe("3")
    expect(shown.userAgent).toMatchObject({ ip: "203.0.113.7", fingerprintId: "f-1" })
    expect(Object.keys(shown.userAgent.header)).toEqual(["user-agent"])
    const events = JSON.stringify(await provider.store.log.read(0, 10_000))
    expect(events).not.toContain("s=1")
    const many = Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`k${at}`, note("x")]))
    for (const more of [
      { metadata: many },
      { metadata: { k: note("x".repeat(16_384)) } },
      { userAgent: { ip: "elsewhere" } },
      { userAgent: { description: "x".repeat(9000) } },
      { lifetime: { seconds: 0n, nanos: 0 } },
      { lifetime: { seconds: 400n * 86_400n, nanos: 0 } },
    ]) {
      await expect(createSession({}, more)).rejects.toMatchObject({ id: "request.field_invalid" })
    }
  })

  test("expires at the given time, whatever is checked later", async () => {
    const lifetime = { seconds: 600n, nanos: 0 }
    const { sessionId } = await createSession({ ...byName(), password: { password } }, { lifetime })
    provider.clock.advance(300_000)
    await setSession(sessionId, { password: { password } })
    expect(isActive(sessionId)).toBe(true)
    provider.clock.advance(300_000)
    expect(isActive(sessionId)).toBe(false)
    const tried = setSession(sessionId, { password: { password } })
    await expect(tried).rejects.toMatchObject({ id: "session.over" })
  })

  test("survives a password change only if nothing was verified", async () => {
    const [named, proved] = [await createSession(byName()), await signIn()]
    const fresh = await createPassword("Other-Horse-9", { names: [] })
    await setPassword(provider.cx(), id, fresh)
    expect(isActive(proved.sessionId)).toBe(false)
    await setSession(named.sessionId, { password: { password: "Other-Horse-9" } })
    expect(isActive(named.sessionId)).toBe(true)
  })
})

describe("a token of a session", () => {
  test("gives access to the session, changes with each update, and is stored as a hash", async () => {
    const robot = await addServiceCaller(provider, { name: `robot-${name}`, roles: [] })
    const stranger = callAs(provider, robot)
    const { sessionId, sessionToken } = await signIn()
    await expect(getSession(sessionId, stranger)).rejects.toMatchObject({
      code: "permission_denied",
    })
    expect((await getSession(sessionId, stranger, sessionToken)).id).toBe(sessionId)
    const next = await setSession(sessionId, {})
    expect(next.sessionToken).not.toBe(sessionToken)
    for (const bad of [sessionToken, `${next.sessionToken}A`, next.sessionToken.slice(1), ""]) {
      await expect(getSession(sessionId, stranger, bad)).rejects.toMatchObject({
        code: "permission_denied",
      })
    }
    const other = await signIn()
    await expect(getSession(other.sessionId, stranger, next.sessionToken)).rejects.toThrow()
    const events = JSON.stringify(await provider.store.log.read(0, 10_000))
    for (const text of [sessionToken, next.sessionToken]) expect(events).not.toContain(text)
    const end = { sessionId, sessionToken: next.sessionToken }
    await stranger("session.v2.SessionService/DeleteSession", end)
    expect(isActive(sessionId)).toBe(false)
    await expect(getSession(sessionId, stranger, next.sessionToken)).rejects.toThrow()
  })

  test("gives no access to callers without their own token", async () => {
    const { sessionId, sessionToken } = await signIn()
    const nobody = callAs(provider, { kind: "anonymous" })
    await expect(getSession(sessionId, nobody, sessionToken)).rejects.toMatchObject({
      code: "unauthenticated",
    })
  })

  test("is invalid on another instance", async () => {
    const { sessionId, sessionToken } = await signIn()
    const tried = callAsPage(
      "session.v2.SessionService/GetSession",
      { sessionId, sessionToken },
      { instance: "i2" },
    )
    await expect(tried).rejects.toThrow()
  })
})

describe("a wrong password", () => {
  const tries = async (checks: object) => {
    const cause = await createSession({ ...checks, password: { password: wrongPassword } }).catch(
      (fault) => fault,
    )
    return [cause.code, cause.id, cause.message]
  }
  const failures = (loginName = name) =>
    attemptsOf(provider.cx(), accountOf(provider.cx(), loginName)).failures

  test("has the same response and limit for every user", async () => {
    const locked = await provider.addPerson(`locked-${name}`)
    await lockUser(provider.cx(), locked)
    const named = [name, `locked-${name}`, `nobody-${name}`]
    const all = await Promise.all(named.map((each) => tries(byName(each))))
    expect(new Set(all.map((each) => JSON.stringify(each))).size).toBe(1)
    expect(named.map(failures)).toEqual([1, 1, 1])
  })

  test("is checked even for an unknown name, unless the policy disables this", async () => {
    const { sessionId } = await createSession(byName(`Nobody-${name}`))
    const { user } = (await getSession(sessionId)).factors
    expect(user).toMatchObject({ id: "", loginName: `Nobody-${name}` })
    const tried = setSession(sessionId, { password: { password } })
    await expect(tried).rejects.toMatchObject({ id: "session.password_wrong" })
    const say = (ignoreUnknownUsernames: boolean) =>
      changePolicy(provider.cx(), undefined, {
        policy: login,
        apply: () => ({ ignoreUnknownUsernames }),
      })
    await say(false)
    await expect(createSession(byName(`nobody-${name}`))).rejects.toMatchObject({
      id: "user.missing",
    })
    await say(true)
  })

  test("locks by the same policy as on the login pages", async () => {
    const { orgId } = provider.setup
    const say = () => ({ maxPasswordAttempts: 3 })
    await addPolicy(provider.cx(), orgId, { policy: lockout, apply: say })
    for (let count = 0; count < 3; count++) await tries(byName())
    await expect(signIn()).rejects.toMatchObject({ id: "session.user_locked" })
    await callAsOwner("user.v2.UserService/UnlockUser", { userId: id })
    expect(isActive((await signIn()).sessionId)).toBe(true)
  })

  test("counts against the user's address, not the login page's", async () => {
    const limits = createLimits(provider.clock, 0.01)
    const from = { allowance: limits({ address: "198.51.100.1" }) }
    const guess = (ip: string) =>
      callAsPage(
        "session.v2.SessionService/CreateSession",
        {
          userAgent: { ip },
          checks: { ...byName(`${ip}-${name}`), password: { password: wrongPassword } },
        },
        from,
      ).catch(({ id }) => id)
    const ended = provider.clock.pending()
    const run = (ip: string) =>
      driveClock(guess(ip), () => {
        if (provider.clock.pending() > ended) provider.clock.advance(500)
      })
    expect(await run("203.0.113.1")).toBe("session.password_wrong")
    for (let count = 0; count < 4; count++) await run("203.0.113.1")
    expect(await run("203.0.113.1")).toMatch(/^limit\./)
    expect(await run("203.0.113.2")).toBe("session.password_wrong")
  })
})

describe("a right password", () => {
  test("reports why the sign-in is blocked, and grants nothing", async () => {
    const { sessionId } = await createSession(byName())
    const tried = () => setSession(sessionId, { password: { password } }).catch(({ id }) => id)
    await deactivateUser(provider.cx(), id)
    expect(await tried()).toBe("session.user_inactive")
    const second = await provider.addPerson(`new-${name}`)
    const hash = await createPassword(password, { names: [], changeRequired: true })
    await setPassword(provider.cx(), second, hash)
    await expect(createSession({ ...byId(second), password: { password } })).rejects.toMatchObject({
      id: "session.password_change_required",
    })
    const orgId = (await callAsOwner("org.v2.OrganizationService/AddOrganization", { name }))
      .organizationId
    const third = await provider.addPerson(`off-${name}`, orgId)
    await deactivateOrganization(provider.cx(), orgId)
    await expect(createSession({ ...byId(third), password: { password } })).rejects.toMatchObject({
      id: "session.user_inactive",
    })
    expect(isActive(sessionId)).toBe(false)
  })
})

describe("a second factor", () => {
  const label = { issuer: "Home", label: "sue" }
  const codeOf = (secret: string, late = 0) =>
    new TOTP({ secret }).generate({ timestamp: provider.clock.now() + late * 30_000 })

  test("is checked with the password or later, and listed in the methods", async () => {
    const { secret } = await registerTotp(provider.cx(), id, label)
    await verifyTotp(provider.cx(), id, codeOf(secret, -1))
    const totp = (code: string) => ({ totp: { code } })
    const { sessionId } = await signIn()
    expect(findSession(provider.cx(), sessionId)?.methods).toEqual(["pwd"])
    await expect(setSession(sessionId, totp("000000"))).rejects.toMatchObject({
      id: "session.proof_wrong",
    })
    const code = codeOf(secret)
    await setSession(sessionId, totp(code))
    expect(findSession(provider.cx(), sessionId)?.methods).toEqual(["pwd", "otp", "mfa"])
    expect((await getSession(sessionId)).factors.totp.verifiedAt).toBeDefined()
    // A code is accepted once, in any session.
    const again = createSession({ ...byName(), password: { password }, ...totp(code) })
    await expect(again).rejects.toMatchObject({ id: "session.proof_wrong" })
    provider.clock.advance(60_000)
    const both = { ...byName(), password: { password }, ...totp(codeOf(secret)) }
    expect(isActive((await createSession(both)).sessionId)).toBe(true)
    await removeTotp(provider.cx(), id)
    expect(isActive(sessionId)).toBe(false)
  })

  test("grants nothing without a first factor", async () => {
    await changePolicy(provider.cx(), undefined, {
      policy: login,
      apply: () => ({ secondFactors: ["otp_email", "recovery_codes"] as const }),
    })
    await addOtp(provider.cx(), id, "email")
    const { codes } = await generateRecoveryCodes(provider.cx(), id)
    const [code = ""] = codes
    const { sessionId } = await createSession({ ...byName(), recoveryCode: { code } })
    expect((await getSession(sessionId)).factors.recoveryCode).toBeDefined()
    expect(isActive(sessionId)).toBe(false)
    const again = setSession(sessionId, { recoveryCode: { code } })
    await expect(again).rejects.toMatchObject({ id: "session.proof_wrong" })
  })

  test("by email is sent after the password, or returned to a login page", async () => {
    await addOtp(provider.cx(), id, "email")
    const asked = (deliveryType: object) => ({ challenges: { otpEmail: { deliveryType } } })
    const sent = asked({ case: "sendCode", value: {} })
    const returned = asked({ case: "returnCode", value: {} })
    const named = await createSession(byName())
    const early = setSession(named.sessionId, {}, sent)
    await expect(early).rejects.toMatchObject({ id: "session.unproven" })
    const before = provider.store.log.durable()
    const first = await setSession(named.sessionId, { password: { password } }, sent)
    expect(first.challenges.otpEmail).toBeUndefined()
    const types = (await provider.store.log.read(before, 100)).map(({ type }) => type)
    expect(types).toContain("message.added")
    const { challenges } = await setSession(named.sessionId, {}, returned)
    const code = challenges.otpEmail
    expect(code).toMatch(/^\d{8}$/)
    const other = await signIn()
    const elsewhere = setSession(other.sessionId, { otpEmail: { code } })
    await expect(elsewhere).rejects.toMatchObject({ id: "session.proof_wrong" })
    await setSession(named.sessionId, { otpEmail: { code } })
    const again = setSession(named.sessionId, { otpEmail: { code } })
    await expect(again).rejects.toMatchObject({ id: "session.proof_wrong" })
    const events = JSON.stringify(await provider.store.log.read(0, 10_000))
    expect(events).not.toContain(code)
    const noSms = setSession(named.sessionId, {}, { challenges: { otpSms: { returnCode: true } } })
    await expect(noSms).rejects.toMatchObject({ id: "session.factor_missing" })
  })

  test("is returned only to callers with the permission", async () => {
    const { ownerId } = provider.setup
    await addOtp(provider.cx(), ownerId, "email")
    const { sessionId } = await createSession({ ...byId(ownerId), password: { password } })
    const request = {
      sessionId,
      challenges: { otpEmail: { deliveryType: { case: "returnCode", value: {} } } },
    }
    await callAsOwner("session.v2.SessionService/SetSession", request)
    const key = { key: "SETTER", displayName: "Setter", level: 1, permissions: ["session.write"] }
    await callAsOwner("internal_permission.v2.InternalPermissionService/CreateRole", key)
    const setter = await addServiceCaller(provider, { name: "setter", roles: ["SETTER"] })
    const tried = callAs(provider, setter)("session.v2.SessionService/SetSession", request)
    await expect(tried).rejects.toMatchObject({ id: "session.code_not_yours" })
  })
})

test("a login page can't change a session of the built-in login", async () => {
  const browser = browserOf(provider)
  await browser.signIn("/ui/login", name)
  const { sessions } = await callAsOwner("session.v2.SessionService/ListSessions", {
    queries: [{ query: { case: "userIdQuery", value: { id } } }],
  })
  const [{ id: sessionId }] = sessions
  await expect(setSession(sessionId, {})).rejects.toMatchObject({ id: "session.of_browser" })
  expect(isActive(sessionId)).toBe(true)
})
