/**
 * Reads a body as text; undefined for one above the limit, of which no more is read. Where a sender
 * declares a length, the listener takes exactly that much (RFC 9112 §6.3), and text is read at
 * once, for a third of the time; where it does not, only counting tells.
 */
export async function textWithin(request: Request, bytesMax: number): Promise<string | undefined> {
  const declared = request.headers.get("content-length")
  if (declared !== null) return Number(declared) <= bytesMax ? request.text() : undefined
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > bytesMax) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
