// What can act for somebody, and how they take that away again.
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { shares } from "../../../src/domain/grant/api.ts"
import { deactivateUser } from "../../../src/domain/user/index.ts"
import { signedIn, tokensOf } from "../../oauth/must.ts"
import {
  askToken,
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
} from "../../oauth/provider.ts"
import { ask } from "../../support/ask.ts"

let provider: Provider
let client: NewClient
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient({ grantTypes: ["authorization_code", "refresh_token"] })
})
afterEach(() => provider.close())

const asked = (name: string, request: object = {}, userId = provider.setup.ownerId) => {
  const caller = { kind: "user", userId, orgId: provider.setup.orgId, clientId: "c" } as const
  return ask(shares, name, provider.cx({ caller }), request)
}
const listed = async (userId?: string) =>
  (await asked("listConnectedApplications", {}, userId)).connectedApplications

const use = async (scope: string, of = client) =>
  tokensOf(provider, await signedIn(provider, of), of, { scope })

const refreshed = async (token: unknown, of = client) => {
  const fields = { grant_type: "refresh_token", refresh_token: String(token) }
  return askToken(provider, fields, `${of.id}:${of.secret}`)
}

const userinfo = async (token: unknown) => {
  const headers = { authorization: `Bearer ${token}` }
  return (await provider.send("/oidc/v1/userinfo", { headers })).status
}

test("each application stands there once, with all it may do, the last used first", async () => {
  const other = await provider.addClient()
  await use("openid email")
  provider.clock.advance(1000)
  await use("openid", other)
  provider.clock.advance(1000)
  const { refresh_token } = await use("openid profile offline_access")
  const [first, second, ...rest] = await listed()
  expect(rest).toEqual([])
  expect(first).toMatchObject({
    applicationId: client.appId,
    applicationName: "Example App",
    offline: true,
    projects: [],
  })
  expect(first.scopes).toEqual(["openid", "email", "profile", "offline_access"])
  expect(second).toMatchObject({ applicationId: other.appId, scopes: ["openid"], offline: false })
  provider.clock.advance(60_000)
  await refreshed(refresh_token)
  expect(timestampMs((await listed())[0].lastUsed)).toBe(provider.clock.now())
})

test("one that is disconnected can do nothing more, online or away, and others go on", async () => {
  const other = await provider.addClient()
  const online = await use("openid")
  const away = await use("openid offline_access")
  const others = await use("openid", other)
  const { disconnectionDate } = await asked("disconnectApplication", {
    applicationId: client.appId,
  })
  expect(timestampMs(disconnectionDate)).toBe(provider.clock.now())
  expect((await refreshed(away.refresh_token)).answer.error).toBe("invalid_grant")
  expect(await userinfo(online.access_token)).toBe(401)
  expect(await userinfo(away.access_token)).toBe(401)
  expect(await userinfo(others.access_token)).toBe(200)
  expect((await listed()).map(({ applicationId }: any) => applicationId)).toEqual([other.appId])
  const again = asked("disconnectApplication", { applicationId: client.appId })
  await expect(again).rejects.toMatchObject({ code: "not_found", id: "grant.missing" })
})

test("nobody sees or ends what acts for others", async () => {
  const pat = await provider.addPerson("pat")
  await use("openid offline_access")
  expect(await listed(pat)).toEqual([])
  const ended = asked("disconnectApplication", { applicationId: client.appId }, pat)
  await expect(ended).rejects.toMatchObject({ code: "not_found", id: "grant.missing" })
  expect(await listed()).toHaveLength(1)
})

test("what hung from a session alone is gone with that; what stays away stays", async () => {
  const other = await provider.addClient()
  await use("openid", other)
  await use("openid offline_access")
  provider.clock.advance(11 * 86_400_000)
  expect((await listed()).map(({ applicationId }: any) => applicationId)).toEqual([client.appId])
})

test("of who is switched off nothing acts", async () => {
  const id = await provider.addPerson("pat")
  const browser = browserOf(provider)
  await browser.signIn(authorizePath(client.id), "pat")
  await tokensOf(provider, browser, client, { scope: "openid offline_access" })
  expect(await listed(id)).toHaveLength(1)
  await deactivateUser(provider.cx(), id)
  expect(await listed(id)).toEqual([])
})
