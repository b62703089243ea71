import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from "jose"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { noticeFailures } from "../../src/domain/app/back-channel.ts"
import { deactivateApplication } from "../../src/domain/app/index.ts"
import { createPassword, setPassword } from "../../src/domain/credential/commands.ts"
import { publicKeys, verifyJwt } from "../../src/domain/key/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { deactivateOrganization } from "../../src/domain/org/index.ts"
import { sessionEnds } from "../../src/domain/session/index.ts"
import { reactivateUser, unlockUser } from "../../src/domain/user/commands.ts"
import { deactivateUser, lockUser, removeUser } from "../../src/domain/user/index.ts"
import { breakerOf } from "../../src/kernel/breaker.ts"
import type { OutboundRequest } from "../../src/kernel/port/outbound.ts"
import { backChannelLogout } from "../../src/oauth/index.ts"
import { type Reactors, runReactors } from "../../src/store/index.ts"
import { driveClock, until } from "../support/wait.ts"
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

let provider: Provider
let running: Reactors
let posted: OutboundRequest[] = []
/** What the applications answer, by their address; 200 unless it is said. */
const answers = new Map<string, () => number>()

beforeEach(async () => {
  posted = []
  answers.clear()
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
    return { status: answers.get(request.url)?.() ?? 200, body: "" }
  }
  const reactors = [sessionEnds(call), backChannelLogout(call, outbound)]
  running = runReactors(provider.store, provider.clock, reactors)
}

const uriOf = (name: string) => `https://${name}.example.com/backchannel`

const listening = (name: string, more: object = {}) =>
  provider.addClient({ backChannelLogoutUri: uriOf(name), ...more })

type Browser = ReturnType<typeof browserOf>

/** Gets tokens for a client, signing in where the browser has nobody yet. */
async function enter(browser: Browser, client: NewClient, loginName = "pat") {
  const path = authorizePath(client.id)
  const at = await browser.go(path)
  const code = answerOf(at.path.startsWith("http") ? at : await browser.signIn(path, loginName))
  const basic = `${client.id}:${client.secret}`
  const { answer } = await askToken(provider, codeFields(code.code ?? ""), basic)
  return answer
}

const leave = (browser: Browser, hint: unknown) =>
  browser.go(`/oidc/v1/endsession?${new URLSearchParams({ id_token_hint: String(hint) })}`)

/** Lets the reactors work until nothing is left, however long they wait between tries. */
async function settled(): Promise<void> {
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

/** What happened before, done twice: the first reactor's events are the second's. */
async function told(): Promise<readonly OutboundRequest[]> {
  await settled()
  await settled()
  return posted
}

const tokenIn = ({ body }: OutboundRequest) =>
  new URLSearchParams(body).get("logout_token") ?? "none"

test("Back-Channel Logout §2.4, §2.5: the application gets a signed logout token", async () => {
  await provider.addPerson("pat")
  const client = await listening("one")
  const browser = browserOf(provider)
  const { id_token } = await enter(browser, client)
  await leave(browser, id_token)
  const [request, ...others] = await told()
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
  const { id_token } = await enter(browser, await listening("one"))
  await leave(browser, id_token)
  const [request] = await told()
  const token = request ? tokenIn(request) : ""
  const asIdToken = { typ: "JWT", algorithms: ["RS256"] } as const
  expect(verifyJwt(provider.cx(), token, asIdToken)).toBeUndefined()
  const headers = { authorization: `Bearer ${token}` }
  expect((await provider.send("/oidc/v1/userinfo", { headers })).status).toBe(401)
})

test("it is signed as the application wants its id_tokens, its clock allowed for", async () => {
  await provider.addPerson("pat")
  const more = { tokens: { idTokenAlgorithm: "ES256" }, clockSkewSeconds: 5 }
  const browser = browserOf(provider)
  const { id_token } = await enter(browser, await listening("one", more))
  await leave(browser, id_token)
  const [request] = await told()
  const token = request ? tokenIn(request) : ""
  expect(decodeProtectedHeader(token).alg).toBe("ES256")
  const { iat = 0, exp = 0 } = decodeJwt(token)
  expect(exp - iat).toBe(130)
})

test("every application of the session is told once, and no other", async () => {
  await provider.addPerson("pat")
  await provider.addPerson("sam")
  const [one, two, deaf] = [
    await listening("one"),
    await listening("two"),
    await provider.addClient(),
  ]
  const [mine, hers] = [browserOf(provider), browserOf(provider)]
  await enter(mine, one)
  await enter(mine, one)
  await enter(mine, deaf)
  const { id_token } = await enter(mine, two)
  await enter(hers, one, "sam")
  await leave(mine, id_token)
  const requests = await told()
  expect(requests.map(({ url }) => url).sort()).toEqual([uriOf("one"), uriOf("two")])
  const subjects = requests.map((request) => decodeJwt(tokenIn(request)).sub)
  expect(subjects).toEqual([decodeJwt(String(id_token)).sub, decodeJwt(String(id_token)).sub])
})

describe("whatever ends a session is told", () => {
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
    const client = await listening("one")
    await enter(browserOf(provider), client)
    await enter(browserOf(provider), client)
    provider.clock.advance(1)
    await end(userId, orgId)
    const requests = await told()
    expect(requests.map((request) => decodeJwt(tokenIn(request)).sub)).toEqual([userId, userId])
    const sids = requests.map((request) => decodeJwt(tokenIn(request)).sid)
    expect(new Set(sids).size).toBe(2)
  })
})

