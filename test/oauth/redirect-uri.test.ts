import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { updateApplication } from "../../src/domain/app/index.ts"
import { findRedirectProblem } from "../../src/oauth/authorize/client.ts"
import { issuerOf } from "../../src/oauth/issuer.ts"
import { assessRedirectUri, isInterceptable } from "../../src/protocol/redirect-uri.ts"
import { authorizePath, type NewClient, openProvider, type Provider } from "./provider.ts"

let provider: Provider
beforeAll(async () => {
  provider = await openProvider()
})
afterAll(() => provider.close())

const statusOf = async (client: NewClient, redirect_uri: string) =>
  (await provider.send(authorizePath(client.id, { redirect_uri }))).status

describe("development mode", () => {
  const patterns = [
    "https://*.preview.example.com/callback",
    "https://pr-*.app.example.org:8443/*/cb?fixed=1",
    "http://localhost/run-*/cb",
    "https://*.bare.example.com",
  ]
  const rows: readonly (readonly [string, boolean])[] = [
    ["https://feature-1.preview.example.com/callback", true],
    ["https://pr-12.app.example.org:8443/x.y/cb?fixed=1", true],
    ["http://localhost/run-7/cb", true],
    ["https://a.bare.example.com", true],
    ["https://a.b.preview.example.com/callback", false],
    ["https://.preview.example.com/callback", false],
    ["https://*.preview.example.com/callback", false],
    ["https://evil.example/.preview.example.com/callback", false],
    ["https://evil.example#.preview.example.com/callback", false],
    ["https://evil.example?.preview.example.com/callback", false],
    ["https://evil.example\\.preview.example.com/callback", false],
    ["https://evil.example%2f.preview.example.com/callback", false],
    ["https://evil@x.preview.example.com/callback", false],
    ["https://x.preview.example.com@evil.example/callback", false],
    ["https://X.preview.example.com/callback", false],
    ["https://x.preview.example.com/callback/", false],
    ["https://x.preview.example.com/callback?more", false],
    ["https://x.preview.example.com:8443/callback", false],
    ["http://x.preview.example.com/callback", false],
    ["https://pr-12.app.example.org:8443/../cb?fixed=1", false],
    ["https://pr-12.app.example.org:8443/a/b/cb?fixed=1", false],
    ["https://pr-12.app.example.org:8443/%2e%2e/cb?fixed=1", false],
    ["https://pr-12.app.example.org:8443//cb?fixed=1", false],
    ["https://pr-.app.example.org:8443/x/cb?fixed=1", false],
    ["https://pr-1.app.example.org:8443/x/cb?fixed=2", false],
    ["http://localhost/run-\\..\\x/cb", false],
    ["http://localhost:81/run-7/cb", false],
  ]
  test("lets an application register wildcards, with narrow matching", async () => {
    const client = await provider.addClient({ devMode: true, redirectUris: patterns })
    for (const [uri, fine] of rows) expect(await statusOf(client, uri), uri).toBe(fine ? 303 : 400)
  })

  const broad = [
    "https://*/callback",
    "https://*.com/callback",
    "https://app.*.com/callback",
    "https://app.example.*/callback",
    "https://*.*/callback",
    "https://a*b*.preview.example.com/callback",
    "https://app.example.com/**/callback",
    "https://app.example.com/callback?to=*",
    "https://*@app.example.com/callback",
    "https://app.example.com:*/callback",
    "*://app.example.com/callback",
    "com.example.*:/callback",
  ]
  test.each(broad)("rejects the registration of %s", async (uri) => {
    const config = { devMode: true, redirectUris: [uri] }
    await expect(provider.addClient(config)).rejects.toThrow("redirect_uris")
  })

  test("that is turned off disables the wildcards", async () => {
    const client = await provider.addClient({ devMode: true, redirectUris: patterns })
    const change = { oidc: { devMode: false } }
    await expect(updateApplication(provider.cx(), client.appId, change)).rejects.toThrow(
      "development mode",
    )
  })
})

