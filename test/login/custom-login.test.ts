// A login page of somebody else, built with the services of v2 alone; see custom-login.ts.
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
  applicationAt,
  type CustomLogin,
  customLogin,
  pageUri,
} from "../support/custom-login.ts"
import { openLoginPage } from "../support/login-page.ts"

const wrong = "Wrong-Horse-8"

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
let id: string
beforeEach(async () => {
  name = `carl-${++people}`
  id = await provider.addPerson(name)
  provider.clock.advance(1000)
})

describe("a sign-in with a password", () => {
  test("goes to the page and back, and says truly what was checked", async () => {
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

  test("that is wrong leads nowhere, and the right one goes on", async () => {
    const { path, finish } = await app.begin()
    const request = await page.open(path)
    const tried = page.signIn(name, wrong)
    await expect(tried).rejects.toMatchObject({ id: "session.password_wrong" })
    const unknown = page.signIn(`no-${name}`, password)
    await expect(unknown).rejects.toMatchObject({ id: "session.password_wrong" })
    const { claims } = await finish(await page.finish(request, await page.signIn(name, password)))
    expect(claims.sub).toBe(id)
  })

  test("is good for the next application without another", async () => {
    const kept = await page.signIn(name, password)
    for (let count = 0; count < 2; count++) {
      const { path, finish } = await app.begin()
      const { claims } = await finish(await page.finish(await page.open(path), kept))
      expect(claims.sub).toBe(id)
    }
  })

  test("carries a refresh token, and all ends with the session", async () => {
    const offline = await applicationAt(provider, {
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

describe("what an application asks for", () => {
  const signedIn = async (parameters: Record<string, string>, as = name) => {
    const kept = await page.signIn(as, password)
    provider.clock.advance(60_000)
    const begun = await app.begin(parameters)
    return { ...begun, kept, request: await page.open(begun.path) }
  }

  test.each([{ prompt: "login" }, { max_age: "30" }, { max_age: "0" }])(
    "makes an older sign-in too old: %j",
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

  test("leaves one alone that is young enough", async () => {
    const { kept, request, finish } = await signedIn({ max_age: "90" })
    expect((await finish(await page.finish(request, kept))).claims.sub).toBe(id)
  })

  test("chooses among the sessions that the page has", async () => {
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

  test("without a question is answered by a session, or by an error", async () => {
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

  test("is for the person of the id_token_hint alone", async () => {
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

  test("is what the page vouches to have asked the person", async () => {
    const kept = await page.signIn(name, password)
    const { path, finish } = await app.begin({ prompt: "consent" })
    const request = await page.open(path)
    expect(request.prompt).toEqual([Prompt.CONSENT])
    const before = provider.store.log.durable()
    await finish(await page.finish(request, kept))
    const types = (await provider.store.log.read(before, 50)).map(({ type }) => type)
    expect(types).toContain("auth_request.consent.given")
  })

  test("comes back the way it wants, posted or in the fragment", async () => {
    const implicit = await applicationAt(provider, {
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
    const tv = await applicationAt(provider, { grantTypes: ["device_code"] })
    const begun = await client.initiateDeviceAuthorization(tv.configuration(), { scope: "openid" })
    const fetchTokens = () =>
      client.genericGrantRequest(
        tv.configuration(),
        "urn:ietf:params:oauth:grant-type:device_code",
        { device_code: begun.device_code },
      )
    return { tv, begun, fetchTokens }
  }

  test("names the page, is found there by its code, and let in", async () => {
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

  test("is refused, and told so", async () => {
    const { begun, fetchTokens } = await begin()
    await page.decide(await page.device(begun.user_code), { case: "deny", value: {} })
    await expect(fetchTokens()).rejects.toMatchObject({ error: "access_denied" })
  })

  test("is found by no wrong code, and decided on by no id but the one given", async () => {
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

test("a sign-out that names no session is the page's", async () => {
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

  test("is the application's, else the instance's where it counts, else ours", async () => {
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
    // Who has named a page that does not answer gets in to name another.
    const { consoleClientId } = requireInstance(provider.cx())
    const console = authorizePath(consoleClientId, {
      redirect_uri: `${issuer}/ui/console/callback`,
    })
    expect(await reached(consoleClientId, console)).toMatch(ours)
    await feature(false)
  })
})
