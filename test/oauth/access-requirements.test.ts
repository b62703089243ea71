// What an application requires of a sign-in: a second factor, its age, the browser's network.
import { TOTP } from "otpauth"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createApplication } from "../../src/domain/app/commands.ts"
import { proxiedCallback, updateApplication } from "../../src/domain/app/index.ts"
import { registerTotp, verifyTotp } from "../../src/domain/factor/totp.ts"
import type { AddressSource } from "../../src/kernel/context.ts"
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
const scope = "openid profile offline_access"

let provider: Provider
let pat: string
/** An application without requirements. */
let open: NewClient
let client: NewClient
beforeEach(async () => {
  provider = await openProvider()
  pat = await provider.addPerson("pat")
  open = await newClient()
  client = await newClient()
})
afterEach(() => provider.close())

const newClient = () =>
  provider.addClient({
    grantTypes: ["authorization_code", "refresh_token", "token_exchange"],
    redirectUris: [redirectUri, `https://${host}${proxiedCallback}`],
  })

type Access = NonNullable<Parameters<typeof updateApplication>[2]["access"]>
const setAccess = (access: Access, { appId } = client) =>
  updateApplication(provider.cx(), appId, { access })

const path = (changes = {}, of = client) => authorizePath(of.id, { scope, ...changes })

async function tokensOf(code: unknown, of = client) {
  const { status, answer } = await sendTokenRequest(
    provider,
    codeFields(String(code)),
    credentialsOf(of),
  )
  expect(status).toBe(200)
  const [, body = ""] = String(answer.id_token).split(".")
  const claims = JSON.parse(Buffer.from(body, "base64url").toString())
  return { access: String(answer.access_token), refresh: String(answer.refresh_token), claims }
}

const refresh = async (token: string, of = client) => {
  const fields = { grant_type: "refresh_token", refresh_token: token }
  const { status, answer } = await sendTokenRequest(provider, fields, credentialsOf(of))
  return { status, error: answer.error, refresh: String(answer.refresh_token) }
}

const userinfo = async (token: string) => {
  const headers = { authorization: `Bearer ${token}` }
  return (await provider.send("/oidc/v1/userinfo", { headers })).status
}

const introspect = async (token: string, of: NewClient) => {
  const headers = { authorization: `Basic ${Buffer.from(credentialsOf(of)).toString("base64")}` }
  const init = { method: "POST", body: new URLSearchParams({ token }), headers }
  return Object(await (await provider.send("/oauth/v2/introspect", init)).json()).active
}

const exchange = (token: string, of = client, fields = {}) =>
  sendTokenRequest(
    provider,
    {
      grant_type: exchangeGrant,
      subject_token: token,
      ...fields,
      subject_token_type: typeOf("access_token"),
    },
    credentialsOf(of),
  )

