import { afterAll, beforeAll, describe, expect, test } from "vitest"
import * as project from "../../src/domain/project/index.ts"
import {
  authorize,
  type Browser,
  isPlainIssuer,
  loadDiscovery,
  openSignedIn,
  post,
  type Row,
  tokensOf,
} from "./must.ts"
import {
  authorizePath,
  browserOf,
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
let browser: Browser
beforeAll(async () => {
  provider = await openProvider()
  web = await provider.addClient()
  browser = await openSignedIn(provider, web)
})
afterAll(() => provider.close())

const issuing: readonly Row[] = [
  [
    "§2 iss is the issuer of discovery, an https address without query or fragment",
    async () => {
      const { iss } = await authorize(browser, web)
      expect([iss, isPlainIssuer(iss)]).toEqual([(await loadDiscovery(provider)).issuer, true])
    },
  ],
  [
    "§2.3 iss is in fragments and forms, too",
    async () => {
      const { path } = await browser.go(authorizePath(web.id, { response_mode: "fragment" }))
      const inFragment = new URLSearchParams(new URL(path).hash.slice(1))
      expect([inFragment.get("iss"), inFragment.has("code")]).toEqual([issuer, true])
      const { page } = await browser.go(authorizePath(web.id, { response_mode: "form_post" }))
      expect(page).toContain(`name="iss" value="${issuer}"`)
      const failed = { response_mode: "form_post", prompt: "dance" }
      const error = await browser.go(authorizePath(web.id, failed))
      expect(error.page).toContain(`name="iss" value="${issuer}"`)
    },
  ],
  [
    "§3 discovery says that answers have iss",
    async () => {
      const document = await loadDiscovery(provider)
      expect(document.authorization_response_iss_parameter_supported).toBe(true)
    },
  ],
]

const practice: readonly Row[] = [
  [
    "§2.1.1 discovery names the PKCE methods",
    async () => {
      expect((await loadDiscovery(provider)).code_challenge_methods_supported).toEqual(["S256"])
    },
  ],
  [
    "§2.1.2 no access token comes by the front channel unless an application asked for that",
    async () => {
      for (const response_type of ["token", "id_token", "id_token token", "token id_token"]) {
        const { path } = await browser.go(authorizePath(web.id, { response_type }))
        expect(path.startsWith(redirectUri), response_type).toBe(true)
        expect(path).toMatch(/[?#&]error=/)
        expect(path).not.toMatch(/[?#&](access_token|id_token)=/)
      }
    },
  ],
  [
    "§2.6 answers travel over TLS or stay on the person's machine",
    async () => {
      const redirect_uri = "http://app.example.com/callback"
      const client = await provider.addClient({ redirectUris: [redirect_uri] })
      const { response } = await browser.go(authorizePath(client.id, { redirect_uri }))
      expect(response.status).toBe(400)
    },
  ],
  [
    "§4.2.4 pages and redirects tell nobody where they were reached",
    async () => {
      const back = await browser.go(authorizePath(web.id))
      const page = await browserOf(provider).go(authorizePath(web.id))
      for (const { response } of [back, page]) {
        expect(response.headers.get("referrer-policy")).toBe("no-referrer")
      }
      // Pages load nothing from other sites.
      expect(page.page).not.toMatch(/(src|href)="(https?:)?\/\//)
    },
  ],
  [
    "§4.3.2 a token in the address is not taken",
    async () => {
      const { access_token } = await tokensOf(provider, browser, web)
      const query = `/oidc/v1/userinfo?access_token=${access_token}`
      expect((await provider.send(query)).status).toBe(401)
    },
  ],
  [
    "§4.12 no redirect repeats a form with its password: never 307 or 308",
    async () => {
      const seen: number[] = []
      const watched: Provider = {
        ...provider,
        send: async (path, init) => {
          const response = await provider.send(path, init)
          seen.push(response.status)
          return response
        },
      }
      await browserOf(watched).signIn(authorizePath(web.id))
      const form = new URL(authorizePath(web.id), issuer).search.slice(1)
      seen.push((await post(provider, "/oauth/v2/authorize", form)).status)
      seen.push((await post(provider, "/oidc/v1/endsession", "state=1")).status)
      const redirects = seen.filter((status) => status >= 300 && status < 400)
      expect(redirects.length).toBeGreaterThan(3)
      expect(new Set(redirects)).toEqual(new Set([303]))
    },
  ],
  [
    "§4.13 what a proxy adds is believed only of a proxy that is named",
    async () => {
      const headers = {
        "x-forwarded-host": "evil.example",
        "x-forwarded-proto": "http",
        forwarded: "host=evil.example;proto=http",
        "x-forwarded-for": "127.0.0.1",
        "x-real-ip": "127.0.0.1",
        "x-original-url": "/setup",
      }
      const path = "/.well-known/openid-configuration"
      const plain = await (await provider.send(path)).text()
      expect(await (await provider.send(path, { headers })).text()).toBe(plain)
      const { path: back } = await browser.go(authorizePath(web.id), { headers })
      expect(responseOf({ path: back } as never).iss).toBe(issuer)
    },
  ],
]

describe("RFC 9207", () => {
  test.each(issuing)("%s", (_, holds) => holds())
})

describe("RFC 9700", () => {
  test.each(practice)("%s", (_, holds) => holds())

  test("§2.1 a web application can't vary its port, not even on loopback", async () => {
    const redirectUris = ["http://127.0.0.1/cb", "http://localhost:3000/cb"]
    const uris = ["http://127.0.0.1:5000/cb", "http://localhost:3001/cb", "http://localhost/cb"]
    for (const appType of ["web", "user_agent"] as const) {
      const client = await provider.addClient({ appType, redirectUris })
      for (const redirect_uri of uris) {
        const { status, headers } = await provider.send(authorizePath(client.id, { redirect_uri }))
        expect([status, headers.get("location")], redirect_uri).toEqual([400, null])
      }
    }
  })

  test("§4.14.2 a refresh token is not consumed while its user can't sign in", async () => {
    const grantTypes = ["authorization_code", "refresh_token"] as const
    const client = await provider.addClient({ grantTypes: [...grantTypes] })
    await provider.addPerson("pausing")
    const person = browserOf(provider)
    await person.signIn(authorizePath(client.id), "pausing")
    const offline = { scope: "openid offline_access" }
    const { refresh_token } = await tokensOf(provider, person, client, offline)
    const fields = { grant_type: "refresh_token", refresh_token: String(refresh_token) }
    const refresh = () => sendTokenRequest(provider, fields, `${client.id}:${client.secret}`)
    await project.updateProject(provider.cx(), provider.projectId, { projectRoleCheck: true })
    expect((await refresh()).answer.error).toBe("invalid_grant")
    await project.updateProject(provider.cx(), provider.projectId, { projectRoleCheck: false })
    // Long after the grace period for lost responses.
    provider.clock.advance(3_600_000)
    expect((await refresh()).status).toBe(200)
  })
})
