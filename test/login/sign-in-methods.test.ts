// Every sign-in method, once: each runs through our own pages, and through a custom page that uses
// only the v2 services. Both show the same steps and return the same claims.
import { decodeJwt } from "jose"
import { genericGrantRequest, initiateDeviceAuthorization } from "openid-client"
import { TOTP } from "otpauth"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { createCode } from "../../src/domain/credential/code.ts"
import { createPassword } from "../../src/domain/credential/commands.ts"
import { beginKey, finishKey } from "../../src/domain/factor/key/key.ts"
import { addOtp } from "../../src/domain/factor/otp.ts"
import { generateRecoveryCodes } from "../../src/domain/factor/recovery-code.ts"
import { registerTotp, verifyTotp } from "../../src/domain/factor/totp.ts"
import { changePolicy } from "../../src/domain/policy/commands.ts"
import { passwordAge } from "../../src/domain/policy/index.ts"
import { type Login, login } from "../../src/domain/policy/login.ts"
import { inviteUser } from "../../src/domain/registration/invite.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { findProfile } from "../../src/domain/user-lookup/query.ts"
import { browserOf, issuer, openProvider, type Provider, password } from "../oauth/provider.ts"
import { type Authenticator, createKey } from "../support/authenticator.ts"
import { createCustomLoginDriver } from "../support/custom-login-driver.ts"
import { addCustomLoginApp, createCustomLoginPage } from "../support/custom-login-page.ts"
import { createHostedLoginDriver } from "../support/hosted-login-driver.ts"
import { addLoginPageCaller } from "../support/operation-caller.ts"
import {
  type BrowserState,
  newestCode,
  type SignInAttempt,
  type SignInDriver,
  type SignInStep,
} from "../support/sign-in-driver.ts"

const newPassword = "Fresh-Battery-8"
const wrong = "Wrong-Horse-8"

let provider: Provider
const drivers: Record<string, SignInDriver> = {}
const devicesByDriver: Record<string, Awaited<ReturnType<typeof addCustomLoginApp>>> = {}
beforeAll(async () => {
  provider = await openProvider()
  const ours = { loginVersion: { version: "v1" } } as const
  const tv = { grantTypes: ["device_code"] } as const
  drivers.hosted = createHostedLoginDriver(provider, await addCustomLoginApp(provider, ours))
  devicesByDriver.hosted = await addCustomLoginApp(provider, { ...ours, ...tv })
  const page = createCustomLoginPage(await addLoginPageCaller(provider))
  drivers.custom = createCustomLoginDriver(page, await addCustomLoginApp(provider))
  devicesByDriver.custom = await addCustomLoginApp(provider, tv)
})
afterAll(() => provider.close())

let userCount = 0
let name: string
let userId: string
beforeEach(async () => {
  provider.clock.advance(60_000)
  name = `ada-${++userCount}`
  userId = await addPerson(name)
})

async function addPerson(userName: string, changeRequired = false): Promise<string> {
  const id = provider.cx().ids.next()
  await createUser(provider.cx(), id, {
    kind: "human",
    orgId: provider.setup.orgId,
    userName,
    profile: { givenName: "Ada", familyName: userName },
    email: { value: `${userName}@example.net`, verified: true },
    phone: { value: `+4915${String(userCount).padStart(9, "0")}`, verified: true },
    password: await createPassword(password, { names: [userName], changeRequired }),
  })
  return id
}

const createBrowserState = (): BrowserState => ({ browser: browserOf(provider), kept: [] })
/** Runs `go` with the login policy, and resets it. */
async function withLoginPolicy(values: Partial<Login>, go: () => Promise<void>): Promise<void> {
  const say = (values: Partial<Login>) =>
    changePolicy(provider.cx(), undefined, { policy: login, apply: () => values })
  await say(values)
  try {
    await go()
  } finally {
    await say(initialPolicy)
  }
}
const initialPolicy: Partial<Login> = {
  allowMagicLink: false,
  allowRegister: false,
  forceMfa: false,
  secondFactors: ["otp", "u2f"],
}
const allFactors: Login["secondFactors"] = ["otp", "u2f", "otp_email", "otp_sms", "recovery_codes"]

