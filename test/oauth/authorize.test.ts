import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { requireInstance } from "../../src/domain/instance/index.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  findApiCaller,
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
let native: NewClient
beforeAll(async () => {
  provider = await openProvider()
  web = await provider.addClient()
  native = await provider.addClient({
    appType: "native",
    authMethod: "none",
    redirectUris: ["http://127.0.0.1/cb?x=1", "com.example.app:/cb", "https://app.example.com/n"],
  })
})
afterAll(() => provider.close())

type Changes = Readonly<Record<string, string | undefined>>

const locationOf = async (id: string, changes: Changes) =>
  (await provider.send(authorizePath(id, changes))).headers.get("location") ?? ""

describe("authorize", () => {
  const toClient: readonly (readonly [string, Changes, string])[] = [
    ["no response_type", { response_type: undefined }, "invalid_request"],
    ["another response_type", { response_type: "nothing" }, "unsupported_response_type"],
    ["a response_type twice", { response_type: "code code" }, "unsupported_response_type"],
    ["a scope without openid", { scope: "profile" }, "invalid_scope"],
    ["no scope", { scope: undefined }, "invalid_scope"],
    ["an unknown prompt", { prompt: "dance" }, "invalid_request"],
    ["prompt=create together with none", { prompt: "create none" }, "invalid_request"],
    ["prompt=none with another", { prompt: "none login" }, "invalid_request"],
    ["prompt=none without a session", { prompt: "none" }, "login_required"],
    ["a max_age that is no number", { max_age: "-1" }, "invalid_request"],
    ["the PKCE method plain", { code_challenge_method: "plain" }, "invalid_request"],
    ["a challenge without its method", { code_challenge_method: undefined }, "invalid_request"],
    ["a challenge that is no hash", { code_challenge: "short" }, "invalid_request"],
    ["a foreign id_token_hint", { id_token_hint: "a.b.c" }, "invalid_request"],
    ["an unknown response_mode", { response_mode: "carrier_pigeon" }, "invalid_request"],
    ["a request object that is none", { request: "a.b.c" }, "invalid_request_object"],
    ["a request_uri", { request_uri: "https://a.example" }, "request_uri_not_supported"],
    ["a registration", { registration: "{}" }, "registration_not_supported"],
  ]
  test.each(toClient)("returns %s to the redirect URI", async (_, changes, error) => {
    const location = await locationOf(web.id, changes)
    expect(location.startsWith(`${redirectUri}?`)).toBe(true)
    const { error_description, ...answer } = responseOf({ path: location } as never)
    expect(answer).toEqual({ error, state: "s-1", iss: issuer })
    // RFC 6749 §4.1.2.1 restricts the characters of a description.
    expect(error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
  })

  test("rejects a repeated parameter (RFC 6749 §3.1)", async () => {
    const response = await provider.send(`${authorizePath(web.id)}&scope=openid`)
    expect(response.headers.get("location")).toContain("error=invalid_request")
  })

  const toPerson: readonly (readonly [string, Changes])[] = [
    ["an unknown client", { client_id: "nobody" }],
    ["no client", { client_id: undefined }],
    ["no redirect URI", { redirect_uri: undefined }],
    ["an unregistered redirect URI", { redirect_uri: "https://evil.example/callback" }],
    ["a redirect URI with more path", { redirect_uri: `${redirectUri}/x` }],
    ["a redirect URI with a query", { redirect_uri: `${redirectUri}?x` }],
    ["a redirect URI in other case", { redirect_uri: redirectUri.replace("app", "APP") }],
    [
      "a port that a web application did not register",
      { redirect_uri: "https://app.example.com:1/callback" },
    ],
    ["no redirect URI that a browser would run", { redirect_uri: "javascript:alert(1)" }],
  ]
  test.each(toPerson)("shows the user %s, and redirects nowhere", async (_, changes) => {
    const response = await provider.send(authorizePath(web.id, changes))
    expect(response.status).toBe(400)
    expect(response.headers.has("location")).toBe(false)
    expect(await response.text()).toMatch(/<code>request-\d+<\/code>/)
  })

  test("redirects nowhere when client_id or redirect_uri is repeated", async () => {
    for (const more of ["client_id=x", "redirect_uri=https://evil.example"]) {
      const response = await provider.send(`${authorizePath(web.id)}&${more}`)
      expect([response.status, response.headers.get("location")]).toEqual([400, null])
    }
  })

  test("requires PKCE for public clients (RFC 9700 §2.1.1)", async () => {
    const redirect_uri = "https://app.example.com/n"
    const without = { redirect_uri, code_challenge: undefined, code_challenge_method: undefined }
    expect(await locationOf(native.id, without)).toContain("error=invalid_request")
    expect(await locationOf(native.id, { redirect_uri })).toMatch(/^\/ui\/login\/loginname/)
  })

  const loopback: readonly (readonly [string, boolean])[] = [
    ["http://127.0.0.1:51234/cb?x=1", true],
    ["http://127.0.0.1/cb?x=1", true],
    ["com.example.app:/cb", true],
    ["http://127.0.0.1:51234/cb?x=2", false],
    ["http://127.0.0.1:51234/cb", false],
    ["http://localhost:51234/cb?x=1", false],
    ["https://127.0.0.1:51234/cb?x=1", false],
    ["http://127.0.0.1:51234@evil.example/cb?x=1", false],
    ["http://127.0.0.1.evil.example/cb?x=1", false],
  ]
  test.each(loopback)("lets a native application vary only its port: %s", async (uri, fine) => {
    const response = await provider.send(authorizePath(native.id, { redirect_uri: uri }))
    expect(response.status).toBe(fine ? 303 : 400)
  })

  test("treats a POST as the GET with the cookie", async () => {
    const body = new URLSearchParams(authorizePath(web.id).split("?")[1])
    const response = await provider.send("/oauth/v2/authorize", { method: "POST", body })
    expect(response.headers.get("location")).toBe(authorizePath(web.id))
  })

  test("responds in the fragment or by form_post if requested", async () => {
    const browser = browserOf(provider)
    const path = authorizePath(web.id, { response_mode: "fragment" })
    expect((await browser.signIn(path)).path).toMatch(/callback#code=/)
    const page = await browser.go(authorizePath(web.id, { response_mode: "form_post" }))
    expect(page.page).toContain(`action="${redirectUri}"`)
    expect(page.page).toMatch(/name="code" value="[^"]+"/)
    // Chromium applies form-action to redirects of the application, whose targets are unknown.
    expect(page.response.headers.get("content-security-policy")).not.toContain("form-action")
  })
})

describe("the scope of the management API", () => {
  const scope = "openid urn:core:iam:org:project:id:core:aud"

  test("is granted to the console immediately", async () => {
    const { consoleClientId } = requireInstance(provider.cx())
    const redirect_uri = `${issuer}/ui/console/callback`
    const browser = browserOf(provider)
    const { path } = await browser.signIn(authorizePath(consoleClientId, { scope, redirect_uri }))
    expect(path).toMatch(/^\/ui\/console\/callback\?code=/)
  })

  test("is granted to others only with the user's consent", async () => {
    const other = await provider.addClient()
    const browser = browserOf(provider)
    await browser.signIn(authorizePath(other.id))
    expect(responseOf(await browser.go(authorizePath(other.id)))).toHaveProperty("code")
    const silent = await browser.go(authorizePath(other.id, { scope, prompt: "none" }))
    expect(responseOf(silent).error).toBe("consent_required")
    const asked = await browser.go(authorizePath(other.id, { scope }))
    expect(asked.path).toMatch(/^\/ui\/login\/consent\?/)
    expect(asked.page).toContain("It can manage this Latchkey instance on your behalf.")
    expect(responseOf(await browser.post(asked, { answer: "allow" }))).toHaveProperty("code")
  })

  test("is granted beside the console only with the user's consent, named or not", async () => {
    const { ownProjectId } = provider
    const beside = await provider.addClient({ appType: "user_agent" }, ownProjectId)
    const browser = browserOf(provider)
    const as = `${beside.id}:${beside.secret}`
    const refused = await browser.signIn(authorizePath(beside.id))
    expect(refused.page).toContain("It can manage this Latchkey instance on your behalf.")
    const denied = await browser.post(refused, { answer: "cancel" })
    expect(responseOf(denied).error).toBe("access_denied")
    for (const words of ["openid", scope]) {
      const silent = await browser.go(authorizePath(beside.id, { scope: words, prompt: "none" }))
      expect(responseOf(silent).error).toBe("consent_required")
      const asked = await browser.go(authorizePath(beside.id, { scope: words }))
      const { code = "" } = responseOf(await browser.post(asked, { answer: "allow" }))
      const { answer } = await sendTokenRequest(provider, codeFields(code), as)
      expect(await findApiCaller(provider, String(answer.access_token))).toMatchObject({
        userId: provider.setup.ownerId,
      })
    }
  })
})

describe("discovery", () => {
  test("is built from the configured URL and lists only existing endpoints", async () => {
    const response = await provider.send("/.well-known/openid-configuration")
    expect(response.headers.get("access-control-allow-origin")).toBe("*")
    const document: Record<string, unknown> = await response.json()
    expect(document.issuer).toBe(issuer)
    for (const [name, value] of Object.entries(document)) {
      if (!name.endsWith("_endpoint") && name !== "jwks_uri") continue
      const answer = await provider.send(String(value))
      expect(answer.status, name).not.toBe(404)
    }
    expect(document.grant_types_supported).toEqual([
      "authorization_code",
      "client_credentials",
      "urn:ietf:params:oauth:grant-type:device_code",
      "urn:ietf:params:oauth:grant-type:jwt-bearer",
      "refresh_token",
      "urn:ietf:params:oauth:grant-type:token-exchange",
      // Applications can register it, so it is listed.
      "implicit",
    ])
  })

  test("publishes no private key", async () => {
    const { keys } = await (await provider.send("/oauth/v2/keys")).json()
    expect(keys.map((key: { alg: string }) => key.alg).sort()).toEqual(["ES256", "RS256"])
    for (const key of keys) expect(Object.keys(key)).not.toContain("d")
  })

  test("has no OAuth server metadata beside it (spec §4.3)", async () => {
    const response = await provider.send("/.well-known/oauth-authorization-server")
    expect(response.status).toBe(404)
  })
})
