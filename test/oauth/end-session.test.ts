import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import {
  authorizePath,
  browserOf,
  codeFields,
  hiddenFields,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
  signedOutUri,
} from "./provider.ts"

let provider: Provider
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient()
})
afterAll(() => provider.close())

let browser: ReturnType<typeof browserOf>
let hint = ""
beforeEach(async () => {
  browser = browserOf(provider)
  const { code = "" } = responseOf(await browser.signIn(authorizePath(client.id)))
  const { answer } = await sendTokenRequest(
    provider,
    codeFields(code),
    `${client.id}:${client.secret}`,
  )
  hint = String(answer.id_token)
})

const signOut = (parameters: Readonly<Record<string, string>>) =>
  browser.go(`/oidc/v1/endsession?${new URLSearchParams(parameters)}`)

const isSignedIn = async () =>
  (await browser.go("/ui/login/signedin")).path === "/ui/login/signedin"

/** OpenID Connect RP-Initiated Logout 1.0. */
describe("end session", () => {
  test("ends the hinted session and redirects back with state", async () => {
    const post_logout_redirect_uri = signedOutUri
    const end = await signOut({ id_token_hint: hint, post_logout_redirect_uri, state: "x y" })
    expect(end.path).toBe(`${signedOutUri}?state=x+y`)
    expect(await isSignedIn()).toBe(false)
  })

  test("accepts an expired id_token as a hint", async () => {
    provider.clock.advance(13 * 3_600_000)
    const end = await signOut({ id_token_hint: hint })
    expect(end.path).toBe("/ui/login/signedout")
    expect(await isSignedIn()).toBe(false)
  })

  test("accepts POST, also from another site, without cookies", async () => {
    const body = new URLSearchParams({ id_token_hint: hint })
    const posted = await provider.send("/oidc/v1/end_session", { method: "POST", body })
    expect(posted.headers.getSetCookie()).toEqual([])
    await browser.go(posted.headers.get("location") ?? "")
    expect(await isSignedIn()).toBe(false)
  })

  test("copies only known form fields into the URL", async () => {
    const body = new URLSearchParams({
      id_token_hint: hint,
      state: "s",
      client_secret: "hush",
      client_assertion: "hush",
      access_token: "hush",
      csrf2: "hush",
    })
    const posted = await provider.send("/oidc/v1/end_session", { method: "POST", body })
    const to = new URL(posted.headers.get("location") ?? "", "https://id.example.com")
    expect([...to.searchParams.keys()]).toEqual(["id_token_hint", "state"])
    const asking = await signOut({ client_id: client.id, client_secret: "hush" })
    expect(asking.page).toContain("Example App")
    expect(asking.page).not.toContain("hush")
  })

  test.each([
    ["https://app.example.org", "https://app.example.org/"],
    ["https://app.example.org/", "https://app.example.org"],
    ["https://app.example.org?a=b", "https://app.example.org/?a=b"],
    ["HTTPS://app.example.org/", "HTTPS://app.example.org"],
  ])("treats %s as the same URI as %s", async (registered, sent) => {
    const { id } = await provider.addClient({ postLogoutRedirectUris: [registered] })
    const path = `/oidc/v1/endsession?${new URLSearchParams({
      client_id: id,
      post_logout_redirect_uri: sent,
    })}`
    const { response } = await browserOf(provider).go(path)
    expect(response.headers.get("location")).toBe(sent)
  })

  test.each([
    ["https://app.example.org/bye", "https://app.example.org/bye/"],
    ["https://app.example.org/bye/", "https://app.example.org/bye"],
    ["https://app.example.org", "https://app.example.org//"],
    ["https://app.example.org", "https://app.example.org/."],
    ["https://app.example.org", "https://app.example.org.evil.example/"],
    ["https://app.example.org", "https://app.example.org:443/"],
    ["https://app.example.org?a=b", "https://app.example.org/?a=c"],
    ["com.example:", "com.example:/"],
  ])("treats %s as another URI than %s", async (registered, sent) => {
    const { id } = await provider.addClient({ postLogoutRedirectUris: [registered] })
    const path = `/oidc/v1/endsession?${new URLSearchParams({
      client_id: id,
      post_logout_redirect_uri: sent,
    })}`
    expect((await browserOf(provider).go(path)).response.status).toBe(400)
  })

  const refused: Readonly<Record<string, () => Record<string, string>>> = {
    "an unregistered redirect": () => ({
      id_token_hint: hint,
      post_logout_redirect_uri: `${signedOutUri}/`,
    }),
    "a foreign hint": () => ({ id_token_hint: "a.b.c" }),
    "a client_id that isn't the hint's": () => ({ id_token_hint: hint, client_id: "other" }),
  }
  test.each(Object.entries(refused))("rejects %s and ends nothing", async (_, parameters) => {
    const end = await signOut(parameters())
    expect(end.response.status).toBe(400)
    expect(await isSignedIn()).toBe(true)
  })

  test("asks for confirmation without a valid hint, and keeps the redirect", async () => {
    const asked = await signOut({ client_id: client.id, post_logout_redirect_uri: signedOutUri })
    expect(asked.page).toContain("Example App")
    expect(await isSignedIn()).toBe(true)
    expect((await browser.post(asked, {})).path).toBe(signedOutUri)
    expect(await isSignedIn()).toBe(false)
  })

  test("redirects back after a double click, and after Back", async () => {
    const asked = await signOut({ client_id: client.id, post_logout_redirect_uri: signedOutUri })
    expect((await browser.post(asked, {})).path).toBe(signedOutUri)
    expect((await browser.post(asked, {})).path).toBe(signedOutUri)
    expect((await browser.go(asked.path)).path).toBe(signedOutUri)
    // A browser that has lost its cookie meanwhile has no session to end.
    expect((await browserOf(provider).post(asked, {})).path).toBe(signedOutUri)
  })

  test("confirms by a URL that redirects nobody else", async () => {
    const asked = await signOut({ client_id: client.id, post_logout_redirect_uri: signedOutUri })
    const { csrf = "" } = hiddenFields(asked.page)
    const posted = await provider.send(asked.path, {
      method: "POST",
      headers: { cookie: browser.cookie() },
      body: new URLSearchParams({ csrf }),
    })
    const next = posted.headers.get("location") ?? ""
    expect(next).toMatch(/^\/oidc\/v1\/endsession\?as=/)
    expect((await browser.go(next)).path).toBe(signedOutUri)
    expect((await browserOf(provider).go(next)).path).toBe("/ui/login/signedout")
  })

  test("ignores a redirect without a known client", async () => {
    const asked = await signOut({ post_logout_redirect_uri: "https://evil.example" })
    expect((await browser.post(asked, {})).path).toBe("/ui/login/signedout")
  })

  test("uses the requested language for the confirmation and for errors", async () => {
    const asked = await signOut({ ui_locales: "de en" })
    expect(asked.page).toContain("Abmelden")
    expect(asked.response.headers.get("content-language")).toBe("de")
  })

  test("asks about the user of logout_hint, and ends no other session", async () => {
    await provider.addPerson("sam")
    const path = authorizePath(client.id, { prompt: "login" })
    await browser.signIn(path, "sam")
    const asked = await signOut({ logout_hint: "sam" })
    expect(asked.page).toContain("sam")
    expect(asked.page).not.toContain("olga")
    await browser.post(asked, {})
    const { page } = await signOut({})
    expect(page).toContain("olga")
    expect(page).not.toContain("sam@")
    const nobody = await signOut({ logout_hint: "nobody" })
    await browser.post(nobody, {})
    expect(await isSignedIn()).toBe(false)
  })

  test("a logout_hint proves nothing: the user is asked", async () => {
    await signOut({ logout_hint: "olga", client_id: client.id })
    expect(await isSignedIn()).toBe(true)
  })

  test("ends the session of the hint if several users are signed in", async () => {
    await provider.addPerson("kim")
    await browser.signIn(authorizePath(client.id, { prompt: "login" }), "kim")
    await signOut({ id_token_hint: hint })
    const { page } = await signOut({})
    expect(page).toContain("kim")
    expect(page).not.toContain("olga")
  })

  test("redirects back immediately if the session has already ended", async () => {
    const parameters = { id_token_hint: hint, post_logout_redirect_uri: signedOutUri }
    await signOut(parameters)
    expect((await signOut(parameters)).path).toBe(signedOutUri)
  })

  test("rejects a repeated parameter, also one in the query and one in the form", async () => {
    const twice = `/oidc/v1/endsession?state=a&state=b&id_token_hint=${hint}`
    expect((await browser.go(twice)).response.status).toBe(400)
    const body = new URLSearchParams({ state: "b", id_token_hint: hint })
    const both = await browser.go("/oidc/v1/end_session?state=a", { method: "POST", body })
    expect(both.response.status).toBe(400)
    expect(await isSignedIn()).toBe(true)
  })

  test("in development mode a redirect can match a pattern; otherwise it can't", async () => {
    const pattern = "https://*.preview.example.com/bye"
    const dev = await provider.addClient({ devMode: true, postLogoutRedirectUris: [pattern] })
    const to = (uri: string, id = dev.id) => ({ client_id: id, post_logout_redirect_uri: uri })
    const isTaken = async (parameters: Readonly<Record<string, string>>) =>
      (await signOut(parameters)).response.status === 200
    expect(await isTaken(to("https://pr-7.preview.example.com/bye"))).toBe(true)
    expect(await isTaken(to("https://pr-7.preview.example.com/other"))).toBe(false)
    expect(await isTaken(to("https://evil.example/.preview.example.com/bye"))).toBe(false)
    expect(await isTaken(to(pattern))).toBe(false)
    expect(await isTaken(to("https://pr-7.preview.example.com/bye", client.id))).toBe(false)
  })
})
