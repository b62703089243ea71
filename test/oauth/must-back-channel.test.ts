import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Row } from "./must.ts"
import { openProvider, type Provider } from "./provider.ts"

let provider: Provider
beforeAll(async () => {
  provider = await openProvider()
})
afterAll(() => provider.close())

const rows: readonly Row[] = [
  [
    "§2.2 the address is absolute and has no fragment",
    async () => {
      const bad = ["/logout", "app.example.com/logout", "https://app.example.com/out#part", "x:y"]
      for (const backChannelLogoutUri of [...bad, "javascript:alert(1)", "file:///etc/passwd"]) {
        const made = provider.addClient({ backChannelLogoutUri })
        await expect(made, backChannelLogoutUri).rejects.toThrow()
      }
      const good = { backChannelLogoutUri: "https://app.example.com/logout?tenant=1" }
      expect(await provider.addClient(good)).toHaveProperty("id")
    },
  ],
]

describe("Back-Channel Logout", () => {
  test.each(rows)("%s", (_, holds) => holds())
})
