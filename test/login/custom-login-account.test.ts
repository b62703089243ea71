// Accounts on a custom login page: created, invited, given a new password and a passkey by
// operations of its service account, and used to sign in.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { UserVerificationRequirement } from "../../src/gen/core/session/v2/challenge_pb.ts"
import { issuer, openProvider, type Provider } from "../oauth/provider.ts"
import { createKey } from "../support/authenticator.ts"
import {
  type Application,
  addCustomLoginApp,
  type CustomLoginPage,
  createCustomLoginPage,
} from "../support/custom-login-page.ts"
import { addLoginPageCaller } from "../support/operation-caller.ts"

const users = "user.v2.UserService"
const authenticatorOptions = { origin: issuer }
const { REQUIRED } = UserVerificationRequirement
const ownPassword = "Own-Battery-9"
const newPassword = "Fresh-Battery-8"

let provider: Provider
let page: CustomLoginPage
let app: Application
beforeAll(async () => {
  provider = await openProvider()
  page = createCustomLoginPage(await addLoginPageCaller(provider))
  app = await addCustomLoginApp(provider)
})
afterAll(() => provider.close())

let userCount = 0
let name: string
beforeEach(() => {
  name = `ada-${++userCount}`
  provider.clock.advance(60_000)
})

const idOf = (end: Promise<unknown>) => end.then(() => "done").catch(({ id: why }) => why)
const returnCode = { case: "returnCode", value: {} } as const

/** Adds a user as the page does at registration. */
async function register(more: object = {}) {
  const human = {
    profile: { givenName: "Ada", familyName: "Lovelace" },
    email: { email: `${name}@example.net`, verification: returnCode },
    ...more,
  }
  const made = { organizationId: provider.setup.orgId, username: name }
  const userType = { case: "human", value: human }
  const answer = await page.call(`${users}/CreateUser`, { ...made, userType })
  return { id: String(answer.id), emailCode: String(answer.emailCode) }
}

const withPassword = (password: string) => ({
  passwordType: { case: "password", value: { password, changeRequired: false } },
})

/** Signs in from the application; returns the claims it receives. */
async function signInByPassword(password: string, parameters: Record<string, string> = {}) {
  const { path, finish } = await app.begin(parameters)
  const kept = await page.signIn(name, password)
  return (await finish(await page.finish(await page.open(path), kept))).claims
}

const setPassword = (userId: string, verification: object, password = newPassword) =>
  page.call(`${users}/SetPassword`, { userId, newPassword: { password }, verification })
const findEmail = async (userId: string) =>
  (await page.call(`${users}/GetUserByID`, { userId })).user.type.value.email

describe("a user who registers there", () => {
  test("verifies the address by a code, once, and signs in", async () => {
    const { id, emailCode: code } = await register(withPassword(ownPassword))
    expect((await findEmail(id)).isVerified).toBe(false)
    const verify = (verificationCode: string) =>
      page.call(`${users}/VerifyEmail`, { userId: id, verificationCode })
    expect(await idOf(verify("AAAAAA"))).toBe("user.code_wrong")
    await verify(code)
    expect((await findEmail(id)).isVerified).toBe(true)
    expect(await idOf(verify(code))).toBe("user.code_wrong")
    expect((await signInByPassword(ownPassword)).sub).toBe(id)
  })

  test("can register with a passkey instead of a password", async () => {
    const { id } = await register()
    const { passkeyId, publicKeyCredentialCreationOptions: options } = await page.call(
      `${users}/RegisterPasskey`,
      { userId: id, domain: new URL(issuer).hostname },
    )
    const key = createKey(options.publicKey, authenticatorOptions)
    await page.call(`${users}/VerifyPasskeyRegistration`, {
      userId: id,
      passkeyId,
      passkeyName: "Phone",
      publicKeyCredential: key.creation,
    })
    const webAuthN = { domain: new URL(issuer).hostname, userVerificationRequirement: REQUIRED }
    const asked = await page.call("session.v2.SessionService/CreateSession", {
      checks: { user: { search: { case: "userId", value: id } } },
      challenges: { webAuthN },
    })
    const { publicKey } = asked.challenges.webAuthN.publicKeyCredentialRequestOptions
    const credentialAssertionData = key.assertion(publicKey, authenticatorOptions)
    const kept = await page.check(asked, { webAuthN: { credentialAssertionData } })
    const { path, finish } = await app.begin()
    const { claims } = await finish(await page.finish(await page.open(path), kept))
    expect(claims).toMatchObject({ sub: id, amr: ["pop", "user", "mfa"] })
  })
})

test("an invited user enters the code once, sets a password, and signs in", async () => {
  const { id } = await register()
  const { inviteCode } = await page.call(`${users}/CreateInviteCode`, {
    userId: id,
    verification: returnCode,
  })
  const verify = () =>
    page.call(`${users}/VerifyInviteCode`, { userId: id, verificationCode: inviteCode })
  await verify()
  expect(await idOf(verify())).not.toBe("done")
  expect((await findEmail(id)).isVerified).toBe(true)
  await setPassword(id, {}, ownPassword)
  expect((await signInByPassword(ownPassword)).sub).toBe(id)
})

test("a forgotten password is reset by a code, once, which ends all sessions", async () => {
  const id = await provider.addPerson(name)
  const before = await page.signIn(name, "Correct-Horse-7")
  const { verificationCode: value } = await page.call(`${users}/PasswordReset`, {
    userId: id,
    medium: returnCode,
  })
  const wrong = { case: "verificationCode", value: "AAAAAA" }
  expect(await idOf(setPassword(id, wrong))).toBe("user.code_wrong")
  await setPassword(id, { case: "verificationCode", value })
  expect(await idOf(setPassword(id, { case: "verificationCode", value }))).toBe("user.code_wrong")
  expect(await idOf(page.signIn(name, "Correct-Horse-7"))).toBe("session.password_wrong")
  const { path } = await app.begin()
  expect(await idOf(page.finish(await page.open(path), before))).not.toBe("done")
  expect((await signInByPassword(newPassword)).sub).toBe(id)
})
