// Wrong codes are counted by caller, so that no one can block another caller.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createCode } from "../../../src/domain/credential/code.ts"
import { checkCode } from "../../../src/domain/credential/code-check.ts"
import { requestReset } from "../../../src/domain/credential/reset.ts"
import { sentCode } from "../../../src/domain/credential/sent-code.ts"
import { codeCount } from "../../../src/domain/lockout/code-count.ts"
import { limits } from "../../../src/domain/lockout/limits.ts"
import { updateGenerator } from "../../../src/domain/policy/generator.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const id = "manager"
const browser = (address: string, userAgent = "Firefox") => ({
  ...estate.cx(),
  from: { address, userAgent },
})
const api = (userId: string, address = "192.0.2.7") => ({
  ...browser(address),
  caller: { kind: "user", userId, orgId: "org1", clientId: "" } as const,
})

type Caller = ReturnType<typeof browser> | ReturnType<typeof api>

const guessCode = (cx: Caller, input = "AAAAAA", key?: string): Promise<string> =>
  checkCode(cx, id, { of: "password", given: input, key }).catch((fault) => fault.id)

async function exhaustGuesses(cx: Caller): Promise<void> {
  for (let count = 0; count < limits.wrongCodesOfCaller.max; count++)
    expect(await guessCode(cx)).toBe("wrong")
  expect(await guessCode(cx)).toBe("user.too_many_codes")
}

async function send(): Promise<{ readonly plain: string; readonly key: string }> {
  const code = createCode(estate.cx(), id, { of: "password", returned: false })
  await requestReset(estate.cx(), id, { code, channel: "email" })
  const sent = sentCode(estate.cx(), id, "password")
  if (!sent) throw new Error("no code was sent")
  return sent
}

describe("wrong codes of an anonymous caller", () => {
  test("block neither another address or browser nor a service account", async () => {
    const { plain } = await send()
    await exhaustGuesses(browser("203.0.113.7"))
    expect(await guessCode(browser("203.0.113.7"), plain)).toBe("user.too_many_codes")
    expect(await guessCode(browser("198.51.100.7"), plain)).toBe("ok")
    expect(await guessCode(browser("203.0.113.7", "Safari"), plain)).toBe("ok")
    expect(await guessCode(api("service-1"), plain)).toBe("ok")
  })

  test("are counted by user for signed-in users, whatever their address, and separately from others", async () => {
    const { plain } = await send()
    await exhaustGuesses(api("nobody", "203.0.113.7"))
    expect(await guessCode(api("nobody", "198.51.100.7"), plain)).toBe("user.too_many_codes")
    expect(await guessCode(api("owner"), plain)).toBe("ok")
  })

  test("on the login page of a service account do not block the user there", async () => {
    await createUser(estate.cx(), "login-page", {
      kind: "machine",
      orgId: "org1",
      userName: "login-page",
      accessTokenType: "bearer",
      name: "Login page",
    })
    const { plain } = await send()
    for (let count = 0; count < 2 * limits.wrongCodesOfCaller.max; count++) {
      expect(await guessCode(api("login-page"))).toBe("wrong")
    }
    expect(await guessCode(api("login-page"), plain)).toBe("ok")
    for (let count = 2 * limits.wrongCodesOfCaller.max; count < limits.wrongCodes.max; count++) {
      expect(await guessCode(api("login-page"))).toBe("wrong")
    }
    expect(await guessCode(api("login-page"), plain)).toBe("user.too_many_codes")
  })

  test("of many callers block the typed code, and the link stays valid", async () => {
    const { plain, key } = await send()
    for (
      let address = 0;
      address < limits.wrongCodes.max / limits.wrongCodesOfCaller.max;
      address++
    ) {
      for (let count = 0; count < limits.wrongCodesOfCaller.max; count++) {
        expect(await guessCode(browser(`203.0.113.${address}`))).toBe("wrong")
      }
    }
    const person = browser("198.51.100.7")
    expect(await guessCode(person, plain)).toBe("user.too_many_codes")
    expect(await guessCode(person, plain, "A".repeat(key.length))).toBe("user.too_many_codes")
    expect(await guessCode(person, "AAAAAA", key)).toBe("wrong")
    expect(await guessCode(person, plain, key)).toBe("ok")
    expect(await guessCode(person, plain.toLowerCase(), key)).toBe("ok")
  })

  test("send no email", async () => {
    await send()
    const mails = async () =>
      (await estate.store.log.read(0, 500)).filter(({ type }) => type.startsWith("message."))
    const before = (await mails()).length
    await exhaustGuesses(browser("203.0.113.7"))
    expect(await mails()).toHaveLength(before)
  })
})

