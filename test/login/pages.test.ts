import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { attemptsOf } from "../../src/domain/lockout/attempt.ts"
import { addPolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import { setRestrictions } from "../../src/domain/quota/index.ts"
import { lockUser } from "../../src/domain/user/index.ts"
import { pageLanguages } from "../../src/kernel/text/language.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  password,
  responseOf,
} from "../oauth/provider.ts"
import { until } from "../support/wait.ts"

let provider: Provider
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient()
})
afterAll(() => provider.close())

const path = (changes = {}) => authorizePath(client.id, changes)

describe("the login pages", () => {
  test("lead from the login name through the password back to the application", async () => {
    const browser = browserOf(provider)
    const first = await browser.go(path())
    expect(first.page).toContain("Example App")
    const second = await browser.post(first, { loginName: " OLGA@example.com " })
    expect(second.page).toMatch(/autocomplete="current-password"/i)
    const end = await browser.post(second, { loginName: "olga", password })
    expect(responseOf(end)).toHaveProperty("code")
  })

  test("ask for the login name only, because no user signs in with an email address", async () => {
    const { page } = await browserOf(provider).go(path())
    expect(page).toContain(">Login name<")
  })

  test("sign in without an application", async () => {
    const browser = browserOf(provider)
    const end = await browser.signIn("/ui/login")
    expect([end.path, end.response.status]).toEqual(["/ui/login/signedin", 200])
    expect(end.page).toContain("Olga Owner")
    expect(end.page).toContain("/ui/console/")
  })

  test("redirect sign-ins without an application as the policy says", async () => {
    const at = await openProvider()
    const say = () => ({ defaultRedirectUri: "https://start.example.com/" })
    await addPolicy(at.cx(), undefined, { policy: login, apply: say })
    const end = await browserOf(at).signIn("/ui/login")
    expect(end.page).toContain('href="https://start.example.com/"')
    await at.close()
  })

  test("treat an unknown login name like a wrong password", async () => {
    const text = async (loginName: string) => {
      const end = await browserOf(provider).signIn(path(), loginName, "Wrong-Horse-7")
      const { page, response } = end
      // The login name in the URL is sealed, which differs each time.
      const plain = page
        .replaceAll(/value="[^"]*"/g, "")
        .replaceAll(/authRequest=\d+|as=[^"]+/g, "")
      return [response.status, plain.replaceAll(loginName, "NAME")]
    }
    // The avatar shows the initial of the entered name.
    const [status, page] = await text("olaf")
    expect(status).toBe(422)
    expect(await text("olga")).toEqual([status, page])
  })

  test("have strict headers", async () => {
    const { response } = await browserOf(provider).go(path())
    const policy = response.headers.get("content-security-policy") ?? ""
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain("unsafe")
    expect(policy).toContain("form-action 'self';")
    expect(response.headers.get("cache-control")).toBe("no-store")
  })

  test("use the language of the application or the browser", async () => {
    const { page, response } = await browserOf(provider).go(path({ ui_locales: "sv de" }))
    expect(response.headers.get("content-language")).toBe("de")
    expect(page).toContain('<html lang="de">')
  })

  test("use only languages that the instance allows, and its default otherwise", async () => {
    const at = await openProvider()
    const restrict = (language: string) =>
      setRestrictions(at.cx(), "i1", { allowedLanguages: [language] })
    const language = async (locales: string) => {
      const { id } = await at.addClient()
      const { response } = await browserOf(at).go(authorizePath(id, { ui_locales: locales }))
      return response.headers.get("content-language")
    }
    const announced = async () => {
      const response = await at.send("/.well-known/openid-configuration")
      return Reflect.get(Object(await response.json()), "ui_locales_supported")
    }
    expect([await language("de"), await announced()]).toEqual(["de", pageLanguages])
    await restrict("en")
    expect([await language("de"), await announced()]).toEqual(["en", ["en"]])
    await restrict("de")
    expect([await language("en"), await announced()]).toEqual(["de", ["de"]])
    await at.close()
  })

  test("report a locked account only if the password is right", async () => {
    const id = await provider.addPerson("lara")
    await lockUser(provider.cx(), id)
    const right = await browserOf(provider).signIn(path(), "lara")
    expect(right.response.status).toBe(403)
    expect(right.page).toContain("Your account is locked.")
    const wrong = await browserOf(provider).signIn(path(), "lara", "Wrong-Horse-7")
    expect(wrong.response.status).toBe(422)
  })
})

describe("a form", () => {
  test("is accepted only in its own browser", async () => {
    const [mine, other] = [browserOf(provider), browserOf(provider)]
    const page = await mine.go(path())
    await other.go(path())
    const stolen = await other.post(page, { loginName: "olga" })
    expect(stolen.response.status).toBe(403)
  })

  test("is accepted only with our token, and only from our pages", async () => {
    const browser = browserOf(provider)
    const page = await browser.go(path())
    // The request waits in this same browser: the sign-in restarts, and nothing was changed.
    const again = await browser.post(page, { loginName: "olga", csrf: "no" })
    expect(again.path).toMatch(/loginname/)
    const foreign = await browser.go("/ui/login/loginname", {
      method: "POST",
      headers: { origin: "https://evil.example" },
      body: new URLSearchParams({ loginName: "olga" }),
    })
    expect(foreign.response.status).toBe(403)
  })

  test("can't be used for a request of another browser", async () => {
    const [mine, other] = [browserOf(provider), browserOf(provider)]
    const page = await mine.go(path())
    const id = /authRequest" value="(\d+)"/.exec(page.page)?.[1] ?? ""
    const end = await other.go(`/ui/login/loginname?authRequest=${id}`)
    expect(end.response.status).toBe(400)
    expect((await other.go(`/oauth/v2/authorize/callback?id=${id}`)).response.status).toBe(400)
  })

  test("of a second tab continues automatically when the first has signed in", async () => {
    const browser = browserOf(provider)
    const second = await browser.go(path({ state: "second" }))
    await browser.signIn(path())
    const end = await browser.post(second, { loginName: "olga" })
    expect(responseOf(end)).toMatchObject({ state: "second", code: expect.any(String) })
  })

  test("expires an hour after the request started", async () => {
    const browser = browserOf(provider)
    const page = await browser.go(path())
    provider.clock.advance(3_600_000)
    expect((await browser.post(page, { loginName: "olga" })).response.status).toBe(400)
  })
})

describe("the browser's session", () => {
  test("has a new secret after the sign-in, and the previous one is invalid", async () => {
    const browser = browserOf(provider)
    await browser.go(path())
    const before = browser.cookie()
    await browser.signIn(path())
    expect(browser.cookie()).not.toBe(before)
    const thief = browserOf(provider)
    thief.setCookie(before)
    expect((await thief.go("/ui/login/signedin")).path).toBe("/ui/login/loginname")
  })

  test("completes the next application's request immediately, and prompt=none", async () => {
    const browser = browserOf(provider)
    await browser.signIn(path())
    expect(responseOf(await browser.go(path()))).toHaveProperty("code")
    expect(responseOf(await browser.go(path({ prompt: "none" })))).toHaveProperty("code")
    const again = await browser.go(path({ prompt: "login" }))
    expect(again.page).toContain("Olga Owner")
    expect(await browser.go(again.path)).toHaveProperty("path", again.path)
    provider.clock.advance(1)
    const end = await browser.post(again, { loginName: "olga", password })
    expect(responseOf(end)).toHaveProperty("code")
  })

  test("lists the account of a login_hint first", async () => {
    await provider.addPerson("hilda")
    const browser = browserOf(provider)
    await browser.signIn(path())
    await browser.signIn(path({ prompt: "login", login_hint: "hilda" }), "hilda")
    for (const [login_hint, order] of [
      ["hilda", /hilda[\s\S]*olga/],
      ["olga", /olga[\s\S]*hilda/],
    ] as const) {
      const { page } = await browser.go(path({ prompt: "select_account", login_hint }))
      expect(page.replaceAll(/Olga Owner|Pat Person/g, "")).toMatch(order)
    }
  })

  test("keeps several accounts, one of which is selected", async () => {
    const id = await provider.addPerson("paul")
    const browser = browserOf(provider)
    await browser.signIn(path())
    const asked = await browser.go(path({ prompt: "select_account" }))
    const other = /href="(\/ui\/login\/loginname[^"]*)"/.exec(asked.page)?.[1] ?? ""
    expect(responseOf(await browser.signIn(other, "paul"))).toHaveProperty("code")
    const choice = await browser.go(path())
    expect(choice.page).toContain("Pat Person")
    const silent = await browser.go(path({ prompt: "none" }))
    expect(responseOf(silent).error).toBe("account_selection_required")
    const sessions = [...choice.page.matchAll(/<button[^>]*value="(\d+)"/g)].map(([, s]) => s)
    expect(sessions).toHaveLength(2)
    const foreign = await browser.post(choice, { session: id })
    expect(foreign.path).toMatch(/^\/ui\/login\/accounts/)
    expect(responseOf(await browser.post(choice, { session: sessions[1] ?? "" }))).toHaveProperty(
      "code",
    )
  })

  test("is marked Secure, HttpOnly and __Host-", async () => {
    const response = await provider.send(path())
    const [line = ""] = response.headers.getSetCookie()
    expect(line).toMatch(/^__Host-latchkey=/)
    for (const part of ["HttpOnly", "Secure", "SameSite=Lax", "Path=/"])
      expect(line).toContain(part)
    expect(line).not.toContain("Domain")
  })
})

