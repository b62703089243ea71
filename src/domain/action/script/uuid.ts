import { createHash } from "node:crypto"
import type { Random } from "../../../kernel/crypto/random.ts"

export type UuidSources = { readonly random: Random; readonly now: () => number }

/**
 * Creates a UUID of RFC 9562; `values` are the namespace and the name if the version requires them.
 */
export function createUuidOf(
  { random, now }: UuidSources,
  version: number,
  values: readonly unknown[],
): string {
  const bytes = Buffer.from(random.bytes(16))
  if (version === 3) hashName("md5", values).copy(bytes, 0, 0, 16)
  else if (version === 5) hashName("sha1", values).copy(bytes, 0, 0, 16)
  else if (version === 7) bytes.writeUIntBE(now(), 0, 6)
  else if (version === 1) writeGregorian(bytes, now())
  else if (version !== 4) throw new Error("the version must be one of: v1, v3, v4, v5, v7")
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | (version << 4)
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString("hex")
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-")
}

function hashName(algorithm: "md5" | "sha1", [namespace, name]: readonly unknown[]): Buffer {
  const hex = typeof namespace === "string" ? namespace.replaceAll("-", "") : ""
  if (!/^[0-9a-f]{32}$/i.test(hex) || typeof name !== "string") {
    throw new Error("v3 and v5 require a namespace, which is a UUID, and a name")
  }
  return createHash(algorithm).update(Buffer.from(hex, "hex")).update(name).digest()
}

/** RFC 9562 §5.1: 100 ns since 1582-10-15; the node is random, with the multicast bit set. */
function writeGregorian(bytes: Buffer, ms: number): void {
  const time = BigInt(ms) * 10_000n + 122_192_928_000_000_000n
  bytes.writeUInt32BE(Number(time & 0xffff_ffffn), 0)
  bytes.writeUInt16BE(Number((time >> 32n) & 0xffffn), 4)
  bytes.writeUInt16BE(Number((time >> 48n) & 0x0fffn), 6)
  bytes[10] = (bytes[10] ?? 0) | 1
}
