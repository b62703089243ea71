import { expect, test } from "vitest"
import { isFirstUse } from "../../src/oauth/client/replay.ts"
import { openProvider } from "./provider.ts"

// RFC 9449 §11.1: used proofs are stored, and no address can use up the memory for them.
test("proofs from one address leave room for those from others", async () => {
  const provider = await openProvider()
  const from = (source: string) => ({
    ...provider.cx({ instance: "flooded" }),
    allowance: {
      spend: () => undefined,
      refund: () => undefined,
      source: () => source,
      pace: () => async () => {},
    },
  })
  const expires = provider.clock.now() + 70_000
  const use = (source: string, label: string) => isFirstUse(from(source), label, expires)
  const uses: ReturnType<typeof use>[] = []
  const flood = () => {
    for (let at = 0; at < 500_000; at++) uses.push(use("192.0.2.1", `${at}`))
  }
  expect(flood).toThrow(/too many/)
  expect(new Set(await Promise.all(uses))).toEqual(new Set([true]))
  expect(() => use("192.0.2.1", "one more")).toThrow(/too many/)
  expect(use("192.0.2.1", "17")).toBe(false)
  const mine = [use("198.51.100.7", "mine"), use("198.51.100.7", "mine")]
  expect(await Promise.all(mine)).toEqual([true, false])
  provider.clock.advance(90_000)
  expect(await use("192.0.2.1", "later")).toBe(true)
  await provider.close()
})
