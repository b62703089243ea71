import { brotliDecompressSync } from "node:zlib"
import { uiAssets } from "../../gen/ui-assets.ts"

type Bytes = Uint8Array<ArrayBuffer>

/** Made once, when the first browser asks: names change with content, so they stay true. */
const made = { gzip: new Map<string, Bytes>(), identity: new Map<string, Bytes>() }

/**
 * The embedded file at a path, to be kept for good; undefined for any other path. It lies here in
 * brotli alone, which browsers take where the connection is safe; gzip they take everywhere.
 */
export async function assetAt(
  { method, headers }: Request,
  pathname: string,
): Promise<Response | undefined> {
  if (method !== "GET" && method !== "HEAD") return undefined
  const asset = Object.hasOwn(uiAssets, pathname) ? uiAssets[pathname] : undefined
  if (!asset) return undefined
  const kept = {
    "content-type": asset.type,
    "cache-control": "public, max-age=31536000, immutable",
    vary: "accept-encoding",
  }
  const accepted = headers.get("accept-encoding") ?? ""
  if (/\bbr\b/.test(accepted)) {
    return new Response(Bun.file(asset.br), { headers: { ...kept, "content-encoding": "br" } })
  }
  if (!/\bgzip\b/.test(accepted)) {
    return new Response(await plain(asset.br), { headers: kept })
  }
  const body = made.gzip.get(pathname) ?? Bun.gzipSync(await plain(asset.br))
  made.gzip.set(pathname, body)
  return new Response(body, { headers: { ...kept, "content-encoding": "gzip" } })
}

async function plain(file: string): Promise<Bytes> {
  const known = made.identity.get(file)
  if (known) return known
  const bytes = new Uint8Array(brotliDecompressSync(await Bun.file(file).bytes()))
  made.identity.set(file, bytes)
  return bytes
}
