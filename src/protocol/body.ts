import { Fault } from "../kernel/fault.ts"

/** Where a body comes from: a request of the main listener, or a stream of the one for gRPC. */
export type Incoming = {
  readonly headers: Headers
  readonly body: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array> | null
  /** Reads all of it at once, where the listener can. */
  readonly bytes?: () => Promise<Uint8Array>
}

/**
 * Reads a body; undefined for one above the limit, of which no more is read. Where a sender
 * declares a length, the listener takes exactly that much (RFC 9112 §6.3), and it is read at once,
 * for a third of the time; where it does not, only counting tells.
 */
export async function bytesWithin(
  request: Incoming,
  bytesMax: number,
): Promise<Uint8Array | undefined> {
  const declared = request.headers.get("content-length")
  if (declared !== null && Number(declared) > bytesMax) return undefined
  if (declared !== null && request.bytes) return request.bytes()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunksOf(request.body)) {
    size += chunk.byteLength
    if (size > bytesMax) return undefined
    chunks.push(chunk)
  }
  if (request.body) readToEnd.add(request.body)
  return Buffer.concat(chunks)
}

/** A stream that is canceled would be received, and discarded, for as long as its sender likes. */
const chunksOf = (body: Incoming["body"]): AsyncIterable<Uint8Array> | Iterable<Uint8Array> =>
  body instanceof ReadableStream ? body.values({ preventCancel: true }) : (body ?? [])

/** The bodies of which `bytesWithin` has seen the end. */
const readToEnd = new WeakSet<object>()

/** Whether a body without a declared length has been read to its end, so that nothing follows. */
export const isReadToEnd = ({ body }: Pick<Request, "body">): boolean =>
  body === null || readToEnd.has(body)

/** How much a form may hold. */
export type FormMax = { readonly bytes: number; readonly parameters: number }

/** Holds for every form whose page or endpoint does not say otherwise; none has nearly as many. */
const formMax: FormMax = { bytes: 65_536, parameters: 500 }

export const formType = "application/x-www-form-urlencoded"

/** Whether the body of a request is said to be a form. */
export const isForm = ({ headers }: Pick<Request, "headers">): boolean =>
  headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() === formType

/** Reads the form of a POST, or says why it is not read. */
export async function formWithin(
  request: Request,
  max: FormMax = formMax,
): Promise<URLSearchParams | "other type" | "too large" | "too many"> {
  if (!isForm(request)) return "other type"
  const body = await textWithin(request, max.bytes)
  if (body === undefined) return "too large"
  if (body.split("&", max.parameters + 1).length > max.parameters) return "too many"
  return new URLSearchParams(body)
}

/** Reads a body as text, in the same way. */
async function textWithin(request: Request, bytesMax: number): Promise<string | undefined> {
  const declared = request.headers.get("content-length")
  if (declared !== null) return Number(declared) <= bytesMax ? request.text() : undefined
  const bytes = await bytesWithin(request, bytesMax)
  return bytes && Buffer.from(bytes).toString()
}

/** The refusal of a body above a limit. */
export const tooLargeError = (bytesMax: number) =>
  new Fault(
    "resource_exhausted",
    "request.too_large",
    `the body is larger than ${Math.floor(bytesMax / 1024)} kB`,
  )
