import { Fault } from "../kernel/fault.ts"

/** A body's source: a request of the main listener, or a stream of the gRPC listener. */
export type BodySource = {
  readonly headers: Headers
  readonly body: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array> | null
  /** Reads the whole body at once, if the listener can. */
  readonly bytes?: () => Promise<Uint8Array>
}

/**
 * Reads a body; undefined if it exceeds the limit, after which reading stops. With a declared
 * length, the listener reads exactly that many bytes (RFC 9112 §6.3), all at once in a third of the
 * time; otherwise chunks are counted.
 */
export async function readBytes(
  request: BodySource,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const declared = request.headers.get("content-length")
  if (declared !== null && Number(declared) > maxBytes) return undefined
  if (declared !== null && request.bytes) return request.bytes()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunksOf(request.body)) {
    size += chunk.byteLength
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  if (request.body) completeBodies.add(request.body)
  return Buffer.concat(chunks)
}

/**
 * Not canceled: the listener would otherwise receive and discard the body for as long as the client
 * sends it.
 */
const chunksOf = (body: BodySource["body"]): AsyncIterable<Uint8Array> | Iterable<Uint8Array> =>
  body instanceof ReadableStream ? body.values({ preventCancel: true }) : (body ?? [])

/** Bodies that `bytesWithin` has read completely. */
const completeBodies = new WeakSet<object>()

/** Whether a body without a declared length has been read completely, so that nothing follows. */
export const isBodyComplete = ({ body }: Pick<Request, "body">): boolean =>
  body === null || completeBodies.has(body)

/** Limits for a form. */
export type FormLimits = { readonly bytes: number; readonly parameters: number }

/** The default for all forms; no form comes close. */
const defaultFormLimits: FormLimits = { bytes: 65_536, parameters: 500 }

export const formType = "application/x-www-form-urlencoded"

/** Whether the content type of a request is a form. */
export const isForm = ({ headers }: Pick<Request, "headers">): boolean =>
  headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() === formType

/** Parses the form of a POST, or returns why it was rejected. */
export async function readForm(
  request: Request,
  max: FormLimits = defaultFormLimits,
): Promise<URLSearchParams | "other type" | "too large" | "too many"> {
  if (!isForm(request)) return "other type"
  const body = await readText(request, max.bytes)
  if (body === undefined) return "too large"
  if (body.split("&", max.parameters + 1).length > max.parameters) return "too many"
  return new URLSearchParams(body)
}

/** Reads a body as text, with the same limit. */
async function readText(request: Request, maxBytes: number): Promise<string | undefined> {
  const declared = request.headers.get("content-length")
  if (declared !== null) return Number(declared) <= maxBytes ? request.text() : undefined
  const bytes = await readBytes(request, maxBytes)
  return bytes && Buffer.from(bytes).toString()
}

/** The fault for a body above a limit. */
export const tooLargeError = (maxBytes: number) =>
  new Fault(
    "resource_exhausted",
    "request.too_large",
    `the body is larger than ${Math.floor(maxBytes / 1024)} kB`,
  )
