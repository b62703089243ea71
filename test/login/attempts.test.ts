import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import { createPassword, setPassword } from "../../src/domain/credential/commands.ts"
import { attemptsOf } from "../../src/domain/lockout/attempt.ts"
import { findDeviceId } from "../../src/domain/session/index.ts"
import { lockUser } from "../../src/domain/user/index.ts"
import { accountOf } from "../../src/domain/user-lookup/query.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  password,
  responseOf,
  type VisitedPage,
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

let userCount = 0
let name: string
let id: string
/** The number of the clock's timers without attempts. */
let idle: number
beforeEach(async () => {
  name = `tina-${++userCount}`
  id = await provider.addPerson(name)
  idle = provider.clock.pending()
})

/** A new browser on the password page. */
async function openPasswordPage(loginName = name) {
  const browser = browserOf(provider)
  const page = await browser.go(authorizePath(client.id))
  // The start of the sign-in is written asynchronously; the counted events come after it.
  await provider.store.log.settle()
  return { browser, page: await browser.post(page, { loginName }) }
}

type PasswordPage = Awaited<ReturnType<typeof openPasswordPage>>
const tryPassword = ({ browser, page }: PasswordPage, plain: string, loginName = name) =>
  browser.post(page, { loginName, password: plain })

const countFailures = (loginName = name) =>
  attemptsOf(provider.cx(), accountOf(provider.cx(), loginName)).failures
const failAttempts = async (count: number, loginName = name) => {
  const at = await openPasswordPage(loginName)
  for (let index = 0; index < count; index++) await tryPassword(at, wrong, loginName)
}

const isSignedIn = ({ path }: VisitedPage) => path.includes("code=")
const typesSince = async (position: number) =>
  (await provider.store.log.read(position, 1000)).map(({ type }) => type)

/** Whether an attempt ends without the clock advancing; otherwise it waits for a timer. */
async function endsAtOnce(end: Promise<unknown>): Promise<boolean> {
  let isOver = false
  void end.then(() => {
    isOver = true
  })
  await until(() => isOver || provider.clock.pending() > idle)
  return isOver
}

test("wrong passwords get the same response; unknown names leave no event", async () => {
  const locked = await provider.addPerson(`locked-${name}`)
  await lockUser(provider.cx(), locked)
  for (const loginName of [name, `locked-${name}`, `nobody-${name}`]) {
    const at = await openPasswordPage(loginName)
    const before = provider.store.log.durable()
    const { response } = await tryPassword(at, wrong, loginName)
    expect([response.status, response.headers.getSetCookie()], loginName).toEqual([422, []])
    const isKnown = !loginName.startsWith("nobody")
    expect(await typesSince(before), loginName).toEqual(
      isKnown ? ["user.human.password.check.failed"] : [],
    )
    expect(countFailures(loginName), loginName).toBe(1)
  }
})

test("the right password waits as long as a wrong one after five failures", async () => {
  await failAttempts(5)
  for (const plain of [wrong, password]) {
    const end = tryPassword(await openPasswordPage(), plain)
    expect(await endsAtOnce(end)).toBe(false)
    provider.clock.advance(999)
    expect(await endsAtOnce(end)).toBe(false)
    provider.clock.advance(1)
    expect(isSignedIn(await end)).toBe(plain === password)
  }
  expect(countFailures()).toBe(0)
})

test("of many concurrent attempts only the right one succeeds", async () => {
  await failAttempts(4)
  const all = await Promise.all(Array.from({ length: 6 }, () => openPasswordPage()))
  const ends: VisitedPage[] = []
  const tries = all.map(async (at, index) => {
    ends.push(await tryPassword(at, index === 5 ? password : wrong))
  })
  await driveClock(Promise.all(tries), () => {
    // Checking a password takes no clock time.
    if (provider.clock.pending() > idle) provider.clock.advance(1000)
  })
  expect(ends.filter(isSignedIn)).toHaveLength(1)
  const refused = ends.filter(({ response }) => response.status === 429).length
  expect(refused + ends.filter(({ response }) => response.status === 422).length).toBe(5)
  // Failures before the successful attempt are cleared, those after it are kept.
  expect(countFailures()).toBeLessThanOrEqual(4 + 5 - refused)
})

test("the right password of a locked user counts as a failure", async () => {
  const at = await openPasswordPage()
  await lockUser(provider.cx(), id)
  const before = provider.store.log.durable()
  expect((await tryPassword(at, password)).response.status).toBe(403)
  expect(await typesSince(before)).toEqual(["user.human.password.check.failed"])
  await failAttempts(4)
  const end = tryPassword(await openPasswordPage(), password)
  expect(await endsAtOnce(end)).toBe(false)
  provider.clock.advance(1000)
  expect((await end).response.status).toBe(403)
})

test("if failures can't be stored, no password is checked, not even the right one", async () => {
  const given = await createPassword(password, { names: [], changeRequired: true })
  await setPassword(provider.cx(), id, given)
  const at = await openPasswordPage()
  const full = () => Promise.reject(new Error("the disk is full"))
  vi.spyOn(provider.store.log, "append").mockImplementation(full)
  for (const plain of [wrong, password, wrong, password]) {
    await expect(tryPassword(at, plain)).rejects.toThrow("the disk is full")
  }
  vi.restoreAllMocks()
  expect((await tryPassword(at, password)).page).toContain("Choose a new password")
  expect(countFailures()).toBe(0)
  const before = provider.store.log.durable()
  expect((await tryPassword(at, wrong)).response.status).toBe(422)
  expect(await typesSince(before)).toEqual(["user.human.password.check.failed"])
})

