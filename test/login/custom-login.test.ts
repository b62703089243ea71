// A custom login page, built with the v2 services alone; see custom-login-page.ts.
import * as client from "openid-client"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { setInstanceFeatures } from "../../src/domain/feature/index.ts"
import { requireInstance } from "../../src/domain/instance/index.ts"
import { Prompt } from "../../src/gen/core/oidc/v2/authorization_pb.ts"
import {
  authorizePath,
  browserOf,
  issuer,
  openProvider,
  type Provider,
  password,
  redirectUri,
  signedOutUri,
} from "../oauth/provider.ts"
import {
  type Application,
  addCustomLoginApp,
  type CustomLoginPage,
  createCustomLoginPage,
  pageUri,
} from "../support/custom-login-page.ts"
import { addLoginPageCaller } from "../support/operation-caller.ts"

const wrong = "Wrong-Horse-8"

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
beforeEach(async () => {
  name = `carl-${++userCount}`
  id = await provider.addPerson(name)
  provider.clock.advance(1000)
})

describe("a sign-in with a password", () => {
  test("redirects to the page and back, and states what was checked", async () => {
    const { path, finish } = await app.begin({ acr_values: "1", ui_locales: "de en" })
    expect(path.startsWith(`${pageUri}/login?authRequest=V2_`)).toBe(true)
    const request = await page.open(path)
    expect(request).toMatchObject({
      clientId: app.id,
      redirectUri,
      uiLocales: ["de", "en"],
      prompt: [],
      scope: ["openid", "profile", "email"],
    })
    const kept = await page.signIn(name, password)
    const { claims, tokens } = await finish(await page.finish(request, kept))
    expect(claims).toMatchObject({ sub: id, amr: ["pwd"], sid: kept.sessionId })
    expect(claims.auth_time).toBe(Math.floor(provider.clock.now() / 1000))
    const told = await client.fetchUserInfo(app.configuration(), tokens.access_token, id)
    expect(told).toMatchObject({ sub: id, email: `${name}@example.org` })
  })

  test("fails if it is wrong, and continues with the right one", async () => {
    const { path, finish } = await app.begin()
    const request = await page.open(path)
    const tried = page.signIn(name, wrong)
    await expect(tried).rejects.toMatchObject({ id: "session.password_wrong" })
    const unknown = page.signIn(`no-${name}`, password)
    await expect(unknown).rejects.toMatchObject({ id: "session.password_wrong" })
    const { claims } = await finish(await page.finish(request, await page.signIn(name, password)))
    expect(claims.sub).toBe(id)
  })

  test("is reused for the next application", async () => {
    const kept = await page.signIn(name, password)
    for (let count = 0; count < 2; count++) {
      const { path, finish } = await app.begin()
      const { claims } = await finish(await page.finish(await page.open(path), kept))
      expect(claims.sub).toBe(id)
    }
  })

  test("has a refresh token, and ends with the session", async () => {
    const offline = await addCustomLoginApp(provider, {
      grantTypes: ["authorization_code", "refresh_token"],
    })
    const { path, finish } = await offline.begin({ scope: "openid offline_access" })
    const kept = await page.signIn(name, password)
    const { tokens } = await finish(await page.finish(await page.open(path), kept))
    const config = offline.configuration()
    const fresh = await client.refreshTokenGrant(config, tokens.refresh_token ?? "")
    await client.fetchUserInfo(config, fresh.access_token, id)
    await page.end(kept)
    await expect(client.fetchUserInfo(config, fresh.access_token, id)).rejects.toThrow()
  })
})

