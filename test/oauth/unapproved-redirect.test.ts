import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  authorizePath,
  browserOf,
  codeFields,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"
import { enableRegistration, sendMetadata } from "./registration.ts"

/** Anyone can register an application, so no link of ours may redirect to its URI automatically. */
const redirect_uri = "https://phish.example/callback"
const signedOutUri = "https://phish.example/bye"

let provider: Provider
let id: string
let secret: string
beforeAll(async () => {
  provider = await openProvider()
  await enableRegistration(provider)
  const { answer } = await sendMetadata(provider, {
    client_name: "Prize",
    redirect_uris: [redirect_uri, "http://127.0.0.1:1/back"],
    post_logout_redirect_uris: [signedOutUri],
  })
  id = String(answer.client_id)
  secret = String(answer.client_secret)
})
afterAll(() => provider.close())

const path = (changes: Record<string, string> = {}) =>
  authorizePath(id, { redirect_uri, ...changes })

const rejections = [
  ["nobody is signed in", { prompt: "none" }, "login_required"],
  ["a resource is unknown", { resource: "https://nobody.example/" }, "invalid_target"],
  ["a response type is not registered", { response_type: "id_token" }, "unauthorized_client"],
  ["there is no such prompt", { prompt: "dance" }, "invalid_request"],
] as const

describe("an error response to a dynamically registered application", () => {
  test.each(rejections)("is shown to the user if %s", async (_, changes, error) => {
    const { response, page } = await browserOf(provider).go(path(changes))
    expect([response.status, response.headers.get("location")]).toEqual([200, null])
    expect(page).toContain("Prize is not verified")
    expect(page).toContain("Go to phish.example")
    expect(page).toMatch(new RegExp(`href="${redirect_uri}[?#]error=${error}&amp;`))
  })

  test("waits for the user if it is posted as well", async () => {
    const asked = path({ prompt: "none", response_mode: "form_post" })
    const { page } = await browserOf(provider).go(asked)
    expect(page).toContain(`<form action="${redirect_uri}" method="post">`)
    expect(page).not.toContain("data-autosubmit")
  })

  test("is sent to a page that renews its sign-in in a frame", async () => {
    const framed = (changes: Record<string, string>, dest = "iframe") =>
      browserOf(provider).go(path(changes), { headers: { "sec-fetch-dest": dest } })
    const renewal = await framed({ prompt: "none", state: "s" })
    expect(renewal.path.startsWith(`${redirect_uri}?`)).toBe(true)
    expect(responseOf(renewal)).toMatchObject({ error: "login_required", state: "s" })
    const posted = await framed({ prompt: "none", response_mode: "form_post" })
    expect(posted.page).toContain("data-autosubmit")
    for (const asked of [
      await framed({ prompt: "none" }, "document"),
      await framed({ prompt: "none" }, "image"),
      await framed({ prompt: "dance" }),
    ]) {
      expect([asked.response.status, asked.page.includes("Prize is not verified")]).toEqual([
        200,
        true,
      ])
    }
  })

  test("waits after the user has denied", async () => {
    const browser = browserOf(provider)
    const at = await browser.signIn(path())
    const { response, page } = await browser.post(at, { answer: "cancel" })
    expect([response.status, page.includes("error=access_denied")]).toEqual([200, true])
  })

  test("is sent to a program on the user's own device", async () => {
    const local = { redirect_uri: "http://127.0.0.1:1/back", prompt: "none" }
    const at = await browserOf(provider).go(authorizePath(id, local))
    expect(responseOf(at).error).toBe("login_required")
  })

  test("is sent if a current user has consented, until the user is deleted", async () => {
    const browser = browserOf(provider)
    const at = await browser.signIn(path())
    const { code = "" } = responseOf(await browser.post(at, { answer: "allow" }))
    const { answer } = await sendTokenRequest(
      provider,
      codeFields(code, { redirect_uri }),
      `${id}:${secret}`,
    )
    expect(responseOf(await browser.go(path({ prompt: "none" }))).error).toBe("consent_required")
    const others = await browserOf(provider).go(path({ prompt: "none" }))
    expect(others.response.status).toBe(200)
    const hint = { id_token_hint: String(answer.id_token), post_logout_redirect_uri: signedOutUri }
    const end = `/oidc/v1/endsession?${new URLSearchParams(hint)}`
    // A holder of the hint can't redirect another user by it.
    const victim = await browserOf(provider).go(end, { headers: { accept: "text/html" } })
    expect([victim.response.status, victim.page.includes(`href="${signedOutUri}"`)]).toEqual([
      200,
      true,
    ])
    expect((await browser.go(end)).path).toBe(signedOutUri)
    expect((await browser.go(path({ prompt: "none" }))).response.status).toBe(200)
  })

  test("is sent to an application that an administrator created", async () => {
    const entered = await provider.addClient()
    const at = await browserOf(provider).go(authorizePath(entered.id, { prompt: "none" }))
    expect(responseOf(at).error).toBe("login_required")
  })
})

describe("a sign-out that would redirect to a dynamically registered application", () => {
  const search = new URLSearchParams({ client_id: "", post_logout_redirect_uri: signedOutUri })
  const leave = () => {
    search.set("client_id", id)
    return `/oidc/v1/endsession?${search}`
  }

  test("stops here without a session, and the user decides", async () => {
    const { response, page } = await browserOf(provider).go(leave())
    expect([response.status, response.headers.get("location")]).toEqual([200, null])
    expect(page).toContain("You are signed out. Prize is not verified")
    expect(page).toContain(`href="${signedOutUri}"`)
  })

  test("stops here after the user has confirmed it", async () => {
    const browser = browserOf(provider)
    await browser.signIn(authorizePath((await provider.addClient()).id))
    const asked = await browser.go(leave())
    const { response, page } = await browser.post(asked, {})
    expect([response.status, page.includes("You are signed out. Prize")]).toEqual([200, true])
  })
})
