import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { updateApplication } from "../../src/domain/app/index.ts"
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
import { refreshTarget } from "../support/http-browser.ts"

let provider: Provider
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient({ grantTypes: ["authorization_code", "device_code"] })
  await provider.addPerson("pat")
})
afterAll(() => provider.close())

type Changes = Readonly<Record<string, string>>

/** The password page, in a new browser. */
async function openPasswordPage(changes: Changes = {}) {
  const browser = browserOf(provider)
  const page = await browser.go(authorizePath(client.id, changes))
  return { browser, page: await browser.post(page, { loginName: "olga" }) }
}

const finishedText = "This sign-in is finished"
const credentials = { loginName: "olga", password }

/** The response to the form for this cookie, without following redirects. */
async function postForm(cookie: string, { page }: VisitedPage, fields: Changes = credentials) {
  const hidden = [...page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
  const own = Object.fromEntries(hidden.map(([, name = "", value = ""]) => [name, value]))
  const action = /<form[^>]*action="([^"?]*)/.exec(page)?.[1] ?? ""
  return provider.send(action, {
    method: "POST",
    headers: { cookie },
    body: new URLSearchParams({ ...own, ...fields }),
  })
}

const cookieOf = ({ headers }: Response) => headers.getSetCookie()[0]?.split(";")[0] ?? ""
const codeIn = (location: string) => new URL(location, issuer).searchParams.get("code") ?? ""

/** Follows a response until it leaves the server, with the browser's cookies; else the page. */
async function followRedirects(response: Response, cookie: string) {
  const found = response.headers.get("location")
  const page = found === null ? await response.text() : ""
  const location = found ?? refreshTarget(page) ?? ""
  if (!location.startsWith("/")) return { location, page, status: response.status }
  return followRedirects(await provider.send(location, { headers: { cookie } }), cookie)
}
const followLocation = async (response: Response, cookie: string) =>
  (await followRedirects(response, cookie)).location
const followToCode = async (response: Response, cookie = cookieOf(response)) =>
  codeIn(await followLocation(response, cookie))

/** The number of codes issued since `position`. */
const countCodesSince = async (position: number) => {
  const events = await provider.store.log.read(position, 1000)
  return events.filter(({ type }) => type === "auth_request.code.added").length
}

const redeemStatus = async (code: string) => {
  const { status } = await sendTokenRequest(
    provider,
    codeFields(code),
    `${client.id}:${client.secret}`,
  )
  return status
}

/** The application's response to prompt=none. */
async function requestSilently(cookie: string, loginHint?: string) {
  const hint = loginHint === undefined ? {} : { login_hint: loginHint }
  const at = authorizePath(client.id, { prompt: "none", ...hint })
  const path = await followLocation(await provider.send(at, { headers: { cookie } }), cookie)
  return responseOf({ path } as VisitedPage)
}

