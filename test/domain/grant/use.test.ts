// Who has used which application, by the tokens that they got.
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { removeApplication } from "../../../src/domain/app/index.ts"
import { shares } from "../../../src/domain/grant/api.ts"
import { noteUse } from "../../../src/domain/grant/use.ts"
import { changeOidcSettings } from "../../../src/domain/instance/index.ts"
import { removeUser } from "../../../src/domain/user/index.ts"
import type { Scope } from "../../../src/kernel/context.ts"
import { Fault } from "../../../src/kernel/fault.ts"
import { post, signedIn, tokensOf, userinfo } from "../../oauth/must.ts"
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

/** What the uses of an application show of it. */
const shown = async ({ appId }: NewClient, scope = everything) => {
  const cx = provider.cx({ scope })
  const answer = await ask(shares, "listApplicationUses", cx, { applicationId: appId })
  return { dropped: answer.droppedScopes, isUnread: answer.profileUnread }
}

const signIn = async (of: NewClient, scope: string) =>
  tokensOf(provider, await signedIn(provider, of), of, { scope })

test("scopes that were requested and not granted are not in the answer, and listed", async () => {
  const plain = await provider.addClient()
  expect((await signIn(plain, "openid offline_access groups")).scope).toBe("openid groups")
  expect((await shown(plain)).dropped).toEqual(["offline_access"])
  expect((await signIn(client, "openid offline_access admin")).scope).toBe("openid offline_access")
  expect((await shown(client)).dropped).toEqual(["admin"])
})

test("dropped scopes are noted again only where they differ, and gone where none is", async () => {
  const plain = await provider.addClient()
  const words = ["openid offline_access", "openid offline_access", "openid", "openid"]
  const after: unknown[] = []
  for (const scope of words) {
    await signIn(plain, scope)
    after.push([(await shown(plain)).dropped, await noted()])
  }
  expect(after).toEqual([
    [["offline_access"], 1],
    [["offline_access"], 1],
    [[], 2],
    [[], 2],
  ])
})

test("dropped scopes of sign-ins from before the last day are not listed any more", async () => {
  const { appId } = client
  const used = (userId: string, dropped: readonly string[] = []) =>
    provider.store.transact(provider.cx(), (tx) =>
      noteUse(tx, userId, appId, { profile: false, dropped }),
    )
  await used("early", ["admin"])
  provider.clock.advance(day / 2)
  await used("later")
  expect((await shown(client)).dropped).toEqual(["admin"])
  provider.clock.advance(day)
  // A refresh is no sign-in: it shows nothing of what an application requests now.
  await provider.store.transact(provider.cx(), (tx) => noteUse(tx, "early", appId))
  await used("last")
  expect((await shown(client)).dropped).toEqual([])
})

test("few and short scopes are kept of those that anybody makes up", async () => {
  const plain = await provider.addClient()
  const words = Array.from({ length: 50 }, (_, at) => `${at}-${"x".repeat(120)}`)
  await signIn(plain, `openid ${words.join(" ")}`)
  const { dropped } = await shown(plain)
  expect([dropped.length, Math.max(...dropped.map((each: string) => each.length))]).toEqual([
    20, 100,
  ])
})

test("an application that reads the profile nowhere is told apart from one that does", async () => {
  const never = await provider.addClient()
  const silent = await provider.addClient()
  const asking = await provider.addClient()
  await signIn(never, "openid profile email")
  await signIn(silent, "openid")
  const { access_token: token } = await signIn(asking, "openid email")
  expect([await shown(never), await shown(silent)]).toMatchObject([
    { isUnread: true },
    { isUnread: false },
  ])
  expect((await userinfo(provider, token)).status).toBe(200)
  expect((await shown(asking)).isUnread).toBe(false)
})

test("an application that introspects its own tokens reads the profile, too", async () => {
  const own = await provider.addClient()
  const { access_token: token } = await signIn(own, "openid profile")
  const authorization = `Basic ${Buffer.from(`${own.id}:${own.secret}`).toString("base64")}`
  const body = new URLSearchParams({ token: String(token) }).toString()
  const answer = await post(provider, "/oauth/v2/introspect", body, { authorization })
  expect(await answer.json()).toMatchObject({ active: true })
  expect((await shown(own)).isUnread).toBe(false)
})

test("reading the claims is noted once a week for an application, and stopping shows", async () => {
  const asking = await provider.addClient()
  const read = async () => {
    const { access_token: token } = await signIn(asking, "openid profile")
    for (let times = 0; times < 3; times++) await userinfo(provider, token)
  }
  const reads = async () =>
    (await provider.store.log.read(0, 10_000)).filter(
      ({ type, data }) => type === "application.used" && "claimsRead" in data,
    ).length
  await read()
  expect(await reads()).toBe(1)
  provider.clock.advance(6 * day)
  await read()
  expect(await reads()).toBe(1)
  provider.clock.advance(2 * day)
  await read()
  expect([await reads(), (await shown(asking)).isUnread]).toEqual([2, false])
  provider.clock.advance(15 * day)
  await signIn(asking, "openid profile")
  expect((await shown(asking)).isUnread).toBe(true)
})

test("requests for claims at the same moment note one reading", async () => {
  const { access_token: token } = await signIn(client, "openid profile")
  const before = await noted()
  const answers = await Promise.all(Array.from({ length: 5 }, () => userinfo(provider, token)))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  expect(await noted()).toBe(before + 1)
})

test("claims are read while nothing can be saved, and that is noted later", async () => {
  const { access_token: token } = await signIn(client, "openid profile")
  const before = await noted()
  const full = new Fault("unavailable", "store.disk_full", "the disk is full")
  const saving = vi.spyOn(provider.store, "transact").mockRejectedValue(full)
  const whileFull = await userinfo(provider, token)
  expect(saving).toHaveBeenCalled()
  saving.mockRestore()
  expect([whileFull.status, await noted()]).toEqual([200, before])
  provider.clock.advance(60_000)
  expect((await userinfo(provider, token)).status).toBe(200)
  expect(await noted()).toBe(before + 1)
})

test("what uses show of an application is for those who may read it", async () => {
  const plain = await provider.addClient()
  await signIn(plain, "openid profile offline_access")
  const nobody = { ...everything, all: false }
  const known = { dropped: ["offline_access"], isUnread: true }
  const hidden = { dropped: [], isUnread: false }
  expect(await shown(plain, { ...nobody, projects: [provider.projectId] })).toEqual(known)
  expect(await shown(plain, { ...nobody, orgs: [provider.setup.orgId] })).toEqual(known)
  expect(await shown(plain, { ...nobody, orgs: ["other"] })).toEqual(hidden)
})
