import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { changeApplication } from "../../src/domain/app/index.ts"
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
import { continuedTo } from "../support/visitor.ts"

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

const finished = "This sign-in is finished"
const given = { loginName: "olga", password }

/** The answer to the form itself, of a browser that has this cookie; it is not followed. */
async function posted(cookie: string, { page }: Visited, fields: Changes = given) {
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

/** Follows an answer until it leaves us, as the browser does that got it; else the page. */
async function reached(response: Response, cookie: string) {
  const found = response.headers.get("location")
  const page = found === null ? await response.text() : ""
  const location = found ?? continuedTo(page) ?? ""
  if (!location.startsWith("/")) return { location, page, status: response.status }
  return reached(await provider.send(location, { headers: { cookie } }), cookie)
}
const followed = async (response: Response, cookie: string) =>
  (await reached(response, cookie)).location
const codeAt = async (response: Response, cookie = cookieOf(response)) =>
  codeIn(await followed(response, cookie))

/** How often a code was issued since. */
const issuedSince = async (position: number) => {
  const events = await provider.store.log.read(position, 1000)
  return events.filter(({ type }) => type === "auth_request.code.added").length
}

const redeemed = async (code: string) => {
  const { status } = await askToken(provider, codeFields(code), `${client.id}:${client.secret}`)
  return status
}

/** What the application is answered that asks whether somebody is signed in. */
async function silently(cookie: string, loginHint?: string) {
  const hint = loginHint === undefined ? {} : { login_hint: loginHint }
  const at = authorizePath(client.id, { prompt: "none", ...hint })
  const path = await followed(await provider.send(at, { headers: { cookie } }), cookie)
  return answerOf({ path } as Visited)
}

describe("a password that is posted twice", () => {
  test("at once leads to the application both times, by one code", async () => {
    const { browser, page } = await asked()
    const cookie = browser.cookie()
    const before = provider.store.log.durable()
    const answers = await Promise.all([posted(cookie, page), posted(cookie, page)])
    // The browser gets one of the answers, and either may have been the last to be stored.
    const codes = await Promise.all(answers.map((each) => codeAt(each)))
    expect(codes.filter(Boolean)).toHaveLength(2)
    expect(await issuedSince(before)).toBe(1)
    expect(await redeemed(codes[0] ?? "")).toBe(200)
    for (const code of codes) expect(await redeemed(code)).toBe(400)
  })

  test("at once leaves the browser signed in, whichever answer it got", async () => {
    const { browser, page } = await asked()
    const cookie = browser.cookie()
    const answers = await Promise.all([posted(cookie, page), posted(cookie, page)])
    const cookies = answers.map(cookieOf)
    expect(new Set(cookies).size).toBe(2)
    for (const got of cookies) expect(await silently(got)).toHaveProperty("code")
    // The cookie of before opens nothing, and the next sign-in replaces both.
    expect(await silently(cookie)).toHaveProperty("error", "login_required")
    browser.setCookie(cookies[0] ?? "")
    await browser.signIn(authorizePath(client.id, { prompt: "login", login_hint: "pat" }), "pat")
    for (const got of cookies) expect(await silently(got)).toHaveProperty("error", "login_required")
    expect(await silently(browser.cookie())).not.toHaveProperty("error", "login_required")
  })

  test("at once by two people signs in the last one alone", async () => {
    const { browser, page } = await asked()
    const cookie = browser.cookie()
    const pat = await browser.post(await browser.go(authorizePath(client.id)), { loginName: "pat" })
    const byPat = { loginName: "pat", password }
    const answers = await Promise.all([posted(cookie, page), posted(cookie, pat, byPat)])
    const found = await Promise.all(answers.map((each) => silently(cookieOf(each))))
    expect(found.filter((each) => "code" in each)).toHaveLength(1)
    expect(found.filter((each) => "error" in each && each.error === "login_required")).toHaveLength(
      1,
    )
  })

  test("at once by two people keeps the session of a third who was there before", async () => {
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
      pages.map((page, at) => posted(cookie, page, { loginName: names[at] ?? "", password })),
    )
    const found = await Promise.all(
      answers.map((each) =>
        Promise.all(["pat", ...names].map((name) => silently(cookieOf(each), name))),
      ),
    )
    const signedIn = found.map((each) => each.map((answer) => "code" in answer))
    const [last] = signedIn.filter((each) => each.includes(true))
    expect(signedIn.filter((each) => each.includes(true))).toHaveLength(1)
    // Pat, and whoever was stored last.
    expect(last?.[0]).toBe(true)
    expect(last?.slice(1).toSorted()).toEqual([false, true])
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
    expect(await silently(cookieOf(second))).toHaveProperty("code")
    expect(await silently(cookieOf(lost))).toHaveProperty("error", "login_required")
    expect(await silently(before)).toHaveProperty("error", "login_required")
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
    const again = await reached(await posted(before, page), before)
    expect([again.location, again.page]).toEqual(["", expect.stringContaining(finished)])
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
      expect(await redeemed(await codeAt(first))).toBe(200)
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
      expect(await redeemed(await codeAt(first))).toBe(200)
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
  test.each(Object.entries(refused))("is not answered again %s", async (name, prepare) => {
    const { browser, page } = await asked()
    const before = browser.cookie()
    const first = await posted(before, page)
    const [cookie, fields] = await prepare(first, before)
    const second = await reached(await posted(cookie, page, fields), cookie)
    expect([second.location, second.status]).toEqual(["", 200])
    expect(second.page.includes(finished)).toBe(name !== "from another browser")
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
  test("leads to the application both times, by one code", async () => {
    const { browser, page } = await asked({ prompt: "consent" })
    const consent = await browser.post(page, given)
    const cookie = browser.cookie()
    const before = provider.store.log.durable()
    const allow = { answer: "allow" }
    const first = await codeAt(await posted(cookie, consent, allow), cookie)
    const form = { ...allow, session: /name="session" value="(\d+)"/.exec(consent.page)?.[1] ?? "" }
    const second = await codeAt(await posted(cookie, consent, form), cookie)
    expect(await issuedSince(before)).toBe(1)
    expect([await redeemed(second), await redeemed(first)]).toEqual([200, 400])
  })

  test("offers to continue once the code was used", async () => {
    const { browser, page } = await asked({ prompt: "consent" })
    const consent = await browser.post(page, given)
    const { path } = await browser.post(consent, { answer: "allow" })
    expect(await redeemed(codeIn(path))).toBe(200)
    const again = await browser.post(consent, { answer: "allow" })
    expect(again.response.status).toBe(200)
    expect(again.page).toContain(finished)
    expect(again.page).toContain('href="https://app.example.com/"')
  })

  test("and refused leads to the application, and then to a page that offers to", async () => {
    const { browser, page } = await asked({ prompt: "consent" })
    const consent = await browser.post(page, given)
    const refused = await browser.post(consent, { answer: "cancel" })
    expect(answerOf(refused)).toHaveProperty("error", "access_denied")
    const again = await browser.post(consent, { answer: "cancel" })
    expect(again.page).toContain(finished)
    expect(again.page).toContain('href="https://app.example.com/"')
  })

  test("shows a device's person both times that it is done", async () => {
    const begun = await provider.send("/oauth/v2/device_authorization", {
      method: "POST",
      body: new URLSearchParams({ scope: "openid" }),
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

describe("Back after a sign-in", () => {
  test.each(["a code that was not used", "a used code"])(
    "offers to continue, with %s",
    async (of) => {
      const { browser, page } = await asked()
      const { path } = await browser.post(page, given)
      if (of === "a used code") expect(await redeemed(codeIn(path))).toBe(200)
      const back = await browser.go(page.path)
      const { headers } = back.response
      expect([back.response.status, continuedTo(back.page)]).toEqual([200, undefined])
      expect([headers.get("cache-control"), headers.get("referrer-policy")]).toEqual([
        "no-store",
        "no-referrer",
      ])
      const [, href = ""] = /<a href="([^"]*)">Continue to Example App</.exec(back.page) ?? []
      if (of === "a used code") expect(href).toBe("https://app.example.com/")
      else expect(await redeemed(codeIn((await browser.go(href)).path))).toBe(200)
    },
  )

  test("of an application on the device leads nowhere", async () => {
    const native = await provider.addClient({
      appType: "native",
      redirectUris: ["claude://callback"],
    })
    const browser = browserOf(provider)
    const redirect_uri = "claude://callback"
    const page = await browser.go(authorizePath(native.id, { redirect_uri }))
    const end = await browser.post(await browser.post(page, { loginName: "olga" }), given)
    expect(end.path).toMatch(/^claude:\/\/callback\?code=/)
    const { status } = await askToken(
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
    const { browser, page } = await asked()
    await browser.post(page, given)
    const other = await browserOf(provider).go(page.path)
    expect(other.response.status).toBe(400)
    expect(other.page).not.toContain("Example App")
  })
})
