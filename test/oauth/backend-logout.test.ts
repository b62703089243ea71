// Sign-out from the backend of an application, such as oauth2-proxy's backend_logout_url: a request
// with an id_token, without a browser.
import { decodeJwt } from "jose"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { reactivateApplication } from "../../src/domain/app/commands.ts"
import { app, deactivateApplication, updateApplication } from "../../src/domain/app/index.ts"
import { searchRefusals } from "../../src/domain/refusal/refusal.ts"
import { findSession } from "../../src/domain/session/index.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
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
  client = await provider.addClient({ backEndLogout: true })
})
afterAll(() => provider.close())

type Browser = ReturnType<typeof browserOf>
let browser: Browser
let hint = ""
let access = ""
beforeEach(async () => {
  browser = browserOf(provider)
  const tokens = await getTokens(browser, client)
  hint = String(tokens.id_token)
  access = String(tokens.access_token)
})

async function getTokens(by: Browser, { id, secret }: NewClient) {
  const path = authorizePath(id)
  const at = await by.go(path)
  const { code = "" } = responseOf(at.path.startsWith("http") ? at : await by.signIn(path))
  return (await sendTokenRequest(provider, codeFields(code), `${id}:${secret}`)).answer
}

/** The headers of Go's http.Get, which oauth2-proxy uses: without Accept. */
const asProgram = { "user-agent": "Go-http-client/1.1", "accept-encoding": "gzip" }

const path = (fields: object = {}) =>
  `/oidc/v1/endsession?${new URLSearchParams({ id_token_hint: hint, ...fields })}`

const requestLogout = (headers: Record<string, string> = asProgram, fields: object = {}) =>
  provider.send(path(fields), { headers, redirect: "manual" })

const isLive = (token = hint) =>
  findSession(provider.cx(), String(decodeJwt(token).sid)) !== undefined

const userinfo = async () => {
  const headers = { authorization: `Bearer ${access}` }
  return (await provider.send("/oidc/v1/userinfo", { headers })).status
}

const setBackendLogout = (backEndLogout: boolean, appId = client.appId) =>
  updateApplication(provider.cx(), appId, { oidc: { backEndLogout } })

/** A response that claims no sign-out, and ended nothing. */
async function expectRejected(answer: Response): Promise<void> {
  expect(answer.status).toBe(400)
  const text = await answer.text()
  expect(text).toContain("no session was ended: the application does not accept")
  expect(text).not.toMatch(/signed out/i)
  expect(isLive()).toBe(true)
  expect(await userinfo()).toBe(200)
}

