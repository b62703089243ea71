import { afterEach, beforeEach, expect, test } from "vitest"
import { setSecurity } from "../../src/domain/instance/setting-change.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
} from "../oauth/provider.ts"

let provider: Provider
let client: NewClient
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
})
afterEach(() => provider.close())

const allowEmbedding = (enableIframeEmbedding: boolean, ...allowedOrigins: string[]) =>
  setSecurity(provider.cx(), "i1", {
    enableIframeEmbedding,
    allowedOrigins,
    enableImpersonation: false,
  })

const path = () => authorizePath(client.id)

/** The frame headers of the response, and the SameSite attribute of the cookie. */
async function readHeaders() {
  const { response } = await browserOf(provider).go(path())
  const policy = response.headers.get("content-security-policy") ?? ""
  const first = await provider.send(path())
  return {
    ancestors: /frame-ancestors ([^;]*)/.exec(policy)?.[1],
    older: response.headers.get("x-frame-options"),
    site: /SameSite=(\w+)/.exec(first.headers.getSetCookie()[0] ?? "")?.[1],
  }
}

const closedHeaders = { ancestors: "'none'", older: "DENY", site: "Lax" }

test("pages can't be embedded until the instance allows it", async () => {
  expect(await readHeaders()).toEqual(closedHeaders)
  await allowEmbedding(false, "https://app.example.com")
  expect(await readHeaders()).toEqual(closedHeaders)
  await allowEmbedding(true, "https://app.example.com", "http://localhost:3000")
  const ancestors = "https://app.example.com http://localhost:3000"
  expect(await readHeaders()).toEqual({ ancestors, older: null, site: "None" })
  await allowEmbedding(false, "https://app.example.com")
  expect(await readHeaders()).toEqual(closedHeaders)
})

test("an origin can't terminate the policy and start another", async () => {
  await allowEmbedding(true, "https://app.example.com", "https://a;script-src-elem")
  expect((await readHeaders()).ancestors).toBe("https://app.example.com")
})

test("a sign-in within a frame persists, and only our own forms are accepted", async () => {
  await allowEmbedding(true, "https://app.example.com")
  const browser = browserOf(provider)
  const end = await browser.signIn(path())
  expect(responseOf(end)).toHaveProperty("code")
  expect(responseOf(await browser.go(path()))).toHaveProperty("code")
  const thief = browserOf(provider)
  const page = await thief.go(path())
  const mine = browserOf(provider)
  await mine.go(path())
  expect((await mine.post(page, { loginName: "olga" })).response.status).toBe(403)
})

test("the sign-in cookie is then SameSite=None and Secure", async () => {
  await allowEmbedding(true, "https://app.example.com")
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
