// The access of an application is checked at every endpoint: earlier grants, consents and codes
// don't matter.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import { createApplication } from "../../src/domain/app/commands.ts"
import { proxiedCallback, updateApplication } from "../../src/domain/app/index.ts"
import { addAssignments, removeAssignments } from "../../src/domain/app-access/commands.ts"
import { addCustomLoginApp, createCustomLoginPage } from "../support/custom-login-page.ts"
import { addLoginPageCaller } from "../support/operation-caller.ts"
import { credentialsOf, exchangeGrant, typeOf } from "./exchange.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  password,
  redirectUri,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

const host = "wiki.example.com"

let provider: Provider
let pat: string
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  pat = await provider.addPerson("pat")
  client = await newClient()
})
afterAll(() => provider.close())

const assigned = { access: { rule: "assigned" } } as const
const limit = (appId: string) => updateApplication(provider.cx(), appId, assigned)
const subject = () => ({ userIds: [pat], groupIds: [] })
const assign = (appId = client.appId) => addAssignments(provider.cx(), appId, subject())
const unassign = (appId = client.appId) => removeAssignments(provider.cx(), appId, subject())

const newClient = (oidc: Parameters<Provider["addClient"]>[0] = {}) =>
  provider.addClient({
    grantTypes: ["authorization_code", "refresh_token", "device_code", "token_exchange"],
    redirectUris: [redirectUri, `https://${host}${proxiedCallback}`],
    ...oidc,
  })

beforeEach(async () => {
  await limit(client.appId)
  await assign()
})
afterEach(() => updateApplication(provider.cx(), client.appId, { access: { rule: "everyone" } }))

const scope = "openid profile offline_access"
const signIn = (changes: Record<string, string | undefined> = {}, of = client) =>
  browserOf(provider).signIn(authorizePath(of.id, { scope, ...changes }), "pat")
const codeOf = async (of = client) => String(responseOf(await signIn({}, of)).code)
const redeem = (code: string, of = client) =>
  sendTokenRequest(provider, codeFields(code), credentialsOf(of))
