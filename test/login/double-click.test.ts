import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { changeApplication } from "../../src/domain/app/index.ts"
import { loginPaths } from "../../src/login/index.ts"
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
  client = await provider.addClient({ grantTypes: ["authorization_code", "device_code"] })
  await provider.addPerson("pat")
})
afterAll(() => provider.close())

type Changes = Readonly<Record<string, string>>

/** The page that asks for the password, with a browser of its own. */
async function asked(changes: Changes = {}) {
  const browser = browserOf(provider)
  const page = await browser.go(authorizePath(client.id, changes))
  return { browser, page: await browser.post(page, { loginName: "olga" }) }
}

const given = { loginName: "olga", password }

/** The answer to the form itself, of a browser that has this cookie; it is not followed. */
async function posted(cookie: string, { page }: Visited, fields: Changes = given) {
  const hidden = [...page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
  const own = Object.fromEntries(hidden.map(([, name = "", value = ""]) => [name, value]))
  const action = /<form[^>]*action="([^"?]*)/.exec(page)?.[1] ?? ""
  return provider.send(action, {
    ...{ method: "POST", headers: { cookie } },
    body: new URLSearchParams({ ...own, ...fields }),
  })
}

const locationOf = ({ headers }: Response) => headers.get("location") ?? ""
const cookieOf = ({ headers }: Response) => headers.getSetCookie()[0]?.split(";")[0] ?? ""
const codeIn = (location: string) => new URL(location, issuer).searchParams.get("code") ?? ""

/** Follows an answer until it leaves us, as the browser does that got it. */
async function followed(response: Response, cookie: string): Promise<string> {
  const location = locationOf(response)
  if (!location.startsWith("/")) return location
  return followed(await provider.send(location, { headers: { cookie } }), cookie)
}

const redeemed = async (code: string) => {
  const { status } = await askToken(provider, codeFields(code), `${client.id}:${client.secret}`)
  return status
}

