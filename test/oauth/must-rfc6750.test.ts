import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  type Browser,
  descriptionPattern,
  openSignedIn,
  post,
  type Row,
  tokensOf,
  userinfo,
} from "./must.ts"
import {
  authorizePath,
  type NewClient,
  openProvider,
  type Provider,
  sendTokenRequest,
} from "./provider.ts"
import { addMachine } from "./service-account.ts"

let provider: Provider
let web: NewClient
let browser: Browser
let token = ""
beforeAll(async () => {
  provider = await openProvider()
  web = await provider.addClient()
  browser = await openSignedIn(provider, web)
  token = String((await tokensOf(provider, browser, web)).access_token)
})
afterAll(() => provider.close())

const path = "/oidc/v1/userinfo"

/** The scheme and the attributes of a challenge. */
function challengeOf(response: Response) {
  const text = response.headers.get("www-authenticate") ?? ""
  const [scheme = ""] = text.split(" ")
  const attributes = [...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value])
  return { scheme, attributes }
}

const bearer: readonly Row[] = [
  [
    "§2.2 a token in the body counts only in a form that was posted",
    async () => {
      const body = `access_token=${token}`
      expect((await post(provider, path, body)).status).toBe(200)
      const json = { "content-type": "application/json" }
      const inJson = JSON.stringify({ access_token: token })
      expect((await post(provider, path, inJson, json)).status).toBeGreaterThanOrEqual(400)
      const plain = { "content-type": "text/plain" }
      expect((await post(provider, path, body, plain)).status).toBeGreaterThanOrEqual(400)
    },
  ],
  [
    "§2.1 a token in the header is taken from a POST with any body (OpenID Connect Core §5.3.1)",
    async () => {
      const authorization = `Bearer ${token}`
      for (const type of ["application/json", "text/plain;charset=UTF-8", "multipart/form-data"]) {
        const headers = { authorization, "content-type": type }
        expect((await post(provider, path, "{}", headers)).status, type).toBe(200)
        const wrong = { ...headers, authorization: "Bearer wrong" }
        const refused = await post(provider, path, "{}", wrong)
        expect(refused.status, type).toBe(401)
        expect(challengeOf(refused).attributes).toContainEqual(["error", "invalid_token"])
      }
      const form = await post(provider, path, "", { authorization })
      expect(form.status).toBe(200)
    },
  ],
  [
    "§2.3 a token in the address is not taken",
    async () => {
      expect((await provider.send(`${path}?access_token=${token}`)).status).toBe(401)
      const posted = await post(provider, `${path}?access_token=${token}`, "")
      expect(posted.status).toBe(401)
    },
  ],
  [
    "§2 a request that brings the token twice is refused",
    async () => {
      const headers = { authorization: `Bearer ${token}` }
      const both = await post(provider, path, `access_token=${token}`, headers)
      expect([both.status, challengeOf(both).scheme]).toEqual([400, "Bearer"])
      expect(challengeOf(both).attributes).toContainEqual(["error", "invalid_request"])
      const twice = await post(provider, path, `access_token=${token}&access_token=${token}`)
      expect(twice.status).toBe(400)
    },
  ],
  [
    "§3 the challenge names the scheme Bearer and each attribute once",
    async () => {
      for (const wrong of ["nonsense", token.slice(1), "a.b.c"]) {
        const { scheme, attributes } = challengeOf(await userinfo(provider, wrong))
        expect(scheme).toBe("Bearer")
        const names = attributes.map(([name]) => name)
        expect(names.sort()).toEqual(["error", "error_description", "realm"])
      }
    },
  ],
  [
    "§3 descriptions in a challenge have only the characters that are allowed",
    async () => {
      for (const wrong of ["nonsense", "a", "a.b.c"]) {
        const { attributes } = challengeOf(await userinfo(provider, wrong))
        for (const [name, value] of attributes) expect(value, name).toMatch(descriptionPattern)
      }
    },
  ],
  [
    "§3.1 an invalid or expired token is answered with 401 invalid_token",
    async () => {
      const wrong = await userinfo(provider, `${token}x`)
      expect([wrong.status, (await wrong.json()).error]).toEqual([401, "invalid_token"])
      expect(challengeOf(wrong).attributes).toContainEqual(["error", "invalid_token"])
    },
  ],
  [
    "§3.1 a token that reaches not far enough is answered with 403 insufficient_scope",
    async () => {
      const machine = await addMachine(provider)
      const { answer } = await sendTokenRequest(provider, await machine.fields({}, "profile"))
      const response = await userinfo(provider, answer.access_token)
      expect(response.status).toBe(403)
      expect(challengeOf(response).attributes).toContainEqual(["error", "insufficient_scope"])
    },
  ],
  [
    "§5.3 no cookie of ours holds a token",
    async () => {
      const { access_token, id_token } = await tokensOf(provider, browser, web)
      for (const secret of [access_token, id_token, token]) {
        expect(browser.cookie()).not.toContain(String(secret))
      }
      const { response } = await browser.go(authorizePath(web.id))
      for (const line of response.headers.getSetCookie()) expect(line).not.toContain(token)
    },
  ],
]

describe("RFC 6750", () => {
  test.each(bearer)("%s", (_, holds) => holds())

  test("§5.2 a token has an expiry that is checked to the millisecond", async () => {
    const { access_token } = await tokensOf(provider, browser, web)
    provider.clock.advance(43_200_000 - 1)
    expect((await userinfo(provider, access_token)).status).toBe(200)
    provider.clock.advance(1)
    expect((await userinfo(provider, access_token)).status).toBe(401)
  })
})
