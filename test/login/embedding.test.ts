import { afterEach, beforeEach, expect, test } from "vitest"
import { setSecurity } from "../../src/domain/instance/setting-change.ts"
import {
  answerOf,
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
} from "../oauth/provider.ts"

let provider: Provider
let client: NewClient
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
})
afterEach(() => provider.close())

const embed = (enableIframeEmbedding: boolean, ...allowedOrigins: string[]) =>
  setSecurity(provider.cx(), "i1", {
    enableIframeEmbedding,
    allowedOrigins,
    enableImpersonation: false,
  })

const path = () => authorizePath(client.id)

/** What browsers are told of frames, and to whom they bring the cookie. */
async function told() {
  const { response } = await browserOf(provider).go(path())
  const policy = response.headers.get("content-security-policy") ?? ""
  const first = await provider.send(path())
  return {
    ancestors: /frame-ancestors ([^;]*)/.exec(policy)?.[1],
    older: response.headers.get("x-frame-options"),
    site: /SameSite=(\w+)/.exec(first.headers.getSetCookie()[0] ?? "")?.[1],
  }
}

const closed = { ancestors: "'none'", older: "DENY", site: "Lax" }

test("nobody embeds the pages until the instance says who", async () => {
  expect(await told()).toEqual(closed)
  await embed(false, "https://app.example.com")
  expect(await told()).toEqual(closed)
  await embed(true, "https://app.example.com", "http://localhost:3000")
  const ancestors = "https://app.example.com http://localhost:3000"
  expect(await told()).toEqual({ ancestors, older: null, site: "None" })
  await embed(false, "https://app.example.com")
  expect(await told()).toEqual(closed)
})

test("an origin can't end the policy and begin another", async () => {
  await embed(true, "https://app.example.com", "https://a;script-src-elem")
  expect((await told()).ancestors).toBe("https://app.example.com")
})

test("whoever signs in within a frame stays so, and only forms of our own count", async () => {
  await embed(true, "https://app.example.com")
  const browser = browserOf(provider)
  const end = await browser.signIn(path())
  expect(answerOf(end)).toHaveProperty("code")
  expect(answerOf(await browser.go(path()))).toHaveProperty("code")
  const thief = browserOf(provider)
  const page = await thief.go(path())
  const mine = browserOf(provider)
  await mine.go(path())
  expect((await mine.post(page, { loginName: "olga" })).response.status).toBe(403)
})

test("the cookie of a sign-in is for all sites then, and for https alone", async () => {
  await embed(true, "https://app.example.com")
  const lines: string[] = []
  const send: Provider["send"] = async (...request) => {
    const response = await provider.send(...request)
    lines.push(...response.headers.getSetCookie())
    return response
  }
  await browserOf({ ...provider, send }).signIn(path())
  expect(lines.length).toBeGreaterThan(1)
  for (const line of lines) expect(line).toMatch(/Secure.*SameSite=None|SameSite=None.*Secure/)
})