describe("a password that is posted twice", () => {
  test("concurrently leads to the application both times, with one code", async () => {
    const { browser, page } = await openPasswordPage()
    const cookie = browser.cookie()
    const before = provider.store.log.durable()
    const answers = await Promise.all([postForm(cookie, page), postForm(cookie, page)])
    // The browser gets one of the responses, and either session may be stored last.
    const codes = await Promise.all(answers.map((each) => followToCode(each)))
    expect(codes.filter(Boolean)).toHaveLength(2)
    expect(await countCodesSince(before)).toBe(1)
    expect(await redeemStatus(codes[0] ?? "")).toBe(200)
    for (const code of codes) expect(await redeemStatus(code)).toBe(400)
  })

  test("concurrently leaves the browser signed in, whichever response it got", async () => {
    const { browser, page } = await openPasswordPage()
    const cookie = browser.cookie()
    const answers = await Promise.all([postForm(cookie, page), postForm(cookie, page)])
    const cookies = answers.map(cookieOf)
    expect(new Set(cookies).size).toBe(2)
    for (const got of cookies) expect(await requestSilently(got)).toHaveProperty("code")
    // The previous cookie is invalid, and the next sign-in replaces both.
    expect(await requestSilently(cookie)).toHaveProperty("error", "login_required")
    browser.setCookie(cookies[0] ?? "")
    await browser.signIn(authorizePath(client.id, { prompt: "login", login_hint: "pat" }), "pat")
    for (const got of cookies)
      expect(await requestSilently(got)).toHaveProperty("error", "login_required")
    expect(await requestSilently(browser.cookie())).not.toHaveProperty("error", "login_required")
  })

  test("concurrently by two users signs in only the last one", async () => {
    const { browser, page } = await openPasswordPage()
    const cookie = browser.cookie()
    const pat = await browser.post(await browser.go(authorizePath(client.id)), { loginName: "pat" })
    const byPat = { loginName: "pat", password }
    const answers = await Promise.all([postForm(cookie, page), postForm(cookie, pat, byPat)])
    const found = await Promise.all(answers.map((each) => requestSilently(cookieOf(each))))
    expect(found.filter((each) => "code" in each)).toHaveLength(1)
    expect(found.filter((each) => "error" in each && each.error === "login_required")).toHaveLength(
      1,
    )
  })

  test("concurrently by two users keeps the session of a third", async () => {
    await provider.addPerson("rob")
    const browser = browserOf(provider)
    await browser.signIn(authorizePath(client.id), "pat")
    const cookie = browser.cookie()
    const names = ["olga", "rob"]
    const pages = await Promise.all(
      names.map(async (loginName) => {
        const first = await browser.go(authorizePath(client.id, { prompt: "login" }))
        return browser.post(first, { loginName })
      }),
    )
    const answers = await Promise.all(
      pages.map((page, at) => postForm(cookie, page, { loginName: names[at] ?? "", password })),
    )
    const found = await Promise.all(
      answers.map((each) =>
        Promise.all(["pat", ...names].map((name) => requestSilently(cookieOf(each), name))),
      ),
    )
    const signedIn = found.map((each) => each.map((answer) => "code" in answer))
    const [last] = signedIn.filter((each) => each.includes(true))
    expect(signedIn.filter((each) => each.includes(true))).toHaveLength(1)
    // The third user, and the one stored last.
    expect(last?.[0]).toBe(true)
    expect(last?.slice(1).toSorted()).toEqual([false, true])
  })

  test("leads to it with the old form and the new cookie, parameters included", async () => {
    const { browser, page } = await openPasswordPage()
    const first = await postForm(browser.cookie(), page)
    const second = await postForm(cookieOf(first), page)
    const location = await followLocation(second, cookieOf(first))
    expect(location.startsWith(`${redirectUri}?`)).toBe(true)
    expect(responseOf({ path: location } as VisitedPage).state).toBe("s-1")
    expect(await redeemStatus(codeIn(location))).toBe(200)
  })

  test("leads to it with the old cookie, if the new one never arrived", async () => {
    const { browser, page } = await openPasswordPage()
    const before = browser.cookie()
    const lost = await postForm(before, page)
    const second = await postForm(before, page)
    expect(await redeemStatus(codeIn(await followLocation(second, cookieOf(second))))).toBe(200)
    // It is the same browser with one session; a session whose cookie was never received is
    // useless.
    expect(await requestSilently(cookieOf(second))).toHaveProperty("code")
    expect(await requestSilently(cookieOf(lost))).toHaveProperty("error", "login_required")
    expect(await requestSilently(before)).toHaveProperty("error", "login_required")
  })

  test("with the old cookie checks the password again", async () => {
    const { browser, page } = await openPasswordPage()
    const before = browser.cookie()
    await postForm(before, page)
    const wrong = await postForm(before, page, { loginName: "olga", password: "wrong" })
    expect([wrong.status, cookieOf(wrong)]).toEqual([303, ""])
    const again = await postForm(before, page)
    expect(await redeemStatus(codeIn(await followLocation(again, cookieOf(again))))).toBe(200)
  })

  test("with the old cookie signs nobody in after a second user signed in", async () => {
    const { browser, page } = await openPasswordPage()
    const before = browser.cookie()
    browser.setCookie(cookieOf(await postForm(before, page)))
    await browser.signIn(authorizePath(client.id, { prompt: "login", login_hint: "pat" }), "pat")
    const again = await followRedirects(await postForm(before, page), before)
    expect([again.location, again.page]).toEqual(["", expect.stringContaining(finishedText)])
  })

  test("with a wrong password the second time signs nobody in", async () => {
    const { browser, page } = await openPasswordPage()
    const cookie = browser.cookie()
    const wrong = { loginName: "olga", password: "wrong" }
    const [, second] = await Promise.all([postForm(cookie, page), postForm(cookie, page, wrong)])
    expect(second.headers.get("location")).toMatch(/^\/ui\/login\/password\?/)
    expect(cookieOf(second)).toBe("")
  })

  const refused: Readonly<
    Record<string, (first: Response, before: string) => Promise<readonly [string, Changes?]>>
  > = {
    "by somebody else": async (first) => [cookieOf(first), { loginName: "pat", password }],
    "by nobody in particular": async (first) => [cookieOf(first), { password }],
    "when the code was used": async (first) => {
      expect(await redeemStatus(await followToCode(first))).toBe(200)
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
      expect(await redeemStatus(await followToCode(first))).toBe(200)
      return [before]
    },
    "with the cookie of before and another form": async (_, before) => [
      before,
      { ...credentials, csrf: "another" },
    ],
    "when the session has ended": async (first) => {
      const headers = { cookie: cookieOf(first) }
      const form = await (await provider.send("/oidc/v1/endsession", { headers })).text()
      await postForm(cookieOf(first), { page: form } as VisitedPage, {})
      return [cookieOf(first)]
    },
  }
  test.each(Object.entries(refused))("gets no second response %s", async (name, prepare) => {
    const { browser, page } = await openPasswordPage()
    const before = browser.cookie()
    const first = await postForm(before, page)
    const [cookie, fields] = await prepare(first, before)
    const second = await followRedirects(await postForm(cookie, page, fields), cookie)
    expect([second.location, second.status]).toEqual(["", 200])
    expect(second.page.includes(finishedText)).toBe(name !== "from another browser")
  })

  test("does not redirect to a URI that was removed meanwhile", async () => {
    const { browser, page } = await openPasswordPage()
    const first = await postForm(browser.cookie(), page)
    const oidc = (uri: string) => ({ oidc: { redirectUris: [uri] } })
    await updateApplication(provider.cx(), client.appId, oidc("https://new.example.com/"))
    const second = await postForm(cookieOf(first), page)
    expect(await followLocation(second, cookieOf(first))).toBe("")
    await updateApplication(provider.cx(), client.appId, oidc(redirectUri))
  })
})

