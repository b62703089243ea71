import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { attemptsOf } from "../../src/domain/lockout/attempt.ts"
import { accountOf } from "../../src/domain/user-lookup/query.ts"
import { budgets, createLimits, type Limits } from "../../src/kernel/limit.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
  type VisitedPage,
} from "../oauth/provider.ts"
import { driveClock } from "../support/wait.ts"

let provider: Provider
let client: NewClient
let limits: Limits
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  // A tenth of the usual limits: 30 requests and 30 guesses at once.
  limits = createLimits(provider.clock, 0.1)
})
afterEach(() => provider.close())

const requestLimit = budgets.request.atOnce / 10
const path = (changes = {}) => authorizePath(client.id, changes)

/** The provider for requests from an address. */
const fromAddress = (address: string): Provider => ({
  ...provider,
  send: (at, init) => provider.send(at, init, { allowance: limits({ address }) }),
})

const homeAddress = "198.51.100.7"
const otherAddress = "198.51.100.8"

async function spendAll(address: string): Promise<void> {
  const { send } = fromAddress(address)
  for (let count = 0; count < requestLimit; count++) expect((await send(path())).status).toBe(303)
}

describe("authorization requests without a sign-in", () => {
  test("are limited by address, on a page that says when to retry", async () => {
    await spendAll(homeAddress)
    const before = provider.store.log.writes()
    const refused = await fromAddress(homeAddress).send(path(), {
      headers: { accept: "text/html" },
    })
    expect(refused.status).toBe(429)
    expect(refused.headers.get("retry-after")).toBe("1")
    expect(await refused.text()).toContain("Too many attempts")
    expect(provider.store.log.writes()).toBe(before)
    expect((await fromAddress(otherAddress).send(path())).status).toBe(303)
    provider.clock.advance(1000)
    expect((await fromAddress(homeAddress).send(path())).status).toBe(303)
  })

  test("are limited by POST as well, which redirects to the same GET", async () => {
    await spendAll(homeAddress)
    const body = new URL(path(), "https://id.example.com").searchParams
    const posted = await fromAddress(homeAddress).send("/oauth/v2/authorize", {
      method: "POST",
      body,
    })
    const next = posted.headers.get("location") ?? ""
    expect((await fromAddress(homeAddress).send(next)).status).toBe(429)
  })

  test("are counted for an IPv6 network as a whole", async () => {
    for (let count = 0; count < requestLimit; count++) {
      await fromAddress(`2001:db8:1:2::${count}`).send(path())
    }
    expect((await fromAddress("2001:db8:1:2:ffff::1").send(path())).status).toBe(429)
    expect((await fromAddress("2001:db8:1:3::1").send(path())).status).toBe(303)
  })
})

describe("a team that shares one address", () => {
  test("can sign in without limit: successful sign-ins cost nothing", async () => {
    const team = fromAddress(homeAddress)
    for (let person = 0; person < requestLimit + 5; person++) {
      const end = await browserOf(team).signIn(path())
      expect(responseOf(end), String(person)).toHaveProperty("code")
    }
  })

  test("can use its sessions and prompt=none even when the limit is reached", async () => {
    const browser = browserOf(fromAddress(homeAddress))
    await browser.signIn(path())
    await spendAll(homeAddress)
    for (let count = 0; count < requestLimit + 5; count++) {
      expect(responseOf(await browser.go(path()))).toHaveProperty("code")
    }
    const silent = await browserOf(fromAddress(homeAddress)).go(path({ prompt: "none" }))
    expect(responseOf(silent).error).toBe("login_required")
  })
})

/** The status of each page; failures are delayed. */
async function statusesOf(pages: readonly Promise<VisitedPage>[]): Promise<readonly number[]> {
  const all = await driveClock(Promise.all(pages), () => provider.clock.advance(1), {
    intervalMs: 1,
  })
  return all.map(({ response }) => response.status)
}

describe("guesses at passwords", () => {
  test("of many accounts are limited by address, and not recorded beyond the limit", async () => {
    const first = browserOf(fromAddress(homeAddress))
    const page = await first.post(await first.go(path()), { loginName: "x" })
    const guesses = Array.from({ length: requestLimit }, (_, guess) =>
      first.post(page, { loginName: `guess-${guess}`, password: "Wrong-Horse-7" }),
    )
    expect(await statusesOf(guesses)).toEqual(guesses.map(() => 422))
    const late = await first.post(page, { loginName: "olga", password: "Correct-Horse-7" })
    expect(late.response.status).toBe(429)
    expect(Number(late.response.headers.get("retry-after"))).toBeGreaterThan(5)
    expect(late.page).toContain("Too many attempts. Wait 1 min, then try again.")
    const cx = provider.cx()
    expect(attemptsOf(cx, accountOf(cx, "olga")).failures).toBe(0)
    expect(responseOf(await browserOf(fromAddress(otherAddress)).signIn(path()))).toHaveProperty(
      "code",
    )
    provider.clock.advance(10_000)
    const again = await first.post(late, { loginName: "olga", password: "Correct-Horse-7" })
    expect(responseOf(again)).toHaveProperty("code")
  })
})

describe("clients that fail to authenticate", () => {
  test("are limited by address, and authenticated clients are not", async () => {
    const { send } = fromAddress(homeAddress)
    const wrong = { grant_type: "authorization_code", client_id: client.id, client_secret: "no" }
    const post = (fields: Record<string, string>) =>
      send("/oauth/v2/token", { method: "POST", body: new URLSearchParams(fields) })
    for (let count = 0; count < requestLimit; count++) expect((await post(wrong)).status).toBe(401)
    const refused = await post(wrong)
    expect(refused.status).toBe(429)
    expect(refused.headers.get("retry-after")).toBe("1")
    expect(await refused.json()).toMatchObject({ error: "temporarily_unavailable" })
    const { code = "" } = responseOf(await browserOf(fromAddress(homeAddress)).signIn(path()))
    const fields = codeFields(code)
    const right = await sendTokenRequest(
      fromAddress(homeAddress),
      fields,
      `${client.id}:${client.secret}`,
    )
    expect(right.status).toBe(200)
  })

  test("are the only ones: a wrong code of an authenticated client costs nothing", async () => {
    const basic = `${client.id}:${client.secret}`
    for (let count = 0; count < requestLimit + 5; count++) {
      const { answer } = await sendTokenRequest(
        fromAddress(homeAddress),
        codeFields("no-code"),
        basic,
      )
      expect(answer.error).toBe("invalid_grant")
    }
  })
})