const codeOf = (secret: string, late = 0) =>
  new TOTP({ secret }).generate({ timestamp: provider.clock.now() + late * 30_000 })

async function addTotp(): Promise<string> {
  const { secret } = await registerTotp(provider.cx(), userId, { issuer: "Home", label: name })
  await verifyTotp(provider.cx(), userId, codeOf(secret, -1))
  return secret
}

async function addAuthenticator(kind: "passkey" | "u2f"): Promise<Authenticator> {
  const { tokenId, options } = await beginKey(provider.cx(), userId, { kind })
  const key = createKey(options, { origin: issuer })
  await finishKey(provider.cx(), userId, { kind, tokenId, credential: key.creation, name: "Key" })
  return key
}

/** Enters the name and the password, as far as required. */
async function signIn(visit: SignInAttempt, then: SignInStep, as = name): Promise<void> {
  expect(visit.asks()).toBe("login name")
  await visit.name(as)
  expect(visit.asks()).toBe("password")
  await visit.password(password)
  expect(visit.asks()).toBe(then)
}

const expectSignedIn = async (visit: SignInAttempt, claims: object) =>
  expect(await visit.end()).toMatchObject({ sub: userId, ...claims })
const pwd = { amr: ["pwd"] }
const otp = { amr: ["pwd", "otp", "mfa"] }

type SignInScenario = (face: SignInDriver, seat: BrowserState) => Promise<void>

