import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest"
import { type Code, Fault } from "../../src/kernel/fault.ts"
import { refreshTarget } from "../support/http-browser.ts"
import {
  authorizePath,
  browserOf,
  challenge,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  redirectUri,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

let provider: Provider
let web: NewClient
let open: NewClient
beforeAll(async () => {
  provider = await openProvider()
  web = await provider.addClient()
  open = await provider.addClient({ authMethod: "none", appType: "user_agent" })
})
afterAll(() => provider.close())
afterEach(() => vi.restoreAllMocks())

type Changes = Readonly<Record<string, string | undefined>>

const locationOf = async (path: string) => (await provider.send(path)).headers.get("location") ?? ""
const errorOf = async (path: string) => responseOf({ path: await locationOf(path) } as never).error

describe("a repeated parameter (RFC 6749 §3.1)", () => {
  const names = [
    "response_type",
    "scope",
    "state",
    "nonce",
    "prompt",
    "max_age",
    "login_hint",
    "code_challenge",
    "code_challenge_method",
    "response_mode",
    "claims",
    "acr_values",
    "id_token_hint",
    "ui_locales",
    "display",
    "dpop_jkt",
    "unknown",
  ]
  test.each(names)("%s is rejected, with the same value or another", async (name) => {
    const path = authorizePath(web.id, { [name]: "x" })
    for (const value of ["x", "y", ""]) {
      expect(await errorOf(`${path}&${name}=${value}`)).toBe("invalid_request")
    }
  })

  test("only resource can be repeated, whatever is in between", async () => {
    const id = encodeURIComponent(`urn:core:iam:org:project:id:${provider.projectId}:aud`)
    const path = `${authorizePath(web.id)}&resource=${id}&x=1&resource=${id}`
    expect(await locationOf(path)).toMatch(/^\/ui\/login/)
  })
})

describe("a request that is too long", () => {
  test("redirects nowhere, by GET or POST", async () => {
    const path = authorizePath(web.id, { state: "x".repeat(9000) })
    const get = await provider.send(path)
    expect([get.status, get.headers.has("location")]).toEqual([400, false])
    const body = new URLSearchParams(path.split("?")[1])
    const post = await provider.send("/oauth/v2/authorize", { method: "POST", body })
    expect([post.status, post.headers.has("location")]).toEqual([400, false])
  })

  test("can also be one with many parameters", async () => {
    const many = Array.from({ length: 4000 }, (_, i) => `p${i}=`).join("&")
    expect((await provider.send(`${authorizePath(web.id)}&${many}`)).status).toBe(400)
  })
})

describe("ui_locales (OpenID Connect Core §3.1.2.1)", () => {
  test("selects the language of every page, also of error pages", async () => {
    const ui_locales = "xx de en"
    const form_post = { response_mode: "form_post", scope: "email" }
    for (const changes of [{}, { client_id: "nobody" }, form_post, { request: "x" }]) {
      const path = authorizePath(web.id, { ui_locales, ...changes })
      const bare = path.includes("request=x") ? path.replace("redirect_uri", "unknown") : path
      const { page, response } = await browserOf(provider).go(bare)
      expect([page.slice(0, 40), response.headers.get("content-language")]).toEqual([
        expect.stringContaining('<html lang="de">'),
        "de",
      ])
    }
  })
})

describe("a response mode", () => {
  const rows: readonly (readonly [string, Changes, string])[] = [
    ["unknown", { response_mode: "query.jwt" }, "?"],
    ["in other case", { response_mode: "FRAGMENT" }, "?"],
    ["of web messages", { response_mode: "web_message" }, "?"],
    ["query for a token", { response_mode: "query", response_type: "token" }, "#"],
    ["query for the hybrid flow", { response_mode: "query", response_type: "code token" }, "#"],
    ["none for the hybrid flow", { response_type: "code id_token" }, "#"],
  ]
  test.each(rows)("%s never puts a token into a query", async (_, changes, sign) => {
    const location = await locationOf(authorizePath(web.id, changes))
    expect(location.startsWith(`${redirectUri}${sign}error=`)).toBe(true)
  })

  test("form_post also sends errors to the client, and runs no script of its own", async () => {
    const changes = { response_mode: "form_post", scope: "email", state: `"><script>x</script>` }
    const response = await provider.send(authorizePath(web.id, changes))
    const page = await response.text()
    expect(response.status).toBe(200)
    expect(page).toContain('name="error" value="invalid_scope"')
    expect(page).not.toContain("<script>x")
    expect(page.match(/<script/g)).toHaveLength(1)
    expect(page).toContain('<button type="submit"')
    expect(page).not.toContain("<noscript")
    expect(page).toContain("Sign-in not completed")
    expect(page).not.toContain("You are signed in")
    const policy = response.headers.get("content-security-policy") ?? ""
    expect(policy).toContain("script-src 'self';")
  })
})

describe("PKCE (RFC 7636, RFC 9700 §2.1.1)", () => {
  const rows: readonly (readonly [string, Changes])[] = [
    ["none", { code_challenge: undefined, code_challenge_method: undefined }],
    ["an empty challenge", { code_challenge: "" }],
    ["an empty method", { code_challenge_method: "" }],
    ["plain", { code_challenge_method: "plain" }],
    ["s256", { code_challenge_method: "s256" }],
    ["a padded challenge", { code_challenge: `${challenge}=` }],
    ["a longer challenge", { code_challenge: `${challenge}A` }],
    ["a method without a challenge", { code_challenge: undefined }],
  ]
  test.each(rows)("%s is rejected for a client without a secret", async (_, changes) => {
    expect(await errorOf(authorizePath(open.id, changes))).toBe("invalid_request")
  })

  test("a thumbprint for DPoP has one form", async () => {
    for (const dpop_jkt of ["short", `${challenge}=`, challenge.replace(/.$/, "+")]) {
      expect(await errorOf(authorizePath(web.id, { dpop_jkt }))).toBe("invalid_request")
    }
  })
})

describe("several values of prompt (OpenID Connect Core §3.1.2.1)", () => {
  test("all apply: select account, sign in again, consent", async () => {
    const browser = browserOf(provider)
    await browser.signIn(authorizePath(web.id))
    provider.clock.advance(1000)
    const path = authorizePath(web.id, { prompt: "consent login select_account" })
    const choice = await browser.go(path)
    expect(choice.path).toMatch(/^\/ui\/login\/accounts/)
    const [, session = ""] = /<button[^>]*value="(\d+)"/.exec(choice.page) ?? []
    const again = await browser.post(choice, { session })
    expect(again.path).toMatch(/^\/ui\/login\/password/)
    provider.clock.advance(1)
    const fields = { loginName: "olga", password: "Correct-Horse-7" }
    const asked = await browser.post(again, fields)
    expect(asked.path).toMatch(/^\/ui\/login\/consent/)
    expect(responseOf(await browser.post(asked, { answer: "allow" }))).toHaveProperty("code")
  })
})

describe("a response", () => {
  const types = ["code", "id_token token"] as const
  test.each(types)("with %s is issued once, however often it is fetched", async (response_type) => {
    const both = await provider.addClient({
      grantTypes: ["authorization_code", "implicit"],
      responseTypes: ["code", "id_token_token"],
    })
    const browser = browserOf(provider)
    const asked = await browser.signIn(authorizePath(both.id, { response_type, prompt: "consent" }))
    const [, id = ""] = /authRequest=(\d+)/.exec(asked.path) ?? []
    const headers = { cookie: browser.cookie() }
    const callback = () => provider.send(`/oauth/v2/authorize/callback?id=${id}`, { headers })
    // The user has not consented yet.
    const early = await Promise.all(Array.from({ length: 5 }, callback))
    for (const { headers } of early)
      expect(headers.get("location")).toMatch(/^\/ui\/login\/consent/)
    const [, csrf = ""] = /name="csrf" value="([^"]*)"/.exec(asked.page) ?? []
    const [, session = ""] = /name="session" value="(\d+)"/.exec(asked.page) ?? []
    const body = new URLSearchParams({ authRequest: id, csrf, session, answer: "allow" })
    await provider.send("/ui/login/consent", { method: "POST", headers, body })
    const all = await Promise.all(Array.from({ length: 20 }, callback))
    const texts = await Promise.all(all.map((answer) => answer.text()))
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]))
    const given = texts.flatMap((text) => refreshTarget(text) ?? [])
    if (response_type !== "code") {
      // Tokens are issued once; other requests get a page that the sign-in is finished.
      expect(given).toEqual([expect.stringContaining(`${redirectUri}#`)])
      expect(texts.filter((text) => text.includes("This sign-in is finished"))).toHaveLength(19)
      return
    }
    // It is the same code each time, so that one of them can be redeemed.
    const codes = given.map((location) => new URL(location).searchParams.get("code") ?? "")
    expect(codes).toHaveLength(20)
    const redeem = (code: string) =>
      sendTokenRequest(provider, codeFields(code), `${both.id}:${both.secret}`)
    const statuses = [await redeem(codes[7] ?? ""), await redeem(codes[3] ?? "")]
    expect(statuses.map(({ status }) => status)).toEqual([200, 400])
    expect(await (await callback()).text()).toContain("This sign-in is finished")
  })
})

describe("an internal error (RFC 6749 §4.1.2.1)", () => {
  const rows: readonly (readonly [Code, string])[] = [
    ["internal", "server_error"],
    ["failed_precondition", "server_error"],
    ["unavailable", "temporarily_unavailable"],
    ["aborted", "temporarily_unavailable"],
  ]
  test.each(rows)("%s is sent to the client as %s", async (code, error) => {
    vi.spyOn(provider.store, "transactSoon").mockRejectedValue(
      new Fault(code, "x.y", "it did not work"),
    )
    const answer = responseOf({ path: await locationOf(authorizePath(web.id)) } as never)
    expect(answer).toMatchObject({ error, state: "s-1", iss: issuer })
  })

  test("of an unknown kind is reported as an internal error, without a response", async () => {
    vi.spyOn(provider.store, "transactSoon").mockRejectedValue(new Error("secret detail"))
    await expect(provider.send(authorizePath(web.id))).rejects.toThrow("secret detail")
  })
})
