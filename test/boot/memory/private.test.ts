import { readdirSync, readlinkSync } from "node:fs"
import { expect, test } from "vitest"
import { privateBytes } from "../../../src/boot/memory/private.ts"

test("memory that no file backs is a part of what is resident", () => {
  const bytes = privateBytes()
  expect(bytes).toBeGreaterThan(1_000_000)
  expect(bytes).toBeLessThanOrEqual(process.memoryUsage.rss() * 1.1)
})

test.runIf(process.platform === "linux")(
  "more memory is seen each time, without another descriptor",
  () => {
    // What is collected meanwhile would hide what is added.
    Bun.gc(true)
    const before = privateBytes()
    const open = descriptors()
    const kept = Buffer.alloc(256_000_000, 1)
    expect(privateBytes() - before).toBeGreaterThan(kept.length / 2)
    expect(open).toBeGreaterThan(0)
    expect(descriptors()).toBe(open)
  },
)

/** How many lead to where the memory is read; other threads of the process have theirs. */
const descriptors = () =>
  readdirSync("/proc/self/fd").filter(
    (each) => linkOf(`/proc/self/fd/${each}`) === `/proc/${process.pid}/status`,
  ).length

/** What a descriptor leads to; that of the listing itself is closed by then. */
function linkOf(file: string): string | undefined {
  try {
    return readlinkSync(file)
  } catch {
    return undefined
  }
}
