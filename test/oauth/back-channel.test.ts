import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from "jose"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { findLogoutNotificationFailures } from "../../src/domain/app/back-channel.ts"
import { deactivateApplication } from "../../src/domain/app/index.ts"
import { createPassword, setPassword } from "../../src/domain/credential/commands.ts"
import { publicKeys, verifyJwt } from "../../src/domain/key/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { deactivateOrganization } from "../../src/domain/org/index.ts"
import { sessionEndReactor } from "../../src/domain/session/index.ts"
import { reactivateUser, unlockUser } from "../../src/domain/user/commands.ts"
import { deactivateUser, lockUser, removeUser } from "../../src/domain/user/index.ts"
import { createBreaker } from "../../src/kernel/breaker.ts"
import type { OutboundRequest } from "../../src/kernel/port/outbound.ts"
import { backChannelLogout } from "../../src/oauth/index.ts"
import { type Reactors, runReactors } from "../../src/store/index.ts"
import { driveClock, until } from "../support/wait.ts"
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

let provider: Provider
let running: Reactors
let posted: OutboundRequest[] = []
/** The response status of each application by URL; 200 by default. */
const responses = new Map<string, () => number>()

beforeEach(async () => {
  posted = []
  responses.clear()
  provider = await openProvider()
  start()
})
afterEach(async () => {
  await running.stop()
  await provider.close()
})

function start(): void {
  const call = (instance: string) => provider.cx({ instance })
  const outbound = async (request: OutboundRequest) => {
    posted.push(request)
    return { status: responses.get(request.url)?.() ?? 200, body: "" }
  }
  const reactors = [sessionEndReactor(call), backChannelLogout(call, outbound)]
  running = runReactors(provider.store, provider.clock, reactors)
}

const uriOf = (name: string) => `https://${name}.example.com/backchannel`

const addListeningClient = (name: string, more: object = {}) =>
  provider.addClient({ backChannelLogoutUri: uriOf(name), ...more })

type Browser = ReturnType<typeof browserOf>

/** Gets tokens for a client; signs in if the browser has no session. */
async function getTokens(browser: Browser, client: NewClient, loginName = "pat") {
  const path = authorizePath(client.id)
  const at = await browser.go(path)
  const code = responseOf(at.path.startsWith("http") ? at : await browser.signIn(path, loginName))
  const basic = `${client.id}:${client.secret}`
  const { answer } = await sendTokenRequest(provider, codeFields(code.code ?? ""), basic)
  return answer
}

const signOut = (browser: Browser, hint: unknown) =>
  browser.go(`/oidc/v1/endsession?${new URLSearchParams({ id_token_hint: String(hint) })}`)

/** Runs the reactors until nothing is left, whatever the retry delay. */
async function drainReactors(): Promise<void> {
  let done = false
  const end = running.drain().then(() => {
    done = true
  })
  while (!done) {
    provider.clock.advance(1000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await end
}

/** Drains the reactors twice, because the first reactor writes events for the second. */
async function deliveredRequests(): Promise<readonly OutboundRequest[]> {
  await drainReactors()
  await drainReactors()
  return posted
}

const tokenIn = ({ body }: OutboundRequest) =>
  new URLSearchParams(body).get("logout_token") ?? "none"

test("Back-Channel Logout §2.4, §2.5: the application receives a signed logout token", async () => {
  await provider.addPerson("pat")
  const client = await addListeningClient("one")
  const browser = browserOf(provider)
  const { id_token } = await getTokens(browser, client)
  await signOut(browser, id_token)
  const [request, ...others] = await deliveredRequests()
  expect(others).toEqual([])
  expect(request).toMatchObject({
    url: uriOf("one"),
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
  })
  const token = request ? tokenIn(request) : ""
  const keys = createLocalJWKSet({ keys: publicKeys(provider.cx()).map((key) => ({ ...key })) })
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    issuer: "https://id.example.com",
    audience: client.id,
    typ: "logout+jwt",
    currentDate: new Date(Number(decodeJwt(token).iat) * 1000),
  })
  const { sub, sid } = decodeJwt(String(id_token))
  expect(protectedHeader.alg).toBe("RS256")
  expect(payload).toMatchObject({
    sub,
    sid,
    jti: expect.any(String),
    events: { "http://schemas.openid.net/event/backchannel-logout": {} },
  })
  expect(payload).not.toHaveProperty("nonce")
  expect(Number(payload.exp) - Number(payload.iat)).toBe(120)
})