describe("a password that is posted twice", () => {
  test("at once leads to the application both times, by a code for each", async () => {
    const { browser, page } = await asked()
    const cookie = browser.cookie()
    const answers = await Promise.all([posted(cookie, page), posted(cookie, page)])
    // The browser keeps the cookie of the last answer, and follows that.
    const direct = answers.find((each) => codeIn(locationOf(each)) !== "")
    const other = answers.find((each) => each !== direct)
    if (!direct || !other) throw new Error("one of them answers the application itself")
    const codes = [codeIn(locationOf(direct)), codeIn(await followed(other, cookieOf(other)))]
    expect(new Set(codes).size).toBe(2)
    expect(await Promise.all(codes.map(redeemed))).toEqual([200, 200])
    expect(await Promise.all(codes.map(redeemed))).toEqual([400, 400])
  })

  test("leads to it by the old form and the new cookie, with what was asked for", async () => {
    const { browser, page } = await asked()
    const first = await posted(browser.cookie(), page)
    const second = await posted(cookieOf(first), page)
    const location = await followed(second, cookieOf(first))
    expect(location.startsWith(`${redirectUri}?`)).toBe(true)
    expect(answerOf({ path: location } as Visited).state).toBe("s-1")
    expect(await redeemed(codeIn(location))).toBe(200)
  })

  test("leads to it by the old cookie, if the new one never came", async () => {
    const { browser, page } = await asked()
    const before = browser.cookie()
    const lost = await posted(before, page)
    const second = await posted(before, page)
    expect(await redeemed(codeIn(await followed(second, cookieOf(second))))).toBe(200)
    // The browser is the same one, with one session; what nobody has got is worth nothing.
    const at = authorizePath(client.id, { prompt: "none" })
    const statusOf = async (cookie: string) =>
      answerOf({
        path: await followed(await provider.send(at, { headers: { cookie } }), cookie),
      } as Visited)
    expect(await statusOf(cookieOf(second))).toHaveProperty("code")
    expect(await statusOf(cookieOf(lost))).toHaveProperty("error", "login_required")
    expect(await statusOf(before)).toHaveProperty("error", "login_required")
  })

  test("by the old cookie proves itself again", async () => {
    const { browser, page } = await asked()
    const before = browser.cookie()
    await posted(before, page)
    const wrong = await posted(before, page, { loginName: "olga", password: "wrong" })
    expect([wrong.status, cookieOf(wrong)]).toEqual([303, ""])
    const again = await posted(before, page)
    expect(await redeemed(codeIn(await followed(again, cookieOf(again))))).toBe(200)
  })

  test("by the old cookie opens nothing where a second person has signed in", async () => {
    const { browser, page } = await asked()
    const before = browser.cookie()
    browser.setCookie(cookieOf(await posted(before, page)))
    await browser.signIn(authorizePath(client.id, { prompt: "login", login_hint: "pat" }), "pat")
    expect((await posted(before, page)).status).toBe(403)
  })

  test("with the wrong password the second time is not signed in by that", async () => {
    const { browser, page } = await asked()
    const cookie = browser.cookie()
    const wrong = { loginName: "olga", password: "wrong" }
    const [, second] = await Promise.all([posted(cookie, page), posted(cookie, page, wrong)])
    expect(second.headers.get("location")).toMatch(/^\/ui\/login\/password\?/)
    expect(cookieOf(second)).toBe("")
  })

  const refused: Readonly<
    Record<string, (first: Response, before: string) => Promise<readonly [string, Changes?]>>
  > = {
    "by somebody else": async (first) => [cookieOf(first), { loginName: "pat", password }],
    "by nobody in particular": async (first) => [cookieOf(first), { password }],
    "when the code was used": async (first) => {
      expect(await redeemed(codeIn(locationOf(first)))).toBe(200)
      return [cookieOf(first)]
    },
    "a minute later": async (first) => {
      provider.clock.advance(60_000)
      return [cookieOf(first)]
    },
    "from another browser": async () => {
      const other = browserOf(provider)
      await other.signIn(authorizePath(client.id))
      return [other.cookie()]
    },
    "with the cookie of before, by somebody else": async (_, before) => [
      before,
      { loginName: "pat", password },
    ],
    "with the cookie of before, after a minute": async (_, before) => {
      provider.clock.advance(60_000)
      return [before]
    },
    "with the cookie of before, once the code was used": async (first, before) => {
      expect(await redeemed(codeIn(locationOf(first)))).toBe(200)
      return [before]
    },
    "with the cookie of before and another form": async (_, before) => [
      before,
      { ...given, csrf: "another" },
    ],
    "when the session has ended": async (first) => {
      const headers = { cookie: cookieOf(first) }
      const form = await (await provider.send("/oidc/v1/endsession", { headers })).text()
      await posted(cookieOf(first), { page: form } as Visited, {})
      return [cookieOf(first)]
    },
  }
  test.each(Object.entries(refused))("is not answered again %s", async (_, prepare) => {
    const { browser, page } = await asked()
    const before = browser.cookie()
    const first = await posted(before, page)
    expect(codeIn(locationOf(first))).not.toBe("")
    const [cookie, fields] = await prepare(first, before)
    const second = await posted(cookie, page, fields)
    // Who is signed in is told that; everybody else that this was not their page.
    const isTold = second.status === 303 && locationOf(second) === loginPaths.signedIn
    expect(isTold || second.status === 403).toBe(true)
    expect(cookieOf(second)).not.toBe(before)
  })

  test("goes nowhere that was taken away meanwhile", async () => {
    const { browser, page } = await asked()
    const first = await posted(browser.cookie(), page)
    const oidc = (uri: string) => ({ oidc: { redirectUris: [uri] } })
    await changeApplication(provider.cx(), client.appId, oidc("https://new.example.com/"))
    const second = await posted(cookieOf(first), page)
    expect(await followed(second, cookieOf(first))).toBe("")
    await changeApplication(provider.cx(), client.appId, oidc(redirectUri))
  })
})

describe("a consent that is given twice", () => {
  test("leads to the application both times", async () => {
    const { browser, page } = await asked({ prompt: "consent" })
    const consent = await browser.post(page, given)
    const cookie = browser.cookie()
    const allow = { answer: "allow" }
    await followed(await posted(cookie, consent, allow), cookie)
    const second = await followed(await posted(cookie, consent, allow), cookie)
    expect(await redeemed(codeIn(second))).toBe(200)
  })

  test("shows a device's person both times that it is done", async () => {
    const begun = await provider.send("/oauth/v2/device_authorization", {
      ...{ method: "POST", body: new URLSearchParams({ scope: "openid" }) },
      headers: { authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}` },
    })
    const { user_code: userCode }: { user_code: string } = await begun.json()
    const browser = browserOf(provider)
    const named = await browser.post(await browser.go("/device"), { userCode })
    const consent = await browser.post(await browser.post(named, { loginName: "olga" }), given)
    const done = await browser.post(consent, { answer: "allow" })
    const again = await browser.post(consent, { answer: "allow" })
    expect([done.response.status, again.page]).toEqual([200, done.page])
  })
})
