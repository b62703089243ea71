import { afterEach, beforeEach, expect, test } from "vitest"
import { changeOidcSettings } from "../../src/domain/instance/index.ts"
import { openProvider, type Provider } from "./provider.ts"

let provider: Provider
beforeEach(async () => {
  provider = await openProvider()
})
afterEach(() => provider.close())

const path = "/.well-known/oauth-authorization-server"
const setServerMetadata = (serverMetadata: boolean) => {
  const input = { settings: { serverMetadata }, isSigning: () => true }
  return changeOidcSettings(provider.cx(), "i1", input)
}

test("interface §4.3: an authorization server metadata endpoint does not exist", async () => {
  for (const method of ["GET", "POST", "OPTIONS", "HEAD"]) {
    expect((await provider.send(path, { method })).status, method).toBe(404)
  }
})

test("RFC 8414 §3: one setting enables it; it matches discovery", async () => {
  await setServerMetadata(true)
  const shown = await provider.send(path)
  expect(shown.status).toBe(200)
  expect(shown.headers.get("content-type")).toBe("application/json")
  const discovery = await provider.send("/.well-known/openid-configuration")
  expect(await shown.json()).toEqual(await discovery.json())
  expect((await provider.send(path, { method: "POST" })).status).toBe(405)
  await setServerMetadata(false)
  expect((await provider.send(path)).status).toBe(404)
})
