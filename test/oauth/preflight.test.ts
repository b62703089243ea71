import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openProvider, type Provider } from "./provider.ts"
import { enableRegistration } from "./registration.ts"

let provider: Provider
beforeAll(async () => {
  provider = await openProvider()
  await enableRegistration(provider)
})
afterAll(() => provider.close())

async function preflight(path: string, names: string) {
  const headers = {
    origin: "https://app.example.com",
    "access-control-request-method": "GET",
    "access-control-request-headers": names,
  }
  const { status, headers: got } = await provider.send(path, { method: "OPTIONS", headers })
  const allowed = got.get("access-control-allow-headers")?.split(", ") ?? []
  return { status, allowed, headers: got }
}

const allowedHeaders = ["authorization", "content-type", "dpop"]

describe("a preflight (Fetch §4.8)", () => {
  const added = ["mcp-protocol-version", "traceparent", "baggage", "sentry-trace"]

  test.each([
    "/.well-known/openid-configuration",
    "/oauth/v2/keys",
    "/oauth/v2/token",
    "/oauth/v2/revoke",
    "/oauth/v2/register",
    "/oidc/v1/userinfo",
  ])("of %s allows the requested headers, and no credentials", async (path) => {
    const { status, allowed, headers } = await preflight(path, [...added, "dpop"].join(","))
    expect(status).toBe(204)
    expect(allowed).toEqual([...allowedHeaders, ...added])
    expect(headers.get("access-control-allow-origin")).toBe("*")
    expect(headers.has("access-control-allow-credentials")).toBe(false)
    expect(headers.get("vary")).toBe("access-control-request-headers")
  })

  test.each(["/oauth/v2/authorize", "/oidc/v1/end_session", "/oauth/v2/device"])(
    "of %s, which reads cookies, allows nothing",
    async (path) => {
      const { headers } = await preflight(path, "x-requested-with")
      expect(headers.has("access-control-allow-headers")).toBe(false)
      expect(headers.has("access-control-allow-origin")).toBe(false)
    },
  )

  test("allows no header that only a proxy may set", async () => {
    const names = "X-Forwarded-For, Forwarded, x-forwarded-host, X-Core-Instance-Host, *, X-Trace"
    expect((await preflight("/oauth/v2/token", names)).allowed).toEqual([
      ...allowedHeaders,
      "x-trace",
    ])
  })

  test("repeats no invalid header name", async () => {
    const names = `a b,*/*,x:y,"q",${"z".repeat(5000)},,x-good`
    const { allowed } = await preflight("/oauth/v2/token", names)
    expect(allowed.slice(3)).toEqual(["z".repeat(4096 - 'a b,*/*,x:y,"q",'.length)])
    expect((await preflight("/oauth/v2/token", 'a b,x:y,"q",,x-good')).allowed).toEqual([
      ...allowedHeaders,
      "x-good",
    ])
  })
})
