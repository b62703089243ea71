// Guessing at scale: a thousand attempts of each kind, and five hundred requests of each kind that
// try to find users. The imported passwords cost almost nothing to check, so that only the
// throttling takes time.
import { createHash } from "node:crypto"
import { TOTP } from "otpauth"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createCode } from "../../src/domain/credential/code.ts"
import { checkCode } from "../../src/domain/credential/code-check.ts"
import { checkPassword } from "../../src/domain/credential/commands.ts"
import { importPassword } from "../../src/domain/credential/new-password.ts"
import { factorChecks } from "../../src/domain/factor/check.ts"
import { registerTotp, verifyTotp } from "../../src/domain/factor/totp.ts"
import { attemptsOf, passwordCheck } from "../../src/domain/lockout/attempt.ts"
import { changePolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import { addUser } from "../../src/domain/user/index.ts"
import { Fault } from "../../src/kernel/fault.ts"
import { type Allowance, createLimits, paceMs } from "../../src/kernel/limit.ts"
import { browserOf, openProvider, type Provider } from "../oauth/provider.ts"
import { driveClock } from "../support/wait.ts"

let provider: Provider
/** The number of timers that are unrelated to attempts. */
let idle: number
beforeEach(async () => {
  provider = await openProvider()
  idle = provider.clock.pending()
})
afterEach(() => provider.close())

const plain = "Correct-Horse-7"
const wrong = "Battery-Staple-8"
const sum = createHash("sha256").update(`${plain}salt`).digest("hex")
const cheap = importPassword(`$sha256salted-suffix$salt$${sum}`, false)

/** Adds users with these login names in one transaction. */
async function addPeople(names: readonly string[]): Promise<readonly string[]> {
  const cx = provider.cx()
  const ids = names.map(() => cx.ids.next())
  await provider.store.transact(cx, (tx) => {
    names.forEach((userName, at) => {
      addUser(tx, ids[at] ?? "", {
        kind: "human",
        orgId: provider.setup.orgId,
        userName,
        password: cheap,
        profile: { givenName: "Pat", familyName: "Person" },
        email: { value: `${userName}@example.org`, verified: true },
      })
    })
  })
  return ids
}

/** The result of an attempt; the fault ID if it was not checked. */
async function outcomeOf(tried: Promise<unknown>): Promise<unknown> {
  try {
    return await tried
  } catch (cause) {
    if (cause instanceof Fault) return cause.id
    throw cause
  }
}

/** Advances the clock while something waits for it, until all attempts have ended. */
const passTime = <T>(all: Promise<T>): Promise<T> =>
  driveClock(all, () => {
    if (provider.clock.pending() > idle) provider.clock.advance(paceMs / 2)
  })

/** Requests from an address without the delay of failed attempts. */
const withoutPacing =
  (allowance: Allowance): Provider["send"] =>
  (at, init) =>
    provider.send(at, init, { allowance: { ...allowance, pace: () => async () => {} } })

const countOf = (outcomes: readonly unknown[], which: unknown) =>
  outcomes.filter((outcome) => outcome === which).length
const countEvents = async (...types: string[]) =>
  (await provider.store.log.find(0, 10_000, types)).events.length
const checkFailed = "user.human.password.check.failed" as const

describe("a thousand guesses at the password of one account", () => {
  const guess = (address: string) =>
    checkPassword(provider.cx({ allowance: paceless(address) }), id, wrong)
  /** An allowance that is never exhausted, for any address. */
  const paceless = (address: string): Allowance => ({
    ...createLimits(provider.clock, Number.POSITIVE_INFINITY)({ address }),
    pace: () => async () => {},
  })
  let id: string
  beforeEach(async () => {
    ;[id = ""] = await addPeople(["vic"])
  })

  test("one after the other wait seven seconds each, and are all recorded", async () => {
    const before = Array.from({ length: 990 }, () => ({ type: checkFailed, data: {} }) as const)
    await provider.store.transact(provider.cx(), (tx) => tx.append(passwordCheck, id, before))
    const began = provider.clock.now()
    for (let count = 0; count < 10; count++) {
      expect(await passTime(outcomeOf(guess(`198.51.100.${count}`)))).toBe("wrong")
    }
    expect(provider.clock.now() - began).toBeGreaterThanOrEqual(10 * 7000)
    expect([attemptsOf(provider.cx(), id).failures, await countEvents(checkFailed)]).toEqual([
      1000, 1000,
    ])
  })

  test("concurrently are nearly all rejected, and the right one works later", async () => {
    const guesses = Array.from({ length: 1000 }, (_, at) =>
      outcomeOf(guess(`10.${at >> 8}.${at & 255}.1`)),
    )
    const outcomes = await passTime(Promise.all(guesses))
    const looked = countOf(outcomes, "wrong")
    expect(looked).toBeLessThanOrEqual(14)
    expect(countOf(outcomes, "password.too_many_tries")).toBe(1000 - looked)
    expect(await countEvents(checkFailed)).toBe(looked)
    expect(await passTime(checkPassword(provider.cx(), id, plain))).toBe("ok")
  })
})

test("a thousand accounts with one password: an address has 300 attempts", async () => {
  const names = Array.from({ length: 1000 }, (_, at) => `vic-${at}`)
  await addPeople(names)
  const allowance = createLimits(provider.clock, 1)({ address: "198.51.100.7" })
  const browser = browserOf({ send: withoutPacing(allowance) })
  const page = await browser.post(await browser.go("/ui/login"), { loginName: "x" })
  const statuses: number[] = []
  while (names.length > 0) {
    const ends = names
      .splice(0, 25)
      .map((loginName) => browser.post(page, { loginName, password: wrong }))
    statuses.push(...(await Promise.all(ends)).map(({ response }) => response.status))
  }
  expect([countOf(statuses, 422), countOf(statuses, 429)]).toEqual([300, 700])
  expect(await countEvents(checkFailed)).toBe(300)
})

describe("of a thousand guesses at a code, ten are checked", () => {
  test("of an authenticator app", async () => {
    const [id = ""] = await addPeople(["vic"])
    const cx = provider.cx()
    const { secret } = await registerTotp(cx, id, { issuer: "Home", label: "vic" })
    const codeAt = (late: number) =>
      new TOTP({ secret }).generate({ timestamp: provider.clock.now() + late * 30_000 })
    await verifyTotp(cx, id, codeAt(-1))
    const given = [-1, 0, 1].map(codeAt).includes("000000") ? "000001" : "000000"
    const guess = async () => {
      const admit = await factorChecks.totp(cx, { userId: id, given })
      return (await cx.store.transact(cx, admit)).value.isRight
    }
    const guesses = Array.from({ length: 1000 }, () => outcomeOf(guess()))
    const outcomes = await Promise.all(guesses)
    expect(countOf(outcomes, true)).toBe(0)
    expect([countOf(outcomes, false), countOf(outcomes, "user.too_many_factor_tries")]).toEqual([
      10, 990,
    ])
    expect(await countEvents("user.human.mfa.otp.check.failed")).toBe(10)
  })

  test("that was sent", async () => {
    const [id = ""] = await addPeople(["vic"])
    const cx = provider.cx()
    const { plain: right } = createCode(cx, id, { of: "password", returned: true })
    const given = right === "AAAAAA" ? "BBBBBB" : "AAAAAA"
    const guess = () => checkCode(cx, id, { of: "password", given })
    const outcomes = await Promise.all(Array.from({ length: 1000 }, () => outcomeOf(guess())))
    expect([countOf(outcomes, "wrong"), countOf(outcomes, "user.too_many_codes")]).toEqual([
      10, 990,
    ])
    expect(await countEvents("user.human.password.code.check.failed")).toBe(10)
  })
})

describe("five hundred requests of each kind to find users", () => {
  const names = Array.from({ length: 500 }, (_, at) => `vic-${at}`)
  const strangers = names.map((name) => `no-${name}`)
  beforeEach(async () => {
    await addPeople(names)
    const say = () => ({ allowMagicLink: true, allowRegister: true })
    await changePolicy(provider.cx(), undefined, { policy: login, apply: say })
  })

  /** The response, and the duration of the work before the delay, in ms. */
  type GuessResult = { readonly said: string; readonly worked: number }

  /** Sends both requests alternately; the delay of the response is longer than any work. */
  async function askedBoth(ask: (name: string) => Promise<string>) {
    const both = { known: [] as GuessResult[], unknown: [] as GuessResult[] }
    for (const [at, name] of names.entries()) {
      for (const [way, one] of [
        ["known", name],
        ["unknown", strangers[at] ?? ""],
      ] as const) {
        const begun = performance.now()
        const said = (await ask(one)).replaceAll(one, "NAME")
        both[way].push({ said, worked: performance.now() - begun })
      }
    }
    const half = (received: readonly GuessResult[]) =>
      received.map(({ worked }) => worked).toSorted((a, b) => a - b)[received.length / 2] ?? 0
    const [known, unknown] = [half(both.known), half(both.unknown)]
    const saying = new Set([...both.known, ...both.unknown].map(({ said }) => said))
    return { saying: [...saying], ratio: known / unknown, longest: Math.max(known, unknown) }
  }

  /** Without the entered name and the page's own tokens. */
  const bare = (text: string) =>
    text
      .replaceAll(/value="[^"]*"/g, "")
      .replaceAll(/as=[\w.%-]+/g, "")
      .replaceAll(/aria-hidden="true">[^<]*<\/span>/g, "")
  test.each([
    ["by a name", "/ui/login/loginname", {}],
    ["by a forgotten password", "/ui/login/password/forgot", {}],
  ])("%s: the same response after the same work", async (_, path, more) => {
    const free = createLimits(provider.clock, Number.POSITIVE_INFINITY)({ address: "198.51.100.7" })
    const browser = browserOf({ send: withoutPacing(free) })
    const form = await browser.go(path)
    const { saying, ratio, longest } = await askedBoth(async (loginName) => {
      const { page, response } = await browser.post(form, { loginName, ...more })
      return `${response.status} ${bare(page)}`
    })
    expect(saying).toHaveLength(1)
    expect(ratio).toBeGreaterThan(0.6)
    expect(ratio).toBeLessThan(1.6)
    // Requests for a message are answered at the interval of `pace`, which hides the rest.
    expect(longest).toBeLessThan(paceMs / 4)
  })
})
