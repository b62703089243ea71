import { promisify } from "node:util"
import { gunzip } from "node:zlib"
import { Fault } from "../../kernel/fault.ts"
import { type BodySource, readBytes, tooLargeError } from "../../protocol/body.ts"

/** Reads a body up to the limit. Rejects a larger body without reading the rest. */
export async function readBody(request: BodySource, bytesMax: number): Promise<Uint8Array> {
  const bytes = await readBytes(request, bytesMax)
  if (!bytes) throw tooLargeError(bytesMax)
  return bytes
}

const gunzipAsync = promisify(gunzip)

/** Decompresses gzip asynchronously. Throws if the result exceeds the limit. */
export async function decompress(bytes: Uint8Array, bytesMax: number): Promise<Uint8Array> {
  try {
    return await gunzipAsync(bytes, { maxOutputLength: bytesMax })
  } catch (cause) {
    const isLarge = Object(cause).code === "ERR_BUFFER_TOO_LARGE"
    throw isLarge ? tooLargeError(bytesMax) : invalidGzipError(cause)
  }
}

const invalidGzipError = (cause: unknown) =>
  new Fault("invalid_argument", "request.invalid", "the body is not valid gzip", {
    cause,
  })

/** The media type of a body in lower case, without parameters; empty if the header is missing. */
export const mediaTypeOf = (headers: Headers): string =>
  (headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? ""

export const wrongTypeError = (expected: string) =>
  new Fault(
    "invalid_argument",
    "request.type_unknown",
    `the body must be ${expected}; set the Content-Type header accordingly`,
  )