const tokens = async (of = client) => {
  const { status, answer } = await redeem(await codeOf(of), of)
  expect(status).toBe(200)
  return { access: String(answer.access_token), refresh: String(answer.refresh_token) }
}
const userinfo = async (token: string) => {
  const headers = { authorization: `Bearer ${token}` }
  return (await provider.send("/oidc/v1/userinfo", { headers })).status
}
const introspect = async (token: string, { id, secret }: NewClient = client) => {
  const headers = { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}` }
  const body = new URLSearchParams({ token })
  const answer = await provider.send("/oauth/v2/introspect", { method: "POST", body, headers })
  return Object(await answer.json()).active
}

test("authorization: shows a page with status 403; its button returns access_denied", async () => {
  expect((await signIn()).path).toContain("code=")
  await unassign()
  const browser = browserOf(provider)
  const page = await browser.signIn(authorizePath(client.id), "pat")
  expect(page.response.status).toBe(403)
  expect(page.page).toContain("This application is for selected users and groups")
  expect(page.page).toContain("Use another account")
  const silent = await browser.go(authorizePath(client.id, { prompt: "none" }))
  expect(responseOf(silent)).toMatchObject({ error: "access_denied", state: "s-1", iss: issuer })
  const back = await browser.post(page, { answer: "cancel" })
  expect(responseOf(back)).toMatchObject({ error: "access_denied", state: "s-1" })
})

test("authorization: the rule for users with a role has its own explanation", async () => {
  await updateApplication(provider.cx(), client.appId, { access: { rule: "role" } })
  const { response, page } = await signIn()
  expect(response.status).toBe(403)
  expect(page).toContain("This application is for users with a role")
})

test("authorization: a user who is signed in to another application is rejected", async () => {
  const open = await newClient()
  const browser = browserOf(provider)
  await browser.signIn(authorizePath(open.id), "pat")
  expect((await browser.go(authorizePath(client.id))).path).toContain("code=")
  await unassign()
  expect((await browser.go(authorizePath(client.id))).response.status).toBe(403)
})

test("authorization: earlier consent does not bypass the check", async () => {
  const browser = browserOf(provider)
  const nextPage = await browser.signIn(authorizePath(client.id, { prompt: "consent" }), "pat")
  await unassign()
  const refused = await browser.post(nextPage, { answer: "allow" })
  expect(refused.path).not.toContain("code=")
  expect(refused.response.status).toBe(403)
})

test("implicit: the response contains no token", async () => {
  const implicit = await newClient({
    grantTypes: ["implicit"],
    responseTypes: ["id_token_token"],
    authMethod: "none",
    appType: "user_agent",
  })
  await limit(implicit.appId)
  const noPkce = { code_challenge: undefined, code_challenge_method: undefined }
  const asking = { ...noPkce, response_type: "id_token token" }
  expect((await signIn(asking, implicit)).response.status).toBe(403)
  await assign(implicit.appId)
  const { path } = await signIn(asking, implicit)
  const token = new URLSearchParams(new URL(path).hash.slice(1)).get("access_token") ?? ""
  expect(await userinfo(token)).toBe(200)
  await unassign(implicit.appId)
  expect(await userinfo(token)).toBe(401)
})

test("code: an earlier code is rejected with invalid_grant", async () => {
  const code = await codeOf()
  await unassign()
  const { status, answer } = await redeem(code)
  expect([status, answer.error]).toEqual([400, "invalid_grant"])
})

test("refresh: rejected with invalid_grant, without consuming the token", async () => {
  const { refresh } = await tokens()
  const fields = { grant_type: "refresh_token", refresh_token: refresh }
  await unassign()
  const { status, answer } = await sendTokenRequest(provider, fields, credentialsOf(client))
  expect([status, answer.error]).toEqual([400, "invalid_grant"])
  await assign()
  expect((await sendTokenRequest(provider, fields, credentialsOf(client))).status).toBe(200)
})

test("userinfo and introspection: the token is not active", async () => {
  const { access } = await tokens()
  expect([await userinfo(access), await introspect(access)]).toEqual([200, true])
  await unassign()
  expect([await userinfo(access), await introspect(access)]).toEqual([401, false])
  await assign()
  expect([await userinfo(access), await introspect(access)]).toEqual([200, true])
})

test("introspection: a token is inactive if its user can't use the resource server", async () => {
  const open = await newClient()
  const cx = provider.cx()
  const appId = cx.ids.next()
  const createdApp = await createApplication(cx, appId, {
    projectId: provider.projectId,
    name: "API",
    ...assigned,
    config: { kind: "api", api: { authMethod: "basic" } },
  })
  const api = { appId, id: createdApp.clientId, secret: createdApp.secret ?? "" }
  const { access } = await tokens(open)
  expect(await introspect(access, api)).toBe(false)
  await assign(appId)
  expect(await introspect(access, api)).toBe(true)
  await unassign(appId)
  expect(await introspect(access, api)).toBe(false)
})

test("token exchange: the rule of the application that receives the token applies", async () => {
  const web = await newClient()
  const { access } = await tokens(web)
  const exchange = () =>
    sendTokenRequest(
      provider,
      {
        grant_type: exchangeGrant,
        subject_token: access,
        subject_token_type: typeOf("access_token"),
      },
      credentialsOf(client),
    )
  const first = await exchange()
  expect(first.status).toBe(200)
  await unassign()
  const { status, answer } = await exchange()
  expect([status, answer.error]).toEqual([400, "invalid_grant"])
  expect(await userinfo(String(first.answer.access_token))).toBe(401)
})

test("token exchange: an audience can't name an application that the user can't use", async () => {
  const [web, gateway] = [await newClient(), await newClient()]
  const { access } = await tokens(web)
  const exchange = (audience: string) =>
    sendTokenRequest(
      provider,
      {
        grant_type: exchangeGrant,
        subject_token: access,
        audience,
        subject_token_type: typeOf("access_token"),
      },
      credentialsOf(gateway),
    )
  expect((await exchange(web.id)).status).toBe(200)
  await limit(web.appId)
  // The token of the limited application also ends.
  expect((await exchange(web.id)).status).toBe(400)
  await assign(web.appId)
  expect((await exchange(web.id)).status).toBe(200)
})

test("device: neither the verification page nor an earlier approval grants access", async () => {
  const begin = async () => {
    const body = new URLSearchParams({ client_id: client.id, client_secret: client.secret, scope })
    const sent = await provider.send("/oauth/v2/device_authorization", { method: "POST", body })
    return Object(await sent.json())
  }
  const enter = async (userCode: string) => {
    const browser = browserOf(provider)
    const named = await browser.post(await browser.go("/device"), { userCode })
    const nextPage = await browser.post(named, { loginName: "pat" })
    return { browser, page: await browser.post(nextPage, { loginName: "pat", password }) }
  }
  const poll = (deviceCode: string) =>
    sendTokenRequest(
      provider,
      {
        grant_type: "urn:ietf:params:oauth:grant-type:device_code",
        device_code: deviceCode,
      },
      credentialsOf(client),
    )
  const before = await begin()
  const allowed = await enter(before.user_code)
  await allowed.browser.post(allowed.page, { answer: "allow" })
  await unassign()
  const pollResult = await poll(before.device_code)
  expect([pollResult.status, pollResult.answer.error]).toEqual([400, "invalid_grant"])
  const after = await begin()
  expect((await enter(after.user_code)).page.response.status).toBe(403)
  expect((await poll(after.device_code)).answer.error).toBe("authorization_pending")
})

test("forward auth: 403 for a user who is signed in, and never a redirect", async () => {
  const ask = (at: string, headers: Record<string, string>) =>
    provider.send(`/forward-auth/id.example.com/${client.id}${at}`, {
      headers: {
        accept: "text/html",
        "x-forwarded-host": host,
        "x-forwarded-uri": "/",
        "x-forwarded-method": "GET",
        ...headers,
      },
    })
  const cookiesOf = (answer: Response) =>
    answer.headers
      .getSetCookie()
      .map((line) => line.split(";")[0])
      .join("; ")
  const challenge = await ask("", {})
  const to = new URL(challenge.headers.get("location") ?? "", issuer)
  const visited = await browserOf(provider).signIn(to.pathname + to.search, "pat")
  const back = new URL(visited.path)
  const target = back.pathname + back.search
  const cookie = cookiesOf(
    await ask("", { cookie: cookiesOf(challenge), "x-forwarded-uri": target }),
  )
  expect((await ask("", { cookie })).status).toBe(200)
  await unassign()
  const refused = await ask("", { cookie })
  expect([refused.status, refused.headers.get("location")]).toEqual([403, null])
  expect(await refused.text()).toContain("/forward-auth/refused?")
  for (const at of ["/check", "/ask"]) {
    expect([at, (await ask(at, { cookie })).status]).toEqual([at, 403])
  }
  expect((await ask("", { cookie, accept: "application/json" })).status).toBe(403)
  await assign()
  expect((await ask("", { cookie })).status).toBe(200)
})

test("a custom login page can't complete the request of a user without access", async () => {
  const page = createCustomLoginPage(await addLoginPageCaller(provider))
  const app = await addCustomLoginApp(provider)
  await limit(app.appId)
  const session = await page.signIn("pat", password)
  const { path, finish } = await app.begin()
  const request = await page.open(path)
  await expect(page.finish(request, session)).rejects.toMatchObject({ id: "auth_request.barred" })
  await assign(app.appId)
  const { claims } = await finish(await page.finish(request, session))
  expect(claims.sub).toBe(pat)
})
