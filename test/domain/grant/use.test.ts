// The users of applications, by the tokens they receive.
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { removeApplication } from "../../../src/domain/app/index.ts"
import { shares } from "../../../src/domain/grant/api.ts"
import { recordApplicationUse } from "../../../src/domain/grant/use.ts"
import { changeOidcSettings } from "../../../src/domain/instance/index.ts"
import { removeUser } from "../../../src/domain/user/index.ts"
import type { Scope } from "../../../src/kernel/context.ts"
import { Fault } from "../../../src/kernel/fault.ts"
import { openSignedIn, post, tokensOf, userinfo } from "../../oauth/must.ts"
import {
  type NewClient,
  openProvider,
  type Provider,
  sendTokenRequest,
} from "../../oauth/provider.ts"
import { callOperation } from "../../support/call-operation.ts"

const day = 86_400_000
const fullScope: Scope = { all: true, orgs: [], projects: [], grants: [] }

let provider: Provider
let client: NewClient
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient({ grantTypes: ["authorization_code", "refresh_token"] })
})
afterEach(() => provider.close())

const listUses = async (request: object = {}, scope = fullScope) => {
  const { applicationUses, pagination } = await callOperation(
    shares,
    "listApplicationUses",
    provider.cx({ scope }),
    request,
  )
  expect(pagination.totalResult).toBe(BigInt(applicationUses.length))
  return applicationUses
}

const signInAndUse = async (of = client) => {
  const browser = await openSignedIn(provider, of)
  return tokensOf(provider, browser, of, { scope: "openid offline_access" })
}

const listUseEvents = async () =>
  (await provider.store.log.read(0, 1000)).filter(({ type }) => type === "application.used").length

test("a token for a user records a use of the application, once a day", async () => {
  const other = await provider.addClient()
  const { refresh_token } = await signInAndUse()
  const { ownerId } = provider.setup
  const uses = await listUses({ userId: ownerId, applicationId: client.appId })
  expect(uses).toMatchObject([{ applicationName: "Example App", userId: ownerId }])
  expect(timestampMs(uses[0].lastUsed)).toBe(provider.clock.now())
  expect(await listUses({ applicationId: other.appId })).toEqual([])
  expect(await listUses({ userId: "absent" })).toEqual([])

  await signInAndUse()
  expect(await listUseEvents()).toBe(1)
  provider.clock.advance(day)
  const fields = { grant_type: "refresh_token", refresh_token: String(refresh_token) }
  const { status } = await sendTokenRequest(provider, fields, `${client.id}:${client.secret}`)
  expect(status).toBe(200)
  expect(await listUseEvents()).toBe(2)
  const since = (ms: number) => ({ since: timestampFromMs(provider.clock.now() + ms) })
  expect(await listUses(since(0))).toHaveLength(1)
  expect(await listUses(since(1))).toEqual([])
})

test("uses are listed to callers who can read the application", async () => {
  await signInAndUse()
  const none = { ...fullScope, all: false }
  expect(await listUses({}, { ...none, projects: [provider.projectId] })).toHaveLength(1)
  expect(await listUses({}, { ...none, orgs: [provider.setup.orgId] })).toHaveLength(1)
  expect(await listUses({}, { ...none, orgs: ["other"] })).toEqual([])
})

test("records nothing if the instance turned it off", async () => {
  const tokenAudit = { people: false, machines: false }
  await changeOidcSettings(provider.cx(), "i1", { settings: { tokenAudit }, isSigning: () => true })
  await signInAndUse()
  expect(await listUseEvents()).toBe(0)
})

test("a use is removed with its application and its user", async () => {
  const second = await provider.addClient()
  await signInAndUse()
  await signInAndUse(second)
  expect(await listUses()).toHaveLength(2)
  await removeApplication(provider.cx(), second.appId)
  expect(await listUses()).toHaveLength(1)
  await removeUser(provider.cx(), provider.setup.ownerId)
  expect(await listUses()).toEqual([])
})

/** Fields of an application from its uses. */
const fieldsOfUses = async ({ appId }: NewClient, scope = fullScope) => {
  const cx = provider.cx({ scope })
  const answer = await callOperation(shares, "listApplicationUses", cx, { applicationId: appId })
  return { dropped: answer.droppedScopes, isUnread: answer.profileUnread }
}

const signIn = async (of: NewClient, scope: string) =>
  tokensOf(provider, await openSignedIn(provider, of), of, { scope })

test("requested but not granted scopes are missing in the response, and listed", async () => {
  const plain = await provider.addClient()
  expect((await signIn(plain, "openid offline_access groups")).scope).toBe("openid groups")
  expect((await fieldsOfUses(plain)).dropped).toEqual(["offline_access"])
  expect((await signIn(client, "openid offline_access admin")).scope).toBe("openid offline_access")
  expect((await fieldsOfUses(client)).dropped).toEqual(["admin"])
})