const scenarios: Readonly<Record<string, SignInScenario>> = {
  "a password, after a wrong one": async (face, seat) => {
    const visit = await face.begin(seat)
    await visit.name(name)
    await visit.password(wrong)
    expect([visit.asks(), visit.isRefused()]).toEqual(["password", true])
    await visit.password(password)
    await expectSignedIn(visit, pwd)
  },
  "a name that is nobody's": async (face, seat) => {
    const visit = await face.begin(seat)
    await visit.name("nobody")
    await visit.password(password)
    expect([visit.asks(), visit.isRefused()]).toEqual(["password", true])
  },
  "an authenticator app, after a wrong code": async (face, seat) => {
    const secret = await addTotp()
    const visit = await face.begin(seat)
    await signIn(visit, "factor")
    await visit.code("otp", () => "000000")
    expect([visit.asks(), visit.isRefused()]).toEqual(["factor", true])
    await visit.code("otp", () => codeOf(secret))
    await expectSignedIn(visit, otp)
  },
  "a security key": async (face, seat) => {
    const key = await addAuthenticator("u2f")
    const visit = await face.begin(seat)
    await signIn(visit, "factor")
    await visit.key(key)
    await expectSignedIn(visit, { amr: expect.arrayContaining(["pwd", "pop", "mfa"]) })
  },
  "a code by mail, after a wrong one": (face, seat) =>
    withLoginPolicy({ secondFactors: allFactors }, async () => {
      await addOtp(provider.cx(), userId, "email")
      const visit = await face.begin(seat)
      await signIn(visit, "factor")
      await visit.code("otp_email", () => "00000000")
      expect([visit.asks(), visit.isRefused()]).toEqual(["factor", true])
      await visit.code("otp_email", () => newestCode(provider))
      await expectSignedIn(visit, otp)
    }),
  "a code by SMS": (face, seat) =>
    withLoginPolicy({ secondFactors: allFactors }, async () => {
      await addOtp(provider.cx(), userId, "sms")
      const visit = await face.begin(seat)
      await signIn(visit, "factor")
      await visit.code("otp_sms", () => newestCode(provider))
      await expectSignedIn(visit, { amr: expect.arrayContaining(["pwd", "otp", "mfa"]) })
    }),
  "a recovery code in place of the app, once": (face, seat) =>
    withLoginPolicy({ secondFactors: allFactors }, async () => {
      await addTotp()
      const { codes } = await generateRecoveryCodes(provider.cx(), userId)
      const visit = await face.begin(seat)
      await signIn(visit, "factor")
      await visit.code("recovery_codes", () => codes[0] ?? "")
      await expectSignedIn(visit, { amr: expect.arrayContaining(["pwd", "mfa"]) })
      const again = await face.begin(createBrowserState())
      await signIn(again, "factor")
      await again.code("recovery_codes", () => codes[0] ?? "")
      expect([again.asks(), again.isRefused()]).toEqual(["factor", true])
    }),
  "a factor that is forced: an app": (face, seat) =>
    withLoginPolicy({ forceMfa: true }, async () => {
      const visit = await face.begin(seat)
      await signIn(visit, "set up")
      await visit.setUpApp(codeOf)
      await expectSignedIn(visit, otp)
    }),
  "a factor that is forced: a passkey, which then signs in without a name": (face, seat) =>
    withLoginPolicy({ forceMfa: true }, async () => {
      const visit = await face.begin(seat)
      await signIn(visit, "set up")
      const key = await visit.setUpPasskey()
      await expectSignedIn(visit, { amr: expect.arrayContaining(["pwd", "pop", "mfa"]) })
      const later = await face.begin(createBrowserState())
      expect(later.asks()).toBe("login name")
      await later.passkey(key)
      await expectSignedIn(later, { amr: ["pop", "user", "mfa"] })
    }),
  "a passkey of somebody else's service": async (face, seat) => {
    await addAuthenticator("passkey")
    const visit = await face.begin(seat)
    const stranger = createKey({ challenge: "x", rp: { id: "evil.example" } }, { origin: issuer })
    await visit.passkey(stranger)
    expect([visit.asks(), visit.isRefused()]).toEqual(["login name", true])
  },
  "an account that is made there": (face, seat) =>
    withLoginPolicy({ allowRegister: true }, async () => {
      const visit = await face.begin(seat, { prompt: "create" })
      expect(visit.asks()).toBe("account")
      const email = `new-${name}@example.net`
      await visit.register({ name: email, email })
      expect(visit.asks()).toBe("code")
      await visit.confirm("AAAAAA")
      expect([visit.asks(), visit.isRefused()]).toEqual(["code", true])
      await visit.confirm()
      expect(visit.asks()).toBe("credential")
      await visit.begin(newPassword)
      const { sub, ...said } = await visit.end()
      expect(said).toMatchObject(pwd)
      expect(findByLoginName(provider.cx(), email)).toBe(sub)
      expect(findProfile(provider.cx(), sub)).toMatchObject({ email, emailVerified: true })
    }),
  "an account, where nobody may make one": async (face, seat) => {
    const visit = await face.begin(seat, { prompt: "create" })
    expect(visit.asks()).toBe("login name")
  },
  "an invitation": async (face, seat) => {
    const id = provider.cx().ids.next()
    const invited = `ines-${userCount}`
    await createUser(provider.cx(), id, {
      kind: "human",
      orgId: provider.setup.orgId,
      userName: invited,
      profile: { givenName: "Ines", familyName: "Invited" },
      email: { value: `${invited}@example.net`, verified: false },
    })
    const code = createCode(provider.cx(), id, { of: "invite", returned: true })
    await inviteUser(provider.cx(), id, { code })
    await face.invited(seat, { name: invited, userId: id, code: code.plain, own: newPassword })
    const visit = await face.begin(seat)
    expect(visit.asks()).toBe("nothing")
    expect((await visit.end()).sub).toBe(id)
  },
  "a password that was forgotten": async (face, seat) => {
    await face.reset(seat, { name, userId, own: newPassword })
    const visit = await face.begin(seat)
    await visit.name(name)
    await visit.password(password)
    expect(visit.isRefused()).toBe(true)
    await visit.password(newPassword)
    await expectSignedIn(visit, pwd)
  },
  "a password that has to be changed": async (face, seat) => {
    const hasty = `hasty-${userCount}`
    const id = await addPerson(hasty, true)
    const visit = await face.begin(seat)
    await signIn(visit, "new password", hasty)
    await visit.newPassword({ old: password, own: newPassword })
    expect(await visit.end()).toMatchObject({ sub: id, ...pwd })
  },
  "a password that has grown too old": async (face, seat) => {
    const age = (maxAgeDays: number) =>
      changePolicy(provider.cx(), undefined, { policy: passwordAge, apply: () => ({ maxAgeDays }) })
    await age(30)
    provider.clock.advance(31 * 86_400_000)
    const visit = await face.begin(seat)
    await signIn(visit, "new password")
    await visit.newPassword({ old: password, own: newPassword })
    await expectSignedIn(visit, pwd)
    await age(0)
  },
  "a code by mail instead of the password": (face, seat) =>
    withLoginPolicy({ allowMagicLink: true }, async () => {
      const visit = await face.begin(seat)
      await visit.name(name)
      await visit.mailed(() => "00000000")
      expect(visit.isRefused()).toBe(true)
      await visit.mailed(() => newestCode(provider))
      await expectSignedIn(visit, { amr: ["otp"] })
    }),
  "two sessions, and the choice": async (face, seat) => {
    const other = `bob-${userCount}`
    await addPerson(other)
    await signIn(await face.begin(seat), "nothing")
    const second = await face.begin(seat, { prompt: "login" })
    await second.other()
    provider.clock.advance(1)
    await signIn(second, "nothing", other)
    const visit = await face.begin(seat)
    expect(visit.asks()).toBe("choice")
    await visit.choose(name)
    await expectSignedIn(visit, pwd)
  },
  "select_account, of one": async (face, seat) => {
    await signIn(await face.begin(seat), "nothing")
    const visit = await face.begin(seat, { prompt: "select_account" })
    expect(visit.asks()).toBe("choice")
    await visit.choose(name)
    await expectSignedIn(visit, pwd)
  },
  "no question, with a session and without": async (face, seat) => {
    const none = await face.begin(seat, { prompt: "none" })
    expect(none.asks()).toBe("nothing")
    await expect(none.end()).rejects.toMatchObject({ error: "login_required" })
    await signIn(await face.begin(seat), "nothing")
    const visit = await face.begin(seat, { prompt: "none" })
    expect(visit.asks()).toBe("nothing")
    await expectSignedIn(visit, pwd)
  },
  "prompt=login, although there is a session": async (face, seat) => {
    await signIn(await face.begin(seat), "nothing")
    provider.clock.advance(60_000)
    const visit = await face.begin(seat, { prompt: "login" })
    await repeatFirstFactor(visit)
    await expectSignedIn(visit, { auth_time: Math.floor(provider.clock.now() / 1000) })
  },
  "max_age, too old and young enough": async (face, seat) => {
    await signIn(await face.begin(seat), "nothing")
    provider.clock.advance(60_000)
    const young = await face.begin(seat, { max_age: "90" })
    expect(young.asks()).toBe("nothing")
    await expectSignedIn(young, {})
    const old = await face.begin(seat, { max_age: "30" })
    await repeatFirstFactor(old)
    await expectSignedIn(old, { auth_time: Math.floor(provider.clock.now() / 1000) })
  },
  "acr_values, which step a session up": async (face, seat) => {
    await signIn(await face.begin(seat), "nothing")
    const secret = await addTotp()
    const visit = await face.begin(seat, { acr_values: "2" })
    expect(visit.asks()).toBe("factor")
    await visit.code("otp", () => codeOf(secret))
    await expectSignedIn(visit, { ...otp, acr: "2" })
  },
}

/** Repeats the first factor. */
async function repeatFirstFactor(visit: SignInAttempt): Promise<void> {
  if (visit.asks() === "login name") await visit.name(name)
  expect(visit.asks()).toBe("password")
  provider.clock.advance(1)
  await visit.password(password)
  expect(visit.asks()).toBe("nothing")
}

const grant = "urn:ietf:params:oauth:grant-type:device_code"

describe.each(["hosted", "custom"])("through the %s pages", (which) => {
  const face = () => drivers[which] as SignInDriver

  test.each(Object.keys(scenarios))("%s", async (method) => {
    await scenarios[method]?.(face(), createBrowserState())
  })

  test("a device", async () => {
    const device = devicesByDriver[which] as (typeof devicesByDriver)[string]
    const begun = await initiateDeviceAuthorization(device.configuration(), { scope: "openid" })
    await face().device(createBrowserState(), { userCode: begun.user_code, name, password })
    const shown = { device_code: begun.device_code }
    const tokens = await genericGrantRequest(device.configuration(), grant, shown)
    expect(decodeJwt(tokens.id_token ?? "")).toMatchObject({ sub: userId, ...pwd })
  })
})