describe("a second factor", () => {
  beforeEach(async () => void (await setAccess({ secondFactor: true })))

  const codeOf = (secret: string, steps = 0) =>
    new TOTP({ secret }).generate({ timestamp: provider.clock.now() + steps * 30_000 })

  async function withTotp(): Promise<string> {
    const { secret } = await registerTotp(provider.cx(), pat, { issuer: "Home", label: "pat" })
    await verifyTotp(provider.cx(), pat, codeOf(secret, -1))
    return secret
  }

  test("must be set up by users without one, only for this application", async () => {
    const browser = browserOf(provider)
    expect((await browser.signIn(path({}, open), "pat")).path).toContain("code=")
    const page = await browser.go(path())
    expect(page.path).toContain("/ui/login/mfa/set")
    expect(page.page).not.toContain('value="skip"')
    expect(page.page).toContain("Example App requires a second factor")
    expect(responseOf(await browser.go(path({ prompt: "none" }))).error).toBe("login_required")
    expect((await browser.go(path({}, open))).path).toContain("code=")
  })

  test("is requested once in a session, and the tokens contain it", async () => {
    const secret = await withTotp()
    const browser = browserOf(provider)
    const page = await browser.signIn(path({ acr_values: "2" }), "pat")
    expect(page.path).toContain("/ui/login/mfa/verify")
    const { code } = responseOf(await browser.post(page, { code: codeOf(secret) }))
    const { claims } = await tokensOf(code)
    expect([claims.amr, claims.acr]).toEqual([["pwd", "otp", "mfa"], "2"])
    expect(responseOf(await browser.go(path({ prompt: "none" })))).toHaveProperty("code")
  })

  test("immediately ends grants without it", async () => {
    await setAccess({ secondFactor: false })
    const { code } = responseOf(await browserOf(provider).signIn(path(), "pat"))
    const tokens = await tokensOf(code)
    await setAccess({ secondFactor: true })
    expect(await userinfo(tokens.access)).toBe(401)
    expect(await refresh(tokens.refresh)).toMatchObject({ status: 400, error: "invalid_grant" })
    await setAccess({ secondFactor: false })
    expect(await userinfo(tokens.access)).toBe(200)
  })

  test("can't be bypassed with an earlier code", async () => {
    await setAccess({ secondFactor: false })
    const { code = "" } = responseOf(await browserOf(provider).signIn(path(), "pat"))
    await setAccess({ secondFactor: true })
    const { status, answer } = await sendTokenRequest(
      provider,
      codeFields(code),
      credentialsOf(client),
    )
    expect([status, answer.error]).toEqual([400, "invalid_grant"])
  })

  test("is required of a token of another application that is exchanged", async () => {
    const { code } = responseOf(await browserOf(provider).signIn(path({}, open), "pat"))
    const { access } = await tokensOf(code, open)
    const { status, answer } = await exchange(access)
    expect([status, answer.error]).toEqual([400, "invalid_grant"])
    await setAccess({ secondFactor: false })
    expect((await exchange(access)).status).toBe(200)
  })

  test("is required by a resource server that introspects tokens", async () => {
    const cx = provider.cx()
    const appId = cx.ids.next()
    const createdApp = await createApplication(cx, appId, {
      projectId: provider.projectId,
      name: "API",
      config: { kind: "api", api: { authMethod: "basic" } },
    })
    const api = { appId, id: createdApp.clientId, secret: createdApp.secret ?? "" }
    const { code } = responseOf(await browserOf(provider).signIn(path({}, open), "pat"))
    const { access } = await tokensOf(code, open)
    expect(await introspect(access, api)).toBe(true)
    await setAccess({ secondFactor: true }, api)
    expect(await introspect(access, api)).toBe(false)
  })

  test("is required of a custom login page", async () => {
    const page = createCustomLoginPage(await addLoginPageCaller(provider))
    const app = await addCustomLoginApp(provider)
    await setAccess({ secondFactor: true }, app)
    const session = await page.signIn("pat", password)
    const request = await page.open((await app.begin()).path)
    await expect(page.finish(request, session)).rejects.toMatchObject({
      id: "auth_request.factor_unset",
    })
  })
})

describe("the age of the sign-in", () => {
  beforeEach(async () => void (await setAccess({ maxAge: 3600 })))

  test("is limited only for this application", async () => {
    const browser = browserOf(provider)
    await browser.signIn(path({}, open), "pat")
    provider.clock.advance(3_600_000)
    expect((await browser.go(path())).path).toContain("code=")
    provider.clock.advance(1000)
    const passwordPage = await browser.go(path())
    expect(passwordPage.path).toContain("/ui/login/password")
    expect(passwordPage.page).toContain("Example App requires a recent sign-in.")
    expect(responseOf(await browser.go(path({ prompt: "none" }))).error).toBe("login_required")
    expect((await browser.go(path({}, open))).path).toContain("code=")
    // max_age of the request applies if it is smaller.
    expect((await browser.go(path({ max_age: "10" }, open))).path).toContain("/ui/login/password")
  })

  test("starts at the sign-in and is not extended by refreshing tokens", async () => {
    const browser = browserOf(provider)
    const { code } = responseOf(await browser.signIn(path(), "pat"))
    const { access, refresh: first, claims } = await tokensOf(code)
    provider.clock.advance(1_800_000)
    const second = await refresh(first)
    expect(second.status).toBe(200)
    provider.clock.advance(1_799_000)
    expect(await userinfo(access)).toBe(200)
    provider.clock.advance(2000)
    expect(await userinfo(access)).toBe(401)
    expect(await refresh(second.refresh)).toMatchObject({ status: 400, error: "invalid_grant" })
    const again = await browser.post(await browser.go(path()), { loginName: "pat", password })
    const renewed = await tokensOf(responseOf(again).code)
    expect(renewed.claims.auth_time - claims.auth_time).toBe(3601)
    expect(await userinfo(renewed.access)).toBe(200)
  })

  test("is that of the exchanged token's sign-in", async () => {
    const { code } = responseOf(await browserOf(provider).signIn(path({}, open), "pat"))
    const { access } = await tokensOf(code, open)
    provider.clock.advance(3_000_000)
    const exchanged = await exchange(access)
    expect(exchanged.status).toBe(200)
    provider.clock.advance(700_000)
    expect(await userinfo(String(exchanged.answer.access_token))).toBe(401)
    expect((await exchange(access)).answer.error).toBe("invalid_grant")
  })
})

