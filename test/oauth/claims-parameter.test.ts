import { decodeJwt } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

let provider: Provider
let web: NewClient
let pat: string
beforeAll(async () => {
  provider = await openProvider()
  web = await provider.addClient({ grantTypes: ["authorization_code", "refresh_token"] })
  pat = await provider.addPerson("pat")
})
afterAll(() => provider.close())

type Changes = Readonly<Record<string, string | undefined>>

async function signInWithClaims(changes: Changes) {
  const path = authorizePath(web.id, { scope: "openid", ...changes })
  const { code = "" } = responseOf(await browserOf(provider).signIn(path))
  const { answer } = await sendTokenRequest(provider, codeFields(code), `${web.id}:${web.secret}`)
  const authorization = `Bearer ${answer.access_token}`
  const response = await provider.send("/oidc/v1/userinfo", { headers: { authorization } })
  const userinfo: Record<string, unknown> = await response.json()
  return { answer, claims: decodeJwt(String(answer.id_token)), userinfo }
}

const findError = async (changes: Changes) => {
  const response = await provider.send(authorizePath(web.id, changes))
  const location = response.headers.get("location") ?? ""
  return location.startsWith("https://app.") ? new URL(location).searchParams.get("error") : ""
}

describe("the claims parameter (OpenID Connect Core §5.5)", () => {
  test("returns single claims in the requested place, and nothing else", async () => {
    const claims = JSON.stringify({
      id_token: { email: null, family_name: { essential: true }, unknown: null },
      userinfo: { name: null, auth_time: { essential: true } },
      elsewhere: { phone: null },
    })
    const { claims: said, userinfo } = await signInWithClaims({ claims })
    expect(said).toMatchObject({ email: "olga@example.com", family_name: "Owner" })
    expect(said.auth_time).toBeTypeOf("number")
    for (const name of ["name", "unknown", "email_verified"]) expect(said).not.toHaveProperty(name)
    expect(Object.keys(userinfo).sort()).toEqual(["name", "sub"])
  })

  test("is stored for refreshed tokens", async () => {
    const claims = JSON.stringify({ id_token: { email: null }, userinfo: { name: null } })
    const { answer } = await signInWithClaims({ claims, scope: "openid offline_access" })
    const fields = { grant_type: "refresh_token", refresh_token: String(answer.refresh_token) }
    const next = await sendTokenRequest(provider, fields, `${web.id}:${web.secret}`)
    expect(decodeJwt(String(next.answer.id_token))).toHaveProperty("email", "olga@example.com")
    const authorization = `Bearer ${next.answer.access_token}`
    const response = await provider.send("/oidc/v1/userinfo", { headers: { authorization } })
    expect(Object.keys(await response.json()).sort()).toEqual(["name", "sub"])
  })

  test("limits the response to the given user", async () => {
    const browser = browserOf(provider)
    await browser.signIn(authorizePath(web.id), "pat")
    const claims = (value: unknown) => JSON.stringify({ id_token: { sub: { value } } })
    const own = await browser.go(authorizePath(web.id, { prompt: "none", claims: claims(pat) }))
    expect(responseOf(own)).toHaveProperty("code")
    const other = authorizePath(web.id, { prompt: "none", claims: claims("42") })
    expect(responseOf(await browser.go(other)).error).toBe("login_required")
    const asked = authorizePath(web.id, { claims: claims(pat) })
    const wrong = await browserOf(provider).signIn(asked, "olga")
    expect(responseOf(wrong).error).toBe("login_required")
  })

  const malformed = [
    "no json",
    "[]",
    "null",
    '"email"',
    "1",
    '{"id_token":[]}',
    '{"userinfo":"email"}',
    '{"id_token":{"email":true}}',
    '{"id_token":{"email":{"essential":"yes"}}}',
    '{"id_token":{"email":{"values":"a"}}}',
    '{"id_token":{"sub":{"values":["1","2"]}}}',
    '{"id_token":{"sub":{"value":1}}}',
    '{"id_token":{"sub":{"value":"1"}},"userinfo":{"sub":{"value":"2"}}}',
    "[".repeat(2000),
  ]
  test.each(malformed)("is rejected if it is malformed: %.40s", async (claims) => {
    expect(await findError({ claims })).toBe("invalid_request")
  })

  test("is safe with any member names", async () => {
    const claims = '{"id_token":{"__proto__":null,"constructor":null},"__proto__":{"x":1}}'
    const { claims: said } = await signInWithClaims({ claims })
    expect(Object.hasOwn(said, "__proto__")).toBe(false)
    expect(Object.hasOwn(said, "constructor")).toBe(false)
  })
})

describe("acr (OpenID Connect Core §2 and §5.5.1.1)", () => {
  const acr = (member: unknown) => ({ claims: JSON.stringify({ id_token: { acr: member } }) })
  const rows: readonly (readonly [string, Changes, string | undefined])[] = [
    ["nothing is asked", {}, undefined],
    ["acr_values that we reach", { acr_values: "2 1" }, "1"],
    ["acr_values that we don't", { acr_values: "urn:mace:silver 2" }, undefined],
    ["the claim", acr(null), "1"],
    ["the essential claim", acr({ essential: true }), "1"],
    ["the claim with a value", acr({ value: "1" }), "1"],
    ["the claim with another value", acr({ value: "2" }), undefined],
    ["the essential claim, one value of two", acr({ essential: true, values: ["2", "1"] }), "1"],
  ]
  test.each(rows)("with %s", async (_, changes, expected) => {
    expect((await signInWithClaims(changes)).claims.acr).toBe(expected)
  })

  test("that is essential and unavailable fails the sign-in", async () => {
    const error = "unmet_authentication_requirements"
    expect(await findError(acr({ essential: true, value: "3" }))).toBe(error)
    expect(await findError(acr({ essential: true, values: ["3", 3] }))).toBe(error)
    const wish = { ...acr({ essential: true, value: "3" }), acr_values: "1" }
    expect(await findError(wish)).toBe(error)
  })
})
