import { Fault } from "../../../kernel/fault.ts"

/** How a picture is made anew: no side is longer than `side` pixels. */
export type Picture = { readonly side: number; readonly as: "png" | "webp" }

/**
 * Pixels that a picture may have. It is refused by what its head says, before anything is unpacked:
 * a file of 100 kB may say that it has a hundred million.
 */
const pixelsMax = 4096 * 4096

const readable: readonly string[] = ["png", "jpeg", "webp", "gif"]

/**
 * Scans that a JPEG may have: cameras and programs write one to fourteen, and each costs as much
 * time as a whole picture, however few bytes it takes.
 */
const scansMax = 100

/**
 * Reads a picture and writes it anew, pixels alone: what else a file may carry (where a photo was
 * taken, who made it, another file behind it) stays behind. The type is decided by content.
 */
export async function decodePicture(
  bytes: Uint8Array<ArrayBuffer>,
  { side, as }: Picture,
): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const { format } = await read(bytes).metadata()
    if (!readable.includes(format)) throw unreadableError()
    if (format === "jpeg" && hasManyScans(bytes)) throw tooManyScansError()
    const how = { fit: "inside", withoutEnlargement: true } as const
    const png = bare(await read(bytes).resize(side, side, how).png().bytes())
    if (as === "png") return png
    return new Uint8Array(await read(png).webp({ quality: 85 }).bytes())
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    throw refusalOf(cause)
  }
}

/**
 * ITU-T T.81 §B.1.1.2: each scan begins with this marker, which compressed data never contains.
 * Every occurrence counts, so that no difference in how segments are read hides one.
 */
function hasManyScans(bytes: Uint8Array): boolean {
  const from = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let count = 0
  for (let at = from.indexOf(startOfScan); at >= 0; at = from.indexOf(startOfScan, at + 2)) {
    if (++count > scansMax) return true
  }
  return false
}

const startOfScan = Buffer.from([0xff, 0xda])

const tooManyScansError = () =>
  new Fault(
    "invalid_argument",
    "asset.too_many_scans",
    `the JPEG has more than ${scansMax} scans; save it again without progressive scans`,
  )

const read = (bytes: Uint8Array<ArrayBuffer>) => new Bun.Image(bytes, { maxPixels: pixelsMax })

function refusalOf(cause: unknown): unknown {
  const { code } = Object(cause)
  if (code === "ERR_IMAGE_TOO_MANY_PIXELS") {
    const message = "the picture has more than 16 million pixels; make it smaller"
    return new Fault("invalid_argument", "asset.too_many_pixels", message)
  }
  return typeof code === "string" && code.startsWith("ERR_IMAGE_") ? unreadableError() : cause
}

export const unreadableError = () =>
  new Fault(
    "invalid_argument",
    "asset.not_a_picture",
    "the file is no picture that can be read; send a whole PNG, JPEG, WebP or GIF",
  )

/** PNG 3 §5.6: what is needed to show it. A colour profile, which is left out, may be anything. */
const kept: readonly string[] = ["IHDR", "PLTE", "tRNS", "IDAT", "IEND"]

const signatureLength = 8

/** A PNG that we wrote ourselves, with nothing in it but its pixels. */
function bare(png: Uint8Array): Uint8Array<ArrayBuffer> {
  const from = Buffer.from(png.buffer, png.byteOffset, png.byteLength)
  const parts = [from.subarray(0, signatureLength)]
  for (let at = signatureLength; at < from.length; ) {
    // PNG 3 §5.3: length of the data, name, data, sum.
    const end = at + 12 + from.readUInt32BE(at)
    if (kept.includes(from.toString("latin1", at + 4, at + 8))) parts.push(from.subarray(at, end))
    at = end
  }
  return new Uint8Array(Buffer.concat(parts))
}