describe("the parameters of an authorization request", () => {
  const signedIn = async (parameters: Record<string, string>, as = name) => {
    const kept = await page.signIn(as, password)
    provider.clock.advance(60_000)
    const begun = await app.begin(parameters)
    return { ...begun, kept, request: await page.open(begun.path) }
  }

  test.each([{ prompt: "login" }, { max_age: "30" }, { max_age: "0" }])(
    "reject an older sign-in: %j",
    async (parameters) => {
      const { kept, request, finish } = await signedIn(parameters)
      const early = page.finish(request, kept)
      await expect(early).rejects.toMatchObject({ id: "auth_request.check_again" })
      provider.clock.advance(1)
      const again = await page.check(kept, { password: { password } })
      const { claims } = await finish(await page.finish(request, again))
      expect(claims.auth_time).toBe(Math.floor(provider.clock.now() / 1000))
    },
  )

  test("accept a recent sign-in", async () => {
    const { kept, request, finish } = await signedIn({ max_age: "90" })
    expect((await finish(await page.finish(request, kept))).claims.sub).toBe(id)
  })

  test("select among the page's sessions", async () => {
    const other = await provider.addPerson(`second-${name}`)
    const first = await page.signIn(name, password)
    const second = await page.signIn(`second-${name}`, password)
    const { path, finish } = await app.begin({ prompt: "select_account" })
    const request = await page.open(path)
    expect(request.prompt).toEqual([Prompt.SELECT_ACCOUNT])
    expect((await finish(await page.finish(request, second))).claims.sub).toBe(other)
    const again = await app.begin({ prompt: "select_account", login_hint: name })
    const hinted = await page.open(again.path)
    expect(hinted.loginHint).toBe(name)
    expect((await again.finish(await page.finish(hinted, first))).claims.sub).toBe(id)
  })

  test("with prompt=none use a session, or return an error", async () => {
    const { kept, request, finish } = await signedIn({ prompt: "none" })
    expect(request.prompt).toEqual([Prompt.NONE])
    expect((await finish(await page.finish(request, kept))).claims.sub).toBe(id)
    const silent = await app.begin({ prompt: "none" })
    const error = { error: 9, errorDescription: "nobody is signed in" }
    const url = await page.refuse(await page.open(silent.path), error)
    await expect(silent.finish(url)).rejects.toMatchObject({
      error: "login_required",
      error_description: "nobody is signed in",
    })
  })

  test("with id_token_hint accept only that user", async () => {
    const kept = await page.signIn(name, password)
    const first = await app.begin()
    const { tokens } = await first.finish(await page.finish(await page.open(first.path), kept))
    await provider.addPerson(`else-${name}`)
    const other = await page.signIn(`else-${name}`, password)
    const { path, finish } = await app.begin({ id_token_hint: tokens.id_token ?? "" })
    const request = await page.open(path)
    expect(request.hintUserId).toBe(id)
    const wrongOne = page.finish(request, other)
    await expect(wrongOne).rejects.toMatchObject({ id: "auth_request.other_person" })
    expect((await finish(await page.finish(request, kept))).claims.sub).toBe(id)
  })

  test("with prompt=consent require the page's statement", async () => {
    const kept = await page.signIn(name, password)
    const { path, finish } = await app.begin({ prompt: "consent" })
    const request = await page.open(path)
    expect(request.prompt).toEqual([Prompt.CONSENT])
    const before = provider.store.log.durable()
    await finish(await page.finish(request, kept))
    const types = (await provider.store.log.read(before, 50)).map(({ type }) => type)
    expect(types).toContain("auth_request.consent.given")
  })

  test("choose the response mode, form_post or fragment", async () => {
    const implicit = await addCustomLoginApp(provider, {
      grantTypes: ["implicit"],
      responseTypes: ["id_token"],
    })
    const kept = await page.signIn(name, password)
    const hybrid = await implicit.begin({ response_type: "id_token" })
    const url = new URL(await page.finish(await page.open(hybrid.path), kept))
    expect(new URLSearchParams(url.hash.slice(1)).get("id_token")).toMatch(/^ey/)
    const posting = await app.begin({ response_mode: "form_post" })
    const ours = new URL(await page.finish(await page.open(posting.path), kept))
    expect(ours.origin + ours.pathname).toBe(`${issuer}/oauth/v2/authorize/callback`)
    const shown = await (await provider.send(ours.pathname + ours.search)).text()
    expect(shown).toContain(`action="${redirectUri}"`)
    expect(shown).toContain(`value="${posting.state}"`)
    const changed = await provider.send(`${ours.pathname}${ours.search}x`)
    expect(await changed.text()).not.toContain(redirectUri)
    provider.clock.advance(60_000)
    const late = await provider.send(ours.pathname + ours.search)
    expect(await late.text()).not.toContain(redirectUri)
  })
})

