// Who has used which application, by the tokens that they got.
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { removeApplication } from "../../../src/domain/app/index.ts"
import { shares } from "../../../src/domain/grant/api.ts"
import { changeOidcSettings } from "../../../src/domain/instance/index.ts"
import { removeUser } from "../../../src/domain/user/index.ts"
import type { Scope } from "../../../src/kernel/context.ts"
import { signedIn, tokensOf } from "../../oauth/must.ts"
import { askToken, type NewClient, openProvider, type Provider } from "../../oauth/provider.ts"
import { ask } from "../../support/ask.ts"

const day = 86_400_000
const everything: Scope = { all: true, orgs: [], projects: [], grants: [] }

let provider: Provider
let client: NewClient
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient({ grantTypes: ["authorization_code", "refresh_token"] })
})
afterEach(() => provider.close())

const listed = async (request: object = {}, scope = everything) => {
  const { applicationUses, pagination } = await ask(
    shares,
    "listApplicationUses",
    provider.cx({ scope }),
    request,
  )
  expect(pagination.totalResult).toBe(BigInt(applicationUses.length))
  return applicationUses
}

const use = async (of = client) => {
  const browser = await signedIn(provider, of)
  return tokensOf(provider, browser, of, { scope: "openid offline_access" })
}

const noted = async () =>
  (await provider.store.log.read(0, 1000)).filter(({ type }) => type === "application.used").length

test("an application is used by whoever gets a token there, once a day", async () => {
  const other = await provider.addClient()
  const { refresh_token } = await use()
  const { ownerId } = provider.setup
  const uses = await listed({ userId: ownerId, applicationId: client.appId })
  expect(uses).toMatchObject([{ applicationName: "Example App", userId: ownerId }])
  expect(timestampMs(uses[0].lastUsed)).toBe(provider.clock.now())
  expect(await listed({ applicationId: other.appId })).toEqual([])
  expect(await listed({ userId: "absent" })).toEqual([])

  await use()
  expect(await noted()).toBe(1)
  provider.clock.advance(day)
  const fields = { grant_type: "refresh_token", refresh_token: String(refresh_token) }
  const { status } = await askToken(provider, fields, `${client.id}:${client.secret}`)
  expect(status).toBe(200)
  expect(await noted()).toBe(2)
  const since = (ms: number) => ({ since: timestampFromMs(provider.clock.now() + ms) })
  expect(await listed(since(0))).toHaveLength(1)
  expect(await listed(since(1))).toEqual([])
})

test("uses are seen by who may read the application", async () => {
  await use()
  const none = { ...everything, all: false }
  expect(await listed({}, { ...none, projects: [provider.projectId] })).toHaveLength(1)
  expect(await listed({}, { ...none, orgs: [provider.setup.orgId] })).toHaveLength(1)
  expect(await listed({}, { ...none, orgs: ["other"] })).toEqual([])
})

test("nothing is noted where the instance does not want to know who got tokens", async () => {
  const tokenAudit = { people: false, machines: false }
  await changeOidcSettings(provider.cx(), "i1", { settings: { tokenAudit }, isSigning: () => true })
  await use()
  expect(await noted()).toBe(0)
})

test("a use is gone with its application, and with its person", async () => {
  const second = await provider.addClient()
  await use()
  await use(second)
  expect(await listed()).toHaveLength(2)
  await removeApplication(provider.cx(), second.appId)
  expect(await listed()).toHaveLength(1)
  await removeUser(provider.cx(), provider.setup.ownerId)
  expect(await listed()).toEqual([])
})
