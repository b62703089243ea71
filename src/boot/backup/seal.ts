import { createHash } from "node:crypto"
import type { Bytes } from "./bytes.ts"

// A backup ends with a SHA-256 sum of every byte before it, in a frame that other zstd tools skip
// (RFC 8878 §3.1.2).

const sumLength = 32
const beginning = Buffer.alloc(8)
beginning.writeUInt32LE(0x184d2a5c, 0)
beginning.writeUInt32LE(sumLength, 4)
const sealLength = beginning.length + sumLength

/** The same bytes, with their sum at the end. */
export function sealed(packed: Bytes): Bytes {
  const hash = createHash("sha256")
  return packed.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (bytes, controller) => {
        hash.update(bytes)
        controller.enqueue(bytes)
      },
      flush: (controller) => controller.enqueue(Buffer.concat([beginning, hash.digest()])),
    }),
  )
}

export type Unsealed = {
  /** Without the sum. */
  readonly bytes: Bytes
  /** Reads what nobody has read yet; answers whether the sum is there and right. */
  readonly isWhole: () => Promise<boolean>
  readonly cancel: () => Promise<void>
}

/** Reads what `sealed` made, or a backup of a version that added no sum. */
export function unsealed(from: Bytes): Unsealed {
  const reader = from.getReader()
  const hash = createHash("sha256")
  let tail: Buffer = Buffer.alloc(0)
  let isOver = false
  let isWhole = false
  const finish = (): Buffer => {
    isOver = true
    if (tail.length !== sealLength || !tail.subarray(0, 8).equals(beginning)) return tail
    isWhole = hash.digest().equals(tail.subarray(8))
    return Buffer.alloc(0)
  }
  /** The next bytes; undefined at the end. */
  const next = async (): Promise<Uint8Array | undefined> => {
    const { value, done } = await reader.read()
    if (done) return isOver ? undefined : finish()
    const all = Buffer.concat([tail, value])
    const kept = Math.max(all.length - sealLength, 0)
    tail = all.subarray(kept)
    hash.update(all.subarray(0, kept))
    return all.subarray(0, kept)
  }
  return {
    bytes: new ReadableStream({
      pull: async (controller) => {
        for (;;) {
          const bytes = await next()
          if (!bytes) return controller.close()
          if (bytes.length > 0) return controller.enqueue(bytes)
        }
      },
    }),
    isWhole: async () => {
      while ((await next()) !== undefined);
      return isWhole
    },
    cancel: () => reader.cancel(),
  }
}
