import { Fault } from "../kernel/fault.ts"
import { bodyBytesMax } from "./decode.ts"

/** Reads a body up to the limit; refuses a larger one without reading on. */
export async function bodyOf(request: Request, bytesMax = bodyBytesMax): Promise<Uint8Array> {
  const declared = Number(request.headers.get("content-length") ?? Number.NaN)
  if (declared > bytesMax) throw tooLarge()
  if (declared >= 0 || !request.body) return new Uint8Array(await request.arrayBuffer())

  // Without a declared length, only counting tells.
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body) {
    size += chunk.byteLength
    if (size > bytesMax) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const tooLarge = () =>
  new Fault(
    "resource_exhausted",
    "request.too_large",
    `the body is larger than ${bodyBytesMax / 1024 / 1024} MB`,
  )

/** The media type of a body in lower case, without parameters; empty if there is none. */
export const mediaTypeOf = (headers: Headers): string =>
  (headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? ""

export const wrongType = (expected: string) =>
  new Fault(
    "invalid_argument",
    "request.type_unknown",
    `the body must be ${expected}; say so in the Content-Type header`,
  )