test("who is let in again and signs in before anybody was told keeps that", async () => {
  const userId = await provider.addPerson("pat")
  const client = await listening("one")
  const before = await enter(browserOf(provider), client)
  provider.clock.advance(1)
  await lockUser(provider.cx(), userId)
  await unlockUser(provider.cx(), userId)
  provider.clock.advance(1)
  const after = await enter(browserOf(provider), client)
  const sids = (await told()).map((request) => decodeJwt(tokenIn(request)).sid)
  expect(sids).toEqual([decodeJwt(String(before.id_token)).sid])
  const headers = { authorization: `Bearer ${after.access_token}` }
  expect((await provider.send("/oidc/v1/userinfo", { headers })).status).toBe(200)
})

test("a session of a person who was off does not come back with them", async () => {
  const userId = await provider.addPerson("pat")
  const browser = browserOf(provider)
  const { access_token } = await enter(browser, await listening("one"))
  provider.clock.advance(1)
  await deactivateUser(provider.cx(), userId)
  await told()
  await reactivateUser(provider.cx(), userId)
  const headers = { authorization: `Bearer ${access_token}` }
  expect((await provider.send("/oidc/v1/userinfo", { headers })).status).toBe(401)
})

test("one that fails is tried again with the same jti, and the other is not", async () => {
  await provider.addPerson("pat")
  const browser = browserOf(provider)
  await enter(browser, await listening("good"))
  const { id_token } = await enter(browser, await listening("bad"))
  let left = 3
  answers.set(uriOf("bad"), () => (left-- > 0 ? 503 : 204))
  await leave(browser, id_token)
  const requests = await told()
  const to = (name: string) => requests.filter(({ url }) => url === uriOf(name))
  expect([to("good").length, to("bad").length]).toEqual([1, 4])
  expect(new Set(to("bad").map((request) => decodeJwt(tokenIn(request)).jti)).size).toBe(1)
  expect(running.failed()).toEqual([])
})

test("what keeps failing is a failed event that says who and why, and can be retried", async () => {
  await provider.addPerson("pat")
  const browser = browserOf(provider)
  const client = await listening("bad")
  answers.set(uriOf("bad"), () => 400)
  const { id_token } = await enter(browser, client)
  await leave(browser, id_token)
  await told()
  expect(posted.length).toBeGreaterThanOrEqual(5)
  const [failed] = running.failed()
  expect(failed).toMatchObject({
    reactor: "back-channel-logout",
    instance: "i1",
    error: `could not tell 1 of 1; ${client.id}: it answered with status 400`,
  })
  answers.clear()
  provider.clock.advance(30_000)
  expect(await running.retry("back-channel-logout", failed?.position ?? 0)).toBe(true)
  expect(running.failed()).toEqual([])
})

