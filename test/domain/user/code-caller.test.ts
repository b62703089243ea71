// Wrong codes are counted of who tries them: nobody's failures keep another caller out.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { codeCount, codeLimits } from "../../../src/domain/user/credential/code-count.ts"
import { requestReset } from "../../../src/domain/user/credential/reset.ts"
import { sentCode } from "../../../src/domain/user/credential/sent-code.ts"
import { checkCode, createCode } from "../../../src/domain/user/index.ts"
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
  for (let count = 0; count < codeLimits.failed; count++) expect(await guess(cx)).toBe("wrong")
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

  test("are counted of a service account whatever its address, and apart from others", async () => {
    const { plain } = await send()
    await exhaust(api("service-1", "203.0.113.7"))
    expect(await guess(api("service-1", "198.51.100.7"), plain)).toBe("user.too_many_codes")
    expect(await guess(api("service-2"), plain)).toBe("ok")
  })

  test("of many callers end the typed code, and the link stays valid", async () => {
    const { plain, key } = await send()
    for (let address = 0; address < codeLimits.failedByAll / codeLimits.failed; address++) {
      for (let count = 0; count < codeLimits.failed; count++) {
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

describe("wrong codes with the key of the link", () => {
  test("are counted apart, for all callers and the life of the code", async () => {
    const { plain, key } = await send()
    for (let count = 0; count < codeLimits.failedWithKey; count++) {
      estate.clock.advance(60_000)
      expect(await guess(browser(`203.0.113.${count}`), plain, key)).toBe("ok")
      expect(await guess(browser(`203.0.113.${count}`), "AAAAAA", key)).toBe("wrong")
    }
    const person = browser("198.51.100.7")
    for (let count = 0; count < codeLimits.failed; count++) {
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
