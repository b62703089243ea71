import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { changeApplication } from "../../src/domain/app/index.ts"
import { isExposed } from "../../src/oauth/authorize/redirect-uri.ts"
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
  test("lets an application register wildcards, and means them narrowly", async () => {
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
  test.each(broad)("does not let it register %s", async (uri) => {
    const config = { devMode: true, redirectUris: [uri] }
    await expect(provider.addClient(config)).rejects.toThrow("redirect_uris")
  })

  test("that is over takes the wildcards along", async () => {
    const client = await provider.addClient({ devMode: true, redirectUris: patterns })
    const change = { oidc: { devMode: false } }
    await expect(changeApplication(provider.cx(), client.appId, change)).rejects.toThrow(
      "development mode",
    )
  })
})

describe("an answer over plain http (RFC 9700 §2.6)", () => {
  const uri = "http://app.example.com/callback"

  test("is sent in development mode alone, told on our own page", async () => {
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
    const web = { appType: "web", devMode: false, redirectUris: [redirect] } as const
    expect(isExposed(web, redirect, issuer)).toBe(exposed)
  })
})
