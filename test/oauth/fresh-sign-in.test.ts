import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { asOf, openExchange } from "./exchange.ts"
import { apiCallerOf, askToken } from "./provider.ts"
import { addMachine, personalTokenOf } from "./service.ts"

let world: Awaited<ReturnType<typeof openExchange>>
beforeAll(async () => {
  world = await openExchange()
})
afterAll(() => world.provider.close())

const quarter = 900_000

/** When the person last proved who they are, as the interface takes it from a token. */
async function authTimeOf(token: unknown) {
  const caller = await apiCallerOf(world.provider, String(token))
  return caller.kind === "user" ? caller.authTime : "nobody"
}

const scope = "openid offline_access urn:core:iam:org:project:id:core:aud"

describe("what a token says of the sign-in that it hangs from:", () => {
  test("when its person proved who they are, however often it is refreshed", async () => {
    const { provider, web, signIn } = world
    const signedIn = provider.clock.now()
    const { access, refresh } = await signIn("olga", web, scope)
    expect(await authTimeOf(access)).toBe(signedIn)
    provider.clock.advance(quarter)
    const fields = { grant_type: "refresh_token", refresh_token: refresh }
    const { answer } = await askToken(provider, fields, asOf(web))
    expect(await authTimeOf(answer.access_token)).toBe(signedIn)
  })

  test("another sign-in in the same browser makes no older token fresh", async () => {
    const { provider, web, signIn } = world
    const { access } = await signIn("olga", web, scope)
    const before = await authTimeOf(access)
    provider.clock.advance(quarter)
    const next = await signIn("olga", web, scope)
    expect(await authTimeOf(access)).toBe(before)
    expect(await authTimeOf(next.access)).toBe(provider.clock.now())
  })

  test("one that was exchanged, as the one before", async () => {
    const { provider, web, signIn, exchange } = world
    const signedIn = provider.clock.now()
    const { access } = await signIn("olga", web, scope)
    provider.clock.advance(quarter)
    const { answer } = await exchange(access)
    expect(await authTimeOf(answer.access_token)).toBe(signedIn)
  })

  test("one of a service user has none", async () => {
    const { provider } = world
    const { userId } = await addMachine(provider)
    expect(await authTimeOf(await personalTokenOf(provider, userId))).toBeUndefined()
  })
})
