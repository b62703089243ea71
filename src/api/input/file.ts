import { Fault } from "../../kernel/fault.ts"
import { bodyOf, mediaTypeOf, wrongTypeError } from "./body.ts"

/**
 * Reads the file of a form (RFC 7578), which is its part "file". What it is called, and of what
 * type its sender says it is, does not count.
 */
export async function fileIn(request: Request, bytesMax: number): Promise<Uint8Array> {
  const type = request.headers.get("content-type") ?? ""
  if (mediaTypeOf(request.headers) !== "multipart/form-data") {
    throw wrongTypeError("multipart/form-data")
  }
  const bytes = await bodyOf(request, bytesMax)
  const files = (await partsOf(type, bytes)).getAll("file")
  const [file] = files
  if (files.length !== 1 || !(file instanceof Blob)) {
    throw malformedError('have one part named "file", which is a file')
  }
  return file.bytes()
}

/** Parts that a form may have beside its file. */
const partsMax = 20

async function partsOf(type: string, bytes: Uint8Array): Promise<FormData> {
  const [, quoted, plain] =
    /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(;|$)/i.exec(type) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined) throw malformedError("name its boundary in the Content-Type header")
  if (hasMore(bytes, `--${boundary}`)) throw malformedError(`have at most ${partsMax} parts`)
  // The runtime may find another boundary in the header than the one that was counted by.
  const headers = { "content-type": `multipart/form-data; boundary="${boundary}"` }
  try {
    return await new Response(new Uint8Array(bytes), { headers }).formData()
  } catch (cause) {
    throw malformedError("be whole multipart/form-data", cause)
  }
}

function hasMore(bytes: Uint8Array, sign: string): boolean {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = body.indexOf(sign)
  // One more than there are parts ends the form.
  for (let count = 0; at >= 0 && count <= partsMax; count++) at = body.indexOf(sign, at + 1)
  return at >= 0
}

const malformedError = (wanted: string, cause?: unknown) =>
  new Fault("invalid_argument", "request.form_invalid", `the form must ${wanted}`, { cause })
