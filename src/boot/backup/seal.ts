import { createHash } from "node:crypto"
import type { Bytes } from "./bytes.ts"

// A backup ends with the SHA-256 checksum of all bytes before it, in a frame that other zstd tools
// skip (RFC 8878 §3.1.2).

const checksumLength = 32
const frameHeader = Buffer.alloc(8)
frameHeader.writeUInt32LE(0x184d2a5c, 0)
frameHeader.writeUInt32LE(checksumLength, 4)
const checksumFrameLength = frameHeader.length + checksumLength

/** The same bytes followed by their checksum. */
export function addChecksum(packed: Bytes): Bytes {
  const hash = createHash("sha256")
  return packed.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (bytes, controller) => {
        hash.update(bytes)
        controller.enqueue(bytes)
      },
      flush: (controller) => controller.enqueue(Buffer.concat([frameHeader, hash.digest()])),
    }),
  )
}

export type ChecksummedBytes = {
  /** The bytes without the checksum. */
  readonly bytes: Bytes
  /** Reads the remaining bytes and returns whether the checksum is present and correct. */
  readonly isWhole: () => Promise<boolean>
  readonly cancel: () => Promise<void>
}

/** Reads what `addChecksum` created, or a backup of an older version without a checksum. */
export function readChecksummed(from: Bytes): ChecksummedBytes {
  const reader = from.getReader()
  const hash = createHash("sha256")
  let tail: Buffer = Buffer.alloc(0)
  let isOver = false
  let isWhole = false
  const finish = (): Buffer => {
    isOver = true
    if (tail.length !== checksumFrameLength || !tail.subarray(0, 8).equals(frameHeader)) return tail
    isWhole = hash.digest().equals(tail.subarray(8))
    return Buffer.alloc(0)
  }
  /** The next bytes; undefined at the end. */
  const next = async (): Promise<Uint8Array | undefined> => {
    const { value, done } = await reader.read()
    if (done) return isOver ? undefined : finish()
    const all = Buffer.concat([tail, value])
    const headLength = Math.max(all.length - checksumFrameLength, 0)
    tail = all.subarray(headLength)
    hash.update(all.subarray(0, headLength))
    return all.subarray(0, headLength)
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
