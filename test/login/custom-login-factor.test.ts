// Second factors that a custom login page must check, like ours.
import { TOTP } from "otpauth"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { registerTotp, verifyTotp } from "../../src/domain/factor/totp.ts"
import { addMember } from "../../src/domain/member/index.ts"
import { changePolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import { openProvider, type Provider, password } from "../oauth/provider.ts"
import {
  type Application,
  addCustomLoginApp,
  type CustomLoginPage,
  createCustomLoginPage,
} from "../support/custom-login-page.ts"
import { addLoginPageCaller } from "../support/operation-caller.ts"

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
let id: string
let secret: string
beforeEach(async () => {
  name = `fay-${++userCount}`
  id = await provider.addPerson(name)
  provider.clock.advance(60_000)
})

const codeAt = (late = 0) =>
  new TOTP({ secret }).generate({ timestamp: provider.clock.now() + late * 30_000 })

async function setUpTotp(): Promise<void> {
  const made = await registerTotp(provider.cx(), id, { issuer: "Home", label: name })
  secret = made.secret
  await verifyTotp(provider.cx(), id, codeAt(-1))
}

const beginSignIn = async (parameters: Record<string, string> = {}) => {
  const { path, finish } = await app.begin(parameters)
  return { finish, request: await page.open(path) }
}
const idOf = (end: Promise<unknown>) => end.then(() => "done").catch(({ id: why }) => why)

test("a user with a second factor gets no further with the password alone", async () => {
  await setUpTotp()
  const kept = await page.signIn(name, password)
  const { request, finish } = await beginSignIn({ acr_values: "1 2" })
  expect(await idOf(page.finish(request, kept))).toBe("auth_request.factor_missing")
  const both = await page.check(kept, { totp: { code: codeAt() } })
  const { claims } = await finish(await page.finish(request, both))
  expect(claims).toMatchObject({ sub: id, acr: "2", amr: ["pwd", "otp", "mfa"] })
})

test("a second factor is valid as long as the policy allows", async () => {
  await setUpTotp()
  const kept = await page.check(await page.signIn(name, password), { totp: { code: codeAt() } })
  const { secondFactorCheckLifetime } = login.standard
  provider.clock.advance((secondFactorCheckLifetime - 60) * 1000)
  const first = await beginSignIn()
  expect(await idOf(page.finish(first.request, kept))).toBe("done")
  provider.clock.advance(61_000)
  const { request, finish } = await beginSignIn()
  expect(await idOf(page.finish(request, kept))).toBe("auth_request.factor_missing")
  const again = await page.check(kept, { totp: { code: codeAt() } })
  expect((await finish(await page.finish(request, again))).claims.sub).toBe(id)
})

test("if one is required, a user without one signs in after setup and check", async () => {
  const force = (forceMfa: boolean) =>
    changePolicy(provider.cx(), undefined, { policy: login, apply: () => ({ forceMfa }) })
  const kept = await page.signIn(name, password)
  await force(true)
  const { request, finish } = await beginSignIn()
  expect(await idOf(page.finish(request, kept))).toBe("auth_request.factor_unset")
  await setUpTotp()
  expect(await idOf(page.finish(request, kept))).toBe("auth_request.factor_missing")
  const both = await page.check(kept, { totp: { code: codeAt() } })
  expect((await finish(await page.finish(request, both))).claims.sub).toBe(id)
  await force(false)
})

test("if administrators need one, a new administrator signs in after a check", async () => {
  const say = (forceMfaManagers: boolean) =>
    changePolicy(provider.cx(), undefined, { policy: login, apply: () => ({ forceMfaManagers }) })
  await say(true)
  const kept = await page.signIn(name, password)
  const first = await beginSignIn()
  expect(await idOf(page.finish(first.request, kept))).toBe("done")
  await provider
    .cx()
    .store.transact(provider.cx(), (tx) =>
      addMember(tx, { userId: id, target: { level: "instance" }, roles: ["IAM_OWNER_VIEWER"] }),
    )
  const { request, finish } = await beginSignIn()
  expect(await idOf(page.finish(request, kept))).toBe("auth_request.factor_unset")
  await setUpTotp()
  const both = await page.check(kept, { totp: { code: codeAt() } })
  expect((await finish(await page.finish(request, both))).claims.sub).toBe(id)
  await say(false)
})

test("a device requires the same", async () => {
  await setUpTotp()
  const tv = await addCustomLoginApp(provider, { grantTypes: ["device_code"] })
  const body = new URLSearchParams({ client_id: tv.id, client_secret: tv.secret, scope: "openid" })
  const answer = await provider.send("/oauth/v2/device_authorization", { method: "POST", body })
  const waiting = await page.device((await answer.json()).user_code)
  const kept = await page.signIn(name, password)
  const decide = (value: object) => idOf(page.decide(waiting, { case: "session", value }))
  expect(await decide(kept)).toBe("auth_request.factor_missing")
  expect(await decide(await page.check(kept, { totp: { code: codeAt() } }))).toBe("done")
})
