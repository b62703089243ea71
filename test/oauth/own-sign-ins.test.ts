import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { setPassword } from "../../src/domain/credential/index.ts"
import * as grantApi from "../../src/domain/grant/api.ts"
import * as sessionApi from "../../src/domain/session/api.ts"
import { user } from "../../src/domain/user-model/index.ts"
import { callOperation } from "../support/call-operation.ts"
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

const day = 86_400_000

let provider: Provider
let client: NewClient
let pat = ""
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient({ grantTypes: ["authorization_code", "refresh_token"] })
  pat = await provider.addPerson("pat")
})
afterAll(() => provider.close())

const shares = [...grantApi.shares, ...sessionApi.shares]
const caller = (userId: string) =>
  ({ kind: "user", userId, orgId: provider.setup.orgId, clientId: "c" }) as const
const callAs = (userId: string, name: string, request: object = {}) =>
  callOperation(shares, name, provider.cx({ caller: caller(userId) }), request)
const basic = () => `${client.id}:${client.secret}`

const signIn = async (name: string, scope = "openid offline_access") => {
  const browser = browserOf(provider)
  const { code = "" } = responseOf(await browser.signIn(authorizePath(client.id, { scope }), name))
  const { answer } = await sendTokenRequest(provider, codeFields(code), basic())
  return { access: String(answer.access_token), refresh: String(answer.refresh_token) }
}

const refreshToken = async (token: string) => {
  const fields = { grant_type: "refresh_token", refresh_token: token }
  return (await sendTokenRequest(provider, fields, basic())).status
}

const userinfo = async (token: string) => {
  const headers = { authorization: `Bearer ${token}` }
  return (await provider.send("/oidc/v1/userinfo", { headers })).status
}

describe("callers can list and revoke their own refresh tokens:", () => {
  test("valid ones, newest first, without their values", async () => {
    const first = await signIn("pat")
    await signIn("pat", "openid")
    const second = await signIn("pat", "openid email offline_access")
    await signIn("olga")
    const { details, result } = await callAs(pat, "listMyRefreshTokens")
    expect(details.totalResult).toBe(2n)
    expect(result).toMatchObject([
      { clientId: client.id, scopes: ["openid", "email", "offline_access"] },
      { clientId: client.id, scopes: ["openid", "offline_access"] },
    ])
    const text = JSON.stringify(result, (_, value) => (typeof value === "bigint" ? "" : value))
    for (const token of [first.refresh, second.refresh]) expect(text).not.toContain(token)
  })

  test("one at a time, including the tokens issued for it; not those of others", async () => {
    const { access, refresh } = await signIn("pat")
    const [newest] = (await callAs(pat, "listMyRefreshTokens")).result
    const foreign = callAs(provider.setup.ownerId, "revokeMyRefreshToken", { id: newest.id })
    const absent = callAs(provider.setup.ownerId, "revokeMyRefreshToken", { id: "1" })
    for (const each of [foreign, absent]) {
      await expect(each).rejects.toMatchObject({ code: "not_found", id: "grant.missing" })
    }
    expect(await userinfo(access)).toBe(200)
    const { details } = await callAs(pat, "revokeMyRefreshToken", { id: newest.id })
    expect(details.resourceOwner).toBe(provider.setup.orgId)
    expect([await userinfo(access), await refreshToken(refresh)]).toEqual([401, 400])
    const again = callAs(pat, "revokeMyRefreshToken", { id: newest.id })
    await expect(again).rejects.toMatchObject({ id: "grant.missing" })
  })

  test("a grant without one can't be revoked here", async () => {
    const { access } = await signIn("pat", "openid")
    const events = await provider.store.log.read(0, 10_000)
    const added = events.findLast(({ type }) => type === "oidc_session.added")
    const ended = callAs(pat, "revokeMyRefreshToken", { id: added?.id ?? "" })
    await expect(ended).rejects.toMatchObject({ id: "grant.missing" })
    expect(await userinfo(access)).toBe(200)
  })

  test("all at once, and not those of others", async () => {
    const [one, two] = [await signIn("pat"), await signIn("pat")]
    const other = await signIn("olga")
    await callAs(pat, "revokeAllMyRefreshTokens")
    expect([await refreshToken(one.refresh), await refreshToken(two.refresh)]).toEqual([400, 400])
    expect(await refreshToken(other.refresh)).toBe(200)
    expect((await callAs(pat, "listMyRefreshTokens")).result).toEqual([])
    await callAs(pat, "revokeAllMyRefreshTokens")
  })

  test("they end by expiry, and by a new password", async () => {
    await signIn("pat")
    const count = async () => (await callAs(pat, "listMyRefreshTokens")).result.length
    expect(await count()).toBe(1)
    const hash = provider.store.state(provider.cx(), user, pat)
    const kept = "password" in hash ? (hash.password?.hash ?? "") : ""
    await setPassword(provider.cx(), pat, { hash: kept, changeRequired: false })
    expect(await count()).toBe(0)
    await signIn("pat")
    const [row] = (await callAs(pat, "listMyRefreshTokens")).result
    const idle = Number(row.idleExpiration.seconds) * 1000
    provider.clock.advance(idle - provider.clock.now() - 1)
    expect(await count()).toBe(1)
    provider.clock.advance(1000)
    expect(await count()).toBe(0)
  })
})

describe("callers can list their own sessions:", () => {
  test("valid ones, and those that expired or were ended by a new password", async () => {
    const lea = await provider.addPerson("lea")
    await signIn("lea")
    await signIn("lea")
    const list = async () => (await callAs(lea, "listMyUserSessions")).result
    const [newest, ...others] = await list()
    expect(others).toHaveLength(1)
    expect(newest).toMatchObject({
      userId: lea,
      userName: "lea",
      displayName: "Pat Person",
      authState: 1,
      details: { resourceOwner: provider.setup.orgId },
    })
    provider.clock.advance(11 * day)
    expect((await list()).every((each: any) => each.authState === 2)).toBe(true)
    const { result } = await callAs(pat, "listMyUserSessions")
    expect(result.some((each: any) => each.userId !== pat)).toBe(false)
  })
})
