// Sessions as a login page of somebody else makes them.
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
import { lifetimes, sessionNow } from "../../../src/domain/session/index.ts"
import { deactivateUser, lockUser } from "../../../src/domain/user/index.ts"
import { accountOf } from "../../../src/domain/user-lookup/query.ts"
import { limitsOf } from "../../../src/kernel/limit.ts"
import { browserOf, openProvider, type Provider, password } from "../../oauth/provider.ts"
import { addServiceUser, type Calling, callingAs, openLoginPage } from "../../support/login-page.ts"
import { driveClock } from "../../support/wait.ts"

const wrong = "Wrong-Horse-8"

let provider: Provider
let call: Calling
let owner: Calling
beforeAll(async () => {
  provider = await openProvider()
  call = await openLoginPage(provider)
  const { orgId, ownerId: userId } = provider.setup
  owner = callingAs(provider, { kind: "user", userId, orgId, clientId: "console" })
})
afterAll(() => provider.close())

let people = 0
let name: string
let id: string
beforeEach(async () => {
  name = `sue-${++people}`
  id = await provider.addPerson(name)
})

const byName = (loginName = name) => ({ user: { search: { case: "loginName", value: loginName } } })
const byId = (value = id) => ({ user: { search: { case: "userId", value } } })
const create = (checks: object, more: object = {}) =>
  call("session.v2.SessionService/CreateSession", { checks, ...more })
const set = (sessionId: string, checks: object, more: object = {}) =>
  call("session.v2.SessionService/SetSession", { sessionId, checks, ...more })
const get = async (sessionId: string, by = call, sessionToken?: string) => {
  const request = { sessionId, ...(sessionToken !== undefined && { sessionToken }) }
  return (await by("session.v2.SessionService/GetSession", request)).session
}
const signIn = (plain = password) => create({ ...byName(), password: { password: plain } })
const isGood = (sessionId: string) => sessionNow(provider.cx(), sessionId) !== undefined

describe("a session of a login page", () => {
  test("learns who it is and by what they prove it, each at its time", async () => {
    const { sessionId } = await create(byName())
    expect(isGood(sessionId)).toBe(false)
    const first = await get(sessionId)
    expect(first.factors).toMatchObject({
      user: { id, displayName: "Pat Person", organizationId: provider.setup.orgId },
    })
    expect(first.factors.password).toBeUndefined()
    expect(timestampMs(first.expirationDate)).toBe(provider.clock.now() + lifetimes.unproven)
    provider.clock.advance(60_000)
    await set(sessionId, { password: { password } })
    const { factors, expirationDate } = await get(sessionId)
    expect(timestampMs(factors.user.verifiedAt)).toBe(provider.clock.now() - 60_000)
    expect(timestampMs(factors.password.verifiedAt)).toBe(provider.clock.now())
    expect(timestampMs(expirationDate)).toBe(provider.clock.now() + lifetimes.session)
    expect(isGood(sessionId)).toBe(true)
  })

  test("is begun with all at once, or not at all", async () => {
    const { sessionId, details } = await signIn()
    expect(isGood(sessionId)).toBe(true)
    expect(details.resourceOwner).toBe(provider.setup.orgId)
    await expect(signIn(wrong)).rejects.toMatchObject({ id: "session.password_wrong" })
    const listed = await owner("session.v2.SessionService/ListSessions", {
      queries: [{ query: { case: "userIdQuery", value: { id } } }],
    })
    expect(listed.sessions.map((each: { id: string }) => each.id)).toEqual([sessionId])
  })

  test("keeps its user", async () => {
    const { sessionId } = await create(byId())
    const other = await provider.addPerson(`other-${name}`)
    await expect(set(sessionId, byId(other))).rejects.toMatchObject({ id: "session.user_fixed" })
    await set(sessionId, byName())
    expect((await get(sessionId)).factors.user.id).toBe(id)
  })

  test("wants to know whose it is before anything is proved", async () => {
    const { sessionId } = await create({})
    expect((await get(sessionId)).factors).toEqual(expect.objectContaining({}))
    const tried = set(sessionId, { password: { password } })
    await expect(tried).rejects.toMatchObject({ id: "session.user_missing" })
    await set(sessionId, { ...byName(), password: { password } })
    expect(isGood(sessionId)).toBe(true)
  })

  test("says that no intent of a provider can be checked", async () => {
    const idpIntent = { idpIntentId: "1", idpIntentToken: "t" }
    await expect(create({ idpIntent })).rejects.toMatchObject({ id: "idp.intent_over" })
  })

  test("keeps what is noted, and of the browser what is no secret", async () => {
    const note = (text: string) => new TextEncoder().encode(text)
    const userAgent = {
      fingerprintId: "f-1",
      ip: "203.0.113.7",
      description: "Firefox on Linux",
      header: { "user-agent": { values: ["Firefox"] }, Cookie: { values: ["s=1"] } },
    }
    const begun = await create({}, { userAgent, metadata: { a: note("1"), b: note("2") } })
    await set(begun.sessionId, {}, { metadata: { b: note(""), c: note("3") } })
    const shown = await get(begun.sessionId)
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
      await expect(create({}, more)).rejects.toMatchObject({ id: "request.field_invalid" })
    }
  })

  test("expires when it was said, whatever is checked after that", async () => {
    const lifetime = { seconds: 600n, nanos: 0 }
    const { sessionId } = await create({ ...byName(), password: { password } }, { lifetime })
    provider.clock.advance(300_000)
    await set(sessionId, { password: { password } })
    expect(isGood(sessionId)).toBe(true)
    provider.clock.advance(300_000)
    expect(isGood(sessionId)).toBe(false)
    const tried = set(sessionId, { password: { password } })
    await expect(tried).rejects.toMatchObject({ id: "session.over" })
  })

  test("that proved nothing outlives a new password, one that did does not", async () => {
    const [named, proved] = [await create(byName()), await signIn()]
    const fresh = await createPassword("Other-Horse-9", { names: [] })
    await setPassword(provider.cx(), id, fresh)
    expect(isGood(proved.sessionId)).toBe(false)
    await set(named.sessionId, { password: { password: "Other-Horse-9" } })
    expect(isGood(named.sessionId)).toBe(true)
  })
})

