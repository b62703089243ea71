// Wrong codes are counted of who tries them: nobody's failures keep another caller out.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createCode } from "../../../src/domain/credential/code.ts"
import { checkCode } from "../../../src/domain/credential/code-check.ts"
import { requestReset } from "../../../src/domain/credential/reset.ts"
import { sentCode } from "../../../src/domain/credential/sent-code.ts"
import { codeCount } from "../../../src/domain/lockout/code-count.ts"
import { limits } from "../../../src/domain/lockout/limits.ts"
import { changeGenerator } from "../../../src/domain/policy/generator.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { type Estate, openEstate } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
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

const guess = (cx: Caller, given = "AAAAAA", key?: string): Promise<string> =>
  checkCode(cx, id, { of: "password", given, key }).catch((fault) => fault.id)

async function exhaust(cx: Caller): Promise<void> {
  for (let count = 0; count < limits.wrongCodesOfCaller.max; count++)
    expect(await guess(cx)).toBe("wrong")
  expect(await guess(cx)).toBe("user.too_many_codes")
}

async function send(): Promise<{ readonly plain: string; readonly key: string }> {
  const code = createCode(estate.cx(), id, { of: "password", returned: false })
  await requestReset(estate.cx(), id, { code, channel: "email" })
  const sent = sentCode(estate.cx(), id, "password")
  if (!sent) throw new Error("no code was sent")
  return sent
}

describe("wrong codes of a stranger", () => {
  test("keep out neither another address nor another browser, nor a service account", async () => {
    const { plain } = await send()
    await exhaust(browser("203.0.113.7"))
    expect(await guess(browser("203.0.113.7"), plain)).toBe("user.too_many_codes")
    expect(await guess(browser("198.51.100.7"), plain)).toBe("ok")
    expect(await guess(browser("203.0.113.7", "Safari"), plain)).toBe("ok")
    expect(await guess(api("service-1"), plain)).toBe("ok")
  })

  test("are counted of a person whatever their address, and apart from others", async () => {
    const { plain } = await send()
    await exhaust(api("nobody", "203.0.113.7"))
    expect(await guess(api("nobody", "198.51.100.7"), plain)).toBe("user.too_many_codes")
    expect(await guess(api("owner"), plain)).toBe("ok")
  })

  test("on the login page of a service account do not keep the user out there", async () => {
    await createUser(estate.cx(), "login-page", {
      kind: "machine",
      orgId: "org1",
      userName: "login-page",
      accessTokenType: "bearer",
      name: "Login page",
    })
    const { plain } = await send()
    for (let count = 0; count < 2 * limits.wrongCodesOfCaller.max; count++) {
      expect(await guess(api("login-page"))).toBe("wrong")
    }
    expect(await guess(api("login-page"), plain)).toBe("ok")
    for (let count = 2 * limits.wrongCodesOfCaller.max; count < limits.wrongCodes.max; count++) {
      expect(await guess(api("login-page"))).toBe("wrong")
    }
    expect(await guess(api("login-page"), plain)).toBe("user.too_many_codes")
  })

  test("of many callers end the typed code, and the link stays valid", async () => {
    const { plain, key } = await send()
    for (
      let address = 0;
      address < limits.wrongCodes.max / limits.wrongCodesOfCaller.max;
      address++
    ) {
      for (let count = 0; count < limits.wrongCodesOfCaller.max; count++) {
        expect(await guess(browser(`203.0.113.${address}`))).toBe("wrong")
      }
    }
    const person = browser("198.51.100.7")
    expect(await guess(person, plain)).toBe("user.too_many_codes")
    expect(await guess(person, plain, "A".repeat(key.length))).toBe("user.too_many_codes")
    expect(await guess(person, "AAAAAA", key)).toBe("wrong")
    expect(await guess(person, plain, key)).toBe("ok")
    expect(await guess(person, plain.toLowerCase(), key)).toBe("ok")
  })

  test("send no mail", async () => {
    await send()
    const mails = async () =>
      (await estate.store.log.read(0, 500)).filter(({ type }) => type.startsWith("message."))
    const before = (await mails()).length
    await exhaust(browser("203.0.113.7"))
    expect(await mails()).toHaveLength(before)
  })
})

