import { createLocalJWKSet, jwtVerify } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
} from "./provider.ts"

let provider: Provider
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient()
})
afterAll(() => provider.close())

const basic = () => `${client.id}:${client.secret}`

const signedIn = async (changes = {}) => {
  const browser = browserOf(provider)
  const end = await browser.signIn(authorizePath(client.id, changes))
  return { browser, end, code: answerOf(end).code ?? "" }
}

describe("the code flow", () => {
  test("signs a person in and gives verifiable tokens", async () => {
    const { end, code } = await signedIn()
    expect(answerOf(end)).toEqual({ code, state: "s-1", iss: issuer })

    const { status, headers, answer } = await askToken(provider, codeFields(code), basic())
    expect(status).toBe(200)
    expect(headers.get("cache-control")).toBe("no-store")
    expect(answer).toMatchObject({
      token_type: "Bearer",
      expires_in: 43_200,
      scope: "openid profile email",
    })
    const keys = await (await provider.send("/oauth/v2/keys")).json()
    const currentDate = new Date(provider.clock.now())
    const options = { issuer, audience: client.id, currentDate }
    const { payload } = await jwtVerify(String(answer.id_token), createLocalJWKSet(keys), options)
    expect(payload).toMatchObject({
      sub: provider.setup.ownerId,
      aud: [client.id, provider.projectId],
      azp: client.id,
      nonce: "n-1",
      amr: ["pwd"],
      auth_time: Math.floor(provider.clock.now() / 1000),
    })
    expect(payload).not.toHaveProperty("email")

    const authorization = `Bearer ${answer.access_token}`
    const info = await provider.send("/oidc/v1/userinfo", { headers: { authorization } })
    expect(await info.json()).toMatchObject({
      sub: provider.setup.ownerId,
      email: "olga@example.com",
      email_verified: true,
      given_name: "Olga",
      preferred_username: "olga",
    })
  })
})
