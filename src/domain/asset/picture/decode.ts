import { Fault } from "../../../kernel/fault.ts"

/** The output of decoding: no side has more than `side` pixels. */
export type PictureFormat = { readonly side: number; readonly as: "png" | "webp" }

/**
 * The maximum number of pixels, checked in the header before decompression: a file of 100 kB can
 * declare a hundred million.
 */
const pixelsMax = 4096 * 4096

const readable: readonly string[] = ["png", "jpeg", "webp", "gif"]

/**
 * The maximum number of scans of a JPEG: cameras and programs write 1 to 14, and each takes as much
 * time as a whole picture, regardless of its size.
 */
const scansMax = 100

/**
 * Decodes a picture and re-encodes only its pixels. Metadata (location, author, data after the end)
 * is dropped. The type is detected from the content.
 */
export async function decodePicture(
  bytes: Uint8Array<ArrayBuffer>,
  { side, as }: PictureFormat,
): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const { format } = await openImage(bytes).metadata()
    if (!readable.includes(format)) throw unreadableError()
    if (format === "jpeg" && hasManyScans(bytes)) throw tooManyScansError()
    const resizeOptions = { fit: "inside", withoutEnlargement: true } as const
    const png = withoutMetadata(
      await openImage(bytes).resize(side, side, resizeOptions).png().bytes(),
    )
    if (as === "png") return png
    return new Uint8Array(await openImage(png).webp({ quality: 85 }).bytes())
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    throw faultOf(cause)
  }
}

/**
 * ITU-T T.81 §B.1.1.2: each scan starts with this marker, which compressed data never contains. All
 * occurrences are counted, so that differences in segment parsing can't hide one.
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
    `the JPEG must have at most ${scansMax} scans; save it without progressive scans`,
  )

const openImage = (bytes: Uint8Array<ArrayBuffer>) => new Bun.Image(bytes, { maxPixels: pixelsMax })

function faultOf(cause: unknown): unknown {
  const { code } = Object(cause)
  if (code === "ERR_IMAGE_TOO_MANY_PIXELS") {
    const message = "the picture must have at most 16 million pixels; make it smaller"
    return new Fault("invalid_argument", "asset.too_many_pixels", message)
  }
  return typeof code === "string" && code.startsWith("ERR_IMAGE_") ? unreadableError() : cause
}

export const unreadableError = () =>
  new Fault(
    "invalid_argument",
    "asset.not_a_picture",
    "the file is not a valid picture; upload a complete PNG, JPEG, WebP or GIF file",
  )

/**
 * PNG 3 §5.6: the chunks that are needed to show the picture. A color profile is omitted, because
 * it can contain anything.
 */
const requiredChunks: readonly string[] = ["IHDR", "PLTE", "tRNS", "IDAT", "IEND"]

const signatureLength = 8

/** A PNG reduced to its pixels. */
function withoutMetadata(png: Uint8Array): Uint8Array<ArrayBuffer> {
  const from = Buffer.from(png.buffer, png.byteOffset, png.byteLength)
  const parts = [from.subarray(0, signatureLength)]
  for (let at = signatureLength; at < from.length; ) {
    // PNG 3 §5.3: length of the data, name, data, checksum.
    const end = at + 12 + from.readUInt32BE(at)
    if (requiredChunks.includes(from.toString("latin1", at + 4, at + 8)))
      parts.push(from.subarray(at, end))
    at = end
  }
  return new Uint8Array(Buffer.concat(parts))
}
