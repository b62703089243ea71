import { afterAll, beforeAll, describe, expect, test } from "vitest"
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
  type VisitedPage,
} from "../oauth/provider.ts"

let provider: Provider
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  await provider.addPerson("pat")
})
afterAll(() => provider.close())

/** The password page, in a new browser. */
async function openPasswordPage(changes: Readonly<Record<string, string | undefined>> = {}) {
  const browser = browserOf(provider)
  const page = await browser.go(authorizePath(client.id, changes))
  // The start of the sign-in is written asynchronously; the counted events come after it.
  await provider.store.log.settle()
  return { browser, page: await browser.post(page, { loginName: "olga" }) }
}

/** The response to the form itself, without following redirects. */
async function postPassword(cookie: string, page: VisitedPage): Promise<Response> {
  const hidden = [...page.page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
  const fields = Object.fromEntries(hidden.map(([, name = "", value = ""]) => [name, value]))
  return provider.send("/ui/login/password", {
    method: "POST",
    headers: { cookie },
    body: new URLSearchParams({ ...fields, loginName: "olga", password }),
  })
}

const basic = () => `${client.id}:${client.secret}`
const typesSince = async (position: number) =>
  (await provider.store.log.read(position, 1000)).map(({ type }) => type)

describe("a sign-in without further steps", () => {
  test("completes the request in the step that signs in", async () => {
    const { browser, page } = await openPasswordPage()
    const before = provider.store.log.durable()
    const answer = await postPassword(browser.cookie(), page)
    expect(answer.status).toBe(303)
    expect(answer.headers.getSetCookie()).toHaveLength(2)
    expect(await typesSince(before)).toEqual([
      "user_agent.signed.in",
      "session.added",
      "session.password.checked",
      "auth_request.code.added",
    ])
    browser.setCookie(answer.headers.getSetCookie()[0]?.split(";")[0] ?? "")
    const end = await browser.go(answer.headers.get("location") ?? "")
    expect(end.path.startsWith(`${redirectUri}?`)).toBe(true)
    const { code = "", state, iss } = responseOf(end)
    expect([state, iss]).toEqual(["s-1", issuer])
    expect((await sendTokenRequest(provider, codeFields(code), basic())).status).toBe(200)
  })

  test("completes the request once, also for two concurrent posts", async () => {
    const { browser, page } = await openPasswordPage()
    const cookie = browser.cookie()
    const before = provider.store.log.durable()
    const answers = await Promise.all([postPassword(cookie, page), postPassword(cookie, page)])
    const locations = answers.map(({ headers }) => headers.get("location"))
    expect(locations[0]).toMatch(/^\/oauth\/v2\/authorize\/callback\?id=/)
    expect(locations[1]).toBe(locations[0])
    const types = await typesSince(before)
    expect(types.filter((type) => type === "auth_request.code.added")).toHaveLength(1)
    expect(types.filter((type) => type === "session.added")).toHaveLength(1)
  })

  test("responds in the requested response mode", async () => {
    const { browser, page } = await openPasswordPage({ response_mode: "form_post" })
    const { response, page: form } = await browser.post(page, { loginName: "olga", password })
    expect(response.status).toBe(200)
    expect(form).toContain(`action="${redirectUri}"`)
    expect(form).toMatch(/name="code" value="[^"]+"/)
  })

  test("does not complete the request for a wrong password", async () => {
    const { browser, page } = await openPasswordPage()
    const before = provider.store.log.durable()
    const { response } = await browser.post(page, { loginName: "olga", password: "wrong" })
    expect(response.status).toBe(422)
    expect(await typesSince(before)).toEqual(["user.human.password.check.failed"])
    const end = await browser.post(page, { loginName: "olga", password })
    expect(responseOf(end)).toHaveProperty("code")
  })
})

describe("a sign-in with further steps", () => {
  test("asks for consent before it responds to the client", async () => {
    const { browser, page } = await openPasswordPage({ prompt: "consent" })
    const before = provider.store.log.durable()
    const end = await browser.post(page, { loginName: "olga", password })
    expect(end.path).toMatch(/^\/ui\/login\/consent/)
    expect(await typesSince(before)).not.toContain("auth_request.code.added")
  })

  test("reports a user other than the id_token_hint's", async () => {
    const first = browserOf(provider)
    const { code = "" } = responseOf(await first.signIn(authorizePath(client.id)))
    const { answer } = await sendTokenRequest(provider, codeFields(code), basic())
    const { browser, page } = await openPasswordPage({ id_token_hint: String(answer.id_token) })
    const hidden = { loginName: "pat", password }
    const { error, code: given } = responseOf(await browser.post(page, hidden))
    expect([error, given]).toEqual(["login_required", undefined])
  })

  test("returns tokens directly if requested", async () => {
    const implicit = await provider.addClient({
      responseTypes: ["id_token"],
      grantTypes: ["implicit"],
    })
    const path = authorizePath(implicit.id, {
      response_type: "id_token",
      code_challenge: undefined,
      code_challenge_method: undefined,
    })
    const end = await browserOf(provider).signIn(path)
    expect(end.path).toMatch(/#.*id_token=/)
  })
})
