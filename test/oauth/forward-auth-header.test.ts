import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { updateApplication } from "../../src/domain/app/index.ts"
import { host, openProtectedHost, type ProtectedHost } from "./protected-host.ts"

let protectedHost: ProtectedHost
beforeAll(async () => {
  protectedHost = await openProtectedHost()
})
afterAll(() => protectedHost.provider.close())

describe("the Authorization header", () => {
  const foreign = [
    "Basic cGF0OnNlY3JldA==",
    "Bearer of-the-program",
    "Bearer eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJ3aWtpIn0.c2ln",
    "Bearer a.b.c",
    "Token",
    'Digest username="pat", realm="wiki", uri="/"',
    "Basic \xfc\xe9",
  ]
  test.each(foreign)(
    "%s belongs to the program, and is returned only if permitted",
    async (text) => {
      const open = await protectedHost.ask({ target: "/api/status", authorization: text })
      expect([open.status, open.headers.get("authorization")]).toEqual([200, text])
      const shut = await protectedHost.ask({ authorization: text, headers: { accept: "*/*" } })
      expect([shut.status, shut.headers.get("authorization")]).toEqual([401, null])
      const headers = { cookie: await protectedHost.passOf("pat") }
      const { status, headers: told } = await protectedHost.ask({ authorization: text, headers })
      expect([status, told.get("remote-user"), told.get("authorization")]).toEqual([
        200,
        "pat",
        text,
      ])
    },
  )

  test("with our token is not returned, unless the application receives it", async () => {
    const authorization = `Bearer ${(await protectedHost.tokensOf("pat")).access}`
    const returned = async () =>
      (await protectedHost.ask({ authorization })).headers.get("authorization")
    expect(await returned()).toBeNull()
    const set = (accessTokenForwarded: boolean) =>
      updateApplication(protectedHost.provider.cx(), protectedHost.client.appId, {
        oidc: { accessTokenForwarded },
      })
    await set(true)
    expect(await returned()).toBe(authorization)
    await set(false)
    expect(await returned()).toBeNull()
  })

  test("with our token is rejected if earlier settings would forward it", async () => {
    const authorization = `Bearer ${(await protectedHost.tokensOf("pat")).access}`
    const earlier = { path: protectedHost.own, authorization }
    const refused = await protectedHost.answers(earlier)
    expect(refused).toMatchObject({ status: 401, user: null })
    expect(refused.text).toContain("copy its configuration again")
    const set = (accessTokenForwarded: boolean) =>
      updateApplication(protectedHost.provider.cx(), protectedHost.client.appId, {
        oidc: { accessTokenForwarded },
      })
    await set(true)
    expect(await protectedHost.answers(earlier)).toMatchObject({ status: 200, user: "pat" })
    await set(false)
  })

  test("is not returned to earlier settings, whose response can't contain it", async () => {
    const authorization = `Negotiate ${"x".repeat(7000)}`
    const target = "/public/x"
    const earlier = await protectedHost.ask({ path: protectedHost.own, target, authorization })
    expect([earlier.status, earlier.headers.get("authorization")]).toEqual([200, null])
    expect((await protectedHost.ask({ target, authorization })).headers.get("authorization")).toBe(
      authorization,
    )
  })

  test("takes precedence: another user's session cookie is ignored", async () => {
    const headers = { cookie: await protectedHost.passOf("olga") }
    const { access } = await protectedHost.tokensOf("pat")
    const both = await protectedHost.ask({ authorization: `Bearer ${access}`, headers })
    expect(both.headers.get("remote-user")).toBe("pat")
    const { id } = await protectedHost.tokensOf("pat")
    for (const target of ["/api", "/api/status"]) {
      const asked = { target, authorization: `Bearer ${id}`, headers }
      expect(await protectedHost.answers(asked)).toMatchObject({ status: 401, user: null })
    }
  })

  test("that is sent twice is rejected if one of them has our token", async () => {
    const { access } = await protectedHost.tokensOf("pat")
    const target = "/api/status"
    const basic = "Basic cGF0OnNlY3JldA=="
    for (const pair of [
      [`Bearer ${access}`, basic],
      [basic, `bearer ${access}`],
      [`Bearer ${access}`, `Bearer ${access}`],
    ]) {
      const refused = await protectedHost.answers({ target, authorization: pair.join(", ") })
      expect(refused).toMatchObject({ status: 401, user: null })
      expect(refused.challenge).toContain('error="invalid_request"')
    }
  })

  test.each([
    "Bearer\tTOKEN",
    "bearer \tTOKEN",
    "Bearer\u00a0TOKEN",
    'Bearer "TOKEN"',
    "Bearer ,TOKEN",
    "Bearer token=TOKEN",
    "Bearer TOKEN;",
    "Bearer Bearer TOKEN",
    "Basic x, DPoP\tTOKEN",
  ])("is rejected if only some programs parse our token from it: %j", async (form) => {
    const { access } = await protectedHost.tokensOf("pat")
    const headers = { cookie: await protectedHost.passOf("olga") }
    for (const target of ["/api", "/api/status"]) {
      const asked = { target, authorization: form.replace("TOKEN", access), headers }
      const refused = await protectedHost.answers(asked)
      expect(refused).toMatchObject({ status: 401, user: null })
      expect(refused.challenge).toContain('error="invalid_request"')
    }
  })

  test("is requested if a token is accepted, from programs only (RFC 6750 §3)", async () => {
    const headers = { accept: "application/json" }
    const program = await protectedHost.ask({ headers })
    expect(program.headers.get("www-authenticate")).toBe(`Bearer realm="${host}"`)
    expect(
      (await protectedHost.ask({ target: "/", headers })).headers.get("www-authenticate"),
    ).toBeNull()
    expect((await protectedHost.ask()).headers.get("www-authenticate")).toBeNull()
  })

  test("can't change the host: X-Forwarded-Host must be registered", async () => {
    const authorization = `Bearer ${(await protectedHost.tokensOf("pat")).access}`
    const headers = { "x-forwarded-host": `${host}, evil.example` }
    expect((await protectedHost.ask({ authorization, headers })).status).toBe(403)
  })
})