test("what was not delivered is counted for each application, until it arrives", async () => {
  await provider.addPerson("pat")
  const [good, bad] = [await listening("good"), await listening("bad")]
  const browser = browserOf(provider)
  await enter(browser, good)
  const { id_token } = await enter(browser, bad)
  answers.set(uriOf("bad"), () => 503)
  await leave(browser, id_token)
  await told()
  const [failed] = running.failed()
  const failures = noticeFailures(provider.cx(), bad.id)
  expect(failures).toEqual({
    count: 1,
    last: failed?.last,
    next: (failed?.last ?? 0) + 30_000,
    reason: "it answered with status 503",
  })
  expect(noticeFailures(provider.cx(), good.id)).toBeUndefined()
  expect(noticeFailures(provider.cx({ instance: "i2" }), bad.id)).toBeUndefined()
  answers.clear()
  const gone = until(() => noticeFailures(provider.cx(), bad.id) === undefined)
  await driveClock(gone, () => provider.clock.advance(1000))
  expect(running.failed()).toEqual([])
})

test("the reason stays, also while an application is left alone", async () => {
  await provider.addPerson("pat")
  const client = await listening("bad")
  const browser = browserOf(provider)
  const { id_token } = await enter(browser, client)
  await running.stop()
  await leave(browser, id_token)
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
  const reason = `could not tell 1 of 1; ${client.id}: it answered with status 503`
  for (let each = 0; each < 7; each++) await expect(failure()).rejects.toThrow(reason)
  expect(calls).toBe(5)
})

test("the permission for a private network goes with its own address alone", async () => {
  await provider.addPerson("pat")
  const allowing = { backChannelLogoutUri: "http://nas.lan:5000/out", isBackChannelPrivate: true }
  const [nas, other] = [await provider.addClient(allowing), await listening("other")]
  const browser = browserOf(provider)
  await enter(browser, nas)
  const { id_token } = await enter(browser, other)
  await leave(browser, id_token)
  const sent = (await told()).map(({ url, isPrivate }) => [url, isPrivate])
  expect(sent.toSorted()).toEqual([
    ["http://nas.lan:5000/out", true],
    [uriOf("other"), false],
  ])
})

test("one that does not answer is left alone after five tries, for half a minute", async () => {
  const breaker = breakerOf()
  let calls = 0
  const call = (key: string, works = false) =>
    breaker(provider.cx(), key, async () => {
      calls++
      if (!works) throw new Error("no answer")
    })
  for (let each = 0; each < 5; each++) await expect(call("bad")).rejects.toThrow("no answer")
  await expect(call("bad", true)).rejects.toThrow("left alone")
  expect(calls).toBe(5)
  await call("good", true)
  provider.clock.advance(30_000)
  await expect(call("bad")).rejects.toThrow("no answer")
  await expect(call("bad")).rejects.toThrow("left alone")
  provider.clock.advance(30_000)
  await call("bad", true)
  await expect(call("bad")).rejects.toThrow("no answer")
  await call("bad", true)
})

test("one that hangs holds up no other", async () => {
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
    const { id_token } = await enter(browser, await listening(name))
    await leave(browser, id_token)
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
  const client = await listening("one")
  const { id_token } = await enter(browser, client)
  await deactivateApplication(provider.cx(), client.appId)
  await leave(browser, id_token)
  expect(await told()).toEqual([])
})

test("a process that was stopped in between tells it when it is back", async () => {
  await provider.addPerson("pat")
  const browser = browserOf(provider)
  const { id_token } = await enter(browser, await listening("one"))
  await running.drain()
  await running.stop()
  await leave(browser, id_token)
  start()
  expect((await told()).map(({ url }) => url)).toEqual([uriOf("one")])
})

test("discovery says that it is there", async () => {
  const document = await (await provider.send("/.well-known/openid-configuration")).json()
  expect(document).toMatchObject({
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
  })
})
