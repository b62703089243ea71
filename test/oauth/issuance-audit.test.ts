import { afterEach, beforeEach, expect, test } from "vitest"
import { changeOidcSettings } from "../../src/domain/instance/index.ts"
import { addServiceAccount, encodeBasic, signAssertion } from "./clients.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  redirectUri,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"
import { jwtBearer } from "./service-account.ts"

let provider: Provider
let client: NewClient
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient({ grantTypes: ["authorization_code", "refresh_token"] })
})
afterEach(() => provider.close())

const setAudit = (tokenAudit: { people: boolean; machines: boolean }) =>
  changeOidcSettings(provider.cx(), "i1", { settings: { tokenAudit }, isSigning: () => true })

const events = async () => {
  const all = await provider.store.log.read(0, 10_000)
  return all.filter(({ type }) => type === "token.issued")
}
const listIssuances = async () => (await events()).map(({ data }) => data)

const basic = () => `${client.id}:${client.secret}`

async function signIn(changes: Readonly<Record<string, string>> = {}) {
  const at = await browserOf(provider).signIn(authorizePath(client.id, changes))
  return (await sendTokenRequest(provider, codeFields(responseOf(at).code ?? ""), basic())).answer
}

test("tokens for a user by code and refresh token are recorded with their grant", async () => {
  const first = await signIn({ scope: "openid email offline_access" })
  const refresh = { grant_type: "refresh_token", refresh_token: String(first.refresh_token) }
  await sendTokenRequest(provider, { ...refresh, scope: "openid" }, basic())
  const [byCode, byRefresh, ...others] = await events()
  expect(others).toEqual([])
  const userId = provider.setup.ownerId
  expect(byCode?.data).toEqual({
    grantId: byCode?.id,
    clientId: client.id,
    userId,
    grantType: "authorization_code",
    scopes: ["openid", "email", "offline_access"],
  })
  expect(byRefresh?.data).toMatchObject({ grantType: "refresh_token", scopes: ["openid"] })
  expect([byRefresh?.id, byRefresh?.owner]).toEqual([byCode?.id, provider.setup.orgId])
  expect([byCode?.private, byRefresh?.private]).toEqual([null, null])
})

test("the record is in the same transaction as the grant", async () => {
  await signIn()
  const all = await provider.store.log.read(0, 10_000)
  const [note] = await events()
  const added = all.find(({ type }) => type === "oidc_session.added")
  expect([note?.correlation, note?.time]).toEqual([added?.correlation, added?.time])
  expect(Math.abs(Number(note?.position) - Number(added?.position))).toBeLessThan(4)
})

test("the implicit flow is recorded with its grant type", async () => {
  const implicit = await provider.addClient({
    grantTypes: ["implicit"],
    responseTypes: ["id_token_token"],
    authMethod: "none",
  })
  const path = authorizePath(implicit.id, {
    response_type: "id_token token",
    redirect_uri: redirectUri,
    code_challenge: undefined,
    code_challenge_method: undefined,
  })
  await browserOf(provider).signIn(path)
  expect(await listIssuances()).toMatchObject([{ clientId: implicit.id, grantType: "implicit" }])
})

test("an instance can turn it off for users", async () => {
  await setAudit({ people: false, machines: false })
  await signIn()
  expect(await listIssuances()).toEqual([])
})

test("tokens of service accounts are recorded only if the instance enables it", async () => {
  const robot = await addServiceAccount(provider)
  const credentials = { grant_type: "client_credentials", scope: "openid" }
  const both = async () => {
    await sendTokenRequest(provider, credentials, encodeBasic(robot.id, robot.secret))
    const { client_assertion: assertion } = await signAssertion(provider, {
      ...robot,
      id: robot.userId,
    })
    await sendTokenRequest(provider, { grant_type: jwtBearer, scope: "openid", assertion })
  }
  const before = provider.store.log.durable()
  await both()
  expect(provider.store.log.durable()).toBe(before)
  await setAudit({ people: true, machines: true })
  await both()
  expect(await listIssuances()).toMatchObject([
    { userId: robot.userId, grantType: "client_credentials", scopes: ["openid"] },
    { userId: robot.userId, grantType: jwtBearer, scopes: ["openid"] },
  ])
  const [first, second] = await events()
  expect(first?.id).not.toBe(second?.id)
})

test("a rejected request is not recorded", async () => {
  await sendTokenRequest(provider, codeFields("nonsense"), basic())
  await sendTokenRequest(
    provider,
    { grant_type: "refresh_token", refresh_token: "nonsense" },
    basic(),
  )
  expect(await listIssuances()).toEqual([])
})

test("a lost response fetched again in the grace period is recorded", async () => {
  const { refresh_token } = await signIn({ scope: "openid offline_access" })
  const refresh = { grant_type: "refresh_token", refresh_token: String(refresh_token) }
  await sendTokenRequest(provider, refresh, basic())
  // Every repeated request gets its own tokens, because the requester may be another.
  const before = [(await listIssuances()).length, provider.store.log.durable()]
  expect((await sendTokenRequest(provider, refresh, basic())).status).toBe(200)
  const noted = await listIssuances()
  expect([noted.length - 1, provider.store.log.durable() - 1]).toEqual(before)
  expect(noted.at(-1)).toMatchObject({ grantType: "refresh_token", clientId: client.id })

  provider.clock.advance(20_000)
  expect((await sendTokenRequest(provider, refresh, basic())).status).toBe(400)
  expect(await listIssuances()).toHaveLength(noted.length)
})

test("a lost response can be fetched again without a record if the audit is off", async () => {
  await setAudit({ people: false, machines: false })
  const { refresh_token } = await signIn({ scope: "openid offline_access" })
  const refresh = { grant_type: "refresh_token", refresh_token: String(refresh_token) }
  await sendTokenRequest(provider, refresh, basic())
  const before = provider.store.log.durable()
  expect((await sendTokenRequest(provider, refresh, basic())).status).toBe(200)
  expect(provider.store.log.durable()).toBe(before)
})
