import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  password,
  redirectUri,
  type Visited,
} from "../oauth/provider.ts"

let provider: Provider
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  await provider.addPerson("pat")
})
afterAll(() => provider.close())

/** The page that asks for the password, with a browser of its own. */
async function asked(changes: Readonly<Record<string, string | undefined>> = {}) {
  const browser = browserOf(provider)
  const page = await browser.go(authorizePath(client.id, changes))
  // What began is written in its own time; what is counted here comes after it.
  await provider.store.log.settle()
  return { browser, page: await browser.post(page, { loginName: "olga" }) }
}

/** The answer to the form itself: where it leads is not followed. */
async function posted(cookie: string, page: Visited): Promise<Response> {
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

describe("a sign-in that nothing else is missing for", () => {
  test("answers the request in the step that signs in", async () => {
    const { browser, page } = await asked()
    const before = provider.store.log.durable()
    const answer = await posted(browser.cookie(), page)
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
    const { code = "", state, iss } = answerOf(end)
    expect([state, iss]).toEqual(["s-1", issuer])
    expect((await askToken(provider, codeFields(code), basic())).status).toBe(200)
  })

  test("answers the request once, and both of two posts by that", async () => {
    const { browser, page } = await asked()
    const cookie = browser.cookie()
    const before = provider.store.log.durable()
    const answers = await Promise.all([posted(cookie, page), posted(cookie, page)])
    const locations = answers.map(({ headers }) => headers.get("location"))
    expect(locations[0]).toMatch(/^\/oauth\/v2\/authorize\/callback\?id=/)
    expect(locations[1]).toBe(locations[0])
    const types = await typesSince(before)
    expect(types.filter((type) => type === "auth_request.code.added")).toHaveLength(1)
    expect(types.filter((type) => type === "session.added")).toHaveLength(1)
  })

  test("answers in the mode that was asked for", async () => {
    const { browser, page } = await asked({ response_mode: "form_post" })
    const { response, page: form } = await browser.post(page, { loginName: "olga", password })
    expect(response.status).toBe(200)
    expect(form).toContain(`action="${redirectUri}"`)
    expect(form).toMatch(/name="code" value="[^"]+"/)
  })

  test("answers nothing when the password is wrong", async () => {
    const { browser, page } = await asked()
    const before = provider.store.log.durable()
    const { response } = await browser.post(page, { loginName: "olga", password: "wrong" })
    expect(response.status).toBe(422)
    expect(await typesSince(before)).toEqual(["user.human.password.check.failed"])
    const end = await browser.post(page, { loginName: "olga", password })
    expect(answerOf(end)).toHaveProperty("code")
  })
})

describe("a sign-in that something is missing for", () => {
  test("asks for consent before anybody is answered", async () => {
    const { browser, page } = await asked({ prompt: "consent" })
    const before = provider.store.log.durable()
    const end = await browser.post(page, { loginName: "olga", password })
    expect(end.path).toMatch(/^\/ui\/login\/consent/)
    expect(await typesSince(before)).not.toContain("auth_request.code.added")
  })

  test("of another person than the hint names is told as that", async () => {
    const first = browserOf(provider)
    const { code = "" } = answerOf(await first.signIn(authorizePath(client.id)))
    const { answer } = await askToken(provider, codeFields(code), basic())
    const { browser, page } = await asked({ id_token_hint: String(answer.id_token) })
    const hidden = { loginName: "pat", password }
    const { error, code: given } = answerOf(await browser.post(page, hidden))
    expect([error, given]).toEqual(["login_required", undefined])
  })

  test("gives tokens themselves where these were asked for", async () => {
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
