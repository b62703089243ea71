// The documents that are answered before anybody looks at who asks.
import { afterAll, beforeAll, expect, test } from "vitest"
import { setRestrictions } from "../../src/domain/quota/index.ts"
import { setDefaultLanguage } from "../../src/domain/quota/restriction.ts"
import { publishedHandler } from "../../src/oauth/index.ts"
import { openProvider, type Provider } from "./provider.ts"

const path = "/.well-known/openid-configuration"
let provider: Provider
let published: ReturnType<typeof publishedHandler>
beforeAll(async () => {
  provider = await openProvider()
  published = publishedHandler(
    () => provider.cx(),
    (_, headers) => headers.set("x-content-type-options", "nosniff"),
  )
})
afterAll(() => provider.close())

const answered = async () => {
  const response = published(new Request(`https://id.example.com${path}`))
  return response?.json()
}

test.each([
  ["the default language", () => setDefaultLanguage(provider.cx(), "de")],
  ["a restriction", () => setRestrictions(provider.cx(), "i1", { allowedLanguages: ["en"] })],
  ["its end", () => setRestrictions(provider.cx(), "i1", { allowedLanguages: [] })],
])("%s changes what is kept of discovery", async (_, change) => {
  const before = await answered()
  await change()
  const own = await (await provider.send(path)).json()
  expect(own).not.toEqual(before)
  expect(await answered()).toEqual(own)
})

test("an answer that somebody adds a header to leaves the next one as it was", () => {
  const ask = () => published(new Request(`https://id.example.com${path}`))?.headers
  ask()?.set("connection", "close")
  expect(ask()?.get("connection")).toBeNull()
  expect(ask()?.get("x-content-type-options")).toBe("nosniff")
})
