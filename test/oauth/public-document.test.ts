// The documents that are returned without authentication.
import { afterAll, beforeAll, expect, test } from "vitest"
import { setRestrictions } from "../../src/domain/quota/index.ts"
import { setDefaultLanguage } from "../../src/domain/quota/restriction.ts"
import { publicDocumentHandler } from "../../src/oauth/index.ts"
import { openProvider, type Provider } from "./provider.ts"

const path = "/.well-known/openid-configuration"
let provider: Provider
let published: ReturnType<typeof publicDocumentHandler>
beforeAll(async () => {
  provider = await openProvider()
  published = publicDocumentHandler(
    () => provider.cx(),
    (_, headers) => headers.set("x-content-type-options", "nosniff"),
  )
})
afterAll(() => provider.close())

const loadDocument = async () => {
  const response = published(new Request(`https://id.example.com${path}`))
  return response?.json()
}

test.each([
  ["the default language", () => setDefaultLanguage(provider.cx(), "de")],
  ["a restriction", () => setRestrictions(provider.cx(), "i1", { allowedLanguages: ["en"] })],
  ["its end", () => setRestrictions(provider.cx(), "i1", { allowedLanguages: [] })],
])("%s updates the cached discovery document", async (_, change) => {
  const before = await loadDocument()
  await change()
  const own = await (await provider.send(path)).json()
  expect(own).not.toEqual(before)
  expect(await loadDocument()).toEqual(own)
})

test("changing the headers of a response does not affect the next one", () => {
  const ask = () => published(new Request(`https://id.example.com${path}`))?.headers
  ask()?.set("connection", "close")
  expect(ask()?.get("connection")).toBeNull()
  expect(ask()?.get("x-content-type-options")).toBe("nosniff")
})