describe("a consent that is given twice", () => {
  test("leads to the application both times, by one code", async () => {
    const { browser, page } = await openPasswordPage({ prompt: "consent" })
    const consent = await browser.post(page, credentials)
    const cookie = browser.cookie()
    const before = provider.store.log.durable()
    const allow = { answer: "allow" }
    const first = await followToCode(await postForm(cookie, consent, allow), cookie)
    const form = { ...allow, session: /name="session" value="(\d+)"/.exec(consent.page)?.[1] ?? "" }
    const second = await followToCode(await postForm(cookie, consent, form), cookie)
    expect(await countCodesSince(before)).toBe(1)
    expect([await redeemStatus(second), await redeemStatus(first)]).toEqual([200, 400])
  })

  test("offers to continue once the code was used", async () => {
    const { browser, page } = await openPasswordPage({ prompt: "consent" })
    const consent = await browser.post(page, credentials)
    const { path } = await browser.post(consent, { answer: "allow" })
    expect(await redeemStatus(codeIn(path))).toBe(200)
    const again = await browser.post(consent, { answer: "allow" })
    expect(again.response.status).toBe(200)
    expect(again.page).toContain(finishedText)
    expect(again.page).toContain('href="https://app.example.com/"')
  })

  test("and denied leads to the application, then to a page that offers to continue", async () => {
    const { browser, page } = await openPasswordPage({ prompt: "consent" })
    const consent = await browser.post(page, credentials)
    const refused = await browser.post(consent, { answer: "cancel" })
    expect(responseOf(refused)).toHaveProperty("error", "access_denied")
    const again = await browser.post(consent, { answer: "cancel" })
    expect(again.page).toContain(finishedText)
    expect(again.page).toContain('href="https://app.example.com/"')
  })

  test("shows a device's user both times that it is done", async () => {
    const begun = await provider.send("/oauth/v2/device_authorization", {
      method: "POST",
      body: new URLSearchParams({ scope: "openid" }),
      headers: { authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}` },
    })
    const { user_code: userCode }: { user_code: string } = await begun.json()
    const browser = browserOf(provider)
    const named = await browser.post(await browser.go("/device"), { userCode })
    const consent = await browser.post(
      await browser.post(named, { loginName: "olga" }),
      credentials,
    )
    const done = await browser.post(consent, { answer: "allow" })
    const again = await browser.post(consent, { answer: "allow" })
    expect([done.response.status, again.page]).toEqual([200, done.page])
  })
})

describe("Back after a sign-in", () => {
  test.each(["a code that was not used", "a used code"])(
    "offers to continue, with %s",
    async (of) => {
      const { browser, page } = await openPasswordPage()
      const { path } = await browser.post(page, credentials)
      if (of === "a used code") expect(await redeemStatus(codeIn(path))).toBe(200)
      const back = await browser.go(page.path)
      const { headers } = back.response
      expect([back.response.status, refreshTarget(back.page)]).toEqual([200, undefined])
      expect([headers.get("cache-control"), headers.get("referrer-policy")]).toEqual([
        "no-store",
        "no-referrer",
      ])
      const [, href = ""] = /<a href="([^"]*)">Continue to Example App</.exec(back.page) ?? []
      if (of === "a used code") expect(href).toBe("https://app.example.com/")
      else expect(await redeemStatus(codeIn((await browser.go(href)).path))).toBe(200)
    },
  )

  test("of an application on the device redirects nowhere", async () => {
    const native = await provider.addClient({
      appType: "native",
      redirectUris: ["claude://callback"],
    })
    const browser = browserOf(provider)
    const redirect_uri = "claude://callback"
    const page = await browser.go(authorizePath(native.id, { redirect_uri }))
    const end = await browser.post(await browser.post(page, { loginName: "olga" }), credentials)
    expect(end.path).toMatch(/^claude:\/\/callback\?code=/)
    const { status } = await sendTokenRequest(
      provider,
      codeFields(codeIn(end.path), { redirect_uri }),
      `${native.id}:${native.secret}`,
    )
    expect(status).toBe(200)
    const back = await browser.go(page.path)
    expect(back.page).toContain("Return to Example App")
    expect(back.page).not.toContain("claude:")
  })

  test("shows another browser nothing", async () => {
    const { browser, page } = await openPasswordPage()
    await browser.post(page, credentials)
    const other = await browserOf(provider).go(page.path)
    expect(other.response.status).toBe(400)
    expect(other.page).not.toContain("Example App")
  })
})