test("the key of a link is valid for its own code, user, and purpose only", async () => {
  const { key } = await send()
  expect(Buffer.from(key, "base64url").length * 8).toBeGreaterThanOrEqual(128)
  const next = await send()
  expect(next.key).not.toBe(key)
  await exhaustGuesses(browser("203.0.113.7"))
  expect(await guessCode(browser("203.0.113.7"), next.plain, key)).toBe("user.too_many_codes")
})

describe("codes below 28 bits", () => {
  const type = "password_reset_code"
  const digits = { includeUpperLetters: false, length: 8 }
  const exhaustAll = async (): Promise<number> => {
    for (let count = 0; ; count++) {
      const said = await guessCode(browser("203.0.113.7", `Rotating ${count}`))
      if (said !== "wrong") return count
    }
  }

  test("can be guessed twenty times an hour in total, whatever the browser", async () => {
    await updateGenerator(estate.cx(), type, digits)
    const { plain, key } = await send()
    expect(await exhaustAll()).toBe(limits.wrongWeakCodes.max)
    expect(await guessCode(browser("198.51.100.7"), plain)).toBe("user.too_many_codes")
    expect(await guessCode(browser("198.51.100.7"), plain, key)).toBe("ok")
  })

  test("are distinguished from stronger ones by strength, not by length", async () => {
    await updateGenerator(estate.cx(), type, { ...digits, length: 9 })
    await send()
    expect(await exhaustAll()).toBe(limits.wrongCodes.max)
  })

  test("behave the same if the user has none", async () => {
    await updateGenerator(estate.cx(), type, digits)
    expect(await exhaustAll()).toBe(limits.wrongWeakCodes.max)
  })
})

test("a code is wrong without its link after a hundred wrong ones in its lifetime", async () => {
  const day = 86_400
  const nextDay = async () => {
    estate.clock.advance(day * 1000)
    // The newest event of a log is never deleted.
    await checkCode(estate.cx(), "nobody", { of: "password", given: "AAAAAA" })
    const now = estate.clock.now()
    const limits = { position: Number.MAX_SAFE_INTEGER, stopped: () => false }
    await estate.store.prune({ now, auditedBefore: now, ...limits })
  }
  await updateGenerator(estate.cx(), "password_reset_code", { expiry: 30 * day })
  const { plain, key } = await send()
  const person = browser("198.51.100.7")
  for (let count = 0; count < limits.wrongCodesForCode.max; count++) {
    expect(await guessCode(person, plain)).toBe("ok")
    expect(await guessCode(browser(`203.0.113.${count}`))).toBe("wrong")
    if (count % 5 === 4) await nextDay()
  }
  expect(await guessCode(person, plain)).toBe("wrong")
  expect(await guessCode(person, plain, key)).toBe("ok")
  const next = await send()
  expect(await guessCode(person, next.plain)).toBe("ok")
})

describe("wrong codes with the key of the link", () => {
  test("are counted separately, for all callers and the lifetime of the code", async () => {
    const { plain, key } = await send()
    const person = browser("198.51.100.7")
    for (let count = 0; count < limits.wrongCodesWithKey.max; count++) {
      estate.clock.advance(60_000)
      const caller = count % 2 === 0 ? person : browser(`203.0.113.${count}`)
      expect(await guessCode(caller, plain, key)).toBe("ok")
      expect(await guessCode(caller, "AAAAAA", key)).toBe("wrong")
    }
    for (let count = 0; count < limits.wrongCodesOfCaller.max; count++) {
      expect(await guessCode(person, "AAAAAA", key)).toBe("wrong")
    }
    expect(await guessCode(person, plain, key)).toBe("user.too_many_codes")
    // They do not block users who enter the code.
    expect(await guessCode(browser("192.0.2.7"), plain)).toBe("ok")
    const next = await send()
    expect(await guessCode(person, next.plain, next.key)).toBe("ok")
  })
})

test("wrong codes counted by an earlier version apply to all callers", async () => {
  const { plain } = await send()
  const type = "user.human.password.code.check.failed"
  await estate.store.transact(estate.cx(), (tx) => {
    for (let count = 0; count < 10; count++) {
      tx.append(codeCount, `password/${id}`, [{ type, data: {} }])
    }
  })
  expect(await guessCode(browser("203.0.113.7"), plain)).toBe("ok")
})
