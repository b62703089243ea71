// Accounts on a login page of somebody else: made, invited, given a new password and a passkey by
// the operations that its service user may call, and signed in with.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { UserVerificationRequirement } from "../../src/gen/core/session/v2/challenge_pb.ts"
import { issuer, openProvider, type Provider } from "../oauth/provider.ts"
import { makeKey } from "../support/authenticator.ts"
import {
  type Application,
  applicationAt,
  type CustomLogin,
  customLogin,
} from "../support/custom-login.ts"
import { openLoginPage } from "../support/login-page.ts"

const users = "user.v2.UserService"
const manner = { origin: issuer }
const { REQUIRED } = UserVerificationRequirement
const own = "Own-Battery-9"
const fresh = "Fresh-Battery-8"

let provider: Provider
let page: CustomLogin
let app: Application
beforeAll(async () => {
  provider = await openProvider()
  page = customLogin(await openLoginPage(provider))
  app = await applicationAt(provider)
})
afterAll(() => provider.close())

let people = 0
let name: string
beforeEach(() => {
  name = `ada-${++people}`
  provider.clock.advance(60_000)
})

const idOf = (end: Promise<unknown>) => end.then(() => "done").catch(({ id: why }) => why)
const returnCode = { case: "returnCode", value: {} } as const

/** Adds a person as the page does for who registers there. */
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

/** Comes from the application and back to it; whom that is told. */
async function arrive(password: string, parameters: Record<string, string> = {}) {
  const { path, finish } = await app.begin(parameters)
  const kept = await page.signIn(name, password)
  return (await finish(await page.finish(await page.open(path), kept))).claims
}

const setPassword = (userId: string, verification: object, password = fresh) =>
  page.call(`${users}/SetPassword`, { userId, newPassword: { password }, verification })
const emailOf = async (userId: string) =>
  (await page.call(`${users}/GetUserByID`, { userId })).user.type.value.email

describe("who makes an account there", () => {
  test("shows by a code that the address is theirs, once, and signs in", async () => {
    const { id, emailCode: code } = await register(withPassword(own))
    expect((await emailOf(id)).isVerified).toBe(false)
    const verify = (verificationCode: string) =>
      page.call(`${users}/VerifyEmail`, { userId: id, verificationCode })
    expect(await idOf(verify("AAAAAA"))).toBe("user.code_wrong")
    await verify(code)
    expect((await emailOf(id)).isVerified).toBe(true)
    expect(await idOf(verify(code))).toBe("user.code_wrong")
    expect((await arrive(own)).sub).toBe(id)
  })

  test("may come without a password, by a passkey", async () => {
    const { id } = await register()
    const { passkeyId, publicKeyCredentialCreationOptions: options } = await page.call(
      `${users}/RegisterPasskey`,
      { userId: id, domain: new URL(issuer).hostname },
    )
    const key = makeKey(options.publicKey, manner)
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
    const credentialAssertionData = key.assertion(publicKey, manner)
    const kept = await page.check(asked, { webAuthN: { credentialAssertionData } })
    const { path, finish } = await app.begin()
    const { claims } = await finish(await page.finish(await page.open(path), kept))
    expect(claims).toMatchObject({ sub: id, amr: ["pop", "user", "mfa"] })
  })
})

test("who is invited shows the code once, chooses a password, and signs in", async () => {
  const { id } = await register()
  const { inviteCode } = await page.call(`${users}/CreateInviteCode`, {
    userId: id,
    verification: returnCode,
  })
  const verify = () =>
    page.call(`${users}/VerifyInviteCode`, { userId: id, verificationCode: inviteCode })
  await verify()
  expect(await idOf(verify())).not.toBe("done")
  expect((await emailOf(id)).isVerified).toBe(true)
  await setPassword(id, {}, own)
  expect((await arrive(own)).sub).toBe(id)
})

test("who forgot their password sets another by a code, once, and is signed out", async () => {
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
  expect((await arrive(fresh)).sub).toBe(id)
})
