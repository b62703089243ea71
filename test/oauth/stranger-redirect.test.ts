import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  openProvider,
  type Provider,
} from "./provider.ts"
import { letRegister, sendMetadata } from "./registering.ts"

/** Anybody registers an application: no link of ours may lead to where it likes. */
const redirect_uri = "https://phish.example/callback"
const bye = "https://phish.example/bye"

let provider: Provider
let id: string
let secret: string
beforeAll(async () => {
  provider = await openProvider()
  await letRegister(provider)
  const { answer } = await sendMetadata(provider, {
    client_name: "Prize",
    redirect_uris: [redirect_uri, "http://127.0.0.1:1/back"],
    post_logout_redirect_uris: [bye],
  })
  id = String(answer.client_id)
  secret = String(answer.client_secret)
})
afterAll(() => provider.close())

const path = (changes: Record<string, string> = {}) =>
  authorizePath(id, { redirect_uri, ...changes })

const refused = [
  ["nobody is signed in", { prompt: "none" }, "login_required"],
  ["a resource is unknown", { resource: "https://nobody.example/" }, "invalid_target"],
  ["a response type is not registered", { response_type: "id_token" }, "unauthorized_client"],
  ["there is no such prompt", { prompt: "dance" }, "invalid_request"],
] as const

describe("a refusal that would go to an application that registered itself", () => {
  test.each(refused)("is told to the person where %s", async (_, changes, error) => {
    const { response, page } = await browserOf(provider).go(path(changes))
    expect([response.status, response.headers.get("location")]).toEqual([200, null])
    expect(page).toContain("Prize is not verified")
    expect(page).toContain("Go to phish.example")
    expect(page).toMatch(new RegExp(`href="${redirect_uri}[?#]error=${error}&amp;`))
  })

  test("waits for the person where it is posted, too", async () => {
    const asked = path({ prompt: "none", response_mode: "form_post" })
    const { page } = await browserOf(provider).go(asked)
    expect(page).toContain(`<form action="${redirect_uri}" method="post">`)
    expect(page).not.toContain("data-autosubmit")
  })

  test("goes to a page that renews its sign-in in a frame, and waits for it there", async () => {
    const framed = (changes: Record<string, string>, dest = "iframe") =>
      browserOf(provider).go(path(changes), { headers: { "sec-fetch-dest": dest } })
    const renewal = await framed({ prompt: "none", state: "s" })
    expect(renewal.path.startsWith(`${redirect_uri}?`)).toBe(true)
    expect(answerOf(renewal)).toMatchObject({ error: "login_required", state: "s" })
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

  test("waits after the person has said no", async () => {
    const browser = browserOf(provider)
    const at = await browser.signIn(path())
    const { response, page } = await browser.post(at, { answer: "cancel" })
    expect([response.status, page.includes("error=access_denied")]).toEqual([200, true])
  })

  test("goes to a program on the person's own device", async () => {
    const local = { redirect_uri: "http://127.0.0.1:1/back", prompt: "none" }
    const at = await browserOf(provider).go(authorizePath(id, local))
    expect(answerOf(at).error).toBe("login_required")
  })

  test("goes back where somebody who is here has let it in, until they are gone", async () => {
    const browser = browserOf(provider)
    const at = await browser.signIn(path())
    const { code = "" } = answerOf(await browser.post(at, { answer: "allow" }))
    const { answer } = await askToken(
      provider,
      codeFields(code, { redirect_uri }),
      `${id}:${secret}`,
    )
    expect(answerOf(await browser.go(path({ prompt: "none" }))).error).toBe("consent_required")
    const others = await browserOf(provider).go(path({ prompt: "none" }))
    expect(others.response.status).toBe(200)
    const hint = { id_token_hint: String(answer.id_token), post_logout_redirect_uri: bye }
    const end = `/oidc/v1/endsession?${new URLSearchParams(hint)}`
    // Whoever holds a hint of theirs can send nobody else there by it.
    const victim = await browserOf(provider).go(end, { headers: { accept: "text/html" } })
    expect([victim.response.status, victim.page.includes(`href="${bye}"`)]).toEqual([200, true])
    expect((await browser.go(end)).path).toBe(bye)
    expect((await browser.go(path({ prompt: "none" }))).response.status).toBe(200)
  })

  test("goes to an application that somebody here has entered", async () => {
    const entered = await provider.addClient()
    const at = await browserOf(provider).go(authorizePath(entered.id, { prompt: "none" }))
    expect(answerOf(at).error).toBe("login_required")
  })
})

describe("a sign-out that would lead to an application that registered itself", () => {
  const search = new URLSearchParams({ client_id: "", post_logout_redirect_uri: bye })
  const leave = () => {
    search.set("client_id", id)
    return `/oidc/v1/endsession?${search}`
  }

  test("ends here, and the person decides, where nobody is signed in", async () => {
    const { response, page } = await browserOf(provider).go(leave())
    expect([response.status, response.headers.get("location")]).toEqual([200, null])
    expect(page).toContain("You are signed out. Prize is not verified")
    expect(page).toContain(`href="${bye}"`)
  })

  test("ends here when the person has confirmed it", async () => {
    const browser = browserOf(provider)
    await browser.signIn(authorizePath((await provider.addClient()).id))
    const asked = await browser.go(leave())
    const { response, page } = await browser.post(asked, {})
    expect([response.status, page.includes("You are signed out. Prize")]).toEqual([200, true])
  })
})