test("the key of a link is that of its own code, user and purpose", async () => {
  const { key } = await send()
  expect(Buffer.from(key, "base64url").length * 8).toBeGreaterThanOrEqual(128)
  const next = await send()
  expect(next.key).not.toBe(key)
  await exhaust(browser("203.0.113.7"))
  expect(await guess(browser("203.0.113.7"), next.plain, key)).toBe("user.too_many_codes")
})

describe("codes below 28 bits", () => {
  const type = "password_reset_code"
  const digits = { includeUpperLetters: false, length: 8 }
  const exhaustAll = async (): Promise<number> => {
    for (let count = 0; ; count++) {
      const said = await guess(browser("203.0.113.7", `Rotating ${count}`))
      if (said !== "wrong") return count
    }
  }

  test("are guessed twenty times an hour by all, whatever the browser is called", async () => {
    await changeGenerator(estate.cx(), type, digits)
    const { plain, key } = await send()
    expect(await exhaustAll()).toBe(limits.wrongWeakCodes.max)
    expect(await guess(browser("198.51.100.7"), plain)).toBe("user.too_many_codes")
    expect(await guess(browser("198.51.100.7"), plain, key)).toBe("ok")
  })

  test("are told from stronger ones by their strength, not by their length", async () => {
    await changeGenerator(estate.cx(), type, { ...digits, length: 9 })
    await send()
    expect(await exhaustAll()).toBe(limits.wrongCodes.max)
  })

  test("do not differ where the user has none", async () => {
    await changeGenerator(estate.cx(), type, digits)
    expect(await exhaustAll()).toBe(limits.wrongWeakCodes.max)
  })
})

test("a code is wrong without its link after a hundred wrong ones over its life", async () => {
  const day = 86_400
  const nextDay = async () => {
    estate.clock.advance(day * 1000)
    // The newest event of a log is never dropped.
    await checkCode(estate.cx(), "nobody", { of: "password", given: "AAAAAA" })
    const now = estate.clock.now()
    const limits = { position: Number.MAX_SAFE_INTEGER, stopped: () => false }
    await estate.store.prune({ now, auditedBefore: now, ...limits })
  }
  await changeGenerator(estate.cx(), "password_reset_code", { expiry: 30 * day })
  const { plain, key } = await send()
  const person = browser("198.51.100.7")
  for (let count = 0; count < limits.wrongCodesForCode.max; count++) {
    expect(await guess(person, plain)).toBe("ok")
    expect(await guess(browser(`203.0.113.${count}`))).toBe("wrong")
    if (count % 5 === 4) await nextDay()
  }
  expect(await guess(person, plain)).toBe("wrong")
  expect(await guess(person, plain, key)).toBe("ok")
  const next = await send()
  expect(await guess(person, next.plain)).toBe("ok")
})

describe("wrong codes with the key of the link", () => {
  test("are counted apart, for all callers and the life of the code", async () => {
    const { plain, key } = await send()
    const person = browser("198.51.100.7")
    for (let count = 0; count < limits.wrongCodesWithKey.max; count++) {
      estate.clock.advance(60_000)
      const caller = count % 2 === 0 ? person : browser(`203.0.113.${count}`)
      expect(await guess(caller, plain, key)).toBe("ok")
      expect(await guess(caller, "AAAAAA", key)).toBe("wrong")
    }
    for (let count = 0; count < limits.wrongCodesOfCaller.max; count++) {
      expect(await guess(person, "AAAAAA", key)).toBe("wrong")
    }
    expect(await guess(person, plain, key)).toBe("user.too_many_codes")
    // They have kept nobody out who types the code.
    expect(await guess(browser("192.0.2.7"), plain)).toBe("ok")
    const next = await send()
    expect(await guess(person, next.plain, next.key)).toBe("ok")
  })
})

test("wrong codes that an earlier version has counted are counted of all", async () => {
  const { plain } = await send()
  const type = "user.human.password.code.check.failed"
  await estate.store.transact(estate.cx(), (tx) => {
    for (let count = 0; count < 10; count++) {
      tx.append(codeCount, `password/${id}`, [{ type, data: {} }])
    }
  })
  expect(await guess(browser("203.0.113.7"), plain)).toBe("ok")
})
