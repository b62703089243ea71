import { afterEach, beforeEach, expect, test } from "vitest"
import {
  type GeneratorType,
  generateCode,
  generatorTypes,
} from "../../../src/domain/policy/generator.ts"
import { parseBasic } from "../../../src/oauth/client/credentials.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

const app = 6
const code = { generatorType: 2, length: 8, expiry: { seconds: 600n }, includeDigits: true }
const update = (request: object) => estate.as("owner", "updateSecretGenerator", request)
const get = async (generatorType: number) =>
  (await estate.as("owner", "getSecretGenerator", { generatorType })).secretGenerator

const drawCode = (type: GeneratorType) => {
  const cx = estate.cx()
  const made = generateCode(cx, type)
  return { plain: made.plain, seconds: (made.expires - cx.clock.now()) / 1000 }
}

test("codes and secrets follow the settings of their kind", async () => {
  expect(drawCode("verify_email_code")).toMatchObject({ seconds: 3600 })
  expect(drawCode("verify_email_code").plain).toMatch(/^[A-HJ-NP-Z2-9]{6}$/)
  await update(code)
  expect(await get(2)).toMatchObject({ length: 8, includeDigits: true, includeUpperLetters: false })
  expect(drawCode("verify_email_code")).toMatchObject({ seconds: 600 })
  expect(drawCode("verify_email_code").plain).toMatch(/^[0-9]{8}$/)
  expect(drawCode("verify_phone_code").plain).toMatch(/^[A-HJ-NP-Z2-9]{6}$/)
  await update({ ...code, length: 20, includeLowerLetters: true, includeSymbols: true })
  const { plain } = drawCode("verify_email_code")
  expect(plain).toMatch(/^[a-z2-9!*.:=?@_~-]{20}$/)
  expect(plain).not.toMatch(/[ilo01]/)
})

test("every kind is listed with its effective settings, and found by number", async () => {
  const list = async (request = {}) => estate.as("owner", "listSecretGenerators", request)
  const { result, details } = await list({ query: { asc: true } })
  expect(details.totalResult).toBe(BigInt(generatorTypes.length))
  expect(result.map((each: { generatorType: number }) => each.generatorType)).toEqual([
    1, 2, 3, 4, 5, 6, 7, 8,
  ])
  const query = { query: { case: "typeQuery", value: { generatorType: app } } }
  const found = await list({ queries: [query] })
  expect(found.result).toMatchObject([{ length: 64, expiry: { seconds: 0n } }])
})

test("a secret with symbols can be sent unencoded", async () => {
  const all = { includeLowerLetters: true, includeUpperLetters: true, includeSymbols: true }
  await update({ ...all, generatorType: app, length: 128, includeDigits: true })
  for (let made = 0; made < 20; made++) {
    const { plain } = drawCode("app_secret")
    // RFC 6749 §2.3.1: values in the body or header are form-decoded.
    expect(new URLSearchParams(`secret=${plain}`).get("secret")).toBe(plain)
    expect(parseBasic(`Basic ${btoa(`id:${plain}`)}`)?.secret).toBe(plain)
    // In files of settings these begin a comment, or stand for another resource.
    expect(plain).not.toMatch(/[#;$%"'`\\]/)
  }
})

test("all characters are equally likely", () => {
  const counts = new Map<string, number>()
  for (let made = 0; made < 500; made++) {
    for (const letter of drawCode("otp_sms").plain)
      counts.set(letter, (counts.get(letter) ?? 0) + 1)
  }
  expect(counts.size).toBe(10)
  for (const count of counts.values()) expect(Math.abs(count - 400)).toBeLessThan(120)
})

test.each([
  [{ ...code, length: 4 }, "too easy to guess"],
  [{ ...code, length: 5, includeDigits: true }, "too easy to guess"],
  [{ ...code, includeDigits: false }, "include"],
  [{ ...code, length: 0 }, "length"],
  [{ ...code, length: 129 }, "length"],
  [{ ...code, expiry: { seconds: 59n } }, "expiry"],
  [{ ...code, expiry: undefined }, "expiry"],
  [{ ...code, expiry: { seconds: 2_592_001n } }, "expiry"],
  [{ ...code, generatorType: app, expiry: undefined }, "too easy to guess"],
  [{ ...code, generatorType: app, length: 64 }, "expiry"],
] as const)(
  "rejects settings that are too weak, row %#, naming %s",
  async (request, description) => {
    await expect(update(request)).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining(description),
    })
  },
)

test("rejects an unknown kind, and an update without changes", async () => {
  await expect(update({ ...code, generatorType: 0 })).rejects.toMatchObject({
    id: "request.enum_unknown",
  })
  await update(code)
  await expect(update(code)).rejects.toMatchObject({ id: "policy.unchanged" })
})

test("only instance owners change them", async () => {
  for (const person of ["manager", "nobody", "stranger"] as const) {
    const tried = async () => estate.as(person, "updateSecretGenerator", code)
    await expect(tried(), person).rejects.toMatchObject({ code: "permission_denied" })
  }
})
