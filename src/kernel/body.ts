/**
 * Reads a body as text; undefined for one above the limit, of which no more is read. What a sender
 * declares is believed only against them: without a declared length, only counting tells.
 */
export async function textWithin(request: Request, bytesMax: number): Promise<string | undefined> {
  if (Number(request.headers.get("content-length") ?? 0) > bytesMax) return undefined
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > bytesMax) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
