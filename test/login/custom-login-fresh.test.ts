// A fresh sign-in that an application requires, on a custom login page, through a provider.
import { afterAll, beforeAll, expect, test } from "vitest"
import { createIdp } from "../../src/domain/idp/commands.ts"
import { browserOf, openProvider, type Provider, password } from "../oauth/provider.ts"
import {
  type Application,
  addCustomLoginApp,
  type CustomLoginPage,
  createCustomLoginPage,
} from "../support/custom-login-page.ts"
import { addLoginPageCaller } from "../support/operation-caller.ts"
import { openUpstream, type Upstream, upstreamIssuer } from "../support/upstream.ts"

let provider: Provider
let page: CustomLoginPage
let app: Application
let upstream: Upstream
let idpId: string
beforeAll(async () => {
  provider = await openProvider()
  page = createCustomLoginPage(await addLoginPageCaller(provider))
  app = await addCustomLoginApp(provider)
  upstream = await openUpstream()
  const { id } = await createIdp(provider.cx(), undefined, {
    name: "Acme",
    settings: {
      kind: "oidc",
      issuer: upstreamIssuer,
      clientId: "client",
      scopes: [],
      isIdTokenMapping: false,
      usePkce: true,
    },
    options: {
      isLinkingAllowed: true,
      isCreationAllowed: true,
      isAutoCreation: false,
      isAutoUpdate: false,
      autoLinking: "off",
    },
    secret: "s3cret",
  })
  idpId = id
})
afterAll(() => provider.close())

let userCount = 0

/** Adds a user with a linked account; returns both names. */
async function addLinked(): Promise<{ readonly name: string; readonly sub: string }> {
  const name = `fay-${++userCount}`
  const userId = await provider.addPerson(name)
  const idpLink = { idpId, userId: `sub-${name}`, userName: name }
  await page.call("user.v2.UserService/AddIDPLink", { userId, idpLink })
  return { name, sub: `sub-${name}` }
}

const seconds = (time: number) => Math.floor(time / 1000)

/** Returns from the provider, which states that time; returns the proof. */
async function checkByProvider(sub: string, authTime: number | undefined, more: object = {}) {
  upstream.overrides = authTime === undefined ? {} : { idToken: { auth_time: seconds(authTime) } }
  const outside = { outside: upstream.outside }
  const value = { successUrl: "https://login.example.net/ok", failureUrl: "https://x.example" }
  const content = { case: "urls", value }
  const request = { idpId, content, ...more }
  const name = "user.v2.UserService/StartIdentityProviderIntent"
  const { nextStep } = await page.call(name, request, outside)
  const browser = browserOf({ send: (path, init) => provider.send(path, init, outside) })
  provider.clock.advance(1)
  const { path } = await browser.go(upstream.signIn(nextStep.value, { sub, name: "Fay" }))
  const { id = "", token = "" } = Object.fromEntries(new URL(path).searchParams)
  return { authUrl: nextStep.value, idpIntent: { idpIntentId: id, idpIntentToken: token } }
}

async function createSessionByProvider(sub: string, authTime: number | undefined) {
  const { idpIntent } = await checkByProvider(sub, authTime)
  return page.call("session.v2.SessionService/CreateSession", { checks: { idpIntent } })
}

test("a time stated by the provider is the auth_time, and satisfies prompt=login", async () => {
  const { sub } = await addLinked()
  const { path, finish } = await app.begin({ prompt: "login" })
  const request = await page.open(path)
  const authTime = provider.clock.now()
  const kept = await createSessionByProvider(sub, authTime)
  const { claims } = await finish(await page.finish(request, kept))
  expect(claims).toMatchObject({ auth_time: seconds(authTime), amr: ["fed"] })
})

test.each([
  ["three hours old", 3 * 3_600_000],
  ["without a time", undefined],
])("a response %s does not, and a password then does", async (_, age) => {
  const { name, sub } = await addLinked()
  const { path, finish } = await app.begin({ max_age: "600" })
  const request = await page.open(path)
  const authTime = age === undefined ? undefined : provider.clock.now() - age
  const kept = await createSessionByProvider(sub, authTime)
  await expect(page.finish(request, kept)).rejects.toMatchObject({
    code: "failed_precondition",
    id: "auth_request.check_again",
  })
  provider.clock.advance(1000)
  const proved = await page.check(kept, { password: { password } })
  const { claims } = await finish(await page.finish(request, proved))
  expect(claims.auth_time).toBe(seconds(provider.clock.now()))
  expect(name).not.toBe("")
})

test("the application's requirement is forwarded if the page requests it", async () => {
  const { sub } = await addLinked()
  const signIn = {
    forceLogin: true,
    maxAge: { seconds: 600n, nanos: 0 },
    loginHint: "fay@example.com",
    acrValues: ["gold"],
  }
  const { authUrl } = await checkByProvider(sub, undefined, { signIn })
  const { searchParams } = new URL(authUrl)
  expect(Object.fromEntries(searchParams)).toMatchObject({
    prompt: "login",
    max_age: "600",
    login_hint: "fay@example.com",
  })
  expect(searchParams.has("acr_values")).toBe(false)
})

test.each([
  ["max_age", { maxAge: { seconds: -1n, nanos: 0 } }],
  ["login_hint", { loginHint: "x".repeat(201) }],
  ["acr_values", { acrValues: ["two words"] }],
])("a %s that can't be forwarded is rejected", async (field, signIn) => {
  await expect(checkByProvider("nobody", undefined, { signIn })).rejects.toMatchObject({
    violation: { field: `sign_in.${field}` },
  })
})
