// A process that measures its memory twice, and writes what it found as JSON.
import { readdirSync, readlinkSync } from "node:fs"
import { privateBytes } from "../../../src/boot/memory/private.ts"

const addedBytes = 256_000_000

const before = privateBytes()
const kept = Buffer.alloc(addedBytes, 1)
const grownBytes = privateBytes() - before
const descriptors = readdirSync("/proc/self/fd").filter(
  (each) => linkOf(`/proc/self/fd/${each}`) === `/proc/${process.pid}/status`,
).length
console.log(JSON.stringify({ addedBytes: kept.length, grownBytes, descriptors }))

/** What a descriptor leads to; that of the listing itself is closed by then. */
function linkOf(file: string): string | undefined {
  try {
    return readlinkSync(file)
  } catch {
    return undefined
  }
}
