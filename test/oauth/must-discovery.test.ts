import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  authorize,
  type Browser,
  claimsOf,
  headerOf,
  isPlainIssuer,
  loadDiscovery,
  openSignedIn,
  type Row,
  tokensOf,
} from "./must.ts"
import { authorizePath, issuer, type NewClient, openProvider, type Provider } from "./provider.ts"

let provider: Provider
let web: NewClient
let browser: Browser
beforeAll(async () => {
  provider = await openProvider()
  web = await provider.addClient()
  browser = await openSignedIn(provider, web)
})
afterAll(() => provider.close())

const keys = async (): Promise<Record<string, string>[]> =>
  (await (await provider.send("/oauth/v2/keys")).json()).keys

const listMetadata = async (name: string): Promise<readonly string[]> => {
  const value = (await loadDiscovery(provider))[name]
  return Array.isArray(value) ? value.map(String) : []
}

const rows: readonly Row[] = [
  [
    "§3 issuer is an https address without query or fragment",
    async () => expect(isPlainIssuer((await loadDiscovery(provider)).issuer)).toBe(true),
  ],
  [
    "§3 the required members are there",
    async () => {
      const document = await loadDiscovery(provider)
      const texts = ["issuer", "authorization_endpoint", "token_endpoint", "jwks_uri"]
      for (const name of [...texts, "userinfo_endpoint"]) {
        expect(String(document[name]).startsWith(issuer), name).toBe(true)
      }
      const lists = ["response_types_supported", "subject_types_supported", "scopes_supported"]
      for (const name of [...lists, "id_token_signing_alg_values_supported", "claims_supported"]) {
        expect((await listMetadata(name)).length, name).toBeGreaterThan(0)
      }
      expect(await listMetadata("scopes_supported")).toContain("openid")
      expect(await listMetadata("claims_supported")).toContain("sub")
    },
  ],
  [
    "§3 the algorithms for id_tokens have RS256",
    async () => {
      const algorithms = await listMetadata("id_token_signing_alg_values_supported")
      expect(algorithms).toContain("RS256")
      const { id_token } = await tokensOf(provider, browser, web)
      expect(algorithms).toContain(headerOf(id_token).alg)
    },
  ],
  [
    "§3 what differs from a default is said: no request_uri of others, claims, algorithms",
    async () => {
      const document = await loadDiscovery(provider)
      // Omitting it would mean that a request_uri is fetched from any URL.
      expect(document.request_uri_parameter_supported).toBe(false)
      expect(document.request_parameter_supported).toBeTypeOf("boolean")
      expect(document.claims_parameter_supported).toBeTypeOf("boolean")
      expect(await listMetadata("grant_types_supported")).not.toEqual([])
    },
  ],
  [
    "§3 response types and modes are those that work",
    async () => {
      for (const response_mode of await listMetadata("response_modes_supported")) {
        const { response } = await browser.go(authorizePath(web.id, { response_mode }))
        expect(response.status, response_mode).toBeLessThan(400)
      }
      for (const response_type of await listMetadata("response_types_supported")) {
        const { path } = await browser.go(authorizePath(web.id, { response_type }))
        expect(path, response_type).not.toContain("unsupported_response_type")
      }
      const { error } = await authorize(browser, web, { response_type: "code magic" })
      expect(await listMetadata("response_types_supported")).not.toContain("code magic")
      expect(error).toBe("unsupported_response_type")
    },
  ],
  [
    "§3 several keys of one use have different kid",
    async () => {
      const kids = (await keys()).map(({ kid, use }) => [kid, use])
      expect(new Set(kids.map(([kid]) => kid)).size).toBe(kids.length)
      expect(kids.length).toBeGreaterThan(1)
      for (const [kid, use] of kids) expect([kid !== "", use]).toEqual([true, "sig"])
    },
  ],
  [
    "§4.1 the document is at the well-known path, for the issuer's host",
    async () => {
      const { status } = await provider.send("/.well-known/openid-configuration")
      expect(status).toBe(200)
      const beside = ["/.well-known/openid-configuration/", "/x/.well-known/openid-configuration"]
      for (const path of beside) expect((await provider.send(path)).status, path).toBe(404)
    },
  ],
  [
    "§4.2 the answer is 200 application/json and no member is empty",
    async () => {
      const response = await provider.send("/.well-known/openid-configuration")
      expect(response.headers.get("content-type")).toMatch(/^application\/json\b/)
      for (const [name, value] of Object.entries(await response.json())) {
        expect(value, name).not.toBeNull()
        if (Array.isArray(value)) expect(value.length, name).toBeGreaterThan(0)
      }
    },
  ],
]

describe("OpenID Connect Discovery", () => {
  test.each(rows)("%s", (_, holds) => holds())

  test("claims_supported lists every claim that an id_token has", async () => {
    const { id_token } = await tokensOf(provider, browser, web)
    const supported = await listMetadata("claims_supported")
    const missing = Object.keys(claimsOf(id_token)).filter((name) => !supported.includes(name))
    expect(missing).toEqual([])
  })
})
