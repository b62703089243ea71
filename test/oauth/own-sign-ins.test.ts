import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { setPassword } from "../../src/domain/credential/index.ts"
import * as grantApi from "../../src/domain/grant/api.ts"
import * as sessionApi from "../../src/domain/session/api.ts"
import { user } from "../../src/domain/user-model/index.ts"
import { ask } from "../support/ask.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
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
const asked = (userId: string, name: string, request: object = {}) =>
  ask(shares, name, provider.cx({ caller: caller(userId) }), request)
const basic = () => `${client.id}:${client.secret}`

const begin = async (name: string, scope = "openid offline_access") => {
  const browser = browserOf(provider)
  const { code = "" } = answerOf(await browser.signIn(authorizePath(client.id, { scope }), name))
  const { answer } = await askToken(provider, codeFields(code), basic())
  return { access: String(answer.access_token), refresh: String(answer.refresh_token) }
}

const refreshed = async (token: string) => {
  const fields = { grant_type: "refresh_token", refresh_token: token }
  return (await askToken(provider, fields, basic())).status
}

const userinfo = async (token: string) => {
  const headers = { authorization: `Bearer ${token}` }
  return (await provider.send("/oidc/v1/userinfo", { headers })).status
}

describe("callers see and end their own refresh tokens:", () => {
  test("those that can be used, the newest first, never what they are", async () => {
    const first = await begin("pat")
    await begin("pat", "openid")
    const second = await begin("pat", "openid email offline_access")
    await begin("olga")
    const { details, result } = await asked(pat, "listMyRefreshTokens")
    expect(details.totalResult).toBe(2n)
    expect(result).toMatchObject([
      { clientId: client.id, scopes: ["openid", "email", "offline_access"] },
      { clientId: client.id, scopes: ["openid", "offline_access"] },
    ])
    const text = JSON.stringify(result, (_, value) => (typeof value === "bigint" ? "" : value))
    for (const token of [first.refresh, second.refresh]) expect(text).not.toContain(token)
  })

  test("one by one, and with it what it was used for; nobody else's", async () => {
    const { access, refresh } = await begin("pat")
    const [newest] = (await asked(pat, "listMyRefreshTokens")).result
    const foreign = asked(provider.setup.ownerId, "revokeMyRefreshToken", { id: newest.id })
    const absent = asked(provider.setup.ownerId, "revokeMyRefreshToken", { id: "1" })
    for (const each of [foreign, absent]) {
      await expect(each).rejects.toMatchObject({ code: "not_found", id: "grant.missing" })
    }
    expect(await userinfo(access)).toBe(200)
    const { details } = await asked(pat, "revokeMyRefreshToken", { id: newest.id })
    expect(details.resourceOwner).toBe(provider.setup.orgId)
    expect([await userinfo(access), await refreshed(refresh)]).toEqual([401, 400])
    const again = asked(pat, "revokeMyRefreshToken", { id: newest.id })
    await expect(again).rejects.toMatchObject({ id: "grant.missing" })
  })

  test("a grant without one is not theirs to end here", async () => {
    const { access } = await begin("pat", "openid")
    const events = await provider.store.log.read(0, 10_000)
    const added = events.findLast(({ type }) => type === "oidc_session.added")
    const ended = asked(pat, "revokeMyRefreshToken", { id: added?.id ?? "" })
    await expect(ended).rejects.toMatchObject({ id: "grant.missing" })
    expect(await userinfo(access)).toBe(200)
  })

  test("all of them at once, and none of others", async () => {
    const [one, two] = [await begin("pat"), await begin("pat")]
    const other = await begin("olga")
    await asked(pat, "revokeAllMyRefreshTokens")
    expect([await refreshed(one.refresh), await refreshed(two.refresh)]).toEqual([400, 400])
    expect(await refreshed(other.refresh)).toBe(200)
    expect((await asked(pat, "listMyRefreshTokens")).result).toEqual([])
    await asked(pat, "revokeAllMyRefreshTokens")
  })

  test("time ends them, and so does a new password", async () => {
    await begin("pat")
    const count = async () => (await asked(pat, "listMyRefreshTokens")).result.length
    expect(await count()).toBe(1)
    const hash = provider.store.state(provider.cx(), user, pat)
    const kept = "password" in hash ? (hash.password?.hash ?? "") : ""
    await setPassword(provider.cx(), pat, { hash: kept, changeRequired: false })
    expect(await count()).toBe(0)
    await begin("pat")
    const [row] = (await asked(pat, "listMyRefreshTokens")).result
    const idle = Number(row.idleExpiration.seconds) * 1000
    provider.clock.advance(idle - provider.clock.now() - 1)
    expect(await count()).toBe(1)
    provider.clock.advance(1000)
    expect(await count()).toBe(0)
  })
})

describe("callers see their own sign-ins:", () => {
  test("those that still count, and those that time or a new password ended", async () => {
    const lea = await provider.addPerson("lea")
    await begin("lea")
    await begin("lea")
    const list = async () => (await asked(lea, "listMyUserSessions")).result
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
    const { result } = await asked(pat, "listMyUserSessions")
    expect(result.some((each: any) => each.userId !== pat)).toBe(false)
  })
})
