import { promisify } from "node:util"
import { gunzip } from "node:zlib"
import { Fault } from "../../kernel/fault.ts"
import { bytesWithin, type Incoming, tooLargeError } from "../../protocol/body.ts"

/** Reads a body up to the limit; refuses a larger one without reading on. */
export async function bodyOf(request: Incoming, bytesMax: number): Promise<Uint8Array> {
  const bytes = await bytesWithin(request, bytesMax)
  if (!bytes) throw tooLargeError(bytesMax)
  return bytes
}

const unpack = promisify(gunzip)

/** Unpacks gzip, off the event loop; what would become larger than the limit is left packed. */
export async function unpacked(bytes: Uint8Array, bytesMax: number): Promise<Uint8Array> {
  try {
    return await unpack(bytes, { maxOutputLength: bytesMax })
  } catch (cause) {
    const isLarge = Object(cause).code === "ERR_BUFFER_TOO_LARGE"
    throw isLarge ? tooLargeError(bytesMax) : notGzipError(cause)
  }
}

const notGzipError = (cause: unknown) =>
  new Fault("invalid_argument", "request.invalid", "the body is not the gzip that it says it is", {
    cause,
  })

/** The media type of a body in lower case, without parameters; empty if there is none. */
export const mediaTypeOf = (headers: Headers): string =>
  (headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? ""

export const wrongTypeError = (expected: string) =>
  new Fault(
    "invalid_argument",
    "request.type_unknown",
    `the body must be ${expected}; say so in the Content-Type header`,
  )