describe("a response over plain http (RFC 9700 §2.6)", () => {
  const uri = "http://app.example.com/callback"

  test("is sent in development mode only, after our own warning page", async () => {
    const client = await provider.addClient({ redirectUris: [uri] })
    const response = await provider.send(authorizePath(client.id, { redirect_uri: uri }))
    expect([response.status, response.headers.has("location")]).toEqual([400, false])
    expect(await response.text()).toContain("development mode")
    const testing = await provider.addClient({ redirectUris: [uri], devMode: true })
    expect(await statusOf(testing, uri)).toBe(303)
  })

  const rows: readonly (readonly [string, string, boolean])[] = [
    ["http://app.example.com/cb", "https://id.example.com", true],
    ["http://id.example.com/cb", "https://id.example.com", true],
    ["http://id.lan:8080/ui/console/callback", "http://id.lan:8080", false],
    ["http://id.lan/ui/console/callback", "http://id.lan:8080", true],
    ["http://127.0.0.1:5/cb", "https://id.example.com", false],
    ["http://localhost:3000/cb", "https://id.example.com", false],
    ["http://[::1]/cb", "https://id.example.com", false],
    ["http://localhost.example.com/cb", "https://id.example.com", true],
    ["http://127.0.0.1.example.com/cb", "https://id.example.com", true],
    ["https://app.example.com/cb", "https://id.example.com", false],
    ["com.example.app:/cb", "https://id.example.com", false],
  ]
  test.each(rows)("%s with the issuer %s: %s", (redirect, issuer, exposed) => {
    expect(isInterceptable({ appType: "web", devMode: false }, redirect, issuer)).toBe(exposed)
  })

  test("is not sent to an address that browsers can't reach", async () => {
    const native = { appType: "native", authMethod: "none" } as const
    const client = await provider.addClient({ ...native, redirectUris: ["http://127.0.0.1/cb"] })
    expect(await statusOf(client, "http://127.0.0.1:65535/cb")).toBe(303)
    expect(await statusOf(client, "http://127.0.0.1:65536/cb")).toBe(400)
  })
})

describe("plain http on private networks", () => {
  const uri = "http://grafana.lan:3000/login/generic_oauth"

  test("has a separate setting, and ends with it, also for pending sign-ins", async () => {
    const client = await provider.addClient({ redirectUris: [uri] })
    const turn = (privateHttp: boolean) =>
      updateApplication(provider.cx(), client.appId, { oidc: { privateHttp } })
    expect(await statusOf(client, uri)).toBe(400)
    await turn(true)
    expect(await statusOf(client, uri)).toBe(303)
    const asked = { clientId: client.id, redirectUri: uri }
    expect(findRedirectProblem(provider.cx(), asked)).toBeUndefined()
    await turn(false)
    expect(await statusOf(client, uri)).toBe(400)
    expect(findRedirectProblem(provider.cx(), asked)?.detail).toContain("private networks")
  })

  const privately = [
    "http://10.0.0.7/cb",
    "http://172.16.0.1/cb",
    "http://172.31.255.254:8443/cb",
    "http://192.168.1.20:3000/cb",
    "http://169.254.7.7/cb",
    "http://0xC0.0xA8.1.1/cb",
    "http://[fd12:3456::1]/cb",
    "http://[fc00::1]/cb",
    "http://[fe80::1]:8080/cb",
    "http://nas/cb",
    "http://wiki:8080/cb",
    "http://Grafana.LAN/cb",
    "http://a.b.home/cb",
    "http://ha.home.arpa:8123/cb",
    "http://x.internal/cb",
    "http://printer.local/cb",
    "http://box.localdomain/cb",
  ]
  const publicly = [
    "http://app.example.com/cb",
    "http://8.8.8.8/cb",
    "http://11.0.0.1/cb",
    "http://172.32.0.1/cb",
    "http://172.15.0.1/cb",
    "http://192.169.0.1/cb",
    "http://10.0.0.7.example.com/cb",
    "http://[2001:db8::fd00]/cb",
    "http://[::ffff:8.8.8.8]/cb",
    "http://[fec0::1]/cb",
    "http://lan.example/cb",
    "http://lan.example.com/cb",
    "http://evil-lan.example/cb",
    "http://grafana.lan@evil.example/cb",
    "http://ai./cb",
  ]
  const web = { appType: "web", devMode: false } as const
  const issuer = "https://id.example.com"
  test.each(privately)("%s is in a private network", (redirect) => {
    expect(assessRedirectUri(redirect, web, issuer)).toEqual({
      verdict: "refused",
      reason: "http_private",
    })
    const allowed = { ...web, privateHttp: true }
    const advised = { verdict: "advised", reason: "http_private_allowed" }
    expect(assessRedirectUri(redirect, allowed, issuer)).toEqual(advised)
  })
  test.each(publicly)("%s is in no private network", (redirect) => {
    const allowed = { ...web, privateHttp: true }
    expect(assessRedirectUri(redirect, allowed, issuer)).toEqual({
      verdict: "refused",
      reason: "http",
    })
  })
})

/** The validation on an application's page matches what requests get. */
describe("the validation matches the behavior", () => {
  const apps = [
    { appType: "web", devMode: false },
    { appType: "web", devMode: true },
    { appType: "web", devMode: false, privateHttp: true },
    { appType: "native", authMethod: "none", devMode: false },
  ] as const
  const addresses = [
    "https://app.example.com/cb",
    "http://app.example.com/cb",
    "http://grafana.lan:3000/cb",
    "http://127.0.0.1:3000/cb",
    "com.example.app:/cb",
  ]
  test.each(apps)("%o", async (config) => {
    for (const uri of addresses) {
      const client = await provider.addClient({ ...config, redirectUris: [uri] })
      const { verdict } = assessRedirectUri(uri, config, issuerOf(provider.cx()).issuer)
      expect(await statusOf(client, uri), uri).toBe(verdict === "refused" ? 400 : 303)
    }
  })
})
