import { decodeJwt } from "jose"
import { afterAll, beforeAll, expect, test } from "vitest"
import { withMetadataLink } from "../../src/oauth/index.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

const path = "/.well-known/oauth-protected-resource"

let provider: Provider
beforeAll(async () => {
  provider = await openProvider()
})
afterAll(() => provider.close())

test("our own API publishes its authorization server (RFC 9728 §3.2)", async () => {
  const answer = await provider.send(path)
  expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, "*"])
  expect(await answer.json()).toMatchObject({
    resource: issuer,
    authorization_servers: [issuer],
    bearer_methods_supported: ["header"],
    scopes_supported: expect.arrayContaining(["openid"]),
  })
})

test.each([issuer, `${issuer}/`])(
  "a token can be requested for it as %s (RFC 8707)",
  async (resource) => {
    const { id, secret } = await provider.addClient({ tokenType: "jwt" })
    const browser = browserOf(provider)
    const at = await browser.signIn(authorizePath(id, { resource }))
    expect(at.page).toContain("It can manage this Latchkey instance on your behalf")
    const { code = "" } = responseOf(await browser.post(at, { answer: "allow" }))
    const { answer } = await sendTokenRequest(provider, codeFields(code), `${id}:${secret}`)
    expect(decodeJwt(String(answer.access_token)).aud).toContain(provider.ownProjectId)
  },
)

test("a response for a missing token links to the metadata (RFC 9728 §5.1)", async () => {
  const named = (challenge: string, status = 401, at = "/oidc/v1/userinfo") =>
    withMetadataLink(
      provider.cx(),
      at,
      new Response(null, { status, headers: { "www-authenticate": challenge } }),
    ).headers.get("www-authenticate")
  const metadata = `resource_metadata="${issuer}${path}"`
  expect(named("Bearer")).toBe(`Bearer ${metadata}`)
  expect(named('Bearer realm="userinfo"')).toBe(`Bearer realm="userinfo", ${metadata}`)
  expect(named('DPoP realm="x", algs="ES256"')).toBe(`DPoP realm="x", algs="ES256", ${metadata}`)
  expect(named('Basic realm="client"')).toBe('Basic realm="client"')
  expect(named("Bearer", 403)).toBe("Bearer")
  // A protected host is another resource.
  expect(named("Bearer", 401, "/forward-auth/id.example.com/1")).toBe("Bearer")
})
