// A process that measures its memory twice and prints the results as JSON.
import { readdirSync, readlinkSync } from "node:fs"
import { privateBytes } from "../../../src/boot/memory/private.ts"

const addedBytes = 256_000_000

const startBytes = privateBytes()
const retainedBuffer = Buffer.alloc(addedBytes, 1)
const grownBytes = privateBytes() - startBytes
const descriptors = readdirSync("/proc/self/fd").filter(
  (each) => readLink(`/proc/self/fd/${each}`) === `/proc/${process.pid}/status`,
).length
console.log(JSON.stringify({ addedBytes: retainedBuffer.length, grownBytes, descriptors }))

/** The target of a descriptor; the one of the listing itself is closed by then. */
function readLink(file: string): string | undefined {
  try {
    return readlinkSync(file)
  } catch {
    return undefined
  }
}