describe("failed attempts", () => {
  test("are counted per account, whatever the spelling, also for unknown names", async () => {
    const { accountOf } = await import("../../src/domain/user-lookup/index.ts")
    for (const name of ["zoe", "ZOE", " zoe "]) {
      await browserOf(provider).signIn(path(), name, "Wrong-Horse-7")
    }
    const cx = provider.cx()
    expect(attemptsOf(cx, accountOf(cx, "zoe")).failures).toBe(3)
  })

  test("delay the next one, whether or not the account exists", async () => {
    for (const name of ["yara", "nobody-else"]) {
      if (name === "yara") await provider.addPerson(name)
      for (let tries = 0; tries < 5; tries++) {
        await browserOf(provider).signIn(path(), name, "Wrong-Horse-7")
      }
      const idle = provider.clock.pending()
      let answered = false
      const slow = browserOf(provider).signIn(path(), name, password)
      void slow.then(() => {
        answered = true
      })
      // A throttled attempt sets a timer.
      await until(() => answered || provider.clock.pending() > idle)
      expect(answered, name).toBe(false)
      provider.clock.advance(1000)
      await slow
    }
  })
})

describe("end session", () => {
  const spellings = ["/oidc/v1/endsession", "/oidc/v1/end_session"]
  test.each(spellings)("at %s asks for confirmation without proof of the session", async (at) => {
    const browser = browserOf(provider)
    await browser.signIn(path())
    const asked = await browser.go(at)
    expect(asked.page).toContain("Olga Owner")
    const end = await browser.post(asked, {})
    expect(end.path).toBe("/ui/login/signedout")
    expect((await browser.go("/ui/login/signedin")).path).toBe("/ui/login/loginname")
  })
})