describe("an application that accepts sign-out from its backend", () => {
  test("ends the session of the id_token with its tokens, and no other session", async () => {
    const elsewhere = String((await getTokens(browserOf(provider), client)).id_token)
    expect(decodeJwt(elsewhere).sub).toBe(decodeJwt(hint).sub)
    const answer = await requestLogout()
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/ui/login/signedout"])
    expect([isLive(), isLive(elsewhere)]).toEqual([false, true])
    expect(await userinfo()).toBe(401)
    expect((await browser.go("/ui/login/signedin")).path).not.toBe("/ui/login/signedin")
  })

  test("reports the second time that the session has ended", async () => {
    for (const _ of [1, 2]) expect((await requestLogout()).status).toBe(303)
    expect(isLive()).toBe(false)
  })

  test("redirects to the registered URI, and accepts POST", async () => {
    const to = await requestLogout(asProgram, {
      post_logout_redirect_uri: signedOutUri,
      state: "s",
    })
    expect(to.headers.get("location")).toBe(`${signedOutUri}?state=s`)
    expect(isLive()).toBe(false)
    hint = String((await getTokens(browserOf(provider), client)).id_token)
    const body = new URLSearchParams({ id_token_hint: hint })
    await provider.send("/oidc/v1/end_session", { method: "POST", body, headers: asProgram })
    expect(isLive()).toBe(false)
  })

  test("accepts an expired id_token of a live session", async () => {
    provider.clock.advance(12 * 3_600_000 + 1000)
    expect(isLive()).toBe(true)
    await requestLogout()
    expect(isLive()).toBe(false)
  })

  test.each([
    ["a browser that says where it comes from", { "sec-fetch-mode": "navigate" }],
    ["an image on a page of somebody else", { "sec-fetch-site": "cross-site" }],
  ])("ends nothing for %s", async (_, headers) => {
    const answer = await requestLogout({ accept: "text/html", ...headers })
    expect(answer.headers.get("location")).toBe("/ui/login/signedout?nobody")
    expect(isLive()).toBe(true)
  })

  test("ends nothing for a browser with another user's session", async () => {
    await provider.addPerson("other").catch(() => undefined)
    const other = browserOf(provider)
    await other.signIn(authorizePath(client.id), "other")
    const asked = await requestLogout({ ...asProgram, cookie: other.cookie() })
    expect(await asked.text()).not.toContain("You are signed out")
    expect(isLive()).toBe(true)
  })

  test("ends nothing for an invalid cookie of ours", async () => {
    const cookie = "__Host-latchkey=1.2"
    await requestLogout({ ...asProgram, cookie })
    expect(isLive()).toBe(true)
  })

  test("ends nothing by the id_token of another application, or an altered one", async () => {
    const closed = await provider.addClient()
    hint = String((await getTokens(browser, closed)).id_token)
    await expectRejected(await requestLogout())
    expect((await requestLogout(asProgram, { client_id: client.id })).status).toBe(400)
    expect(isLive()).toBe(true)
    const [head, , signature] = hint.split(".")
    const claims = { ...decodeJwt(hint), azp: client.id }
    const body = Buffer.from(JSON.stringify(claims)).toString("base64url")
    const forged = await requestLogout(asProgram, {
      id_token_hint: [head, body, signature].join("."),
    })
    expect(forged.status).toBe(400)
    expect(isLive()).toBe(true)
  })

  test("ends nothing while it is deactivated", async () => {
    await deactivateApplication(provider.cx(), client.appId)
    try {
      await requestLogout()
      expect(findSession(provider.cx(), String(decodeJwt(hint).sid))).toBeDefined()
    } finally {
      await reactivateApplication(provider.cx(), client.appId)
    }
  })

  test("ends nothing for a dynamically registered application", async () => {
    const registered = await provider.addClient({ backEndLogout: true })
    const tokens = await getTokens(browser, registered)
    hint = String(tokens.id_token)
    await provider.store.transact(provider.cx(), (tx) =>
      tx.append(app, registered.appId, [
        {
          type: "project.application.registered",
          data: { jwks: [] },
          private: { hashedToken: "none" },
        },
      ]),
    )
    const answer = await requestLogout()
    expect(answer.status).toBe(400)
    expect(isLive()).toBe(true)
  })
})

describe("an application that does not", () => {
  beforeEach(() => setBackendLogout(false))
  afterAll(() => setBackendLogout(true))

  test("gets an error, and its administrator the setting to enable", async () => {
    await expectRejected(await requestLogout())
    await expectRejected(await requestLogout(asProgram, { post_logout_redirect_uri: signedOutUri }))
    const scope = { all: true, orgs: [], projects: [], grants: [] }
    const page = { offset: 0, limit: 1, asc: false }
    const wanted = { requestId: "", appId: client.appId, page }
    const [last] = searchRefusals({ ...provider.cx(), scope }, wanted).rows
    expect(last?.findings).toMatchObject([
      { subject: "id_token_hint", likelyCauseKey: "hint.back_end_off" },
    ])
  })

  test("reports no sign-out to a browser without a session either", async () => {
    const other = browserOf(provider)
    const shown = await other.go(path(), { headers: { accept: "text/html" } })
    expect(shown.page).toContain("You are not signed in")
    expect(shown.page).not.toContain("You are signed out")
    expect(isLive()).toBe(true)
  })

  test("ends the session in its own browser, as before", async () => {
    const left = await browser.go(path(), { headers: { accept: "text/html" } })
    expect(left.page).toContain("You are signed out")
    expect(isLive()).toBe(false)
  })
})
