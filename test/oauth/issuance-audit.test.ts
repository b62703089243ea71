import { afterEach, beforeEach, expect, test } from "vitest"
import { changeOidcSettings } from "../../src/domain/instance/index.ts"
import { addRobot, asserted, basicOf } from "./clients.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  redirectUri,
} from "./provider.ts"
import { jwtBearer } from "./service.ts"

let provider: Provider
let client: NewClient
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient({ grantTypes: ["authorization_code", "refresh_token"] })
})
afterEach(() => provider.close())

const audit = (tokenAudit: { people: boolean; machines: boolean }) =>
  changeOidcSettings(provider.cx(), "i1", { settings: { tokenAudit }, isSigning: () => true })

const events = async () => {
  const all = await provider.store.log.read(0, 10_000)
  return all.filter(({ type }) => type === "token.issued")
}
const issued = async () => (await events()).map(({ data }) => data)

const basic = () => `${client.id}:${client.secret}`

async function signIn(changes: Readonly<Record<string, string>> = {}) {
  const at = await browserOf(provider).signIn(authorizePath(client.id, changes))
  return (await askToken(provider, codeFields(answerOf(at).code ?? ""), basic())).answer
}

test("what a person gets by a code and by a refresh token is noted with their grant", async () => {
  const first = await signIn({ scope: "openid email offline_access" })
  const refresh = { grant_type: "refresh_token", refresh_token: String(first.refresh_token) }
  await askToken(provider, { ...refresh, scope: "openid" }, basic())
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

test("it is one step with the grant", async () => {
  await signIn()
  const all = await provider.store.log.read(0, 10_000)
  const [note] = await events()
  const added = all.find(({ type }) => type === "oidc_session.added")
  expect([note?.correlation, note?.time]).toEqual([added?.correlation, added?.time])
  expect(Math.abs(Number(note?.position) - Number(added?.position))).toBeLessThan(4)
})

test("the implicit flow is noted as what it is", async () => {
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
  expect(await issued()).toMatchObject([{ clientId: implicit.id, grantType: "implicit" }])
})

test("an instance may turn it off for people", async () => {
  await audit({ people: false, machines: false })
  await signIn()
  expect(await issued()).toEqual([])
})

test("what service users get is noted only where the instance asks for it", async () => {
  const robot = await addRobot(provider)
  const credentials = { grant_type: "client_credentials", scope: "openid" }
  const both = async () => {
    await askToken(provider, credentials, basicOf(robot.id, robot.secret))
    const { client_assertion: assertion } = await asserted(provider, { ...robot, id: robot.userId })
    await askToken(provider, { grant_type: jwtBearer, scope: "openid", assertion })
  }
  const before = provider.store.log.durable()
  await both()
  expect(provider.store.log.durable()).toBe(before)
  await audit({ people: true, machines: true })
  await both()
  expect(await issued()).toMatchObject([
    { userId: robot.userId, grantType: "client_credentials", scopes: ["openid"] },
    { userId: robot.userId, grantType: jwtBearer, scopes: ["openid"] },
  ])
  const [first, second] = await events()
  expect(first?.id).not.toBe(second?.id)
})

test("a request that is refused is no issuance", async () => {
  await askToken(provider, codeFields("nonsense"), basic())
  await askToken(provider, { grant_type: "refresh_token", refresh_token: "nonsense" }, basic())
  expect(await issued()).toEqual([])
})

test("a lost answer that is fetched again in the grace is noted, and nothing else", async () => {
  const { refresh_token } = await signIn({ scope: "openid offline_access" })
  const refresh = { grant_type: "refresh_token", refresh_token: String(refresh_token) }
  await askToken(provider, refresh, basic())
  // Whoever fetches it again gets tokens of their own: it may be somebody else.
  const before = [(await issued()).length, provider.store.log.durable()]
  expect((await askToken(provider, refresh, basic())).status).toBe(200)
  const noted = await issued()
  expect([noted.length - 1, provider.store.log.durable() - 1]).toEqual(before)
  expect(noted.at(-1)).toMatchObject({ grantType: "refresh_token", clientId: client.id })

  provider.clock.advance(20_000)
  expect((await askToken(provider, refresh, basic())).status).toBe(400)
  expect(await issued()).toHaveLength(noted.length)
})

test("a lost answer is fetched again without a trace where the audit is off", async () => {
  await audit({ people: false, machines: false })
  const { refresh_token } = await signIn({ scope: "openid offline_access" })
  const refresh = { grant_type: "refresh_token", refresh_token: String(refresh_token) }
  await askToken(provider, refresh, basic())
  const before = provider.store.log.durable()
  expect((await askToken(provider, refresh, basic())).status).toBe(200)
  expect(provider.store.log.durable()).toBe(before)
})
