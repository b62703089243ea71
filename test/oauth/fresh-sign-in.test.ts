import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { credentialsOf, openExchange } from "./exchange.ts"
import { findApiCaller, sendTokenRequest } from "./provider.ts"
import { addMachine, personalTokenOf } from "./service-account.ts"

let exchangeSetup: Awaited<ReturnType<typeof openExchange>>
beforeAll(async () => {
  exchangeSetup = await openExchange()
})
afterAll(() => exchangeSetup.provider.close())

const quarterHour = 900_000

/** The authentication time of a token as the API reads it. */
async function authTimeOf(token: unknown) {
  const caller = await findApiCaller(exchangeSetup.provider, String(token))
  return caller.kind === "user" ? caller.authTime : "nobody"
}

const scope = "openid offline_access urn:core:iam:org:project:id:core:aud"

describe("the authentication time of a token:", () => {
  test("is that of its sign-in, however often it is refreshed", async () => {
    const { provider, web, signIn } = exchangeSetup
    const signedIn = provider.clock.now()
    const { access, refresh } = await signIn("olga", web, scope)
    expect(await authTimeOf(access)).toBe(signedIn)
    provider.clock.advance(quarterHour)
    const fields = { grant_type: "refresh_token", refresh_token: refresh }
    const { answer } = await sendTokenRequest(provider, fields, credentialsOf(web))
    expect(await authTimeOf(answer.access_token)).toBe(signedIn)
  })

  test("does not change with another sign-in in the same browser", async () => {
    const { provider, web, signIn } = exchangeSetup
    const { access } = await signIn("olga", web, scope)
    const before = await authTimeOf(access)
    provider.clock.advance(quarterHour)
    const next = await signIn("olga", web, scope)
    expect(await authTimeOf(access)).toBe(before)
    expect(await authTimeOf(next.access)).toBe(provider.clock.now())
  })

  test("is unchanged by an exchange", async () => {
    const { provider, web, signIn, exchange } = exchangeSetup
    const signedIn = provider.clock.now()
    const { access } = await signIn("olga", web, scope)
    provider.clock.advance(quarterHour)
    const { answer } = await exchange(access)
    expect(await authTimeOf(answer.access_token)).toBe(signedIn)
  })

  test("is absent for a service account", async () => {
    const { provider } = exchangeSetup
    const { userId } = await addMachine(provider)
    expect(await authTimeOf(await personalTokenOf(provider, userId))).toBeUndefined()
  })
})