describe("networks", () => {
  const inside = "192.168.1.20"
  const outside = "203.0.113.7"
  const networks = ["192.168.1.0/24", "2001:db8::/32"]
  beforeEach(async () => void (await setAccess({ networks })))

  /** Sends requests as a browser at an address. */
  const from = (address: string, addressSource: AddressSource = "connection") => {
    const send: Provider["send"] = (to, init) =>
      provider.send(to, init, { from: { address, addressSource, userAgent: "" } })
    return { ...provider, send }
  }

  test.each([inside, "2001:db8::1", "::ffff:192.168.1.9"])("admit a browser in %s", async (at) => {
    expect((await browserOf(from(at)).signIn(path(), "pat")).path).toContain("code=")
  })

  test.each<[string, AddressSource]>([
    [outside, "connection"],
    ["2001:db9::1", "trusted proxy"],
    ["unix:", "connection"],
    // The address of an untrusted proxy is not the browser's.
    [inside, "unknown proxy"],
  ])("reject a browser at %s (%s)", async (at, source) => {
    const browser = browserOf(from(at, source))
    const page = await browser.signIn(path(), "pat")
    expect(page.response.status).toBe(403)
    expect(page.page).toContain("be used from the network that you are in")
    expect(responseOf(await browser.go(path({ prompt: "none" }))).error).toBe("access_denied")
    expect((await browser.go(path({}, open))).path).toContain("code=")
  })

  test("apply only to browsers: a server can refresh tokens from anywhere", async () => {
    const { code } = responseOf(await browserOf(from(inside)).signIn(path(), "pat"))
    const tokens = await tokensOf(code)
    expect((await refresh(tokens.refresh)).status).toBe(200)
  })

  test("are checked before redirecting to a custom login page", async () => {
    const page = createCustomLoginPage(await addLoginPageCaller(provider))
    const app = await addCustomLoginApp(provider)
    await setAccess({ networks }, app)
    const refused = await browserOf(from(outside)).go(authorizePath(app.id))
    expect(refused.response.status).toBe(403)
    const silent = await browserOf(from(outside)).go(authorizePath(app.id, { prompt: "none" }))
    expect(responseOf(silent).error).toBe("access_denied")
    const { path: address, finish } = await app.begin({}, browserOf(from(inside)))
    const session = await page.signIn("pat", password)
    const { claims } = await finish(await page.finish(await page.open(address), session))
    expect(claims.sub).toBe(pat)
  })

  test("apply to the visitor's address in forward auth, never to the proxy's", async () => {
    const ask = (at: string, source: AddressSource, headers: Record<string, string>) =>
      from(at, source).send(`/forward-auth/id.example.com/${client.id}`, {
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
    const challenge = await ask(inside, "trusted proxy", {})
    const to = new URL(challenge.headers.get("location") ?? "", issuer)
    const visited = await browserOf(from(inside)).signIn(to.pathname + to.search, "pat")
    const back = new URL(visited.path)
    const target = back.pathname + back.search
    const callbackHeaders = { cookie: cookiesOf(challenge), "x-forwarded-uri": target }
    const cookie = cookiesOf(await ask(inside, "trusted proxy", callbackHeaders))
    expect((await ask(inside, "trusted proxy", { cookie })).status).toBe(200)
    for (const [at, source] of [
      [outside, "trusted proxy"],
      [inside, "connection"],
      [inside, "unknown proxy"],
    ] as const) {
      const refused = await ask(at, source, { cookie })
      expect([at, source, refused.status]).toEqual([at, source, 403])
      expect(await refused.text()).toContain("why=network")
    }
  })
})
