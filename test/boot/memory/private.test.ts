import { expect, test } from "vitest"
import { privateBytes } from "../../../src/boot/memory/private.ts"

test("memory that no file backs is a part of what is resident", () => {
  const bytes = privateBytes()
  expect(bytes).toBeGreaterThan(1_000_000)
  expect(bytes).toBeLessThanOrEqual(process.memoryUsage.rss() * 1.1)
})
