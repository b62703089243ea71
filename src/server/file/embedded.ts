import { uiAssets } from "../../gen/ui-assets.ts"

/** Compressed once, when the first browser asks: names change with content, so it stays true. */
const gzipped = new Map<string, Uint8Array<ArrayBuffer>>()

/** The embedded file at a path, to be kept for good; undefined for any other path. */
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
  // Browsers take brotli where the connection is safe, and gzip everywhere.
  if (/\bbr\b/.test(accepted)) {
    return new Response(Bun.file(asset.br), { headers: { ...kept, "content-encoding": "br" } })
  }
  if (!/\bgzip\b/.test(accepted)) return new Response(Bun.file(asset.file), { headers: kept })
  const body = gzipped.get(pathname) ?? Bun.gzipSync(await Bun.file(asset.file).bytes())
  gzipped.set(pathname, body)
  return new Response(body, { headers: { ...kept, "content-encoding": "gzip" } })
}
