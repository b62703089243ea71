import { join } from "node:path"
import { expect, test } from "vitest"
import { privateBytes } from "../../../src/boot/memory/private.ts"

test("private memory is a part of resident memory", () => {
  const bytes = privateBytes()
  expect(bytes).toBeGreaterThan(1_000_000)
  expect(bytes).toBeLessThanOrEqual(process.memoryUsage.rss() * 1.1)
})

test.runIf(process.platform === "linux")(
  "measures growth each time without another descriptor",
  async () => {
    // A separate process: memory that other tests release would hide the growth.
    const child = Bun.spawn([process.execPath, join(import.meta.dirname, "measured.ts")])
    const { addedBytes, grownBytes, descriptors } = JSON.parse(
      await new Response(child.stdout).text(),
    )
    expect(grownBytes).toBeGreaterThan(addedBytes / 2)
    expect(descriptors).toBe(1)
  },
)
