import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { budgets, createLimits } from "../../src/kernel/limit.ts"
import { loadDiscovery, post, type Row } from "./must.ts"
import { browserOf, issuer, type NewClient, openProvider, type Provider } from "./provider.ts"

const path = "/oauth/v2/device_authorization"
const grant_type = "urn:ietf:params:oauth:grant-type:device_code"

let provider: Provider
let tv: NewClient
beforeAll(async () => {
  provider = await openProvider()
  tv = await provider.addClient({
    appType: "native",
    authMethod: "none",
    grantTypes: ["device_code"],
  })
})
afterAll(() => provider.close())

const begin = async (more = "") => {
  const response = await post(provider, path, `client_id=${tv.id}&scope=openid${more}`)
  return { response, answer: await response.json() }
}

const poll = async (fields: Readonly<Record<string, string>>) => {
  const body = new URLSearchParams({ grant_type, client_id: tv.id, ...fields }).toString()
  const response = await post(provider, "/oauth/v2/token", body)
  return { status: response.status, answer: await response.json() }
}

const rows: readonly Row[] = [
  [
    "§3.1 a repeated parameter is refused, an empty one omitted, an unknown one ignored",
    async () => {
      const twice = await begin("&scope=openid")
      expect([twice.response.status, twice.answer.error]).toEqual([400, "invalid_request"])
      const odd = await begin("&colour=blue&audience=&client_secret=")
      expect([odd.response.status, odd.answer.error]).toEqual([200, undefined])
    },
  ],
  [
    "§3.2 the answer is JSON and kept by nobody",
    async () => {
      const { headers } = (await begin()).response
      expect(headers.get("content-type")).toMatch(/^application\/json\b/)
      expect(headers.get("cache-control")).toBe("no-store")
    },
  ],
  [
    "§3.2 the answer has device_code, user_code, verification_uri and expires_in",
    async () => {
      const { answer } = await begin()
      expect(answer.device_code).toMatch(/./)
      expect(answer.user_code).toMatch(/./)
      expect(answer.verification_uri.startsWith(`${issuer}/`)).toBe(true)
      expect(answer.expires_in).toBeGreaterThan(60)
    },
  ],
  [
    "§3.4 device_code is required",
    async () => {
      const { status, answer } = await poll({})
      expect([status, answer.error]).toEqual([400, "invalid_request"])
      expect((await poll({ device_code: "" })).answer.error).toBe("invalid_request")
    },
  ],
  [
    "§4 discovery names the device endpoint",
    async () => {
      const document = await loadDiscovery(provider)
      expect(document.device_authorization_endpoint).toBe(issuer + path)
      expect(document.grant_types_supported).toContain(grant_type)
    },
  ],
  [
    "§5.1 user codes can't be guessed: tries are limited",
    async () => {
      const limits = createLimits(provider.clock, 0.1)
      const allowance = limits({ address: "198.51.100.9" })
      const guessing = browserOf({
        ...provider,
        send: (at, init) => provider.send(at, init, { allowance }),
      })
      const page = await guessing.go("/device")
      const statuses = new Set<number>()
      for (let tries = 0; tries <= budgets.guess.atOnce / 10; tries++) {
        const userCode = `BCDF-${"BCDFGHJKLMNPQRSTVWXZ"[tries % 20]}GHJ`
        statuses.add((await guessing.post(page, { userCode })).response.status)
      }
      expect([...statuses]).toEqual([422, 429])
      // After too many guesses the right code is rejected as well.
      const { user_code: userCode } = (await begin()).answer
      expect((await guessing.post(page, { userCode })).response.status).toBe(429)
    },
  ],
  [
    "§5.2 device codes can't be guessed",
    async () => {
      const [one, two] = [(await begin()).answer.device_code, (await begin()).answer.device_code]
      expect(one).not.toBe(two)
      // Its authentication tag is far longer than 128 bits.
      expect(Buffer.from(one.split(".").at(-1), "base64url").length).toBeGreaterThan(32)
      expect((await poll({ device_code: `${one.slice(0, -8)}${two.slice(-8)}` })).status).toBe(400)
    },
  ],
]

describe("RFC 8628", () => {
  test.each(rows)("%s", (_, holds) => holds())
})