test("a logout token is neither an id_token nor an access token", async () => {
  await provider.addPerson("pat")
  const browser = browserOf(provider)
  const { id_token } = await getTokens(browser, await addListeningClient("one"))
  await signOut(browser, id_token)
  const [request] = await deliveredRequests()
  const token = request ? tokenIn(request) : ""
  const asIdToken = { typ: "JWT", algorithms: ["RS256"] } as const
  expect(verifyJwt(provider.cx(), token, asIdToken)).toBeUndefined()
  const headers = { authorization: `Bearer ${token}` }
  expect((await provider.send("/oidc/v1/userinfo", { headers })).status).toBe(401)
})

test("it is signed like the application's ID tokens, with its clock skew", async () => {
  await provider.addPerson("pat")
  const more = { tokens: { idTokenAlgorithm: "ES256" }, clockSkewSeconds: 5 }
  const browser = browserOf(provider)
  const { id_token } = await getTokens(browser, await addListeningClient("one", more))
  await signOut(browser, id_token)
  const [request] = await deliveredRequests()
  const token = request ? tokenIn(request) : ""
  expect(decodeProtectedHeader(token).alg).toBe("ES256")
  const { iat = 0, exp = 0 } = decodeJwt(token)
  expect(exp - iat).toBe(130)
})

test("every application of the session is notified once, and no other", async () => {
  await provider.addPerson("pat")
  await provider.addPerson("sam")
  const [one, two, deaf] = [
    await addListeningClient("one"),
    await addListeningClient("two"),
    await provider.addClient(),
  ]
  const [mine, hers] = [browserOf(provider), browserOf(provider)]
  await getTokens(mine, one)
  await getTokens(mine, one)
  await getTokens(mine, deaf)
  const { id_token } = await getTokens(mine, two)
  await getTokens(hers, one, "sam")
  await signOut(mine, id_token)
  const requests = await deliveredRequests()
  expect(requests.map(({ url }) => url).sort()).toEqual([uriOf("one"), uriOf("two")])
  const subjects = requests.map((request) => decodeJwt(tokenIn(request)).sub)
  expect(subjects).toEqual([decodeJwt(String(id_token)).sub, decodeJwt(String(id_token)).sub])
})

describe("the application is notified when a session ends because", () => {
  const ends: Readonly<Record<string, (userId: string, orgId: string) => Promise<unknown>>> = {
    "a deactivated user": (id) => deactivateUser(provider.cx(), id),
    "a locked user": (id) => lockUser(provider.cx(), id),
    "a deleted user": (id) => removeUser(provider.cx(), id),
    "a deactivated organisation": (_, orgId) => deactivateOrganization(provider.cx(), orgId),
    "a new password": async (id) => {
      const password = await createPassword("Another-Horse-9", { names: [] })
      await setPassword(provider.cx(), id, password)
    },
  }
  test.each(Object.entries(ends))("%s", async (_, end) => {
    const orgId = provider.cx().ids.next()
    await createOrganization(provider.cx(), orgId, { name: "Pat & Co" })
    const userId = await provider.addPerson("pat", orgId)
    const client = await addListeningClient("one")
    await getTokens(browserOf(provider), client)
    await getTokens(browserOf(provider), client)
    provider.clock.advance(1)
    await end(userId, orgId)
    const requests = await deliveredRequests()
    expect(requests.map((request) => decodeJwt(tokenIn(request)).sub)).toEqual([userId, userId])
    const sids = requests.map((request) => decodeJwt(tokenIn(request)).sid)
    expect(new Set(sids).size).toBe(2)
  })
})

