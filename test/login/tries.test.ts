import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import { createPassword, setPassword } from "../../src/domain/credential/commands.ts"
import { attemptsOf } from "../../src/domain/lockout/attempt.ts"
import { deviceOf } from "../../src/domain/session/index.ts"
import { lockUser } from "../../src/domain/user/index.ts"
import { accountOf } from "../../src/domain/user-lookup/query.ts"
import {
  answerOf,
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  password,
  type Visited,
} from "../oauth/provider.ts"
import { driveClock, until } from "../support/wait.ts"

const wrong = "Wrong-Horse-8"

let provider: Provider
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient()
})
afterAll(() => provider.close())

let people = 0
let name: string
let id: string
/** The timers of the clock while nobody tries. */
let idle: number
beforeEach(async () => {
  name = `tina-${++people}`
  id = await provider.addPerson(name)
  idle = provider.clock.pending()
})

/** A browser of its own, on the page that asks for the password. */
async function asked(loginName = name) {
  const browser = browserOf(provider)
  const page = await browser.go(authorizePath(client.id))
  // What began is written in its own time; what is counted here comes after it.
  await provider.store.log.settle()
  return { browser, page: await browser.post(page, { loginName }) }
}

type Asked = Awaited<ReturnType<typeof asked>>
const tried = ({ browser, page }: Asked, plain: string, loginName = name) =>
  browser.post(page, { loginName, password: plain })

const failures = (loginName = name) =>
  attemptsOf(provider.cx(), accountOf(provider.cx(), loginName)).failures
const fails = async (count: number, loginName = name) => {
  const at = await asked(loginName)
  for (let index = 0; index < count; index++) await tried(at, wrong, loginName)
}

const isIn = ({ path }: Visited) => path.includes("code=")
const typesSince = async (position: number) =>
  (await provider.store.log.read(position, 1000)).map(({ type }) => type)

/** Whether a try ends although no time passes: if not, it comes to wait for the clock. */
async function endsAtOnce(end: Promise<unknown>): Promise<boolean> {
  let isOver = false
  void end.then(() => {
    isOver = true
  })
  await until(() => isOver || provider.clock.pending() > idle)
  return isOver
}

test("a wrong password is answered the same; names that nobody has leave no event", async () => {
  const locked = await provider.addPerson(`locked-${name}`)
  await lockUser(provider.cx(), locked)
  for (const loginName of [name, `locked-${name}`, `nobody-${name}`]) {
    const at = await asked(loginName)
    const before = provider.store.log.durable()
    const { response } = await tried(at, wrong, loginName)
    expect([response.status, response.headers.getSetCookie()], loginName).toEqual([422, []])
    const isKnown = !loginName.startsWith("nobody")
    expect(await typesSince(before), loginName).toEqual(
      isKnown ? ["user.human.password.check.failed"] : [],
    )
    expect(failures(loginName), loginName).toBe(1)
  }
})

test("a right password waits as long as a wrong one after five that failed", async () => {
  await fails(5)
  for (const plain of [wrong, password]) {
    const end = tried(await asked(), plain)
    expect(await endsAtOnce(end)).toBe(false)
    provider.clock.advance(999)
    expect(await endsAtOnce(end)).toBe(false)
    provider.clock.advance(1)
    expect(isIn(await end)).toBe(plain === password)
  }
  expect(failures()).toBe(0)
})

test("the right one of many tries at once gets in, and no other", async () => {
  await fails(4)
  const all = await Promise.all(Array.from({ length: 6 }, () => asked()))
  const ends: Visited[] = []
  const tries = all.map(async (at, index) => {
    ends.push(await tried(at, index === 5 ? password : wrong))
  })
  await driveClock(Promise.all(tries), () => {
    // Looking at a password takes no time.
    if (provider.clock.pending() > idle) provider.clock.advance(1000)
  })
  expect(ends.filter(isIn)).toHaveLength(1)
  const refused = ends.filter(({ response }) => response.status === 429).length
  expect(refused + ends.filter(({ response }) => response.status === 422).length).toBe(5)
  // Those that ended before the right one are forgotten, those that ended after it are not.
  expect(failures()).toBeLessThanOrEqual(4 + 5 - refused)
})

test("a right password of somebody who is locked is one more that failed", async () => {
  const at = await asked()
  await lockUser(provider.cx(), id)
  const before = provider.store.log.durable()
  expect((await tried(at, password)).response.status).toBe(403)
  expect(await typesSince(before)).toEqual(["user.human.password.check.failed"])
  await fails(4)
  const end = tried(await asked(), password)
  expect(await endsAtOnce(end)).toBe(false)
  provider.clock.advance(1000)
  expect((await end).response.status).toBe(403)
})

test("where no failed try can be kept, no other is looked at, the right one neither", async () => {
  const given = await createPassword(password, { names: [], changeRequired: true })
  await setPassword(provider.cx(), id, given)
  const at = await asked()
  const full = () => Promise.reject(new Error("the disk is full"))
  vi.spyOn(provider.store.log, "append").mockImplementation(full)
  for (const plain of [wrong, password, wrong, password]) {
    await expect(tried(at, plain)).rejects.toThrow("the disk is full")
  }
  vi.restoreAllMocks()
  expect((await tried(at, password)).page).toContain("Choose a new password")
  expect(failures()).toBe(0)
  const before = provider.store.log.durable()
  expect((await tried(at, wrong)).response.status).toBe(422)
  expect(await typesSince(before)).toEqual(["user.human.password.check.failed"])
})

