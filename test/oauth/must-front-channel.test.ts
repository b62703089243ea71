import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Row } from "./must.ts"
import { openProvider, type Provider } from "./provider.ts"

let provider: Provider
beforeAll(async () => {
  provider = await openProvider()
})
afterAll(() => provider.close())

const withPage = (uri: string) =>
  provider.addClient({ frontChannelLogout: { uri, sessionRequired: true } })

const rows: readonly Row[] = [
  [
    "§2 the address has scheme, host and port of a registered redirect URI",
    async () => {
      expect(await withPage("https://app.example.com/forget?tenant=1")).toHaveProperty("id")
      const bad = [
        "https://evil.example/forget",
        "http://app.example.com/forget",
        "/forget",
        "https://app.example.com:8443/forget",
        "https://app.example.com.evil.example/",
        "https://app.example.com@evil.example/",
        "javascript:alert(1)",
        "https://app.example.com/forget#part",
      ]
      for (const uri of bad) await expect(withPage(uri), uri).rejects.toThrow()
    },
  ],
]

describe("Front-Channel Logout", () => {
  test.each(rows)("%s", (_, holds) => holds())
})
