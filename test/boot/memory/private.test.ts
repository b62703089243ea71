import { join } from "node:path"
import { expect, test } from "vitest"
import { privateBytes } from "../../../src/boot/memory/private.ts"

test("memory that no file backs is a part of what is resident", () => {
  const bytes = privateBytes()
  expect(bytes).toBeGreaterThan(1_000_000)
  expect(bytes).toBeLessThanOrEqual(process.memoryUsage.rss() * 1.1)
})

test.runIf(process.platform === "linux")(
  "more memory is seen each time, without another descriptor",
  async () => {
    // A process of its own: what another test gives back meanwhile would hide what is added.
    const child = Bun.spawn([process.execPath, join(import.meta.dirname, "measured.ts")])
    const { addedBytes, grownBytes, descriptors } = JSON.parse(
      await new Response(child.stdout).text(),
    )
    expect(grownBytes).toBeGreaterThan(addedBytes / 2)
    expect(descriptors).toBe(1)
  },
)