describe("a browser that somebody has signed in to before", () => {
  /** The device's part of a browser's cookies. */
  const deviceIn = (cookies: string) =>
    cookies.split("; ").find((each) => each.startsWith("__Host-latchkey-device=")) ?? ""

  /** Signs in, and out again; what is left is what the browser remembers. */
  async function left(loginName = name, cookies = ""): Promise<string> {
    const browser = browserOf(provider)
    browser.setCookie(cookies)
    const end = await browser.signIn(authorizePath(client.id), loginName)
    expect(isIn(end)).toBe(true)
    await browser.post(await browser.go("/oidc/v1/endsession"), {})
    const silent = await browser.go(authorizePath(client.id, { prompt: "none" }))
    expect(answerOf(silent).error).toBe("login_required")
    return deviceIn(browser.cookie())
  }

  /** Tries the right password from a browser with such a cookie. */
  async function tryWith(cookies: string, loginName = name): Promise<Visited> {
    const browser = browserOf(provider)
    browser.setCookie(cookies)
    const page = await browser.post(await browser.go(authorizePath(client.id)), { loginName })
    return tried({ browser, page }, password, loginName)
  }

  /** Whether such a try gets in, and no time had to pass for it. */
  const getsIn = async (cookies: string, loginName = name) =>
    isIn(await tryWith(cookies, loginName))

  /** Whether such a try gets in only after the delay that strangers have earned. */
  async function waits(cookies: string, loginName = name): Promise<boolean> {
    const end = tryWith(cookies, loginName)
    const isAtOnce = await endsAtOnce(end)
    provider.clock.advance(10_000)
    return !isAtOnce && isIn(await end)
  }

  test("does not wait behind the tries of strangers, also after signing out", async () => {
    const device = await left()
    await fails(5)
    expect(await getsIn(device)).toBe(true)
    expect(failures()).toBe(5)
    provider.clock.advance(14 * 60_000)
    expect(await waits("")).toBe(true)
  })

  test("is known for these accounts only, and not by what somebody made up", async () => {
    const device = await left()
    await provider.addPerson(`${name}-b`)
    await fails(5, `${name}-b`)
    expect(await waits(device, `${name}-b`)).toBe(true)
    const sealed = device.slice(device.indexOf("=") + 1)
    const made = { id: "d", users: [[id, Number.MAX_SAFE_INTEGER]] }
    const { secrets } = provider.cx()
    for (const value of [
      `${sealed.slice(0, -2)}${sealed.endsWith("AA") ? "BB" : "AA"}`,
      JSON.stringify(made),
      secrets.seal("cookie", JSON.stringify(made), "device/another-instance"),
    ]) {
      await fails(5)
      expect(await waits(`__Host-latchkey-device=${value}`)).toBe(true)
    }
    await fails(5)
    expect(await getsIn(device)).toBe(true)
  })

  test("is remembered for half a year, with the ten who came last", async () => {
    let device = await left()
    for (let person = 0; person < 9; person++) {
      await provider.addPerson(`${name}-${person}`)
      device = await left(`${name}-${person}`, device)
    }
    const about = (cookies: string, userId = id) =>
      deviceOf(provider.cx(), { secure: true, header: cookies }, userId)
    const first = about(device)
    expect(first).toEqual(expect.any(String))
    await provider.addPerson(`${name}-9`)
    const more = await left(`${name}-9`, device)
    expect([about(more), about(device)]).toEqual([undefined, first])
    provider.clock.advance(180 * 86_400_000)
    expect(about(device)).toBeUndefined()
  })

  test("is told so by a cookie that no script and no other site reads", async () => {
    const { browser, page } = await asked()
    const hidden = [...page.page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
    const fields = Object.fromEntries(hidden.map(([, key = "", value = ""]) => [key, value]))
    const answer = await provider.send("/ui/login/password", {
      method: "POST",
      headers: { cookie: browser.cookie() },
      body: new URLSearchParams({ ...fields, loginName: name, password }),
    })
    const line = answer.headers.getSetCookie().find((each) => each.includes("-device=")) ?? ""
    expect(line.split("; ").slice(1).toSorted()).toEqual(
      ["HttpOnly", "Max-Age=15552000", "Path=/", "SameSite=Lax", "Secure"].toSorted(),
    )
    expect(line).not.toContain(id)
  })
})

test("two people who post the same form at once: one gets in, and only that one", async () => {
  const { browser, page } = await asked()
  const other = await provider.addPerson(`${name}-b`)
  const before = provider.store.log.durable()
  const twin = browserOf(provider)
  twin.setCookie(browser.cookie())
  const ends = await Promise.all([
    tried({ browser, page }, password),
    tried({ browser: twin, page }, password, `${name}-b`),
  ])
  expect(ends.filter(isIn)).toHaveLength(1)
  const events = await provider.store.log.read(before, 1000)
  const added = events.filter(({ type }) => type === "session.added")
  expect(added).toHaveLength(1)
  expect(events.filter(({ type }) => type === "auth_request.code.added")).toHaveLength(1)
  const person = isIn(ends[0] ?? page) ? id : other
  expect(added[0]?.data).toMatchObject({ userId: person })
  // What the other browser has in its hand is worth nothing.
  const loser = isIn(ends[0] ?? page) ? twin : browser
  const silent = await loser.go(authorizePath(client.id, { prompt: "none" }))
  expect(answerOf(silent).error).toBe("login_required")
})
