import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { attemptsOf } from "../../src/domain/lockout/attempt.ts"
import { accountOf } from "../../src/domain/user-lookup/query.ts"
import { budgets, type Limits, limitsOf } from "../../src/kernel/limit.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  type Visited,
} from "../oauth/provider.ts"
import { driveClock } from "../support/wait.ts"

let provider: Provider
let client: NewClient
let limits: Limits
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  // A tenth of the usual: 30 requests and 30 guesses at once.
  limits = limitsOf(provider.clock, 0.1)
})
afterEach(() => provider.close())

const few = budgets.request.atOnce / 10
const path = (changes = {}) => authorizePath(client.id, changes)

/** The provider as it is seen from an address. */
const seenFrom = (address: string): Provider => ({
  ...provider,
  send: (at, init) => provider.send(at, init, { allowance: limits({ address }) }),
})

const home = "198.51.100.7"
const elsewhere = "198.51.100.8"

async function spendAll(address: string): Promise<void> {
  const { send } = seenFrom(address)
  for (let count = 0; count < few; count++) expect((await send(path())).status).toBe(303)
}

describe("requests to sign in that nobody ends", () => {
  test("are limited by address, on a page that says when to come again", async () => {
    await spendAll(home)
    const before = provider.store.log.writes()
    const refused = await seenFrom(home).send(path(), { headers: { accept: "text/html" } })
    expect(refused.status).toBe(429)
    expect(refused.headers.get("retry-after")).toBe("1")
    expect(await refused.text()).toContain("Too many attempts")
    expect(provider.store.log.writes()).toBe(before)
    expect((await seenFrom(elsewhere).send(path())).status).toBe(303)
    provider.clock.advance(1000)
    expect((await seenFrom(home).send(path())).status).toBe(303)
  })

  test("are limited by POST, too, which leads to the same GET", async () => {
    await spendAll(home)
    const body = new URL(path(), "https://id.example.com").searchParams
    const posted = await seenFrom(home).send("/oauth/v2/authorize", { method: "POST", body })
    const next = posted.headers.get("location") ?? ""
    expect((await seenFrom(home).send(next)).status).toBe(429)
  })

  test("are counted for all the addresses of one IPv6 network together", async () => {
    for (let count = 0; count < few; count++) {
      await seenFrom(`2001:db8:1:2::${count}`).send(path())
    }
    expect((await seenFrom("2001:db8:1:2:ffff::1").send(path())).status).toBe(429)
    expect((await seenFrom("2001:db8:1:3::1").send(path())).status).toBe(303)
  })
})

describe("a team behind one address", () => {
  test("signs in as often as it likes: what ends well costs nothing", async () => {
    const team = seenFrom(home)
    for (let person = 0; person < few + 5; person++) {
      const end = await browserOf(team).signIn(path())
      expect(answerOf(end), String(person)).toHaveProperty("code")
    }
  })

  test("comes back with its sessions and asks silently, although the budget is spent", async () => {
    const browser = browserOf(seenFrom(home))
    await browser.signIn(path())
    await spendAll(home)
    for (let count = 0; count < few + 5; count++) {
      expect(answerOf(await browser.go(path()))).toHaveProperty("code")
    }
    const silent = await browserOf(seenFrom(home)).go(path({ prompt: "none" }))
    expect(answerOf(silent).error).toBe("login_required")
  })
})

/** The status of each page; what failed is told a little later. */
async function paced(pages: readonly Promise<Visited>[]): Promise<readonly number[]> {
  const all = await driveClock(Promise.all(pages), () => provider.clock.advance(1), {
    intervalMs: 1,
  })
  return all.map(({ response }) => response.status)
}

describe("guesses at passwords", () => {
  test("of many accounts are limited by address, and not counted beyond", async () => {
    const first = browserOf(seenFrom(home))
    const page = await first.post(await first.go(path()), { loginName: "x" })
    const guesses = Array.from({ length: few }, (_, guess) =>
      first.post(page, { loginName: `guess-${guess}`, password: "Wrong-Horse-7" }),
    )
    expect(await paced(guesses)).toEqual(guesses.map(() => 422))
    const late = await first.post(page, { loginName: "olga", password: "Correct-Horse-7" })
    expect(late.response.status).toBe(429)
    expect(Number(late.response.headers.get("retry-after"))).toBeGreaterThan(5)
    expect(late.page).toContain("Too many attempts. Wait 1 min, then try again.")
    const cx = provider.cx()
    expect(attemptsOf(cx, accountOf(cx, "olga")).failures).toBe(0)
    expect(answerOf(await browserOf(seenFrom(elsewhere)).signIn(path()))).toHaveProperty("code")
    provider.clock.advance(10_000)
    const again = await first.post(late, { loginName: "olga", password: "Correct-Horse-7" })
    expect(answerOf(again)).toHaveProperty("code")
  })
})

describe("clients that can't prove themselves", () => {
  test("are limited by address, and clients that can are not", async () => {
    const { send } = seenFrom(home)
    const wrong = { grant_type: "authorization_code", client_id: client.id, client_secret: "no" }
    const post = (fields: Record<string, string>) =>
      send("/oauth/v2/token", { method: "POST", body: new URLSearchParams(fields) })
    for (let count = 0; count < few; count++) expect((await post(wrong)).status).toBe(401)
    const refused = await post(wrong)
    expect(refused.status).toBe(429)
    expect(refused.headers.get("retry-after")).toBe("1")
    expect(await refused.json()).toMatchObject({ error: "temporarily_unavailable" })
    const { code = "" } = answerOf(await browserOf(seenFrom(home)).signIn(path()))
    const fields = codeFields(code)
    const right = await askToken(seenFrom(home), fields, `${client.id}:${client.secret}`)
    expect(right.status).toBe(200)
  })

  test("are the only ones: a wrong code of a proven client costs nothing", async () => {
    const basic = `${client.id}:${client.secret}`
    for (let count = 0; count < few + 5; count++) {
      const { answer } = await askToken(seenFrom(home), codeFields("no-code"), basic)
      expect(answer.error).toBe("invalid_grant")
    }
  })
})
