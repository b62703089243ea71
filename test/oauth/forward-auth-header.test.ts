import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { changeApplication } from "../../src/domain/app/index.ts"
import { host, openProtectedHost, type ProtectedHost } from "./protected-host.ts"

let at: ProtectedHost
beforeAll(async () => {
  at = await openProtectedHost()
})
afterAll(() => at.provider.close())

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
    "%s is the program's, and is returned only with a permission",
    async (text) => {
      const open = await at.ask({ target: "/api/status", authorization: text })
      expect([open.status, open.headers.get("authorization")]).toEqual([200, text])
      const shut = await at.ask({ authorization: text, headers: { accept: "*/*" } })
      expect([shut.status, shut.headers.get("authorization")]).toEqual([401, null])
      const headers = { cookie: await at.passOf("pat") }
      const { status, headers: told } = await at.ask({ authorization: text, headers })
      expect([status, told.get("remote-user"), told.get("authorization")]).toEqual([
        200,
        "pat",
        text,
      ])
    },
  )

  test("with a token of ours is not returned, unless the application receives it", async () => {
    const authorization = `Bearer ${(await at.tokensOf("pat")).access}`
    const returned = async () => (await at.ask({ authorization })).headers.get("authorization")
    expect(await returned()).toBeNull()
    const set = (accessTokenForwarded: boolean) =>
      changeApplication(at.provider.cx(), at.client.appId, { oidc: { accessTokenForwarded } })
    await set(true)
    expect(await returned()).toBe(authorization)
    await set(false)
    expect(await returned()).toBeNull()
  })

  test("with a token of ours is refused where earlier settings would forward it", async () => {
    const authorization = `Bearer ${(await at.tokensOf("pat")).access}`
    const earlier = { path: at.own, authorization }
    const refused = await at.answers(earlier)
    expect(refused).toMatchObject({ status: 401, user: null })
    expect(refused.text).toContain("copy its settings again")
    const set = (accessTokenForwarded: boolean) =>
      changeApplication(at.provider.cx(), at.client.appId, { oidc: { accessTokenForwarded } })
    await set(true)
    expect(await at.answers(earlier)).toMatchObject({ status: 200, user: "pat" })
    await set(false)
  })

  test("is not returned to earlier settings, whose response has no room for it", async () => {
    const authorization = `Negotiate ${"x".repeat(7000)}`
    const target = "/public/x"
    const earlier = await at.ask({ path: at.own, target, authorization })
    expect([earlier.status, earlier.headers.get("authorization")]).toEqual([200, null])
    expect((await at.ask({ target, authorization })).headers.get("authorization")).toBe(
      authorization,
    )
  })

  test("decides alone: the pass of another user counts for nothing beside it", async () => {
    const headers = { cookie: await at.passOf("olga") }
    const { access } = await at.tokensOf("pat")
    const both = await at.ask({ authorization: `Bearer ${access}`, headers })
    expect(both.headers.get("remote-user")).toBe("pat")
    const { id } = await at.tokensOf("pat")
    for (const target of ["/api", "/api/status"]) {
      const asked = { target, authorization: `Bearer ${id}`, headers }
      expect(await at.answers(asked)).toMatchObject({ status: 401, user: null })
    }
  })

  test("that comes twice is refused where one of them has a token of ours", async () => {
    const { access } = await at.tokensOf("pat")
    const target = "/api/status"
    const basic = "Basic cGF0OnNlY3JldA=="
    for (const pair of [
      [`Bearer ${access}`, basic],
      [basic, `bearer ${access}`],
      [`Bearer ${access}`, `Bearer ${access}`],
    ]) {
      const refused = await at.answers({ target, authorization: pair.join(", ") })
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
  ])("is refused where only some programs read the token of ours in it: %j", async (form) => {
    const { access } = await at.tokensOf("pat")
    const headers = { cookie: await at.passOf("olga") }
    for (const target of ["/api", "/api/status"]) {
      const asked = { target, authorization: form.replace("TOKEN", access), headers }
      const refused = await at.answers(asked)
      expect(refused).toMatchObject({ status: 401, user: null })
      expect(refused.challenge).toContain('error="invalid_request"')
    }
  })

  test("is requested where a token is accepted, from programs only (RFC 6750 §3)", async () => {
    const headers = { accept: "application/json" }
    const program = await at.ask({ headers })
    expect(program.headers.get("www-authenticate")).toBe(`Bearer realm="${host}"`)
    expect((await at.ask({ target: "/", headers })).headers.get("www-authenticate")).toBeNull()
    expect((await at.ask()).headers.get("www-authenticate")).toBeNull()
  })

  test("gives nobody another host: X-Forwarded-Host must be registered", async () => {
    const authorization = `Bearer ${(await at.tokensOf("pat")).access}`
    const headers = { "x-forwarded-host": `${host}, evil.example` }
    expect((await at.ask({ authorization, headers })).status).toBe(403)
  })
})
