import { Fault } from "../../kernel/fault.ts"
import { mediaTypeOf, readBody, wrongTypeError } from "./body.ts"

/**
 * Reads the file of a form (RFC 7578) from its part "file". Ignores its file name and declared
 * type.
 */
export async function readFormFile(request: Request, bytesMax: number): Promise<Uint8Array> {
  const type = request.headers.get("content-type") ?? ""
  if (mediaTypeOf(request.headers) !== "multipart/form-data") {
    throw wrongTypeError("multipart/form-data")
  }
  const bytes = await readBody(request, bytesMax)
  const files = (await parseForm(type, bytes)).getAll("file")
  const [file] = files
  if (files.length !== 1 || !(file instanceof Blob)) {
    throw formError('have one part named "file" that contains a file')
  }
  return file.bytes()
}

/** The maximum number of parts in a form. */
const partsMax = 20

async function parseForm(type: string, bytes: Uint8Array): Promise<FormData> {
  const [, quoted, plain] =
    /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(;|$)/i.exec(type) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined) throw formError("have a boundary in the Content-Type header")
  if (hasTooManyParts(bytes, `--${boundary}`)) throw formError(`have at most ${partsMax} parts`)
  // The runtime could find a different boundary in the header than the one used for counting.
  const headers = { "content-type": `multipart/form-data; boundary="${boundary}"` }
  try {
    return await new Response(new Uint8Array(bytes), { headers }).formData()
  } catch (cause) {
    throw formError("be valid multipart/form-data", cause)
  }
}

function hasTooManyParts(bytes: Uint8Array, delimiter: string): boolean {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = body.indexOf(delimiter)
  // A form ends with one more boundary than it has parts.
  for (let count = 0; at >= 0 && count <= partsMax; count++) at = body.indexOf(delimiter, at + 1)
  return at >= 0
}

const formError = (requirement: string, cause?: unknown) =>
  new Fault("invalid_argument", "request.form_invalid", `the form must ${requirement}`, { cause })
