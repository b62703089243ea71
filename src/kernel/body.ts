/** Where a body comes from: a request of the main listener, or a stream of the one for gRPC. */
export type Incoming = {
  readonly headers: Headers
  readonly body: AsyncIterable<Uint8Array> | null
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
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > bytesMax) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Reads a body as text, in the same way. */
export async function textWithin(request: Request, bytesMax: number): Promise<string | undefined> {
  const declared = request.headers.get("content-length")
  if (declared !== null) return Number(declared) <= bytesMax ? request.text() : undefined
  const bytes = await bytesWithin(request, bytesMax)
  return bytes && Buffer.from(bytes).toString()
}