test("a user who signs in again before the notification keeps that session", async () => {
  const userId = await provider.addPerson("pat")
  const client = await addListeningClient("one")
  const before = await getTokens(browserOf(provider), client)
  provider.clock.advance(1)
  await lockUser(provider.cx(), userId)
  await unlockUser(provider.cx(), userId)
  provider.clock.advance(1)
  const after = await getTokens(browserOf(provider), client)
  const sids = (await deliveredRequests()).map((request) => decodeJwt(tokenIn(request)).sid)
  expect(sids).toEqual([decodeJwt(String(before.id_token)).sid])
  const headers = { authorization: `Bearer ${after.access_token}` }
  expect((await provider.send("/oidc/v1/userinfo", { headers })).status).toBe(200)
})

test("a session of a deactivated user is not restored with them", async () => {
  const userId = await provider.addPerson("pat")
  const browser = browserOf(provider)
  const { access_token } = await getTokens(browser, await addListeningClient("one"))
  provider.clock.advance(1)
  await deactivateUser(provider.cx(), userId)
  await deliveredRequests()
  await reactivateUser(provider.cx(), userId)
  const headers = { authorization: `Bearer ${access_token}` }
  expect((await provider.send("/oidc/v1/userinfo", { headers })).status).toBe(401)
})

test("a failed notification is retried with the same jti, and others are not", async () => {
  await provider.addPerson("pat")
  const browser = browserOf(provider)
  await getTokens(browser, await addListeningClient("good"))
  const { id_token } = await getTokens(browser, await addListeningClient("bad"))
  let left = 3
  responses.set(uriOf("bad"), () => (left-- > 0 ? 503 : 204))
  await signOut(browser, id_token)
  const requests = await deliveredRequests()
  const to = (name: string) => requests.filter(({ url }) => url === uriOf(name))
  expect([to("good").length, to("bad").length]).toEqual([1, 4])
  expect(new Set(to("bad").map((request) => decodeJwt(tokenIn(request)).jti)).size).toBe(1)
  expect(running.failed()).toEqual([])
})

test("a permanent failure is stored with target and reason, and can be retried", async () => {
  await provider.addPerson("pat")
  const browser = browserOf(provider)
  const client = await addListeningClient("bad")
  responses.set(uriOf("bad"), () => 400)
  const { id_token } = await getTokens(browser, client)
  await signOut(browser, id_token)
  await deliveredRequests()
  expect(posted.length).toBeGreaterThanOrEqual(5)
  const [failed] = running.failed()
  expect(failed).toMatchObject({
    reactor: "back-channel-logout",
    instance: "i1",
    error: `could not notify 1 of 1; ${client.id}: the response had the status 400`,
  })
  responses.clear()
  provider.clock.advance(30_000)
  expect(await running.retry("back-channel-logout", failed?.position ?? 0)).toBe(true)
  expect(running.failed()).toEqual([])
})

test("undelivered notifications are counted per application, until they arrive", async () => {
  await provider.addPerson("pat")
  const [good, bad] = [await addListeningClient("good"), await addListeningClient("bad")]
  const browser = browserOf(provider)
  await getTokens(browser, good)
  const { id_token } = await getTokens(browser, bad)
  responses.set(uriOf("bad"), () => 503)
  await signOut(browser, id_token)
  await deliveredRequests()
  const [failed] = running.failed()
  const failures = findLogoutNotificationFailures(provider.cx(), bad.id)
  expect(failures).toEqual({
    count: 1,
    last: failed?.last,
    next: (failed?.last ?? 0) + 30_000,
    reason: "the response had the status 503",
  })
  expect(findLogoutNotificationFailures(provider.cx(), good.id)).toBeUndefined()
  expect(findLogoutNotificationFailures(provider.cx({ instance: "i2" }), bad.id)).toBeUndefined()
  responses.clear()
  const gone = until(() => findLogoutNotificationFailures(provider.cx(), bad.id) === undefined)
  await driveClock(gone, () => provider.clock.advance(1000))
  expect(running.failed()).toEqual([])
})

