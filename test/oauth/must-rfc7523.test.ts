import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Row } from "./must.ts"
import { openProvider, type Provider, sendTokenRequest } from "./provider.ts"
import { addMachine, jwtBearer, type Machine } from "./service-account.ts"

let provider: Provider
let machine: Machine
beforeAll(async () => {
  provider = await openProvider()
  machine = await addMachine(provider)
})
afterAll(() => provider.close())

const ask = async (changes = {}, scope = "openid") =>
  sendTokenRequest(provider, await machine.fields(changes, scope))

const expectRejected = async (changes: object) => {
  const { status, answer } = await ask(changes)
  expect([status, answer.error], JSON.stringify(changes)).toEqual([400, "invalid_grant"])
}

const now = () => Math.floor(provider.clock.now() / 1000)

const frameworkRows: readonly Row[] = [
  [
    "§4.1 the assertion is required and in the parameter assertion",
    async () => {
      const none = await sendTokenRequest(provider, { grant_type: jwtBearer, scope: "openid" })
      expect([none.status, none.answer.error]).toEqual([400, "invalid_request"])
      const assertion = await machine.assertion()
      const elsewhere = { grant_type: jwtBearer, scope: "openid", client_assertion: assertion }
      expect((await sendTokenRequest(provider, elsewhere)).status).not.toBe(200)
    },
  ],
]

const profileRows: readonly Row[] = [
  [
    "§2.1 scope tells what the token may do, and no more is granted",
    async () => {
      expect((await ask({}, "openid")).answer.scope).toBe("openid")
      expect((await ask({}, "openid email dragons")).answer.scope).toBe("openid email")
      expect((await ask({}, "dragons")).answer.scope ?? "").toBe("")
    },
  ],
  ["§3 (1) an assertion without iss is refused", () => expectRejected({ iss: undefined })],
  ["§3 (2) an assertion without sub is refused", () => expectRejected({ sub: undefined })],
  [
    "§3 (5) an assertion is refused before its nbf",
    async () => {
      await expectRejected({ nbf: now() + 60 })
      expect((await ask({ nbf: now() })).status).toBe(200)
      // FAPI 2.0 Security Profile §5.3.2.1.
      const ahead = { nbf: now() + 10, iat: now() + 10, exp: now() + 3610 }
      expect((await ask(ahead)).status).toBe(200)
    },
  ],
  [
    "§3 (6) an assertion that was issued too long ago is refused",
    async () => {
      await expectRejected({ iat: now() - 3602, exp: now() + 300 })
      expect((await ask({ iat: now() - 3600, exp: now() + 300 })).status).toBe(200)
      await expectRejected({ iat: now() + 120, exp: now() + 300 })
    },
  ],
  [
    "§3 (8) other claims are no obstacle",
    async () => {
      const others = { colour: "blue", act: { sub: "x" }, roles: ["owner"], scope: "email" }
      const { status, answer } = await ask(others)
      expect([status, answer.scope]).toEqual([200, "openid"])
    },
  ],
]

describe("RFC 7521", () => {
  test.each(frameworkRows)("%s", (_, holds) => holds())
})

describe("RFC 7523", () => {
  test.each(profileRows)("%s", (_, holds) => holds())

  const times = ["NaN", "1e9", "", null, [1], {}, true].map((value) => ({ value }))
  test.each(times)("§3 (4) exp $value is not a time", async ({ value }) => {
    await expectRejected({ exp: value })
  })
})