describe("a device", () => {
  const begin = async () => {
    const tv = await addCustomLoginApp(provider, { grantTypes: ["device_code"] })
    const begun = await client.initiateDeviceAuthorization(tv.configuration(), { scope: "openid" })
    const fetchTokens = () =>
      client.genericGrantRequest(
        tv.configuration(),
        "urn:ietf:params:oauth:grant-type:device_code",
        { device_code: begun.device_code },
      )
    return { tv, begun, fetchTokens }
  }

  test("shows the page, is found there by its code, and is authorized", async () => {
    const { tv, begun, fetchTokens } = await begin()
    expect(begun.verification_uri).toBe(`${pageUri}/device`)
    const waiting = await page.device(begun.user_code)
    expect(waiting).toMatchObject({
      clientId: tv.id,
      appName: "Example App",
      projectName: "Applications",
      scope: ["openid"],
    })
    const value = await page.signIn(name, password)
    await page.decide(waiting, { case: "session", value })
    expect((await fetchTokens()).id_token).toMatch(/^ey/)
    const again = page.decide(waiting, { case: "session", value })
    await expect(again).rejects.toMatchObject({ id: "device.missing" })
  })

  test("is denied, and notified", async () => {
    const { begun, fetchTokens } = await begin()
    await page.decide(await page.device(begun.user_code), { case: "deny", value: {} })
    await expect(fetchTokens()).rejects.toMatchObject({ error: "access_denied" })
  })

  test("is not found by a wrong code, or decided by another ID", async () => {
    await expect(page.device("BCDF-GHJK")).rejects.toMatchObject({ id: "device.missing" })
    const { begun } = await begin()
    const { id: handle } = await page.device(begun.user_code)
    const value = await page.signIn(name, password)
    for (const bad of ["1", `${handle}A`, handle.slice(0, -2)]) {
      const tried = page.decide({ id: bad }, { case: "session", value })
      await expect(tried).rejects.toMatchObject({ id: "device.missing" })
    }
    const old = page.decide(
      { id: handle },
      { case: "session", value: { ...value, sessionToken: "x" } },
    )
    await expect(old).rejects.toMatchObject({ id: "session.token_wrong" })
    provider.clock.advance(301_000)
    await expect(page.device(begun.user_code)).rejects.toMatchObject({ id: "device.missing" })
  })
})

test("a sign-out of the application ends the session that the page keeps", async () => {
  const { path, finish } = await app.begin()
  const kept = await page.signIn(name, password)
  const { tokens } = await finish(await page.finish(await page.open(path), kept))
  const url = client.buildEndSessionUrl(app.configuration(), {
    id_token_hint: tokens.id_token ?? "",
    post_logout_redirect_uri: signedOutUri,
  })
  const end = await browserOf(provider).go(url.pathname + url.search)
  expect(end.path).toBe(signedOutUri)
  await expect(page.finish(await page.open((await app.begin()).path), kept)).rejects.toThrow()
})

test("a sign-out without a session is handled by the page", async () => {
  const url = client.buildEndSessionUrl(app.configuration(), {
    post_logout_redirect_uri: signedOutUri,
    state: "s",
    ui_locales: "de",
  })
  const browser = browserOf(provider)
  await browser.signIn("/ui/login", name)
  const end = await browser.go(url.pathname + url.search)
  const query = { post_logout_redirect: `${signedOutUri}?state=s`, ui_locales: "de" }
  expect(end.path).toBe(`${pageUri}/logout?${new URLSearchParams(query)}`)
  expect((await browser.go("/ui/login/signedin")).page).toContain("Pat Person")
  const open = new URL(url)
  open.searchParams.set("post_logout_redirect_uri", "https://evil.example/")
  const refused = await browser.go(open.pathname + open.search)
  expect(refused.response.status).toBe(400)
})

describe("the page that serves an application", () => {
  const feature = (required: boolean, baseUri?: string) =>
    setInstanceFeatures(provider.cx(), {
      login_v2: { required, ...(baseUri !== undefined && { baseUri }) },
    })
  const reached = async (clientId: string, path = authorizePath(clientId)) =>
    (await browserOf(provider).go(path)).path

  test("is the application's, else the instance's if it applies, else ours", async () => {
    const plain = await provider.addClient()
    const v2 = await provider.addClient({ loginVersion: { version: "v2", baseUri: "" } })
    const all = async () => [await reached(plain.id), await reached(v2.id), await reached(app.id)]
    const ours = /^\/ui\/login\//
    const theirs = new RegExp(`^${pageUri}/login`)
    const instances = /^https:\/\/all\.example\.net\/login\?authRequest=V2_/
    const seen = [await all()]
    await feature(false, "https://all.example.net/")
    seen.push(await all())
    await feature(true, "https://all.example.net/")
    seen.push(await all())
    const wanted = [
      [ours, ours, theirs],
      [ours, instances, theirs],
      [instances, instances, theirs],
    ]
    seen.forEach((row, at) => {
      row.forEach((path, column) => {
        expect(path).toMatch(wanted[at]?.[column] ?? /never/)
      })
    })
    // An administrator can still sign in to replace a page that is down.
    const { consoleClientId } = requireInstance(provider.cx())
    const console = authorizePath(consoleClientId, {
      redirect_uri: `${issuer}/ui/console/callback`,
    })
    expect(await reached(consoleClientId, console)).toMatch(ours)
    await feature(false)
  })
})