test("the reason is kept while an application is suspended", async () => {
  await provider.addPerson("pat")
  const client = await addListeningClient("bad")
  const browser = browserOf(provider)
  const { id_token } = await getTokens(browser, client)
  await running.stop()
  await signOut(browser, id_token)
  let calls = 0
  const reactor = backChannelLogout(
    (instance) => provider.cx({ instance }),
    async () => {
      calls++
      return { status: 503, body: "" }
    },
  )
  const [event] = (await provider.store.log.read(0, 10_000)).filter(
    ({ type }) => type === "session.terminated",
  )
  if (!event) throw new Error("no session has ended")
  const failure = async () => reactor.on[event.type]?.(event, "key")
  const reason = `could not notify 1 of 1; ${client.id}: the response had the status 503`
  for (let each = 0; each < 7; each++) await expect(failure()).rejects.toThrow(reason)
  expect(calls).toBe(5)
})

test("the permission for a private network applies to its own address only", async () => {
  await provider.addPerson("pat")
  const allowing = { backChannelLogoutUri: "http://nas.lan:5000/out", isBackChannelPrivate: true }
  const [nas, other] = [await provider.addClient(allowing), await addListeningClient("other")]
  const browser = browserOf(provider)
  await getTokens(browser, nas)
  const { id_token } = await getTokens(browser, other)
  await signOut(browser, id_token)
  const sent = (await deliveredRequests()).map(({ url, isPrivate }) => [url, isPrivate])
  expect(sent.toSorted()).toEqual([
    ["http://nas.lan:5000/out", true],
    [uriOf("other"), false],
  ])
})

test("an application that does not respond is suspended after five attempts", async () => {
  const breaker = createBreaker()
  let calls = 0
  const call = (key: string, works = false) =>
    breaker(provider.cx(), key, async () => {
      calls++
      if (!works) throw new Error("no answer")
    })
  for (let each = 0; each < 5; each++) await expect(call("bad")).rejects.toThrow("no answer")
  await expect(call("bad", true)).rejects.toThrow(
    "the service has failed repeatedly; calls are paused",
  )
  expect(calls).toBe(5)
  await call("good", true)
  provider.clock.advance(30_000)
  await expect(call("bad")).rejects.toThrow("no answer")
  await expect(call("bad")).rejects.toThrow("the service has failed repeatedly; calls are paused")
  provider.clock.advance(30_000)
  await call("bad", true)
  await expect(call("bad")).rejects.toThrow("no answer")
  await call("bad", true)
})

test("a hanging application delays no other", async () => {
  await provider.addPerson("pat")
  await running.stop()
  const call = (instance: string) => provider.cx({ instance })
  const outbound = (request: OutboundRequest) => {
    posted.push(request)
    if (request.url === uriOf("hangs")) return new Promise<never>(() => {})
    return Promise.resolve({ status: 200, body: "" })
  }
  running = runReactors(provider.store, provider.clock, [backChannelLogout(call, outbound)])
  for (const name of ["hangs", "fine"]) {
    const browser = browserOf(provider)
    const { id_token } = await getTokens(browser, await addListeningClient(name))
    await signOut(browser, id_token)
  }
  const both = () => {
    provider.clock.advance(250)
    return posted.map(({ url }) => url).sort()
  }
  await expect.poll(both, { timeout: 60_000 }).toEqual([uriOf("fine"), uriOf("hangs")])
})

test("an application that was deactivated is not called", async () => {
  await provider.addPerson("pat")
  const browser = browserOf(provider)
  const client = await addListeningClient("one")
  const { id_token } = await getTokens(browser, client)
  await deactivateApplication(provider.cx(), client.appId)
  await signOut(browser, id_token)
  expect(await deliveredRequests()).toEqual([])
})

test("a process that was stopped notifies after its restart", async () => {
  await provider.addPerson("pat")
  const browser = browserOf(provider)
  const { id_token } = await getTokens(browser, await addListeningClient("one"))
  await running.drain()
  await running.stop()
  await signOut(browser, id_token)
  start()
  expect((await deliveredRequests()).map(({ url }) => url)).toEqual([uriOf("one")])
})

test("discovery announces support", async () => {
  const document = await (await provider.send("/.well-known/openid-configuration")).json()
  expect(document).toMatchObject({
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
  })
})
