import { brotliDecompressSync } from "node:zlib"
import { areaOf } from "./route.ts"

type Bytes = Uint8Array<ArrayBuffer>

/** Made once, when the first browser asks: names change with content, so they stay true. */
const made = { gzip: new Map<string, Bytes>(), identity: new Map<string, Bytes>() }

/** The embedded files by their paths. */
type Assets = Readonly<Record<string, { readonly type: string; readonly br: string }>>

/**
 * The embedded files, to be kept for good. They lie here in brotli alone, which browsers take where
 * the connection is safe; gzip they take everywhere. `nothing` answers at every other path below.
 */
export const assetRoutes = (assets: Assets, nothing: () => Response) =>
  areaOf("asset", {
    "/ui/assets/*": {
      anywhere: async ({ request, url }) =>
        (await assetAt(assets, request, url.pathname)) ?? nothing(),
    },
  })

async function assetAt(
  assets: Assets,
  { method, headers }: Request,
  pathname: string,
): Promise<Response | undefined> {
  if (method !== "GET" && method !== "HEAD") return undefined
  const asset = Object.hasOwn(assets, pathname) ? assets[pathname] : undefined
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