describe("a token of a session", () => {
  test("opens it to whoever has it, is new with each change, and kept as a hash", async () => {
    const robot = await addServiceUser(provider, { name: `robot-${name}`, roles: [] })
    const stranger = callingAs(provider, robot)
    const { sessionId, sessionToken } = await signIn()
    await expect(get(sessionId, stranger)).rejects.toMatchObject({ code: "permission_denied" })
    expect((await get(sessionId, stranger, sessionToken)).id).toBe(sessionId)
    const next = await set(sessionId, {})
    expect(next.sessionToken).not.toBe(sessionToken)
    for (const bad of [sessionToken, `${next.sessionToken}A`, next.sessionToken.slice(1), ""]) {
      await expect(get(sessionId, stranger, bad)).rejects.toMatchObject({
        code: "permission_denied",
      })
    }
    const other = await signIn()
    await expect(get(other.sessionId, stranger, next.sessionToken)).rejects.toThrow()
    const events = JSON.stringify(await provider.store.log.read(0, 10_000))
    for (const text of [sessionToken, next.sessionToken]) expect(events).not.toContain(text)
    const end = { sessionId, sessionToken: next.sessionToken }
    await stranger("session.v2.SessionService/DeleteSession", end)
    expect(isGood(sessionId)).toBe(false)
    await expect(get(sessionId, stranger, next.sessionToken)).rejects.toThrow()
  })

  test("opens nothing to who has no token of their own", async () => {
    const { sessionId, sessionToken } = await signIn()
    const nobody = callingAs(provider, { kind: "anonymous" })
    await expect(get(sessionId, nobody, sessionToken)).rejects.toMatchObject({
      code: "unauthenticated",
    })
  })

  test("is none of another instance", async () => {
    const { sessionId, sessionToken } = await signIn()
    const tried = call(
      "session.v2.SessionService/GetSession",
      { sessionId, sessionToken },
      { instance: "i2" },
    )
    await expect(tried).rejects.toThrow()
  })
})