describe("a browser that a user has signed in with before", () => {
  /** The device part of a browser's cookies. */
  const deviceIn = (cookies: string) =>
    cookies.split("; ").find((each) => each.startsWith("__Host-latchkey-device=")) ?? ""

  /** Signs in, and out again; returns the remaining cookies. */
  async function left(loginName = name, cookies = ""): Promise<string> {
    const browser = browserOf(provider)
    browser.setCookie(cookies)
    const end = await browser.signIn(authorizePath(client.id), loginName)
    expect(isSignedIn(end)).toBe(true)
    await browser.post(await browser.go("/oidc/v1/endsession"), {})
    const silent = await browser.go(authorizePath(client.id, { prompt: "none" }))
    expect(responseOf(silent).error).toBe("login_required")
    return deviceIn(browser.cookie())
  }

  /** Submits the right password with these cookies. */
  async function tryWith(cookies: string, loginName = name): Promise<VisitedPage> {
    const browser = browserOf(provider)
    browser.setCookie(cookies)
    const page = await browser.post(await browser.go(authorizePath(client.id)), { loginName })
    return tryPassword({ browser, page }, password, loginName)
  }

  /** Whether the attempt succeeds without delay. */
  const getsIn = async (cookies: string, loginName = name) =>
    isSignedIn(await tryWith(cookies, loginName))

  /** Whether the attempt succeeds only after the delay that others' failures caused. */
  async function waits(cookies: string, loginName = name): Promise<boolean> {
    const end = tryWith(cookies, loginName)
    const isAtOnce = await endsAtOnce(end)
    provider.clock.advance(10_000)
    return !isAtOnce && isSignedIn(await end)
  }

  test("is not delayed by the failures of others, also after signing out", async () => {
    const device = await left()
    await failAttempts(5)
    expect(await getsIn(device)).toBe(true)
    expect(countFailures()).toBe(5)
    provider.clock.advance(14 * 60_000)
    expect(await waits("")).toBe(true)
  })

  test("is known for these accounts only, and not by a forged cookie", async () => {
    const device = await left()
    await provider.addPerson(`${name}-b`)
    await failAttempts(5, `${name}-b`)
    expect(await waits(device, `${name}-b`)).toBe(true)
    const sealed = device.slice(device.indexOf("=") + 1)
    const made = { id: "d", users: [[id, Number.MAX_SAFE_INTEGER]] }
    const { secrets } = provider.cx()
    for (const value of [
      `${sealed.slice(0, -2)}${sealed.endsWith("AA") ? "BB" : "AA"}`,
      JSON.stringify(made),
      secrets.seal("cookie", JSON.stringify(made), "device/another-instance"),
    ]) {
      await failAttempts(5)
      expect(await waits(`__Host-latchkey-device=${value}`)).toBe(true)
    }
    await failAttempts(5)
    expect(await getsIn(device)).toBe(true)
  })

  test("is remembered for half a year, with the ten latest users", async () => {
    let device = await left()
    for (let person = 0; person < 9; person++) {
      await provider.addPerson(`${name}-${person}`)
      device = await left(`${name}-${person}`, device)
    }
    const about = (cookies: string, userId = id) =>
      findDeviceId(provider.cx(), { secure: true, header: cookies }, userId)
    const first = about(device)
    expect(first).toEqual(expect.any(String))
    await provider.addPerson(`${name}-9`)
    const more = await left(`${name}-9`, device)
    expect([about(more), about(device)]).toEqual([undefined, first])
    provider.clock.advance(180 * 86_400_000)
    expect(about(device)).toBeUndefined()
  })

  test("has a cookie that no script and no other site reads", async () => {
    const { browser, page } = await openPasswordPage()
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

test("of two users who post the same form concurrently only one signs in", async () => {
  const { browser, page } = await openPasswordPage()
  const other = await provider.addPerson(`${name}-b`)
  const before = provider.store.log.durable()
  const twin = browserOf(provider)
  twin.setCookie(browser.cookie())
  const ends = await Promise.all([
    tryPassword({ browser, page }, password),
    tryPassword({ browser: twin, page }, password, `${name}-b`),
  ])
  expect(ends.filter(isSignedIn)).toHaveLength(1)
  const events = await provider.store.log.read(before, 1000)
  const added = events.filter(({ type }) => type === "session.added")
  expect(added).toHaveLength(1)
  expect(events.filter(({ type }) => type === "auth_request.code.added")).toHaveLength(1)
  const person = isSignedIn(ends[0] ?? page) ? id : other
  expect(added[0]?.data).toMatchObject({ userId: person })
  // The other browser's response is invalid.
  const loser = isSignedIn(ends[0] ?? page) ? twin : browser
  const silent = await loser.go(authorizePath(client.id, { prompt: "none" }))
  expect(responseOf(silent).error).toBe("login_required")
})