test("dropped scopes are recorded only if they change, and removed if there are none", async () => {
  const plain = await provider.addClient()
  const words = ["openid offline_access", "openid offline_access", "openid", "openid"]
  const after: unknown[] = []
  for (const scope of words) {
    await signIn(plain, scope)
    after.push([(await fieldsOfUses(plain)).dropped, await listUseEvents()])
  }
  expect(after).toEqual([
    [["offline_access"], 1],
    [["offline_access"], 1],
    [[], 2],
    [[], 2],
  ])
})

test("dropped scopes of sign-ins older than a day are not listed", async () => {
  const { appId } = client
  const used = (userId: string, dropped: readonly string[] = []) =>
    provider.store.transact(provider.cx(), (tx) =>
      recordApplicationUse(tx, userId, appId, { profile: false, dropped }),
    )
  await used("early", ["admin"])
  provider.clock.advance(day / 2)
  await used("later")
  expect((await fieldsOfUses(client)).dropped).toEqual(["admin"])
  provider.clock.advance(day)
  // A refresh is not a sign-in: it shows nothing about current requests.
  await provider.store.transact(provider.cx(), (tx) => recordApplicationUse(tx, "early", appId))
  await used("last")
  expect((await fieldsOfUses(client)).dropped).toEqual([])
})

test("stores only a few short scopes of those that clients make up", async () => {
  const plain = await provider.addClient()
  const words = Array.from({ length: 50 }, (_, at) => `${at}-${"x".repeat(120)}`)
  await signIn(plain, `openid ${words.join(" ")}`)
  const { dropped } = await fieldsOfUses(plain)
  expect([dropped.length, Math.max(...dropped.map((each: string) => each.length))]).toEqual([
    20, 100,
  ])
})

test("distinguishes applications that never read the profile", async () => {
  const never = await provider.addClient()
  const silent = await provider.addClient()
  const asking = await provider.addClient()
  await signIn(never, "openid profile email")
  await signIn(silent, "openid")
  const { access_token: token } = await signIn(asking, "openid email")
  expect([await fieldsOfUses(never), await fieldsOfUses(silent)]).toMatchObject([
    { isUnread: true },
    { isUnread: false },
  ])
  expect((await userinfo(provider, token)).status).toBe(200)
  expect((await fieldsOfUses(asking)).isUnread).toBe(false)
})

test("an application that introspects its own tokens reads the profile, too", async () => {
  const own = await provider.addClient()
  const { access_token: token } = await signIn(own, "openid profile")
  const authorization = `Basic ${Buffer.from(`${own.id}:${own.secret}`).toString("base64")}`
  const body = new URLSearchParams({ token: String(token) }).toString()
  const answer = await post(provider, "/oauth/v2/introspect", body, { authorization })
  expect(await answer.json()).toMatchObject({ active: true })
  expect((await fieldsOfUses(own)).isUnread).toBe(false)
})

test("reading claims is recorded weekly for an application, so that an end shows", async () => {
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
  expect([await reads(), (await fieldsOfUses(asking)).isUnread]).toEqual([2, false])
  provider.clock.advance(15 * day)
  await signIn(asking, "openid profile")
  expect((await fieldsOfUses(asking)).isUnread).toBe(true)
})

test("concurrent requests for claims record one reading", async () => {
  const { access_token: token } = await signIn(client, "openid profile")
  const before = await listUseEvents()
  const answers = await Promise.all(Array.from({ length: 5 }, () => userinfo(provider, token)))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  expect(await listUseEvents()).toBe(before + 1)
})

test("claims are readable while nothing can be stored, and the reading is recorded later", async () => {
  const { access_token: token } = await signIn(client, "openid profile")
  const before = await listUseEvents()
  const full = new Fault("unavailable", "store.disk_full", "the disk is full")
  const saving = vi.spyOn(provider.store, "transact").mockRejectedValue(full)
  const whileFull = await userinfo(provider, token)
  expect(saving).toHaveBeenCalled()
  saving.mockRestore()
  expect([whileFull.status, await listUseEvents()]).toEqual([200, before])
  provider.clock.advance(60_000)
  expect((await userinfo(provider, token)).status).toBe(200)
  expect(await listUseEvents()).toBe(before + 1)
})

test("use data of an application is listed to callers who can read it", async () => {
  const plain = await provider.addClient()
  await signIn(plain, "openid profile offline_access")
  const nobody = { ...fullScope, all: false }
  const known = { dropped: ["offline_access"], isUnread: true }
  const hidden = { dropped: [], isUnread: false }
  expect(await fieldsOfUses(plain, { ...nobody, projects: [provider.projectId] })).toEqual(known)
  expect(await fieldsOfUses(plain, { ...nobody, orgs: [provider.setup.orgId] })).toEqual(known)
  expect(await fieldsOfUses(plain, { ...nobody, orgs: ["other"] })).toEqual(hidden)
})