describe("a wrong password", () => {
  const tries = async (checks: object) => {
    const cause = await create({ ...checks, password: { password: wrong } }).catch((fault) => fault)
    return [cause.code, cause.id, cause.message]
  }
  const failures = (loginName = name) =>
    attemptsOf(provider.cx(), accountOf(provider.cx(), loginName)).failures

  test("is answered and counted alike, whosever it is", async () => {
    const locked = await provider.addPerson(`locked-${name}`)
    await lockUser(provider.cx(), locked)
    const named = [name, `locked-${name}`, `nobody-${name}`]
    const all = await Promise.all(named.map((each) => tries(byName(each))))
    expect(new Set(all.map((each) => JSON.stringify(each))).size).toBe(1)
    expect(named.map(failures)).toEqual([1, 1, 1])
  })

  test("is asked for although nobody has the name, unless the policy says otherwise", async () => {
    const { sessionId } = await create(byName(`Nobody-${name}`))
    const { user } = (await get(sessionId)).factors
    expect(user).toMatchObject({ id: "", loginName: `Nobody-${name}` })
    const tried = set(sessionId, { password: { password } })
    await expect(tried).rejects.toMatchObject({ id: "session.password_wrong" })
    const say = (ignoreUnknownUsernames: boolean) =>
      changePolicy(provider.cx(), undefined, {
        policy: login,
        say: () => ({ ignoreUnknownUsernames }),
      })
    await say(false)
    await expect(create(byName(`nobody-${name}`))).rejects.toMatchObject({ id: "user.missing" })
    await say(true)
  })

  test("locks by the policy that the login pages go by", async () => {
    const { orgId } = provider.setup
    const say = () => ({ maxPasswordAttempts: 3 })
    await addPolicy(provider.cx(), orgId, { policy: lockout, say })
    for (let count = 0; count < 3; count++) await tries(byName())
    await expect(signIn()).rejects.toMatchObject({ id: "session.user_locked" })
    await owner("user.v2.UserService/UnlockUser", { userId: id })
    expect(isGood((await signIn()).sessionId)).toBe(true)
  })

  test("costs the address of the person, not that of the page", async () => {
    const limits = limitsOf(provider.clock, 0.01)
    const from = { allowance: limits({ address: "198.51.100.1" }) }
    const guess = (ip: string) =>
      call(
        "session.v2.SessionService/CreateSession",
        {
          userAgent: { ip },
          checks: { ...byName(`${ip}-${name}`), password: { password: wrong } },
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
  test("tells what is in the way, and opens nothing then", async () => {
    const { sessionId } = await create(byName())
    const tried = () => set(sessionId, { password: { password } }).catch(({ id }) => id)
    await deactivateUser(provider.cx(), id)
    expect(await tried()).toBe("session.user_inactive")
    const second = await provider.addPerson(`new-${name}`)
    const hash = await createPassword(password, { names: [], changeRequired: true })
    await setPassword(provider.cx(), second, hash)
    await expect(create({ ...byId(second), password: { password } })).rejects.toMatchObject({
      id: "session.password_change_required",
    })
    const orgId = (await owner("org.v2.OrganizationService/AddOrganization", { name }))
      .organizationId
    const third = await provider.addPerson(`off-${name}`, orgId)
    await deactivateOrganization(provider.cx(), orgId)
    await expect(create({ ...byId(third), password: { password } })).rejects.toMatchObject({
      id: "session.user_inactive",
    })
    expect(isGood(sessionId)).toBe(false)
  })
})

describe("a second factor", () => {
  const label = { issuer: "Home", label: "sue" }
  const codeOf = (secret: string, late = 0) =>
    new TOTP({ secret }).generate({ timestamp: provider.clock.now() + late * 30_000 })

  test("is checked beside the password or after it, and named in the methods", async () => {
    const { secret } = await registerTotp(provider.cx(), id, label)
    await verifyTotp(provider.cx(), id, codeOf(secret, -1))
    const totp = (code: string) => ({ totp: { code } })
    const { sessionId } = await signIn()
    expect(sessionNow(provider.cx(), sessionId)?.methods).toEqual(["pwd"])
    await expect(set(sessionId, totp("000000"))).rejects.toMatchObject({
      id: "session.proof_wrong",
    })
    const code = codeOf(secret)
    await set(sessionId, totp(code))
    expect(sessionNow(provider.cx(), sessionId)?.methods).toEqual(["pwd", "otp", "mfa"])
    expect((await get(sessionId)).factors.totp.verifiedAt).toBeDefined()
    // A code counts once, in whatever session.
    const again = create({ ...byName(), password: { password }, ...totp(code) })
    await expect(again).rejects.toMatchObject({ id: "session.proof_wrong" })
    provider.clock.advance(60_000)
    const both = { ...byName(), password: { password }, ...totp(codeOf(secret)) }
    expect(isGood((await create(both)).sessionId)).toBe(true)
    await removeTotp(provider.cx(), id)
    expect(isGood(sessionId)).toBe(false)
  })

  test("alone opens nothing", async () => {
    await changePolicy(provider.cx(), undefined, {
      policy: login,
      say: () => ({ secondFactors: ["otp_email", "recovery_codes"] as const }),
    })
    await addOtp(provider.cx(), id, "email")
    const { codes } = await generateRecoveryCodes(provider.cx(), id)
    const [code = ""] = codes
    const { sessionId } = await create({ ...byName(), recoveryCode: { code } })
    expect((await get(sessionId)).factors.recoveryCode).toBeDefined()
    expect(isGood(sessionId)).toBe(false)
    const again = set(sessionId, { recoveryCode: { code } })
    await expect(again).rejects.toMatchObject({ id: "session.proof_wrong" })
  })

  test("by mail is sent once the password was right, or returned to a login page", async () => {
    await addOtp(provider.cx(), id, "email")
    const asked = (deliveryType: object) => ({ challenges: { otpEmail: { deliveryType } } })
    const sent = asked({ case: "sendCode", value: {} })
    const returned = asked({ case: "returnCode", value: {} })
    const named = await create(byName())
    const early = set(named.sessionId, {}, sent)
    await expect(early).rejects.toMatchObject({ id: "session.unproven" })
    const before = provider.store.log.durable()
    const first = await set(named.sessionId, { password: { password } }, sent)
    expect(first.challenges.otpEmail).toBeUndefined()
    const types = (await provider.store.log.read(before, 100)).map(({ type }) => type)
    expect(types).toContain("message.added")
    const { challenges } = await set(named.sessionId, {}, returned)
    const code = challenges.otpEmail
    expect(code).toMatch(/^\d{8}$/)
    const other = await signIn()
    const elsewhere = set(other.sessionId, { otpEmail: { code } })
    await expect(elsewhere).rejects.toMatchObject({ id: "session.proof_wrong" })
    await set(named.sessionId, { otpEmail: { code } })
    const again = set(named.sessionId, { otpEmail: { code } })
    await expect(again).rejects.toMatchObject({ id: "session.proof_wrong" })
    const events = JSON.stringify(await provider.store.log.read(0, 10_000))
    expect(events).not.toContain(code)
    const noSms = set(named.sessionId, {}, { challenges: { otpSms: { returnCode: true } } })
    await expect(noSms).rejects.toMatchObject({ id: "session.factor_missing" })
  })

  test("is returned to nobody who could not have it otherwise", async () => {
    const { ownerId } = provider.setup
    await addOtp(provider.cx(), ownerId, "email")
    const { sessionId } = await create({ ...byId(ownerId), password: { password } })
    const request = {
      sessionId,
      challenges: { otpEmail: { deliveryType: { case: "returnCode", value: {} } } },
    }
    await owner("session.v2.SessionService/SetSession", request)
    const key = { key: "SETTER", displayName: "Setter", level: 1, permissions: ["session.write"] }
    await owner("internal_permission.v2.InternalPermissionService/CreateRole", key)
    const setter = await addServiceUser(provider, { name: "setter", roles: ["SETTER"] })
    const tried = callingAs(provider, setter)("session.v2.SessionService/SetSession", request)
    await expect(tried).rejects.toMatchObject({ id: "session.code_not_yours" })
  })
})

test("a session of our own pages is not one that a login page may set", async () => {
  const browser = browserOf(provider)
  await browser.signIn("/ui/login", name)
  const { sessions } = await owner("session.v2.SessionService/ListSessions", {
    queries: [{ query: { case: "userIdQuery", value: { id } } }],
  })
  const [{ id: sessionId }] = sessions
  await expect(set(sessionId, {})).rejects.toMatchObject({ id: "session.of_browser" })
  expect(isGood(sessionId)).toBe(true)
})
