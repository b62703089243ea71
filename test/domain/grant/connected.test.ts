// The applications that can act for a user, and how the user disconnects them.
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { shares } from "../../../src/domain/grant/api.ts"
import { deactivateUser } from "../../../src/domain/user/index.ts"
import { openSignedIn, tokensOf } from "../../oauth/must.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  sendTokenRequest,
} from "../../oauth/provider.ts"
import { callOperation } from "../../support/call-operation.ts"

let provider: Provider
let client: NewClient
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient({ grantTypes: ["authorization_code", "refresh_token"] })
})
afterEach(() => provider.close())

const callAs = (name: string, request: object = {}, userId = provider.setup.ownerId) => {
  const caller = { kind: "user", userId, orgId: provider.setup.orgId, clientId: "c" } as const
  return callOperation(shares, name, provider.cx({ caller }), request)
}
const listConnected = async (userId?: string) =>
  (await callAs("listConnectedApplications", {}, userId)).connectedApplications

const authorizeClient = async (scope: string, of = client) =>
  tokensOf(provider, await openSignedIn(provider, of), of, { scope })

const refreshTokens = async (token: unknown, of = client) => {
  const fields = { grant_type: "refresh_token", refresh_token: String(token) }
  return sendTokenRequest(provider, fields, `${of.id}:${of.secret}`)
}

const userinfo = async (token: unknown) => {
  const headers = { authorization: `Bearer ${token}` }
  return (await provider.send("/oidc/v1/userinfo", { headers })).status
}

test("lists each application once with its scopes, the last used first", async () => {
  const other = await provider.addClient()
  await authorizeClient("openid email")
  provider.clock.advance(1000)
  await authorizeClient("openid", other)
  provider.clock.advance(1000)
  const { refresh_token } = await authorizeClient("openid profile offline_access")
  const [first, second, ...rest] = await listConnected()
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
  await refreshTokens(refresh_token)
  expect(timestampMs((await listConnected())[0].lastUsed)).toBe(provider.clock.now())
})

test("a disconnected application loses online and offline access, and others keep theirs", async () => {
  const other = await provider.addClient()
  const online = await authorizeClient("openid")
  const away = await authorizeClient("openid offline_access")
  const others = await authorizeClient("openid", other)
  const { disconnectionDate } = await callAs("disconnectApplication", {
    applicationId: client.appId,
  })
  expect(timestampMs(disconnectionDate)).toBe(provider.clock.now())
  expect((await refreshTokens(away.refresh_token)).answer.error).toBe("invalid_grant")
  expect(await userinfo(online.access_token)).toBe(401)
  expect(await userinfo(away.access_token)).toBe(401)
  expect(await userinfo(others.access_token)).toBe(200)
  expect((await listConnected()).map(({ applicationId }: any) => applicationId)).toEqual([
    other.appId,
  ])
  const again = callAs("disconnectApplication", { applicationId: client.appId })
  await expect(again).rejects.toMatchObject({ code: "not_found", id: "grant.missing" })
})

test("users can't list or end the access of applications of others", async () => {
  const pat = await provider.addPerson("pat")
  await authorizeClient("openid offline_access")
  expect(await listConnected(pat)).toEqual([])
  const ended = callAs("disconnectApplication", { applicationId: client.appId }, pat)
  await expect(ended).rejects.toMatchObject({ code: "not_found", id: "grant.missing" })
  expect(await listConnected()).toHaveLength(1)
})

test("session-bound access ends with the session; offline access stays", async () => {
  const other = await provider.addClient()
  await authorizeClient("openid", other)
  await authorizeClient("openid offline_access")
  provider.clock.advance(11 * 86_400_000)
  expect((await listConnected()).map(({ applicationId }: any) => applicationId)).toEqual([
    client.appId,
  ])
})

test("applications of a deactivated user have no access", async () => {
  const id = await provider.addPerson("pat")
  const browser = browserOf(provider)
  await browser.signIn(authorizePath(client.id), "pat")
  await tokensOf(provider, browser, client, { scope: "openid offline_access" })
  expect(await listConnected(id)).toHaveLength(1)
  await deactivateUser(provider.cx(), id)
  expect(await listConnected(id)).toEqual([])
})
