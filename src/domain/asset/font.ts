import { Fault } from "../../kernel/fault.ts"
import type { File, FileType } from "./file.ts"

/** What the first four bytes say. */
const signs: Readonly<Record<string, FileType>> = {
  wOF2: "woff2",
  wOFF: "woff",
  OTTO: "otf",
  "\u0000\u0001\u0000\u0000": "ttf",
  true: "ttf",
}

/**
 * A font, by its content. Browsers look through each table before they use one; here the file must
 * be as long as it says, and its tables lie within it.
 */
export function fontOf(bytes: Uint8Array<ArrayBuffer>): File {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const type = signs[file.toString("latin1", 0, 4)]
  if (!type || !isWhole(file, type)) {
    const message = "the file is no font that can be read; send a whole WOFF2, WOFF, TTF or OTF"
    throw new Fault("invalid_argument", "asset.not_a_font", message)
  }
  return { type, bytes }
}

function isWhole(file: Buffer, type: FileType): boolean {
  // WOFF 2 §4.1 and WOFF 1 §3: the length of the file stands behind sign and flavour.
  const isPacked = type === "woff2" || type === "woff"
  if (isPacked) return file.length > 48 && file.readUInt32BE(8) === file.length
  if (file.length < 12) return false
  // OpenType, the table directory: a head of 12 bytes, then 16 for each table.
  const count = file.readUInt16BE(4)
  if (count === 0 || 12 + count * 16 > file.length) return false
  return Array.from({ length: count }, (_, table) => 12 + table * 16).every(
    (at) => file.readUInt32BE(at + 8) + file.readUInt32BE(at + 12) <= file.length,
  )
}
