// A fresh sign-in that an application requires, on a login page of somebody else, by a provider.
import { afterAll, beforeAll, expect, test } from "vitest"
import { addIdp } from "../../src/domain/idp/commands.ts"
import { browserOf, openProvider, type Provider, password } from "../oauth/provider.ts"
import {
  type Application,
  applicationAt,
  type CustomLogin,
  customLogin,
} from "../support/custom-login.ts"
import { openLoginPage } from "../support/login-page.ts"
import { openUpstream, type Upstream, upstreamIssuer } from "../support/upstream.ts"

let provider: Provider
let page: CustomLogin
let app: Application
let upstream: Upstream
let idpId: string
beforeAll(async () => {
  provider = await openProvider()
  page = customLogin(await openLoginPage(provider))
  app = await applicationAt(provider)
  upstream = await openUpstream()
  const { id } = await addIdp(provider.cx(), undefined, {
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

let people = 0

/** Somebody whom the provider knows, too; answers their name here and the one there. */
async function addLinked(): Promise<{ readonly name: string; readonly sub: string }> {
  const name = `fay-${++people}`
  const userId = await provider.addPerson(name)
  const idpLink = { idpId, userId: `sub-${name}`, userName: name }
  await page.call("user.v2.UserService/AddIDPLink", { userId, idpLink })
  return { name, sub: `sub-${name}` }
}

const seconds = (time: number) => Math.floor(time / 1000)

/** Comes back from the provider, which states that time; answers what proves it. */
async function byProvider(sub: string, authTime: number | undefined, more: object = {}) {
  upstream.lies = authTime === undefined ? {} : { idToken: { auth_time: seconds(authTime) } }
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

async function sessionBy(sub: string, authTime: number | undefined) {
  const { idpIntent } = await byProvider(sub, authTime)
  return page.call("session.v2.SessionService/CreateSession", { checks: { idpIntent } })
}

test("a time that the provider states is the auth_time, and satisfies prompt=login", async () => {
  const { sub } = await addLinked()
  const { path, finish } = await app.begin({ prompt: "login" })
  const request = await page.open(path)
  const authTime = provider.clock.now()
  const kept = await sessionBy(sub, authTime)
  const { claims } = await finish(await page.finish(request, kept))
  expect(claims).toMatchObject({ auth_time: seconds(authTime), amr: ["fed"] })
})

test.each([
  ["three hours old", 3 * 3_600_000],
  ["without a time", undefined],
])("an answer %s does not, and a password then does", async (_, age) => {
  const { name, sub } = await addLinked()
  const { path, finish } = await app.begin({ max_age: "600" })
  const request = await page.open(path)
  const authTime = age === undefined ? undefined : provider.clock.now() - age
  const kept = await sessionBy(sub, authTime)
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

test("what the application requires is forwarded where the page says so", async () => {
  const { sub } = await addLinked()
  const signIn = {
    forceLogin: true,
    maxAge: { seconds: 600n, nanos: 0 },
    loginHint: "fay@example.com",
    acrValues: ["gold"],
  }
  const { authUrl } = await byProvider(sub, undefined, { signIn })
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
])("a %s that could not be forwarded is refused", async (field, signIn) => {
  await expect(byProvider("nobody", undefined, { signIn })).rejects.toMatchObject({
    violation: { field: `sign_in.${field}` },
  })
})
