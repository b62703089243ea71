import { Fault } from "../../kernel/fault.ts"
import type { AssetFile, FileType } from "./file.ts"

/** File types by the first four bytes. */
const signatures: Readonly<Record<string, FileType>> = {
  wOF2: "woff2",
  wOFF: "woff",
  OTTO: "otf",
  "\u0000\u0001\u0000\u0000": "ttf",
  true: "ttf",
}

/**
 * Validates a font by its content. Browsers validate each table before use; here the length of the
 * file and the bounds of its tables are checked.
 */
export function parseFont(bytes: Uint8Array<ArrayBuffer>): AssetFile {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const type = signatures[file.toString("latin1", 0, 4)]
  if (!type || !isComplete(file, type)) {
    const message = "the file is not a valid font; upload a complete WOFF2, WOFF, TTF or OTF file"
    throw new Fault("invalid_argument", "asset.not_a_font", message)
  }
  return { type, bytes }
}

function isComplete(file: Buffer, type: FileType): boolean {
  // WOFF 2 §4.1 and WOFF 1 §3: the length of the file follows signature and flavor.
  const isPacked = type === "woff2" || type === "woff"
  if (isPacked) return file.length > 48 && file.readUInt32BE(8) === file.length
  if (file.length < 12) return false
  // OpenType table directory: a header of 12 bytes, then 16 for each table.
  const count = file.readUInt16BE(4)
  if (count === 0 || 12 + count * 16 > file.length) return false
  return Array.from({ length: count }, (_, table) => 12 + table * 16).every(
    (at) => file.readUInt32BE(at + 8) + file.readUInt32BE(at + 12) <= file.length,
  )
}
