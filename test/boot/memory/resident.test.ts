import { expect, test } from "vitest"
import { residentBytes } from "../../../src/boot/memory/resident.ts"

test("memory that no file backs is a part of what is resident", () => {
  const bytes = residentBytes().private
  expect(bytes).toBeGreaterThan(1_000_000)
  expect(bytes).toBeLessThanOrEqual(process.memoryUsage.rss() * 1.1)
})
